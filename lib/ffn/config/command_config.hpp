// A run that another program trains: its command line, and where its numbers are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json_document.hpp"

namespace ffn {

/// The place of a number of a finished run.
struct CommandMetric {
  enum class Source { json, csv, regex } source;
  std::string name;
  std::string file;  ///< in the run's output directory; empty for a regex, which reads what the program printed
  std::string what;  ///< JSON pointer, column or regular expression
};

struct CommandConfig {
  JsonValue command = JsonValue::array();       ///< program and arguments; {key} stands for a value
  JsonValue metrics = JsonValue::object();      ///< name → {"json" | "csv" | "regex": …}
  std::string timeout;                          ///< "10m"; empty: none
  std::string workdir;                          ///< absolute, once it is read
  JsonValue files = JsonValue::array();         ///< further files of the program
  JsonValue environment = JsonValue::object();  ///< name → value
  JsonValue keys = JsonValue::object();         ///< the config's other keys, which are the program's
  void describe(FieldVisitor& v);

  std::vector<CommandMetric> sources() const;
  std::string main_metric() const;  ///< the first one: compared by default, and a run has diverged where it is not finite
  /// Program and arguments. `more`: what {seed} and {run_dir} stand for; those that it lacks stay as they are.
  std::vector<std::string> arguments(const std::map<std::string, std::string>& more) const;
  bool names(const std::string& key) const;  ///< whether an argument has {key}
  /// Paths of files whose content makes the run: arguments that are files, then `files`.
  std::vector<std::string> program_files() const;
};

inline constexpr const char* kEngineDoc = "another program that trains each run; the config's other keys are then that program's";

/// Whether a program trains its runs.
bool has_command(const Document& document);

/// At the top of a config with "engine", a key that is the program's.
bool is_free_key(const std::string& key);
/// Moves the keys that are the program's out of a config with "engine".
JsonValue take_free_keys(Document& document);

/// Fills in the working directory, and adds problems: of placeholders without a key, and of keys that no argument names.
void finish_command(const Document& document, CommandConfig& config, std::vector<Problem>& problems);

/// Keys with their values, sections taken apart: "model.act" → "relu".
std::map<std::string, JsonValue> leaves_of(const Json& tree);

}  // namespace ffn
