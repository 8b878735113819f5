// Errors of a full or broken disk, which will also affect every other file there.
#pragma once

#include <cerrno>
#include <string>

#include "ffn/base/error.hpp"

namespace ffn {

struct DiskError : SystemError {
  using SystemError::SystemError;
};

/// `reason` is an errno, which `what` has named already. Throws DiskError, with what to do, where it is the disk's, else SystemError.
[[noreturn]] inline void throw_unwritable(const std::string& what, int reason) {
  switch (reason) {
    case ENOSPC:
    case EDQUOT:
      throw DiskError(what, "free some disk space and start again; nothing written so far is lost");
    case EROFS:
      throw DiskError(what, "nothing can be written there; -o DIR names another place");
    case EIO:
      throw DiskError(what, "the disk or the way to it fails; start again when it works, nothing written so far is lost");
    default:
      throw SystemError(what);
  }
}

}  // namespace ffn
