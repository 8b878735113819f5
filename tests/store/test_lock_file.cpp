// Locks: what they exclude, and what they refuse to touch.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ffn/base/error.hpp"
#include "ffn/store/lock_file.hpp"
#include "ffn/store/run_check.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using Hold = LockFile::Hold;

TEST_CASE("locks exclude each other byte by byte, within a process and between two") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "lock";
  LockFile first(path);
  CHECK_FALSE(is_locked(path));
  CHECK(first.try_lock(Hold::alone));
  CHECK(is_locked(path));
  {
    LockFile second(path);
    CHECK_FALSE(second.try_lock(Hold::alone));
    CHECK_FALSE(second.try_lock(Hold::shared));
    CHECK(second.try_lock(Hold::alone, 1));
    CHECK(first.try_lock(Hold::shared));
    CHECK(second.try_lock(Hold::shared));
    CHECK_FALSE(first.try_lock(Hold::alone));
  }
  CHECK(first.try_lock(Hold::alone));
}

TEST_CASE("a lock file follows no link, opens nothing but a file, and cuts nothing off") {
  const ScratchDirectory scratch;
  const auto target = scratch.path() / "target", link = scratch.path() / "link", pipe = scratch.path() / "pipe";
  put(target, "precious");
  std::filesystem::create_symlink(target, link);
  CHECK(message_of<SystemError>([&] { LockFile{link}; }).find("cannot open the lock file") == 0);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(message_of<SystemError>([&] { LockFile{pipe}; }).find("no regular file") != std::string::npos);
  CHECK(message_of<SystemError>([&] { LockFile{scratch.path()}; }).find("Is a directory") != std::string::npos);
  CHECK(LockFile(target).try_lock(Hold::alone));
  CHECK(content(target) == "precious");
  CHECK_FALSE(is_locked(scratch.path() / "nothing"));
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "nothing"));
}

TEST_CASE("a claim excludes another of the same run and no other run") {
  const ScratchDirectory scratch;
  const auto claim = claim_run(scratch.path() / "variant" / "seed-0");
  CHECK(claim.has_value());
  CHECK_FALSE(claim_run(scratch.path() / "variant" / "seed-0").has_value());
  CHECK(claim_run(scratch.path() / "variant" / "seed-1").has_value());
}
