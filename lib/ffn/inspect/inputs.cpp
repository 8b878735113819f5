#include "ffn/inspect/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/text.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/data/table.hpp"
#include "ffn/data/task.hpp"
#include "ffn/report/format.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/trained.hpp"

namespace ffn::inspect {

cpu::Examples Inputs::examples(std::int64_t first, std::int64_t of) const {
  cpu::Examples out{of, length};
  if (shape.tokens) out.tokens = tokens.data() + first * length;
  else out.vectors = vectors.data() + first * shape.input_width;
  return out;
}

std::string visible(const std::string& character) {
  return character == " " ? "␣" : character == "\n" ? "⏎" : character == "\t" ? "⇥" : with_codes(character);
}

std::string Inputs::class_name(std::int64_t index) const {
  if (shape.target == Target::vectors) return "output " + std::to_string(index);
  if (!classes.empty()) return classes[static_cast<std::size_t>(index)];
  return characters.empty() ? std::to_string(index) : visible(characters[static_cast<std::size_t>(index)]);
}

std::string Inputs::token_name(std::int64_t n) const {
  if (shape.tokens) return class_name(tokens[static_cast<std::size_t>(n)]);
  std::string out;
  for (std::int64_t i = 0; i < shape.input_width; ++i) {
    const float x = vectors[static_cast<std::size_t>(n * shape.input_width + i)];
    out += (out.empty() ? "" : ", ") + std::string(x < 0 ? "−" : "") +
           format_significant(std::abs(static_cast<double>(x)), x == std::trunc(x) ? 1 : 2);
  }
  return "(" + out + ")";
}

namespace {

std::vector<std::string> characters_of(const TensorFile& weights) {
  std::vector<std::string> out;
  for (const auto c : alphabet_of(weights.metadata)) {
    append_utf8(out.emplace_back(), c);
    if (c < 0x80 || !has_bytes_alphabet(weights.metadata)) continue;
    char code[16];
    std::snprintf(code, sizeof code, "\\x%02x", c);
    out.back() = code;
  }
  return out;
}

Inputs empty_inputs(const RunConfig& config, const TensorFile& weights) {
  Inputs out;
  out.shape = trained_shape(config.task, weights.metadata);
  out.length = out.shape.sequence_length;
  if (std::holds_alternative<TableConfig>(config.task)) out.classes = trained_table(weights.metadata).columns.target.values;
  if (writes_text(config.task)) out.characters = characters_of(weights);
  return out;
}

// Windows side by side over a text but for its held-out part, evenly spread where there are more than are wanted. A text shorter than one
// is a window.
template <class Id>
void take_windows(Inputs& to, const std::vector<Id>& text, const HeldOut& held_out, std::int64_t most_tokens, const std::string& which) {
  const auto before = static_cast<std::int64_t>(held_out.begin), after = static_cast<std::int64_t>(text.size() - held_out.end),
             size = before + after;
  to.length = std::min(to.length, size);
  const std::int64_t first = before / to.length, windows = first + after / to.length;
  to.count = std::min(windows, std::max<std::int64_t>(1, most_tokens / to.length));
  for (std::int64_t i = 0; i < to.count; ++i) {
    const std::int64_t window = i * windows / to.count;
    const std::int64_t start = window < first ? window * to.length : static_cast<std::int64_t>(held_out.end) + (window - first) * to.length;
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(start);
    to.tokens.insert(to.tokens.end(), begin, begin + static_cast<std::ptrdiff_t>(to.length));
  }
  to.source = format_count(to.num_tokens()) + (to.count < windows ? " of the " + format_count(size) : "") + " " + which +
              ", in windows of " + format_count(to.length);
}

/// One overload per task that can give its training set better than by drawing batches.
struct TrainingInputs {
  const RunConfig& config;
  const TensorFile& weights;
  std::int64_t most_tokens;

  Inputs operator()(const TextConfig& text) const {
    const std::string hint = "name a text to look at it with: --data FILE";
    if (!path_exists(text.file)) throw DataError("the text that the run was trained on is not there: " + text.file, hint);
    const auto corpus = read_corpus(text);
    if (corpus->alphabet != alphabet_of(weights.metadata))
      throw DataError(text.file + " is not the text that the run was trained on: it has other characters", hint);
    Inputs out = empty_inputs(config, weights);
    take_windows(out, corpus->text, held_out(*corpus, text, data_seeds({config})[0].train), most_tokens,
                 text.alphabet + " of the text that it was trained on");
    return out;
  }

  Inputs operator()(const TableConfig& table) const {
    if (make_task(table, data_seeds({config}))->metadata(0).at("table") != weights.metadata.at("table"))
      throw DataError(table.file + " is not the table that the run was trained on: its columns or rows are others",
                      "put the file back that it was trained on, or train the run again");
    return of_batches();
  }

  template <class AnyTask>
  Inputs operator()(const AnyTask&) const {
    return of_batches();
  }

 private:
  Inputs of_batches() const {
    Inputs drawn = drawn_batches();
    Inputs distinct = each_once(drawn);
    return distinct.count * 2 <= drawn.count ? distinct : drawn;
  }

  // Batches of steps that are spread evenly over the training.
  Inputs drawn_batches() const {
    Inputs out = empty_inputs(config, weights);
    const auto task = make_task(config.task, data_seeds({config}));
    const std::int64_t batch = config.train.batch_size, steps = config.train.steps;
    const std::int64_t batches = std::clamp<std::int64_t>(most_tokens / (batch * out.length), 1, std::max<std::int64_t>(1, steps));
    out.count = batches * batch;
    for (std::int64_t i = 0; i < batches; ++i) {
      const ExampleSet drawn = task->batch(0, i * steps / batches, batch);
      out.tokens.insert(out.tokens.end(), drawn.tokens.begin(), drawn.tokens.end());
      out.vectors.insert(out.vectors.end(), drawn.vectors.begin(), drawn.vectors.end());
    }
    out.source =
        format_count(out.count) + (batches < steps ? " of the " + format_count(steps * batch) : "") + " examples that it was trained on";
    return out;
  }

  template <class T>
  static void keep_distinct(std::vector<T>& values, std::int64_t width, std::int64_t& count) {
    std::map<std::vector<T>, char> seen;
    for (std::int64_t i = 0; i < count; ++i)
      seen[{values.begin() + static_cast<std::ptrdiff_t>(i * width), values.begin() + static_cast<std::ptrdiff_t>((i + 1) * width)}];
    values.clear();
    for (const auto& [example, unused] : seen) values.insert(values.end(), example.begin(), example.end());
    count = static_cast<std::int64_t>(seen.size());
  }

  static Inputs each_once(Inputs inputs) {
    const std::int64_t drawn = inputs.count;
    if (inputs.shape.tokens) keep_distinct(inputs.tokens, inputs.length, inputs.count);
    else keep_distinct(inputs.vectors, inputs.shape.input_width, inputs.count);
    inputs.source =
        "the " + format_count(inputs.count) + " different inputs among " + format_count(drawn) + " training examples, each once";
    return inputs;
  }
};

}  // namespace

Inputs training_inputs(const RunConfig& config, const TensorFile& weights, std::int64_t most_tokens) {
  return std::visit(TrainingInputs{config, weights, most_tokens}, config.task);
}

Inputs text_inputs(const RunConfig& config, const TensorFile& weights, const std::string& file, std::int64_t most_tokens) {
  if (!writes_text(config.task))
    throw UsageError("--data names a text, and this run was not trained on one", "leave it out, or say --data task");
  Inputs out = empty_inputs(config, weights);
  const auto ids = encode(text_of_file(file), weights.metadata, file);
  if (ids.empty()) throw DataError(file + " is empty");
  take_windows(out, ids, {ids.size(), ids.size()}, most_tokens, std::get<TextConfig>(config.task).alphabet + " of " + file);
  return out;
}

namespace {

// "1,-1", or "10" for (1, -1) where inputs are bits.
std::vector<float> typed_vector(const std::string& word, std::int64_t width, bool of_bits) {
  const std::string expected = "expected " + std::to_string(width) + " numbers with commas between them" +
                               (of_bits ? ", or as many digits 0 and 1 for -1 and 1" : "") + "; a blank between inputs";
  std::vector<float> out;
  if (of_bits && word.find_first_not_of("01") == std::string::npos && static_cast<std::int64_t>(word.size()) == width) {
    for (const char c : word) out.push_back(c == '1' ? 1.0f : -1.0f);
    return out;
  }
  std::istringstream parts(word);
  for (std::string part; std::getline(parts, part, ',');) {
    char* end = nullptr;
    out.push_back(std::strtof(part.c_str(), &end));
    if (part.empty() || *end != '\0') throw UsageError("'" + part + "' is not a number", expected);
    if (!std::isfinite(out.back()))
      throw UsageError(
          "'" + part + "' is not finite, or larger than " + format_significant(static_cast<double>(std::numeric_limits<float>::max()), 2),
          expected);
  }
  const bool digits = of_bits && word.size() > 1 && word.find_first_not_of("01") == std::string::npos;
  const std::size_t count = digits ? word.size() : out.size();
  if (static_cast<std::int64_t>(out.size()) != width)
    throw UsageError("the input " + word + " has " + std::to_string(count) + (digits ? " digit" : " number") + (count == 1 ? "" : "s") +
                         ", the network reads " + std::to_string(width),
                     expected);
  return out;
}

// Token ids as digits, "0110", where there are at most ten; with blanks otherwise.
std::vector<std::int64_t> typed_ids(const std::string& typed, std::int64_t vocabulary) {
  std::vector<std::string> words;
  std::istringstream in(typed);
  for (std::string word; in >> word;) words.push_back(word);
  if (words.size() == 1 && vocabulary <= 10) {
    const std::string digits = words[0];
    words.clear();
    for (const char c : digits) words.emplace_back(1, c);
  }
  std::vector<std::int64_t> out;
  for (const auto& word : words) {
    char* end = nullptr;
    out.push_back(std::strtoll(word.c_str(), &end, 10));
    if (*end != '\0' || out.back() < 0 || out.back() >= vocabulary)
      throw UsageError("'" + word + "' is not a token of this task", "expected numbers from 0 to " + std::to_string(vocabulary - 1));
  }
  return out;
}

}  // namespace

Inputs typed_inputs(const RunConfig& config, const TensorFile& weights, const std::string& typed) {
  Inputs out = empty_inputs(config, weights);
  out.source = "what was typed";
  if (!out.shape.tokens) {
    std::istringstream words(typed);
    for (std::string word; words >> word; ++out.count) {
      const auto vector = typed_vector(word, out.shape.input_width, all_bits(config.task));
      out.vectors.insert(out.vectors.end(), vector.begin(), vector.end());
    }
  } else {
    out.tokens = out.characters.empty() ? typed_ids(typed, out.shape.input_width) : encode(typed, weights.metadata, "the text");
    const auto size = static_cast<std::int64_t>(out.tokens.size());
    if (size > out.length)
      throw UsageError(std::to_string(size) + " tokens are more than the network reads at once",
                       "its context is " + std::to_string(out.length));
    out.length = size;
    out.count = size > 0 ? 1 : 0;
  }
  if (out.count == 0)
    throw UsageError(
        "nothing to trace",
        !out.characters.empty() ? "name a text"
        : out.shape.tokens
            ? std::string("name the numbers of tokens, for example ") + (out.shape.input_width <= 10 ? "0110" : "\"0 1 1 0\"")
            : "name an input, for example " + std::string(static_cast<std::size_t>(std::min<std::int64_t>(out.shape.input_width, 8)), '1'));
  return out;
}

}  // namespace ffn::inspect
