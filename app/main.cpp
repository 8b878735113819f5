// Runs the command line, and turns errors into text and an exit code. Torch-free.
#include <sys/resource.h>

#include <filesystem>
#include <iostream>
#include <new>
#include <string>

#include "command_line.hpp"
#include "commands.hpp"
#include "ffn/base/error.hpp"
#include "ffn/report/output.hpp"
#include "ffn/store/log.hpp"
#include "ffn/train/libtorch.hpp"
#include "signals.hpp"

namespace {

// A limit that was meant for another program would end this one, and each of its threads, by a signal in the middle of its work.
void require_stack() {
  constexpr rlim_t kLeast = 256 << 10;
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kLeast)
    throw ffn::UsageError(
        "the stack is limited to " + std::to_string(limit.rlim_cur >> 10) + " KiB; " + std::to_string(kLeast >> 10) + " are needed",
        "ulimit -s 8192");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ffn;
  open_standard_descriptors();
  app::ignore_file_size_signal();
  StandardStreams streams;
  log_libtorch_with(write_log);
  try {
    require_stack();
    const int code = app::run_command_line(argc, argv);
    streams.finish();
    return code;
  } catch (const ReaderGone& gone) {
    return static_cast<int>(gone.code());
  } catch (...) {
    return app::report_error(app::current_error());
  }
}
