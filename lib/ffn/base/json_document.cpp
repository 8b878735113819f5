#include "ffn/base/json_document.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/text.hpp"

namespace ffn {

static const std::string kOverride = "override '";

bool Origin::is_override() const { return line == 0 && source.rfind(kOverride, 0) == 0; }
std::string Origin::text() const { return line > 0 ? source + ":" + std::to_string(line) : source; }

const Origin& Document::origin(const std::string& pointer) const {
  for (std::string at = pointer;; at.resize(at.rfind('/'))) {
    const auto found = origins_.find(at);
    if (found != origins_.end()) return found->second;
    if (at.empty()) break;
  }
  static const Origin nowhere;
  return nowhere;
}

void Document::set_origin(const std::string& pointer, Origin origin) {
  const std::string below = pointer + "/";
  auto at = origins_.lower_bound(below);
  while (at != origins_.end() && at->first.compare(0, below.size(), below) == 0) at = origins_.erase(at);
  origins_[pointer] = std::move(origin);
}

void Document::merge_values(Json& base, const Json& over, const std::string& pointer) {
  if (!base.is_object() || !over.is_object()) {
    set_origin(pointer, {});  // forgets the origins below
    base = over;
    return;
  }
  for (const auto& [key, value] : over.items()) {
    const std::string below = pointer + "/" + escape_pointer(key);
    if (!value.is_null() || !base.contains(key)) {
      merge_values(base[key], value, below);
      continue;
    }
    base.erase(key);  // as in a merge patch, RFC 7386
    set_origin(below, {});
  }
}

void Document::merge(const Document& over) {
  merge_values(*tree_, *over.tree_, "");
  for (const auto& [pointer, origin] : over.origins_) {
    if (pointer.empty() && !origins_.empty()) continue;
    origins_[pointer] = origin;
    origins_[pointer].layer += layers_;
  }
  layers_ += over.layers_ + 1;
}

std::string escape_pointer(const std::string& key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

std::string pointer_of(const std::string& dotted_path) {
  std::string pointer = "/";
  for (const char c : dotted_path) pointer += c == '.' ? "/" : escape_pointer(std::string(1, c));
  return pointer;
}

Override split_override(const std::string& assignment) {
  if (const auto offset = first_invalid_utf8(assignment)) {
    throw UsageError("an override is not valid UTF-8 at byte " + std::to_string(*offset));
  }
  const std::string shown = kOverride + with_codes(clipped(assignment, 80)) + "'";
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(shown + " has no path and '='", "write it as dotted.path=value, for example train.steps=500");
  }
  return {assignment.substr(0, equals), assignment.substr(equals + 1), shown};
}

void apply_override(Document& document, const std::string& assignment) {
  const auto [path, typed, shown] = split_override(assignment);
  set_value(document, path, override_value(typed, shown), {shown, current_directory().string(), 0, document.new_layer()});
}

static std::vector<std::string> path_segments(const std::string& path, const std::string& shown) {
  std::vector<std::string> segments;
  for (size_t start = 0; start <= path.size();) {
    const auto dot = std::min(path.find('.', start), path.size());
    segments.push_back(path.substr(start, dot - start));
    if (segments.back().empty()) throw UsageError(shown + " has an empty path segment");
    start = dot + 1;
  }
  if (segments.size() > kMaxJsonDepth) throw UsageError(shown + ": nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  return segments;
}

void set_value(Document& document, const std::string& path, Json value, Origin origin) {
  Json* node = &document.tree();
  std::string walked;
  for (const auto& segment : path_segments(path, origin.source)) {
    if (node->is_null()) {
      *node = Json::object();
      document.set_origin(pointer_of(walked), origin);
    }
    if (!node->is_object()) {
      throw UsageError(origin.source + ": " + walked + " is " + shortened(*node) + ", so it has no key " + shortened(segment));
    }
    node = &(*node)[segment];
    walked += (walked.empty() ? "" : ".") + segment;
  }
  *node = std::move(value);
  document.set_origin(pointer_of(path), std::move(origin));
}

std::string number_text(double x) {
  std::string text = dump_json(x);
  if (text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text;
}

std::string shortened(const Json& value) { return clipped(dump_json_lossy(value), 40); }

}  // namespace ffn
