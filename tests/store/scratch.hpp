// A directory of its own for each test, and the text of an error.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

/// Created empty, removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "ffn-train-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot create " + name);
    path_ = name;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void put(const std::filesystem::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// What the call threw, as E; "" if it threw nothing. Another type passes through and fails the test.
template <class E, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}
