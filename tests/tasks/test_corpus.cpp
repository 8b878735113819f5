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
  CHECK(error->hint() == "convert it first, for example: iconv -f latin1 -t utf-8 FILE");
  CHECK(error->code() == ExitCode::data);
  CHECK(message<DataError>([&] { read_corpus({scratch / "no.txt", 2, 0.1}); }) == "no text file at " + scratch / "no.txt");
  CHECK(message<DataError>([&] {
          read_corpus({scratch.path().string(), 2, 0.1});
        }) == scratch.path().string() + " is a directory, not a text file");
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
