#include "ffn/report/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace ffn {
namespace {

bool is_set(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value && *value;
}

bool is_dumb(const Environment& environment) {
  const char* term = environment("TERM");
  return term && std::strcmp(term, "dumb") == 0;
}

int reported_width(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> const char* { return std::getenv(name); };
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

bool color_enabled(ColorMode mode, bool terminal, const Environment& environment) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  if (is_set(environment, "NO_COLOR")) return false;
  if (is_set(environment, "FORCE_COLOR") || is_set(environment, "CLICOLOR_FORCE")) return true;
  return terminal && !is_dumb(environment);
}
bool color_enabled(ColorMode mode, int fd) { return color_enabled(mode, is_terminal(fd), process_environment()); }

bool animation_enabled(bool terminal, const Environment& environment) { return terminal && !is_dumb(environment); }
bool animation_enabled(int fd) { return animation_enabled(is_terminal(fd), process_environment()); }

int terminal_width(int reported, const Environment& environment) {
  if (reported > 0) return reported;
  constexpr long kWidest = 10'000;
  const char* columns = environment("COLUMNS");
  char* end = nullptr;
  const long given = columns ? std::strtol(columns, &end, 10) : 0;
  return given > 0 && given <= kWidest && *end == '\0' ? static_cast<int>(given) : 80;
}
int terminal_width_of(int fd) { return terminal_width(reported_width(fd), process_environment()); }

std::string styled(const std::string& text, Style style, bool color) {
  if (!color || text.empty()) return text;
  // ECMA-48, SGR.
  constexpr const char* kCodes[] = {"1", "2", "31", "32", "33", "34", "35", "36"};
  return std::string("\033[") + kCodes[static_cast<std::size_t>(style)] + "m" + text + "\033[0m";
}

}  // namespace ffn
