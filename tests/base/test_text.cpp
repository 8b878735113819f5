// UTF-8 by RFC 3629: what is well-formed, where it breaks, and back again.
#include "ffn/base/text.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

std::optional<std::size_t> invalid(const std::string& bytes) { return first_invalid_utf8(bytes); }

}  // namespace

TEST_CASE("well-formed UTF-8 is accepted at the edges of every length") {
  const std::uint32_t edges[] = {0x0,    0x7F,   0x80,   0x7FF,   0x800,   0xFFF,   0x1000,  0xCFFF,   0xD000,  0xD7FF,
                                 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF};
  std::size_t seen = 0;
  for (const auto code : edges) {
    std::string bytes;
    append_utf8(bytes, code);
    CAPTURE(code);
    CHECK(!invalid(bytes));
    CHECK(decode_utf8(bytes) == std::vector<std::uint32_t>{code});
    ++seen;
  }
  CHECK(seen == 19);
}

TEST_CASE("every code point survives encoding and decoding") {
  std::string bytes;
  std::vector<std::uint32_t> codes;
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    append_utf8(bytes, code);
    codes.push_back(code);
  }
  REQUIRE(codes.size() == 0x110000 - 0x800);
  CHECK(!invalid(bytes));
  CHECK(decode_utf8(bytes) == codes);
}

TEST_CASE("UTF-8 that is not well-formed is refused at its first byte") {
  struct Case {
    const char* what;
    std::string bytes;
  };
  const Case cases[] = {
      {"a lone continuation byte", "\x80"},
      {"a lone last continuation byte", "\xBF"},
      {"overlong NUL", std::string("\xC0\x80", 2)},
      {"overlong slash", "\xC0\xAF"},
      {"overlong two bytes", "\xC1\xBF"},
      {"overlong three bytes", "\xE0\x9F\xBF"},
      {"overlong four bytes", "\xF0\x8F\xBF\xBF"},
      {"first surrogate", "\xED\xA0\x80"},
      {"last surrogate", "\xED\xBF\xBF"},
      {"above U+10FFFF", "\xF4\x90\x80\x80"},
      {"a first byte that never occurs", "\xF5\x80\x80\x80"},
      {"byte FE", "\xFE"},
      {"byte FF", "\xFF"},
      {"two bytes cut short", "\xC3"},
      {"three bytes cut short", "\xE2\x82"},
      {"four bytes cut short", "\xF0\x9F\x98"},
      {"two bytes without continuation", "\xC3("},
      {"three bytes without the last", "\xE2\x82("},
      {"four bytes without the last", "\xF0\x9F\x98("},
  };
  std::size_t seen = 0;
  for (const auto& c : cases) {
    INFO(c.what);
    CHECK(invalid(c.bytes) == 0u);
    CHECK(invalid("a\xC3\xA9" + c.bytes) == 3u);
    CHECK(invalid("a\xC3\xA9" + c.bytes + " and more") == 3u);
    ++seen;
  }
  CHECK(seen == 19);
}

TEST_CASE("the place of the first invalid byte is found in longer texts") {
  CHECK(!invalid(""));
  CHECK(!invalid("plain"));
  CHECK(!invalid("\xEF\xBB\xBF with a byte order mark"));
  CHECK(!invalid(std::string("a\0b", 3)));
  CHECK(invalid("Stra\xDF"
                "e") == 4u);  // Latin-1
}

TEST_CASE("the display width counts code points") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("φ·z") == 3);
  CHECK(display_width("\xF0\x9F\x98\x80") == 2);
  CHECK(display_width("日本語 x") == 8);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("−∞ ± ●─█⠿·φ²") == 12);
  CHECK(display_width("\xff\xfe") == 2);
  CHECK(prefix_within("日本語", 3) == 3);
  CHECK(prefix_within("日本語", 4) == 6);
  CHECK(prefix_within("abc", 9) == 3);
}

TEST_CASE("what a terminal would obey becomes a question mark") {
  CHECK(printable("plain, é, φ, \xF0\x9F\x98\x80\n\ttab\r\n") == "plain, é, φ, \xF0\x9F\x98\x80\n\ttab\r\n");
  for (unsigned c = 0; c < 0xA0; ++c) {
    std::string text;
    append_utf8(text, c);
    const bool stays = (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t';
    CHECK(printable("a" + text + "b") == "a" + (stays ? text : "?") + "b");
  }
  for (const std::uint32_t c : {0x061Cu, 0x200Eu, 0x200Fu, 0x202Au, 0x202Eu, 0x2066u, 0x2069u}) {
    std::string text;
    append_utf8(text, c);
    CHECK(printable(text) == "?");
  }
  CHECK(printable("over\rwritten") == "over?written");
  CHECK(printable("\x9B"
                  "31m \xC3( \xE2\x82") == "?31m ?( ??");  // single bytes: C1 of an 8-bit terminal
  CHECK(without_controls("a\nb\tc\r\nd") == "a?b?c??d");
}

TEST_CASE("what is not shown is named by its number where a question mark would be taken for one") {
  CHECK(with_codes(std::string("a\0b", 3) + "\033[1m\n\xC2\x9B") == "a\\x00b\\x1b[1m\\x0a\\x9b");
  CHECK(with_codes("é, \xE2\x80\xAE?") == "é, \\u202e?");
  CHECK(with_codes("\xFF\xE2\x82") == "\\xff\\xe2\\x82");
}

TEST_CASE("of escape sequences the colours of our own pass, where they are asked for") {
  CHECK(printable("\033[1mbold\033[0m \033[1;31mred\033[0m", true) == "\033[1mbold\033[0m \033[1;31mred\033[0m");
  CHECK(printable("\033[1mbold\033[0m") == "?[1mbold?[0m");
  for (const std::string text : {"[2J", "[5A", "]0;title\007", "[8m", "[38;5;1m", "[31", "[1;31", "c", ""}) {
    CHECK(printable("\033" + text, true).find('\033') == std::string::npos);
  }
}

TEST_CASE("a text that ends within a character or a colour waits for the rest") {
  for (const std::string whole : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\033[0m", "\033[31m", "\033[1;33m", "\r\n"}) {
    CHECK(complete_prefix("ab" + whole) == 2 + whole.size());
    for (std::size_t n = 1; n < whole.size(); ++n) CHECK(complete_prefix("ab" + whole.substr(0, n)) == 2);
  }
  CHECK(complete_prefix("") == 0);
  CHECK(complete_prefix("\033[5A and more") == 13);  // no colour of ours: not waited for
  CHECK(complete_prefix("\xF8") == 1);
}

TEST_CASE("clipped texts end between characters") {
  CHECK(clipped("", 5) == "");
  CHECK(clipped("abcde", 5) == "abcde");
  CHECK(clipped("abcdef", 5) == "ab...");
  CHECK(clipped("φφφφφ", 5) == "φφφφφ");
  CHECK(clipped("φφφφφφ", 5) == "φφ...");
  CHECK(clipped("abφφφφ", 5) == "ab...");
  CHECK(!invalid(clipped(std::string(3, 'a') + "\xF0\x9F\x98\x80\xF0\x9F\x98\x80\xF0\x9F\x98\x80", 5)));
}

TEST_CASE("words are joined by commas or what is asked for") {
  CHECK(join({}) == "");
  CHECK(join({"a"}) == "a");
  CHECK(join({"a", "b", "c"}) == "a, b, c");
  CHECK(join({"a", "b"}, " | ") == "a | b");
}
