// Every step of a network, as text for the terminal.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/terminal.hpp"
#include "inspect_text.hpp"

namespace ffn::app {

using namespace inspect;

namespace {

// "0" is exactly 0.
std::string cell_number(double x) {
  constexpr double kHuge = 1e5;  // with two decimals beyond the column
  if (x == 0 || !std::isfinite(x)) return x == 0 ? "0" : "-";
  if (std::abs(x) >= kHuge) return shown_number(x, std::abs(x) < 1e6 ? 1 : 2);
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", std::abs(x));
  return (x < 0 ? "−" : "") + std::string(text);
}

// A line in as many as it takes, its blanks kept.
void print_line(const std::string& line, int hanging) { std::cout << wrapped(line + "\n", terminal_width_of(1), hanging); }

void print_step(const TraceStep& step) {
  constexpr std::int64_t kMostNumbers = 32;
  std::cout << "\n";
  print_line(step.meaning + ": " + step.name + "   (" + std::to_string(step.rows.size()) + ", " + std::to_string(step.width) + ")", 2);
  std::size_t label = 0;
  for (const auto& row : step.rows) label = std::max(label, display_width(row));
  std::size_t column = 7;
  for (const double x : step.values) column = std::max(column, display_width(cell_number(x)) + 1);
  const int width = terminal_width_of(1);
  const std::int64_t room = (width <= 0 ? 80 : width) - static_cast<std::int64_t>(label);
  const auto in_line = std::max<std::int64_t>(1, room / static_cast<std::int64_t>(column));
  const std::int64_t shown = std::min(step.width, kMostNumbers);
  for (std::size_t r = 0; r < step.rows.size(); ++r) {
    std::string line = step.rows[r] + std::string(label - display_width(step.rows[r]), ' ');
    for (std::int64_t k = 0; k < shown; ++k) {
      if (k > 0 && k % in_line == 0) {
        std::cout << line << "\n";
        line = std::string(label, ' ');
      }
      const auto number = cell_number(step.values[r * static_cast<std::size_t>(step.width) + static_cast<std::size_t>(k)]);
      line += std::string(column - display_width(number), ' ') + number;
    }
    std::cout << line << "\n";
  }
  if (shown < step.width) print_line("… and " + std::to_string(step.width - shown) + " more in each row; --json has all", 2);
}

}  // namespace

void print_trace(const Trace& trace, const Inputs& inputs, const ModelConfig& model) {
  const std::string tokens = std::to_string(trace.tokens.size()) + (trace.tokens.size() == 1 ? " token" : " tokens");
  if (std::holds_alternative<NoFfnConfig>(model.ffn))
    print_paragraph(tokens + " through a model without a feed-forward layer: there are no steps to show" +
                    (model.attention ? "; where its attention looks is in --json and -o." : "."));
  else
    print_paragraph(tokens + " through " + layer_text(model) + ". Row by row, each token goes through the feed-forward layer by itself" +
                    (model.attention ? "; only attention, before it, mixes them." : ".") + " A 0 is exactly 0.");
  for (const auto& note : trace.notes) print_paragraph("note: " + note);
  for (std::size_t b = 0; b < trace.blocks.size(); ++b) {
    if (trace.blocks.size() > 1 && !trace.blocks[b].steps.empty()) print_heading("Block " + std::to_string(b));
    for (const auto& step : trace.blocks[b].steps) {
      print_step(step);
      if (&step != &trace.blocks[b].steps.front() || trace.blocks[b].routes.empty()) continue;
      std::cout << "\n";
      for (const auto& route : trace.blocks[b].routes) print_text(route);
    }
  }
  std::size_t label = 0;
  for (const auto& token : trace.tokens) label = std::max(label, display_width(token));
  print_heading("What the network says");
  for (std::size_t n = 0; n < trace.tokens.size(); ++n)
    print_line(
        trace.tokens[n] + std::string(label - display_width(trace.tokens[n]) + 2, ' ') + "→  " + join(trace.outcome_names(n, inputs)),
        static_cast<int>(label) + 5);
}

}  // namespace ffn::app
