// A run's event file for TensorBoard. It is made of what metrics.jsonl has, and nothing rests on it: where it cannot be written a warning
// says so, and training goes on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ffn/config/run_config.hpp"
#include "ffn/store/event_records.hpp"
#include "ffn/train/interface.hpp"

namespace ffn {

/// Prefix of event files' names; TensorBoard reads the files of a directory in the order of their names.
inline constexpr const char* kEventFilePrefix = "events.out.tfevents.";

/// The events of an evaluation: its scalars at `origin` and its training seconds.
std::string evaluation_event(double origin, const Evaluation& evaluation);

/// How a run that ended so stands in the HParams tab.
SessionEnd session_end_of(RunEnd end);

/// Written while the run trains.
class EventFile {
 public:
  /// Begins a file in the run's directory, behind those of earlier attempts, of which it makes TensorBoard forget everything. `metrics` is
  /// what stands in metrics.jsonl: a run that goes on has all of it in the newest file.
  EventFile(const std::filesystem::path& run, const RunConfig& config, const std::string& metrics);

  void append(const std::vector<Evaluation>& evaluations);
  /// A run that was interrupted goes on as running.
  void end(SessionEnd end);

 private:
  void write(const std::string& bytes);

  std::filesystem::path path_;
  double origin_ = 0;     // wall time at which the run would have begun had it trained without a break
  double last_time_ = 0;  // of the last evaluation
  bool writes_ = true;    // false once that has failed
};

}  // namespace ffn
