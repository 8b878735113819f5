// ffn-train list: the catalogues, from the same tables that the program uses.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/schema.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/kernels/activations.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn::app {

namespace {

using Rows = std::vector<std::vector<std::string>>;
struct Listing {
  std::vector<std::string> headers;
  Rows rows;
};

template <class... Ts>
Rows kinds(const std::variant<Ts...>&) {
  return {{Ts::kKind, Ts::kDoc}...};
}

Listing list_files(const std::string& what) {
  Listing listing{{"file", what == "configs" ? "task" : "question"}, {}};
  for (const auto& file : shipped_files(what)) {
    const auto document = load_document(file);
    const Json task = document.tree().value("task", Json::object());
    const Json shown = what == "experiments" ? document.tree().value("question", Json())
                       : task.is_object()    ? task.value("kind", Json())
                                             : task;
    listing.rows.push_back({file, shown.is_string() ? shown.get<std::string>() : "-"});
  }
  if (listing.rows.empty())
    throw UsageError("no " + what + " here", "run in the source tree, or install with cmake --install build/release");
  return listing;
}

Listing list_keys(const std::string& prefix) {
  Listing listing{{"key", "type", "default", "allowed", "meaning"}, {}};
  for (const auto& key : key_docs(describe_document)) {
    std::string plain;  // "model.ffn[moe].top_k" → "model.ffn.top_k", the form in which people type it
    bool inside = false;
    for (const char c : key.path) {
      if (c == '[' || c == ']') inside = c == '[';
      else if (!inside) plain += c;
    }
    if (plain.rfind(prefix, 0) != 0 && key.path.rfind(prefix, 0) != 0) continue;
    listing.rows.push_back({key.path, key.type, key.fallback, key.allowed, key.doc});
  }
  if (listing.rows.empty()) throw UsageError("no key begins with '" + prefix + "'", "`ffn-train list keys` shows all of them");
  return listing;
}

Listing list(const std::string& what, const std::string& prefix) {
  if (what == "activations") {
    Listing listing{{"activation", "φ(z)", "source"}, {}};
    for (const auto& a : activations()) listing.rows.push_back({a.name, a.formula, a.source});
    return listing;
  }
  if (what == "ffns") return {{"ffn.kind", "what it computes"}, kinds(FfnConfig{})};
  if (what == "tasks") return {{"task.kind", "what is learned"}, kinds(TaskConfig{})};
  if (what == "metrics") {
    Listing listing{{"metric", "better", "meaning"}, {}};
    for (const auto& m : metric_catalogue()) listing.rows.push_back({m.name, m.higher_is_better ? "higher" : "lower", m.doc});
    return listing;
  }
  if (what == "keys") return list_keys(prefix);
  return list_files(what);
}

void print(const Listing& listing, const CommonOptions& common) {
  if (common.json) {
    Json out = Json::array();
    for (const auto& row : listing.rows) {
      Json entry = Json::object();
      for (std::size_t i = 0; i < row.size(); ++i) entry[listing.headers[i]] = row[i];
      out.push_back(entry);
    }
    print_json(out);
    return;
  }
  std::vector<Column> columns;
  for (const auto& header : listing.headers) columns.push_back({header, Align::left});
  Table table(columns);
  for (const auto& row : listing.rows) table.add_row(row);
  std::cout << table.terminal_text(color_enabled(color_mode(common), 1));
}

struct ListOptions {
  std::string what = "activations", prefix;
};

}  // namespace

void add_list(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("list", "activations, ffns, tasks, metrics, keys, configs or experiments");
  auto options = std::make_shared<ListOptions>();
  command.option("what", options->what, "which list")
      .type("")
      .one_of({"activations", "ffns", "tasks", "metrics", "keys", "configs", "experiments"});
  command.option("prefix", options->prefix, "only keys that begin so").type("KEY");
  add_output_options(command, common);
  command.run([&common, options] {
    print(list(options->what, options->prefix), common);
    return 0;
  });
}

}  // namespace ffn::app
