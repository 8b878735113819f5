// Ctrl-C, SIGTERM and SIGUSR1: the first asks for an orderly stop, the second ends at once.
#pragma once

namespace ffn::app {

/// From now on the first signal sets stop_requested() and the second exits with 128 + its number.
void handle_stop_signals();
bool stop_requested();

}  // namespace ffn::app
