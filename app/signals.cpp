#include "signals.hpp"

#include <time.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace ffn::app {
namespace {

volatile std::sig_atomic_t signals_seen = 0;
struct timespec first_signal;

// Only what a signal handler may call: clock_gettime, write, _exit.
double seconds_since_first() {
  struct timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec - first_signal.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - first_signal.tv_nsec);
}

extern "C" void on_stop_signal(int signal) {
  if (signals_seen > 0) {
    // timeout(1), schedulers and process groups send one request as a pair.
    if (seconds_since_first() > 0.5) ::_exit(128 + signal);
    return;
  }
  ::clock_gettime(CLOCK_MONOTONIC, &first_signal);
  signals_seen = 1;
  static constexpr char kMessage[] = "\nstopping after this step; once more to stop at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
}

extern "C" void on_worker_signal(int) { signals_seen = 1; }

extern "C" void on_end_signal(int signal) {
  if (signals_seen > 0) ::_exit(128 + signal);
  signals_seen = 1;
}

void install(void (*handler)(int), std::initializer_list<int> signals) {
  for (const int signal : signals) {
    struct sigaction old = {}, action = {};
    ::sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN && handler != SIG_IGN) continue;
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void handle_stop_signals() {
  install(on_stop_signal, {SIGINT, SIGTERM, SIGUSR1, SIGHUP});
  install(SIG_IGN, {SIGPIPE});
}

void handle_end_signals() {
  install(on_end_signal, {SIGINT, SIGTERM, SIGHUP});
  install(SIG_IGN, {SIGPIPE});
}

void handle_worker_signals() {
  install(SIG_IGN, {SIGINT});
  install(on_worker_signal, {SIGTERM, SIGUSR1, SIGHUP});
}

void ignore_file_size_signal() { install(SIG_IGN, {SIGXFSZ}); }

bool stop_requested() { return signals_seen > 0; }

}  // namespace ffn::app
