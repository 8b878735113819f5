#include "ffn/config/task_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"
#include "ffn/config/function_task.hpp"
#include "ffn/config/named_tasks.hpp"
#include "ffn/config/sequence_task.hpp"

namespace ffn {

void XorConfig::describe(FieldVisitor& v) {
  v.integer(
      {"bits",
       "number of input bits; the label is their XOR. Few bits without jitter: validation uses every pattern once, including those seen "
       "in training; otherwise it draws new inputs"},
      bits, between(std::int64_t{1}, 32));
  v.real({"label_noise", "probability that a training label is flipped; validation labels are clean"}, label_noise, between(0.0, 0.5));
  v.real({"jitter", "standard deviation of Gaussian noise added to every input, in training and validation"}, jitter, at_least(0.0));
}

void SequenceXorConfig::describe(FieldVisitor& v) {
  v.integer({"length", "positions T of a sequence of random bits; validation draws new sequences"}, length, between(std::int64_t{2}, 4096));
  v.integer({"first_offset", "the label at t uses the bit at t - first_offset"}, first_offset, at_least(std::int64_t{0}));
  v.integer({"second_offset", "the label at t also uses the bit at t - second_offset; earlier positions are not scored"}, second_offset,
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
  v.path({"file", "any UTF-8 text. Line ends stay as they are; a byte order mark is skipped"}, file);
  v.integer({"context", "context length T in tokens"}, context, between(std::int64_t{2}, 65536));
  v.real({"validation_fraction", "fraction of the file held out for validation"}, validation_fraction, between(0.01, 0.5));
  v.choice({"split", "which part is held out"}, split,
           {{"fixed", "the last part, for all seeds: intervals do not cover other parts or texts"},
            {"per_seed", "a random window per seed, the same for all variants: intervals cover the windows of this text"}});
  v.choice({"alphabet", "the tokens"}, alphabet,
           {{"characters", "those that occur in the text"}, {"bytes", "all 256, of the text in UTF-8: one alphabet for all texts"}});
  v.require(!file.empty(), "file", "no text given; set task.file to a UTF-8 file");
}

void FunctionConfig::describe(FieldVisitor& v) {
  v.text({"name", "name of a task in `ffn-train list tasks`, in place of inputs and formulas; together with formulas, their label"}, name);
  v.json({"inputs",
          "name → how it is drawn: \"bit\" or {\"bit\": 8} for so many of them (0 or 1 in the formula, -1 or 1 for the network), "
          "{\"integer\": 31} (0 … 30; one-hot for the network), {\"uniform\": [-1, 1]} or {\"normal\": [0, 1]} (mean, standard deviation), "
          "the last two with \"size\": 3 for so many"},
         *inputs, Shape::object);
  v.text(
      {"features",
       "formula of what the network sees, such as \"concat(r * cos(a), r * sin(a))\", in place of the inputs themselves; in it bits are 0 "
       "and 1"},
      features);
  v.text({"label",
          "formula of the class: a whole number from 0 on, such as \"a ^ b\", \"(a + b) % 31\", \"x[0] * x[1] > 0\", \"parity(x[0:3])\""},
         label);
  v.text({"target",
          "formula of the number to predict, such as \"sin(2 * pi * x)\"; several columns are several numbers. Set label or target; "
          "`ffn-train list functions` shows what a formula can use"},
         target);
  v.text({"group",
          "formula of the group that an example belongs to, a whole number from 0 on: mixtures with train.layer_metrics log as moe/purity "
          "how well their experts keep groups apart"},
         group);
  v.optional_integer({"classes", "number of classes, where the formula does not say it"}, classes, between(std::int64_t{2}, 65536));
  v.real({"held_out",
          "fraction of all input patterns that no training batch has and on which the model is validated, drawn per seed; 0: validation "
          "uses every pattern once, or an even grid of one number, or fresh draws"},
         held_out, between(0.0, 0.9));
  v.real({"label_noise", "probability that a training label is another class, drawn evenly"}, label_noise, between(0.0, 1.0));
  v.real({"noise", "standard deviation of Gaussian noise added to every training target"}, noise, at_least(0.0));
  v.real({"jitter", "standard deviation of Gaussian noise added to every number that the network sees, in training and validation"}, jitter,
         at_least(0.0));
  const std::string named = resolve_task_name(*this);
  v.require(named.empty(), "name", named, {"inputs", "features", "label", "target"});
  if (!named.empty()) return;
  const FunctionProblem problem = check_function(*this);
  v.require(problem.message.empty(), problem.key, problem.message, {"inputs", "features", "label", "target"});
}

void SequenceConfig::describe(FieldVisitor& v) {
  v.text({"name", "name of a task in `ffn-train list tasks`, in place of tokens, label and scored; together with them, their label"}, name);
  v.integer({"alphabet", "number of different tokens; they are drawn evenly"}, alphabet, between(std::int64_t{2}, 65536));
  v.integer({"length", "positions T of a sequence; validation draws new sequences"}, length, between(std::int64_t{2}, 4096));
  v.text(
      {"tokens",
       "formula of the token at position t, of random whole numbers r below 2^24; such as \"where(t % 2 == 0, r[t] % 4, 4 + r[t] % 4)\", "
       "which alternates two kinds. Empty: every token is drawn evenly from the alphabet"},
      tokens);
  v.text({"label",
          "formula of the class at position t, counted from 0: s[t-1] is the token before, length is T; such as \"s[t-1] ^ s[t-2]\" or "
          "\"(s[t] + s[0]) % 5\". f[k] is a random whole number below 2^24 for token k, the same in all sequences "
          "of a run: \"f[s[t]] % 4\" is learned by heart. Where it reads outside the sequence, or is undefined, a position is not scored"},
         label);
  v.text({"scored", "formula of whether a position is scored, such as \"t >= length / 2\"; all where it is empty"}, scored);
  const std::string named = resolve_task_name(*this);
  v.require(named.empty(), "name", named, {"tokens", "label", "scored"});
  if (!named.empty()) return;
  const FunctionProblem problem = check_sequence(*this);
  v.require(problem.message.empty(), problem.key, problem.message, {"alphabet", "length", "tokens", "label", "scored"});
}

void FactsConfig::describe(FieldVisitor& v) {
  v.integer({"facts", "number of keys N; each is a token, a sequence of length 1"}, facts, between(std::int64_t{2}, 1 << 20));
  v.integer({"values", "number of values V; each fact's is drawn evenly, anew per seed, the same for all variants"}, values,
            between(std::int64_t{2}, 65536));
  v.optional_integer(
      {"draws",
       "train on so many facts, drawn with repetition by the seed: what is never drawn cannot be known, as in the memorization task of "
       "MAD (Poli et al. 2024, arXiv:2403.17844; 4096 draws of 128 to 4096 facts). None: every fact once an epoch"},
      draws, between(std::int64_t{1}, 1 << 24));
}

namespace {

bool are_texts(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& item) { return item.is_string(); });
}

}  // namespace

void TableConfig::describe(FieldVisitor& v) {
  v.path({"file", "table in UTF-8, separated by commas, semicolons or tabs, as RFC 4180 has it; its first line names the columns"}, file);
  v.text({"label", "column of the class to predict; its values in sorted order are the classes"}, label);
  v.text({"target",
          "column of the number to predict, standardised likewise: val/loss is in squared standard deviations of the training targets, "
          "val/rmse in the column's unit. Set label or target"},
         target);
  v.json({"columns", "names of the columns, in order, of a file without a line of names"}, *columns, Shape::list);
  v.json({"types",
          "column → \"number\" or \"category\"; otherwise a column of which every cell is a number has "
          "numbers, one of which nine tenths are is refused, any other has categories"},
         *types, Shape::object);
  v.json({"ignore", "columns to leave out"}, *ignore, Shape::list);
  v.text(
      {"split",
       "which rows are held out for validation: per_seed: a random draw per seed, the same for all variants: verdicts are about rows like "
       "these; fixed: one random draw for all seeds: verdicts are about this test set; or a column whose cells say train or validation"},
      split);
  v.optional_real({"validation_fraction", "fraction of the rows that a random draw holds out; default 0.2"}, validation_fraction,
                  between(0.01, 0.9));
  v.choice({"missing", "rows with a missing cell: empty, or a word such as NA"}, missing,
           {{"refuse", "an error counts them"},
            {"drop_rows", "are left out"},
            {"mean",
             "stay: a missing number is the mean of the training rows, and a column of its own says where; a missing category is one "
             "more value. Rows without the column to predict are left out"}});
  v.require(!file.empty(), "file", "no table given; set task.file to a CSV or TSV file");
  v.require(label.empty() != target.empty(), "label",
            label.empty() ? "set either label (a column of classes) or target (a column of numbers)"
                          : "set label or target, not both; an empty one is not set",
            {"target"});
  v.require(are_texts(*columns), "columns", "expected names of columns");
  v.require(are_texts(*ignore), "ignore", "expected names of columns");
  for (const auto& [column, type] : types->items())
    v.require(type == "number" || type == "category", "types", column + ": expected \"number\" or \"category\", got " + shortened(type));
  v.require(is_drawn() || !validation_fraction, "validation_fraction",
            "split (" + split + ") is a column, which says which rows are held out; leave validation_fraction out", {"split"});
  v.require(!split.empty(), "split", "expected per_seed, fixed or the name of a column");
}

void ImagesConfig::describe(FieldVisitor& v) {
  v.path(
      {"directory",
       "directory with train-images-idx3-ubyte, train-labels-idx1-ubyte, and t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, on which "
       "is validated; also with .gz. Debian's package dataset-fashion-mnist has such files"},
      directory);
  v.optional_integer({"examples", "so many training images, drawn anew for each seed; all if not set"}, examples,
                     at_least(std::int64_t{1}));
  v.require(!directory.empty(), "directory", "no images given; set task.directory to a directory with MNIST's four files");
}

Target target_of(const TableConfig& task) { return task.target.empty() ? Target::classes : Target::vectors; }

Target target_of(const FunctionConfig& task) { return task.target.empty() ? Target::classes : Target::vectors; }

template <class Config>
Target target_of(const Config& /*task*/) {
  return Config::kTarget;
}

namespace {

struct WhyNotTied {
  std::string operator()(const TextConfig&) const { return ""; }
  std::string operator()(const SequenceXorConfig&) const { return ""; }  // bits in, bits out
  std::string operator()(const FactsConfig& c) const { return of(c.facts, c.values); }
  std::string operator()(const SequenceConfig& c) const {
    return check_sequence(c).message.empty() ? of(c.alphabet, sequence_task(c).classes) : "";
  }
  template <class Config>
  std::string operator()(const Config&) const {
    return "its inputs are vectors, which have no embedding";
  }
  static std::string of(std::int64_t tokens, std::int64_t classes) {
    return tokens == classes ? "" : "it has " + std::to_string(tokens) + " tokens and " + std::to_string(classes) + " classes";
  }
};

}  // namespace

std::string why_not_tied(const TaskConfig& task) { return std::visit(WhyNotTied{}, task); }

Target target_of(const TaskConfig& task) {
  return std::visit([](const auto& c) { return target_of(c); }, task);
}

bool has_tokens(const TaskConfig& task) {
  return writes_text(task) || std::holds_alternative<SequenceXorConfig>(task) || std::holds_alternative<SequenceConfig>(task) ||
         std::holds_alternative<FactsConfig>(task);
}

std::int64_t positions_of(const TaskConfig& task) {
  if (const auto* text = std::get_if<TextConfig>(&task)) return text->context;
  if (const auto* bits = std::get_if<SequenceXorConfig>(&task)) return bits->length;
  const auto* sequence = std::get_if<SequenceConfig>(&task);
  return sequence ? sequence->length : 1;
}

}  // namespace ffn
