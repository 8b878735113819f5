// What courses say about feed-forward layers, each claim with numbers that are worked out on the spot. Nothing is trained.
// Depends on pictures, on config's costs and on the fused engine's matrix product.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal_chart.hpp"

namespace ffn::demo {

/// A paragraph, and what it is about.
struct Part {
  std::string text;
  std::vector<std::vector<std::string>> blocks = {};  ///< of lines that stand as they are, such as a matrix
  std::optional<Table> table = std::nullopt;
  std::vector<pictures::TerminalChart> charts = {};
};

struct Demo {
  std::string claim;
  std::vector<Part> parts;
  std::string next;   ///< the command that goes on from here
  JsonValue numbers;  ///< the same for programs
};

struct DemoRow {
  const char *name, *doc;
  Demo (*make)();
};

/// All of them. To add one, write a file here, declare it below and add its row in demo.cpp.
const std::vector<DemoRow>& demos();

Demo linear_demo();
Demo position_demo();
Demo conv_demo();
Demo walk_demo();
Demo count_demo();
Demo activations_demo();

}  // namespace ffn::demo
