// Damaged records, metrics, checkpoints and study files. Bytes that are damaged are told by the checksum: what is
// read all the same says what was written. And because whoever writes nonsense may seal it, nonsense is sealed, too.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ffn/base/safetensors.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/run_check.hpp"
#include "fuzz/damage.hpp"
#include "store/pretended_training.hpp"

using namespace ffn;
using namespace ffn::fuzz;
using namespace ffn::test_store;
namespace fs = std::filesystem;

namespace {

/// A run that has ended and one that has got to a checkpoint.
struct Written {
  ScratchDirectory scratch;
  std::vector<RecordedRun> runs = two_runs(scratch.path());

  Written() {
    RunRecorder ended({runs[0]}, {"ffn-train"}, {});
    pretend_to_train(ended, {runs[0]}, {});
    RunRecorder begun({runs[1]}, {"ffn-train"}, {});
    pretend_to_train(begun, {runs[1]}, {0, 200, false});
    begun.fail_unfinished("for the test");
  }
  fs::path ended() const { return runs[0].directory.path(); }
  const RecordedRun& begun() const { return runs[1]; }
};

std::string resealed(const std::string& text, RandomStream& random) {
  Json json = parse_json(text);
  json.erase("checksum");
  json = with_odd_value(std::move(json), random);
  // Under another top level there is nothing to seal.
  return json.is_object() ? store::sealed_text(json) : json.dump();
}

/// Damaged bytes, of which those that are read have to say what was written; and sealed nonsense.
template <class Read, class Say>
void harness(const std::string& good, std::uint64_t key, Read read, Say say) {
  const std::string said = say(read(good));
  std::uint64_t same = 0;
  const auto bytes = attempt(
      10'000, key, [&](RandomStream& random) { return damaged(good, random, 1); },
      [&](const std::string& text) {
        if (say(read(text)) == said) ++same;
      });
  CHECK(bytes.refused > bytes.read);
  CHECK(bytes.read == same);
  const auto worse = attempt(
      3'000, key + 1, [&](RandomStream& random) { return damaged(good, random, 6); }, [&](const std::string& text) { read(text); });
  CHECK(worse.refused > worse.read);
  const auto sealed = attempt(
      5'000, key + 2, [&](RandomStream& random) { return resealed(good, random); }, [&](const std::string& text) { read(text); });
  CHECK(sealed.read > 0);
  CHECK(sealed.refused > 0);
}

}  // namespace

TEST_CASE("a damaged record is told, whatever is damaged") {
  const Written written;
  harness(
      content(written.ended() / "run.json"), 10, [](const std::string& text) { return parse_record(text, "run.json"); },
      [](const RunRecord& record) { return dump_json(*record.config) + summary_json(record.summary.value()).dump() + record.identity; });
}

TEST_CASE("damaged metrics are read or refused, never worse") {
  const Written written;
  const std::string good = content(written.ended() / "metrics.jsonl");
  const auto read = [](const std::string& text) { for_each_evaluation(text, "metrics", [](const Evaluation&) {}); };
  const auto bytes = attempt(
      10'000, 30, [&](RandomStream& random) { return damaged(good, random); }, read);
  CHECK(bytes.read > 100);
  CHECK(bytes.refused > 1'000);
  const std::string line = good.substr(0, good.find('\n'));
  attempt(
      5'000, 31, [&](RandomStream& random) { return with_odd_value(parse_json(line), random).dump() + "\n" + good; }, read);
}

TEST_CASE("a damaged checkpoint is told, and one of sealed nonsense is read or refused") {
  const Written written;
  const RecordedRun& run = written.begun();
  const fs::path path = run.directory.checkpoint_path();
  const std::string good = content(path);
  const auto read = [&](const std::string& bytes) {
    put(path, bytes);
    return run.directory.read_checkpoint(run.config.train.steps, run.identity);
  };
  const auto before = read(good);
  REQUIRE(before);
  const auto bytes = attempt(
      500, 40, [&](RandomStream& random) { return damaged(good, random, 1); },
      [&](const std::string& text) {
        const auto stored = read(text);
        REQUIRE(stored);
        REQUIRE(stored->checkpoint.step == before->checkpoint.step);
        REQUIRE(stored->checkpoint.numbers == before->checkpoint.numbers);
        REQUIRE(stored->checkpoint.tensors.at(0).bytes == before->checkpoint.tensors.at(0).bytes);
      });
  CHECK(bytes.refused > bytes.read);
  attempt(
      500, 41,
      [&](RandomStream& random) {
        TensorFile file = parse_safetensors(good, "checkpoint");
        file.metadata.erase("ffn_checksum");
        file.metadata["state"] = with_odd_value(parse_json(file.metadata["state"]), random).dump();
        add_checksum(file);
        return safetensors_bytes(file);
      },
      read);
}

TEST_CASE("whatever stands in a run's files, checking it ends in a verdict") {
  const Written written;
  const RecordedRun& run = written.runs[0];
  const std::vector<std::string> names = {"run.json", "metrics.jsonl", "model.safetensors"};
  std::map<std::string, std::string> good;
  for (const auto& name : names) good[name] = content(written.ended() / name);
  for (std::uint64_t trial = 0; trial < trials(1'000); ++trial) {
    RandomStream random(50, trial);
    const auto& name = names[index(random, names.size())];
    const bool sealed = name == "run.json" && index(random, 2) == 0;
    CAPTURE(trial, name);
    const std::string bytes = sealed ? resealed(good[name], random) : damaged(good[name], random);
    put(written.ended() / name, bytes);
    RunCheck check;
    try {
      check = check_run(run.directory, run.identity);
    } catch (const VersionError&) {  // another version is a verdict, too
      REQUIRE(sealed);
    }
    REQUIRE_NOTHROW(check_run_closely(run.directory));
    // Everything that a finished run's result rests on is told when it was damaged.
    if (bytes != good[name] && name != "run.json") REQUIRE(check.verdict == RunCheck::Verdict::damaged);
    put(written.ended() / name, good[name]);
  }
  CHECK(check_run(run.directory, run.identity).is_whole());
}

TEST_CASE("a damaged study.json hides no run and ends no comparison") {
  const Written written;
  const fs::path study = written.ended().parent_path().parent_path();
  std::vector<std::string> identities;
  for (const auto& run : written.runs) identities.push_back(run.identity);
  const std::string good = dump_json(Json{{"schema_version", kSchemaVersion},
                                          {"name", "small"},
                                          {"seeds", {0, 1}},
                                          {"variants",
                                           {{{"name", "small"},
                                             {"label", ""},
                                             {"assignments", {{"model.ffn.activation", "relu"}}},
                                             {"width", Json::object()},
                                             {"identities", identities}}}},
                                          {"compare", {{"metric", "val/loss"}}},
                                          {"variant_keys", Json::object()},
                                          {"question", Json::object()},
                                          {"declaration", ""},
                                          {"document", {{"name", "small"}}}},
                                     2);
  const auto read = [&](const Json& json) {
    put(study / "study.json", json.is_object() ? store::sealed_text(json) : json.dump());
    const auto found = find_runs({study});
    const auto done = std::count_if(found.runs.begin(), found.runs.end(), [](const FoundRun& run) { return run.state == RunState::done; });
    const bool unlisted = std::count(found.extra.begin(), found.extra.end(), written.ended().string()) == 1;
    REQUIRE((done == 1) != unlisted);
  };
  read(parse_json(good));
  attempt(
      500, 60, [&](RandomStream& random) { return damaged(good, random); },
      [&](const std::string& bytes) {
        put(study / "study.json", bytes);
        REQUIRE(find_runs({study}).runs.size() == 2);  // its checksum is missing: every run below counts
      });
  attempt(
      500, 61, [&](RandomStream& random) { return with_odd_value(parse_json(good), random).dump(); },
      [&](const std::string& bytes) { read(parse_json(bytes)); });
}

TEST_CASE("keys that are younger than a run are compared at their defaults") {
  const Written written;
  const std::string good = content(written.ended() / "run.json");
  const auto keys = find_runs({written.ended()}).runs.at(0).keys;
  Json older = parse_json(good);
  older.erase("checksum");
  older["config"]["model"].erase("init");
  older["config"]["model"]["ffn"].erase("dropout");
  older["config"]["train"]["target"].erase("stop");
  put(written.ended() / "run.json", store::sealed_text(older));
  CHECK(find_runs({written.ended()}).runs.at(0).keys == keys);
  CHECK(keys.count("model.ffn.dropout") + keys.count("model.init") + keys.count("train.target.stop") == 3);
}
