#include <fcntl.h>
#include <unistd.h>

#include <map>

#include "ffn/report/terminal.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

bool automatic(bool terminal, std::map<std::string, std::string> variables) {
  return color_enabled(ColorMode::automatic, terminal, environment(std::move(variables)));
}

}  // namespace

TEST_CASE("the flag decides on colour before everything else") {
  CHECK(color_enabled(ColorMode::always, false, environment({{"NO_COLOR", "1"}, {"TERM", "dumb"}})));
  CHECK_FALSE(color_enabled(ColorMode::never, true, environment({{"FORCE_COLOR", "1"}})));
}

TEST_CASE("NO_COLOR comes before FORCE_COLOR and CLICOLOR_FORCE, and those before the terminal") {
  CHECK_FALSE(automatic(true, {{"NO_COLOR", "1"}, {"FORCE_COLOR", "1"}, {"CLICOLOR_FORCE", "1"}}));
  CHECK_FALSE(automatic(true, {{"NO_COLOR", "0"}}));
  CHECK(automatic(false, {{"FORCE_COLOR", "1"}, {"TERM", "dumb"}}));
  CHECK(automatic(false, {{"CLICOLOR_FORCE", "1"}}));
}

TEST_CASE("an empty variable says nothing") {
  CHECK(automatic(true, {{"NO_COLOR", ""}}));
  CHECK_FALSE(automatic(false, {{"FORCE_COLOR", ""}, {"CLICOLOR_FORCE", ""}}));
}

TEST_CASE("without a word from anybody a terminal has colour unless it is dumb") {
  CHECK(automatic(true, {}));
  CHECK(automatic(true, {{"TERM", "xterm-256color"}}));
  CHECK_FALSE(automatic(true, {{"TERM", "dumb"}}));
  CHECK_FALSE(automatic(false, {{"TERM", "xterm-256color"}}));
}

TEST_CASE("animation needs a terminal that can go back on its line, whatever is said about colour") {
  CHECK(animation_enabled(true, environment({{"NO_COLOR", "1"}})));
  CHECK_FALSE(animation_enabled(true, environment({{"TERM", "dumb"}})));
  CHECK_FALSE(animation_enabled(false, environment({{"FORCE_COLOR", "1"}})));
}

TEST_CASE("the width is the terminal's own, else COLUMNS if it is a number, else 80") {
  CHECK(terminal_width(132, environment({{"COLUMNS", "40"}})) == 132);
  CHECK(terminal_width(0, environment({{"COLUMNS", "40"}})) == 40);
  for (const char* nonsense : {"", "wide", "40x", "-3", "0", "99999999999999999999"}) {
    CHECK(terminal_width(0, environment({{"COLUMNS", nonsense}})) == 80);
  }
  CHECK(terminal_width(0, environment({})) == 80);
}

TEST_CASE("a file is no terminal") {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);

  CHECK_FALSE(is_terminal(fd));
  CHECK_FALSE(animation_enabled(fd));
  CHECK_FALSE(color_enabled(ColorMode::never, fd));
  CHECK(color_enabled(ColorMode::always, fd));
  CHECK(terminal_width_of(fd) > 0);
  ::close(fd);
}

TEST_CASE("style is escape codes around the text, or nothing") {
  CHECK(styled("x", Style::bold, true) == "\033[1mx\033[0m");
  CHECK(styled("x", Style::yellow, true) == "\033[33mx\033[0m");
  CHECK(styled("x", Style::red, false) == "x");
  CHECK(styled("", Style::red, true) == "");
}
