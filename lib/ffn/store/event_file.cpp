#include "ffn/store/event_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ffn/base/files.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/metrics_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// All keys of a run; TensorBoard shows those that differ first.
std::map<std::string, std::string> keys_of(const RunConfig& config) {
  Json json = resolved_json(config);
  for (const char* key : {"name", "label", "seed", "compute", "log"}) json.erase(key);
  return flat_keys(json);
}

// The variant: "activations/activation=gelu", or of a single run its name.
std::string group_of(const fs::path& run, const RunConfig& config) {
  const std::string variant = run.parent_path().filename().string();
  return variant == config.name ? variant : config.name + "/" + variant;
}

// The second at which the newest event file in the directory was begun; 0 without any.
std::int64_t newest_in(const fs::path& run) {
  std::int64_t newest = 0;
  for (const auto& entry : entries_of(run)) {
    const std::string name = entry.path.filename().string();
    if (name.rfind(kEventFilePrefix, 0) == 0)
      newest = std::max<std::int64_t>(newest, std::strtoll(name.c_str() + std::strlen(kEventFilePrefix), nullptr, 10));
  }
  return newest;
}

}  // namespace

std::string evaluation_event(double origin, const Evaluation& evaluation) {
  return scalars_event(origin + evaluation.time_s, evaluation.step, evaluation.metrics);
}

SessionEnd session_end_of(RunEnd end) {
  return end == RunEnd::done ? SessionEnd::success : end == RunEnd::diverged ? SessionEnd::failure : SessionEnd::running;
}

EventFile::EventFile(const fs::path& run, const RunConfig& config, const std::string& metrics) {
  const double begun = now();
  std::vector<Evaluation> history;
  for_each_evaluation(metrics, run, [&](const Evaluation& evaluation) { history.push_back(evaluation); });
  if (!history.empty()) last_time_ = history.back().time_s;
  origin_ = begun - last_time_;
  const auto second = std::max(static_cast<std::int64_t>(begun), newest_in(run) + 1);  // files are read in the order of their names
  path_ = run / (kEventFilePrefix + std::to_string(second) + "." + host_name() + "." + std::to_string(::getpid()) + ".0");
  write(version_event(origin_) + beginning_event(origin_) + session_start_event(origin_, group_of(run, config), keys_of(config)));
  append(history);
}

void EventFile::append(const std::vector<Evaluation>& evaluations) {
  std::string events;
  for (const auto& evaluation : evaluations) {
    events += evaluation_event(origin_, evaluation);
    last_time_ = evaluation.time_s;
  }
  write(events);
}

void EventFile::end(SessionEnd end) {
  if (end != SessionEnd::running) write(session_end_event(origin_ + last_time_, end));
}

void EventFile::write(const std::string& bytes) {
  if (!writes_ || bytes.empty()) return;
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  if (file << bytes << std::flush) return;
  writes_ = false;
  log_warning("no more events for TensorBoard: cannot write " + path_.string() + ": " + std::strerror(errno));
}

}  // namespace ffn
