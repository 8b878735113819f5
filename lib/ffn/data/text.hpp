// Next-character prediction on a text.
#pragma once

#include "ffn/data/corpus.hpp"
#include "ffn/data/task.hpp"

namespace ffn {

/// Reads the text.
TaskShape shape_of(const TextConfig& config);

class TextTask final : public Task {
 public:
  TextTask(const TextConfig& config, std::vector<DataSeeds> seeds);
  TaskShape shape() const override;
  /// Windows at random places outside the held-out part; labels: the same moved by one token.
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  DrawnBatches drawn_batches() const override;
  /// Windows side by side over the held-out part, evenly spread when there are more than asked for. One set for all runs unless each seed
  /// has its own part.
  ExampleSet validation(std::int64_t max_examples) const override;
  std::string data_hash() const override { return corpus_->sha256; }
  std::optional<double> compressed(std::size_t run) const override;
  /// "alphabet": the characters in the order of their ids, as UTF-8, or kBytesAlphabet.
  std::map<std::string, std::string> metadata(std::size_t run) const override;

 private:
  DrawnWindows::Run windows_of(std::size_t run) const;
  void write_window(std::size_t start, std::int64_t* inputs, std::int64_t* labels) const;

  TextConfig config_;
  std::shared_ptr<const TextCorpus> corpus_;
  std::vector<HeldOut> held_out_;  ///< (R)
};

}  // namespace ffn
