#include "ffn/base/suggest.hpp"

#include <algorithm>
#include <cctype>

#include "ffn/base/text.hpp"

namespace ffn {

size_t edit_distance(const std::string& a, const std::string& b) {
  const size_t rows = a.size() + 1, columns = b.size() + 1;
  std::vector<std::vector<size_t>> d(rows, std::vector<size_t>(columns));
  for (size_t i = 0; i < rows; ++i) d[i][0] = i;
  for (size_t j = 0; j < columns; ++j) d[0][j] = j;
  for (size_t i = 1; i < rows; ++i) {
    for (size_t j = 1; j < columns; ++j) {
      const size_t substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// ReLU and relu, D_model and d_model: case is no difference between names.
static std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string nearest(const std::string& typed, const std::vector<std::string>& names) {
  constexpr size_t kLongest = 64;  // longer keys get no suggestion; keeps the table small
  if (typed.empty() || typed.size() > kLongest) return "";
  std::string best;
  size_t best_distance = std::clamp<size_t>(typed.size() / 3, 1, 3) + 1;
  for (const auto& name : names) {
    if (typed.size() == 1 && name.size() == 1) continue;  // any letter is one away from any other
    const size_t distance = edit_distance(lower(typed), lower(name));
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  if (!best.empty() || typed.size() < 3) return best;
  for (const auto& name : names) {
    if (name.rfind(typed, 0) == 0) return name;
  }
  return "";
}

std::string did_you_mean(const std::string& typed, const std::vector<std::string>& names) {
  // "loss" is the end of "train/loss" and of "val/loss".
  std::vector<std::string> ending;
  for (const auto& name : names) {
    const auto slash = name.rfind('/');
    if (slash != std::string::npos && lower(name.substr(slash + 1)) == lower(typed)) ending.push_back("\"" + name + "\"");
  }
  if (!ending.empty()) return "; did you mean " + join(ending, " or ") + "?";
  const auto name = nearest(typed, names);
  return name.empty() ? "" : "; did you mean \"" + name + "\"?";
}

}  // namespace ffn
