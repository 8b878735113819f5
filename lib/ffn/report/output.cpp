#include "ffn/report/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "ffn/base/error.hpp"
#include "ffn/base/text.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn {

void OutputBuffer::control(const std::string& sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  flush(/*all=*/true);
  write(sequence);
}

void OutputBuffer::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  flush(/*all=*/true);
}

OutputBuffer::int_type OutputBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::streamsize OutputBuffer::xsputn(const char* text, std::streamsize count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  constexpr std::size_t kLargest = 1 << 16;
  pending_.append(text, static_cast<std::size_t>(count));
  if (pending_.size() >= kLargest) flush(/*all=*/false);
  return count;
}

int OutputBuffer::sync() {
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    flush(/*all=*/false);
  } catch (const SystemError&) {
    // std::cerr comes here from a destructor, after every insertion; and there is nobody left to tell.
    if (fd_ != STDERR_FILENO) throw;
    return -1;
  }
  return 0;
}

void OutputBuffer::try_finish() noexcept {
  try {
    finish();
  } catch (const std::exception&) {
    // failure_ knows
  }
}

void OutputBuffer::flush(bool all) {
  if (first_) first_->try_finish();
  std::string text = std::move(pending_);
  pending_.clear();
  if (filter_ == Filter::off) return write(text);
  const std::size_t complete = all ? text.size() : complete_prefix(text);
  pending_ = text.substr(complete);
  text.resize(complete);
  write(printable(text, /*keep_colors=*/true));
}

void OutputBuffer::write(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size() && failure_ == 0;) {
    const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {  // someone has set the pipe or the terminal so
      pollfd ready = {fd_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      failure_ = errno;
    }
  }
  if (failure_ == EPIPE && fd_ == STDOUT_FILENO) throw ReaderGone("nobody reads stdout any more");
  if (failure_ != 0) {
    throw SystemError(std::string("cannot write to ") + (fd_ == STDOUT_FILENO ? "stdout: " : "stderr: ") + std::strerror(failure_),
                      "what was printed is incomplete; files are not affected");
  }
}

void write_control(std::ostream& out, const std::string& sequence) {
  if (auto* buffer = dynamic_cast<OutputBuffer*>(out.rdbuf())) buffer->control(sequence);
  else out << sequence << std::flush;
}

StandardStreams::StandardStreams()
    : out_(STDOUT_FILENO, is_terminal(STDOUT_FILENO) ? Filter::on : Filter::off),
      err_(STDERR_FILENO, Filter::on, &out_),
      old_out_(std::cout.rdbuf(&out_)),
      old_err_(std::cerr.rdbuf(&err_)),
      old_tie_(std::cerr.tie(nullptr)) {  // an error of std::cout is no error of std::cerr
  std::cout.exceptions(std::ios::badbit);
}

StandardStreams::~StandardStreams() {
  out_.try_finish();  // an error was said already, or there is nowhere to say it
  err_.try_finish();
  std::cout.exceptions(std::ios::goodbit);
  std::cout.rdbuf(old_out_);
  std::cerr.rdbuf(old_err_);
  std::cerr.tie(old_tie_);
}

void open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);  // the lowest that is free
    if (opened > fd) ::close(opened);
  }
}

}  // namespace ffn
