// Runs the command line, and turns errors into text and an exit code (DESIGN §3). Torch-free.
#include <filesystem>
#include <iostream>
#include <new>

#include "command_line.hpp"
#include "commands.hpp"
#include "ffn/core/error.hpp"
#include "ffn/engine/interface.hpp"
#include "ffn/record/log.hpp"
#include "ffn/report/output.hpp"
#include "signals.hpp"

int main(int argc, char** argv) {
  using namespace ffn;
  open_standard_descriptors();
  app::ignore_file_size_signal();
  StandardStreams streams;
  log_libtorch_with(write_log);
  try {
    const int code = app::run_command_line(argc, argv);
    streams.finish();
    return code;
  } catch (...) {
    return app::report_error(app::current_error());
  }
}
