// Run configs from text, and what is wrong with them.
#pragma once

#include <nlohmann/json.hpp>

#include "base/helpers.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/config/run_config.hpp"
#include "ffn/config/study_config.hpp"

namespace ffn::test {

inline RunConfig run_from(const std::string& text) { return read_run_config(parse_document(text, "x.json", "/configs"), "x.json"); }

/// "place  pointer: message" of every problem, one per line; "" if there is none.
template <class Read>
std::string problems_of(const Read& read) {
  const auto error = thrown<ConfigError>(read);
  if (!error) return "";
  std::string out;
  for (const auto& problem : error->problems()) out += (out.empty() ? "" : "\n") + problem.text();
  return out;
}
inline std::string problems_in(const std::string& text) {
  return problems_of([&] { run_from(text); });
}

inline Study study_from(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto document = parse_document(text, "s.json", "/configs");
  apply_overrides(document, overrides);
  return read_study(document, "s.json");
}
inline std::string problems_in_study(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return problems_of([&] { study_from(text, overrides); });
}

/// The run in a file, with overrides; as the program reads it.
inline RunConfig run_from_file(const std::string& file, const std::vector<std::string>& overrides = {}) {
  auto document = load_document(file);
  for (const auto& assignment : overrides) apply_override(document, assignment);
  return read_run_config(document, file);
}

}  // namespace ffn::test
