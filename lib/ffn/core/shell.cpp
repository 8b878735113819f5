#include "ffn/core/shell.hpp"

#include <cstdio>

#include "ffn/core/utf8.hpp"

namespace ffn {

namespace {

// What a terminal would not show, as bash, ksh and zsh read it: $'\xff'.
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

}  // namespace ffn
