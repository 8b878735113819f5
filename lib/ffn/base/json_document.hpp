// JSON with comments, where every value remembers the file and line it came from.
// nlohmann/json does the parsing; this adds positions, duplicate keys, limits and merging.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ffn/base/error.hpp"
#include "ffn/base/json.hpp"

namespace ffn {

/// The place of a value in its source. Line and column count from 1; 0 if there are none (an override).
struct Origin {
  std::string source;     ///< as the user named it: "configs/xor.json", "override 'train.steps=5'"
  std::string directory;  ///< where relative paths inside this value start
  int line = 0;
  std::int64_t layer = 0;  ///< later layers (a file that extends another, the overrides) lie on top of earlier ones

  std::string text() const;  ///< "configs/xor.json:7"
  bool is_override() const;
};

/// A JSON tree and the origin of each of its values.
class Document {
 public:
  Json& tree() { return *tree_; }
  const Json& tree() const { return *tree_; }

  /// Origin of the value at a JSON pointer, or of its nearest ancestor that has one.
  const Origin& origin(const std::string& pointer) const;
  /// Sets the origin of a replaced value and forgets the origins below it.
  void set_origin(const std::string& pointer, Origin origin);

  /// A layer on top of everything so far, for values that are put there together.
  std::int64_t new_layer() { return ++layers_; }

  /// Lays `over` on top: objects merge key by key, every other value replaces what was there.
  void merge(const Document& over);

 private:
  friend class DocumentBuilder;
  void merge_values(Json& base, const Json& over, const std::string& pointer);
  JsonValue tree_ = JsonValue::object();
  std::map<std::string, Origin> origins_;
  std::int64_t layers_ = 0;  ///< how many lie on top of each other so far
};

/// Parses JSON (// and /* */ comments allowed). `source` is the name used in errors.
/// Throws ConfigError: syntax errors with line and column, every duplicate key, nesting beyond kMaxJsonDepth,
/// text that is not UTF-8 or holds a NUL, an empty file, a top level that is no object. A byte order mark is passed over.
Document parse_document(const std::string& text, const std::string& source, const std::string& directory);

/// Files that are part of the program: path ("configs/xor.json") → text.
using ShippedFiles = std::map<std::string, std::string>;

/// Reads and parses a file, a pipe or, as "-", stdin; resolves its `extends` (a path relative to the file, or a list of them,
/// the last one winning) first; bases have to be regular files, and each is read once. Where there is no file of a name, a shipped
/// one stands in for it; those extend one another. Throws ConfigError, also for a cycle, a chain of more than 64 files and a base
/// that cannot be read; UsageError if the file itself cannot be read.
Document load_document(const std::string& path, const ShippedFiles& shipped = {});

/// Applies one `dotted.path=value`, as a layer of its own. The value is JSON if it parses as such, else a string.
/// Throws UsageError when there is no '=', a path segment is empty or crosses a value that is no object, the value has a
/// duplicate key or too deep a nesting, or the bytes are not UTF-8.
void apply_override(Document& document, const std::string& assignment);

/// An override taken apart: the path before the first '=', what was typed after it, and its name in errors.
struct Override {
  std::string path, typed, shown;
};

/// Throws UsageError when there is no '=' or no path, or the bytes are not UTF-8.
Override split_override(const std::string& assignment);

/// JSON under the rules of a file, or the text itself where it is no JSON. Throws UsageError beginning with `shown`.
Json override_value(const std::string& typed, const std::string& shown);

/// Puts a value at a dotted path, in its origin's layer, making objects on the way. Throws UsageError as apply_override does.
void set_value(Document& document, const std::string& dotted_path, Json value, Origin origin);

/// JSON pointer of a dotted path: "a.b" → "/a/b".
std::string pointer_of(const std::string& dotted_path);

/// Escapes one key for use in a JSON pointer (RFC 6901 §3).
std::string escape_pointer(const std::string& key);

/// A number as a person would write it, to the last digit that counts: "0.95", "2", "1e-05".
std::string number_text(double x);
inline std::string number_text(std::int64_t x) { return std::to_string(x); }

/// Text for a message: at most 40 characters, on one line.
std::string shortened(const Json& value);

}  // namespace ffn
