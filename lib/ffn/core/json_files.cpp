// The files of core/json_document.hpp, with what they extend.
#include "ffn/core/json_document.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/core/files.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxBytes = 4 << 20;  // a study with 10 000 explicit runs fits
constexpr size_t kMaxChain = 64;               // files that extend each other; our longest chain has 3
constexpr size_t kMaxBases = 64;               // of one file
constexpr size_t kMaxFiles = 1000;             // of one config
constexpr const char* kStdin = "-";

// Two names of one file compare equal; a name that leads nowhere is its own.
fs::path identity(const fs::path& path) {
  std::error_code error;
  const auto canonical = fs::canonical(path, error);
  return error ? absolute_path(path) : canonical;
}

// "a.json → b.json → c.json", the first few of them.
std::string chain_text(const std::vector<fs::path>& chain, std::size_t begin, const std::string& last) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = begin; i < chain.size() && i < begin + kShown; ++i) text += chain[i].filename().string() + " → ";
  return text + (chain.size() > begin + kShown ? "… → " : "") + last;
}

// Reads a file and what it extends, each file once.
class Loader {
 public:
  // `pipes`: what the user named may be no regular file; what a file names has to be one.
  const Document& load(const fs::path& path, bool pipes = false) {
    const fs::path name = identity(path);
    if (const auto known = loaded_.find(name); known != loaded_.end()) return known->second;
    const bool from_stdin = pipes && path == kStdin;
    const auto directory = from_stdin ? current_directory() : absolute_path(path).parent_path();
    const auto text =
        pipes ? read_input(path, "config", ExitCode::usage, kMaxBytes) : read_file(path, "config", ExitCode::usage, kMaxBytes);
    auto own = parse_document(text, path.string(), directory.string());
    Document merged;
    if (own.tree().contains("extends")) {
      const Json extends = own.tree()["extends"];
      own.tree().erase("extends");
      chain_.push_back(name);
      if (!extends.is_array()) merged.merge(base(extends, "/extends", own, path));
      else if (extends.size() > kMaxBases)
        refuse(own, path, "/extends", "a list of " + std::to_string(extends.size()) + " bases; at most " + std::to_string(kMaxBases));
      else
        for (size_t i = 0; i < extends.size(); ++i) merged.merge(base(extends[i], "/extends/" + std::to_string(i), own, path));
      chain_.pop_back();
    }
    merged.merge(own);
    return loaded_[name] = std::move(merged);
  }

 private:
  [[noreturn]] static void refuse(const Document& own, const fs::path& path, const std::string& pointer, const std::string& message,
                                  const std::string& hint = {}) {
    throw ConfigError(path.string(), {{own.origin(pointer).text(), pointer, message}}, hint);
  }

  const Document& base(const Json& named, const std::string& pointer, const Document& own, const fs::path& path) {
    if (!named.is_string() || named == "") refuse(own, path, pointer, "expected a path or a list of paths, got " + shortened(named));
    const fs::path base_path = path.parent_path() / named.get<std::string>();  // an absolute path stays itself
    const fs::path name = identity(base_path);
    const std::string last = name.filename().string();
    if (const auto at = std::find(chain_.begin(), chain_.end(), name); at != chain_.end())
      refuse(own, path, pointer,
             "a config cannot extend itself: " + chain_text(chain_, static_cast<std::size_t>(at - chain_.begin()), last));
    if (chain_.size() >= kMaxChain)
      refuse(own, path, pointer, "more than " + std::to_string(kMaxChain) + " files extend one another: " + chain_text(chain_, 0, last));
    if (loaded_.size() + chain_.size() > kMaxFiles)
      refuse(own, path, pointer, "more than " + std::to_string(kMaxFiles) + " files in one config");
    try {
      return load(base_path);
    } catch (const UsageError& error) {  // the base cannot be read; what is wrong inside it is a ConfigError
      refuse(own, path, pointer, error.what(), "a base is looked for relative to the file that names it");
    }
  }

  std::vector<fs::path> chain_;
  std::map<fs::path, Document> loaded_;  // with their bases
};

}  // namespace

Document load_document(const std::string& path) {
  if (path.empty()) throw UsageError("the name of the config is empty", "`ffn-train list configs` names configs to start from");
  return Loader().load(path, /*pipes=*/true);
}

}  // namespace ffn
