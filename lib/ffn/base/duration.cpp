#include "ffn/base/duration.hpp"

#include <cstdlib>
#include <regex>

namespace ffn {

std::optional<double> seconds_in(const std::string& text) {
  static const std::regex form("(?:([0-9.]+)d)?(?:([0-9.]+)h)?(?:([0-9.]+)m)?(?:([0-9.]+)s)?");
  std::smatch parts;
  if (!std::regex_match(text, parts, form)) return std::nullopt;
  constexpr double kSeconds[] = {86400, 3600, 60, 1};
  double seconds = 0;
  for (std::size_t i = 0; i < 4; ++i) seconds += kSeconds[i] * std::atof(parts[i + 1].str().c_str());
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace ffn
