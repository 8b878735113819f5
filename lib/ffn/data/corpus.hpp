// Texts on disk: their characters, their split, their identity.
#pragma once

#include "ffn/config/task_config.hpp"

namespace ffn {

/// Characters of a text and their ids, in code point order.
struct TextCorpus {
  std::vector<std::uint32_t> alphabet;  ///< V distinct code points, ascending
  std::vector<std::int32_t> text;       ///< ids
  std::size_t held_out = 0;             ///< characters that are held out
  std::string sha256;                   ///< of the text's bytes: part of a run's identity
};

/// The held-out characters [begin, end) of a text; what stands before and after them is trained on.
struct HeldOut {
  std::size_t begin, end;
};

/// The part that a run holds out: the last one, or a window that its data seed draws (task.split).
HeldOut held_out(const TextCorpus& corpus, const TextConfig& config, std::uint64_t data_seed);

/// A text in UTF-8, without a byte order mark. Throws DataError for a missing file, and for one that is no such text, with its encoding
/// where that shows and what to do. `what`: its role in messages.
std::string text_of_file(const std::string& file, const std::string& what = "text file");

/// Reads the file. Throws DataError as text_of_file() does, and for a part too short for one window.
TextCorpus read_corpus(const TextConfig& config);

/// SHA-256 of a text's bytes; a study asks once per run, so unchanged files (by size and time) are read once.
std::string file_identity(const std::string& file, const std::string& what = "text file");
/// The same of any file, up to 1 GiB.
std::string bytes_identity(const std::string& file, const std::string& what);

}  // namespace ffn
