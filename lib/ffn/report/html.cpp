#include "ffn/report/html.hpp"

#include <algorithm>

#include "ffn/base/json_document.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/report/shades.hpp"
#include "ffn/report/style.hpp"
#include "ffn/report/svg.hpp"

namespace ffn::pictures {

namespace {

constexpr const char *kMain = "<main>", *kLiveMain = "<main data-live>",
                     *kReload = "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n";

std::string colors(bool dark) {
  std::string out;
  for (const auto& color : palette()) out += "--" + std::string(color.name) + ":" + (dark ? color.dark : color.light) + ";";
  return out;
}

std::string legend_swatch(std::size_t series) {
  const double middle = 7;
  std::string out = "<svg width=\"30\" height=\"14\" viewBox=\"0 0 30 14\" aria-hidden=\"true\"><g class=\"" + series_class(series) +
                    "\"><path class=\"l\" transform=\"scale(.1)\" d=\"M0 70L300 70\"/>";
  Svg mark(0, 0, "", "", "");
  mark.marker(marker_of(series), 15, middle, 8);
  const std::string element = mark.element();
  const auto begin = element.find("</desc>") + 7;
  return out + element.substr(begin, element.rfind("</svg>") - begin) + "</g></svg>";
}

// Notes are written to stand behind "note: ", too.
std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

// Which of the drawings is on show: data-x and data-y of the figure say it, the style obeys.
std::string form_classes(const Figure& figure, const Form& form) {
  std::string classes = form.is_wide() ? "form wide" : "form";
  if (figure.x_switch) classes += form.log_x ? " xlog" : " xlin";
  if (figure.y_switch) classes += form.log_y ? " ylog" : " ylin";
  return classes;
}

std::string html_panel(const Figure& figure, std::size_t index) {
  const auto& panel = figure.panels[index];
  std::string out = "<div class=\"panel\">";
  if (!panel.title.empty()) out += "<h3>" + escaped(panel.title) + "</h3>";
  const bool also_wide = figure.wide && figure.panels.size() == 1;
  int number = 0;
  for (const double width : {Form::kNarrow, Form::kWide}) {
    if (width == Form::kWide && !also_wide) continue;
    for (const bool log_x : {false, true}) {
      for (const bool log_y : {false, true}) {
        if ((log_x != figure.log_x && !figure.x_switch) || (log_y != figure.log_y && !figure.y_switch)) continue;
        const Form form{width, log_x, log_y, "f-" + figure.id + "-" + std::to_string(index) + "-" + std::to_string(number++)};
        out += "<div class=\"" + form_classes(figure, form) + "\">" + panel.draw(form, "") + "</div>";
      }
    }
  }
  return out + "</div>\n";
}

}  // namespace

std::string paragraph(const std::string& text, const char* cls) {
  return text.empty() ? "" : std::string("<p") + (*cls ? std::string(" class=\"") + cls + "\"" : "") + ">" + escaped(text) + "</p>\n";
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

std::string html_figure(const Figure& figure) {
  const bool single = figure.wide && figure.panels.size() == 1;
  std::string out = "<figure id=\"" + escaped(figure.id) + "\" class=\"chart" + (single ? " single" : "") + "\" data-x=\"" +
                    (figure.log_x ? "log" : "lin") + "\" data-y=\"" + (figure.log_y ? "log" : "lin") + "\">\n<h2>" +
                    escaped(figure.heading) + "</h2>\n<p class=\"reading\">" + escaped(figure.reading) + "</p>\n";
  if (figure.x_switch || figure.y_switch) {
    out += "<div class=\"switches\" hidden>";
    if (figure.x_switch)
      out += std::string("<label><input type=\"checkbox\" data-axis=\"x\"") + (figure.log_x ? " checked" : "") +
             "> logarithmic x axis</label>";
    if (figure.y_switch)
      out += std::string("<label><input type=\"checkbox\" data-axis=\"y\"") + (figure.log_y ? " checked" : "") +
             "> logarithmic y axis</label>";
    out += "</div>\n";
  }
  if (!figure.legend.empty()) {
    out += "<div class=\"legend\">";
    for (const auto& entry : figure.legend)
      out += "<span class=\"key\" data-series=\"" + std::to_string(entry.series) + "\">" + legend_swatch(entry.series) +
             escaped(entry.name) + "</span>";
    out += "</div>\n";
  }
  out += std::string("<div class=\"panels") + (figure.panels.size() == 4 ? " four" : "") + "\">\n";
  for (std::size_t i = 0; i < figure.panels.size(); ++i) out += html_panel(figure, i);
  out += "</div>\n";
  for (const auto& note : figure.notes) out += "<p class=\"note\">" + escaped(sentence(note)) + "</p>\n";
  if (!figure.numbers.rows.empty()) out += "<details><summary>The numbers</summary>" + html_numbers(figure.numbers) + "</details>\n";
  return out + "</figure>\n";
}

std::string html_document(const std::string& title, const std::string& version, const std::string& body, const std::string& rules,
                          bool live) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         // Nothing is loaded, whatever a name in it says.
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'unsafe-inline'; img-src data:\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta " +
         std::string(kPageMark) + " " + escaped(version) + "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>" + escaped(title) +
         "</title>\n" + (live ? kReload : "") + "<style>" + page_style() + rules + "</style>\n</head>\n<body>\n" +
         (live ? kLiveMain : kMain) + "\n" + body + "</main>\n<script>" + assets().at("page.js") + "</script>\n</body>\n</html>\n";
}

std::string without_reload(const std::string& live_page) { return replaced(replaced(live_page, kReload, ""), kLiveMain, kMain); }

std::string page_style() {
  return ":root{color-scheme:light dark;" + colors(false) + "}@media (prefers-color-scheme:dark){:root{" + colors(true) + "}}" +
         assets().at("charts.css") + shade_rules(Scheme::light) + "@media screen and (prefers-color-scheme:dark){" +
         shade_rules(Scheme::dark) + "}\n" + assets().at("page.css") + "@media print{:root{" + colors(false) + "}}\n";
}

}  // namespace ffn::pictures
