// Runs the command line, and turns errors into text and an exit code (DESIGN §3). Torch-free.
#include <iostream>
#include <new>

#include "command_line.hpp"
#include "ffn/core/error.hpp"

namespace {

int report(const ffn::Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  if (!error.hint().empty()) std::cerr << "hint: " << error.hint() << "\n";
  return static_cast<int>(error.code());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return ffn::app::run_command_line(argc, argv);
  } catch (const ffn::Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    return report(ffn::SystemError("not enough memory", "a smaller batch_size, d_model or d_ff needs less"));
  } catch (const std::exception& error) {
    return report(ffn::SystemError(error.what(), "this is a bug in ffn-train; please report it with the command you ran"));
  }
}
