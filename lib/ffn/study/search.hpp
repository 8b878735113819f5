// A search over layers: races propose, fresh seeds and unseen tasks judge. Each race and each judgement is a study of its own below the
// search's directory, and what comes next follows from their results alone: so the same command resumes it, and several processes share it.
#pragma once

#include <functional>
#include <limits>

#include "ffn/config/search_config.hpp"
#include "ffn/study/train_study.hpp"

namespace ffn {

struct SearchRequest {
  StudyRequest study;                                     ///< of each study; `out` is where the search's directory is
  std::function<Document(const std::string& task)> load;  ///< a config with the changes behind its name
};

/// How far the races have come.
struct RaceProgress {
  std::size_t generation, layers, to_judge;  ///< so far: generations that ended, layers that raced, layers that ended a race
  std::string best;                          ///< of these the one with the best mean rank
  double share;                              ///< of the budget
};

class SearchObserver {
 public:
  virtual ~SearchObserver() = default;
  virtual StudyObserver& races() = 0;
  virtual StudyObserver& judgement() = 0;
  virtual void raced(const RaceProgress&) {}
};

struct SearchOutcome {
  JsonValue document;       ///< what was found, as search.json; null where it was interrupted or runs failed
  StudyOutcome unfinished;  ///< of the study that stopped it
};

inline constexpr const char *kSearchFile = "search.json", *kRaces = "races", *kJudgement = "judgement", *kSizes = "sizes";

/// Throws ConfigError and UsageError for tasks and layers that cannot be trained, before anything is.
SearchOutcome run_search(const LayerSearch& search, const SearchRequest& request, SearchObserver& observer);

/// The study of the first round of the first race on the first task, and how many runs a generation and the judgement have at most.
struct SearchPlan {
  std::vector<Study> first_round;  ///< on each task
  std::vector<Study> judgement;    ///< likewise and on unseen ones, with as many layers as may be judged
  std::size_t layers = 0;          ///< of the first generation
};
SearchPlan plan_search(const LayerSearch& search, const SearchRequest& request);

}  // namespace ffn
