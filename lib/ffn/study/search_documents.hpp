// The studies that a search trains: for each task a round of a race, the judgement, and the larger sizes.
#pragma once

#include <functional>

#include "ffn/config/study_config.hpp"
#include "ffn/study/search_layers.hpp"

namespace ffn {

/// A config on which layers are trained.
struct SearchTask {
  std::string written, name;
  bool is_seen;  ///< layers race on it
  Document document;
  double rate, expansion;
  std::int64_t d_model, steps;
};

/// Reads a config with the changes behind its name.
using LoadTask = std::function<Document(const std::string& task)>;

class SearchDocuments {
 public:
  /// Throws ConfigError and UsageError for tasks that cannot be trained, and for too few seeds. The search and its layers have to outlive
  /// it.
  SearchDocuments(const LayerSearch& search, const LoadTask& load, const SearchedLayers& layers);

  /// Round r of a generation's race: in the first one all rates, then the best of each layer and task; seeds that no earlier round had.
  Document race(const SearchTask& task, const std::vector<std::size_t>& batch, std::size_t generation, std::size_t round) const;
  Document judgement(const SearchTask& task, const std::vector<std::size_t>& judged) const;
  Document sizes(const SearchTask& task, const std::vector<std::size_t>& better) const;
  Study read(const Document& document) const;

  /// The layer as model.ffn of a task has it.
  Json ffn_of(const SearchTask& task, std::size_t layer) const;

  std::vector<SearchTask> tasks;  ///< those that layers race on come first

 private:
  void add_task(const Json& written, bool is_seen, const LoadTask& load);
  void refuse_few_seeds() const;
  double alpha_of_task() const;

  const std::string& name_;
  const SearchConfig& config_;
  const SearchedLayers& layers_;
};

}  // namespace ffn
