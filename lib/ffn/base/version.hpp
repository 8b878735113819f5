// Version and commit of this build.
#pragma once

namespace ffn {

extern const char* const kVersion;    ///< "0.2.0"
extern const char* const kGitCommit;  ///< as git describes it, "unknown" where the sources are no checkout

}  // namespace ffn
