// Parts of the page: its style, its script, the data that the script draws, and tables. For pages, here and of ffn/inspect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::report {

using ffn::kPageMark;

/// A whole file around `body`, which needs nothing from elsewhere. `data` is drawn by the script; `rules`: CSS of its own, behind
/// page_style(). A `live` page loads itself again every five seconds.
std::string html_document(const std::string& title, const std::string& version, const std::string& body, const Json& data,
                          const std::string& rules = "", bool live = false);
/// A live page as it stays.
std::string without_reload(const std::string& live_page);
std::string page_style();

/// JSON for a script's element: numbers with four significant digits, texts without controls, and no "<".
std::string page_data(Json data);

/// The place of the script's charts; `id` is "first" or "charts".
std::string chart_place(const std::string& id);

/// For content and quoted attributes of HTML, whatever the text: & < > " ' are named, what is no UTF-8, controls or reorders
/// what is read is '?'.
std::string escaped(const std::string& text);

/// Empty without text.
std::string paragraph(const std::string& text, const char* cls = "");

/// As text for people, and in full for programs where it is a number.
struct Cell {
  std::string text;
  std::optional<double> value = std::nullopt;
};
struct Numbers {
  std::vector<std::string> headers;
  std::vector<std::vector<Cell>> rows;
};
/// "0.31", or what a person is told of a number that is not finite.
Cell number_cell(const std::optional<double>& value, const std::string& absent = "-");
Cell count_cell(double value);
std::string html_numbers(const Numbers& numbers);

}  // namespace ffn::report
