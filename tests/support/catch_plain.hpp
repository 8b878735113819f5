// Catch2, v2 or v3, for test binaries that do not use LibTorch. (Those that do need LibTorch's headers first, because
// its logging macros replace Catch2's CHECK: support/catch.hpp.)
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>  // v3
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>  // v2, which exports Approx itself
inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif
