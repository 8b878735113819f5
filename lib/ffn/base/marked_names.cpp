#include "ffn/base/marked_names.hpp"

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/text.hpp"

namespace ffn {
namespace fs = std::filesystem;

constexpr const char* kResults = "runs";  // where training puts them unless it is told otherwise

bool is_short_identity(const std::string& text) {
  return text.size() == kIdentityDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

fs::path named_directory(const fs::path& path) {
  const fs::path named = path.has_filename() ? path : path.parent_path();
  if (path_exists(named)) return path;
  std::vector<std::string> found;
  const std::string beginning = named.filename().string() + ".";
  for (const auto& entry : entries_of(named.parent_path())) {
    const std::string name = entry.path.filename().string();
    if (name.rfind(beginning, 0) == 0 && is_short_identity(name.substr(beginning.size()))) found.push_back(entry.path.string());
  }
  const fs::path first = path.empty() ? "" : *path.begin();
  if (found.empty() && path.is_relative() && first != "" && first != ".." && first != kResults) {
    const fs::path below = named_directory(kResults / path);
    return path_exists(below) ? below : path;
  }
  if (found.empty()) return path;
  if (found.size() == 1) return found[0];
  throw UsageError(named.string() + " may be any of " + std::to_string(found.size()) + " runs, of different configs: " + join(found),
                   "name one of them");
}

void to_named_directories(std::vector<std::string>& paths) {
  for (auto& path : paths) path = named_directory(path).string();
}

}  // namespace ffn
