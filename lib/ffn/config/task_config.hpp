// The tasks. Each is one struct here and one pair of files in lib/ffn/data.
#pragma once

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json.hpp"

namespace ffn {

/// Kinds of targets.
enum class Target {
  classes,  ///< one of several, by number
  vectors   ///< numbers, as many as there are outputs
};

/// n-bit XOR (parity of all bits): the smallest task that no linear model can do.
struct XorConfig {
  static constexpr const char* kKind = "xor";
  static constexpr const char* kDoc = "The XOR of n bits, given as a vector of -1 and +1. A linear model gets 75 % at n = 2.";
  static constexpr Target kTarget = Target::classes;
  std::int64_t bits = 2;
  double label_noise = 0.0;
  double jitter = 0.0;
  void describe(FieldVisitor& v);
};

/// Two bits at earlier places have to be gathered and combined.
struct SequenceXorConfig {
  static constexpr const char* kKind = "sequence_xor";
  static constexpr const char* kDoc =
      "A sequence of random bits; each position's label is the XOR of the bits at two earlier offsets. Something has to "
      "gather the two bits, something has to combine them.";
  static constexpr Target kTarget = Target::classes;
  std::int64_t length = 8;
  std::int64_t first_offset = 1;
  std::int64_t second_offset = 2;
  void describe(FieldVisitor& v);
};

/// Next-character prediction on any UTF-8 file.
struct TextConfig {
  static constexpr const char* kKind = "text";
  static constexpr const char* kDoc = "Next-character prediction on a UTF-8 file; a part of the file is held out for validation.";
  static constexpr Target kTarget = Target::classes;
  std::string file;
  std::int64_t context = 64;
  double validation_fraction = 0.1;
  std::string split = "fixed";          ///< or "per_seed"
  std::string alphabet = "characters";  ///< or "bytes"
  void describe(FieldVisitor& v);

  bool per_seed() const { return split == "per_seed"; }
  bool of_bytes() const { return alphabet == "bytes"; }
};

/// A function of a sequence of random tokens at each of its positions, as a formula.
struct SequenceConfig {
  static constexpr const char* kKind = "sequence";
  static constexpr const char* kDoc =
      "A sequence of random tokens s; a formula gives the class at each position t, such as s[t-1] ^ s[t-2]. Something has to gather the "
      "tokens that it reads, something has to combine them.";
  static constexpr Target kTarget = Target::classes;
  std::string name;
  std::int64_t alphabet = 2;
  std::int64_t length = 8;
  std::string tokens, label, scored;
  void describe(FieldVisitor& v);
};

/// A function of random inputs, as a formula: classes ("label") or numbers ("target").
struct FunctionConfig {
  static constexpr const char* kKind = "function";
  static constexpr const char* kDoc = "A formula over random inputs gives a class (label) or numbers (target).";
  std::string name;
  JsonValue inputs = JsonValue::object();
  std::string features, label, target, group;
  std::optional<std::int64_t> classes;
  double held_out = 0.0;
  double label_noise = 0.0, noise = 0.0, jitter = 0.0;
  void describe(FieldVisitor& v);
};

/// Labels drawn at random, one for each of N keys: nothing but a memory has them.
struct FactsConfig {
  static constexpr const char* kKind = "facts";
  static constexpr const char* kDoc =
      "Random facts: each of N keys (a token) has one of V values, drawn by the seed. All are trained, and all are validated: how much "
      "does a layer memorise? With lr_scale {\"embedding\": 0, \"head\": 0} the feed-forward layer alone does. "
      "val/bits_per_param is N (log2 V - val/loss / ln 2) / parameters of the feed-forward layers; val/most_bits_per_param that of no "
      "loss.";
  static constexpr Target kTarget = Target::classes;
  std::int64_t facts = 512;
  std::int64_t values = 32;
  std::optional<std::int64_t> draws;
  void describe(FieldVisitor& v);
};

/// A table of the user's: a class ("label") or a number ("target") from its other columns.
struct TableConfig {
  static constexpr const char* kKind = "table";
  static constexpr const char* kDoc =
      "A CSV or TSV file: one column, a class (label) or a number (target), from the others. Numbers are standardised with the mean and "
      "deviation of the training rows, categories are one-hot.";
  static constexpr double kDefaultFraction = 0.2;
  std::string file, label, target;
  JsonValue columns = JsonValue::array(), types = JsonValue::object(), ignore = JsonValue::array();
  std::string split = "per_seed";  ///< or "fixed", or a column that says "train" or "validation"
  std::optional<double> validation_fraction;
  std::string missing = "refuse";
  void describe(FieldVisitor& v);

  /// How far seeds go that split the same rows.
  static constexpr const char* kSeedsHelp = "beyond about 30 seeds more rows help, more seeds do not";
  bool is_drawn() const { return split == "per_seed" || split == "fixed"; }
  /// Held-out rows per training row where each seed splits the same rows anew; 0 where all seeds share one split.
  double held_out_per_training() const {
    const double held_out = validation_fraction.value_or(kDefaultFraction);
    return split == "per_seed" ? held_out / (1 - held_out) : 0;
  }
};

/// MNIST and what has its format.
struct ImagesConfig {
  static constexpr const char* kKind = "images";
  static constexpr const char* kDoc = "Labelled images in MNIST's format (IDX, as it is or with gzip): pixels from 0 to 1, as a vector.";
  static constexpr Target kTarget = Target::classes;
  std::string directory;
  std::optional<std::int64_t> examples;
  void describe(FieldVisitor& v);
};

using TaskConfig =
    std::variant<XorConfig, SequenceXorConfig, TextConfig, FunctionConfig, TableConfig, ImagesConfig, SequenceConfig, FactsConfig>;

/// The kind of the task's targets; known without its data.
Target target_of(const TaskConfig& task);
/// Whether a task's inputs are tokens.
bool has_tokens(const TaskConfig& task);
/// Positions of one of its examples.
std::int64_t positions_of(const TaskConfig& task);

/// Whether the trained model writes text.
inline bool writes_text(const TaskConfig& task) { return std::holds_alternative<TextConfig>(task); }

/// Why a model of this task cannot have model.tie: a clause for a message; empty where its classes are its tokens, as of a text.
std::string why_not_tied(const TaskConfig& task);

/// Whether validation takes all of the data that there is for it, unless fewer examples are asked for.
inline bool holds_out_all(const TaskConfig& task) {
  return writes_text(task) || std::holds_alternative<TableConfig>(task) || std::holds_alternative<ImagesConfig>(task) ||
         std::holds_alternative<FactsConfig>(task);
}

/// The task as a model sees it. Vectors: one token per example.
struct TaskShape {
  bool tokens = false;               ///< inputs are token ids (B, T), else vectors (B, width)
  std::int64_t input_width = 0;      ///< V for tokens, the vector's width otherwise
  std::int64_t sequence_length = 1;  ///< T
  std::int64_t num_classes = 2;      ///< outputs: classes, or numbers of a vector
  Target target = Target::classes;
};

}  // namespace ffn
