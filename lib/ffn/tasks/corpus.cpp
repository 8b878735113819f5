#include "ffn/tasks/corpus.hpp"

#include <cmath>
#include <filesystem>
#include <map>

#include "ffn/core/files.hpp"
#include "ffn/core/hash.hpp"
#include "ffn/core/random.hpp"
#include "ffn/core/utf8.hpp"

namespace ffn {

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
  corpus.held_out = static_cast<std::size_t>(std::floor(count * config.validation_fraction));
  corpus.text.reserve(characters.size());
  for (const auto c : characters) corpus.text.push_back(id[c]);

  // A window needs context + 1 characters: the targets are the inputs moved by one. What is left around a held-out part in the middle
  // has a window on one side at least.
  const auto needed = static_cast<std::size_t>(config.context) + 1, needed_to_train = config.per_seed() ? 2 * needed - 1 : needed;
  if (corpus.held_out < needed || characters.size() - corpus.held_out < needed_to_train) {
    throw DataError(config.file + " has " + std::to_string(characters.size()) + " characters, " + std::to_string(corpus.held_out) +
                        " of them for validation; a context of " + std::to_string(config.context) + " needs " + std::to_string(needed) +
                        (config.per_seed() ? " there and " + std::to_string(needed_to_train) + " for training" : " in each part"),
                    "use a longer text, a shorter task.context or a larger task.validation_fraction");
  }
  return corpus;
}

HeldOut held_out(const TextCorpus& corpus, const TextConfig& config, std::uint64_t data_seed) {
  const std::size_t last = corpus.text.size() - corpus.held_out;
  if (!config.per_seed()) return {last, corpus.text.size()};
  const std::size_t begin = RandomStream(sub_seed(data_seed, "split"), 0).below(static_cast<std::uint32_t>(last + 1));
  return {begin, begin + corpus.held_out};
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

}  // namespace ffn
