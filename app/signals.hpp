// Ctrl-C, SIGTERM, SIGUSR1 and SIGHUP: the first asks for an orderly stop, the second ends at once.
#pragma once

namespace ffn::app {

/// From now on the first signal sets stop_requested() and a later one exits with 128 + its number. Signals that were ignored
/// when the program started (nohup) stay so. A broken pipe is an error of the write, not the end of the program.
void handle_stop_signals();

/// The first sets stop_requested(), without a word: for a command that has nothing to finish. A later one ends at once.
void handle_end_signals();

/// A worker's: the flag alone. Ctrl-C is left to the parent, which tells its workers.
void handle_worker_signals();

/// A file over the limit of its size (ulimit -f) is an error of the write, as a full disk is, not the end of the program.
void ignore_file_size_signal();

bool stop_requested();

}  // namespace ffn::app
