// Small tables in files, and the errors that they give.
#pragma once

#include "base/helpers.hpp"
#include "ffn/data/csv.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/table.hpp"

namespace tables {

using namespace ffn;
using namespace ffn::test;

inline std::string csv_error(const std::string& text) {
  return message<DataError>([&] { parse_csv(text, {}, "t.csv"); });
}

/// A file that lives as long as the test program.
inline TableConfig table_of(const std::string& text, const std::string& label, const std::string& target = "") {
  static const ScratchDirectory scratch;
  static int count = 0;
  TableConfig config;
  config.file = scratch.write("t" + std::to_string(count++) + ".csv", text);
  config.label = label;
  config.target = target;
  return config;
}

inline std::string refusal(const TableConfig& config) {
  const auto error = thrown<DataError>([&] { make_task(config, {{1, 2}}); });
  return error ? std::string(error->what()) + " | " + error->hint() : "nothing was thrown";
}

}  // namespace tables
