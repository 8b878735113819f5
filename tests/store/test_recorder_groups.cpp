// Runs of a cohort that finish or checkpoint together, and when it becomes visible.
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "store/pretended_training.hpp"

using namespace ffn;
using namespace ffn::test_store;

namespace {

/// While it lives, every file that is flushed in this process is noted, and what stood in `watched` at that moment.
class FlushWatch {
 public:
  explicit FlushWatch(std::vector<std::filesystem::path> watched) : watched_(std::move(watched)) { current = this; }
  ~FlushWatch() { current = nullptr; }
  FlushWatch(const FlushWatch&) = delete;
  FlushWatch& operator=(const FlushWatch&) = delete;

  void note(int fd) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string file = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
    if (std::filesystem::is_directory(file)) {  // after the renames, which it makes last
      directories.insert(file);
      return;
    }
    flushed.insert(file.substr(0, file.find(".tmp-")));
    std::string contents;
    for (const auto& path : watched_) contents += content(path);
    seen.insert(contents);
  }

  std::multiset<std::string> flushed;  // the names that temporaries are to have
  std::set<std::string> directories;   // that were flushed
  std::set<std::string> seen;          // the contents of the watched files, whenever a file was flushed
  static FlushWatch* current;

 private:
  const std::vector<std::filesystem::path> watched_;
  std::mutex mutex_;
};

FlushWatch* FlushWatch::current = nullptr;

}  // namespace

// Instead of the C library's.
extern "C" int fsync(int fd) {
  if (FlushWatch::current) FlushWatch::current->note(fd);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

TEST_CASE("runs that finish together appear together, when all of them are on the disk") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 50, false});
  std::vector<std::filesystem::path> results;
  std::multiset<std::string> expected;
  for (const auto& run : runs) {
    for (const auto& path : {run.directory.weights_path(), run.directory.record_path()}) results.push_back(path);
  }
  for (const auto& run : runs) {
    for (const auto& path : {run.directory.weights_path(), run.directory.metrics_path(), run.directory.record_path()})
      expected.insert(path.string());
  }
  const std::string before = content(results[1]) + content(results[3]);
  FlushWatch watch(results);

  observer.finished(0, {});
  CHECK(watch.flushed.empty());
  CHECK(record_of(runs[0]).state == RunState::running);
  CHECK_FALSE(std::filesystem::exists(results[0]));
  CHECK_FALSE(observer.summary(0));
  observer.finished(1, {});

  CHECK(watch.flushed == expected);
  for (const auto& run : runs) CHECK(watch.directories.count(run.directory.path().string()) == 1);
  CHECK(watch.seen == std::set<std::string>{before});  // the records say "running"
  for (std::size_t run : {0, 1}) {
    CHECK(observer.summary(run));
    CHECK(record_of(runs[run]).state == RunState::done);
    CHECK(names_in(runs[run].directory.path()) == std::set<std::string>{"metrics.jsonl", "model.safetensors", "run.json"});
  }
}

TEST_CASE("a directory's name is flushed once, and again where the directory was made anew") {
  const ScratchDirectory scratch;
  const auto first = scratch.path() / "first", second = scratch.path() / "second";
  const auto flushed_for = [](const std::filesystem::path& place) {
    FlushWatch watch({});
    write_file_atomically(place / "file", "x");
    return watch.directories;
  };
  make_directories(first);
  make_directories(second);
  const auto with_first = flushed_for(first);
  CHECK(with_first.count(first.string()) == 1);
  CHECK(with_first.count(scratch.path().string()) == 1);  // for the name of the other, too
  CHECK(flushed_for(second).count(second.string()) == 1);
  CHECK(flushed_for(first) == std::set<std::string>{first.string()});

  std::filesystem::remove_all(second);
  make_directories(second);
  CHECK(flushed_for(second) == std::set<std::string>{scratch.path().string(), second.string()});

  std::filesystem::create_directory(scratch.path() / "others");  // by another process: nothing is known of it
  CHECK(flushed_for(scratch.path() / "others") == std::set<std::string>{(scratch.path() / "others").string(), scratch.path().string()});
}

TEST_CASE("checkpoints of one step appear together, when the metrics are on the disk, too") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 50, false});
  std::vector<std::filesystem::path> checkpoints;
  std::multiset<std::string> expected;
  for (const auto& run : runs) {
    checkpoints.push_back(run.directory.checkpoint_path());
    expected.insert(run.directory.checkpoint_path().string());
    expected.insert(run.directory.metrics_path().string());
  }
  FlushWatch watch(checkpoints);

  observer.checkpointed(0, {50, {}, some_weights()});
  CHECK_FALSE(checkpoint_of(runs[0]));
  observer.checkpointed(1, {50, {}, some_weights()});

  CHECK(watch.flushed == expected);
  for (const auto& run : runs) CHECK(watch.directories.count(run.directory.checkpoint_path().parent_path().string()) == 1);
  CHECK(watch.seen == std::set<std::string>{""});
  for (const auto& run : runs) {
    CHECK(checkpoint_of(run)->step == 50);
    CHECK(record_of(run).step == 50);
  }
}

TEST_CASE("a run that ends before its neighbours does not wait for them longer than a step") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 120, false});

  observer.finished(0, {});
  CHECK(record_of(runs[0]).state == RunState::running);
  CHECK(checkpoint_of(runs[0]));
  observer.stepped(121, 0.5);
  CHECK(record_of(runs[0]).state == RunState::done);
  CHECK_FALSE(checkpoint_of(runs[0]));

  observer.checkpointed(1, {200, {}, some_weights()});  // the last one left: nobody to wait for
  CHECK(checkpoint_of(runs[1])->step == 200);
}

TEST_CASE("no run is done without its weights") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 120, false});
  std::filesystem::create_directories(runs[1].directory.weights_path() / "in the way");

  observer.finished(0, {});
  const auto problem = message_of<SystemError>([&] { observer.finished(1, {}); });
  CHECK(problem == "cannot replace " + (runs[1].directory.weights_path()).string() + ": Is a directory");
  CHECK(record_of(runs[1]).state == RunState::running);

  observer.fail_unfinished(problem);
  for (std::size_t run : {0, 1}) {
    const auto status = record_of(runs[run]);
    CHECK(status.state == RunState::failed);
    CHECK(status.reason == problem);
    CHECK(status.step == 100);  // and not what the run that could not be recorded had reached
    CHECK(checkpoint_of(runs[run])->step == 100);
    CHECK_FALSE(observer.summary(run));
    for (const auto& file : names_in(runs[run].directory.path())) CHECK(file.find(".tmp-") == std::string::npos);
  }
}

TEST_CASE("what waits for its neighbours while the process is killed leaves no trace in the run that goes on") {
  const ScratchDirectory scratch;
  {
    auto observer = recorder(two_runs(scratch.path()));
    pretend_to_train(observer, observer.runs(), {0, 100, false});
  }
  const auto runs = resuming(scratch.path());
  for (const auto& run : runs) {
    put(run.directory.weights_path().string() + ".tmp-123-4", "half of the wei");
    put(run.directory.checkpoint_path().string() + ".tmp-123-5", "");
    put(run.directory.path() / "notes.txt", "mine");
  }

  auto observer = recorder(runs);

  for (const auto& run : runs) {
    CHECK(names_in(run.directory.path()) == std::set<std::string>{"checkpoint.safetensors", "metrics.jsonl", "notes.txt", "run.json"});
  }
}
