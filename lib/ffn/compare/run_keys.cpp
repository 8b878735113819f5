#include "ffn/compare/run_keys.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <tuple>

#include "ffn/base/error.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/shown_names.hpp"

namespace ffn {

namespace {

const std::string kAbsent = "-";  // a key that a run's kind does not have

std::size_t num_values(const std::vector<FoundRun>& runs, const std::string& key) {
  std::set<std::string> values;
  for (const auto& run : runs) values.insert(value_of(run, key));
  return values.size();
}

// A kind brings keys of its own along, not they it.
bool all_have(const std::vector<FoundRun>& runs, const std::string& key) {
  return std::all_of(runs.begin(), runs.end(), [&](const FoundRun& run) { return run.keys.count(key) > 0; });
}

// Names have keys in the order in which the study writes them; behind all those that its name does not have.
std::size_t place_in_name(const FoundRun& run, const std::string& key) {
  const std::string end = "." + key;
  const auto parts = parts_of_variant(run.variant);
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) {
    std::string name = "." + part.first;  // "heads", "model-ffn-kind"
    std::replace(name.begin(), name.end(), '-', '.');
    return end.size() >= name.size() && end.compare(end.size() - name.size(), std::string::npos, name) == 0;
  });
  return static_cast<std::size_t>(found - parts.begin());
}

}  // namespace

const std::string& value_of(const FoundRun& run, const std::string& key) {
  if (key == "variant") return run.variant;
  const auto found = run.keys.find(key);
  return found == run.keys.end() ? kAbsent : found->second;
}

std::vector<std::string> varying_keys(const std::vector<FoundRun>& runs) {
  if (runs.empty()) return {};
  std::set<std::string> varying;
  const auto& first = runs[0].keys;
  for (const auto& run : runs) {
    // Both are sorted: one pass tells where they differ.
    auto a = first.begin(), b = run.keys.begin();
    while (a != first.end() || b != run.keys.end()) {
      const int order = a == first.end() ? 1 : b == run.keys.end() ? -1 : a->first.compare(b->first);
      if (order != 0 || a->second != b->second) varying.insert(order <= 0 ? a->first : b->first);
      if (order <= 0) ++a;
      if (order >= 0) ++b;
    }
  }
  return {varying.begin(), varying.end()};
}

bool determines(const std::vector<FoundRun>& runs, const std::string& given, const std::string& key) {
  std::map<std::string, std::string> seen;
  for (const auto& run : runs) {
    if (seen.insert({value_of(run, given), value_of(run, key)}).first->second != value_of(run, key)) return false;
  }
  return true;
}

std::vector<std::string> facet_keys(const std::vector<FoundRun>& runs, std::vector<std::string> varying, const std::string& by,
                                    const std::string& first) {
  const auto rank = [&](const std::string& key) {
    return std::tuple(key != first, -static_cast<int>(num_values(runs, key)), !all_have(runs, key));
  };
  std::stable_sort(varying.begin(), varying.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::vector<std::string> out;
  for (const auto& key : varying) {
    const bool known = key == by || determines(runs, by, key) ||
                       std::any_of(out.begin(), out.end(), [&](const auto& kept) { return determines(runs, kept, key); });
    if (known) continue;
    std::string named = key;
    for (const auto& other : varying) {
      const bool is_together =
          key != first && all_have(runs, other) == all_have(runs, key) && determines(runs, key, other) && determines(runs, other, key);
      if (is_together && place_in_name(runs[0], other) < place_in_name(runs[0], named)) named = other;
    }
    out.push_back(named);
  }
  return out;
}

std::string pick_by(const std::string& asked, const std::vector<FoundRun>& runs, const std::vector<std::string>& varying) {
  if (!asked.empty()) {
    for (const auto& run : runs) {
      if (asked == "variant" || run.keys.count(asked)) return asked;
    }
    const bool section = std::any_of(runs.begin(), runs.end(), [&](const FoundRun& run) {
      const auto inside = run.keys.lower_bound(asked + ".");
      return inside != run.keys.end() && inside->first.rfind(asked + ".", 0) == 0;
    });
    if (section)
      throw UsageError("\"" + asked + "\" is a section, not a key whose values can be compared",
                       "compare by one of the keys that vary here (" + join(varying) + "), or by the names of the variants: variant");
    std::string end = "." + asked;  // as tables head it: "kind", "norm kind"
    std::replace(end.begin(), end.end(), ' ', '.');
    const auto ends = [&](const std::string& key) {
      return key.size() > end.size() && key.compare(key.size() - end.size(), std::string::npos, end) == 0;
    };
    std::vector<std::string> meant;
    std::copy_if(varying.begin(), varying.end(), std::back_inserter(meant), ends);
    if (meant.size() == 1) return meant[0];
    if (meant.size() > 1)
      throw UsageError("\"" + asked + "\" is the end of several keys that vary here", "name one of them: " + join(meant));
    throw UsageError("no run has a key \"" + asked + "\"" + did_you_mean(asked, varying), "keys that vary here: " + join(varying));
  }
  if (varying.empty()) return runs.at(0).keys.count("engine.command") > 0 ? "variant" : "model.ffn.activation";
  const auto first = std::find_if(varying.begin(), varying.end(), [&](const std::string& key) { return all_have(runs, key); });
  return first == varying.end() ? varying[0] : *first;
}

std::vector<std::string> ordered_values(const std::vector<FoundRun>& runs, const std::string& by, bool in_given_order) {
  std::vector<std::string> values;
  std::set<std::string> seen;
  for (const auto& run : runs) {
    if (seen.insert(value_of(run, by)).second) values.push_back(value_of(run, by));
  }
  const auto number = [](const std::string& text) {
    char* end = nullptr;
    const double x = std::strtod(text.c_str(), &end);
    return end && *end == '\0' && !text.empty() ? std::optional<double>(x) : std::nullopt;
  };
  const bool numeric = std::all_of(values.begin(), values.end(), [&](const auto& v) { return number(v).has_value(); });
  if (numeric && !in_given_order)
    std::sort(values.begin(), values.end(), [&](const auto& x, const auto& y) { return *number(x) < *number(y); });
  return values;
}

bool is_computing(const std::string& key) { return key.rfind("compute.", 0) == 0; }

std::vector<FoundRun> without_computing(std::vector<FoundRun> runs, const std::string& by) {
  if (is_computing(by)) return runs;
  for (auto& run : runs) {
    for (auto at = run.keys.begin(); at != run.keys.end();) at = is_computing(at->first) ? run.keys.erase(at) : std::next(at);
  }
  return runs;
}

std::vector<FoundRun> with_formulas_by_name(std::vector<FoundRun> runs) {
  for (const std::string layer : {"model.ffn.", "model.ffn.expert."}) {
    const auto is_part = [&](const std::string& key) {
      for (const char* part : {"formula", "parameters", "let", "init"}) {
        const std::string whole = layer + part;
        if (key == whole || key.rfind(whole + ".", 0) == 0) return true;
      }
      return false;
    };
    const auto name_of = [&](const FoundRun& run) {
      const auto name = run.keys.find(layer + "name");
      return name == run.keys.end() ? std::string() : name->second;
    };
    std::map<std::string, Keys> parts;  // by name
    bool by_name = true;
    for (const auto& run : runs) {
      if (name_of(run).empty()) continue;
      Keys own;
      std::copy_if(run.keys.begin(), run.keys.end(), std::inserter(own, own.end()), [&](const auto& key) { return is_part(key.first); });
      by_name = by_name && parts.insert({name_of(run), own}).first->second == own;
    }
    if (!by_name) continue;
    for (auto& run : runs) {
      if (name_of(run).empty()) continue;
      for (auto at = run.keys.begin(); at != run.keys.end();) at = is_part(at->first) ? run.keys.erase(at) : std::next(at);
    }
  }
  return runs;
}

namespace {

// ": match=none and match=params come to the same config".
std::string same_text(const std::set<std::pair<std::string, std::string>>& same) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> pairs;
  for (const auto& [a, b] : same) {
    if (pairs.size() < kMostNamed) pairs.push_back(a + " and " + b);
  }
  if (pairs.empty()) return "";
  const std::size_t more = same.size() - pairs.size();
  return ": " + join(pairs, "; ") + (more > 0 ? "; and " + std::to_string(more) + " more" : "") +
         (same.size() == 1 ? " come to the same config" : " come to the same config each");
}

}  // namespace

std::vector<FoundRun> without_copies(std::vector<FoundRun> runs, const std::string& by, Comparison& c) {
  std::vector<FoundRun> out;
  out.reserve(runs.size());
  std::map<std::string, std::string> seen;             // identity → variant
  std::set<std::pair<std::string, std::string>> same;  // variants of one identity
  for (auto& run : runs) {
    const std::string computing = is_computing(by) || by == "variant" ? " " + value_of(run, by) : "";
    if (!is_over(run) || run.identity.empty()) {
      out.push_back(std::move(run));
      continue;
    }
    const auto [first, is_new] = seen.insert({run.identity + computing, run.variant});
    if (!is_new && first->second != run.variant) same.insert({first->second, run.variant});
    if (is_new) out.push_back(std::move(run));
  }
  if (const std::size_t copies = runs.size() - out.size(); copies > 0)
    add_note(note::kCopies,
             {std::to_string(copies) + (copies == 1 ? " run was" : " runs were"), copies == 1 ? "is" : "are", same_text(same)}, c);
  // Failed runs have no summary; one of the same variant tells what a token costs.
  std::map<Keys, std::int64_t> known;
  for (const auto& run : out) {
    if (run.flops_per_token > 0) known[run.keys] = run.flops_per_token;
  }
  for (auto& run : out) {
    const auto of_keys = run.flops_per_token == 0 ? known.find(run.keys) : known.end();
    if (of_keys != known.end()) run.flops_per_token = of_keys->second;
  }
  return out;
}

double held_out_per_training(const std::vector<FoundRun>& runs) {
  double most = 0;
  for (const auto& run : runs) {
    if (value_of(run, "task.kind") != TableConfig::kKind) continue;
    TableConfig table;
    table.split = value_of(run, "task.split");
    if (const double held_out = std::strtod(value_of(run, "task.validation_fraction").c_str(), nullptr); held_out > 0)
      table.validation_fraction = held_out;
    most = std::max(most, table.held_out_per_training());
  }
  return most;
}

bool is_over(const FoundRun& run) {
  return run.state == RunState::done || run.state == RunState::diverged || run.state == RunState::failed;
}

std::string values_along(const std::vector<FoundRun>& runs, const std::string& key, const std::string& other) {
  std::map<std::string, std::vector<std::string>> with;
  for (const auto& run : runs) {
    auto& there = with[value_of(run, other)];
    if (std::find(there.begin(), there.end(), value_of(run, key)) == there.end()) there.push_back(value_of(run, key));
  }
  std::vector<std::string> parts;
  for (const auto& value : ordered_values(runs, other)) parts.push_back(join(with[value], " and ") + ": " + value);
  return join(parts);
}

}  // namespace ffn
