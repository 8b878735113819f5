#include "completion.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>
#include <system_error>

#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/names.hpp"
#include "ffn/config/schema.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/store/run_directory.hpp"
#include "load_config.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

using Candidates = std::vector<Candidate>;

bool begins_with(const std::string& text, const std::string& beginning) { return text.rfind(beginning, 0) == 0; }

void add(Candidates& out, const Candidates& more) { out.insert(out.end(), more.begin(), more.end()); }

// ---- files

// Entries of the directory part of `typed`. Directories end in "/", unless they are runs.
Candidates paths(const std::string& typed, bool directories_only, const std::string& extension = "") {
  const std::string before = typed.substr(0, typed.rfind('/') + 1);
  const bool hidden = typed.size() > before.size() && typed[before.size()] == '.';
  Candidates out;
  std::error_code error;
  for (fs::directory_iterator at(before.empty() ? fs::path(".") : fs::path(expand_home(before)), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    const bool directory = at->is_directory(unknown);
    if ((name[0] == '.') != hidden || is_moved_aside(name) || is_temporary(name)) continue;
    if (!directory && (directories_only || (!extension.empty() && at->path().extension() != extension))) continue;
    out.push_back({before + name + (directory && !holds_run(at->path()) ? "/" : ""), ""});
  }
  std::sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) { return a.word < b.word; });
  return out;
}

// If nothing is typed yet, the default directory of results.
Candidates directory_candidates(const std::string& typed) {
  std::error_code error;
  return paths(typed.empty() && fs::is_directory("runs", error) ? "runs/" : typed, true);
}

// ---- the config

Candidates shipped_configs() {
  Candidates out;
  for (const auto& [file, text] : shipped_files()) out.push_back({short_name(file), "shipped " + file});
  return out;
}

// Keys up to the next dot, which keeps lists short.
Candidates keys(const std::string& typed, const std::string& end) {
  Candidates out;
  std::set<std::string> seen, sections;
  const auto docs = key_docs(describe_document);
  for (const auto& key : docs) {
    const std::string path = override_path(key.path);
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) sections.insert(path.substr(0, dot));
    if (key.path.back() == ']') sections.insert(path);
  }
  for (const auto& path : override_paths()) {
    if (!begins_with(path, typed)) continue;
    const auto dot = path.find('.', typed.size());
    const std::string shown = path.substr(0, dot);
    if (!seen.insert(shown).second) continue;
    const auto key = std::find_if(docs.begin(), docs.end(), [&](const KeyDoc& doc) { return override_path(doc.path) == shown; });
    out.push_back({shown + (sections.count(shown) ? "." : end), key == docs.end() ? "" : key->doc});
  }
  return out;
}

std::vector<std::string> words_between_commas(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream words(text);
  for (std::string word; words >> word;) out.push_back(word.back() == ',' ? word.substr(0, word.size() - 1) : word);
  return out;
}

// The values that may follow "key=" or "key=value,".
Candidates values(const std::string& typed) {
  const auto equals = typed.find('='), comma = typed.rfind(',');
  const std::string path = typed.substr(0, equals), before = typed.substr(0, (comma == std::string::npos ? equals : comma) + 1);
  const std::string kind = ".kind";
  const bool is_kind = path.size() > kind.size() && path.compare(path.size() - kind.size(), kind.size(), kind) == 0;
  const std::string section = path.substr(0, path.size() - (is_kind ? kind.size() : 0));
  Candidates out;
  std::set<std::string> seen;
  const auto offer = [&](const std::string& word, const std::string& doc) {
    if (seen.insert(word).second) out.push_back({before + word, doc});
  };
  for (const auto& key : key_docs(describe_document)) {
    if (is_kind && override_path(key.path) == section && begins_with(key.allowed, "kind: ")) {
      for (const auto& word : words_between_commas(key.allowed.substr(6))) offer(word, "");
    }
    if (override_path(key.path) != path) continue;
    if (key.type == "choice") {
      for (const auto& word : words_between_commas(key.allowed)) offer(word, "");
    } else if (key.type == "true/false") {
      offer("true", "");
      offer("false", "");
    } else if (key.type == "path") {
      for (const auto& file : paths(typed.substr(before.size()), false)) offer(file.word, "");
    } else if ((key.type == "integer" || key.type == "number") && key.fallback != "not set") {
      offer(key.fallback, "default" + (key.allowed.empty() ? "" : ", " + key.allowed));
    }
  }
  return out;
}

Candidates metrics() {
  Candidates out;
  for (const auto& row : metric_catalogue()) out.push_back({row.name, row.doc});
  for (const char* time : kTimesToTarget) out.push_back({time, ""});
  return out;
}

// ---- the command line

// By the name of the value in the option's help.
Candidates value_candidates(const OptionDescription& option, const std::string& typed, bool has_config) {
  Candidates out;
  for (const auto& word : option.words) out.push_back({word, ""});
  const auto is = [&](const char* word) { return option.value.find(word) != std::string::npos; };
  if (is("SHIPPED")) add(out, shipped_configs());
  if (is("CONFIG") && !has_config) {
    add(out, shipped_configs());
    add(out, paths(typed, false, ".json"));
  }
  if (is("KEY=VALUE") && (has_config || !option.takes_word))
    add(out, typed.find('=') == std::string::npos ? keys(typed, "=") : values(typed));
  else if (is("KEY") && !is("KEY=VALUE")) add(out, keys(typed, ""));
  if (is("METRIC")) add(out, metrics());
  if (is("DIR") || is("RUN")) add(out, directory_candidates(typed));
  if (is("FILE")) add(out, paths(typed, false));
  return out;
}

const OptionDescription* find_option(const CommandDescription& command, const std::string& name) {
  for (const auto& option : command.options) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
  }
  return nullptr;
}

bool takes_value(const OptionDescription* option) { return option && !option->value.empty(); }

/// The words before the one that is typed, as read so far.
struct Before {
  const CommandDescription* command;
  const OptionDescription* awaiting = nullptr;  ///< an option that has no value yet
  std::size_t num_words = 0;                    ///< that are no option's
  bool is_config = false;                       ///< some of those name no key
};

Before read(const CommandDescription& program, const std::vector<std::string>& words) {
  Before out{&program};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (out.awaiting) {
      out.is_config = out.is_config || out.awaiting->value == "FILE";
      out.awaiting = nullptr;
      continue;
    }
    const auto sub =
        std::find_if(program.subcommands.begin(), program.subcommands.end(), [&](const auto& command) { return command.name == word; });
    if (i == 0 && sub != program.subcommands.end()) out.command = &*sub;
    else if (!word.empty() && word[0] == '-' && word.size() > 1)
      out.awaiting = takes_value(find_option(*out.command, word)) ? find_option(*out.command, word) : nullptr;
    else {
      ++out.num_words;
      out.is_config = out.is_config || word.find('=') == std::string::npos;
    }
  }
  return out;
}

Candidates option_candidates(const CommandDescription& command) {
  Candidates out;
  for (const auto& option : command.options) {
    for (const auto& name : option.names) out.push_back({name, option.doc});
  }
  return out;
}

Candidates word_candidates(const CommandDescription& program, const Before& before, const std::string& typed) {
  Candidates out;
  if (before.command == &program && before.num_words == 0) {
    for (const auto& command : program.subcommands) out.push_back({command.name, command.doc});
  }
  std::size_t place = 0;
  for (const auto& option : before.command->options) {
    if (!option.takes_word) continue;
    if (option.many || place == before.num_words) add(out, value_candidates(option, typed, before.is_config));
    ++place;
  }
  return out;
}

}  // namespace

std::vector<Candidate> completions(const CommandDescription& program, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const auto before = read(program, words);
  const std::string& typed = words.back();
  Candidates all;
  const auto equals = typed.find('=');
  const auto* assigned =
      begins_with(typed, "--") && equals != std::string::npos ? find_option(*before.command, typed.substr(0, equals)) : nullptr;
  if (before.awaiting) all = value_candidates(*before.awaiting, typed, false);
  else if (assigned) {
    for (const auto& value : value_candidates(*assigned, typed.substr(equals + 1), false))
      all.push_back({typed.substr(0, equals + 1) + value.word, value.doc});
  } else if (begins_with(typed, "-")) all = option_candidates(*before.command);
  else all = word_candidates(program, before, typed);

  Candidates out;
  for (auto& candidate : all) {
    const bool one_line = std::none_of(candidate.word.begin(), candidate.word.end(), [](char c) { return c == '\n' || c == '\t'; });
    if (one_line && begins_with(candidate.word, typed)) out.push_back(std::move(candidate));
  }
  return out;
}

int print_completions(const CommandDescription& program, const std::vector<std::string>& words) {
  for (const auto& candidate : completions(program, words))
    std::cout << candidate.word << (candidate.doc.empty() ? "" : "\t" + candidate.doc) << "\n";
  return 0;
}

}  // namespace ffn::app
