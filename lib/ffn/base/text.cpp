#include "ffn/base/text.hpp"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace ffn {
namespace {

// Length of the sequence at `p` (with `left` bytes available) or 0 if it is not well-formed. RFC 3629 §4.
std::size_t sequence_length(const unsigned char* p, std::size_t left) {
  const auto tail = [&](std::size_t i) { return i < left && (p[i] & 0xC0) == 0x80; };
  const auto second_in = [&](unsigned low, unsigned high) { return left > 1 && p[1] >= low && p[1] <= high; };
  if (p[0] < 0x80) return 1;
  if (p[0] >= 0xC2 && p[0] <= 0xDF) return tail(1) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    const unsigned low = p[0] == 0xE0 ? 0xA0 : 0x80, high = p[0] == 0xED ? 0x9F : 0xBF;
    return second_in(low, high) && tail(2) ? 3 : 0;
  }
  if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    const unsigned low = p[0] == 0xF0 ? 0x90 : 0x80, high = p[0] == 0xF4 ? 0x8F : 0xBF;
    return second_in(low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(const std::string& bytes) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = sequence_length(p + i, bytes.size() - i);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> decode_utf8(const std::string& bytes) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  std::vector<std::uint32_t> out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = sequence_length(p + i, bytes.size() - i);
    if (length == 0) return out;
    std::uint32_t code = length == 1 ? p[i] : p[i] & (0x7Fu >> length);
    for (std::size_t j = 1; j < length; ++j) code = code << 6 | (p[i + j] & 0x3Fu);
    out.push_back(code);
    i += length;
  }
  return out;
}

void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  if (c < 0x10000) return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  put(0xF0 | c >> 18);
  put(0x80 | (c >> 12 & 0x3F));
  put(0x80 | (c >> 6 & 0x3F));
  put(0x80 | (c & 0x3F));
}

namespace {

/// Up to `most` columns: how many, and the bytes that take them.
struct Measured {
  std::size_t columns = 0, bytes = 0;
};

Measured measured(const std::string& text, std::size_t most) {
  // Debian's C library always has this locale; where another has not, every character takes one column.
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = utf8 ? ::uselocale(utf8) : nullptr;
  Measured out;
  while (out.bytes < text.size()) {
    std::size_t next = out.bytes + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    const auto code = next - out.bytes > 1 ? decode_utf8(text.substr(out.bytes, next - out.bytes)) : std::vector<std::uint32_t>();
    const int wide = code.empty() ? 1 : ::wcwidth(static_cast<wchar_t>(code[0]));
    const std::size_t columns = out.columns + (wide < 0 ? 1 : static_cast<std::size_t>(wide));
    if (columns > most) break;
    out = {columns, next};
  }
  if (before) ::uselocale(before);
  return out;
}

}  // namespace

std::size_t display_width(const std::string& text) { return measured(text, SIZE_MAX).columns; }

std::size_t prefix_within(const std::string& text, std::size_t width) { return measured(text, width).bytes; }

namespace {

// Harmless colour sequences that styled() and the log write: ECMA-48, SGR.
constexpr const char* kColors[] = {"\033[0m",  "\033[1m",  "\033[2m",  "\033[31m",   "\033[32m",  "\033[33m",
                                   "\033[34m", "\033[35m", "\033[36m", "\033[1;31m", "\033[1;33m"};

std::size_t color_length(const std::string& text, std::size_t at) {
  for (const char* color : kColors) {
    const std::size_t length = std::strlen(color);
    if (text.compare(at, length, color) == 0) return length;
  }
  return 0;
}

bool is_shown(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
  const bool reorders = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return !control && !reorders;
}

}  // namespace

std::string printable(const std::string& text, bool keep_colors) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = sequence_length(p + i, text.size() - i);
    bool shown = length > 1 ? is_shown(decode_utf8(text.substr(i, length))[0]) : length == 1 && is_shown(p[i]);
    if (text[i] == '\n' || text[i] == '\t' || text.compare(i, 2, "\r\n") == 0) shown = true;
    if (keep_colors && text[i] == '\033' && color_length(text, i) > 0) {
      shown = true;
      length = color_length(text, i);
    }
    if (length == 0) length = 1;
    if (shown) out.append(text, i, length);
    else out += '?';
    i += length;
  }
  return out;
}

std::string without_controls(const std::string& text) {
  std::string out = printable(text);
  for (char& c : out) {
    if (c == '\n' || c == '\t' || c == '\r') c = '?';
  }
  return out;
}

std::string with_codes(const std::string& text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  std::string out;
  for (std::size_t i = 0, length = 0; i < text.size(); i += length) {
    length = std::max<std::size_t>(1, sequence_length(p + i, text.size() - i));
    const bool whole = length > 1 || p[i] < 0x80;
    const std::uint32_t c = whole ? decode_utf8(text.substr(i, length))[0] : p[i];
    char code[16];
    std::snprintf(code, sizeof code, c < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(c));
    out += whole && is_shown(c) ? text.substr(i, length) : code;
  }
  return out;
}

std::size_t complete_prefix(const std::string& text) {
  constexpr std::size_t kLongest = 7;  // "\033[1;31m"
  for (std::size_t left = 1; left < kLongest && left <= text.size(); ++left) {
    const std::size_t at = text.size() - left;
    const auto c = static_cast<unsigned char>(text[at]);
    const bool cut_character = c >= 0xC2 && c < 0xF5 && left < (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u);
    const bool cut_color = c == 0x1B && color_length(text, at) == 0;
    if (cut_character || cut_color || (c == '\r' && left == 1)) return at;
  }
  return text.size();
}

std::string clipped(const std::string& text, std::size_t width) {
  return display_width(text) <= width ? text : text.substr(0, prefix_within(text, width - 3)) + "...";
}

std::string counted(std::size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string significant(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, x);
  return text;
}

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string out;
  for (const auto& word : words) {
    if (!out.empty()) out += separator;
    out += word;
  }
  return out;
}

}  // namespace ffn
