#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"

namespace ffn {

namespace {

// The value that all runs have; empty where they differ, or have none.
std::string shared(const Comparison& c, const std::string& key) {
  const auto found = c.shared.find(key);
  return found == c.shared.end() || found->second == "null" ? "" : found->second;
}

std::string counted_steps(const Comparison& c) {
  const std::string steps = shared(c, "train.steps");
  return steps.empty() ? "" : format_counted(static_cast<std::size_t>(std::strtod(steps.c_str(), nullptr)), "step");
}

std::string task_name(const Comparison& c) {
  const std::string kind = shared(c, "task.kind"), bits = shared(c, "task.bits");
  if (kind == "xor") return "XOR" + (bits.empty() ? "" : " of " + bits + " bits");
  const std::string path = shared(c, "task.file") + shared(c, "task.directory");
  if (!path.empty()) return path.substr(path.rfind('/') + 1);
  for (const char* key : {"task.name", "task.label", "task.target"}) {
    if (const std::string text = shared(c, key); !text.empty()) return text;
  }
  return kind;
}

std::string until(const Comparison& c) {
  const std::string metric = shared(c, "train.target.metric");
  const std::string least = shared(c, "train.target.at_least"), most = shared(c, "train.target.at_most");
  if (!is_time_metric(c.metric) || metric.empty() || (least + most).empty()) return "";
  return "until " + metric.substr(metric.rfind("val/", 0) == 0 ? 4 : 0) + (least.empty() ? " ≤ " + most : " ≥ " + least);
}

std::string parameters(const Comparison& c) {
  std::int64_t least = INT64_MAX, most = 0;
  for_each_group(c, [&](const Facet&, const GroupResult& group) {
    if (group.parameters > 0) least = std::min(least, group.parameters);
    most = std::max(most, group.parameters);
  });
  return most == 0 ? "" : (least < most ? format_count(least) + " to " : "") + format_count(most) + " parameters";
}

std::string optimizer(const Comparison& c) {
  std::string kind = shared(c, "train.optimizer.kind"), rate = shared(c, "train.optimizer.lr");
  if (!kind.empty()) kind[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(kind[0])));
  if (kind.empty() && !rate.empty()) kind = "lr";
  return (kind == "Adamw" ? "AdamW" : kind == "Sgd" ? "SGD" : kind) + (rate.empty() ? "" : " " + rate);
}

}  // namespace

std::string conditions_text(const Comparison& c) {
  const std::string d_model = shared(c, "model.d_model"), held = shared(c, "model.match_expansion");
  const std::string size = held.empty() ? "" : "size of expansion " + held + " at ";
  std::vector<std::string> parts = {task_name(c),  until(c),     d_model.empty() ? "" : size + "d_model " + d_model,
                                    parameters(c), optimizer(c), counted_steps(c)};
  parts.erase(std::remove(parts.begin(), parts.end(), ""), parts.end());
  return join(parts, " · ");
}

std::string after_steps(const Comparison& c) {
  const bool may_end_early = shared(c, "train.target.stop") == "true" || shared(c, "train.target.patience").find_first_not_of('0') == 0;
  return may_end_early || is_time_metric(c.metric) || counted_steps(c).empty() ? "" : " after " + counted_steps(c);
}

}  // namespace ffn
