// Parts of the page: its style, its script, figures and tables. For pages, here and of ffn/inspect.
#pragma once

#include <string>

#include "ffn/report/figure.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::pictures {

using ffn::kPageMark;

/// A whole file around `body`, which needs nothing from elsewhere. `rules`: CSS of its own, behind page_style(). A `live` page loads itself
/// again every five seconds.
std::string html_document(const std::string& title, const std::string& version, const std::string& body, const std::string& rules = "",
                          bool live = false);
/// A live page as it stays.
std::string without_reload(const std::string& live_page);
std::string page_style();

/// Empty without text.
std::string paragraph(const std::string& text, const char* cls = "");
std::string html_numbers(const Numbers& numbers);
/// Heading, how to read it, legend, every panel at every scale, notes, and the numbers to be unfolded.
std::string html_figure(const Figure& figure);

}  // namespace ffn::pictures
