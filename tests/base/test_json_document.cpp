// JSON with comments and positions: what is read, where each value stands, what is refused and with which words.
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/helpers.hpp"
#include "ffn/base/json_document.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

Document parse(const std::string& text) { return parse_document(text, "x.json", "/somewhere"); }

/// "place  pointer: message" of each problem, one per line, without the leading source.
std::string problems(const std::string& text) {
  const auto error = thrown<ConfigError>([&] { parse(text); });
  if (!error) return "nothing was thrown";
  std::string out;
  for (const auto& problem : error->problems()) out += (out.empty() ? "" : "\n") + problem.text();
  return out;
}

int line_of(const Document& document, const std::string& pointer) { return document.origin(pointer).line; }

}  // namespace

TEST_CASE("JSON of every type is read, in its order") {
  const auto document = parse(R"({"z": 1, "a": -2, "f": 1.5, "t": true, "n": null, "s": "é\u00e9\n", "l": [1, [2]], "o": {"x": {}}})");
  CHECK(document.tree().dump() == R"({"z":1,"a":-2,"f":1.5,"t":true,"n":null,"s":"éé\n","l":[1,[2]],"o":{"x":{}}})");
}

TEST_CASE("comments and a byte order mark are passed over") {
  CHECK(parse("// first\n{ /* a */ \"a\": /* b\n c */ 1 // last\n}\n// end").tree().dump() == R"({"a":1})");
  CHECK(parse("\xEF\xBB\xBF{\"a\": 1}").tree().dump() == R"({"a":1})");
}

TEST_CASE("every value knows its line") {
  const std::string text =
      "// a comment\n"                // 1
      "/* another,\n"                 // 2
      "   of two lines */\n"          // 3
      "{\n"                           // 4
      "  \"number\": 1,\n"            // 5
      "  \"last\": 2\n"               // 6
      "  ,\n"                         // 7
      "  \"list\": [\n"               // 8
      "    1,\n"                      // 9
      "    \"two\", 3\n"              // 10
      "  ], // \"not\": \"a key\"\n"  // 11
      "  \"string\": \"a\\nb\",\n"    // 12
      "  \"object\": { \"in\": 5,\n"  // 13
      "    \"out\": /* 14\n"          // 14
      "    15 */ 7\n"                 // 15
      "  }, \"end\": 1e3\n"           // 16
      "}\n";
  for (const bool crlf : {false, true}) {
    std::string bytes;
    for (const char c : text) bytes += crlf && c == '\n' ? std::string("\r\n") : std::string(1, c);
    CAPTURE(crlf);
    const auto d = parse(bytes);
    CHECK(line_of(d, "") == 4);
    CHECK(line_of(d, "/number") == 5);
    CHECK(line_of(d, "/last") == 6);
    CHECK(line_of(d, "/list") == 8);
    CHECK(line_of(d, "/list/0") == 9);
    CHECK(line_of(d, "/list/1") == 10);
    CHECK(line_of(d, "/list/2") == 10);
    CHECK(line_of(d, "/string") == 12);
    CHECK(line_of(d, "/object") == 13);
    CHECK(line_of(d, "/object/in") == 13);
    CHECK(line_of(d, "/object/out") == 14);  // a member stands where its key stands
    CHECK(line_of(d, "/end") == 16);
    CHECK(d.origin("/end").text() == "x.json:16");
    CHECK(d.origin("/object/in").directory == "/somewhere");
  }
}

TEST_CASE("a number at the very end of a line belongs to that line") {
  const auto d = parse("{\"a\": [1\n,2\n\n\n,3\n],\n\"b\": 4\n\n}");
  CHECK(line_of(d, "/a/0") == 1);
  CHECK(line_of(d, "/a/1") == 2);
  CHECK(line_of(d, "/a/2") == 5);
  CHECK(line_of(d, "/b") == 7);
}

TEST_CASE("a member whose value begins a line further down stands at its key") {
  const auto d = parse("{\n\"a\":\n{\n\"b\":\n\n1\n}\n}");
  CHECK(line_of(d, "/a") == 2);
  CHECK(line_of(d, "/a/b") == 4);
}

TEST_CASE("a value without an origin has its nearest ancestor's") {
  const auto d = parse("{\n\"a\": {\n\"b\": 1 } }");
  CHECK(line_of(d, "/a/missing/deeper") == 2);
  CHECK(line_of(d, "/missing") == 1);
  CHECK(Document().origin("/a").text() == "");
}

TEST_CASE("keys with slashes and tildes have escaped pointers") {
  CHECK(escape_pointer("a/b~c") == "a~1b~0c");
  CHECK(pointer_of("a.b.c") == "/a/b/c");
  CHECK(pointer_of("a.b/c") == "/a/b~1c");
  CHECK(line_of(parse("{\n\n\"val/loss\": 1}"), "/val~1loss") == 3);
}

TEST_CASE("syntax errors say where, what was found and what was expected") {
  CHECK(problems("{\n  \"name\": 1,\n}") == "x.json:3:1  syntax error while parsing object key - unexpected '}'; expected string literal");
  CHECK(problems("{\"a\": 1\n \"b\": 2}") == "x.json:2:4  syntax error while parsing object - unexpected string literal; expected '}'");
  CHECK(problems("{\"a\": 1") == "x.json:1:8  syntax error while parsing object - unexpected end of input; expected '}'");
  CHECK(problems("{\"a\": tru}") == "x.json:1:10  syntax error while parsing value - invalid literal");
  CHECK(problems("{\"a\": 'x'}") == "x.json:1:7  syntax error while parsing value - invalid literal");
  CHECK(problems("{a: 5}") == "x.json:1:2  syntax error while parsing object key - invalid literal; expected string literal");
  CHECK(problems("{\"a\": NaN}") == "x.json:1:7  syntax error while parsing value - invalid literal");
  CHECK(problems("{\"a\": .5}") == "x.json:1:7  syntax error while parsing value - invalid literal");
  CHECK(problems("{\"a\": 01}") == "x.json:1:8  syntax error while parsing object - unexpected number literal; expected '}'");
  CHECK(problems("{} {}") == "x.json:1:4  syntax error while parsing value - unexpected '{'; expected end of input");
  CHECK(problems("// nothing else\n") ==
        "x.json:2:1  syntax error while parsing value - unexpected end of input; expected '[', '{', or a literal");
  CHECK(problems("{\"a\": /* x") == "x.json:1:11  syntax error while parsing value - invalid comment; missing closing '*/'");
  CHECK(problems("{\"a\": \"x\n\"}") ==
        "x.json:1:9  syntax error while parsing value - invalid string: control character U+000A (LF) must be escaped to \\u000A or \\n");
  CHECK(problems("{\"a\": \"\\x\"}") ==
        "x.json:1:9  syntax error while parsing value - invalid string: forbidden character after backslash");
  CHECK(problems("{\"a\": 1e999}") == "x.json:1:11  number overflow parsing '1e999'");
  CHECK(thrown<ConfigError>([] { parse("{,}"); })->hint() ==
        "put keys and strings in double quotes; separate entries with commas, with none after the last");
}

TEST_CASE("columns count characters, not bytes") {
  CHECK(problems("{\"é\": \"φφφ\", x}") == "x.json:1:14  syntax error while parsing object key - invalid literal; expected string literal");
}

TEST_CASE("an error text stays short and well-formed whatever the file holds") {
  const auto long_token = problems("{\"a\": \"" + repeated("φ", 100'000));
  CHECK(long_token.size() < 300);
  CHECK(long_token.find("missing closing quote") != std::string::npos);
  CHECK(problems("{\"a\": 1" + std::string(100'000, '2') + "}").size() < 300);
}

TEST_CASE("every duplicate key is reported with the line of the first") {
  CHECK(problems("{\"a\": 1,\n\"b\": {\"x\": 1,\n\"x\": 2},\n\"a\":\n 3}") ==
        "x.json:3  /b/x: duplicate key \"x\"; first used in line 2, remove one\n"
        "x.json:4  /a: duplicate key \"a\"; first used in line 1, remove one");
  CHECK(problems("{\"a\": 1, \"\\u0061\": 2}") == "x.json:1  /a: duplicate key \"a\"; first used in line 1, remove one");
  CHECK(problems("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1}}") == "nothing was thrown");
}

TEST_CASE("duplicate keys and a syntax error are reported together") {
  CHECK(problems("{\"a\": 1,\n\"a\": 2,\n}") ==
        "x.json:2  /a: duplicate key \"a\"; first used in line 1, remove one\n"
        "x.json:3:1  syntax error while parsing object key - unexpected '}'; expected string literal");
}

TEST_CASE("an empty file is called empty") {
  for (const char* text : {"", " ", "\n\n\t\r\n"}) {
    const auto error = thrown<ConfigError>([&] { parse(text); });
    REQUIRE(error);
    CHECK(error->what() == std::string("x.json: the file is empty"));
    CHECK(error->hint() == "`ffn-train list configs` names configs to start from");
  }
}

TEST_CASE("a top level that is no object is refused") {
  CHECK(problems("\n[1, 2]") == "x.json:2  expected an object { … } at the top, got array");
  CHECK(problems("3") == "x.json:1  expected an object { … } at the top, got number");
  CHECK(problems("\"text\"") == "x.json:1  expected an object { … } at the top, got string");
  CHECK(problems("null") == "x.json:1  expected an object { … } at the top, got null");
}

TEST_CASE("text that is not UTF-8 is refused with its place") {
  const auto error = thrown<ConfigError>([] {
    parse(
        "{\n  \"naïve\": \"Stra\xDF"
        "e\" }");
  });
  REQUIRE(error);
  CHECK(error->what() == std::string("x.json:2:17  not valid UTF-8 (byte 19)"));
  CHECK(error->hint() == "save the file as UTF-8, for example: iconv -f latin1 -t utf-8 FILE");
}

TEST_CASE("a NUL does not end a config unnoticed") {
  const std::string nul(1, '\0');
  CHECK(problems("{\"a\": 1}" + nul + "{\"seed\": 7}") == "x.json:1:9  a NUL byte (byte 8); a config is plain text");
  CHECK(problems("{\n\"a\":" + nul + "1}") == "x.json:2:5  a NUL byte (byte 6); a config is plain text");
  CHECK(problems("{\"a\": \"b\\u0000c\"}").find("a text with a NUL character") != std::string::npos);
  CHECK(problems("{\"a\\u0000c\": 1}").find("a text with a NUL character") != std::string::npos);
}

TEST_CASE("nesting is read to 64 levels and refused beyond, 10 000 deep as well as 65") {
  const auto nested = [](std::size_t levels, bool closed) {
    return "{\n\"a\": " + repeated("[", levels - 1) + (closed ? repeated("]", levels - 1) + "}" : "");
  };
  CHECK_NOTHROW(parse(nested(64, true)));
  CHECK(problems(nested(65, true)) == "x.json:2  nested deeper than 64 levels");
  CHECK(problems(nested(10'000, true)) == "x.json:2  nested deeper than 64 levels");
  CHECK(problems(nested(1'000'000, false)) == "x.json:2  nested deeper than 64 levels");
  CHECK(problems(repeated("{\"a\":", 10'000)) == "x.json:1  nested deeper than 64 levels");
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "\n\"" + std::to_string(i) + "\": 0,";
  CHECK(problems("{\"a\": {" + many + "\"b\": 0}}") == "x.json:4098  /a: more than 4096 keys in one object");
}

TEST_CASE("merging lays values over values, objects key by key, and remembers where each comes from") {
  auto base = parse_document("{\"a\": 1,\n\"o\": {\"x\": 1,\n\"y\": [1, 2]},\n\"n\": {\"z\": 1}}", "base.json", "/base");
  base.merge(parse_document("{\"o\":\n{\"y\": [3],\n\"w\": 4}, \"n\": null, \"b\": 2}", "over.json", "/over"));
  CHECK(base.tree().dump() == R"({"a":1,"o":{"x":1,"y":[3],"w":4},"b":2})");
  CHECK(base.origin("/a").text() == "base.json:1");
  CHECK(base.origin("/o/x").text() == "base.json:2");
  CHECK(base.origin("/o/y").text() == "over.json:2");
  CHECK(base.origin("/o/y/0").text() == "over.json:2");
  CHECK(base.origin("/o/w").directory == "/over");
}

TEST_CASE("merging forgets the origins of what it replaced") {
  auto base = parse_document("{\n\n\n\"o\": {\"x\": 1}, \"l\": [1, {\"deep\": 2}]}", "base.json", "/base");
  base.merge(parse_document("{\"o\": null, \"l\": 5}", "over.json", "/over"));
  CHECK(base.origin("/o/x").text() == "over.json:1");
  CHECK(base.origin("/l/1/deep").text() == "over.json:1");
}

TEST_CASE("documents are values: copied, moved and assigned again") {
  auto first = parse("{\"a\": 1}");
  const Document copy = first;
  first.tree()["a"] = 2;
  CHECK(copy.tree()["a"] == 1);
  const Document moved = std::move(first);
  CHECK(moved.tree()["a"] == 2);
  first = copy;  // a moved-from document can be assigned to
  CHECK(first.tree()["a"] == 1);
  first = *&first;
  CHECK(first.tree()["a"] == 1);
}

TEST_CASE("shortened values fit a line and stay well-formed") {
  CHECK(shortened(Json(3.7)) == "3.7");
  CHECK(shortened(Json("a\nb")) == "\"a\\nb\"");
  CHECK(shortened(Json::parse("[1, {\"a\": null}]")) == "[1,{\"a\":null}]");
  CHECK(shortened(Json(std::string(38, 'x'))) == "\"" + std::string(38, 'x') + "\"");
  CHECK(shortened(Json(std::string(39, 'x'))) == "\"" + std::string(36, 'x') + "...");
  CHECK(shortened(Json(repeated("φ", 100))) == "\"" + repeated("φ", 36) + "...");
  CHECK(shortened(Json(std::string("\xFF"))) == "\"\xEF\xBF\xBD\"");
}

TEST_CASE("numbers are shown as people write them, to the last digit") {
  CHECK(number_text(0.0) == "0");
  CHECK(number_text(2.0) == "2");
  CHECK(number_text(0.95) == "0.95");
  CHECK(number_text(0.9999999) == "0.9999999");
  CHECK(number_text(1e-5) == "1e-05");
  CHECK(number_text(-3.5) == "-3.5");
  CHECK(number_text(std::int64_t{1} << 62) == "4611686018427387904");
}
