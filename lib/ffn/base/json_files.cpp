// The files of base/json_document.hpp, with what they extend.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/json_document.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxBytes = 4 << 20;  // a study with 10 000 explicit runs fits
constexpr size_t kMaxChain = 64;               // files that extend each other; our longest chain has 3
constexpr const char* kStdin = "-";

// Two names of one file compare equal; a name that leads nowhere is its own.
fs::path identity(const fs::path& path) {
  std::error_code error;
  const auto canonical = fs::canonical(path, error);
  return error ? absolute_path(path) : canonical;
}

// "a.json → b.json → c.json"
std::string chain_text(const std::vector<fs::path>& chain, std::size_t begin, const std::string& last) {
  std::string text;
  for (std::size_t i = begin; i < chain.size(); ++i) text += chain[i].filename().string() + " → ";
  return text + last;
}

// Reads a file and what it extends, each file once.
class Loader {
 public:
  explicit Loader(const ShippedFiles& shipped) : shipped_(shipped) {}

  // Loads a file that the user named: it may be a pipe, or a shipped file.
  const Document& load_named(const fs::path& path) {
    if (is_shipped(path) && !path_exists(path)) return load_shipped(path.lexically_normal());
    const fs::path name = identity(path);
    const auto directory = path == kStdin ? current_directory() : absolute_path(path).parent_path();
    return with_bases(name, path,
                      parse_document(read_input(path, "config", ExitCode::usage, kMaxBytes), path.string(), directory.string()));
  }

  const Document& load_shipped(const fs::path& path) {
    const fs::path name = "shipped " + path.string();  // no file's identity: those are absolute
    if (const auto known = loaded_.find(name); known != loaded_.end()) return known->second;
    return with_bases(name, path, parse_document(shipped_.at(path.string()), name.string(), current_directory().string()));
  }

 private:
  const Document& load(const fs::path& path) {
    const fs::path name = identity(path);
    if (const auto known = loaded_.find(name); known != loaded_.end()) return known->second;
    const auto text = read_file(path, "config", ExitCode::usage, kMaxBytes);
    return with_bases(name, path, parse_document(text, path.string(), absolute_path(path).parent_path().string()));
  }

  bool is_shipped(const fs::path& path) const { return shipped_.count(path.lexically_normal().string()) > 0; }

  const Document& with_bases(const fs::path& name, const fs::path& path, Document own) {
    Document merged;
    if (own.tree().contains("extends")) {
      const Json extends = own.tree()["extends"];
      own.tree().erase("extends");
      chain_.push_back(name);
      if (!extends.is_array()) merged.merge(base(extends, "/extends", own, path));
      else
        for (size_t i = 0; i < extends.size(); ++i) merged.merge(base(extends[i], "/extends/" + std::to_string(i), own, path));
      chain_.pop_back();
    }
    merged.merge(own);
    return loaded_[name] = std::move(merged);
  }

  [[noreturn]] static void refuse(const Document& own, const fs::path& path, const std::string& pointer, const std::string& message,
                                  const std::string& hint = {}) {
    throw ConfigError(path.string(), {{own.origin(pointer).text(), pointer, message}}, hint);
  }

  const Document& base(const Json& named, const std::string& pointer, const Document& own, const fs::path& path) {
    if (!named.is_string() || named == "") refuse(own, path, pointer, "expected a path or a list of paths, got " + shortened(named));
    const std::string text = named.get<std::string>();
    const fs::path base_path = path.parent_path() / expand_home(text);  // an absolute path stays itself
    const bool by_shipped = chain_.back().is_relative();
    const bool shipped = by_shipped ? is_shipped(base_path) : is_shipped(text) && !path_exists(base_path);
    const fs::path shipped_path = (by_shipped ? base_path : fs::path(text)).lexically_normal();
    const fs::path name = shipped ? fs::path("shipped " + shipped_path.string()) : identity(base_path);
    const std::string last = name.filename().string();
    if (const auto at = std::find(chain_.begin(), chain_.end(), name); at != chain_.end())
      refuse(own, path, pointer,
             "a config cannot extend itself: " + chain_text(chain_, static_cast<std::size_t>(at - chain_.begin()), last));
    if (chain_.size() >= kMaxChain)
      refuse(own, path, pointer, "more than " + std::to_string(kMaxChain) + " files extend one another: " + chain_text(chain_, 0, last));
    try {
      return shipped ? load_shipped(shipped_path) : load(base_path);
    } catch (const UsageError& error) {  // the base cannot be read; mistakes inside it are ConfigErrors
      refuse(own, path, pointer, error.what() + shipped_names(base_path), "a base is looked for relative to the file that names it");
    }
  }

  // "; the shipped one is "configs/xor.json"", for "xor" or "xor.json".
  std::string shipped_names(const fs::path& missing) const {
    for (const auto& [name, content] : shipped_) {
      const fs::path known = name;
      if (known.filename() == missing.filename() || known.stem() == missing.filename())
        return "; the shipped one is \"extends\": \"" + name + "\"";
    }
    return "";
  }

  const ShippedFiles& shipped_;
  std::vector<fs::path> chain_;
  std::map<fs::path, Document> loaded_;  // with their bases
};

}  // namespace

Document load_document(const std::string& path, const ShippedFiles& shipped) {
  if (path.empty()) throw UsageError("the name of the config is empty", "`ffn-train list configs` names configs to start from");
  return Loader(shipped).load_named(path);
}

}  // namespace ffn
