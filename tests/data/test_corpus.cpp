// Shapes of tasks, and texts as character models see them.
#include <zlib.h>

#include <set>

#include "base/helpers.hpp"
#include "ffn/base/error.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/random.hpp"
#include "ffn/base/text.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/data/task.hpp"
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
  const auto corpus = *read_corpus(text_config(scratch,
                                               "bBφ\n"
                                               "bbba"
                                               "Bφ\nb"));
  CHECK(corpus.alphabet == std::vector<std::uint32_t>{'\n', 'B', 'a', 'b', 0x3C6});
  CHECK(corpus.text == std::vector<std::uint16_t>{3, 1, 4, 0, 3, 3, 3, 2, 1, 4, 0, 3});
  CHECK(corpus.held_out == 3);
  CHECK(corpus.sha256 == sha256_hex("bBφ\nbbbaBφ\nb"));
}

TEST_CASE("a text may use any code point") {
  const ScratchDirectory scratch;
  const auto corpus = *read_corpus(text_config(scratch, repeated("a\xF4\x8F\xBF\xBF\xEF\xBB\xBF", 10)));
  CHECK(corpus.alphabet == std::vector<std::uint32_t>{'a', 0xFEFF, 0x10FFFF});
  CHECK(corpus.text.size() == 30);
  CHECK(corpus.held_out == 7);
}

TEST_CASE("a character stays whole wherever it stands in a long text") {
  const ScratchDirectory scratch;
  const auto corpus = *read_corpus(text_config(scratch, "a" + repeated("é", 40000)));
  CHECK(corpus.alphabet == std::vector<std::uint32_t>{'a', 0xE9});
  CHECK(corpus.text.size() == 40001);
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
      {"UTF-16", "\xFF\xFE" + repeated("a\0b\0\n\0"s, 20)},
      {"UTF-16", "\xFE\xFF" + repeated("\0a\0b\0\n"s, 20)},
      {"UTF-16LE", repeated("a\0b\0\n\0"s, 20)},
      {"UTF-16BE", repeated("\0a\0b\0\n"s, 20)},
      {"UTF-32", "\xFF\xFE\0\0"s + repeated("a\0\0\0"s, 20)},
      {"UTF-32", "\0\0\xFE\xFF"s + repeated("\0\0\0a"s, 20)},
      {"UTF-32LE", repeated("a\0\0\0b\0\0\0"s, 20)},
      {"UTF-32BE", repeated("\0\0\0a\0\0\0b"s, 20)},
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

TEST_CASE("an encoding is named only of a file that is in it from the first byte to the last") {
  using namespace std::string_literals;
  const ScratchDirectory scratch;
  for (const auto& begin : {repeated("a\0b\0\n\0"s, 1000), repeated("a\0\0\0b\0\0\0"s, 1000), "\xFF\xFE"s + repeated("a\0b\0"s, 20)}) {
    for (const auto& end : {"\0\0\0\0"s, "\xFF"s, "\x00\xDC\x00\xDC"s}) {
      const auto config = text_config(scratch, begin + end);
      CHECK(thrown<DataError>([&] { read_corpus(config); })->what() ==
            config.file + " is no text: byte " + std::to_string(begin.find('\0')) + " is NUL");
    }
  }
  const auto table = scratch.write("mine.csv", repeated("a\0,\0\n\0"s, 20));
  CHECK_THAT(thrown<DataError>([&] { text_of_file(table); })->hint(), ContainsSubstring("> mine-utf8.csv"));
}

TEST_CASE("a file with NUL characters is no text") {
  using namespace std::string_literals;
  const ScratchDirectory scratch;
  for (const auto& bytes : {repeated("plain text ", 20) + "\0"s + repeated("and more ", 20),
                            "\x7F"
                            "ELF\x02\x01\x01\0\0\xFF\0\0"s +
                                std::string(64, 'x')}) {
    const auto config = text_config(scratch, bytes);
    CHECK(message<DataError>([&] { read_corpus(config); }) ==
          config.file + " is no text: byte " + std::to_string(bytes.find('\0')) + " is NUL");
  }
}

TEST_CASE("a byte order mark of UTF-8 is no character, and no other text") {
  const ScratchDirectory scratch;
  const std::string plain = repeated("ab\n", 20);
  const auto with = *read_corpus(text_config(scratch, "\xEF\xBB\xBF" + plain));
  const auto without = *read_corpus(text_config(scratch, plain));
  CHECK(with.alphabet == std::vector<std::uint32_t>{'\n', 'a', 'b'});
  CHECK((with.text == without.text && with.held_out == without.held_out && with.sha256 == without.sha256));
  CHECK(file_identity(scratch.write("marked.txt", "\xEF\xBB\xBF" + plain)) == with.sha256);
}

TEST_CASE("a carriage return is a character as any other") {
  const ScratchDirectory scratch;
  CHECK(read_corpus(text_config(scratch, repeated("ab\r\n", 20)))->alphabet == std::vector<std::uint32_t>{'\n', '\r', 'a', 'b'});
}

TEST_CASE("the validation part is the fraction that was typed") {
  const ScratchDirectory scratch;
  for (const auto& [fraction, held_out] : {std::pair(0.29, 29), {0.07, 7}, {0.28, 28}, {0.1, 10}, {0.299, 29}, {0.5, 50}})
    CHECK(static_cast<int>(read_corpus(text_config(scratch, std::string(100, 'x'), 2, fraction))->held_out) == held_out);
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

namespace {

// A text whose characters are all different, so that an id is a place in it.
std::string places(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) append_utf8(text, static_cast<std::uint32_t>(0x4E00 + i));
  return text;
}

TextConfig per_seed(TextConfig config) {
  config.split = "per_seed";
  return config;
}

}  // namespace

TEST_CASE("with split per_seed each seed holds out another window, and trains on both of its sides but on none of it") {
  const ScratchDirectory scratch;
  constexpr std::int64_t kText = 200, kContext = 4, kSeeds = 60, kBatch = 800;
  const auto config = per_seed(text_config(scratch, places(kText), kContext, 0.25));
  std::vector<DataSeeds> seeds;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) seeds.push_back({sub_seed(seed, "data"), sub_seed(seed, "validation")});
  const auto task = make_task(config, seeds);
  const auto set = task->validation(1000);
  REQUIRE(!set.shared);
  REQUIRE(set.count == 12);  // 49 characters with a target
  std::set<std::int64_t> begins;
  std::size_t in_the_middle = 0;
  for (std::int64_t run = 0; run < kSeeds; ++run) {
    const auto* held_out = set.tokens.data() + run * set.count * kContext;
    const std::int64_t begin = held_out[0], end = begin + 50;
    begins.insert(begin);
    bool side_by_side = begin >= 0 && end <= kText;
    for (std::int64_t i = 0; i < set.count * kContext; ++i)
      side_by_side =
          side_by_side && held_out[i] == begin + i && set.labels[static_cast<std::size_t>(run * set.count * kContext + i)] == begin + i + 1;
    CHECK(side_by_side);
    // By another route: every place from which a window and its last target miss the held-out part is drawn, and no other.
    std::set<std::int64_t> allowed, drawn;
    for (std::int64_t start = 0; start + kContext < kText; ++start) {
      if (start + kContext < begin || start >= end) allowed.insert(start);
    }
    std::vector<std::int64_t> tokens(kBatch * kContext), labels(tokens.size());
    for (std::int64_t step = 0; step < 4; ++step) {
      task->write_batch(static_cast<std::size_t>(run), step, kBatch, {tokens.data(), nullptr, labels.data()});
      bool follows = true;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i % kContext == 0) drawn.insert(tokens[i]);
        else follows = follows && tokens[i] == tokens[i - 1] + 1;
        follows = follows && labels[i] == tokens[i] + 1;
      }
      CHECK(follows);
    }
    CHECK(drawn == allowed);
    in_the_middle += begin > kContext && end < kText - kContext;
  }
  CHECK(begins.size() > 40);  // of 151 places, 60 times: 50 different ones are expected
  CHECK(in_the_middle > 45);
}

TEST_CASE("the window of a seed is its own, whatever stands beside it, and the last part of the text with split fixed") {
  const ScratchDirectory scratch;
  const auto config = per_seed(text_config(scratch, places(200), 4, 0.25));
  const auto corpus = *read_corpus(config);
  const auto alone = make_task(config, {{7, 0}})->validation(1000), together = make_task(config, {{3, 0}, {7, 1}})->validation(1000);
  CHECK(std::equal(alone.tokens.begin(), alone.tokens.end(), together.tokens.begin() + static_cast<std::ptrdiff_t>(alone.tokens.size())));
  CHECK(held_out(corpus, config, 7).begin == static_cast<std::size_t>(alone.tokens[0]));
  auto fixed = config;
  fixed.split = "fixed";
  for (const std::uint64_t seed : {0u, 7u}) CHECK(held_out(corpus, fixed, seed).begin == 150);
}

TEST_CASE("with split per_seed a text needs a window on one side of any held-out part") {
  const ScratchDirectory scratch;
  const auto longest = per_seed(text_config(scratch, places(12), 4, 0.25 + 0.17));  // 5 held out, 7 left: 3 on one side and 4 on the other
  const auto error = thrown<DataError>([&] { read_corpus(longest); });
  REQUIRE(error);
  CHECK(std::string(error->what()).find("a context of 4 needs 5 there and 9 for training") != std::string::npos);
  CHECK(read_corpus(per_seed(text_config(scratch, places(14), 4, 0.36)))->held_out == 5);
}

TEST_CASE("a byte alphabet has all 256 bytes, and a text in UTF-8 becomes its bytes") {
  const ScratchDirectory scratch;
  auto config = text_config(scratch, repeated("aé", 8));
  const auto characters = *read_corpus(config);
  config.alphabet = "bytes";
  const auto bytes = *read_corpus(config);
  CHECK(characters.text.size() == 16);
  CHECK(characters.alphabet == std::vector<std::uint32_t>{'a', 0xE9});
  CHECK(bytes.text.size() == 24);
  CHECK(std::vector<std::uint16_t>(bytes.text.begin(), bytes.text.begin() + 4) == std::vector<std::uint16_t>{'a', 0xC3, 0xA9, 'a'});
  CHECK(bytes.alphabet.size() == 256);
  CHECK(bytes.held_out == 6);
  CHECK(bytes.sha256 == characters.sha256);
  CHECK(bytes.utf8(0, 6) == "aéaé");
  CHECK(characters.utf8(0, 4) == "aéaé");
  const auto task = make_task(config, {{1, 2}});
  CHECK(task->shape().num_classes == 256);
  CHECK(alphabet_of(task->metadata(0)) == bytes.alphabet);
  CHECK(trained_shape(config, task->metadata(0)).input_width == 256);
}

namespace {

// The bytes that zlib's stream takes for `text` behind `before` in one stream: it is flushed between them.
double streamed_bytes(const std::string& before, const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(before.size() + text.size() + 1000, '\0');
  const auto feed = [&](const std::string& bytes, int flush) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    deflate(&stream, flush);
    return static_cast<double>(stream.total_out);
  };
  stream.next_out = reinterpret_cast<Bytef*>(&out[0]);
  stream.avail_out = static_cast<uInt>(out.size());
  const double first = feed(before, Z_SYNC_FLUSH), all = feed(text, Z_FINISH);
  deflateEnd(&stream);
  return all - first;
}

}  // namespace

TEST_CASE("gzip's bits per byte are those of the held-out part in a stream that begins with the 32 kB before it") {
  for (const std::uint32_t first : {0x61, 0x430}) {  // Latin letters, and Cyrillic ones of two bytes each
    const ScratchDirectory scratch;
    std::string text;  // pairs of letters that no compressor foresees, every second word one of 64
    for (std::uint64_t i = 0; i < 30000; ++i) {
      const auto word = RandomStream(5, i).below(i % 2 == 0 ? 64 : 676);
      append_utf8(text, first + word / 26);
      append_utf8(text, first + word % 26);
      text += i % 50 == 0 ? '\n' : ' ';
    }
    const auto config = text_config(scratch, text);
    const auto corpus = *read_corpus(config);
    const HeldOut last{67500, 90000}, early{3000, 25500};
    const std::size_t word_bytes = text.size() / 30000;  // of three characters
    const double num_bytes = 7500.0 * static_cast<double>(word_bytes);
    const auto streamed = [&](const HeldOut& part, std::size_t before) {
      const std::size_t begin = part.begin / 3 * word_bytes, end = part.end / 3 * word_bytes;
      return 8 * streamed_bytes(text.substr(begin - before, before), text.substr(begin, end - begin)) / num_bytes;
    };
    const double one_byte = 8 / num_bytes * 2;  // the flush between the parts ends within a byte
    CHECK(std::abs(gzip_bits_per_byte(corpus, last) - streamed(last, 32768)) < one_byte);
    CHECK(std::abs(gzip_bits_per_byte(corpus, early) - streamed(early, 1000 * word_bytes)) < one_byte);
    CHECK(gzip_bits_per_byte(corpus, last) < streamed(last, 0) - 3 * one_byte);  // what stands before helps
    const auto task = make_task(config, {{1, 2}});
    CHECK(*task->compressed(0) == gzip_bits_per_byte(corpus, last));
  }
}
