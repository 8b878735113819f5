#include "ffn/compare/later_target.hpp"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/compare/outcomes.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/config/json_reader.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/metrics_file.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/train/meets_target.hpp"

namespace ffn {

TargetConfig read_target(const std::string& text) {
  const auto at = text.find_first_of("<>");
  const char* end = nullptr;
  double bound = 0;
  if (at != std::string::npos && text.compare(at + 1, 1, "=") == 0)
    bound = std::strtod(end = text.c_str() + at + 2, const_cast<char**>(&end));
  if (!end || !std::isfinite(bound) || *end != '\0' || end == text.c_str() + at + 2)
    throw UsageError("--target " + text + " is no target", "write METRIC<=VALUE or METRIC>=VALUE in quotes, such as 'val/loss<=0.01'");
  Document document;
  document.tree() = {{"metric", text.substr(0, at)}, {text[at] == '<' ? "at_most" : "at_least", bound}};
  TargetConfig target;
  JsonReader reader(document);
  reader.read([&](FieldVisitor& v) { target.describe(v); });
  if (!reader.problems.empty()) throw UsageError("--target " + text + ": " + reader.problems[0].message);
  return target;
}

namespace {

// The first evaluation of the run's curve that meets the target.
std::optional<Hit> hit_on_curve(const TargetConfig& target, const std::string& text, const FoundRun& run) {
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    throw UsageError("when " + run.path.string() + " reached " + text + " is not known: " + why, remedy);
  };
  const auto path = RunDirectory(run.path).metrics_path();
  const auto facts = run.summary->files.find(path.filename().string());
  if (facts == run.summary->files.end()) refuse("it kept no curve (keep: summary)", "train it with keep=all under another name");
  if (run.state == RunState::done && !run.summary->find(target.metric))
    refuse("it did not log " + target.metric, "`ffn-train curves` shows which metrics there are");
  std::optional<Hit> hit;
  for_each_evaluation(read_metrics_up_to(path, facts->second), path, [&](const Evaluation& evaluation) {
    if (!hit && meets_target(target, evaluation)) hit = Hit{evaluation.step, evaluation.time_s, evaluation.tokens};
  });
  if (!hit && stops_at_hit(run) && run.state == RunState::done && run.summary->steps < run.budget_steps)
    refuse("it ended before, at step " + std::to_string(run.summary->steps) + ", with its own target (train.target.stop)",
           "train with train.target.stop=false, or with this target");
  return hit;
}

}  // namespace

void apply_target(const TargetConfig& target, const std::string& text, std::vector<FoundRun>& runs) {
  const auto keys = flat_keys({{"train", {{"target", write_json(target)}}}});
  for (auto& run : runs) {
    if (run.summary) run.summary->hit = hit_on_curve(target, text, run);
    run.own_target = target_text(run);
    for (auto at = run.keys.lower_bound("train.target"); at != run.keys.end() && at->first.rfind("train.target", 0) == 0;)
      at = run.keys.erase(at);
    run.keys.insert(keys.begin(), keys.end());
  }
}

}  // namespace ffn
