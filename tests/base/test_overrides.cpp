// key=value from the command line.
#include <nlohmann/json.hpp>

#include "base/helpers.hpp"
#include "ffn/base/json_document.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

Document with(const std::string& assignment, const std::string& text = "{}") {
  auto document = parse_document(text, "x.json", "/somewhere");
  apply_override(document, assignment);
  return document;
}
std::string value(const std::string& typed) { return with("x=" + typed).tree()["x"].dump(); }
std::string override_refusal(const std::string& assignment, const std::string& text = "{}") {
  return message<UsageError>([&] { with(assignment, text); });
}

}  // namespace

TEST_CASE("an override's value is JSON where it reads as JSON") {
  CHECK(value("5") == "5");
  CHECK(value("-3e-3") == "-0.003");
  CHECK(value("true") == "true");
  CHECK(value("null") == "null");
  CHECK(value("\"5\"") == "\"5\"");
  CHECK(value("[1, 2]") == "[1,2]");
  CHECK(value("{\"kind\": \"sgd\", \"lr\": 1}") == "{\"kind\":\"sgd\",\"lr\":1}");
}

TEST_CASE("an override's value is a string where it does not") {
  CHECK(value("relu") == "\"relu\"");
  CHECK(value("relu,gelu") == "\"relu,gelu\"");
  CHECK(value("1,2,4") == "\"1,2,4\"");
  CHECK(value("texts/a b.txt") == "\"texts/a b.txt\"");
  CHECK(value("nan") == "\"nan\"");
  CHECK(value("1e999") == "\"1e999\"");
  CHECK(value("[1, 2") == "\"[1, 2\"");
  CHECK(value("a=b") == "\"a=b\"");
  CHECK(value("φ") == "\"φ\"");
}

TEST_CASE("an empty value is an empty string") {
  CHECK(value("") == "\"\"");
  CHECK(with("a.b.c=").tree().dump() == R"({"a":{"b":{"c":""}}})");
}

TEST_CASE("an override changes one value and keeps its neighbours") {
  const std::string text = R"({"a": {"b": {"c": 1, "d": 2}, "e": 3}})";
  CHECK(with("a.b.c=5", text).tree().dump() == R"({"a":{"b":{"c":5,"d":2},"e":3}})");
  CHECK(with("a.b={\"z\": 1}", text).tree().dump() == R"({"a":{"b":{"z":1},"e":3}})");
  CHECK(with("new.key=1", text).tree().dump() == R"({"a":{"b":{"c":1,"d":2},"e":3},"new":{"key":1}})");
}

TEST_CASE("an overridden value comes from its override, and from the current directory") {
  const ScratchDirectory scratch;
  const CurrentDirectory here(scratch.path());
  const auto document = with("a.b=5", "{\n\"a\": {\"b\": 1, \"c\": 1}}");
  CHECK(document.origin("/a/b").text() == "override 'a.b=5'");
  CHECK(document.origin("/a/b").directory == scratch.path().string());
  CHECK(document.origin("/a/c").text() == "x.json:2");
}

TEST_CASE("an override without a path or '=' is refused with an example") {
  CHECK(override_refusal("train.steps") == "override 'train.steps' has no path and '='");
  CHECK(override_refusal("=5") == "override '=5' has no path and '='");
  CHECK(override_refusal("") == "override '' has no path and '='");
  CHECK(thrown<UsageError>([] { with("x"); })->hint() == "write it as dotted.path=value, for example train.steps=500");
}

TEST_CASE("an override with an empty path segment is refused") {
  for (const std::string path : {".a", "a.", "a..b", "."}) {
    CHECK(override_refusal(path + "=1") == "override '" + path + "=1' has an empty path segment");
  }
}

TEST_CASE("an override through a value that is no object is refused with that value") {
  CHECK(override_refusal("a.b=1", R"({"a": 5})") == "override 'a.b=1': a is 5, so it has no key \"b\"");
  CHECK(override_refusal("a.b.c.d=1", R"({"a": {"b": "text"}})") == "override 'a.b.c.d=1': a.b is \"text\", so it has no key \"c\"");
  CHECK(override_refusal("a.0=1", R"({"a": [1]})") == "override 'a.0=1': a is [1], so it has no key \"0\"");
}

TEST_CASE("an override with a duplicate key, deep nesting or bytes that are not UTF-8 is refused") {
  CHECK(override_refusal("a={\"x\": 1, \"x\": 2}") ==
        "override 'a={\"x\": 1, \"x\": 2}': duplicate key \"x\"; first used in line 1, remove one");
  CHECK(override_refusal("a=" + repeated("[", 10'000) + repeated("]", 10'000)).find(": nested deeper than 64 levels") != std::string::npos);
  CHECK(override_refusal("a=" + repeated("[", 100'000)).size() < 300);
  CHECK(override_refusal("a" + repeated(".a", 60'000) + "=1").find("': nested deeper than 64 levels") != std::string::npos);
  CHECK(override_refusal("a" + repeated(".a", 63) + "=1") == "nothing was thrown");
  CHECK(override_refusal("a=Stra\xDF"
                         "e") == "an override is not valid UTF-8 at byte 6");
}
