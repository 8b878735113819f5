// Parse, dispatch, and turn errors into text and an exit code (DESIGN §3). Torch-free.
#include <iostream>
#include <new>

#include "ffn/core/error.hpp"
#include "ffn/engine/interface.hpp"
#include "ffn/record/log.hpp"
#include "options.hpp"

namespace {

int report(const ffn::Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  if (!error.hint().empty()) std::cerr << "hint: " << error.hint() << "\n";
  return static_cast<int>(error.code());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("ffn-train: which feed-forward layer, and how sure are we?", "ffn-train");
  ffn::app::CommonOptions common;
  common.argv.assign(argv, argv + argc);
  ffn::app::Command command;
  ffn::app::add_commands(app, common, command);
  ffn::log_libtorch_with(ffn::write_log);
  try {
    app.parse(argc, argv);
    return command ? command() : (std::cout << app.help(), 0);
  } catch (const CLI::ParseError& error) {
    // CLI11's own codes (100 and up) would mean nothing to a script.
    return app.exit(error) == 0 ? 0 : static_cast<int>(ffn::ExitCode::usage);
  } catch (const ffn::Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    return report(ffn::SystemError("not enough memory", "a smaller batch_size, d_model or d_ff needs less"));
  } catch (const std::exception& error) {
    return report(ffn::SystemError(error.what(), "this is a bug in ffn-train; please report it with the command you ran"));
  }
}
