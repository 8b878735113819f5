// Locks: what they exclude, what they refuse to touch, and what the mount table tells about them.
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

TEST_CASE("the mount table tells which locks stay on one machine") {
  const std::string table =
      "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
      "30 22 0:40 / /home rw,relatime shared:7 - nfs4 server:/home rw,vers=4.2,local_lock=none\n"
      "31 22 0:41 / /old rw - nfs server:/old rw,vers=3,nolock,local_lock=all\n"
      "32 22 0:42 / /half rw - nfs server:/half rw,vers=3,local_lock=flock\n"
      "33 22 0:43 / /posix rw - nfs4 server:/p rw,local_lock=posix\n"
      "34 22 0:44 / /lustre rw,localflock master:2 propagate_from:3 - lustre mds@tcp:/l rw\n"
      "35 22 0:45 / /good/lustre rw,flock - lustre mds@tcp:/l rw\n"
      "36 22 0:46 / /with\\040space rw - fuse.sshfs user@host: rw\n"
      "37 22 0:47 / /bind rw - fuse /src rw\n"
      "38 30 0:48 / /home/local rw - ext4 /dev/vdb rw\n"
      "39 22 0:49 / /share rw - cifs //s/x rw,nobrl\n"
      "40 31 0:50 / /old rw - ext4 /dev/vdc rw\n"
      "41 40 0:51 / /old rw - nfs server:/old rw,nolock\n";
  const auto local = [&](const char* path) { return lock_reach(table, path).one_machine; };
  for (const char* path : {"/old/runs", "/posix", "/lustre/x/y", "/with space/z", "/share/a"}) CHECK(local(path));
  for (const char* path : {"/home/me", "/half/x", "/good/lustre/x", "/home/local/x", "/oldest", "/", "/bind/x"}) CHECK_FALSE(local(path));
  CHECK(lock_reach(table, "/lustre/x").mount == "lustre with localflock on /lustre");
  CHECK_FALSE(lock_reach("", "/x").one_machine);
}

TEST_CASE("a claim excludes another of the same run and no other run") {
  const ScratchDirectory scratch;
  const auto claim = claim_run(scratch.path() / "variant" / "seed-0");
  CHECK(claim.has_value());
  CHECK_FALSE(claim_run(scratch.path() / "variant" / "seed-0").has_value());
  CHECK(claim_run(scratch.path() / "variant" / "seed-1").has_value());
}
