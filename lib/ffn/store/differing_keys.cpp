#include "ffn/store/differing_keys.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"

namespace ffn {

namespace {

bool makes_no_other_run(const std::string& key) {
  return key == "$schema" || key == "name" || key == "label" || key == "compute" || key == "log" || key == "train.checkpoint_every";
}

struct Difference {
  const std::function<bool(const std::string&)>& left_out;
  std::vector<std::string> lines = {};

  void compare(const std::string& key, const Json* before, const Json* now) {
    if (makes_no_other_run(key)) return;
    if (before && now && before->is_object() && now->is_object()) return sections(key, *before, *now);
    if (left_out && left_out(key)) return;
    if (before && now && *before == *now) return;
    const auto shown = [](const Json* value) { return value ? shortened(*value) : "not there"; };
    lines.push_back(key + ": " + shown(before) + " → " + shown(now));
  }

  void sections(const std::string& key, const Json& before, const Json& now) {
    const bool same_kind = before.value("kind", Json()) == now.value("kind", Json());
    const auto member = [](const Json& section, const std::string& name) {
      const auto at = section.find(name);
      return at == section.end() ? nullptr : &*at;
    };
    const auto dotted = [&](const std::string& name) { return key.empty() ? name : key + "." + name; };
    for (const auto& item : now.items()) {
      const Json* old = member(before, item.key());
      if (old || same_kind) compare(dotted(item.key()), old, &item.value());
    }
    for (const auto& item : before.items()) {
      if (same_kind && !member(now, item.key())) compare(dotted(item.key()), &item.value(), nullptr);
    }
  }
};

}  // namespace

std::vector<std::string> differing_keys(const Json& before, const Json& now, const std::function<bool(const std::string&)>& left_out) {
  Difference difference{left_out};
  difference.sections("", before, now);
  return std::move(difference.lines);
}

std::string indented(const std::vector<std::string>& lines) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, lines.size()); ++i) text += "\n  " + lines[i];
  if (lines.size() > kShown) text += "\n  and " + std::to_string(lines.size() - kShown) + " more";
  return text;
}

namespace {

void flatten(const Json& value, const std::string& prefix, std::map<std::string, std::string>& out) {
  if (!value.is_object()) {
    const bool whole =
        value.is_number_float() && std::nearbyint(value.get<double>()) == value.get<double>() && std::abs(value.get<double>()) < 1e15;
    out[prefix] = value.is_string() ? value.get<std::string>() : whole ? std::to_string(value.get<std::int64_t>()) : dump_json(value);
    return;
  }
  for (const auto& item : value.items()) flatten(item.value(), prefix.empty() ? item.key() : prefix + "." + item.key(), out);
}

}  // namespace

std::map<std::string, std::string> flat_keys(const Json& config) {
  std::map<std::string, std::string> keys;
  flatten(config, "", keys);
  return keys;
}

}  // namespace ffn
