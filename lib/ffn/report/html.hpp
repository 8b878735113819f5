// Parts of the page: its style, its script, figures and tables. For pages, here and of ffn/inspect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ffn/report/figure.hpp"

namespace ffn::pictures {

/// What stands near the beginning of every page, before the version.
inline constexpr const char* kPageMark = "name=\"generator\" content=\"ffn-train";

/// A whole file around `body`, which needs nothing from elsewhere. `rules`: of its own, behind page_style(). `served`: the number of a page
/// without rules of its own that is served while runs go on: it asks for another one every two seconds, and is loaded
/// anew every ten without JavaScript.
std::string html_document(const std::string& title, const std::string& version, const std::string& body, const std::string& rules = "",
                          std::optional<std::uint64_t> served = std::nullopt);

/// What a served page may do, for its Content-Security-Policy: its own style and scripts, and asking where it comes from.
std::string served_policy();

std::string page_style();
/// Hover, legends that toggle, axes that switch. The page can be read without it.
const char* page_script();
/// Of a page that is served while runs go on: asks for news and takes them in.
const char* live_script();

/// The class of a table whose rows go on in further lines in windows that are too narrow for `width` pixels.
std::string stacked_up_to(double width);
std::string html_numbers(const Numbers& numbers);
/// Heading, how to read it, legend, every panel at every scale, notes, and the numbers to be unfolded.
std::string html_figure(const Figure& figure);

}  // namespace ffn::pictures
