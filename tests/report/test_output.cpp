// Output to a descriptor: harmless with the filter on, as it is without, and an error where it cannot be written.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <ostream>

#include "ffn/base/error.hpp"
#include "ffn/report/output.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

// A pipe whose end is read at once; what is written fits into its buffer.
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_.data()) == 0); }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int in() const { return ends_[1]; }
  std::string take() const {
    char buffer[4096];
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    const ssize_t got = ::read(ends_[0], buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

}  // namespace

TEST_CASE("with the filter on, text cannot speak to the terminal, our own movements can") {
  const Pipe pipe;
  OutputBuffer buffer(pipe.in(), Filter::on);
  std::ostream out(&buffer);
  out << "a\033[2Jb \033[1mbold\033[0m\n" << std::flush;
  CHECK(pipe.take() == "a?[2Jb \033[1mbold\033[0m\n");
  out << "before";
  write_control(out, "\r\033[K");
  CHECK(pipe.take() == "before\r\033[K");
}

TEST_CASE("characters and colours that arrive in pieces are put together") {
  const Pipe pipe;
  OutputBuffer buffer(pipe.in(), Filter::on);
  std::ostream out(&buffer);
  out << std::unitbuf;
  std::string all;
  for (const char c : std::string("\xE2\x82\xAC \033[1;31mred\033[0m \033[9A\r\n\xE2")) {
    out << c;
    all += pipe.take();
  }
  buffer.finish();
  CHECK(all + pipe.take() == "\xE2\x82\xAC \033[1;31mred\033[0m ?[9A\r\n?");
}

TEST_CASE("with the filter off, every byte arrives") {
  const Pipe pipe;
  OutputBuffer buffer(pipe.in(), Filter::off);
  std::ostream out(&buffer);
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  out << bytes << std::flush;
  CHECK(pipe.take() == bytes);
}

TEST_CASE("what cannot be written is an error with its reason") {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) {
    SUCCEED("no /dev/full here");
    return;
  }
  OutputBuffer buffer(full, Filter::off);
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit);
  out << "buffered";
  std::string text = "nothing was thrown";
  try {
    out << std::flush;
  } catch (const SystemError& error) {
    text = error.what();
  }
  CHECK(text == "cannot write to stderr: No space left on device");
  CHECK_FALSE(out.good());
  ::close(full);
}
