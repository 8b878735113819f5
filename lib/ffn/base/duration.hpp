// Times as people write them: "90s", "30m", "2h30m", "1d".
#pragma once

#include <optional>
#include <string>

namespace ffn {

/// Seconds, above 0; nothing for another text.
std::optional<double> seconds_in(const std::string& text);

}  // namespace ffn
