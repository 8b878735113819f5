// Reading files with limits and clear errors; replacing files as a whole.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>

#include "base/helpers.hpp"
#include "ffn/base/files.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;
namespace fs = std::filesystem;

namespace {

std::size_t files_in(const fs::path& directory) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(directory)) count += !entry.path().empty();
  return count;
}

}  // namespace

TEST_CASE("a file is read whole, whatever its bytes") {
  const ScratchDirectory scratch;
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7);
  CHECK(read_file(scratch.write("all", bytes), "config", ExitCode::usage, 1 << 20) == bytes);
  CHECK(read_file(scratch.write("empty", ""), "config", ExitCode::usage, 1 << 20).empty());
}

TEST_CASE("a missing file is named, with where relative paths start") {
  const ScratchDirectory scratch;
  const CurrentDirectory here(scratch.path());
  const auto error = thrown<UsageError>([] { read_file("configs/no.json", "config", ExitCode::usage, 100); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::usage);
  CHECK(error->what() == std::string("no config at configs/no.json"));
  CHECK(error->hint() == "check the path; relative paths start at " + scratch.path().string());
  const auto data = thrown<DataError>([] { read_file("experiments/texts/data/austen.txt", "text file", ExitCode::data, 100); });
  REQUIRE(data);
  CHECK(data->hint() == "in the checkout: python3 scripts/experimenting/texts.py");
}

TEST_CASE("the error's type follows the exit code") {
  const ScratchDirectory scratch;
  CHECK(message<UsageError>([&] { read_file(scratch / "no", "config", ExitCode::usage, 100); }) == "no config at " + scratch / "no");
  CHECK(message<DataError>([&] { read_file(scratch / "no", "text file", ExitCode::data, 100); }) == "no text file at " + scratch / "no");
}

TEST_CASE("a file over the limit is refused, one at the limit is not") {
  const ScratchDirectory scratch;
  const std::size_t limit = 1 << 20;
  CHECK(read_file(scratch.write("full", std::string(limit, 'x')), "config", ExitCode::usage, limit).size() == limit);
  const auto over = scratch.write("over", std::string(limit + 1, 'x'));
  CHECK(message<UsageError>([&] { read_file(over, "config", ExitCode::usage, limit); }) ==
        over + " is larger than 1 MiB; expected a config");
}

TEST_CASE("a source without end is left at the limit where a person names it, and refused where a file does") {
  INFO("needs /dev/zero, as Unix has it");
  CHECK(message<UsageError>([] { read_input("/dev/zero", "config", ExitCode::usage, 1 << 20); }) ==
        "/dev/zero is larger than 1 MiB; expected a config");
  CHECK(message<UsageError>([] { read_file("/dev/zero", "config", ExitCode::usage, 1 << 20); }) ==
        "/dev/zero is a device; a config has to be a regular file");
}

TEST_CASE("a pipe that nobody writes is refused without waiting") {
  const ScratchDirectory scratch;
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  CHECK(message<DataError>([&] { read_file(scratch / "pipe", "text file", ExitCode::data, 100); }) ==
        scratch / "pipe is a pipe; a text file has to be a regular file");
}

TEST_CASE("a file over the limit is refused by its size, before it is read") {
  const ScratchDirectory scratch;
  const auto file = scratch.write("sparse", "");
  fs::resize_file(file, std::uintmax_t{3} << 30);
  const auto start = std::chrono::steady_clock::now();
  CHECK(message<DataError>([&] { read_file(file, "text file", ExitCode::data, std::uintmax_t{1} << 31); }) ==
        file + " is larger than 2 GiB; expected a text file");
  CHECK(std::chrono::steady_clock::now() - start < kSlowness * std::chrono::milliseconds(500));
  CHECK(message<DataError>([&] { read_file(file, "text file", ExitCode::data, 100); }) ==
        file + " is larger than 100 bytes; expected a text file");
}

TEST_CASE("an error of reading is no end of the file") {
  if (!fs::exists("/proc/self/mem")) {
    SUCCEED("no /proc here");
    return;
  }
  CHECK(message<ReadError>([] { read_file("/proc/self/mem", "text file", ExitCode::data, 100); }) ==
        "cannot read the text file /proc/self/mem: Input/output error");
}

TEST_CASE("a current directory that was removed is named as the reason") {
  const ScratchDirectory scratch;
  fs::create_directories(scratch / "gone");
  const CurrentDirectory here(scratch / "gone");
  fs::remove(scratch / "gone");
  CHECK(message<SystemError>([] { current_directory(); }).find("the current directory is not there any more") == 0);
  CHECK(message<SystemError>([] { read_file("no", "config", ExitCode::usage, 100); }).find("the current directory") == 0);
  CHECK(absolute_path("/a/b") == "/a/b");
}

TEST_CASE("a name that the system refuses is an error with its reason") {
  const std::string name(5000, 'x');
  CHECK(message<UsageError>([&] { read_file(name, "config", ExitCode::usage, 100); }) ==
        "cannot read the config " + name + ": File name too long");
}

TEST_CASE("an atomic write replaces the content and leaves nothing beside it") {
  const ScratchDirectory scratch;
  const auto file = scratch / "status.json";
  write_file_atomically(file, "old");
  CHECK(content_of(file) == "old");
  const std::string bytes = repeated(std::string("new\0", 4), 100'000);
  write_file_atomically(file, bytes);
  CHECK(content_of(file) == bytes);
  write_file_atomically(file, "");
  CHECK(content_of(file).empty());
  CHECK(files_in(scratch.path()) == 1);
}

TEST_CASE("a write that cannot be done names the file and the reason and leaves nothing behind") {
  const ScratchDirectory scratch;
  CHECK(thrown<SystemError>([&] { write_file_atomically(scratch / "no/status.json", "x"); }));
  const auto no_directory = message<SystemError>([&] { write_file_atomically(scratch / "no/status.json", "x"); });
  CHECK(no_directory.find("cannot create " + scratch / "no/status.json") == 0);
  CHECK(no_directory.find("No such file or directory") != std::string::npos);

  fs::create_directories(scratch / "taken/inside");
  CHECK(message<SystemError>([&] { write_file_atomically(scratch / "taken", "x"); }) ==
        "cannot replace " + scratch / "taken" + ": Is a directory");
  CHECK(files_in(scratch.path()) == 1);
}

TEST_CASE("a group's files appear in the order of writing, and none before the commit") {
  const ScratchDirectory scratch;
  scratch.write("second", "old");
  FileGroup group;
  CHECK(group.empty());
  for (const char* name : {"first", "second", "third", "second"}) group.write(scratch / name, std::string("new ") + name);
  CHECK_FALSE(fs::exists(scratch / "first"));
  CHECK(content_of(scratch / "second") == "old");

  group.commit();
  CHECK(group.empty());
  for (const char* name : {"first", "second", "third"}) CHECK(content_of(scratch / name) == std::string("new ") + name);
  CHECK(files_in(scratch.path()) == 3);

  fs::create_directories(scratch / "taken/inside");
  for (const char* name : {"before", "taken", "behind"}) group.write(scratch / name, "x");
  CHECK(message<SystemError>([&] { group.commit(); }) == "cannot replace " + scratch / "taken" + ": Is a directory");
  CHECK(fs::exists(scratch / "before"));
  CHECK_FALSE(fs::exists(scratch / "behind"));
  CHECK(files_in(scratch.path()) == 5);
  CHECK(group.empty());
}

TEST_CASE("a group may have more files than a process may have open") {
  const ScratchDirectory scratch;
  struct rlimit usual = {}, few = {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  few.rlim_cur = 64;
  few.rlim_max = usual.rlim_max;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  FileGroup group;
  std::string problem;
  try {
    for (int i = 0; i < 200; ++i) group.write(scratch / std::to_string(i), std::to_string(i));
    group.commit();
  } catch (const SystemError& error) {
    problem = error.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &usual);
  CHECK(problem.empty());
  CHECK(files_in(scratch.path()) == 200);
  CHECK(content_of(scratch / "199") == "199");
}

TEST_CASE("a group that is not committed leaves what was there") {
  const ScratchDirectory scratch;
  scratch.write("status.json", "old");
  {
    FileGroup group;
    group.write(scratch / "status.json", "new");
    CHECK(files_in(scratch.path()) == 2);
  }
  CHECK(content_of(scratch / "status.json") == "old");
  CHECK(files_in(scratch.path()) == 1);
}

TEST_CASE("a link under any name that a temporary could be guessed to have is not written through") {
  const ScratchDirectory scratch;
  const fs::path victim = scratch.write("thesis.txt", "the only copy"), file = scratch / "status.json";
  for (int number = 0; number < 1000; ++number)
    fs::create_symlink(victim, file.string() + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(number));
  for (int i = 0; i < 20; ++i) write_file_atomically(file, "new");
  CHECK(content_of(victim) == "the only copy");
  CHECK(content_of(file) == "new");
}

TEST_CASE("two processes of equal ids have temporaries of their own") {
  const ScratchDirectory scratch;
  const fs::path file = scratch / "status.json";
  const pid_t child = ::fork();
  if (child == 0) {  // its counter, if it had one, stands where ours does
    FileGroup group;
    group.write(file, "child");
    ::_exit(0);  // killed before it could tidy up
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  FileGroup group;
  group.write(file, "parent");
  std::set<std::string> numbers;
  for (const auto& entry : entries_of(scratch.path())) {
    const std::string name = entry.path.filename().string();
    numbers.insert(name.substr(name.rfind('-')));
  }
  CHECK(numbers.size() == 2);
  group.commit();
  CHECK(content_of(file) == "parent");
}

TEST_CASE("the mode of a file is the umask's") {
  const ScratchDirectory scratch;
  for (const mode_t mask : {0002, 0022, 0077}) {
    const mode_t usual = ::umask(mask);
    write_file_atomically(scratch / "status.json", "x");
    ::umask(usual);
    struct stat status = {};
    REQUIRE(::stat((scratch / "status.json").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == (0666 & ~mask));
  }
}

TEST_CASE("only what is not there is absent") {
  const ScratchDirectory scratch;
  const fs::path loop = scratch / "loop", dangling = scratch / "dangling", file = scratch.write("file", "x");
  fs::create_symlink("loop", loop);
  fs::create_symlink("nowhere", dangling);
  CHECK_FALSE(path_exists(scratch / "nowhere"));
  CHECK_FALSE(path_exists(file / "below"));
  CHECK_FALSE(path_exists(scratch / std::string(5000, 'x')));
  CHECK_FALSE(path_exists(dangling));
  CHECK(link_type_of(dangling) == fs::file_type::symlink);
  CHECK(link_type_of(loop) == fs::file_type::symlink);
  CHECK(message<ReadError>([&] { path_exists(loop); }) == "cannot read " + loop.string() + ": Too many levels of symbolic links");
  CHECK(message<ReadError>([&] { directory_exists(loop / "below"); }).find(loop.string()) != std::string::npos);
  CHECK(message<ReadError>([&] { entries_of(loop); }).find(loop.string()) != std::string::npos);
  CHECK(entries_of(scratch / "nowhere").empty());
  const auto entries = entries_of(scratch.path());
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].path == dangling);
  CHECK(entries[1].type == fs::file_type::regular);
  CHECK(entries[2].path == loop);
}

TEST_CASE("temporaries of a killed process are removed, nothing else") {
  const ScratchDirectory scratch;
  scratch.write("status.json.tmp-77-3", "ha");
  scratch.write("status.json", "whole");
  remove_temporaries(scratch.path());
  remove_temporaries(scratch / "missing");
  CHECK(files_in(scratch.path()) == 1);
  CHECK(content_of(scratch / "status.json") == "whole");
}

TEST_CASE("directories are made with their parents, and a file in the way is named") {
  const ScratchDirectory scratch;
  CHECK(make_directories(scratch / "a/b/c"));
  CHECK_FALSE(make_directories(scratch / "a/b/c"));
  CHECK(make_directories(scratch / "a/b/d"));
  CHECK(fs::is_directory(scratch / "a/b/c"));
  scratch.write("file", "x");
  CHECK(message<SystemError>([&] { make_directories(scratch / "file/below"); }) ==
        "cannot create the directory " + scratch / "file/below" + ": Not a directory");
}

TEST_CASE("the parent of a name alone is there") { CHECK_FALSE(make_directories(fs::path("merged").parent_path())); }
