// The parser of base/json_document.hpp.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/json_document.hpp"
#include "ffn/base/text.hpp"

namespace ffn {

namespace {

// Keys that an object of a config may have: a key is found by looking at all before it, and ours have 30.
constexpr std::size_t kMaxJsonKeys = 4096;

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
std::string bare_reason(const nlohmann::detail::exception& error) {
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
    if (!without_nul(name)) return false;
    if (!level.seen.insert(name).second) {
      const int first = document.origin(child_pointer()).line;
      problems.push_back({origin().text(), child_pointer(),
                          "duplicate key " + shortened(name) + "; first used in line " + std::to_string(first) + ", remove one"});
    }
    if (level.seen.size() <= kMaxJsonKeys) return true;
    problems.push_back({origin().text(), level.pointer, "more than " + std::to_string(kMaxJsonKeys) + " keys in one object"});
    return false;
  }

  bool parse_error(size_t position, const std::string& /*last_token*/, const nlohmann::detail::exception& error) {
    problems.push_back({place_of(source_, text_, position > 0 ? position - 1 : 0), "", bare_reason(error)});
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
};

namespace {

// The one place where nlohmann's parser meets the builder: compiled twice, it would take twice as long.
bool feed(const std::string& text, const char** reached, DocumentBuilder& builder, bool ignore_comments) {
  const CountingIterator begin(text.data(), reached), end(text.data() + text.size(), reached);
  return Json::sax_parse(begin, end, &builder, nlohmann::detail::input_format_t::json, /*strict=*/true, ignore_comments);
}

}  // namespace

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
        builder.bad_syntax ? "put keys and strings in double quotes; separate entries with commas, with none after the last" : "");
  }
  const Json& tree = builder.document.tree();
  if (!tree.is_object()) {
    throw ConfigError(
        source, {{builder.document.origin("").text(), "", std::string("expected an object { … } at the top, got ") + tree.type_name()}});
  }
  return std::move(builder.document);
}

Json override_value(const std::string& typed, const std::string& shown) {
  const char* reached = typed.data();
  const char* first_line = typed.data();  // an override has no lines
  const std::string nowhere;
  DocumentBuilder builder(typed, nowhere, nowhere, &first_line);
  if (feed(typed, &reached, builder, /*ignore_comments=*/false) && builder.problems.empty()) return builder.document.tree();
  if (builder.bad_syntax) return typed;
  throw UsageError(shown + ": " + builder.problems[0].message);
}

}  // namespace ffn
