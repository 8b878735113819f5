#include "ffn/data/corpus.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/random.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/text.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr const char* kUtf8Mark = "\xEF\xBB\xBF";

bool begins_with(const std::string& bytes, const std::string& mark) { return bytes.compare(0, mark.size(), mark) == 0; }

// The encoding of a text that is not UTF-8, by its byte order mark or where its zero bytes stand; "" where neither tells.
std::string other_encoding(const std::string& bytes) {
  using namespace std::string_literals;
  if (begins_with(bytes, "\xFF\xFE\0\0"s) || begins_with(bytes, "\0\0\xFE\xFF"s)) return "UTF-32";
  if (begins_with(bytes, "\xFF\xFE"s) || begins_with(bytes, "\xFE\xFF"s)) return "UTF-16";
  const std::size_t head = std::min<std::size_t>(bytes.size(), 4096) / 4 * 4;
  std::array<std::size_t, 4> zeros = {};
  for (std::size_t i = 0; i < head; ++i) zeros[i % 4] += bytes[i] == '\0';
  const auto most = [&](std::size_t place) { return head > 0 && zeros[place] > head / 8; };  // of every fourth byte more than half
  if (most(1) && most(2) && (most(3) || most(0))) return most(3) ? "UTF-32LE" : "UTF-32BE";
  if (most(1) && most(3) && !most(0) && !most(2)) return "UTF-16LE";
  if (most(0) && most(2) && !most(1) && !most(3)) return "UTF-16BE";
  return "";
}

// Whether all of a file is in this encoding, without NUL characters.
bool is_text_in(const std::string& encoding, const std::string& bytes) {
  const std::size_t unit = encoding.find("32") != std::string::npos ? 4 : 2;
  const bool big_endian = encoding.back() == 'E' ? encoding[encoding.size() - 2] == 'B' : bytes[0] != '\xFF';
  bool after_high = false;  // the first half of a surrogate pair
  for (std::size_t i = 0; i + unit <= bytes.size(); i += unit) {
    std::uint32_t c = 0;
    for (std::size_t j = 0; j < unit; ++j) c = c << 8 | static_cast<unsigned char>(bytes[big_endian ? i + j : i + unit - 1 - j]);
    const bool high = c >= 0xD800 && c < 0xDC00, low = c >= 0xDC00 && c < 0xE000;
    if (c == 0 || c > 0x10FFFF || (unit == 4 ? high || low : low != after_high)) return false;
    after_high = high;
  }
  return bytes.size() % unit == 0 && !after_high;
}

}  // namespace

std::string text_of_file(const std::string& file, const std::string& what) {
  std::string bytes = read_file(file, what, ExitCode::data, std::uintmax_t{1} << 31);
  const fs::path path = file;
  const auto invalid = first_invalid_utf8(bytes);
  const auto zero = bytes.find('\0');
  const auto convert = [&](const std::string& from) {
    return "iconv -f " + from + " -t UTF-8 " + shell_word(file) + " > " +
           shell_word(path.stem().string() + "-utf8" + (path.has_extension() ? path.extension().string() : ".txt"));
  };
  if (const auto encoding = invalid || zero != std::string::npos ? other_encoding(bytes) : "";
      !encoding.empty() && is_text_in(encoding, bytes))
    throw DataError(file + " is " + encoding + ", and texts are read as UTF-8", "convert it: " + convert(encoding));
  if (zero != std::string::npos)
    throw DataError(file + " is no text: byte " + std::to_string(zero) + " is NUL",
                    "name a plain text file in UTF-8; the text of a document or an archive has to be taken out first");
  if (invalid)
    throw DataError(file + " is not valid UTF-8 at byte " + std::to_string(*invalid),
                    "if it is a text in another encoding, convert it: " + convert("ENCODING") +
                        "; `file -i` guesses the encoding, often WINDOWS-1252 or ISO-8859-1");
  if (begins_with(bytes, kUtf8Mark)) bytes.erase(0, 3);
  return bytes;
}

TextCorpus read_corpus(const TextConfig& config) {
  const std::string bytes = text_of_file(config.file);
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
  constexpr double kRounding = 1e-6;  // 0.29 of 100 characters are 28.999999999999996
  corpus.held_out = static_cast<std::size_t>(std::floor(count * config.validation_fraction + kRounding));
  corpus.text.reserve(characters.size());
  for (const auto c : characters) corpus.text.push_back(id[c]);

  // A window needs context + 1 characters: the targets are the inputs moved by one. The text around a held-out part in the middle
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

std::string file_identity(const std::string& file, const std::string& what) {
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
  const std::string hash = sha256_hex(text_of_file(file, what));
  cache[file] = {time, size, hash};
  return hash;
}

}  // namespace ffn
