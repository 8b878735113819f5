#include "ffn/compare/variant_name.hpp"

#include <sstream>

namespace ffn {

std::vector<std::pair<std::string, std::string>> parts_of_variant(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, '+');) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) return {};
    parts.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return parts;
}

}  // namespace ffn
