#include "ffn/compare/shown_names.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "ffn/base/text.hpp"
#include "ffn/compare/run_keys.hpp"

namespace ffn {

namespace {

using Names = std::map<std::string, std::string>;

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// "" of a key without a section.
std::string section_of(const std::string& key) { return key.rfind('.') == std::string::npos ? "" : key.substr(0, key.rfind('.')); }

bool has_section(const FoundRun& run, const std::string& section) {
  const auto inside = run.keys.lower_bound(section + ".");
  return inside != run.keys.end() && inside->first.rfind(section + ".", 0) == 0;
}

// The one text that all runs with this value have; "" where there is none.
template <class Text>
std::string common_text(const std::vector<const FoundRun*>& runs, const Text& text_of) {
  std::set<std::string> texts;
  for (const auto* run : runs) texts.insert(text_of(*run));
  return texts.size() == 1 ? *texts.begin() : "";
}

std::string formula_name(const std::vector<const FoundRun*>& runs, const std::string& key, const std::string& value) {
  const std::string part = last_part(key);
  if (part != "formula" && !(part == "kind" && value == "formula")) return "";
  const std::string name = common_text(runs, [&](const FoundRun& run) { return value_of(run, section_of(key) + ".name"); });
  return name == "-" ? "" : name;
}

// "no attention" for scores where there is none; of the section's own key that, and its name where there is one.
std::string absent_name(const std::vector<const FoundRun*>& runs, const std::string& key, const std::string& value) {
  const auto all_have = [&](const std::string& section) {
    return std::all_of(runs.begin(), runs.end(), [&](const FoundRun* run) { return has_section(*run, section); });
  };
  const auto none_has = [&](const std::string& section) {
    return std::none_of(runs.begin(), runs.end(), [&](const FoundRun* run) { return has_section(*run, section); });
  };
  if (value == "null") return "no " + last_part(key);
  if (value == "none") {
    const std::string part = last_part(key) == "kind" ? last_part(section_of(key)) : last_part(key);
    return "no " + (part == "ffn" ? "FFN" : part);
  }
  if (value != "-") return "";
  if (all_have(key)) return last_part(key);
  return !section_of(key).empty() && none_has(section_of(key)) ? "no " + last_part(section_of(key)) : "";
}

// Variants that all name the same keys are told apart by the values: "kind=gated+activation=silu" is "gated silu".
Names names_of_variants(const std::map<std::string, std::vector<const FoundRun*>>& by_value) {
  Names out;
  std::vector<std::string> keys;
  for (const auto& [name, runs] : by_value) {
    std::vector<std::string> own, values;
    for (const auto& [key, value] : parts_of_variant(name)) {
      own.push_back(key);
      values.push_back(value);
    }
    if (own.empty() || (!keys.empty() && own != keys)) return {};
    keys = std::move(own);
    out[name] = join(values, " ");
  }
  return out;
}

// A name that ends in a hash, as of layers that are spelt alike, says less than what varies: "expansion 2", "d_ff 2".
void name_without_hashes(const std::vector<FoundRun>& runs, const std::map<std::string, std::vector<const FoundRun*>>& by_value,
                         Names& names) {
  constexpr std::size_t kHash = 9;
  const auto varying = varying_keys(runs);
  for (const auto& [name, with] : by_value) {
    const bool has_hash = name.size() > kHash && name[name.size() - kHash] == '-' &&
                          name.find_first_not_of("0123456789abcdef", name.size() - kHash + 1) == std::string::npos;
    std::vector<std::string> parts;
    for (const auto& key : varying) {
      const std::string value = common_text(with, [&, key = key](const FoundRun& run) { return value_of(run, key); });
      if (has_hash && !value.empty() && value != "-") parts.push_back(short_name(key, varying) + " " + value);
    }
    if (!parts.empty()) names[name] = join(parts);
  }
}

Names names_of_values(const std::vector<FoundRun>& runs, const std::string& key, bool is_by) {
  std::map<std::string, std::vector<const FoundRun*>> by_value;
  for (const auto& run : runs) by_value[value_of(run, key)].push_back(&run);
  Names out = key == "variant" ? names_of_variants(by_value) : Names();
  if (key == "variant") name_without_hashes(runs, by_value, out);
  for (const auto& [value, with] : by_value) {
    for (const auto& name : {is_by ? common_text(with, [](const FoundRun& run) { return run.label; }) : "", formula_name(with, key, value),
                             absent_name(with, key, value), key == "task.file" ? value.substr(value.rfind('/') + 1) : ""}) {
      if (name.empty()) continue;
      out[value] = name;
      break;
    }
  }
  // One name for two values names neither.
  std::map<std::string, std::size_t> uses;
  for (const auto& [value, with] : by_value) ++uses[out.count(value) ? out.at(value) : value];
  for (auto at = out.begin(); at != out.end();) at = uses.at(at->second) > 1 || at->second == at->first ? out.erase(at) : std::next(at);
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parts_of_variant(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, '+');) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) return {};
    parts.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return parts;
}

std::string short_name(const std::string& key, const std::vector<std::string>& among) {
  std::size_t from = key.rfind('.');
  const auto is_shared = [&](const std::string& end) {
    return std::any_of(among.begin(), among.end(), [&](const std::string& other) {
      return other != key && other.size() + 1 >= end.size() &&
             ("." + other).compare(other.size() + 1 - end.size(), std::string::npos, end) == 0;
    });
  };
  while (from != std::string::npos && is_shared(key.substr(from))) from = from == 0 ? std::string::npos : key.rfind('.', from - 1);
  std::string name = from == std::string::npos ? key : key.substr(from + 1);
  std::replace(name.begin(), name.end(), '.', ' ');
  return name;
}

void name_keys_and_values(const std::vector<FoundRun>& runs, const std::vector<std::string>& facet_by, Comparison& out) {
  std::vector<std::string> keys = facet_by;
  keys.push_back(out.by);
  for (const auto& key : keys) {
    out.key_names[key] = short_name(key, keys);
    out.value_names[key] = names_of_values(runs, key, key == out.by);
  }
}

std::string shown_key(const Comparison& c, const std::string& key) {
  const auto name = c.key_names.find(key);
  return name == c.key_names.end() ? last_part(key) : name->second;
}

std::string shown_value(const Comparison& c, const std::string& key, const std::string& value) {
  const auto names = c.value_names.find(key);
  if (names == c.value_names.end()) return value;
  const auto name = names->second.find(value);
  return name == names->second.end() ? value : name->second;
}

std::string shown_value(const Comparison& c, const std::string& value) { return shown_value(c, c.by, value); }

std::string key_and_value(const Comparison& c, const std::string& key, const std::string& value) {
  const std::string shown = shown_value(c, key, value);
  return shown == value ? shown_key(c, key) + " " + value : shown;
}

std::string facet_title(const Comparison& c, const Facet& facet, const std::string& without) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : facet.keys) {
    if (key != without) parts.push_back(key_and_value(c, key, value));
  }
  return join(parts);
}

}  // namespace ffn
