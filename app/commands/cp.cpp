// ffn-train cp NAME FILE: a shipped config as a file of one's own, with its comments; what it extends is merged in.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "../next_command.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/utf8.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

struct Comment {
  int line;
  std::string text;  ///< as written
};

std::vector<Comment> comments_of(const std::string& text) {
  std::vector<Comment> out;
  int line = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ++line;
    if (quoted && text[i] == '\\') ++i;
    else if (text[i] == '"') quoted = !quoted;
    else if (!quoted && text[i] == '/' && i + 1 < text.size()) {
      const bool block = text[i + 1] == '*';
      const auto end = block ? text.find("*/", i + 2) + 2 : std::min(text.find('\n', i), text.size());
      out.push_back({line, text.substr(i, end - i)});
      line += static_cast<int>(
          std::count(text.begin() + static_cast<std::ptrdiff_t>(i), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end - 1;
    }
  }
  return out;
}

// The merged tree as a person would write it: short objects and lists on a line, comments above what they stood above.
class Writer {
 public:
  Writer(const Document& document, const std::string& source, std::vector<Comment> comments)
      : document_(document), source_(source), comments_(std::move(comments)) {}

  std::string text() {
    out_ = "{\n";
    members(document_.tree(), "", 1);
    flush_comments(1 << 30, 1);
    return out_ + "}\n";
  }

  void head(const std::string& comment) { head_ = comment; }

 private:
  static constexpr std::size_t kWidth = 120;

  void members(const Json& object, const std::string& pointer, int depth) {
    std::size_t left = object.size();
    for (const auto& item : object.items()) {
      const std::string at = pointer + "/" + escape_pointer(item.key());
      const auto& origin = document_.origin(at);
      if (origin.source == source_) flush_comments(origin.line, depth);
      if (!head_.empty()) out_ += indent(depth) + std::exchange(head_, {}) + "\n";
      out_ += indent(depth) + dump_json(item.key()) + ": ";
      put(item.value(), at, depth);
      out_ += --left > 0 ? ",\n" : "\n";
    }
  }

  void put(const Json& value, const std::string& pointer, int depth) {
    const std::string line = one_line(value);
    const std::size_t used = out_.size() - out_.rfind('\n') - 1;
    if (!value.is_structured() || value.empty() || used + display_width(line) < kWidth) {
      out_ += line;
    } else if (value.is_object()) {
      out_ += "{\n";
      members(value, pointer, depth + 1);
      out_ += indent(depth) + "}";
    } else {
      out_ += "[\n";
      for (std::size_t i = 0; i < value.size(); ++i) {
        out_ += indent(depth + 1);
        put(value[i], pointer + "/" + std::to_string(i), depth + 1);
        out_ += i + 1 < value.size() ? ",\n" : "\n";
      }
      out_ += indent(depth) + "]";
    }
  }

  static std::string one_line(const Json& value) {
    if (!value.is_structured() || value.empty()) return dump_json(value);
    std::vector<std::string> parts;
    for (const auto& item : value.items())
      parts.push_back((value.is_object() ? dump_json(item.key()) + ": " : "") + one_line(item.value()));
    return value.is_object() ? "{ " + join(parts) + " }" : "[" + join(parts) + "]";
  }

  static std::string indent(int depth) { return std::string(static_cast<std::size_t>(2 * depth), ' '); }

  void flush_comments(int up_to_line, int depth) {
    while (next_ < comments_.size() && comments_[next_].line <= up_to_line) out_ += indent(depth) + comments_[next_++].text + "\n";
  }

  const Document& document_;
  const std::string source_;
  const std::vector<Comment> comments_;
  std::size_t next_ = 0;
  std::string head_, out_;
};

// The files that a shipped one extends, with theirs.
void add_bases(const std::string& path, std::vector<std::string>& bases) {
  const Json extends = parse_document(shipped_files().at(path), path, "").tree().value("extends", Json());
  for (const auto& base : extends.is_array() ? extends : extends.is_null() ? Json::array() : Json::array({extends})) {
    bases.push_back((fs::path(path).parent_path() / base.get<std::string>()).lexically_normal().string());
    add_bases(bases.back(), bases);
  }
}

std::string own_text(const std::string& path) {
  std::vector<std::string> bases;
  add_bases(path, bases);
  Document document = load_shipped_document(path, shipped_files());
  document.tree().erase("$schema");  // relative to where it was
  Writer writer(document, "shipped " + path, comments_of(shipped_files().at(path)));
  if (!bases.empty()) writer.head("// " + path + " with what it extends merged in: " + join(bases));
  return writer.text();
}

int copy(const std::string& name, const std::string& to) {
  const std::string path = shipped_path(name);
  fs::path target = expand_home(to);
  std::error_code error;
  if (fs::is_directory(target, error)) target /= fs::path(path).filename();
  if (path_exists(target) || fs::is_symlink(fs::symlink_status(target, error)))
    throw UsageError(target.string() + " exists and is not overwritten", "name another file, or move that one away");
  if (target.has_parent_path()) make_directories(target.parent_path());
  write_file_atomically(target, own_text(path));
  print_text(target.string() + " is yours to change.");
  std::cout << sentence_and_command("train it:", "ffn-train " + shell_word(target.string()), STDOUT_FILENO) << "\n";
  return 0;
}

}  // namespace

void add_cp(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("cp", "a shipped config as a file of your own");
  auto name = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  command.option("name", *name, "config or experiment, as `ffn-train list configs` and `list experiments` have them")
      .required()
      .type("SHIPPED");
  command.option("file", *to, "new file, or the directory that it goes to").required().type("FILE");
  add_output_options(command, common);
  command.run([name, to] { return copy(*name, *to); });
}

}  // namespace ffn::app
