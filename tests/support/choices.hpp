// What a run config lets one choose, from the lists that describe it.
#pragma once

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "ffn/config/run_config.hpp"
#include "ffn/config/schema.hpp"

namespace ffn::test {

/// Every choice, kind and flag of a run config with its values, by path: "model.ffn" or "model.ffn[moe].gated".
inline const std::map<std::string, std::vector<std::string>>& all_choices() {
  static const auto all = [] {
    std::map<std::string, std::vector<std::string>> out;
    RunConfig config;
    for (const auto& key : key_docs([&](FieldVisitor& v) { config.describe(v); })) {
      const std::string kinds = key.allowed.rfind("kind: ", 0) == 0 ? key.allowed.substr(6) : "";
      std::istringstream words(key.type == "true/false" ? "true, false" : key.type == "choice" ? key.allowed : kinds);
      for (std::string word; words >> word;) {
        word.erase(std::remove(word.begin(), word.end(), ','), word.end());
        out[key.path].push_back(word);
      }
    }
    return out;
  }();
  return all;
}

inline const std::vector<std::string>& choices(const std::string& path) {
  const auto found = all_choices().find(path);
  if (found == all_choices().end()) throw std::out_of_range("no choice at " + path);
  return found->second;
}

}  // namespace ffn::test
