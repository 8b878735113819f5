#include "ffn/core/json_document.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/core/files.hpp"
#include "ffn/core/utf8.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxBytes = 4 << 20;  // a study with 10 000 explicit runs fits
constexpr size_t kMaxChain = 64;               // files that extend each other; our longest chain has 3
constexpr size_t kMaxBases = 64;               // of one file
constexpr size_t kMaxFiles = 1000;             // of one config
constexpr const char* kStdin = "-";

// Feeds the lexer and tells how far it has read; nlohmann's SAX events carry no positions.
class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    auto old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// "x.json:7:12"; columns count characters.
std::string place_of(const std::string& source, const std::string& text, size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  const auto line = std::count(text.begin(), end, '\n') + 1;
  const auto start = std::find(std::make_reverse_iterator(end), text.rend(), '\n').base();
  return source + ":" + std::to_string(line) + ":" + std::to_string(display_width({start, end}) + 1);
}

// "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing value - invalid literal;
// last read: '…'; expected …" without the class, the place, and what was read last, which can be the whole file.
std::string reason_of(const nlohmann::detail::exception& error) {
  std::string reason = error.what();
  const auto syntax = reason.find("syntax error"), bracket = reason.find("] ");
  if (syntax != std::string::npos) reason.erase(0, syntax);
  else if (bracket != std::string::npos) reason.erase(0, bracket + 2);
  const auto read = reason.find("; last read: '"), read_end = reason.rfind('\'');
  if (read != std::string::npos && read_end > read) {
    const auto expected = reason.rfind("; expected ");
    reason.erase(read, expected != std::string::npos && expected > read ? expected - read : read_end + 1 - read);
  }
  return clipped(reason, 200);
}

}  // namespace

// Builds the tree from SAX events; knows the pointer and line of each value.
class DocumentBuilder {
 public:
  DocumentBuilder(const std::string& text, const std::string& source, const std::string& directory, const char** reached)
      : text_(text), source_(source), directory_(directory), reached_(reached), counted_(text.data()) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return without_nul(value) && add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto& level = levels_.back();
    level.key = name;
    level.key_line = line();
    if (!limit_.allows(level.node->size())) {
      problems.push_back({origin().text(), level.pointer,
                          "more than " + std::to_string(kMaxJsonKeys) + " keys in one object" +
                              (level.node->size() < kMaxJsonKeys ? ", or as many in several" : "")});
      return false;
    }
    if (!without_nul(name)) return false;
    if (!level.seen.insert(name).second) {
      const int first = document.origin(child_pointer()).line;
      problems.push_back({origin().text(), child_pointer(),
                          "duplicate key " + shortened(name) + "; it already stands in line " + std::to_string(first) + ", remove one"});
    }
    return true;
  }

  bool parse_error(size_t position, const std::string& /*last_token*/, const nlohmann::detail::exception& error) {
    problems.push_back({place_of(source_, text_, position > 0 ? position - 1 : 0), "", reason_of(error)});
    bad_syntax = true;
    return false;
  }

  Document document;
  std::vector<Problem> problems;
  bool bad_syntax = false;

 private:
  struct Level {
    Json* node;
    std::string pointer, key;
    int key_line = 0;
    std::set<std::string> seen;
  };

  // A number is known to be complete only once the character after it was read; that may be the line's end.
  int line() {
    const char* at = *reached_;
    if (at > text_.data() && at[-1] == '\n') --at;
    line_ += static_cast<int>(std::count(counted_, std::max(at, counted_), '\n'));
    counted_ = std::max(at, counted_);
    return line_;
  }

  // A member stands where its key stands, also when the value begins further down.
  Origin origin() {
    const bool member = !levels_.empty() && levels_.back().node->is_object();
    return {source_, directory_, member ? levels_.back().key_line : line()};
  }

  std::string child_pointer() const {
    const auto& level = levels_.back();
    return level.pointer + "/" + (level.node->is_array() ? std::to_string(level.node->size()) : escape_pointer(level.key));
  }

  Json* place(Json value) {
    const std::string pointer = levels_.empty() ? "" : child_pointer();
    document.origins_[pointer] = origin();
    if (levels_.empty()) return &(*document.tree_ = std::move(value));
    auto& level = levels_.back();
    if (level.node->is_array()) return level.node->push_back(std::move(value)), &level.node->back();
    return &((*level.node)[level.key] = std::move(value));
  }

  bool add(Json value) { return place(std::move(value)), true; }

  bool open(Json empty) {
    if (levels_.size() >= kMaxJsonDepth) {
      problems.push_back({origin().text(), "", "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels"});
      return false;
    }
    const std::string pointer = levels_.empty() ? "" : child_pointer();
    levels_.push_back({place(std::move(empty)), pointer, "", 0, {}});
    return true;
  }

  bool close() { return levels_.pop_back(), true; }

  // A path with one would name another file than it shows.
  bool without_nul(const std::string& text) {
    if (text.find('\0') == std::string::npos) return true;
    problems.push_back({origin().text(), levels_.empty() ? "" : levels_.back().pointer, "a text with a NUL character: " + shortened(text)});
    return false;
  }

  const std::string& text_;
  const std::string& source_;
  const std::string& directory_;
  const char** reached_;
  const char* counted_;
  int line_ = 1;
  std::vector<Level> levels_;
  KeyLimit limit_;
};

namespace {

// The one place where nlohmann's parser meets the builder: compiled twice, it would take twice as long.
bool feed(const std::string& text, const char** reached, DocumentBuilder& builder, bool ignore_comments) {
  const CountingIterator begin(text.data(), reached), end(text.data() + text.size(), reached);
  return Json::sax_parse(begin, end, &builder, nlohmann::detail::input_format_t::json, /*strict=*/true, ignore_comments);
}

}  // namespace

std::string Origin::text() const { return line > 0 ? source + ":" + std::to_string(line) : source; }

Document::Document() : tree_(std::make_unique<Json>(Json::object())) {}
Document::Document(const Document& other) : tree_(std::make_unique<Json>(*other.tree_)), origins_(other.origins_), layers_(other.layers_) {}
Document& Document::operator=(const Document& other) {
  tree_ = std::make_unique<Json>(*other.tree_);
  origins_ = other.origins_;
  layers_ = other.layers_;
  return *this;
}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

const Origin& Document::origin(const std::string& pointer) const {
  for (std::string at = pointer;; at.resize(at.rfind('/'))) {
    const auto found = origins_.find(at);
    if (found != origins_.end()) return found->second;
    if (at.empty()) break;
  }
  static const Origin nowhere;
  return nowhere;
}

void Document::set_origin(const std::string& pointer, Origin origin) {
  const std::string below = pointer + "/";
  auto at = origins_.lower_bound(below);
  while (at != origins_.end() && at->first.compare(0, below.size(), below) == 0) at = origins_.erase(at);
  origins_[pointer] = std::move(origin);
}

void Document::merge_values(Json& base, const Json& over, const std::string& pointer) {
  if (!base.is_object() || !over.is_object()) {
    set_origin(pointer, {});  // forgets those of what is replaced
    base = over;
    return;
  }
  for (const auto& [key, value] : over.items()) merge_values(base[key], value, pointer + "/" + escape_pointer(key));
}

void Document::on_top(const std::string& pointer) { origins_[pointer].layer = ++layers_; }

void Document::merge(const Document& over) {
  merge_values(*tree_, *over.tree_, "");
  for (const auto& [pointer, origin] : over.origins_) {
    if (pointer.empty() && !origins_.empty()) continue;
    origins_[pointer] = origin;
    origins_[pointer].layer += layers_;
  }
  layers_ += over.layers_ + 1;
  if (layers_ > kManyLayers) renumber_layers();
}

// A file that is extended in many ways brings its layers along each time: 2³⁰ after 30 files that extend the next one twice.
// Only their order counts.
void Document::renumber_layers() {
  std::map<int, int> rank;
  for (const auto& [pointer, origin] : origins_) rank[origin.layer] = 0;
  layers_ = 0;
  for (auto& [layer, number] : rank) number = layers_++;
  for (auto& [pointer, origin] : origins_) origin.layer = rank[origin.layer];
}

Document parse_document(const std::string& text, const std::string& source, const std::string& directory) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw ConfigError(source, {{"", "", "the file is empty"}}, "`ffn-train list configs` names configs to start from");
  }
  // The parser would take it for the end.
  if (const auto nul = text.find('\0'); nul != std::string::npos) {
    throw ConfigError(source, {{place_of(source, text, nul), "", "a NUL byte (byte " + std::to_string(nul) + "); a config is plain text"}},
                      "the file is damaged or no text; if it is UTF-16: iconv -f utf-16 -t utf-8 FILE");
  }
  if (const auto offset = first_invalid_utf8(text)) {
    throw ConfigError(source, {{place_of(source, text, *offset), "", "not valid UTF-8 (byte " + std::to_string(*offset) + ")"}},
                      "save the file as UTF-8, for example: iconv -f latin1 -t utf-8 FILE");
  }
  const char* reached = text.data();
  DocumentBuilder builder(text, source, directory, &reached);
  const bool parsed = feed(text, &reached, builder, /*ignore_comments=*/true);
  if (!parsed || !builder.problems.empty()) {
    throw ConfigError(
        source, std::move(builder.problems),
        builder.bad_syntax ? "keys and strings stand in double quotes; entries are separated by commas, with none after the last" : "");
  }
  const Json& tree = builder.document.tree();
  if (!tree.is_object()) {
    throw ConfigError(
        source, {{builder.document.origin("").text(), "", std::string("expected an object { … } at the top, got ") + tree.type_name()}});
  }
  return std::move(builder.document);
}

namespace {

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
  explicit Loader(const ShippedFiles& shipped) : shipped_(shipped) {}

  // What the user named: it may be a pipe, or a shipped file.
  const Document& load_named(const fs::path& path) {
    if (!path_exists(path) && is_shipped(path)) return load_shipped(path.lexically_normal());
    const fs::path name = identity(path);
    const auto directory = path == kStdin ? current_directory() : absolute_path(path).parent_path();
    return with_bases(name, path, parse_document(read_input(path, "config", ExitCode::usage, kMaxBytes), path.string(), directory.string()));
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
      else if (extends.size() > kMaxBases)
        refuse(own, path, "/extends", "a list of " + std::to_string(extends.size()) + " bases; at most " + std::to_string(kMaxBases));
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
    if (loaded_.size() + chain_.size() > kMaxFiles)
      refuse(own, path, pointer, "more than " + std::to_string(kMaxFiles) + " files in one config");
    try {
      return shipped ? load_shipped(shipped_path) : load(base_path);
    } catch (const UsageError& error) {  // the base cannot be read; what is wrong inside it is a ConfigError
      refuse(own, path, pointer, error.what(), "a base is looked for relative to the file that names it");
    }
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

Document load_shipped_document(const std::string& path, const ShippedFiles& shipped) { return Loader(shipped).load_shipped(path); }

std::string escape_pointer(const std::string& key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

std::string pointer_of(const std::string& dotted_path) {
  std::string pointer = "/";
  for (const char c : dotted_path) pointer += c == '.' ? "/" : escape_pointer(std::string(1, c));
  return pointer;
}

Override split_override(const std::string& assignment) {
  if (const auto offset = first_invalid_utf8(assignment)) {
    throw UsageError("an override is not valid UTF-8 at byte " + std::to_string(*offset));
  }
  const std::string shown = "override '" + without_controls(clipped(assignment, 80)) + "'";
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(shown + " has no path and '='", "write it as dotted.path=value, for example train.steps=500");
  }
  return {assignment.substr(0, equals), assignment.substr(equals + 1), shown};
}

Json override_value(const std::string& typed, const std::string& shown) {
  const char* reached = typed.data();
  const char* first_line = typed.data();  // what is typed has no lines
  const std::string nowhere;
  DocumentBuilder builder(typed, nowhere, nowhere, &first_line);
  if (feed(typed, &reached, builder, /*ignore_comments=*/false) && builder.problems.empty()) return builder.document.tree();
  if (builder.bad_syntax) return typed;
  throw UsageError(shown + ": " + builder.problems[0].message);
}

void apply_override(Document& document, const std::string& assignment) {
  const auto [path, typed, shown] = split_override(assignment);
  set_value(document, path, override_value(typed, shown), {shown, current_directory().string(), 0});
}

static std::vector<std::string> path_segments(const std::string& path, const std::string& shown) {
  std::vector<std::string> segments;
  for (size_t start = 0; start <= path.size();) {
    const auto dot = std::min(path.find('.', start), path.size());
    segments.push_back(path.substr(start, dot - start));
    if (segments.back().empty()) throw UsageError(shown + " has an empty path segment");
    start = dot + 1;
  }
  if (segments.size() > kMaxJsonDepth) throw UsageError(shown + ": nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  return segments;
}

void set_value(Document& document, const std::string& path, Json value, Origin origin) {
  Json* node = &document.tree();
  std::string walked;
  for (const auto& segment : path_segments(path, origin.source)) {
    if (node->is_null()) {
      *node = Json::object();
      document.set_origin(pointer_of(walked), origin);
    }
    if (!node->is_object()) {
      throw UsageError(origin.source + ": " + walked + " is " + shortened(*node) + ", so it has no key " + shortened(segment));
    }
    node = &(*node)[segment];
    walked += (walked.empty() ? "" : ".") + segment;
  }
  *node = std::move(value);
  document.set_origin(pointer_of(path), std::move(origin));
  document.on_top(pointer_of(path));
}

std::string number_text(double x) {
  std::string text = dump_json(x);
  if (text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text;
}

std::string shortened(const Json& value) { return clipped(dump_json_lossy(value), 40); }

}  // namespace ffn
