#include <unistd.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ffn/base/marked_names.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/run_directory.hpp"
#include "store/runs.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::string kIdentity = "0123456789abcdef";

RunSummary full_summary() {
  RunResult result;
  result.end = RunEnd::diverged;
  result.steps = 250;
  result.train_seconds = 1.5;
  result.hit = Hit{200, 50.0, 12800};
  result.divergence = Divergence{250, kNan, 0.01, std::numeric_limits<double>::infinity()};
  MetricTally tally;
  for (const auto& e : {evaluation(100, 0.5, 0.75), evaluation(200, 0.25, 1.0), evaluation(250, kNan, 0.5)}) tally.add(e);
  auto summary = summarize(kIdentity, {10, 8, 64}, tally, result);
  summary.files["metrics.jsonl"] = {123, "xxh3:0"};
  return summary;
}

}  // namespace

TEST_CASE("a run's directory carries its identity, and a path without it finds it") {
  const ScratchDirectory scratch;
  const auto place = [&](const std::string& name) {
    std::filesystem::create_directories(scratch.path() / name);
    return scratch.path() / name;
  };
  CHECK(run_directory_name(3, kIdentity) == "seed-3.01234567");
  CHECK(is_run_directory_name("seed-3.01234567"));
  for (const char* name : {"seed-3", "seed-3.0123456", "seed-3.0123456g", "seed-3.01234567.damaged-1", "x.01234567"})
    CHECK_FALSE(is_run_directory_name(name));

  const auto short_name = scratch.path() / "seed-3";
  CHECK(named_directory(short_name) == short_name);  // nothing is there
  const auto first = place("seed-3.01234567");
  place("seed-33.01234567");
  place("seed-3.01234567.damaged-1");
  CHECK(named_directory(short_name) == first);
  CHECK(named_directory(short_name.string() + "/") == first);
  const auto second = place("seed-3.89abcdef");
  const auto several = message_of<UsageError>([&] { named_directory(short_name); });
  CHECK(several.find(first.string() + ", " + second.string()) != std::string::npos);
  place("seed-3");
  CHECK(named_directory(short_name) == short_name);
}

TEST_CASE("a study's run is found under another label, unless it is another run of the study") {
  const ScratchDirectory scratch;
  const auto& study = scratch.path();
  const std::string name = run_directory_name(0, kIdentity);
  std::filesystem::create_directories(study / "activation=relu" / name);
  std::filesystem::create_directories(study / "tuning" / run_directory_name(1, kIdentity));

  const auto now = run_places(study, {{"activation=relu+bits=2", 0, kIdentity}, {"activation=relu+bits=2", 1, kIdentity}});
  CHECK(now[0] == study / "activation=relu" / name);
  CHECK(now[1] == study / "activation=relu+bits=2" / run_directory_name(1, kIdentity));

  const auto twins = run_places(study, {{"activation=relu", 0, kIdentity}, {"match=params", 0, kIdentity}});
  CHECK(twins[0] == study / "activation=relu" / name);
  CHECK(twins[1] == study / "match=params" / name);
}

TEST_CASE("a run's record comes back as it was written, in every state") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  CHECK_FALSE(read_record(scratch.path()));
  CHECK_FALSE(holds_run(scratch.path()));

  for (const auto state :
       {RunState::pending, RunState::running, RunState::done, RunState::diverged, RunState::failed, RunState::interrupted}) {
    RunRecord record = new_record(small_run(7), kIdentity);
    record.state = state;
    record.reason = "because \"so\"";
    record.step = 42;
    if (is_finished(state)) record.summary = full_summary();
    record.sessions->push_back(session_json({"ffn-train", "x\xff.json"}, {"cpu", "cpu", "x86-64-v3", "", ""}, "2026-01-31T12:00:00Z", 100));
    run.write_record(record, Durability::cached);
    const auto back = read_record(scratch.path());
    REQUIRE(back);
    CHECK(back->state == state);
    CHECK(back->reason == record.reason);
    CHECK(back->identity == kIdentity);
    CHECK(back->step == 42);
    CHECK(back->tokens_per_step == 64);
    CHECK(back->pid == ::getpid());
    CHECK(back->host == host_name());
    CHECK(back->updated.size() == 20);
    CHECK(*back->config == resolved_json(small_run(7)));
    CHECK(run_identity(config_of(*back, run)) == run_identity(small_run(7)));
    CHECK(back->summary.has_value() == is_finished(state));
    const Json& session = back->sessions->at(0);
    CHECK(session["argv"] == Json{"ffn-train", "x\xef\xbf\xbd.json"});
    CHECK(session["engine"] == "cpu");
    CHECK(session["kernel_isa"] == "x86-64-v3");
    CHECK(session["resumed_at_step"] == 100);
    CHECK(session["cores"].get<int>() >= 1);
    for (const char* key : {"version", "git_commit", "compiler", "kernel", "cpu"}) CHECK_FALSE(session.at(key).get<std::string>().empty());
  }
  CHECK(holds_run(scratch.path()));
}

TEST_CASE("threads leave no trace in a run's record") {
  RunConfig config = small_run();
  config.compute.threads = 4;
  CHECK(*new_record(config, kIdentity).config == resolved_json(small_run()));
}

TEST_CASE("a record that cannot be understood is an error that names it") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "run.json";
  const auto problem = [&](const std::string& text) {
    put(path, text);
    return message_of<DataError>([&] { read_record(scratch.path()); });
  };

  CHECK(problem("{") == path.string() + ": no JSON object");
  CHECK(problem("{}") == path.string() + ": damaged: its checksum is missing");
  CHECK(problem(store::sealed_text(Json::object())) == path.string() + ": key 'identity' not found");
  CHECK(problem(store::sealed_text({{"identity", ""}, {"state", "asleep"}})) == path.string() + ": unknown state \"asleep\"");
  for (const char* other : {"3", "5"})
    CHECK(problem("{\"schema_version\":" + std::string(other) + "}") ==
          path.string() + ": schema_version " + other +
              ", this ffn-train reads 4; use the one that wrote it, or train again in another directory (-o DIR)");
  CHECK(problem("") == path.string() + ": empty");
  RunRecord record = new_record(small_run(), kIdentity);
  record.state = RunState::done;
  CHECK(problem(record_text(record)) == path.string() + ": its state and its summary contradict each other");
}

TEST_CASE("a summary has the last and the best value of each metric, the best by the metric's own direction") {
  const RunSummary summary = full_summary();

  REQUIRE(summary.find("val/loss"));
  CHECK(std::isnan(summary.find("val/loss")->final_value));
  CHECK(summary.find("val/loss")->best->value == 0.25);
  CHECK(summary.find("val/loss")->best->step == 200);
  CHECK(summary.find("val/accuracy")->final_value == 0.5);
  CHECK(summary.find("val/accuracy")->best->value == 1.0);
  CHECK(summary.find("val/accuracy")->best->step == 200);
  CHECK(summary.find("val/perplexity") == nullptr);
  CHECK(summary.tokens == 64 * 250);
}

TEST_CASE("a best value is the earliest of equals, and absent where nothing was finite or the direction is unknown") {
  const std::vector<Evaluation> history = {{1, 0, 0, {{"val/loss", 1.0}, {"train/loss", kNan}, {"of my own", 1.0}}},
                                           {2, 0, 0, {{"val/loss", 1.0}}}};

  MetricTally tally;
  for (const auto& evaluation : history) tally.add(evaluation);
  const RunSummary summary = summarize("", {}, tally, {});

  CHECK(summary.find("val/loss")->best->step == 1);
  CHECK_FALSE(summary.find("train/loss")->best);
  CHECK_FALSE(summary.find("of my own")->best);
  CHECK(summary.find("of my own")->final_value == 1.0);
}

TEST_CASE("an evaluation whose loss is not finite has no best value") {
  MetricTally tally;
  for (const double loss : {1.0, kNan, 2.0})
    tally.add(
        {static_cast<std::int64_t>(tally.last_step() + 1), 0, 0, {{"val/loss", loss}, {"val/accuracy", std::isnan(loss) ? 0.9 : 0.25}}});
  const RunSummary summary = summarize("", {}, tally, {});
  CHECK(summary.find("val/accuracy")->best->value == 0.25);
  CHECK(summary.find("val/accuracy")->best->step == 0);
}

TEST_CASE("a value that squares of would overflow is recorded as infinite, so that the record can be read") {
  MetricTally tally;
  tally.add({0, 0, 0, {{"val/loss", 304.0}, {"val/perplexity", 1e132}}});
  RunRecord record = new_record(small_run(), kIdentity);
  record.state = RunState::done;
  record.summary = summarize("", {}, tally, {});
  CHECK(std::isinf(parse_record(record_text(record), "run.json").summary->find("val/perplexity")->final_value));
}

TEST_CASE("a summary is written for people and programs and comes back the same") {
  RunRecord record = new_record(small_run(), kIdentity);
  record.state = RunState::diverged;
  record.summary = full_summary();
  const std::string text = record_text(record);
  const Json json = Json::parse(text)["summary"];
  const auto back = parse_record(text, "run.json").summary;

  CHECK(json["end"] == "diverged");
  CHECK(json["parameters"] == 10);
  CHECK(json["active_parameters"] == 8);
  CHECK(json["flops_per_token"] == 64);
  CHECK(json["metrics"]["val/loss"] == Json{{"final", "nan"}, {"best", 0.25}, {"best_step", 200}});
  CHECK(json["hit"] == Json{{"step", 200}, {"time_s", 50.0}, {"tokens", 12800}});
  CHECK(json["divergence"]["grad_norm"] == "inf");
  REQUIRE(back);
  CHECK(summary_json(*back) == json);
  CHECK(back->identity == kIdentity);
  CHECK(back->files.at("metrics.jsonl").bytes == 123);
  CHECK(back->end == RunEnd::diverged);
  CHECK(back->divergence->step == 250);
}

TEST_CASE("a run that never hit and never diverged says null") {
  const Json json = summary_json(summarize(kIdentity, {}, {}, {}));
  CHECK(json["hit"].is_null());
  CHECK(json["divergence"].is_null());
}

TEST_CASE("weights carry the config that made them") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());

  run.write_weights(run.weights_path(), resolved_json(small_run(5)), kIdentity, 400, some_weights(), {});
  const TensorFile file = read_safetensors(run.weights_path());

  REQUIRE(file.tensors.size() == 1);
  CHECK(file.tensors[0].bytes == some_weights()[0].bytes);
  CHECK(file.metadata.at("format") == "pt");
  CHECK(file.metadata.at("identity") == kIdentity);
  CHECK(file.metadata.at("step") == "400");
  CHECK(file.metadata.at("schema_version") == std::to_string(kSchemaVersion));
  CHECK(has_checksum(file));
  CHECK(run_identity(read_run_config(parse_document(file.metadata.at("config"), "weights", ""), "weights")) == run_identity(small_run(5)));
}

TEST_CASE("a checkpoint comes back bit for bit") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  const RunConfig config = small_run();
  CHECK_FALSE(run.read_checkpoint(config.train.steps, kIdentity));
  Checkpoint checkpoint;
  checkpoint.step = 123;
  checkpoint.numbers = {
      {"third", 1.0 / 3.0}, {"tiny", 5e-324}, {"minus zero", -0.0}, {"nan", kNan}, {"inf", -std::numeric_limits<double>::infinity()},
      {"count", 1e15}};
  checkpoint.tensors = {{"parameters", DType::f32, {2}, "12345678"}, {"second moment", DType::f64, {1}, "abcdefgh"}};

  put(run.metrics_path(), "abcdef");
  run.write_checkpoint(checkpoint, kIdentity, {4, checksum_of("abcd")});
  const auto stored = run.read_checkpoint(config.train.steps, kIdentity);

  REQUIRE(stored);
  CHECK(stored->metrics == "abcd");
  const Checkpoint* back = &stored->checkpoint;
  CHECK(back->step == 123);
  REQUIRE(back->numbers.size() == 6);
  for (const auto& [name, value] : checkpoint.numbers) {
    INFO(name);
    CHECK(std::signbit(back->numbers.at(name)) == std::signbit(value));
    CHECK((back->numbers.at(name) == value || std::isnan(value)));
  }
  CHECK(std::isnan(back->numbers.at("nan")));
  REQUIRE(back->tensors.size() == 2);
  CHECK(tensor_differences(checkpoint.tensors, back->tensors).empty());
  CHECK(back->tensors[0].bytes == "abcdefgh");
  CHECK(back->tensors[1].bytes == "12345678");

  run.remove_checkpoint();
  CHECK_FALSE(run.read_checkpoint(config.train.steps, kIdentity));
  CHECK_FALSE(std::filesystem::exists(run.checkpoint_path()));
}

TEST_CASE("a checkpoint of another config or of nobody is refused, and so is a step that the run does not have") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  const RunConfig config = small_run();  // 400 steps
  const std::string path = run.checkpoint_path().string();
  run.write_checkpoint({}, kIdentity, {0, checksum_of("")});
  const auto refused = [&](const std::string& identity) {
    return message_of<CheckpointError>([&] { run.read_checkpoint(config.train.steps, identity); });
  };
  CHECK(refused("ffff") == path + ": belongs to another run (identity 0123456789abcdef, this one is ffff)");

  const auto problem = [&](const std::map<std::string, std::string>& metadata) {
    TensorFile file{{}, metadata};
    add_checksum(file);
    put(path, safetensors_bytes(file));
    return refused(kIdentity);
  };
  CHECK(problem({}) == path + ": no checkpoint of ffn-train: its metadata lacks the state or the checksum");
  CHECK(problem({{"state", "{}"}}) == path + ": key 'identity' not found");
  CHECK(problem({{"state", R"({"schema_version":9})"}}) ==
        path + ": schema_version 9, this ffn-train reads 4; use the one that wrote it, or train again in another directory (-o DIR)");
  const auto with_step = [&](const std::string& step, const std::string& numbers = "{}") {
    return problem({{"state", R"({"identity":"0123456789abcdef","computed_by":[],"metrics":{"bytes":0,"checksum":""},"numbers":)" +
                                  numbers + R"(,"step":)" + step + "}"}});
  };
  CHECK(with_step("1", R"({"x":"huge"})") == path + ": expected a number, got \"huge\"");
  for (const char* step : {"400", "-5", "100000", "1e300", "9223372036854775808", "1.5", "null"}) {
    INFO(step);
    CHECK_FALSE(with_step(step).empty());
  }
}

TEST_CASE("no bit of a checkpoint can change unnoticed") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  const RunConfig config = small_run();
  put(run.metrics_path(), "abcd");
  run.write_checkpoint({7, {{"sum", 0.5}}, some_weights(), {"cpu"}}, kIdentity, {4, checksum_of("abcd")});
  const std::string whole = content(run.checkpoint_path());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    put(run.checkpoint_path(), flipped);
    std::optional<StoredCheckpoint> read;
    const auto problem = message_of<CheckpointError>([&] { read = run.read_checkpoint(config.train.steps, kIdentity); });
    CHECK(problem.empty() == read.has_value());
    if (!problem.empty()) continue;
    // Spaces that fill up the header may be others.
    INFO("bit " << bit % 8 << " of byte " << bit / 8);
    CHECK(std::isspace(static_cast<unsigned char>(whole[bit / 8])));
  }
}

TEST_CASE("a run directory in a place that cannot be is an error with the path") {
  const ScratchDirectory scratch;
  put(scratch.path() / "file", "");
  const RunDirectory run(scratch.path() / "file" / "run");
  const auto problem = message_of<SystemError>([&] { run.write_record(new_record(small_run(), kIdentity), Durability::cached); });
  CHECK(problem.rfind("cannot create " + run.record_path().string(), 0) == 0);
}
