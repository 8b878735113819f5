#include "ffn/data/corpus.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

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

std::string TextCorpus::utf8(std::size_t begin, std::size_t end) const {
  std::string out;
  for (std::size_t i = begin; i < end; ++i) {
    if (of_bytes) out.push_back(static_cast<char>(text[i]));
    else append_utf8(out, alphabet[text[i]]);
  }
  return out;
}

namespace {

// Some characters at a time: all of a text's code points would take four times its memory.
template <class F>
void each_character(const std::string& bytes, const F& f) {
  constexpr std::size_t kSome = 1 << 16;
  for (std::size_t begin = 0, end = 0; begin < bytes.size(); begin = end) {
    end = std::min(begin + kSome, bytes.size());
    while (end < bytes.size() && (static_cast<unsigned char>(bytes[end]) & 0xC0) == 0x80) ++end;
    for (const auto c : decode_utf8(bytes.substr(begin, end - begin))) f(c);
  }
}

void take_characters(const std::string& bytes, const std::string& file, TextCorpus& corpus) {
  // A table over all code points: sorting the text instead takes ten times as long.
  std::vector<std::uint32_t> id(0x110000, 0);
  std::size_t count = 0;
  each_character(bytes, [&](std::uint32_t c) {
    id[c] = 1;
    ++count;
  });
  for (std::uint32_t c = 0; c < id.size(); ++c) {
    if (id[c] == 0) continue;
    id[c] = static_cast<std::uint32_t>(corpus.alphabet.size());
    corpus.alphabet.push_back(c);
  }
  if (corpus.alphabet.size() > 65536)
    throw DataError(
        file + " has " + std::to_string(corpus.alphabet.size()) + " different characters, and a vocabulary of 65,536 is the largest",
        "read its bytes: task.alphabet=bytes");
  corpus.text.reserve(count);
  each_character(bytes, [&](std::uint32_t c) { corpus.text.push_back(static_cast<std::uint16_t>(id[c])); });
}

void take_bytes(const std::string& bytes, TextCorpus& corpus) {
  for (std::uint32_t byte = 0; byte < 256; ++byte) corpus.alphabet.push_back(byte);
  corpus.text.reserve(bytes.size());
  for (const char c : bytes) corpus.text.push_back(static_cast<unsigned char>(c));
}

TextCorpus read_text(const TextConfig& config) {
  const std::string bytes = text_of_file(config.file);
  TextCorpus corpus;
  corpus.sha256 = sha256_hex(bytes);
  corpus.of_bytes = config.of_bytes();
  if (corpus.of_bytes) take_bytes(bytes, corpus);
  else take_characters(bytes, config.file, corpus);
  const std::size_t count = corpus.text.size();
  constexpr double kRounding = 1e-6;  // 0.29 of 100 characters are 28.999999999999996
  corpus.held_out = static_cast<std::size_t>(std::floor(static_cast<double>(count) * config.validation_fraction + kRounding));

  // A window needs context + 1 tokens: the targets are the inputs moved by one. The text around a held-out part in the middle
  // has a window on one side at least.
  const auto needed = static_cast<std::size_t>(config.context) + 1, needed_to_train = config.per_seed() ? 2 * needed - 1 : needed;
  if (corpus.held_out < needed || count - corpus.held_out < needed_to_train) {
    throw DataError(config.file + " has " + std::to_string(count) + " " + config.alphabet + ", " + std::to_string(corpus.held_out) +
                        " of them for validation; a context of " + std::to_string(config.context) + " needs " + std::to_string(needed) +
                        (config.per_seed() ? " there and " + std::to_string(needed_to_train) + " for training" : " in each part"),
                    "use a longer text, a shorter task.context or a larger task.validation_fraction");
  }
  return corpus;
}

}  // namespace

std::shared_ptr<const TextCorpus> read_corpus(const TextConfig& config) {
  static std::mutex mutex;
  static std::string last_key;
  static std::shared_ptr<const TextCorpus> last;
  std::error_code error;
  const auto time = fs::last_write_time(config.file, error).time_since_epoch().count();
  const std::string key = dump_json(
      {config.file, time, fs::file_size(config.file, error), config.context, config.validation_fraction, config.split, config.alphabet});
  const std::lock_guard<std::mutex> hold(mutex);
  if (error || key != last_key) {
    last = std::make_shared<const TextCorpus>(read_text(config));
    last_key = key;
  }
  return last;
}

double gzip_bits_per_byte(const TextCorpus& corpus, const HeldOut& part) {
  constexpr std::size_t kWindow = 32768;
  constexpr int kLevel = 9, kRawDeflate = -15, kMemory = 9;
  std::string before = corpus.utf8(part.begin - std::min(part.begin, kWindow), part.begin), text = corpus.utf8(part.begin, part.end);
  before.erase(0, before.size() - std::min(before.size(), kWindow));
  const auto* dictionary = reinterpret_cast<const Bytef*>(before.data());
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kRawDeflate, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  deflateSetDictionary(&stream, dictionary, static_cast<uInt>(before.size()));
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  const auto size = static_cast<double>(stream.total_out);
  deflateEnd(&stream);
  return 8 * size / static_cast<double>(text.size());
}

HeldOut held_out(const TextCorpus& corpus, const TextConfig& config, std::uint64_t data_seed) {
  const std::size_t last = corpus.text.size() - corpus.held_out;
  if (!config.per_seed()) return {last, corpus.text.size()};
  const std::size_t begin = RandomStream(sub_seed(data_seed, "split"), 0).below(static_cast<std::uint32_t>(last + 1));
  return {begin, begin + corpus.held_out};
}

namespace {

std::string identity_once(const std::string& file, const std::function<std::string()>& read) {
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
  const std::string hash = sha256_hex(read());
  cache[file] = {time, size, hash};
  return hash;
}

}  // namespace

std::string file_identity(const std::string& file, const std::string& what) {
  return identity_once(file, [&] { return text_of_file(file, what); });
}

std::string bytes_identity(const std::string& file, const std::string& what) {
  return identity_once(file, [&] { return read_file(file, what, ExitCode::data, std::uintmax_t{1} << 30); });
}

}  // namespace ffn
