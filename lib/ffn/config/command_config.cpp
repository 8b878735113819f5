#include "ffn/config/command_config.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>

#include "ffn/base/duration.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/config/metrics.hpp"

namespace ffn {

namespace {

constexpr const char* kSeed = "seed";
constexpr const char* kRunDirectory = "run_dir";

using Lookup = std::function<std::string(const std::string& key)>;

// The text with each {key} replaced; "{{" is a brace, and so is one that no key follows.
std::string with_values(const std::string& text, const Lookup& value_of) {
  const auto in_key = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || c == '/'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i + 1;
    while (text[i] == '{' && end < text.size() && in_key(text[end])) ++end;
    const bool is_key = end > i + 1 && end < text.size() && text[end] == '}' && !std::isdigit(static_cast<unsigned char>(text[i + 1]));
    out += is_key ? value_of(text.substr(i + 1, end - i - 1)) : std::string(1, text[i]);
    if (is_key) i = end;
    else if (text.compare(i, 2, "{{") == 0) ++i;
  }
  return out;
}

const Json* find_key(const Json& keys, const std::string& key) {
  const Json::json_pointer at(pointer_of(key));
  return keys.contains(at) ? &keys[at] : nullptr;
}

std::string value_text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

bool is_list_of_texts(const Json& list) {
  return std::all_of(list.begin(), list.end(),
                     [](const Json& x) { return x.is_string() && x.get_ref<const std::string&>().find('\0') == std::string::npos; });
}

CommandMetric source_of(const std::string& name, const Json& from) {
  using Source = CommandMetric::Source;
  const auto expected = [&](const std::string& form) { return std::invalid_argument(name + ": expected " + form); };
  if (!from.is_object() || from.size() != 1 || !from.begin().value().is_string())
    throw expected(R"~({"json": "out.json:/val_loss"}, {"csv": "log.csv:val_loss"} or {"regex": "val_loss ([0-9.]+)"})~");
  const std::string kind = from.begin().key(), text = from.begin().value().get<std::string>();
  if (kind == "regex") {
    try {
      if (const auto groups = std::regex(text).mark_count(); groups == 1 || groups == 2) return {Source::regex, name, "", text};
    } catch (const std::regex_error&) {
    }
    throw expected(R"~(a regular expression with a group for the number, as "loss ([0-9.]+)", or with one for the step before it, got )~" +
                   shortened(Json(text)));
  }
  const auto colon = kind == "json" ? text.find(":/") : text.rfind(':');
  const bool is_known = kind == "json" || kind == "csv";
  if (!is_known || colon == 0 || colon == std::string::npos || colon + 1 == text.size())
    throw expected(kind == "csv" ? "FILE:COLUMN, as \"log.csv:val_loss\""
                                 : "FILE:/POINTER as \"json\", FILE:COLUMN as \"csv\", or a \"regex\"");
  try {
    if (kind == "json") Json::json_pointer(text.substr(colon + 1));
  } catch (const Json::exception&) {
    throw expected("~0 for ~ and ~1 for / in the pointer " + text.substr(colon + 1));
  }
  return {kind == "json" ? Source::json : Source::csv, name, text.substr(0, colon), text.substr(colon + 1)};
}

// The fault of the metrics; "" if there is none.
std::string problem_of_metrics(const Json& metrics) {
  static const std::regex kName("[A-Za-z0-9_][A-Za-z0-9_./-]*");
  static const std::set<std::string> kTaken{"step", "time_s", "tokens", "steps_to_target", "flops_to_target", "seconds_to_target"};
  for (const auto& item : metrics.items()) {
    const std::string& name = item.key();
    if (!std::regex_match(name, kName) || kTaken.count(name) > 0)
      return shortened(Json(name)) + " is no name for a metric; use letters, digits and _./-";
    if (!metric_direction(name))
      return "whether a higher " + name + " is better is not known; put loss or score into its name, as " + name + "_loss";
    try {
      source_of(name, item.value());
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  return metrics.empty() ? R"(names no number to compare, as {"val/loss": {"json": "out.json:/val_loss"}})" : "";
}

}  // namespace

void CommandConfig::describe(FieldVisitor& v) {
  v.json({"command",
          "program and arguments, without a shell. {key} is the value of a key of this config, {seed} the seed, {run_dir} the "
          "run's output directory (also FFN_RUN_DIR), {{ a brace"},
         *command, Shape::list);
  v.json(
      {"metrics",
       "name → where a finished run's number is: {\"json\": \"out.json:/val_loss\"} and {\"csv\": \"log.csv:val_loss\"} in its output "
       "directory, {\"regex\": \"val_loss ([0-9.]+)\"} in what it printed (the last match). Curves come from a CSV file with a column "
       "step, and from a regex with a group for the step before that of the number. A run whose first metric is not finite has diverged"},
      *metrics, Shape::object);
  v.text({"timeout", "longest time of a run, as in 90s, 10m or 2h30m; then it is stopped and has failed. Empty: none"}, timeout);
  v.path({"workdir", "directory where the command runs; default: the config's"}, workdir);
  v.json({"files", "further files of the program, from workdir: like arguments that are files, their content is part of a run's identity"},
         *files, Shape::list);
  v.json({"environment", "variables that are set for the program: name → text"}, *environment, Shape::object);
  v.require(!command->empty() && is_list_of_texts(*command) && (*command)[0] != "", "command",
            "expected a list of texts: the program and its arguments");
  const auto problem = problem_of_metrics(*metrics);
  v.require(problem.empty(), "metrics", problem);
  v.require(timeout.empty() || seconds_in(timeout).has_value(), "timeout",
            shortened(Json(timeout)) + " is no time; write it as in 90s, 10m or 2h30m");
  v.require(is_list_of_texts(*files), "files", "expected a list of paths");
  const bool are_texts = std::all_of(environment->begin(), environment->end(), [](const Json& x) { return x.is_string(); });
  v.require(are_texts, "environment", "expected texts, as {\"OMP_NUM_THREADS\": \"1\"}");
  for (const auto& item : environment->items())
    v.require(!item.key().empty() && item.key().find('=') == std::string::npos, "environment",
              "\"" + item.key() + "\" is no name of a variable");
}

std::vector<CommandMetric> CommandConfig::sources() const {
  std::vector<CommandMetric> out;
  for (const auto& item : metrics->items()) out.push_back(source_of(item.key(), item.value()));
  return out;
}

std::string CommandConfig::main_metric() const { return metrics->begin().key(); }

std::vector<std::string> CommandConfig::arguments(const std::map<std::string, std::string>& more) const {
  std::vector<std::string> out;
  for (const auto& argument : *command) {
    out.push_back(with_values(argument.get<std::string>(), [&](const std::string& key) {
      if (const auto known = more.find(key); known != more.end()) return known->second;
      const Json* value = find_key(*keys, key);
      return value ? value_text_of(*value) : "{" + key + "}";
    }));
  }
  return out;
}

bool CommandConfig::names(const std::string& key) const {
  bool found = false;
  for (const auto& argument : *command) {
    with_values(argument.get<std::string>(), [&](const std::string& name) {
      found = found || name == key;
      return "";
    });
  }
  return found;
}

std::vector<std::string> CommandConfig::program_files() const {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const auto& argument : arguments({})) {
    const fs::path path = fs::path(workdir) / argument;
    if (type_of(path) == fs::file_type::regular) out.push_back(path.string());
  }
  for (const auto& file : *files) out.push_back((fs::path(workdir) / file.get<std::string>()).string());
  return out;
}

bool has_command(const Document& document) { return document.tree().contains("engine"); }

bool is_free_key(const std::string& key) {
  static const std::set<std::string> kOwn{"$schema", "extends", "name", "label",   "seed",     "keep",   "engine", "seeds",
                                          "sweep",   "ladder",  "tune", "compare", "question", "source", "expect"};
  return kOwn.count(key) == 0;
}

JsonValue take_free_keys(Document& document) {
  Json free = Json::object(), own = Json::object();
  for (const auto& item : document.tree().items()) (is_free_key(item.key()) ? free : own)[item.key()] = item.value();
  document.tree() = std::move(own);
  return free;
}

std::map<std::string, JsonValue> leaves_of(const Json& tree) {
  std::map<std::string, JsonValue> out;
  for (const auto& item : tree.items()) {
    if (!item.value().is_object() || item.value().empty()) {
      out.emplace(item.key(), item.value());
      continue;
    }
    for (auto& [key, value] : leaves_of(item.value())) out.emplace(item.key() + "." + key, value);
  }
  return out;
}

void finish_command(const Document& document, CommandConfig& config, std::vector<Problem>& problems) {
  if (config.workdir.empty()) config.workdir = document.origin("/engine").directory;
  config.workdir = (absolute_path(config.workdir) / "").lexically_normal().parent_path().string();
  if (!problems.empty()) return;
  const auto problem = [&](const std::string& pointer, const std::string& message) {
    problems.push_back({document.origin(pointer).text(), pointer, message});
  };
  const auto leaves = leaves_of(*config.keys);
  std::vector<std::string> known{kSeed, kRunDirectory};
  for (const auto& [key, value] : leaves) known.push_back(key);
  std::set<std::string> named;
  for (std::size_t i = 0; i < config.command->size(); ++i) {
    with_values((*config.command)[i].get<std::string>(), [&](const std::string& key) {
      named.insert(key);
      if (key != kSeed && key != kRunDirectory && !find_key(*config.keys, key)) {
        const auto meant = did_you_mean(key, known);
        problem("/engine/command/" + std::to_string(i),
                "no key \"" + key + "\" in this config" + (meant.empty() ? "; set it, or write {{" + key + "} for the text" : meant));
      }
      return "";
    });
  }
  // A key that does not reach the program would make variants that differ in nothing but noise.
  for (const auto& [key, value] : leaves) {
    const auto covers = [&, &leaf = key](const std::string& name) { return leaf == name || leaf.rfind(name + ".", 0) == 0; };
    if (std::any_of(named.begin(), named.end(), covers)) continue;
    const auto meant = did_you_mean(key, {named.begin(), named.end()});
    problem(pointer_of(key), "unknown key: no argument of engine.command names it" +
                                 (meant.empty() ? "; write {" + key + "} where its value belongs, or leave it out" : meant));
  }
  for (const char* own : {kRunDirectory, "train.target.metric"}) {
    if (leaves.count(own) > 0) problem(pointer_of(own), "this key is ffn-train's own; call it otherwise");
  }
  for (const auto& argument : config.arguments({})) {
    if (argument.find('\0') != std::string::npos) problem("/engine/command", "an argument cannot hold a NUL character");
  }
}

}  // namespace ffn
