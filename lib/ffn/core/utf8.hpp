// UTF-8 in and out. No dependencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ffn {

/// Byte offset of the first byte that is not well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates), if any.
std::optional<std::size_t> first_invalid_utf8(const std::string& bytes);

/// Code points of well-formed UTF-8; the result is unspecified for other input (check first).
std::vector<std::uint32_t> decode_utf8(const std::string& bytes);

/// Appends one code point (below 0x110000) as UTF-8.
void append_utf8(std::string& out, std::uint32_t code_point);

/// Number of terminal columns if every code point is one column wide.
std::size_t display_width(const std::string& text);

/// The text with each control character (line feed, escape, …) replaced by '?': safe on a terminal, and on one line.
std::string without_controls(std::string text);

/// The text, or its first `width` - 3 columns and "..." when it is wider. Well-formed if the text is.
std::string clipped(const std::string& text, std::size_t width);

}  // namespace ffn
