#include "ffn/base/error.hpp"

#include <new>

#include "ffn/base/text.hpp"

namespace ffn {

std::string reason_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "not enough memory";
  const std::string reason = error.what();  // "[json.exception.out_of_range.403] key 'step' not found"
  const auto end = reason.find("] ");
  return reason.rfind("[json.exception.", 0) == 0 && end != std::string::npos ? reason.substr(end + 2) : reason;
}

std::string Problem::text() const {
  std::string out;
  if (!place.empty()) out += place + "  ";
  if (!pointer.empty()) out += with_codes(clipped(pointer, 100)) + ": ";
  return out + message;
}

static std::string summary(const std::string& source, const std::vector<Problem>& problems) {
  if (problems.size() == 1) {
    const bool says_where = problems[0].place.compare(0, source.size() + 1, source + ":") == 0;  // as "xor.json:3" does
    return (says_where ? "" : source + ": ") + problems[0].text();
  }
  constexpr std::size_t kShown = 50;  // more than that is no slip but the wrong file
  std::string out = source + ": " + std::to_string(problems.size()) + " problems";
  for (std::size_t i = 0; i < problems.size() && i < kShown; ++i) out += "\n  " + problems[i].text();
  if (problems.size() > kShown) out += "\n  … and " + std::to_string(problems.size() - kShown) + " more";
  return out;
}

ConfigError::ConfigError(const std::string& source, std::vector<Problem> problems, std::string hint)
    : Error(ExitCode::usage, summary(source, problems), std::move(hint)), problems_(std::move(problems)) {}

}  // namespace ffn
