// Text: UTF-8, terminal columns, lists of words.
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

/// Number of terminal columns, by the C library's table: 2 of East Asian wide characters and emoji, 0 of combining marks.
std::size_t display_width(const std::string& text);

/// Bytes of the longest beginning of whole characters that takes at most `width` columns.
std::size_t prefix_within(const std::string& text, std::size_t width);

/// The text with '?' for whatever a terminal would obey instead of show: control characters of ASCII and of U+0080–U+009F (which
/// some terminals take from single bytes, too), those that reorder what is read (bidirectional controls), bytes that are not
/// UTF-8. Line feeds, with or without a carriage return, and tabs stay; `keep_colors` leaves the sequences of styled().
std::string printable(const std::string& text, bool keep_colors = false);

/// printable() on one line: line feeds and tabs become '?', too.
std::string without_controls(const std::string& text);

/// Escapes by number the characters that printable() does not show, line feeds and tabs: "\x1b", "\u202e".
std::string with_codes(const std::string& text);

/// How many bytes of the text do not wait for another: less than all where it ends within a character, a colour or a line's end.
std::size_t complete_prefix(const std::string& text);

/// The text, or its first `width` - 3 columns and "..." when it is wider. Well-formed if the text is.
std::string clipped(const std::string& text, std::size_t width);

/// "1 run", "2 runs".
std::string counted(std::size_t n, const std::string& what);
/// As printf's %g.
std::string significant(double x, int digits);
/// "a, b, c".
std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");

}  // namespace ffn
