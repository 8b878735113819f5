#include "ffn/config/task_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "ffn/core/files.hpp"
#include "ffn/core/hash.hpp"
#include "ffn/core/utf8.hpp"

namespace ffn {

void XorConfig::describe(FieldVisitor& v) {
  v.integer({"bits", "number of input bits; the label is their XOR"}, bits, between(std::int64_t{1}, 32));
  v.real({"label_noise", "probability that a training label is flipped; validation labels are clean"}, label_noise, between(0.0, 0.5));
  v.real({"jitter", "standard deviation of Gaussian noise added to every input, in training and validation"}, jitter, at_least(0.0));
}

void SequenceXorConfig::describe(FieldVisitor& v) {
  v.integer({"length", "positions T in a sequence"}, length, between(std::int64_t{2}, 4096));
  v.integer({"first_offset", "the label at t uses the bit at t - first_offset"}, first_offset, at_least(std::int64_t{0}));
  v.integer({"second_offset", "and the bit at t - second_offset; positions before the larger offset are not scored"}, second_offset,
            at_least(std::int64_t{0}));
  const auto number = [](std::int64_t x) { return std::to_string(x); };
  v.require(first_offset != second_offset, "second_offset",
            "second_offset (" + number(second_offset) + ") equals first_offset; the XOR of a bit with itself is always 0",
            {"first_offset"});
  const auto largest = std::max(first_offset, second_offset);
  v.require(largest < length, largest == second_offset ? "second_offset" : "first_offset",
            "offset (" + number(largest) + ") leaves no position to score in a sequence of length (" + number(length) + ")",
            {"first_offset", "second_offset", "length"});
}

void TextConfig::describe(FieldVisitor& v) {
  v.path({"file", "any UTF-8 text; its characters are the vocabulary"}, file);
  v.integer({"context", "characters T that the model sees at once"}, context, between(std::int64_t{2}, 65536));
  v.real({"validation_fraction", "the last part of the file, held out"}, validation_fraction, between(0.01, 0.5));
  v.require(!file.empty(), "file", "no text given; set task.file to a UTF-8 file of yours");
}

TextCorpus read_corpus(const TextConfig& config) {
  const std::string bytes = read_file(config.file, "text file", ExitCode::data, std::uintmax_t{1} << 31);
  if (const auto offset = first_invalid_utf8(bytes)) {
    throw DataError(config.file + " is not valid UTF-8 at byte " + std::to_string(*offset),
                    "convert it first, for example: iconv -f latin1 -t utf-8 FILE");
  }
  const auto characters = decode_utf8(bytes);
  TextCorpus corpus;
  corpus.sha256 = sha256_hex(bytes);
  // A table over all code points: sorting the text instead takes ten times as long.
  std::vector<std::int32_t> id(0x110000, -1);
  for (const auto c : characters) id[c] = 0;
  for (std::uint32_t c = 0; c < id.size(); ++c) {
    if (id[c] < 0) continue;
    id[c] = static_cast<std::int32_t>(corpus.alphabet.size());
    corpus.alphabet.push_back(c);
  }
  const auto count = static_cast<double>(characters.size());
  const auto held_out = static_cast<std::size_t>(std::floor(count * config.validation_fraction));
  const auto split = characters.size() - held_out;
  for (std::size_t i = 0; i < characters.size(); ++i) (i < split ? corpus.train : corpus.valid).push_back(id[characters[i]]);

  // A window needs context + 1 characters: the targets are the inputs moved by one.
  const auto needed = static_cast<std::size_t>(config.context) + 1;
  if (corpus.valid.size() < needed || corpus.train.size() < needed) {
    throw DataError(config.file + " has " + std::to_string(characters.size()) + " characters, " + std::to_string(corpus.valid.size()) +
                        " of them for validation; a context of " + std::to_string(config.context) + " needs " + std::to_string(needed) +
                        " in each part",
                    "use a longer text, a shorter task.context or a larger task.validation_fraction");
  }
  return corpus;
}

std::string file_identity(const std::string& file) {
  namespace fs = std::filesystem;
  struct Known {
    fs::file_time_type time;
    std::uintmax_t size;
    std::string hash;
  };
  static std::map<std::string, Known> cache;
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  const auto size = fs::file_size(file, error);
  const auto found = cache.find(file);
  if (!error && found != cache.end() && found->second.time == time && found->second.size == size) return found->second.hash;
  const std::string hash = sha256_hex(read_file(file, "text file", ExitCode::data, std::uintmax_t{1} << 31));
  cache[file] = {time, size, hash};
  return hash;
}

namespace {

TaskShape shape_of(const XorConfig& c) { return {false, c.bits, 1, 2}; }
TaskShape shape_of(const SequenceXorConfig& c) { return {true, 2, c.length, 2}; }
TaskShape shape_of(const TextConfig& c) {
  const auto characters = static_cast<std::int64_t>(read_corpus(c).alphabet.size());
  return {true, characters, c.context, characters};
}

}  // namespace

TaskShape task_shape(const TaskConfig& config) {
  return std::visit([](const auto& c) { return shape_of(c); }, config);
}

}  // namespace ffn
