// JSON from files, within limits, and text that is no JSON. Cases as in JSONTestSuite (N. Seriot, "Parsing JSON is a
// Minefield"): y_ must be read, n_ must not, i_ is ours to decide.
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/helpers.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/json_document.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

bool reads(const std::string& text) { return !parse_json(text).is_discarded(); }
bool reads_config(const std::string& text) {
  return !thrown<ConfigError>([&] { parse_document("{\"x\": " + text + "}", "x.json", "/"); });
}

const std::string kNul(1, '\0');

}  // namespace

TEST_CASE("valid JSON is read, in a config, too") {
  const std::vector<std::string> texts = {"[]",
                                          "[[]   ]",
                                          "[\"\"]",
                                          "[1E22]",
                                          "[1e-2]",
                                          "[-0]",
                                          "[123e65]",
                                          "[0.1]",
                                          "[\"\\u0060\\u012a\\u12AB\"]",
                                          "[\"\\uD801\\udc37\"]",
                                          "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
                                          "[\"\xEF\xBF\xBF\"]",
                                          "[\"\xF4\x8F\xBF\xBF\"]",
                                          "[\"\\uFFFE\"]",
                                          "[\"\x7F\"]",
                                          "[null, true]\n",
                                          "\"x\"",
                                          "42",
                                          " [1]\t\r\n",
                                          "{\"a\":\"b\",\"c\":[{}]}",
                                          "[-123123123123123123123123123123]",
                                          "[18446744073709551616]",
                                          "[1e-99999]",
                                          "[\"]}{[\\\":\"]"};
  for (const auto& text : texts) {
    INFO(text);
    CHECK(reads(text));
    CHECK(reads_config(text));
  }
  CHECK(reads("\xEF\xBB\xBF{}"));  // a byte order mark is passed over
}

TEST_CASE("what is no JSON is not read, in a config neither") {
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "[",
                                          "]",
                                          "[1,]",
                                          "[,1]",
                                          "[1,,2]",
                                          "{\"a\"}",
                                          "{\"a\":}",
                                          "{\"a\":1,}",
                                          "{a:1}",
                                          "{'a':1}",
                                          "[01]",
                                          "[-]",
                                          "[+1]",
                                          "[.5]",
                                          "[1.]",
                                          "[1e]",
                                          "[0x1]",
                                          "[NaN]",
                                          "[Infinity]",
                                          "[-Infinity]",
                                          "[True]",
                                          "[nul]",
                                          "[\"a]",
                                          "[\"\\x00\"]",
                                          "[\"\\u00A\"]",
                                          "[\"\n\"]",
                                          "[\"\t\"]",
                                          "[\"\x1F\"]",
                                          "[1]x",
                                          "[1][2]",
                                          "{}}",
                                          "[\"\\uD800\"]",
                                          "[\"\\uDC00\"]",
                                          "[\"\\uD800\\uD800\"]",
                                          "[\"\\uD834\\u0041\"]",
                                          "[\"\xED\xA0\x80\"]",
                                          "[\"\xC0\xAF\"]",
                                          "[\"\xFF\"]",
                                          "[\"\xE9\"]",
                                          "[\"\xF4\xBF\xBF\xBF\"]",
                                          "[1]" + kNul,
                                          "[1" + kNul + "]",
                                          "{\"a\":1}" + kNul + "{}",
                                          "[\"a" + kNul + "b\"]",
                                          "\xFF\xFE[\0]\0",
                                          "\xEF\xBB{}",
                                          "[1e400]",
                                          "[-1e400]",
                                          "[1e99999999999999999999]"};
  for (const auto& text : texts) {
    INFO(text);
    CHECK_FALSE(reads(text));
    CHECK_FALSE(reads_config(text));
  }
}

TEST_CASE("nesting beyond the limit is not read, however deep") {
  for (const std::size_t depth : {std::size_t{64}, std::size_t{65}, std::size_t{300'000}, std::size_t{3'000'000}}) {
    const bool fits = depth <= kMaxJsonDepth;
    CHECK(reads(repeated("[", depth) + repeated("]", depth)) == fits);
    CHECK(reads(repeated("{\"a\":", depth) + "1" + repeated("}", depth)) == fits);
    CHECK_FALSE(reads(repeated("[", depth)));
    CHECK_FALSE(reads(repeated("{\"a\":", depth)));
    CHECK_FALSE(reads(repeated("[{\"\":", depth)));
  }
  CHECK(reads("[\"" + repeated("[", 1000) + "\"]"));  // in a text they are no nesting
  CHECK(reads("[\"\\\"" + repeated("[", 1000) + "\"]"));
}

TEST_CASE("long numbers and long texts take no time") {
  const std::clock_t start = std::clock();  // of this process: other work on the machine does not count
  CHECK(reads("[" + std::string(1'000'000, '9') + "e-999999]"));
  CHECK_FALSE(reads("[" + std::string(1'000'000, '9') + "]"));
  CHECK(reads("[0." + std::string(1'000'000, '3') + "]"));
  CHECK(reads("[\"" + std::string(10'000'000, 'x') + "\"]"));
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 5);
}
