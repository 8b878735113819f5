// Runs after damage of every kind, and what is done about it: named, renamed, trained again.
#include <nlohmann/json.hpp>

#include "ffn/store/cleanup.hpp"
#include "ffn/store/run_check.hpp"
#include "store/pretended_training.hpp"

using namespace ffn;
using namespace ffn::test_store;
namespace fs = std::filesystem;

namespace {

using Verdict = RunCheck::Verdict;

// A finished run (seed 0), or one that was killed after its second checkpoint.
struct Trained {
  ScratchDirectory scratch;
  RecordedRun run = two_runs(scratch.path())[0];
  explicit Trained(Plan plan = {}) {
    auto observer = recorder({run});
    pretend_to_train(observer, {run}, plan);
  }
  fs::path file(const std::string& name) const { return run.directory.path() / name; }
  RunCheck check() const { return check_run(run.directory, run.identity); }
  std::optional<StoredCheckpoint> ready() const {
    auto found = check();
    return make_ready(run.directory, run.config, run.identity, runs_beside({run.directory.path()})[0], found);
  }
  bool was_renamed() const { return fs::exists(run.directory.path().string() + ".damaged-1") && !fs::exists(run.directory.path()); }
};

const Plan kKilled{0, 270, false};  // checkpoints at 100 and 200

}  // namespace

TEST_CASE("a run that nobody touched is whole, or goes on where its checkpoint is") {
  CHECK(Trained().check().is_whole());

  const Trained killed(kKilled);
  CHECK(killed.check().verdict == Verdict::unfinished);
  CHECK(check_run_closely(killed.run.directory).verdict == Verdict::unfinished);
  CHECK(killed.ready()->checkpoint.step == 200);

  const ScratchDirectory empty;
  CHECK(check_run(RunDirectory(empty.path())).verdict == Verdict::absent);
  CHECK(check_run(RunDirectory(empty.path() / "none")).verdict == Verdict::absent);
}

TEST_CASE("beside a run are those of its seed in its directory, and nothing that stepped aside") {
  const ScratchDirectory scratch;
  const auto place = [&](const std::string& name) { return scratch.path() / name; };
  for (const std::string name :
       {"a/seed-1.00000001", "a/seed-1.00000002", "a/seed-1.00000003.old-1", "a/seed-10.00000004", "b/seed-1.00000005"})
    fs::create_directories(place(name));
  const auto beside =
      runs_beside({place("a/seed-1.00000001"), place("a/seed-1.0000000f"), place("b/seed-1.00000005"), place("c/seed-1.00000001")});
  CHECK(beside[0] == RunsBeside{place("a/seed-1.00000002")});
  CHECK(beside[1] == RunsBeside{place("a/seed-1.00000001"), place("a/seed-1.00000002")});
  CHECK(beside[2].empty());
  CHECK(beside[3].empty());
}

TEST_CASE("no single bit of a finished run changes unnoticed") {
  const Trained trained;
  for (const std::string name : {"run.json", "metrics.jsonl", "model.safetensors"}) {
    const std::string whole = content(trained.file(name));
    REQUIRE_FALSE(whole.empty());
    std::size_t unnoticed = 0;
    for (std::size_t bit = 0; bit < 8 * whole.size(); bit += name == "run.json" ? 5 : 13) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      put(trained.file(name), flipped);
      if (!trained.check().is_whole()) continue;
      INFO(name << ", bit " << bit % 8 << " of byte " << bit / 8);
      ++unnoticed;
      // Another space, another last digit of a number that is the same double, or 1E-08 for 1e-08.
      CHECK(name == "run.json");
      const auto before = static_cast<unsigned char>(whole[bit / 8]);
      CHECK((std::isspace(before) || std::isdigit(before) || (before == 'e' && flipped[bit / 8] == 'E')));
    }
    CHECK(unnoticed < whole.size() / 10);
    put(trained.file(name), whole);
  }
  CHECK(trained.check().is_whole());
}

TEST_CASE("a finished run that lacks a file, or has another in its place, is damaged, renamed and trained again") {
  for (const std::string name : {"run.json", "metrics.jsonl", "model.safetensors"}) {
    for (const std::string how : {"removed", "emptied", "a directory"}) {
      INFO(name << " " << how);
      const Trained trained;
      fs::remove(trained.file(name));
      if (how == "emptied") put(trained.file(name), "");
      if (how == "a directory") fs::create_directory(trained.file(name));
      const auto check = trained.check();
      CHECK(check.verdict == Verdict::damaged);
      REQUIRE(check.damage.size() == 1);
      CHECK(check.damage[0].find(name) != std::string::npos);
      CHECK_FALSE(trained.ready());
      CHECK(trained.was_renamed());
    }
  }
}

TEST_CASE("another run's files in a run's directory are no result of it") {
  const Trained trained;
  const ScratchDirectory scratch;
  const auto other = two_runs(scratch.path())[1];
  {
    auto observer = recorder({other});
    pretend_to_train(observer, {other}, {});
  }
  const auto copy = [&](const char* name) {
    fs::copy_file(other.directory.path() / name, trained.file(name), fs::copy_options::overwrite_existing);
  };
  copy("model.safetensors");
  copy("metrics.jsonl");
  CHECK(trained.check().verdict == Verdict::damaged);
  copy("run.json");  // the whole directory of another
  const std::string why = "run.json: of another run (identity " + other.identity + ")";
  CHECK(trained.check().damage == std::vector<std::string>{why});
  CHECK(check_run(trained.run.directory).damage == std::vector<std::string>{why});  // whoever asks
  CHECK(check_run(RunDirectory(trained.run.directory.path() / ".")).damage.size() == 1);
  CHECK_FALSE(message_of<DataError>([&] { read_record(trained.run.directory.path()); }).empty());
}

TEST_CASE("an unfinished run whose checkpoint or metrics are damaged is renamed and begins again") {
  for (const std::string name : {"checkpoint.safetensors", "metrics.jsonl"}) {
    INFO(name);
    const Trained killed(kKilled);
    std::string bytes = content(killed.file(name));
    bytes[bytes.size() / 3] ^= 1;
    put(killed.file(name), bytes);
    CHECK(killed.check().verdict == Verdict::unfinished);
    CHECK(check_run_closely(killed.run.directory).verdict == Verdict::damaged);
    CHECK_FALSE(killed.ready());
    CHECK(killed.was_renamed());
  }
}

TEST_CASE("an unfinished run whose checkpoint is lost is renamed and begins again") {
  const Trained killed(kKilled);
  fs::remove(killed.file("checkpoint.safetensors"));
  CHECK(check_run_closely(killed.run.directory).verdict == Verdict::damaged);
  CHECK_FALSE(killed.ready());
  CHECK(killed.was_renamed());
}

TEST_CASE("a run that another schema version wrote is no damage") {
  const Trained trained;
  std::string text = content(trained.file("run.json"));
  const std::string key = "\"schema_version\":";
  const auto at = text.find_first_of("0123456789", text.find(key) + key.size());
  text.replace(at, 1, "9");
  put(trained.file("run.json"), text);
  CHECK_THROWS_AS(trained.check(), VersionError);
  CHECK(check_run_closely(trained.run.directory).verdict == Verdict::unreadable);
}

TEST_CASE("whoever uses weights gets those that were trained, or an error") {
  const Trained trained;
  CHECK(require_trained(trained.run.directory, trained.run.directory.weights_path()).identity == trained.run.identity);
  std::string bytes = content(trained.file("model.safetensors"));
  bytes.back() ^= 1;
  put(trained.file("model.safetensors"), bytes);
  CHECK(message_of<DataError>([&] {
          require_trained(trained.run.directory, trained.run.directory.weights_path());
        }).find("its checksum differs") != std::string::npos);
  const Trained killed(kKilled);
  CHECK(message_of<DataError>([&] {
          require_trained(killed.run.directory, killed.run.directory.weights_path());
        }).find("no trained weights yet") != std::string::npos);
}

TEST_CASE("what was renamed is found by its name and removed, a person's files are not") {
  const ScratchDirectory scratch;
  const auto make = [&](const fs::path& path) {
    fs::create_directories((scratch.path() / path).parent_path());
    put(scratch.path() / path, "x");
  };
  make("s/study.json");
  make("s/a/seed-0.01234567/run.json");
  make("s/a/seed-1.01234567.damaged-1/metrics.jsonl");
  make("s/a/seed-2.01234567.tmp-17/run.json");
  make("s/run.json.tmp-17-2");
  make("s.old-1/study.json");
  make("s.old-2/study.json");
  make("s.old-2/notes.txt");
  make("mine.old-1/notes.txt");
  make(".removed-s.old-3/a/seed-0.01234567/metrics.jsonl");  // by a clean that was killed
  std::set<std::string> ours, foreign;
  for (const auto& one : find_leftovers(scratch.path())) {
    (one.foreign.empty() ? ours : foreign).insert(one.path.lexically_relative(scratch.path()).string());
    if (one.foreign.empty()) remove_leftover(one.path);
  }
  CHECK(ours == std::set<std::string>{".removed-s.old-3", "s.old-1", "s/a/seed-1.01234567.damaged-1", "s/a/seed-2.01234567.tmp-17",
                                      "s/run.json.tmp-17-2"});
  CHECK(foreign == std::set<std::string>{"s.old-2"});
  CHECK(names_in(scratch.path()) == std::set<std::string>{"mine.old-1", "s", "s.old-2"});
  CHECK(names_in(scratch.path() / "s" / "a") == std::set<std::string>{"seed-0.01234567"});
}
