// Parts of the page: its style, its script, figures and tables. For pages, here and of ffn/inspect.
#pragma once

#include <string>

#include "ffn/pictures/figure.hpp"

namespace ffn::pictures {

/// A whole file around `body`, which needs nothing from elsewhere. `rules`: of its own, behind page_style().
std::string html_document(const std::string& title, const std::string& version, const std::string& body, const std::string& rules = "");

std::string page_style();
/// Hover, legends that toggle, axes that switch. The page can be read without it.
const char* page_script();

std::string html_numbers(const Numbers& numbers);
/// Heading, how to read it, legend, every panel at every scale, notes, and the numbers to be unfolded.
std::string html_figure(const Figure& figure);

}  // namespace ffn::pictures
