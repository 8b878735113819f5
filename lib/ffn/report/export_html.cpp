#include <nlohmann/json.hpp>
#include <sstream>

#include "ffn/report/answer.hpp"
#include "ffn/report/answer_tables.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/export.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/html.hpp"
#include "ffn/report/page.hpp"
#include "ffn/report/style.hpp"

namespace ffn::report {

namespace {

std::string section(const std::string& id, const std::string& heading, const std::string& body) {
  return body.empty() ? "" : "<section id=\"" + id + "\"><h2>" + escaped(heading) + "</h2>\n" + body + "</section>\n";
}

std::string cell(const std::string& header, const std::string& text, const char* cls) {
  return std::string("<td") + (*cls ? std::string(" class=\"") + cls + "\"" : "") + " data-h=\"" + escaped(header) + "\">" + escaped(text) +
         "</td>";
}

std::string head_cell(const std::string& text, const char* cls = "") {
  return std::string("<th scope=\"col\"") + (*cls ? std::string(" class=\"") + cls + "\"" : "") + ">" + escaped(text) + "</th>";
}

// The short table.
std::string table_html(const Comparison& c, const AnswerTable& table) {
  const auto is_number = [](const AnswerColumn& column) { return column.align == Align::right && column.shows != Shows::key; };
  const auto cell_of = [&](const AnswerColumn& column, const AnswerRow& row) -> std::string {
    const bool is_reference = row.group->value == c.reference;
    if (!row.pair && column.shows == Shows::difference && is_reference) return "<td class=\"n\">reference</td>";
    if (!row.pair && (column.shows == Shows::difference || column.shows == Shows::verdict)) return "<td></td>";
    return cell(column.header, column.text(row),
                is_number(column)                                           ? "n"
                : column.shows == Shows::key && !row.starts_facet           ? "again"
                : column.shows == Shows::verdict && is_different(*row.pair) ? "decided"
                                                                            : "");
  };
  std::string out = "<p class=\"caption\">" + escaped(table.caption) + ".</p>\n<div class=\"scroll\"><table class=\"short\"><thead><tr>";
  for (const auto& column : table.columns) out += head_cell(column.header, is_number(column) ? "n" : "");
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += std::string("<tr") + (row.starts_facet ? " class=\"first\"" : "") + ">";
    for (const auto& column : table.columns) out += cell_of(column, row);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string list_table(const std::vector<std::string>& headers, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (const auto& header : headers) out += head_cell(header);
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const auto& text : row) out += (text.size() > 12 ? "<td class=\"long\">" : "<td>") + escaped(text) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

// Escaped, its line breaks kept.
std::string lines(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out += escaped(line) + "\n";
  return out;
}

std::string lost_section(const ReportFacts& facts) {
  if (facts.lost.empty()) return section("lost", "Failed and diverged runs", paragraph("None: every finished run ended well."));
  constexpr std::size_t kMostShown = 8, kMostListed = 500;
  std::vector<std::vector<std::string>> shown, listed;
  for (const auto& run : facts.lost) {
    auto& rows = shown.size() < kMostShown ? shown : listed;
    if (rows.size() < kMostListed) rows.push_back({run.path, run.state, run.reason});
  }
  const std::size_t more = facts.lost.size() - shown.size();
  std::string body = paragraph(
      "All of them count in the comparison: each as worse than every run that ended well, except that a target which it had reached "
      "counts as reached.");
  body += list_table({"run", "state", "why"}, shown);
  if (more > 0)
    body += "<details><summary>" + format_count(static_cast<std::int64_t>(more)) + " more</summary>" +
            list_table({"run", "state", "why"}, listed) +
            (more > listed.size() ? paragraph("The first " + std::to_string(kMostListed) + " of these.") : "") + "</details>\n";
  return section("lost", "Failed and diverged runs", body);
}

std::string notes_section(const Comparison& c) {
  std::string body;
  for (const auto& note : c.notes) body += "<li>" + escaped(note) + "</li>\n";
  return body.empty() ? "" : section("notes", "Notes", "<ul>" + body + "</ul>\n");
}

std::string more_section(const Comparison& c) {
  std::string body;
  for (const auto& more : more_tables(c)) {
    std::vector<std::string> headers;
    for (const auto& column : more.columns) headers.push_back(column.header);
    body += paragraph(more.caption, "caption") + list_table(headers, more.plain().rows());
  }
  return body.empty() ? "" : "<section id=\"more\">" + body + "</section>\n";
}

std::string claims_section(const Comparison& c) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& e : c.history.claims) rows.push_back({claim_text(e), outcome_of(e), e.found});
  return rows.empty() ? "" : section("claims", "Claims", list_table({"claim", "outcome", "found"}, rows));
}

std::string origin_sections(const ReportFacts& facts) {
  std::vector<std::vector<std::string>> varying;
  for (const auto& [key, values] : facts.varying) varying.push_back({key, values});
  std::string out =
      section("varying", "What varies between the runs",
              varying.empty() ? paragraph("Nothing but the seed.")
                              : paragraph("All other values of the configs are the same.") + list_table({"key", "values"}, varying));
  std::string list;
  for (const auto& [name, value] : facts.environment) list += "<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>\n";
  if (!list.empty()) out += section("environment", "Where it was trained", "<dl>" + list + "</dl>\n");
  std::string commands;
  for (const auto& command : facts.commands) commands += escaped(command) + "\n";
  if (!facts.config.empty())
    commands =
        "<pre>" + commands + "</pre>\n<details><summary>The study's config as it was trained</summary>" +
        paragraph("Saved as a file, it trains the same study with ffn-train --config FILE, even where the file named above has changed.",
                  "reading") +
        "<pre>" + lines(facts.config) + "</pre></details>\n";
  else if (!commands.empty()) commands = "<pre>" + commands + "</pre>\n";
  out += section("commands", "Commands that reproduce it", commands);
  return out;
}

// Title, question and where it comes from; `state` is how far it is.
std::string header_of(const ReportFacts& facts, const std::string& state) {
  std::string out = "<header><h1>" + escaped(facts.question.empty() ? facts.title : facts.question) + "</h1>\n";
  if (!facts.source.empty()) out += paragraph("Source of the question: " + facts.source, "meta");
  return out + paragraph((facts.question.empty() ? "" : facts.title + " · ") + state + " · written " + facts.written, "meta") +
         "</header>\n";
}

// "240 runs", or how far they are.
std::string runs_text(const ReportFacts& facts) {
  const std::string all = format_count(static_cast<std::int64_t>(facts.num_runs)) + " runs";
  if (facts.num_ended >= facts.num_runs) return all;
  return format_count(static_cast<std::int64_t>(facts.num_ended)) + " of " + all + " have ended, " +
         format_percent(facts.done / static_cast<double>(facts.num_runs), 0) + " of the steps are done" +
         (facts.seconds_left ? ", about " + format_duration(*facts.seconds_left) + " left" : "");
}

}  // namespace

std::string waiting_page(const ReportFacts& facts) {
  const std::string body =
      header_of(facts, "no run yet") +
      "<p class=\"answer\" id=\"answer\">No run has begun yet. This page shows the study as soon as the first one has.</p>\n";
  return html_document(facts.title, facts.version, body, Json::object(), "", /*live=*/true);
}

}  // namespace ffn::report

namespace ffn {

std::string export_html(const Comparison& c, const Json& data, const report::ReportFacts& facts, bool live) {
  using namespace report;
  const std::string answer = answer_text(c);
  std::string out = header_of(facts, runs_text(facts)) + "<p class=\"answer\" id=\"answer\">" +
                    escaped(answer.empty() ? "There is nothing to compare yet." : answer) + "</p>\n" +
                    paragraph(conditions_text(c), "meta") + chart_place("first") + "<section id=\"table\">" +
                    table_html(c, short_table(c)) + "</section>\n" + chart_place("charts") + "<div class=\"columns\">\n" + more_section(c) +
                    claims_section(c) + notes_section(c) + lost_section(facts) + origin_sections(facts) + "</div>\n";
  return html_document(facts.title, facts.version, out, data, "", live);
}

}  // namespace ffn
