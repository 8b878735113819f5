#include "ffn/base/shell.hpp"

#include <cstdio>

#include "ffn/base/text.hpp"

namespace ffn {

namespace {

// Escapes bytes that a terminal would not show, as bash, ksh and zsh read them: $'\xff'.
std::string in_codes(const std::string& word) {
  std::string out = "$'";
  for (const char c : word) {
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    const bool plain = c >= ' ' && c <= '~' && c != '\\' && c != '\'';
    out += plain ? std::string(1, c) : code;
  }
  return out + "'";
}

}  // namespace

std::string shell_word(const std::string& word) {
  const bool plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+@%") == std::string::npos &&
      !word.empty();
  if (plain) return word;
  if (without_controls(word) != word) return in_codes(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

std::string folded_command(const std::string& command, int width) {
  constexpr int kNarrow = 60;  // where long keys need every column
  const std::string margin = width > 0 && width < kNarrow ? "" : "  ";
  std::string out, line = margin, word;
  bool quoted = false, escaped = false;
  const auto take = [&] {
    const bool first = line.find_first_not_of(' ') == std::string::npos;
    if (!first && width > 0 && static_cast<int>(display_width(line) + display_width(word)) + 3 > width) {
      out += line + " \\\n";
      line = margin + "  " + word;
    } else {
      line += (first ? "" : " ") + word;
    }
    word.clear();
  };
  for (const char c : command) {
    if (c == '\'' && !escaped) quoted = !quoted;
    escaped = c == '\\' && !quoted && !escaped;
    if (c == ' ' && !quoted) take();
    else word += c;
  }
  take();
  return out + line;
}

}  // namespace ffn
