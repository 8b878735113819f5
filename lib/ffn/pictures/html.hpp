// Parts of the page: its style, its script, figures and tables. Internal to ffn/pictures.
#pragma once

#include <string>

#include "ffn/pictures/figure.hpp"

namespace ffn::pictures {

std::string page_style();
/// Hover, legends that toggle, axes that switch. The page can be read without it.
const char* page_script();
/// Of a page that is served while runs go on: asks for news and takes them in.
const char* live_script();

std::string html_numbers(const Numbers& numbers);
/// Heading, how to read it, legend, every panel at every scale, notes, and the numbers to be unfolded.
std::string html_figure(const Figure& figure);

}  // namespace ffn::pictures
