// Catch2 for tests that use LibTorch. LibTorch comes first: its logging header defines CHECK, and whichever of the two
// comes last wins, silently. With glog's, a passing test has no assertions and a failing one aborts.
#pragma once

#include "ffn/layers/compat_torch.hpp"

#undef CHECK
#undef CHECK_FALSE
#undef CHECK_NOTHROW
#undef REQUIRE
#undef WARN
#undef FAIL
#undef INFO
#undef SUCCEED

#include "support/catch_plain.hpp"
