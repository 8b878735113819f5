// ffn-train list: the catalogues, from the same tables that the program uses.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/match.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/named_tasks.hpp"
#include "ffn/config/names.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/config/schema.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/data/task.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/formula/functions.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "ffn/formula/task_formula.hpp"
#include "ffn/kernels/activations.hpp"
#include "ffn/report/activations.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"

namespace ffn::app {

namespace {

using ListRows = std::vector<std::vector<std::string>>;
struct Listing {
  std::vector<std::string> headers;
  ListRows rows;
};

template <class... Ts>
ListRows kinds(const std::variant<Ts...>&) {
  return {{Ts::kKind, Ts::kDoc}...};
}

Listing list_files(const std::string& what) {
  Listing listing{{"name", what == "configs" ? "task" : "question"}, {}};
  for (const auto& [file, text] : shipped_files()) {
    if (file.rfind(what + "/", 0) != 0) continue;
    const auto document = load_with_overrides(file, {});
    const Json task = document.tree().value("task", Json::object());
    const Json shown = what == "experiments" ? document.tree().value("question", Json())
                       : task.is_object()    ? task.value("kind", Json())
                                             : task;
    listing.rows.push_back({short_name(file), shown.is_string() ? shown.get<std::string>() : "-"});
  }
  return listing;
}

// Suggests keys and sections with that last part, or the one with the most similar name.
std::string keys_meant(const std::string& typed) {
  std::set<std::string> all;
  for (const auto& key : key_docs(describe_document)) {
    const std::string path = override_path(key.path);
    for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) all.insert(path.substr(0, dot));
    all.insert(path);
  }
  std::vector<std::string> meant;
  std::map<std::string, std::string> by_last;
  for (const auto& path : all) {
    const std::string last = path.substr(path.rfind('.') + 1);
    if (last == typed) meant.push_back(path);
    by_last.insert({last, path});
  }
  if (meant.empty()) {
    std::vector<std::string> lasts;
    for (const auto& [last, path] : by_last) lasts.push_back(last);
    std::string near = nearest(typed, {all.begin(), all.end()});
    if (near.empty()) near = nearest(typed, lasts);
    if (near.empty()) return "";
    meant.push_back(all.count(near) ? near : by_last[near]);
  }
  constexpr std::size_t kMost = 4;
  if (meant.size() > kMost) meant.resize(kMost);
  return "; did you mean " + join(meant, " or ") + "?";
}

Listing list_keys(const std::string& prefix) {
  Listing listing{{"key", "of kind", "type", "default", "allowed", "meaning"}, {}};
  std::map<std::vector<std::string>, std::size_t> row_of;  // what is the same for several kinds is one row
  for (const auto& key : key_docs(describe_document)) {
    std::string path = override_path(key.path), kind, fallback = key.fallback, allowed = key.allowed, type = key.type;
    const auto open = key.path.rfind('[');
    if (path.rfind(prefix, 0) != 0 || key.path.back() == ']') continue;  // a kind: `list ffns` and the like say what each is
    if (open != std::string::npos) kind = key.path.substr(open + 1, key.path.find(']', open) - open - 1);
    if (allowed.rfind("kind: ", 0) == 0) {  // a section whose kind is chosen
      path += ".kind";
      type = "choice";
      allowed.erase(0, 6);
      fallback.erase(0, 5);
    }
    const auto [at, is_new] = row_of.insert({{path, type, fallback, allowed, key.doc}, listing.rows.size()});
    if (is_new) listing.rows.push_back({path, kind, type, fallback, allowed, key.doc});
    else listing.rows[at->second][1] += ", " + kind;
  }
  if (listing.rows.empty())
    throw UsageError("no key begins with '" + prefix + "'" + keys_meant(prefix), "`ffn-train list keys` shows all of them");
  return listing;
}

// For terminals too narrow for six columns: the key on a line of its own, its description below.
void print_keys(const ListRows& rows) {
  for (const auto& row : rows) {
    std::cout << row[0] << "\n";
    print_text("    " + row[2] + (row[3].empty() ? "" : ", " + row[3]) + (row[4].empty() ? "" : "; " + row[4]) +
               (row[1].empty() ? "" : "; of kind " + row[1]) + "\n    " + row[5]);
  }
}

/// A formula that has a name, for a person.
struct Named {
  std::string name, formula, source;
  double expansion;  ///< F / D at the parameters of the plain layer of expansion 4
};

std::vector<Named> named() {
  std::vector<Named> out;
  for (const auto& row : named_formulas()) {
    ModelConfig model;
    model.d_model = 1024;
    FormulaConfig config;
    config.text = formula_text(row);
    config.match = "params";
    model.ffn = config;
    resolve_widths(model);
    std::string formula;
    for (const auto& let : config.text.let->items()) formula += let.key() + " = " + let.value().get<std::string>() + "; ";
    out.push_back(
        {row.name, formula + row.formula, row.source, static_cast<double>(std::get<FormulaConfig>(model.ffn).hidden_width(1024)) / 1024});
  }
  return out;
}

// Formulas are too long for a column: each has lines of its own.
void print_named() {
  print_text("\nlayers of the kind formula, by ffn.name; F/D at the parameters of the plain layer of expansion 4 (match=params)\n\n", 0);
  for (const auto& [name, formula, source, expansion] : named()) {
    const bool of_width = expansion < 100;  // one has no F in it: any width costs the same
    std::cout << name << (of_width ? "  F/D " + format_significant(expansion, 4) : "") << "\n";
    print_text("    " + formula + "\n    " + source);
  }
}

void print_named_tasks() {
  print_text("\ntasks of the kinds function and sequence, by task.name; `ffn-train list tasks NAME` shows one\n\n", 0);
  for (const auto& row : named_tasks()) print_text(std::string(row.name) + " (" + row.kind + ")\n    " + row.known + "\n    " + row.source);
}

// Sequences are shown with these sizes.
constexpr std::int64_t kShownAlphabet = 8, kShownLength = 12;

template <class Config>
TaskConfig task_called(const std::string& name) {
  Config config;
  if constexpr (std::is_same_v<Config, SequenceConfig>) {
    config.alphabet = kShownAlphabet;
    config.length = kShownLength;
  }
  config.name = name;
  if (const std::string problem = resolve_task_name(config); !problem.empty())
    throw UsageError(name + ": " + problem, "`ffn-train list tasks` shows them");
  return config;
}

std::string shown_numbers(const float* from, std::int64_t count) {
  std::string out;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 8); ++i) out += (i > 0 ? "  " : "") + format_significant(from[i], 3);
  return out + (count > 8 ? "  … (" + std::to_string(count) + ")" : "");
}

// "·" for tokens that are not scored.
std::string shown_tokens(const std::int64_t* from, std::int64_t count) {
  std::string out;
  for (std::int64_t t = 0; t < count; ++t) out += (t > 0 ? " " : "") + (from[t] < 0 ? "·" : std::to_string(from[t]));
  return out;
}

// Its config, three examples and known results.
int show_task(const std::string& name, const CommonOptions& common) {
  const auto& rows = named_tasks();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const NamedTask& each) { return each.name == name; });
  const bool is_sequence = row != rows.end() && row->kind == std::string(SequenceConfig::kKind);
  const TaskConfig config = is_sequence ? task_called<SequenceConfig>(name) : task_called<FunctionConfig>(name);
  const auto task = make_task(config, {{0, 1}});
  constexpr std::int64_t kExamples = 3;
  const ExampleSet set = task->batch(0, 0, kExamples);
  const TaskShape shape = task->shape();
  if (common.json) {
    Json out{
        {"task.name", name}, {"task.kind", row->kind}, {"task", parse_json(row->keys)}, {"known", row->known}, {"source", row->source}};
    print_json(out);
    return 0;
  }
  print_text(name + ": " + row->known + "\n" + row->source + "\n\nwritten out: \"task\": {\"kind\": \"" + row->kind + "\", " +
             (row->keys + 1) + "\n\n");
  if (is_sequence)
    print_text("with an alphabet of " + std::to_string(kShownAlphabet) + " and a length of " + std::to_string(kShownLength) + ":\n\n");
  const bool classes = shape.target == Target::classes;
  Table table({{"the network sees", Align::left}, {is_sequence ? "class at each position" : classes ? "class" : "target", Align::right}});
  for (std::int64_t i = 0; i < kExamples; ++i) {
    const std::int64_t first = i * shape.sequence_length;
    table.add_row({is_sequence ? shown_tokens(set.tokens.data() + first, shape.sequence_length)
                               : shown_numbers(set.vectors.data() + i * shape.input_width, shape.input_width),
                   classes ? shown_tokens(set.labels.data() + first, shape.sequence_length)
                           : shown_numbers(set.values.data() + i * shape.num_classes, shape.num_classes)});
  }
  print_table(table, common);
  return 0;
}

// The cost of each kind of FFN or router at this d_model and default settings.
constexpr std::int64_t kShownModel = 64;

template <class... Ts>
ListRows costs(const std::variant<Ts...>&, const std::function<FfnConfig(const std::variant<Ts...>&)>& layer) {
  const auto row = [&](const std::variant<Ts...>& config, const char* kind, const char* doc) -> std::vector<std::string> {
    if (kind == std::string(FormulaConfig::kKind)) return {kind, doc, "-", "-"};
    const Cost cost = ffn_cost(layer(config), kShownModel);
    return {kind, doc, format_count(cost.parameters), format_count(cost.flops)};
  };
  return {row(Ts{}, Ts::kKind, Ts::kDoc)...};
}

Listing with_costs(const std::string& key, const std::string& doc, ListRows rows) {
  return {{key, doc, "parameters", "FLOPs/token"}, std::move(rows)};
}

template <class Row>
ListRows names_and_docs(const std::vector<Row>& all) {
  ListRows rows;
  for (const auto& row : all) rows.push_back({row.name, row.doc});
  return rows;
}

Listing list(const std::string& what, const std::string& prefix) {
  if (what == "activations") {
    Listing listing{{"activation", "φ(z)", "source"}, {}};
    for (const auto& a : activations()) listing.rows.push_back({a.name, a.formula, a.source});
    return listing;
  }
  if (what == "ffns") return with_costs("ffn.kind", "what it computes", costs(FfnConfig{}, {[](const FfnConfig& ffn) { return ffn; }}));
  if (what == "routers") {
    const auto mixture = [](const RouterConfig& router) {
      MoeConfig config;
      config.router = router;
      return config;
    };
    return with_costs("router.kind", "where tokens go", costs(RouterConfig{}, {mixture}));
  }
  if (what == "optimizers") return {{"optimizer.kind", "how parameters move"}, kinds(OptimizerConfig{})};
  if (what == "inits") return {{"model.init", "initial weights"}, names_and_docs(initialisations())};
  if (what == "positions") return {{"model.positions", "how positions enter"}, names_and_docs(position_encodings())};
  if (what == "tasks") return {{"task.kind", "what is learned"}, kinds(TaskConfig{})};
  if (what == "metrics") {
    Listing listing{{"metric", "better", "meaning"}, {}};
    for (const auto& m : metric_catalogue()) listing.rows.push_back({m.name, m.higher_is_better ? "higher" : "lower", m.doc});
    return listing;
  }
  if (what == "functions") {
    Listing listing{{"function", "may stand in", "meaning"}, {}};
    for (const auto& row : element_functions()) {
      if (!row.phi) listing.rows.push_back({row.name, "everywhere", row.doc});
    }
    listing.rows.push_back({"pi", "everywhere", "3.14159…; activations by name may stand everywhere, too"});
    for (const auto& [name, doc] : task_functions()) listing.rows.push_back({name, "task", doc});
    for (const auto& [name, doc] : layer_functions()) listing.rows.push_back({name, "layer", doc});
    return listing;
  }
  if (what == "keys") return list_keys(prefix);
  return list_files(what);
}

void print_trained_activations() {
  print_text("\nwith a trained parameter; model.ffn.activation_parameters sets its start, or trains one per unit\n\n", 0);
  for (const auto& row : trained_activations())
    print_text(std::string(row.name) + "  " + row.formula + ", " + row.parameter + " = " + number_text(row.start) + "\n    " + row.source);
}

void print_listing(const std::string& what, const Listing& listing, const CommonOptions& common) {
  if (common.json) {
    Json out = Json::array();
    for (const auto& row : listing.rows) {
      Json entry = Json::object();
      for (std::size_t i = 0; i < row.size(); ++i) entry[listing.headers[i]] = row[i];
      out.push_back(entry);
    }
    if (what == "activations") {
      for (const auto& row : trained_activations())
        out.push_back(
            {{"activation", row.name}, {"φ(z)", row.formula}, {"source", row.source}, {"parameter", row.parameter}, {"start", row.start}});
    }
    if (what == "ffns") {
      for (const auto& [name, formula, source, expansion] : named())
        out.push_back({{"ffn.kind", FormulaConfig::kKind},
                       {"what it computes", formula},
                       {"ffn.name", name},
                       {"source", source},
                       {"F/D", expansion}});
    }
    print_json(out);
    return;
  }
  std::vector<Column> columns;
  for (const auto& header : listing.headers) columns.push_back({header, Align::left});
  Table table(columns);
  for (const auto& row : listing.rows) table.add_row(row);
  const bool fits = widest_line(table.terminal_text(false)) <= terminal_width_of(1);
  if (what == "keys" && !fits) print_keys(listing.rows);
  else print_table(table, common);
  if (what == "ffns" || what == "routers")
    print_text("\ncosts at d_model " + std::to_string(kShownModel) + (what == "ffns" ? "" : ", of a mixture") + ", all else as by default",
               0);
  if (what == "activations") print_trained_activations();
  if (what == "ffns") print_named();
  if (what == "tasks") print_named_tasks();
}

struct ListOptions {
  std::string what = "activations", prefix;
  bool plot = false;
};

// Every activation with its derivative, or that of a formula.
void plot_activations(const ListOptions& options, const CommonOptions& common) {
  std::vector<Activation> rows = activations();
  if (!options.prefix.empty()) {
    if (const auto problem = activation_problem(options.prefix); !problem.empty()) throw UsageError(problem);
    rows = {activation_called(options.prefix)};
  }
  constexpr int kColumns = 38, kRows = 9;
  std::vector<Block> charts;
  for (const auto& a : rows)
    charts.push_back(report::drawn(report::activation_chart(a), kColumns, kRows, color_enabled(color_mode(common), 1)));
  print_text("φ(z) as a line, its derivative φ′(z) as dots");
  std::cout << "\n" << beside_each_other(charts, terminal_width_of(1));
}

int list_or_plot(const ListOptions& options, const CommonOptions& common) {
  const bool draws = options.plot;
  if (draws && options.what != "activations")
    throw UsageError("there are no pictures of " + options.what, "`ffn-train list activations --plot` draws activation functions");
  if (draws && common.json) throw UsageError("--json prints the list and draws nothing", "leave out --plot or --json");
  if (options.what == "tasks" && !options.prefix.empty()) return show_task(options.prefix, common);
  if (!options.prefix.empty() && options.what != "keys" && !draws)
    throw UsageError("`list " + options.what + "` lists all of them, so " + options.prefix + " would have no effect",
                     "`ffn-train list keys PREFIX` takes the beginning of a key, `ffn-train list tasks NAME` a task, `ffn-train list "
                     "activations FORMULA --plot` an activation");
  if (draws) plot_activations(options, common);
  else print_listing(options.what, list(options.what, options.prefix), common);
  return 0;
}

}  // namespace

void add_list(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("list", "list activations, layers, tasks, keys, configs, …");
  auto options = std::make_shared<ListOptions>();
  command.option("what", options->what, "which list")
      .type("WHAT")
      .one_of({"activations", "ffns", "routers", "inits", "optimizers", "positions", "tasks", "functions", "metrics", "keys", "configs",
               "experiments"});
  command.option("prefix", options->prefix, "only keys that begin so; of tasks the one of this name; of activations the formula to draw")
      .type("NAME");
  command.flag("--plot", options->plot, "draw the activations and their derivatives");
  add_output_options(command, common);
  command.run([&common, options] { return list_or_plot(*options, common); });
}

}  // namespace ffn::app
