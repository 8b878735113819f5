// std::from_chars of a double, which libc++ (clang, Emscripten) does not have before version 20.
#pragma once

#include <charconv>

namespace ffn {

/// As std::from_chars, for decimal numbers.
std::from_chars_result read_double(const char* first, const char* last, double& value);

}  // namespace ffn
