// For tests of files and errors: a directory of one's own, and the error that a call throws.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace ffn::test {

/// How much longer than elsewhere what is timed may take: sanitizers slow it down.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kSlowness = 10;
#else
constexpr int kSlowness = 1;
#endif

/// An empty directory under the system's temporary one, removed with everything in it at the end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "ffn-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot create " + name);
    path_ = std::filesystem::canonical(name);
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  /// Writes a file, creating its directories, and returns its full name.
  std::string write(const std::string& name, const std::string& bytes) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

/// Makes a directory the current one for as long as this lives.
class CurrentDirectory {
 public:
  explicit CurrentDirectory(const std::filesystem::path& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~CurrentDirectory() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
  }
  CurrentDirectory(const CurrentDirectory&) = delete;
  CurrentDirectory& operator=(const CurrentDirectory&) = delete;

 private:
  std::filesystem::path before_;
};

inline std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The error of type E that `call` throws; none if it returns. Errors of other types pass through and fail the test.
template <class E, class Call>
std::optional<E> thrown(const Call& call) {
  try {
    call();
  } catch (const E& error) {
    return error;
  }
  return std::nullopt;
}

/// Text of that error; "nothing was thrown" if there was none.
template <class E, class Call>
std::string message(const Call& call) {
  const auto error = thrown<E>(call);
  return error ? error->what() : "nothing was thrown";
}

/// The same text repeated, for long and deep inputs.
inline std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace ffn::test
