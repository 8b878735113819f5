#include "ffn/report/html.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/style.hpp"

namespace ffn::report {

namespace {

constexpr const char *kMain = "<main>", *kLiveMain = "<main data-live>",
                     *kReload = "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n";

std::string colors(bool dark) {
  std::string out;
  for (const auto& color : palette()) out += "--" + std::string(color.name) + ":" + (dark ? color.dark : color.light) + ";";
  return out;
}

// One function: each file sees the names of those before it.
std::string page_script() {
  std::string out;
  for (const char* file :
       {"charts.js", "figures.js", "inspection.js", "comparison.js", "ladder.js", "comparison_details.js", "search.js", "page.js"})
    out += assets().at(file);
  return out;
}

}  // namespace

std::string escaped(const std::string& text) {
  constexpr std::pair<char, const char*> kEntities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string out;
  for (const char c : without_controls(text)) {
    const auto* entity = std::find_if(std::begin(kEntities), std::end(kEntities), [c](const auto& e) { return e.first == c; });
    out += entity == std::end(kEntities) ? std::string(1, c) : entity->second;
  }
  return out;
}

Cell number_cell(const std::optional<double>& value, const std::string& absent) {
  if (!value) return {absent};
  if (std::isinf(*value)) return {"never", *value};
  return {format_significant(*value, 4), *value};
}

Cell count_cell(double value) { return {format_rounded(value), value}; }

std::string paragraph(const std::string& text, const char* cls) {
  return text.empty() ? "" : std::string("<p") + (*cls ? std::string(" class=\"") + cls + "\"" : "") + ">" + escaped(text) + "</p>\n";
}

std::string chart_place(const std::string& id) {
  return "<div id=\"" + id + "\" class=\"figures\"></div>\n<noscript><p class=\"note\">" +
         (id == "first" ? "The charts are drawn by this page's script, and scripts are off. The tables have the numbers." : "") +
         "</p></noscript>\n";
}

std::string html_numbers(const Numbers& numbers) {
  // Cells do not break, or small screens would have towers of words; text that comes to a few lines does. Longer rows of numbers scroll.
  const auto breaks = [](const std::string& text) { return display_width(text) > 30 && display_width(text) <= 100; };
  std::string out = "<div class=\"scroll\"><table class=\"numbers\"><thead><tr>";
  const auto is_numeric = [&](std::size_t column) {
    return std::any_of(numbers.rows.begin(), numbers.rows.end(), [&](const auto& row) { return column < row.size() && row[column].value; });
  };
  std::vector<bool> numeric;
  for (std::size_t k = 0; k < numbers.headers.size(); ++k) {
    numeric.push_back(is_numeric(k));
    out += std::string("<th scope=\"col\"") + (numeric[k] ? " class=\"n\"" : "") + ">" + escaped(numbers.headers[k]) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : numbers.rows) {
    out += "<tr>";
    for (std::size_t k = 0; k < row.size(); ++k) {
      const auto& cell = row[k];
      if (cell.value) out += "<td data-v=\"" + escaped(number_text(*cell.value)) + "\">" + escaped(cell.text) + "</td>";
      else if (k < numeric.size() && numeric[k]) out += "<td class=\"n\">" + escaped(cell.text) + "</td>";
      else out += (breaks(cell.text) ? "<td class=\"long\">" : "<td>") + escaped(cell.text) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>";
}

std::string html_document(const std::string& title, const std::string& version, const std::string& body, const Json& data,
                          const std::string& rules, bool live) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         // Nothing is loaded, whatever a name in it says.
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'unsafe-inline'; img-src data:\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta " +
         std::string(kPageMark) + " " + escaped(version) + "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>" + escaped(title) +
         "</title>\n" + (live ? kReload : "") + "<style>" + page_style() + rules + "</style>\n</head>\n<body>\n" +
         (live ? kLiveMain : kMain) + "\n" + body + "</main>\n<script type=\"application/json\" id=\"data\">" + page_data(data) +
         "</script>\n<script>\"use strict\";\n(() => {\n" + page_script() + "})();</script>\n</body>\n</html>\n";
}

std::string without_reload(const std::string& live_page) { return replaced(replaced(live_page, kReload, ""), kLiveMain, kMain); }

std::string page_style() {
  return ":root{color-scheme:light dark;" + colors(false) + "}@media (prefers-color-scheme:dark){:root{" + colors(true) + "}}" +
         assets().at("charts.css") + shade_rules(Scheme::light) + "@media screen and (prefers-color-scheme:dark){" +
         shade_rules(Scheme::dark) + "}\n" + assets().at("page.css") + "@media print{:root{" + colors(false) + "}}\n";
}

}  // namespace ffn::report
