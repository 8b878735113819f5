// The build writes git_commit.hpp and sets FFN_VERSION for this file alone, so that a new commit recompiles nothing else.
#include "ffn/base/version.hpp"

#include "git_commit.hpp"

namespace ffn {

const char* const kVersion = FFN_VERSION;
const char* const kGitCommit = FFN_GIT_COMMIT;

}  // namespace ffn
