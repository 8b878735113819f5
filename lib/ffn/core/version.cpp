// The build sets FFN_VERSION and FFN_GIT_COMMIT for this file alone, so that a new commit recompiles nothing else.
#include "ffn/core/version.hpp"

namespace ffn {

const char* const kVersion = FFN_VERSION;
const char* const kGitCommit = FFN_GIT_COMMIT;

}  // namespace ffn
