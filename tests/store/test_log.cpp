#include <sstream>

#include "ffn/base/error.hpp"
#include "ffn/store/log.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

/// The terminal's text for one message of each level. The log is global: defaults come back afterwards.
std::string spoken(int verbosity, bool color = false) {
  std::ostringstream out;
  LogOptions options;
  options.verbosity = verbosity;
  options.color = color;
  options.terminal = &out;
  set_up_log(options);
  log_debug("detail");
  log_info("news");
  log_warning("trouble");
  log_error("disaster");
  set_up_log({});
  return out.str();
}

}  // namespace

TEST_CASE("lines for a person carry their level, plain information does not") {
  CHECK(spoken(1) == "debug: detail\nnews\nwarning: trouble\nerror: disaster\n");
}

TEST_CASE("quiet and verbose move the threshold") {
  CHECK(spoken(0) == "news\nwarning: trouble\nerror: disaster\n");
  CHECK(spoken(-1) == "warning: trouble\nerror: disaster\n");
  CHECK(spoken(-2) == "error: disaster\n");
  CHECK(spoken(-9) == spoken(-2));
  CHECK(spoken(9) == spoken(1));
}

TEST_CASE("colour is on the level alone") {
  CHECK(spoken(1, true) == "\033[2mdebug:\033[0m detail\nnews\n\033[1;33mwarning:\033[0m trouble\n\033[1;31merror:\033[0m disaster\n");
}

TEST_CASE("braces and percent signs in a message are text") {
  std::ostringstream out;
  LogOptions options;
  options.terminal = &out;
  set_up_log(options);
  write_log(LogLevel::info, "{} {0} %v 100 %");
  set_up_log({});

  CHECK(out.str() == "{} {0} %v 100 %\n");
}

TEST_CASE("a progress bar is asked to go before a line is written, and only for lines that are") {
  std::ostringstream out;
  LogOptions options;
  options.terminal = &out;
  options.before_line = [&out] { out << "<clear>"; };
  set_up_log(options);
  log_debug("unheard");
  write_log(LogLevel::warning, "heard");
  set_up_log({});

  CHECK(out.str() == "<clear>warning: heard\n");
}

TEST_CASE("a log file has every level with its time, while it is open") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "log.txt";
  std::ostringstream out;
  LogOptions options;
  options.verbosity = -2;
  options.terminal = &out;
  set_up_log(options);

  log_info("before");
  {
    const LogFile file(path);
    write_log(LogLevel::debug, "detail");
    log_warning("trouble");
    CHECK(content(path).find("trouble") != std::string::npos);  // at once, not when the file is closed
  }
  log_info("after");
  {
    const LogFile again(path);
    log_error("disaster");
  }
  set_up_log({});

  std::istringstream lines(content(path));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    REQUIRE(line.size() > 25);
    CHECK(line.substr(4, 1) + line.substr(10, 1) + line.substr(23, 2) == "-TZ ");
    found.push_back(line.substr(25));
  }
  CHECK(found == std::vector<std::string>{"debug: detail", "warning: trouble", "error: disaster"});
  CHECK(out.str() == "error: disaster\n");
}

TEST_CASE("a log file that cannot be opened is an error with the path") {
  const ScratchDirectory scratch;
  put(scratch.path() / "file", "");
  const auto path = scratch.path() / "file" / "log.txt";

  CHECK(message_of<SystemError>([&] { const LogFile file(path); }).rfind("cannot open the log file " + path.string() + ": ", 0) == 0);
}
