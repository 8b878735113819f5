// The text of problems and of errors that hold several.
#include "ffn/base/error.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("a problem reads place, pointer, message; what is empty is left out") {
  CHECK(Problem{"a.json:7", "/model/d_model", "expected an integer, got 3.7"}.text() ==
        "a.json:7  /model/d_model: expected an integer, got 3.7");
  CHECK(Problem{"", "/name", "bad"}.text() == "/name: bad");
  CHECK(Problem{"a.json:7", "", "bad"}.text() == "a.json:7  bad");
  CHECK(Problem{"", "", "bad"}.text() == "bad");
  CHECK(Problem{"", "/a\nb\x1b[31m", "bad"}.text() == "/a\\x0ab\\x1b[31m: bad");
  CHECK(Problem{"", "/" + std::string(1000, 'x'), "bad"}.text() == "/" + std::string(96, 'x') + "...: bad");
}

TEST_CASE("a config error shows one problem in its line and several below it") {
  const ConfigError one("a.json", {{"a.json:1", "/x", "bad"}}, "look it up");
  CHECK(one.what() == std::string("a.json:1  /x: bad"));
  CHECK(one.hint() == "look it up");
  CHECK(one.code() == ExitCode::usage);
  CHECK(ConfigError("a.json", {{"", "/x", "bad"}}).what() == std::string("a.json: /x: bad"));
  CHECK(ConfigError("a.json", {{"base.json:1", "/x", "bad"}}).what() == std::string("a.json: base.json:1  /x: bad"));
  CHECK(ConfigError("a.json", {{"a.json5:1", "/x", "bad"}}).what() == std::string("a.json: a.json5:1  /x: bad"));
  const ConfigError two("a.json", {{"a.json:1", "/x", "bad"}, {"a.json:2", "/y", "worse"}});
  CHECK(two.what() == std::string("a.json: 2 problems\n  a.json:1  /x: bad\n  a.json:2  /y: worse"));
  CHECK(two.problems().size() == 2);
}

TEST_CASE("a flood of problems is counted, not printed") {
  const ConfigError flood("a.json", std::vector<Problem>(100'000, {"a.json:1", "/x", "bad"}));
  const std::string text = flood.what();
  CHECK(text.find("a.json: 100000 problems\n") == 0);
  CHECK(text.size() < 10'000);
  CHECK(text.rfind("\n  … and 99950 more") == text.size() - std::string("\n  … and 99950 more").size());
}

TEST_CASE("exit codes are those that scripts rely on") {
  CHECK(static_cast<int>(UsageError("x").code()) == 2);
  CHECK(static_cast<int>(ConfigError("x", {}).code()) == 2);
  CHECK(static_cast<int>(DataError("x").code()) == 3);
  CHECK(static_cast<int>(CheckpointError("x").code()) == 3);
  CHECK(static_cast<int>(SystemError("x").code()) == 1);
  CHECK(static_cast<int>(ExitCode::partial) == 4);
  CHECK(static_cast<int>(ExitCode::condition) == 5);
  CHECK(static_cast<int>(ExitCode::interrupted) == 75);
}

TEST_CASE("memory that is not to be had is said in words") {
  CHECK(reason_of(std::bad_alloc()) == "not enough memory");
  CHECK(reason_of(SystemError("cannot write x")) == "cannot write x");
}
