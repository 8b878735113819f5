#include "signals.hpp"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace ffn::app {
namespace {

volatile std::sig_atomic_t signals_seen = 0;

extern "C" void on_stop_signal(int signal) {
  if (signals_seen > 0) ::_exit(128 + signal);
  signals_seen = 1;
  // write() is one of the few things that a handler may do.
  static constexpr char kMessage[] = "\nstopping after this step; once more to stop at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
}

}  // namespace

void handle_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) ::sigaction(signal, &action, nullptr);
}

bool stop_requested() { return signals_seen > 0; }

}  // namespace ffn::app
