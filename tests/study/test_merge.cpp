// Parts of one study become one directory, or nothing is copied.
#include <filesystem>

#include "ffn/base/error.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/merge.hpp"
#include "study/pretending.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
namespace fs = std::filesystem;

namespace {

constexpr const char* kStudy = R"({"name": "s", "seeds": 4, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})";

/// A part of the study, trained below a directory of its own.
struct TrainedPart {
  ScratchDirectory scratch;
  Plan plan;
  TrainedPart(const Shard& shard, double loss, const std::string& json = kStudy) {
    Pretending engine([loss](const RunConfig&) { return loss; });
    auto request = request_of(scratch, engine);
    request.shard = shard;
    plan = train(json, request).plan;
  }
  const fs::path& directory() const { return plan.directory; }
};

}  // namespace

TEST_CASE("shards become the whole study, and a second merge copies nothing") {
  const TrainedPart first({1, 2}, 1), second({2, 2}, 1);
  const ScratchDirectory scratch;
  const auto target = scratch.path() / "s";
  put(first.directory() / "note.txt", "by hand\n");
  const auto merged = merge_studies({first.directory(), second.directory()}, target);
  CHECK((merged.planned == 8 && merged.finished == 8 && merged.copied == 8));
  CHECK(merged.notes.empty());
  CHECK(content(target / "note.txt") == "by hand\n");
  for (const auto& run : read_study_file(target)->run_directories(target)) CHECK(check_run(RunDirectory(run)).is_whole());
  CHECK(merge_studies({first.directory(), second.directory()}, target).copied == 0);
}

TEST_CASE("a merge that was killed goes on, also where it had written nothing whole; another directory is no target") {
  const TrainedPart part({1, 1}, 1);
  const ScratchDirectory scratch;
  const auto target = scratch.path() / "s";
  fs::create_directories(target);
  put(target / "study.json.tmp-17-1", "{");
  CHECK(merge_studies({part.directory()}, target).finished == 8);
  const auto other = scratch.path() / "t";
  fs::create_directories(other);
  put(other / "notes.txt", "mine");
  CHECK(message_of<DataError>([&] { merge_studies({part.directory()}, other); }).find("is not empty") != std::string::npos);
}

TEST_CASE("runs that were trained before the sweep gained a key count where they are") {
  const ScratchDirectory scratch;
  Pretending engine([](const RunConfig&) { return 1.0; });
  train(kStudy, request_of(scratch, engine));
  std::string wider = kStudy;
  wider.insert(wider.rfind("}}}"), R"(, "train.optimizer.lr": [0.001, 0.002])");
  const auto study = train(wider, request_of(scratch, engine)).plan.directory;
  const auto merged = merge_studies({study}, scratch.path() / "merged");
  CHECK((merged.planned == 16 && merged.finished == 16 && merged.copied == 16));
}

TEST_CASE("two results of one run are refused, and nothing is copied") {
  const TrainedPart first({1, 1}, 1), second({1, 2}, 2);
  const ScratchDirectory scratch;
  const auto text = message_of<DataError>([&] { merge_studies({first.directory(), second.directory()}, scratch.path() / "s"); });
  CHECK(text.find("their results differ") != std::string::npos);
  CHECK(fs::is_empty(scratch.path()));
}

TEST_CASE("parts of different studies are refused") {
  const TrainedPart first({1, 2}, 1);
  const std::string other =
      R"({"name": "s", "seeds": 4, "train": {"steps": 500}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})";
  const TrainedPart second({2, 2}, 1, other);
  const ScratchDirectory scratch;
  const auto text = message_of<DataError>([&] { merge_studies({first.directory(), second.directory()}, scratch.path() / "s"); });
  CHECK(text.find("are different studies") != std::string::npos);
  CHECK(fs::is_empty(scratch.path()));
}

TEST_CASE("a damaged copy is left out and named, and a whole one elsewhere taken, also for one that is there") {
  const TrainedPart first({1, 1}, 1), second({1, 1}, 1);
  const auto& damaged = first.plan.runs[0].directory;
  put(damaged / "model.safetensors", "short");
  const ScratchDirectory scratch;
  const auto alone = merge_studies({first.directory()}, scratch.path() / "one" / "s");
  CHECK(alone.finished == 7);
  REQUIRE(alone.notes.size() == 1);
  CHECK(alone.notes[0].find(damaged.string() + ": model.safetensors: 5 bytes instead of") == 0);
  CHECK(merge_studies({first.directory(), second.directory()}, scratch.path() / "two" / "s").finished == 8);
  CHECK(merge_studies({second.directory()}, first.directory()).copied == 1);
  CHECK(check_run(RunDirectory(damaged)).is_whole());
  CHECK(fs::exists(damaged.string() + ".old-1/model.safetensors"));
}
