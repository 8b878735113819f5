// Shapes of tasks, and texts as character models see them.
#include "core/helpers.hpp"
#include "ffn/core/error.hpp"
#include "ffn/core/hash.hpp"
#include "ffn/tasks/corpus.hpp"
#include "ffn/tasks/task.hpp"
#include "support/catch_plain.hpp"
#include "support/choices.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

TextConfig text_config(const ScratchDirectory& scratch, const std::string& text, std::int64_t context = 2, double validation = 0.25) {
  return {scratch.write("text.txt", text), context, validation};
}

}  // namespace

TEST_CASE("a text becomes ids in code point order, its last part held out") {
  const ScratchDirectory scratch;
  const auto corpus = read_corpus(text_config(scratch,
                                              "bBφ\n"
                                              "bbba"
                                              "Bφ\nb"));
  CHECK(corpus.alphabet == std::vector<std::uint32_t>{'\n', 'B', 'a', 'b', 0x3C6});
  CHECK(corpus.train == std::vector<std::int32_t>{3, 1, 4, 0, 3, 3, 3, 2, 1});
  CHECK(corpus.valid == std::vector<std::int32_t>{4, 0, 3});
  CHECK(corpus.sha256 == sha256_hex("bBφ\nbbbaBφ\nb"));
}

TEST_CASE("a text may use any code point") {
  const ScratchDirectory scratch;
  const auto corpus = read_corpus(text_config(scratch, repeated("a\xF4\x8F\xBF\xBF\xEF\xBB\xBF", 10)));
  CHECK(corpus.alphabet == std::vector<std::uint32_t>{'a', 0xFEFF, 0x10FFFF});
  CHECK(corpus.train.size() + corpus.valid.size() == 30);
  CHECK(corpus.valid.size() == 7);
}

TEST_CASE("a text that is too short says how long it is and what would do") {
  const ScratchDirectory scratch;
  const auto config = text_config(scratch, std::string(20, 'x'), 8, 0.25);
  const auto error = thrown<DataError>([&] { read_corpus(config); });
  REQUIRE(error);
  CHECK(error->what() == config.file + " has 20 characters, 5 of them for validation; a context of 8 needs 9 in each part");
  CHECK(error->hint() == "use a longer text, a shorter task.context or a larger task.validation_fraction");
  CHECK(thrown<DataError>([&] { read_corpus(text_config(scratch, "")); }));
}

TEST_CASE("a text that is not UTF-8, missing or a directory is refused with its path") {
  const ScratchDirectory scratch;
  const auto latin1 = text_config(scratch,
                                  "Stra\xDF"
                                  "e");
  const auto error = thrown<DataError>([&] { read_corpus(latin1); });
  REQUIRE(error);
  CHECK(error->what() == latin1.file + " is not valid UTF-8 at byte 4");
  CHECK(error->hint().rfind("if it is a text in another encoding, convert it: iconv -f ENCODING -t UTF-8 " + latin1.file + " > ", 0) == 0);
  CHECK(error->code() == ExitCode::data);
  CHECK(message<DataError>([&] { read_corpus({scratch / "no.txt", 2, 0.1}); }) == "no text file at " + scratch / "no.txt");
  CHECK(message<DataError>([&] {
          read_corpus({scratch.path().string(), 2, 0.1});
        }) == scratch.path().string() + " is a directory, not a text file");
}

TEST_CASE("a text in another encoding is refused by its name, with the command that converts it") {
  using namespace std::string_literals;
  const ScratchDirectory scratch;
  // "ab\n" as each encoding writes it.
  const std::pair<std::string, std::string> cases[] = {
      {"UTF-16", "\xFF\xFE" + repeated("a\0b\0\n\0"s, 20)},     {"UTF-16", "\xFE\xFF" + repeated("\0a\0b\0\n"s, 20)},
      {"UTF-16LE", repeated("a\0b\0\n\0"s, 20)},                  {"UTF-16BE", repeated("\0a\0b\0\n"s, 20)},
      {"UTF-32", "\xFF\xFE\0\0"s + repeated("a\0\0\0"s, 20)},    {"UTF-32", "\0\0\xFE\xFF"s + repeated("\0\0\0a"s, 20)},
      {"UTF-32LE", repeated("a\0\0\0b\0\0\0"s, 20)},              {"UTF-32BE", repeated("\0\0\0a\0\0\0b"s, 20)},
      {"UTF-16LE", repeated("\xE9\0b\0\n\0"s, 20)},
  };
  for (const auto& [encoding, bytes] : cases) {
    const auto config = text_config(scratch, bytes);
    const auto error = thrown<DataError>([&] { read_corpus(config); });
    REQUIRE(error);
    CHECK(error->what() == config.file + " is " + encoding + ", and texts are read as UTF-8");
    CHECK(error->hint() == "convert it: iconv -f " + encoding + " -t UTF-8 " + config.file + " > text-utf8.txt");
  }
}

TEST_CASE("a file with NUL characters is no text") {
  using namespace std::string_literals;
  const ScratchDirectory scratch;
  for (const auto& bytes : {repeated("plain text ", 20) + "\0"s + repeated("and more ", 20), "\x7F" "ELF\x02\x01\x01\0\0\xFF\0\0"s + std::string(64, 'x')}) {
    const auto config = text_config(scratch, bytes);
    CHECK(message<DataError>([&] { read_corpus(config); }) == config.file + " is no text: byte " + std::to_string(bytes.find('\0')) + " is NUL");
  }
}

TEST_CASE("a byte order mark of UTF-8 is no character, and no other text") {
  const ScratchDirectory scratch;
  const std::string plain = repeated("ab\n", 20);
  const auto with = read_corpus(text_config(scratch, "\xEF\xBB\xBF" + plain));
  const auto without = read_corpus(text_config(scratch, plain));
  CHECK(with.alphabet == std::vector<std::uint32_t>{'\n', 'a', 'b'});
  CHECK((with.train == without.train && with.valid == without.valid && with.sha256 == without.sha256));
  CHECK(file_identity(scratch.write("marked.txt", "\xEF\xBB\xBF" + plain)) == with.sha256);
}

TEST_CASE("a carriage return is a character as any other") {
  const ScratchDirectory scratch;
  CHECK(read_corpus(text_config(scratch, repeated("ab\r\n", 20))).alphabet == std::vector<std::uint32_t>{'\n', '\r', 'a', 'b'});
}

TEST_CASE("the validation part is the fraction that was typed") {
  const ScratchDirectory scratch;
  for (const auto& [fraction, held_out] : {std::pair(0.29, 29), {0.07, 7}, {0.28, 28}, {0.1, 10}, {0.299, 29}, {0.5, 50}})
    CHECK(static_cast<int>(read_corpus(text_config(scratch, std::string(100, 'x'), 2, fraction)).valid.size()) == held_out);
}

TEST_CASE("tasks have their shapes") {
  const auto vectors = task_shape(XorConfig{5, 0, 0});
  CHECK((!vectors.tokens && vectors.input_width == 5 && vectors.sequence_length == 1 && vectors.num_classes == 2));
  const auto sequence = task_shape(SequenceXorConfig{12, 1, 2});
  CHECK((sequence.tokens && sequence.input_width == 2 && sequence.sequence_length == 12 && sequence.num_classes == 2));
  const ScratchDirectory scratch;
  const auto text = task_shape(text_config(scratch, repeated("abc\n", 20), 6));
  CHECK((text.tokens && text.input_width == 4 && text.sequence_length == 6 && text.num_classes == 4));
}
