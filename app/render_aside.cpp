#include "render_aside.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "commands.hpp"

namespace ffn::app {

namespace {

constexpr char kText = 'T', kError = 'E';  // the first byte that is sent

void write_all(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n > 0) done += static_cast<std::size_t>(n);
    else if (errno != EINTR) return;  // nobody reads any more
  }
}

[[noreturn]] void be_the_child(int to, const std::function<void()>& first, const std::function<std::string()>& make) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  [[maybe_unused]] const int priority = ::nice(10);  // whoever trains comes first
  first();
  std::string out;
  try {
    out = kText + make();
  } catch (...) {
    out = kError + std::string(current_error().what());
  }
  write_all(to, out);
  ::_exit(0);
}

}  // namespace

RenderAside::~RenderAside() {
  if (!is_working()) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  ::close(pipe_);
}

void RenderAside::start(const std::function<void()>& first, const std::function<std::string()>& make) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SystemError(std::string("cannot make a pipe: ") + std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) be_the_child(ends[1], first, make);
  ::close(ends[1]);
  if (child < 0) {
    const int reason = errno;
    ::close(ends[0]);
    throw SystemError(std::string("cannot start a process: ") + std::strerror(reason));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  child_ = child;
  pipe_ = ends[0];
  received_.clear();
}

std::optional<RenderAside::Result> RenderAside::poll() {
  if (!is_working()) return std::nullopt;
  char bytes[1 << 16];
  for (;;) {
    const ssize_t n = ::read(pipe_, bytes, sizeof bytes);
    if (n > 0) received_.append(bytes, static_cast<std::size_t>(n));
    else if (n == 0) break;
    else if (errno == EINTR) continue;
    else return std::nullopt;
  }
  int status = 0;
  ::waitpid(child_, &status, 0);
  ::close(pipe_);
  child_ = -1;
  pipe_ = -1;
  const bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !received_.empty();
  if (!whole) return Result{std::nullopt, "the process that draws the page has ended early"};
  if (received_[0] == kError) return Result{std::nullopt, received_.substr(1)};
  return Result{received_.substr(1), ""};
}

}  // namespace ffn::app
