// Texts on disk: their characters, their split, their identity.
#pragma once

#include <memory>

#include "ffn/config/task_config.hpp"

namespace ffn {

/// Tokens of a text: its characters, or its bytes (task.alphabet).
struct TextCorpus {
  std::vector<std::uint32_t> alphabet;  ///< V distinct code points, ascending; the bytes 0 to 255
  std::vector<std::uint16_t> text;      ///< ids, in the order of the alphabet
  std::size_t held_out = 0;             ///< tokens that are held out
  bool of_bytes = false;
  std::string sha256;  ///< of the text's bytes: part of a run's identity

  /// Tokens [begin, end) in UTF-8.
  std::string utf8(std::size_t begin, std::size_t end) const;
};

/// The held-out tokens [begin, end) of a text; what stands before and after them is trained on.
struct HeldOut {
  std::size_t begin, end;
};

/// The part that a run holds out: the last one, or a window that its data seed draws (task.split).
HeldOut held_out(const TextCorpus& corpus, const TextConfig& config, std::uint64_t data_seed);

/// A text in UTF-8, without a byte order mark. Throws DataError for a missing file, and for one that is no such text, with its encoding
/// where that shows and what to do. `what`: its role in messages.
std::string text_of_file(const std::string& file, const std::string& what = "text file");

/// Reads the file, and keeps the last corpus for the runs that follow. Throws DataError as text_of_file() does, for a part too short for
/// one window, and for more than 65,536 different characters.
std::shared_ptr<const TextCorpus> read_corpus(const TextConfig& config);

/// How many bits a byte of the held-out part costs gzip's algorithm (zlib's deflate at level 9) where the training text before it is known:
/// its last 32 kB, as far as deflate looks back.
double gzip_bits_per_byte(const TextCorpus& corpus, const HeldOut& part);

/// SHA-256 of a text's bytes; a study asks once per run, so unchanged files (by size and time) are read once.
std::string file_identity(const std::string& file, const std::string& what = "text file");
/// The same of any file, up to 1 GiB.
std::string bytes_identity(const std::string& file, const std::string& what);

}  // namespace ffn
