// One way to refuse bad arguments: std::invalid_argument with the values in the text.
#pragma once

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace ffn::stats::detail {

/// Throws std::invalid_argument with all parts streamed into one message.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw std::invalid_argument(text.str());
}

/// Throws unless low < value < high.
inline void check_between(const char* name, double value, double low, double high) {
  if (!(value > low && value < high)) fail(name, " (", value, ") must lie in (", low, ", ", high, ")");
}

/// Throws if the sample has fewer than `smallest` values or holds one that is not finite.
inline void check_sample(const char* what, const std::vector<double>& values, std::size_t smallest = 1) {
  if (values.size() < smallest) fail(what, " needs at least ", smallest, " value(s), got ", values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) fail(what, " needs finite values, value ", i, " is ", values[i]);
}

}  // namespace ffn::stats::detail
