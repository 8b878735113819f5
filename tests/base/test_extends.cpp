// Configs that extend others: chains, lists, cycles, and errors that name the right file.
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/helpers.hpp"
#include "ffn/base/json_document.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;
namespace fs = std::filesystem;

namespace {

std::string tree_of(const std::string& file) { return load_document(file).tree().dump(); }
std::string refusal(const std::string& file) {
  return message<ConfigError>([&] { load_document(file); });
}

}  // namespace

TEST_CASE("a config lies over the one that it extends, through a chain of folders") {
  const ScratchDirectory scratch;
  scratch.write("bases/root.json", "{\"x\": 1,\n\"y\": 1,\n\"z\": {\"p\": 1, \"q\": 1}}");
  scratch.write("bases/middle.json", "{\"extends\": \"root.json\",\n\"y\": 2, \"z\": {\"q\": 2}}");
  const auto file = scratch.write("experiments/deep/top.json", "{\"z\": {\n\"q\": 3}, \"extends\": \"../../bases/middle.json\"}");
  const auto document = load_document(file);
  CHECK(document.tree().dump() == R"({"x":1,"y":2,"z":{"p":1,"q":3}})");
  CHECK(document.origin("/x").text() == scratch / "experiments/deep/../../bases/root.json:1");
  CHECK(document.origin("/y").text() == scratch / "experiments/deep/../../bases/middle.json:2");
  CHECK(document.origin("/z/p").line == 3);
  CHECK(document.origin("/z/q").text() == file + ":2");
  CHECK(fs::weakly_canonical(document.origin("/x").directory) == scratch.path() / "bases");
}

TEST_CASE("of a list of bases the later one wins, and the file itself over all") {
  const ScratchDirectory scratch;
  scratch.write("a.json", R"({"x": "a", "y": "a", "z": "a"})");
  scratch.write("b.json", R"({"y": "b", "z": "b"})");
  CHECK(tree_of(scratch.write("c.json", R"({"extends": ["a.json", "b.json"], "z": "c"})")) == R"({"x":"a","y":"b","z":"c"})");
  CHECK(tree_of(scratch.write("d.json", R"({"extends": ["b.json", "a.json"]})")) == R"({"y":"a","z":"a","x":"a"})");
  CHECK(tree_of(scratch.write("e.json", R"({"extends": [], "z": "e"})")) == R"({"z":"e"})");
}

TEST_CASE("two bases may share a base") {
  const ScratchDirectory scratch;
  scratch.write("root.json", R"({"x": 1})");
  scratch.write("a.json", R"({"extends": "root.json", "a": 1})");
  scratch.write("b.json", R"({"extends": "root.json", "b": 1})");
  CHECK(tree_of(scratch.write("c.json", R"({"extends": ["a.json", "b.json"]})")) == R"({"x":1,"a":1,"b":1})");
  scratch.write("over_a.json", R"({"extends": "a.json", "o": 1})");
  CHECK(tree_of(scratch.write("d.json", R"({"extends": ["a.json", "over_a.json"]})")) == R"({"x":1,"a":1,"o":1})");
}

TEST_CASE("a base may be given by its absolute path, and files by a path from the current directory") {
  const ScratchDirectory scratch;
  const CurrentDirectory here(scratch.path());
  const auto base = scratch.write("bases/a.json", R"({"x": 1})");
  scratch.write("b.json", "{\"extends\": \"" + base + "\"}");
  CHECK(tree_of("b.json") == R"({"x":1})");
  const auto document = load_document("bases/a.json");
  CHECK(document.origin("/x").text() == "bases/a.json:1");
  CHECK(document.origin("/x").directory == scratch / "bases");
}

TEST_CASE("a missing base is named with the place that asks for it") {
  const ScratchDirectory scratch;
  const auto file = scratch.write("sub/a.json", "{\"x\": 1,\n\"extends\": \"../no.json\"}");
  CHECK(refusal(file) == file + ":2  /extends: no config at " + scratch / "sub/../no.json");
  CHECK(thrown<ConfigError>([&] { load_document(file); })->hint() == "a base is looked for relative to the file that names it");

  scratch.write("sub/b.json", "{}");
  const auto list = scratch.write("sub/list.json", "{\"extends\": [\n\"b.json\",\n\"no.json\"]}");
  CHECK(refusal(list) == list + ":3  /extends/1: no config at " + scratch / "sub/no.json");
}

TEST_CASE("a base that is a directory, too long a name or a link to itself is refused like a missing one") {
  const ScratchDirectory scratch;
  fs::create_directories(scratch / "folder");
  const auto folder = scratch.write("a.json", R"({"extends": "folder"})");
  CHECK(refusal(folder) == folder + ":1  /extends: " + scratch / "folder is a directory, not a config");
  CHECK(refusal(scratch.write("b.json", R"({"extends": ""})")).find("expected a path or a list of paths, got \"\"") != std::string::npos);
  const auto longer = refusal(scratch.write("c.json", "{\"extends\": \"" + std::string(5000, 'x') + "\"}"));
  CHECK(longer.find("/extends: cannot read the config ") != std::string::npos);
  CHECK(longer.find("File name too long") != std::string::npos);
  fs::create_symlink("loop.json", scratch / "loop.json");
  CHECK(refusal(scratch.write("d.json", R"({"extends": "loop.json"})")).find("Too many levels of symbolic links") != std::string::npos);
  CHECK(message<UsageError>([&] { load_document(scratch / "loop.json"); }).find("Too many levels of symbolic links") != std::string::npos);
}

TEST_CASE("a cycle is shown as the path that it takes") {
  const ScratchDirectory scratch;
  const auto self = scratch.write("self.json", "{\n\"extends\": \"self.json\"}");
  CHECK(refusal(self) == self + ":2  /extends: a config cannot extend itself: self.json → self.json");
  const auto a = scratch.write("a.json", R"({"extends": "b.json"})");
  scratch.write("b.json", R"({"extends": ["c/c.json"]})");
  scratch.write("c/c.json", "{\n\n\"extends\": \"../a.json\"}");
  CHECK(refusal(a) == scratch / "c/c.json:3" + "  /extends: a config cannot extend itself: a.json → b.json → c.json → a.json");
  fs::create_symlink("link.json", scratch / "other.json");
  scratch.write("link.json", R"({"extends": "other.json"})");
  CHECK(refusal(scratch / "link.json").find("a config cannot extend itself") != std::string::npos);
}

TEST_CASE("extends that is no path is refused with what was found") {
  const ScratchDirectory scratch;
  scratch.write("empty.json", "{}");
  const auto number = scratch.write("a.json", "{\n\"extends\": 3}");
  CHECK(refusal(number) == number + ":2  /extends: expected a path or a list of paths, got 3");
  const auto list = scratch.write("b.json", "{\"extends\": [\"empty.json\",\nnull]}");
  CHECK(refusal(list) == list + ":2  /extends/1: expected a path or a list of paths, got null");
  CHECK(refusal(scratch.write("c.json", R"({"extends": null})")).find("got null") != std::string::npos);
}

TEST_CASE("30 files that extend the next one twice are read once each") {
  const ScratchDirectory scratch;
  for (int i = 0; i < 30; ++i) {
    const std::string next = "\"" + std::to_string(i + 1) + ".json\"";
    scratch.write(std::to_string(i) + ".json",
                  "{\"extends\": [" + next + ", " + next + "], \"own" + std::to_string(i) + "\": 1, \"kind\": " + std::to_string(i) + "}");
  }
  scratch.write("30.json", R"({"kind": 30, "x": 1})");
  const auto start = std::chrono::steady_clock::now();
  const auto document = load_document(scratch / "0.json");
  CHECK(std::chrono::steady_clock::now() - start < kSlowness * std::chrono::seconds(2));
  CHECK(document.tree()["kind"] == 0);
  CHECK(document.tree().size() == 32);
  // The order of the layers is that of the files.
  CHECK(document.origin("/kind").layer > document.origin("/own1").layer);
  CHECK(document.origin("/own1").layer > document.origin("/own29").layer);
  CHECK(document.origin("/own29").layer > document.origin("/x").layer);
}

TEST_CASE("a chain of too many files is refused with its first links") {
  const ScratchDirectory scratch;
  for (int i = 0; i < 70; ++i) scratch.write(std::to_string(i) + ".json", "{\"extends\": \"" + std::to_string(i + 1) + ".json\"}");
  scratch.write("70.json", R"({"x": 1})");
  CHECK(refusal(scratch / "0.json").find("/extends: more than 64 files extend one another: 0.json → 1.json → 2.json → ") !=
        std::string::npos);
  CHECK(tree_of(scratch / "7.json") == R"({"x":1})");  // 64 files
}

TEST_CASE("a base has to be a regular file") {
  const ScratchDirectory scratch;
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  CHECK(refusal(scratch.write("a.json", R"({"extends": "pipe"})")).find("is a pipe; a config has to be a regular file") !=
        std::string::npos);
  CHECK(refusal(scratch.write("b.json", R"({"extends": "/dev/zero"})")).find("is a device; a config has to be a regular file") !=
        std::string::npos);
  CHECK(refusal(scratch.write("c.json", R"({"extends": "a\u0000b"})")).find("a text with a NUL character") != std::string::npos);
}

TEST_CASE("a base's own errors name the base") {
  const ScratchDirectory scratch;
  const auto base = scratch.write("base.json", "{\n\"x\": 1,,}");
  const auto file = scratch.write("a.json", R"({"extends": "base.json"})");
  CHECK(refusal(file).find(base + ":2:8  syntax error") == 0);
}
