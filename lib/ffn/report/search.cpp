#include "ffn/report/search.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/shell.hpp"
#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/html.hpp"

namespace ffn {

namespace {

std::string word_of(const Json& object, const char* key) { return object.at(key).get<std::string>(); }

/// The verdict of one judgement, or of one size of it, on a layer; null where it was not judged there.
const Json* said_of(const Json& judged, const std::string& layer) {
  for (const auto& row : judged.at("layers"))
    if (row.at("layer") == layer) return &row;
  return nullptr;
}

bool is_better(const Json* said) { return said && said->at("verdict") == "better"; }

// "−31 % [−36, −25]"; empty where the test was one of ranks without a ratio.
std::string ratio_text(const Json& said) {
  if (!said.contains("ratio")) return "";
  const auto number = [&](const Json& ratio) { return shown_number(100 * (ratio.get<double>() - 1)); };
  return number(said.at("ratio")) + " % [" + number(said.at("interval")[0]) + ", " + number(said.at("interval")[1]) + "]";
}

std::vector<std::string> judged_layers(const Json& search) {
  std::vector<std::string> out;
  for (const auto& row : search.at("front"))
    if (row.at("layer") != search.at("reference")) out.push_back(row.at("layer"));
  return out;
}

const Json* layer_called(const Json& search, const std::string& name) {
  for (const auto& layer : search.at("layers"))
    if (layer.at("layer") == name) return &layer;
  return nullptr;
}

bool is_start(const Json& search, const std::string& name) {
  for (std::size_t i = 0; i < search.at("start").get<std::size_t>(); ++i)
    if (search.at("layers")[i].at("layer") == name) return true;
  return false;
}

// "swiglu (silu(up) * gate), a gated layer"
std::string name_and_formula(const Json& search, const std::string& name) {
  const Json* layer = layer_called(search, name);
  const auto formula = layer ? word_of(*layer, "formula") : "";
  const bool adds_nothing = formula.empty() || formula == name || formula == name + "(up)";
  return name + (adds_nothing ? "" : " (" + formula + ")") + (layer && layer->at("gated") ? ", a gated layer" : "");
}

std::string left_out_text(const Json& left_out) {
  std::vector<std::string> parts;
  std::size_t all = 0;
  for (const auto& item : left_out.items()) {
    all += item.value().get<std::size_t>();
    parts.push_back(format_count(item.value().get<std::int64_t>()) + " " + item.key());
  }
  return all == 0 ? "" : "; " + format_count(static_cast<std::int64_t>(all)) + " candidates were not trained: " + join(parts);
}

// "better on facts (−31 % […]); worse on spiral; undecided on parity"
std::string finding_of(const Json& search, const std::string& layer) {
  std::vector<std::string> parts;
  for (const auto& judged : search.at("judgement")) {
    const Json* said = said_of(judged, layer);
    if (!said) continue;
    const auto difference = ratio_text(*said);
    std::string part = word_of(*said, "verdict") + " on " + word_of(judged, "task") +
                       (judged.at("seen") ? "" : ", which the races did not see") +
                       (difference.empty() ? "" : " (loss " + difference + ")");
    std::vector<std::pair<std::string, std::vector<std::string>>> at_sizes;  // of one verdict, in a row
    for (const auto& size : search.at("sizes")) {
      const Json* there = size.at("task") == judged.at("task") ? said_of(size, layer) : nullptr;
      if (!there) continue;
      const auto verdict = word_of(*there, "verdict");
      if (at_sizes.empty() || at_sizes.back().first != verdict) at_sizes.push_back({verdict, {}});
      at_sizes.back().second.push_back(dump_json(size.at("d_model")));
    }
    for (const auto& [verdict, sizes] : at_sizes) part += ", " + verdict + " at d_model " + join(sizes, " and ");
    parts.push_back(part);
  }
  return join(parts, "; ");
}

bool is_found(const Json& search, const std::string& layer) {
  const auto& judgement = search.at("judgement");
  return std::any_of(judgement.begin(), judgement.end(), [&](const Json& judged) { return is_better(said_of(judged, layer)); });
}

}  // namespace

std::vector<std::string> search_sentences(const Json& search) {
  const Json& races = search.at("races");
  const auto count = [](const Json& number) { return format_count(number.get<std::int64_t>()); };
  std::vector<std::string> tasks;
  for (const auto& judged : search.at("judgement"))
    if (judged.at("seen")) tasks.push_back(word_of(judged, "task"));
  std::vector<std::string> out;
  out.push_back(count(races.at("layers")) + " layers raced" + (tasks.empty() ? "" : " on " + join(tasks, " and ")) + " in " +
                format_counted(races.at("generations").get<std::size_t>(), "generation") + " (" + count(races.at("runs")) + " runs, " +
                format_duration(races.at("seconds").get<double>()) + " of training), until " + word_of(races, "ended") +
                left_out_text(races.at("left_out")) + ".");
  const auto layers = judged_layers(search);
  std::vector<std::string> found, others, start;
  for (const auto& layer : layers) (is_start(search, layer) ? start : is_found(search, layer) ? found : others).push_back(layer);
  if (search.at("judgement").empty() || layers.empty()) {
    out.emplace_back("No layer but the reference ended a race: nothing was judged.");
    return out;
  }
  const auto seeds = search.at("judgement").at(0).at("seeds").get<std::size_t>();
  const auto& judgement = search.at("judgement");
  const bool is_fresh =
      std::all_of(judgement.begin(), judgement.end(), [](const Json& judged) { return judged.at("qualification") == ""; });
  const std::size_t num_judged = found.size() + others.size();
  out.push_back(format_counted(num_judged, "layer") + " of " + count(races.at("finalists")) + " that ended a race " +
                (num_judged == 1 ? "was" : "were") + " judged on " + format_counted(seeds, is_fresh ? "fresh seed" : "seed") +
                ", each at its own rate, corrected for all " + "layers and tasks at " +
                format_percent(search.at("alpha").get<double>(), 0) + ".");
  const auto reference = word_of(search, "reference");
  if (found.empty()) out.push_back("None of them is better than " + reference + " on any task.");
  for (const auto& layer : found)
    out.push_back("Found: " + name_and_formula(search, layer) + ", against " + reference + ": " + finding_of(search, layer) + ".");
  for (const auto& layer : others)
    out.push_back("Not found to be better: " + name_and_formula(search, layer) + ": " + finding_of(search, layer) + ".");
  for (const auto& layer : start)
    out.push_back("Of the start: " + layer + ", against " + reference + ": " + finding_of(search, layer) + ".");
  for (const auto& judged : search.at("judgement"))
    if (const auto why = word_of(judged, "qualification"); !why.empty()) out.push_back(word_of(judged, "task") + ": " + why);
  return out;
}

Table search_verdicts(const Json& search) {
  std::vector<std::string> sizes;
  for (const auto& size : search.at("sizes")) {
    const auto header = "d_model " + dump_json(size.at("d_model"));
    if (std::find(sizes.begin(), sizes.end(), header) == sizes.end()) sizes.push_back(header);
  }
  std::vector<Column> columns{{"layer"}, {"task"}, {"loss"}, {"verdict"}};
  for (const auto& size : sizes) columns.push_back({"at " + size});
  Table table(columns);
  for (const auto& layer : judged_layers(search)) {
    for (const auto& judged : search.at("judgement")) {
      const Json* said = said_of(judged, layer);
      if (!said) continue;
      std::vector<std::string> row{layer, word_of(judged, "task") + (judged.at("seen") ? "" : " (unseen)"), ratio_text(*said),
                                   word_of(*said, "verdict")};
      for (const auto& header : sizes) {
        std::string cell;
        for (const auto& size : search.at("sizes")) {
          const Json* there = size.at("task") == judged.at("task") ? said_of(size, layer) : nullptr;
          if (there && "d_model " + dump_json(size.at("d_model")) == header) cell = word_of(*there, "verdict") + " " + ratio_text(*there);
        }
        row.push_back(cell);
      }
      table.add_row(row);
      if (is_better(said)) table.highlight_last_row();
    }
  }
  return table;
}

Table search_front(const Json& search) {
  Table table({{"layer"},
               {"loss", Align::right},
               {"parameters", Align::right},
               {"FLOPs/token", Align::right},
               {"seconds a run", Align::right},
               {"front"}});
  for (const auto& row : search.at("front")) {
    const bool is_reference = row.at("layer") == search.at("reference");
    table.add_row({word_of(row, "layer"),
                   is_reference                    ? "reference"
                   : row.at("log_ratio").is_null() ? "-"
                                                   : shown_number(100 * std::expm1(row.at("log_ratio").get<double>())) + " %",
                   format_count(row.at("parameters").get<std::int64_t>()), format_count(row.at("flops_per_token").get<std::int64_t>()),
                   format_significant(row.at("seconds").get<double>()), row.at("on_front").get<bool>() ? "yes" : ""});
  }
  return table;
}

std::vector<std::string> family_of_best(const Json& search) {
  const Json& layers = search.at("layers");
  const Json* best = nullptr;
  for (const auto& layer : layers)
    if (layer.contains("mean_rank") && (!best || layer.at("mean_rank") < best->at("mean_rank"))) best = &layer;
  std::vector<std::string> out;
  for (const Json* layer = best; layer; layer = layer->at("parent").is_null() ? nullptr : &layers[layer->at("parent").get<std::size_t>()]) {
    const auto change = word_of(*layer, "change");
    out.push_back(name_and_formula(search, word_of(*layer, "layer")) +
                  (change.empty() ? ": of the start"
                                  : ": " + change + ", generation " + format_count(layer->at("generation").get<std::int64_t>() + 1)));
  }
  return out;
}

std::string search_page(const Json& search, const std::string& version, const std::string& written) {
  using namespace report;
  const auto section = [](const std::string& heading, const std::string& reading, const std::string& body) {
    return "<section><h2>" + escaped(heading) + "</h2>\n" + paragraph(reading, "reading") + body + "</section>\n";
  };
  const auto table_of = [](const Table& table) {
    Numbers numbers;
    for (const auto& column : table.columns()) numbers.headers.push_back(column.header);
    for (const auto& row : table.rows()) {
      numbers.rows.emplace_back();
      for (const auto& cell : row) numbers.rows.back().push_back({cell});
    }
    return html_numbers(numbers);
  };
  const auto question = word_of(search, "question"), name = word_of(search, "search");
  std::string body = "<header><h1>" + escaped(question.empty() ? "The search " + name : question) + "</h1>\n" +
                     paragraph(name + " · written " + written, "meta") + "</header>\n";
  for (const auto& sentence : search_sentences(search)) body += paragraph(sentence);
  body += chart_place("first") + chart_place("charts");
  body += section(
      "Verdicts",
      "Loss: of the layer against " + word_of(search, "reference") +
          " on the same fresh seeds, each at the rate that suits it, with its interval; below 0 % is better. Unseen: no layer raced there.",
      table_of(search_verdicts(search)));
  body += section(
      "Loss against cost",
      "On the front are layers that no other matches in loss (geometric mean over the tasks where losses have ratios), parameters, FLOPs "
      "and time while it is better in one.",
      table_of(search_front(search)));
  std::string family;
  for (const auto& line : family_of_best(search)) family += "<li>" + escaped(line) + "</li>\n";
  body += section("Where the best by its races' ranks came from", "", "<ol>" + family + "</ol>");
  std::string body_of_commands;
  for (const auto& row : search.at("front")) {
    if (search.at("judgement").empty()) break;
    const std::string command = "ffn-train " + word_of(search.at("judgement")[0], "task") + " sweep={} tune={} seeds=1 " +
                                shell_word("model.ffn=" + dump_json(row.at("config")));
    body_of_commands += escaped(command) + "\n";
  }
  body += section("Commands that train each layer", "", "<pre>" + body_of_commands + "</pre>");
  return html_document(name, version, body,
                       {{"search", name},
                        {"reference", search.at("reference")},
                        {"judgement", search.at("judgement")},
                        {"front", search.at("front")},
                        {"layers", search.at("layers")}});
}

}  // namespace ffn
