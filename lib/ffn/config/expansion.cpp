#include "ffn/config/expansion.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ffn/base/hash.hpp"
#include "ffn/base/marked_names.hpp"

namespace ffn {

namespace {

std::vector<double> numbers(const Json& list, std::size_t count, const char* form) {
  bool ok = list.is_array() && list.size() == count;
  for (const auto& x : list) ok = ok && x.is_number();
  if (!ok) throw std::invalid_argument(std::string("expected ") + form + ", got " + shortened(list));
  return list.get<std::vector<double>>();
}

Json as_number(double x) { return std::nearbyint(x) == x && std::abs(x) < 1e15 ? Json(static_cast<std::int64_t>(x)) : Json(x); }

}  // namespace

double rounded_number(double x, int digits) {
  if (x == 0) return 0;
  const double scale = std::pow(10.0, digits - 1 - std::floor(std::log10(std::abs(x))));
  return std::isfinite(scale) ? std::round(x * scale) / scale : x;
}

std::vector<Json> axis_values(const Json& axis) {
  std::vector<Json> values;
  if (axis.is_array()) values.assign(axis.begin(), axis.end());
  else if (axis.is_object() && axis.size() == 1 && axis.contains("logspace")) {
    const auto n = numbers(axis["logspace"], 3, "\"logspace\": [low, high, count]");
    if (n[0] <= 0 || n[1] <= 0 || n[2] < 2 || n[2] > 10000 || std::nearbyint(n[2]) != n[2]) {
      throw std::invalid_argument("\"logspace\" needs two positive ends and a count of at least 2, got " + shortened(axis["logspace"]));
    }
    for (int i = 0; i < static_cast<int>(n[2]); ++i)
      values.push_back(as_number(rounded_number(n[0] * std::pow(n[1] / n[0], i / (n[2] - 1)))));
  } else if (axis.is_object() && axis.size() == 1 && axis.contains("range")) {
    const auto n = numbers(axis["range"], 3, "\"range\": [start, stop, step]");
    if (n[2] == 0 || (n[1] - n[0]) / n[2] <= 0 || (n[1] - n[0]) / n[2] > 10000) {
      throw std::invalid_argument("\"range\" needs a step that leads from start to stop, got " + shortened(axis["range"]));
    }
    // A hair of slack: three steps of 0.1 end at 0.30000000000000004, which a stop of 0.3 has to leave out.
    const auto count = static_cast<int>(std::ceil((n[1] - n[0]) / n[2] - 1e-9));
    for (int i = 0; i < count; ++i) values.push_back(as_number(rounded_number(n[0] + i * n[2])));
  } else {
    throw std::invalid_argument("expected a list of values, {\"logspace\": [low, high, count]} or {\"range\": [start, stop, step]}, got " +
                                shortened(axis));
  }
  if (values.empty()) throw std::invalid_argument("has no values");
  return values;
}

}  // namespace ffn

namespace ffn::config_detail {

namespace {

constexpr std::size_t kMaxVariants = 10000;

// The same for values that are equal, as 1 and 1.0 are.
std::string value_text(const Json& value) { return dump_json(value.is_number_float() ? as_number(value.get<double>()) : value); }

}  // namespace

std::string last_segment(const std::string& key) { return key.substr(key.rfind('.') + 1); }

void Expansion::problem(const std::string& pointer, const std::string& message) {
  problems.push_back({document.origin(pointer).text(), pointer, message});
}

std::vector<std::vector<Combination>> Expansion::axes(const SweepConfig& sweep) {
  std::vector<std::vector<Combination>> out;
  std::set<std::string> taken;
  for (const auto& item : sweep.grid->items()) {
    out.emplace_back();
    std::set<std::string> numbers;  // 1 and 1.0 are one value
    for (const auto& entry : entries(item.key(), item.value(), "/sweep/grid")) {
      if (!entry.value.is_number() || numbers.insert(value_text(entry.value)).second) out.back().push_back({entry});
    }
    taken.insert(item.key());
  }
  for (std::size_t i = 0; i < sweep.zip->size(); ++i) out.push_back(zipped("/sweep/zip/" + std::to_string(i), (*sweep.zip)[i], taken));
  return out;
}

std::vector<Combination> Expansion::zipped(const std::string& pointer, const Json& object, std::set<std::string>& taken) {
  std::vector<Combination> axis;
  if (!object.is_object() || object.empty()) {
    problem(pointer, "expected an object key → values, got " + shortened(object));
    return axis;
  }
  std::string first;
  for (const auto& item : object.items()) {
    if (!taken.insert(item.key()).second) problem(pointer, "\"" + item.key() + "\" is swept twice");
    const auto list = entries(item.key(), item.value(), pointer);
    if (first.empty()) {
      axis.resize(list.size());
      first = item.key();
    } else if (list.size() != axis.size()) {
      problem(pointer, "\"" + item.key() + "\" has " + std::to_string(list.size()) + " values, \"" + first + "\" has " +
                           std::to_string(axis.size()) + "; keys that move together need equally many");
      return axis;
    }
    for (std::size_t i = 0; i < list.size(); ++i) axis[i].push_back(list[i]);
  }
  return axis;
}

std::vector<Entry> Expansion::entries(const std::string& key, const Json& axis, const std::string& parent) {
  const std::string pointer = parent + "/" + escape_pointer(key);
  std::vector<Entry> out;
  try {
    for (auto& value : axis_values(axis)) out.push_back({key, std::move(value), pointer + "/" + std::to_string(out.size())});
  } catch (const std::invalid_argument& error) {
    problem(pointer, error.what());
  }
  return out;
}

std::vector<Combination> Expansion::combinations(const SweepConfig& sweep) {
  std::vector<Combination> out = {{}};
  for (const auto& axis : axes(sweep)) {
    if (out.size() * axis.size() > kMaxVariants) {
      problem("/sweep", "more than " + std::to_string(kMaxVariants) + " variants");
      return {};
    }
    std::vector<Combination> crossed;
    for (const auto& before : out) {
      for (const auto& more : axis) {
        crossed.push_back(before);
        crossed.back().insert(crossed.back().end(), more.begin(), more.end());
      }
    }
    out = std::move(crossed);
  }
  exclude(sweep, out);
  include(sweep, out);
  return out;
}

void Expansion::exclude(const SweepConfig& sweep, std::vector<Combination>& all) {
  for (std::size_t i = 0; i < sweep.exclude->size(); ++i) {
    const Json& pattern = (*sweep.exclude)[i];
    const std::string pointer = "/sweep/exclude/" + std::to_string(i);
    if (!pattern.is_object() || pattern.empty()) {
      problem(pointer, "expected an object key → value, got " + shortened(pattern));
      continue;
    }
    const auto matches = [&](const Combination& combination) {
      std::size_t hits = 0;
      for (const auto& entry : combination) hits += pattern.contains(entry.key) && pattern[entry.key] == entry.value;
      return hits == pattern.size();
    };
    const auto before = all.size();
    all.erase(std::remove_if(all.begin(), all.end(), matches), all.end());
    if (all.size() == before) problem(pointer, "matches no variant; it names keys or values that are not swept");
  }
}

void Expansion::include(const SweepConfig& sweep, std::vector<Combination>& all) {
  // A sweep that only includes has no base variant of its own.
  const bool only_includes = sweep.grid->empty() && sweep.zip->empty() && !sweep.include->empty();
  if (only_includes) all.clear();
  for (std::size_t i = 0; i < sweep.include->size(); ++i) {
    const std::string pointer = "/sweep/include/" + std::to_string(i);
    const Json& included = (*sweep.include)[i];
    if (!included.is_object() || included.empty()) {
      problem(pointer, "expected an object key → value, got " + shortened(included));
      continue;
    }
    all.emplace_back();
    for (const auto& item : included.items()) all.back().push_back({item.key(), item.value(), pointer + "/" + escape_pointer(item.key())});
  }
}

namespace {

// Keys by their last segment where that is unique in the study, else whole.
std::string short_key(const std::string& key, const std::set<std::string>& all) {
  int same = 0;
  for (const auto& other : all) same += last_segment(other) == last_segment(key);
  if (same == 1) return last_segment(key);
  std::string whole = key;
  for (auto& c : whole) c = c == '.' ? '-' : c;
  return whole;
}

// A whole layer by its name, or by its kind and what else is said of it: "moe-4-2", "moe-4-2-noisy_top_k", with other experts
// "moe-4-2-swiglu".
std::string name_of_object(const Json& object) {
  if (const auto name = object.find("name"); name != object.end() && name->is_string() && !name->get<std::string>().empty())
    return name->get<std::string>();
  std::string text;
  for (const auto& item : object.items()) {
    const std::string part = item.value().is_object()   ? name_of_object(item.value())
                             : item.value().is_string() ? item.value().get<std::string>()
                                                        : dump_json(item.value());
    if (!part.empty()) text += (text.empty() ? "" : "-") + part;
  }
  return text;
}

}  // namespace

std::string variant_name(const Combination& combination, const std::set<std::string>& keys) {
  std::string name;
  for (const auto& [key, value, pointer] : combination) {
    if (key == "label") continue;  // for people: another one moves no results
    std::string text = value.is_string() ? value.get<std::string>() : value.is_object() ? name_of_object(value) : dump_json(value);
    for (auto& c : text) {
      const bool safe = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
      if (!safe) c = '_';
    }
    name += (name.empty() ? "" : "+") + short_key(key, keys) + "=" + text;
  }
  // compare passes over what was moved aside, and a start removes what was being written.
  for (const char* taken : {kAsideMark, kTemporaryMark}) {
    for (auto at = name.find(taken); at != std::string::npos; at = name.find(taken)) name[at] = '_';
  }
  constexpr std::size_t kLongest = 100;  // file systems allow 255 bytes
  if (name.size() > kLongest) name = name.substr(0, kLongest - 9) + "-" + sha256_hex(name).substr(0, 8);
  return name.empty() ? "base" : name;
}

namespace {

// Equal where two combinations assign the same values.
std::string values_text(const Combination& combination) {
  std::map<std::string, std::string> values;
  for (const auto& entry : combination) values[entry.key] = value_text(entry.value);
  std::string text;
  for (const auto& [key, value] : values) text += key + "=" + value + "\n";
  return text;
}

}  // namespace

std::vector<std::string> Expansion::variant_names(const std::vector<Combination>& all, const std::set<std::string>& keys) {
  std::vector<std::string> names;
  std::set<std::string> known;
  std::map<std::string, int> sharing;  // how many different variants would have the name
  for (const auto& combination : all) {
    names.push_back(variant_name(combination, keys));
    if (known.insert(values_text(combination)).second) ++sharing[names.back()];
    else problem("/sweep", "the variant " + names.back() + " occurs twice");
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (sharing[names[i]] > 1) names[i] += "-" + sha256_hex(values_text(all[i])).substr(0, 8);
  }
  return names;
}

}  // namespace ffn::config_detail
