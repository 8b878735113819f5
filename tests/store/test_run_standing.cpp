// How runs stand on disk after damage of every kind, and what is done about it.
#include <nlohmann/json.hpp>

#include "ffn/store/run_check.hpp"
#include "ffn/store/run_standing.hpp"
#include "store/pretended_training.hpp"

using namespace ffn;
using namespace ffn::test_record;
namespace fs = std::filesystem;

namespace {

// A finished run (seed 0), or one that was killed after its second checkpoint.
struct Trained {
  ScratchDirectory scratch;
  RecordedRun run = two_runs(scratch.path())[0];
  explicit Trained(Plan plan = {}) {
    auto observer = recorder({run});
    pretend_to_train(observer, {run}, plan);
  }
  fs::path file(const std::string& name) const { return run.directory.path() / name; }
  RunLook look() const { return look_at(run.directory, run.config, run.identity); }
  std::optional<StoredCheckpoint> ready() const { return make_ready(run.directory, run.config, run.identity, look()); }
  bool has_moved() const { return fs::exists(run.directory.path().string() + ".old-1"); }
};

const Plan kKilled{0, 270, false};  // checkpoints at 100 and 200

constexpr const char* kFinishedFiles[] = {"config.json", "metrics.jsonl", "model.safetensors", "status.json", "summary.json"};

}  // namespace

TEST_CASE("a run that nobody touched is whole, or goes on where its checkpoint is") {
  CHECK(Trained().look().is_whole());
  CHECK(check_run(Trained().run.directory).verdict == RunCheck::Verdict::whole);

  const Trained killed(kKilled);
  CHECK(killed.look().standing == Standing::begun);
  CHECK(check_run(killed.run.directory).verdict == RunCheck::Verdict::unfinished);
  CHECK(killed.ready()->checkpoint.step == 200);

  const ScratchDirectory empty;
  CHECK(look_at(RunDirectory(empty.path()), small_run(), "x").standing == Standing::absent);
  CHECK(look_at(RunDirectory(empty.path() / "none"), small_run(), "x").standing == Standing::absent);
}

TEST_CASE("no single bit of a finished run changes unnoticed") {
  const Trained trained;
  for (const std::string name : kFinishedFiles) {
    const std::string whole = content(trained.file(name));
    REQUIRE_FALSE(whole.empty());
    for (std::size_t bit = 0; bit < 8 * whole.size(); bit += name == "model.safetensors" || name == "metrics.jsonl" ? 13 : 1) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      put(trained.file(name), flipped);
      const auto look = trained.look();
      if (!look.is_whole()) continue;
      INFO(name << ", bit " << bit % 8 << " of byte " << bit / 8);
      // Another space, or another last digit of a number that is the same double.
      CHECK(Json::parse(flipped) == Json::parse(whole));
    }
    put(trained.file(name), whole);
  }
  CHECK(trained.look().is_whole());
}

TEST_CASE("a finished run that lost a file is mended where the rest tells what it was, and else trained again") {
  for (const std::string name : kFinishedFiles) {
    for (const char* text : {"", "x", "[[[[", "{}", "gone"}) {
      const Trained trained;
      if (std::string(text) == "gone") fs::remove(trained.file(name));
      else put(trained.file(name), text);
      const auto look = trained.look();
      INFO(name << " " << text << ": " << look.about);
      CHECK(look.standing == Standing::finished);
      CHECK_FALSE(look.is_whole());
      CHECK(look.about.find(name) == 0);
      const bool mendable = name == "config.json" || name == "status.json";
      CHECK(look.mendable == mendable);
      CHECK(check_run(trained.run.directory).verdict == (mendable ? RunCheck::Verdict::mendable : RunCheck::Verdict::repeated));
      if (mendable) {
        mend(trained.run.directory, trained.run.config, look);
        CHECK(trained.look().is_whole());
        CHECK_FALSE(trained.has_moved());
      } else {
        CHECK_FALSE(trained.ready());
        CHECK(trained.has_moved());
        CHECK(trained.look().standing == Standing::absent);
      }
    }
  }
}

TEST_CASE("a config that is written again may say another engine, and the run is whole with it") {
  Trained trained;
  fs::remove(trained.file("config.json"));
  trained.run.config.compute.engine = "fused";
  mend(trained.run.directory, trained.run.config, trained.look());
  CHECK(trained.look().is_whole());
  CHECK(check_run(trained.run.directory).damage.empty());
}

TEST_CASE("a half-finished run loses no more than it has to") {
  SECTION("without its status it goes on") {
    for (const char* text : {"", "gone"}) {
      const Trained killed(kKilled);
      if (*text) fs::remove(killed.file("status.json"));
      else put(killed.file("status.json"), "");
      CHECK(killed.ready()->checkpoint.step == 200);
      CHECK_FALSE(killed.has_moved());
    }
  }
  SECTION("without its metrics, or with others, it begins again, and what there is steps aside") {
    for (const char* text : {"", "{\"step\":0,\"time_s\":0.0,\"tokens\":0}\n", "gone"}) {
      const Trained killed(kKilled);
      if (std::string(text) == "gone") fs::remove(killed.file("metrics.jsonl"));
      else put(killed.file("metrics.jsonl"), text);
      CHECK(check_run(killed.run.directory).verdict == RunCheck::Verdict::repeated);
      CHECK_FALSE(killed.ready());
      CHECK(killed.has_moved());
      CHECK(fs::exists(killed.run.directory.path().string() + ".old-1/checkpoint/state.safetensors"));
    }
  }
  SECTION("with a damaged checkpoint, too") {
    const Trained killed(kKilled);
    const auto path = killed.run.directory.checkpoint_path();
    put(path, content(path).substr(8));
    CHECK_FALSE(killed.ready());
    CHECK(killed.has_moved());
  }
  SECTION("without a checkpoint there is nothing to lose") {
    const Trained killed(Plan{0, 70, false});
    CHECK_FALSE(killed.ready());
    CHECK_FALSE(killed.has_moved());
  }
}

TEST_CASE("what is no run of ours is refused and not touched") {
  const ScratchDirectory scratch;
  const RecordedRun run = two_runs(scratch.path())[0];
  const auto refused = [&] {
    return message_of<DataError>(
        [&] { make_ready(run.directory, run.config, run.identity, look_at(run.directory, run.config, run.identity)); });
  };
  const fs::path mine = scratch.path() / "mine";
  fs::create_directories(mine / "checkpoint");
  put(mine / "checkpoint" / "state.safetensors", "mine");
  put(mine / "model.safetensors", "mine");
  fs::create_directories(run.directory.path().parent_path());
  const auto check_untouched = [&] {
    CHECK(refused().find(run.directory.path().string() + " is no run of ffn-train") == 0);
    CHECK(content(run.directory.weights_path()) == "mine");
    CHECK(content(run.directory.checkpoint_path()) == "mine");
  };
  SECTION("a directory") {
    fs::rename(mine, run.directory.path());
    check_untouched();
  }
  SECTION("a symlink to one") {
    fs::create_directory_symlink(mine, run.directory.path());
    check_untouched();
  }
  SECTION("with a config of its own") {
    fs::rename(mine, run.directory.path());
    put(run.directory.config_path(), "{}");
    check_untouched();
  }
}

TEST_CASE("what cannot be read is not damaged: it is left as it is") {
  for (const std::string name : {"status.json", "summary.json", "metrics.jsonl", "model.safetensors"}) {
    const Trained trained;
    fs::remove(trained.file(name));
    fs::create_symlink(name, trained.file(name));  // to itself: nobody can open it, root neither
    const std::string what = message_of<ReadError>([&] { trained.look(); });
    INFO(name << ": " << what);
    CHECK(what.find(name) != std::string::npos);
    CHECK(check_run(trained.run.directory).verdict == RunCheck::Verdict::unreadable);
    CHECK_FALSE(trained.has_moved());
  }
}

TEST_CASE("a file in the run's place is refused") {
  const ScratchDirectory scratch;
  const RecordedRun run = two_runs(scratch.path())[0];
  fs::create_directories(run.directory.path().parent_path());
  put(run.directory.path(), "mine");
  CHECK(look_at(run.directory, run.config, run.identity).standing == Standing::foreign);
}

TEST_CASE("another config's run is left where it is, and what differs is named") {
  const Trained trained;
  RunConfig other = small_run(0);
  other.train.steps = 500;
  other.model.ffn = MoeConfig{};
  other.model.attention.emplace();
  const auto look = look_at(trained.run.directory, other, run_identity(other));
  CHECK(look.standing == Standing::another);
  const std::string path = trained.run.directory.path().string();
  CHECK(message_of<UsageError>([&] { make_ready(trained.run.directory, other, run_identity(other), look); }) ==
        path +
            " holds a run of another config:\n"
            "  model.attention: null → {\"heads\":4,\"causal\":true,\"scores\":\"co...\n"
            "  model.ffn.kind: \"positionwise\" → \"moe\"\n"
            "  train.steps: 400 → 500");
  CHECK(trained.look().is_whole());
  CHECK_FALSE(trained.has_moved());
}

TEST_CASE("a status of another run among files that are right is damage, not another run") {
  RunStatus other;
  other.state = RunState::done;
  other.identity = "ffff";
  const Trained trained, killed(kKilled);
  trained.run.directory.write_status(other);
  const auto look = trained.look();
  CHECK(look.standing == Standing::finished);
  CHECK(look.about == "status.json: of another run");
  CHECK(look.mendable);
  killed.run.directory.write_status(other);
  CHECK(killed.look().standing == Standing::begun);
  CHECK(killed.ready()->checkpoint.step == 200);
}

TEST_CASE("a run that another engine computed is named with both engines") {
  const Trained trained;
  RunConfig other = trained.run.config;
  other.compute.engine = "libtorch";
  const auto look = look_at(trained.run.directory, other, trained.run.identity);
  CHECK(refusal_of_another(trained.run.directory, look, 2).what() ==
        trained.run.directory.path().string() +
            " and 2 more hold this run as another engine computed it:\n  compute.engine: fused → libtorch");
}

TEST_CASE("a process that died between its last files leaves a finished run") {
  const Trained trained;
  RunStatus running;
  running.state = RunState::running;
  running.identity = trained.run.identity;
  trained.run.directory.write_status(running);
  const auto look = trained.look();
  CHECK(look.standing == Standing::finished);
  CHECK(look.mendable);
  const fs::path temporary = trained.run.directory.path() / "status.json.tmp-1-0";
  put(temporary, "");
  mend(trained.run.directory, trained.run.config, look);
  CHECK(trained.look().is_whole());
  CHECK_FALSE(fs::exists(temporary));
  running.state = RunState::failed;  // its text was changed: not finished, whatever the summary says
  trained.run.directory.write_status(running);
  CHECK(trained.look().standing == Standing::failed);
}

TEST_CASE("a kill or a power cut between the first files of a run leaves one that begins again in its place") {
  const Trained killed(Plan{0, -1, false});
  const std::string status = content(killed.file("status.json"));
  REQUIRE_FALSE(status.empty());
  put(killed.file("status.json.tmp-7-0"), status);
  for (const std::string& left : {std::string("gone"), std::string(), std::string(status.size(), '\0'), status}) {
    if (left == "gone") fs::remove(killed.file("status.json"));
    else put(killed.file("status.json"), left);
    const auto look = killed.look();
    CHECK(look.standing == Standing::begun);
    CHECK(look.about.empty());
    CHECK_FALSE(killed.ready());
    CHECK_FALSE(killed.has_moved());
  }
  fs::remove(killed.file("status.json"));
  SECTION("but not one that has results") {
    put(killed.file("metrics.jsonl"), "{\"step\":0,\"time_s\":0.0,\"tokens\":0}\n");
    CHECK(killed.look().about == "status.json: missing");
  }
  SECTION("nor one of another config") {
    put(killed.file("config.json"), "{}");
    CHECK(killed.look().about == "status.json: missing");
  }
}

TEST_CASE("a power cut right after a run began leaves one that begins again") {
  const ScratchDirectory scratch;
  const RecordedRun run = two_runs(scratch.path())[0];
  fs::create_directories(run.directory.path());
  run.directory.write_config(run.config);
  const std::string whole = content(run.directory.config_path());
  const auto standing = [&](const std::string& text) {
    put(run.directory.config_path(), text);
    return look_at(run.directory, run.config, run.identity).standing;
  };
  for (const std::string& text : {std::string(), whole.substr(0, 40), std::string(whole.size(), '\0'), whole})
    CHECK(standing(text) == Standing::begun);
  CHECK(standing("{}") == Standing::foreign);
  put(run.directory.path() / "thesis.txt", "the only copy");
  CHECK(standing("") == Standing::foreign);
}
