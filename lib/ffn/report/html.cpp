#include "ffn/report/html.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "ffn/base/hash.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/report/shades.hpp"
#include "ffn/report/style.hpp"
#include "ffn/report/svg.hpp"

namespace ffn::pictures {

namespace {

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

constexpr int kStackedUpTo[] = {720, 745,  770,  795,  820,  845,  870,  900,  930,
                                960, 1000, 1040, 1080, 1140, 1200, 1260, 1350, 1440};  // windows, in pixels

std::string stack_class(int width) { return "stack-" + std::to_string(width); }

// A row in as many lines as it takes, each cell behind the name of its column.
std::string stacking_rules() {
  std::string out;
  for (const int most : kStackedUpTo) {
    const std::string table = "." + stack_class(most), from = std::to_string(most + 1), to = std::to_string(most);
    const auto rule = [&](std::initializer_list<const char*> parts, const char* what) {
      std::string selectors;
      for (const auto* part : parts) selectors += (selectors.empty() ? "" : ",") + table + part;
      return selectors + "{" + what + "}";
    };
    out += "@media (min-width:" + from + "px){" + rule({" .again"}, "color:transparent") + "}@media (max-width:" + to + "px){" +
           rule({" thead th:not(.bar)"}, "display:none") + rule({"", " thead", " tbody"}, "display:block") +
           rule({" th.bar"}, "border:0;padding:0") +
           rule({" tr"}, "display:flex;flex-wrap:wrap;gap:0 14px;border-top:1px solid var(--grid);padding:6px 0") +
           rule({" td", " tr.first td"}, "border:0;padding:0;text-align:left") + rule({" td:empty"}, "display:none") +
           rule({" td[data-h]::before"}, "content:attr(data-h) \": \";color:var(--quiet);font-weight:400") +
           rule({" td.bar"}, "flex:0 0 100%;margin:2px 0") + "}\n";
  }
  return out;
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

// How a policy names an inline style or script: by its SHA-256, in base64.
std::string source_of(const std::string& content) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256_hex(content);
  std::string out = "'sha256-";
  for (std::size_t at = 0; at < hex.size(); at += 3) {  // three digits are two of base64; the last of 64 has a partner of zeros
    const unsigned long bits = std::strtoul((hex.substr(at, 3) + "00").substr(0, 3).c_str(), nullptr, 16);
    out += kDigits[bits >> 6];
    if (at + 3 <= hex.size()) out += kDigits[bits & 63];
  }
  return out + "='";
}

}  // namespace

std::string stacked_up_to(double width) {
  for (const int most : kStackedUpTo) {
    if (most >= width) return stack_class(most);
  }
  return stack_class(*std::rbegin(kStackedUpTo));
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

std::string served_policy() {
  return "default-src 'none'; style-src " + source_of(page_style()) + "; script-src " + source_of(page_script()) + " " +
         source_of(live_script()) + "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'";
}

std::string html_document(const std::string& title, const std::string& version, const std::string& body, const std::string& rules,
                          std::optional<std::uint64_t> served) {
  // Nothing is loaded, whatever a name in it says.
  const std::string policy =
      served ? served_policy() : "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
  const std::string main = served ? "<main data-version=\"" + std::to_string(*served) + "\">" : "<main>";
  const std::string again = served ? "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n" : "";
  const std::string live = served ? std::string("<script>") + live_script() + "</script>\n" : "";
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"" +
         policy +
         "\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta " +
         std::string(kPageMark) + " " + escaped(version) + "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>" + escaped(title) +
         "</title>\n" + again + "<style>" + page_style() + rules + "</style>\n</head>\n<body>\n" + main + "\n" + body +
         "</main>\n<script>" + page_script() + "</script>\n" + live + "</body>\n</html>\n";
}

std::string page_style() {
  return ":root{color-scheme:light dark;" + colors(false) + "}@media (prefers-color-scheme:dark){:root{" + colors(true) + "}}" +
         chart_rules() + shade_rules(Scheme::light) + "@media screen and (prefers-color-scheme:dark){" + shade_rules(Scheme::dark) + "}" +
         R"css(*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1484px;margin:0 auto;padding:24px 16px 48px}h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:0 0 2px}h3{font-size:.9rem;margin:0 0 4px;overflow-wrap:anywhere}
p{margin:0 0 10px;max-width:78ch}p,li{overflow-wrap:anywhere}.meta,.reading,.note,.caption{color:var(--quiet);font-size:.9rem}.answer{font-size:1.15rem;background:var(--panel);border-left:4px solid var(--series0);padding:12px 16px;margin:16px 0;border-radius:4px;max-width:1084px}
section,figure{margin:32px 0 0;padding:0;break-inside:avoid}figure.chart{break-inside:auto}.panel{break-inside:avoid}.panels{display:flex;flex-wrap:wrap;gap:20px}.panels.four{max-width:716px}.panel{flex:0 0 auto}
svg{display:block;max-width:100%;height:auto;overflow:visible}.legend{display:flex;flex-wrap:wrap;gap:4px 14px;margin:0 0 8px;font-size:.9rem}.key{display:inline-flex;align-items:center;gap:5px;max-width:100%;overflow-wrap:anywhere}
button.key{font:inherit;color:inherit;background:none;border:1px solid transparent;border-radius:4px;padding:1px 5px;margin:0 -6px;cursor:pointer}button.key:hover{border-color:var(--axis)}button.key[aria-pressed=false]{text-decoration:line-through;opacity:.6}
.switches{display:flex;gap:16px;font-size:.9rem;margin:0 0 6px}.switches[hidden]{display:none}.switches label{cursor:pointer}
/* Of a panel's drawings one is on show: each rule hides, none shows. */
[data-x=lin] .xlog,[data-x=log] .xlin,[data-y=lin] .ylog,[data-y=log] .ylin{display:none}@media (max-width:779px){.single .wide{display:none}}@media (min-width:780px){.single .form:not(.wide){display:none}}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}th,td{text-align:left;padding:3px 14px 3px 0;vertical-align:middle;border-bottom:1px solid var(--grid)}th{font-weight:600;color:var(--quiet);vertical-align:bottom}
td.n,th.n,.numbers td[data-v]{text-align:right;white-space:nowrap}tr.first td{padding-top:8px}.decided{font-weight:600}.numbers td:not(.long){white-space:nowrap}.numbers td.long{min-width:14em}.scroll{overflow-x:auto;max-width:100%}
details{margin:6px 0}summary{cursor:pointer;color:var(--link);font-size:.9rem}pre{background:var(--panel);padding:10px 12px;overflow-x:auto;border-radius:4px;font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere}
td.key-name,td.long{overflow-wrap:anywhere;min-width:9em}dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:0;font-size:.9rem}dt{color:var(--quiet)}dd{margin:0;overflow-wrap:anywhere}
#tip{position:absolute;z-index:2;pointer-events:none;background:var(--panel);color:var(--text);border:1px solid var(--axis);border-radius:4px;padding:4px 8px;font-size:12px;line-height:1.4;white-space:pre;box-shadow:0 1px 4px #0003}#tip[hidden]{display:none}
td.bar svg,th.bar svg{min-width:260px}@media (max-width:720px){dl{grid-template-columns:1fr}dt{margin-top:6px}}
)css" + stacking_rules() +
         R"css(@media print{:root{color-scheme:light;)css" + colors(false) +
         R"css(}body{-webkit-print-color-adjust:exact;print-color-adjust:exact;font-size:11pt}main{max-width:none;padding:0}.switches,#tip{display:none!important}details::details-content{content-visibility:visible;block-size:auto}summary{color:var(--quiet)}}
)css";
}

}  // namespace ffn::pictures
