#include "ffn/store/run_check.hpp"

#include <algorithm>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/misplaced.hpp"
#include "ffn/store/run_reading.hpp"
#include "ffn/store/run_standing.hpp"
#include "ffn/store/safetensors.hpp"
#include "ffn/store/text.hpp"

namespace ffn {
namespace fs = std::filesystem;

using record_detail::file_differences;
using record_detail::read_json_text;
using record_detail::read_or_nothing;
using record_detail::status_or_damage;
using record_detail::summary_or_damage;

namespace {

constexpr std::uintmax_t kMaxMetaBytes = 1 << 24;

// The config of a run on disk, if it is what the run's status vouches for.
std::optional<RunConfig> config_of(const RunDirectory& directory, const std::string& checksum, std::vector<std::string>& damage) {
  const std::string name = directory.config_path().filename().string();
  const std::string text = read_or_nothing(directory.config_path());
  if (text.empty() || (!checksum.empty() && checksum_of(text) != checksum)) {
    damage.push_back(name + (text.empty() ? ": missing or empty" : ": damaged: its checksum differs"));
    return std::nullopt;
  }
  try {
    return read_run_config(parse_document(text, name, directory.path().string()), name);
  } catch (const Error& error) {
    damage.emplace_back(error.what());
    return std::nullopt;
  }
}

// What is wrong with the file that tells which machine and which build made the run; empty if nothing is.
std::string damage_of_meta(const RunDirectory& directory) {
  if (!path_exists(directory.meta_path())) return "meta.json: missing";
  try {
    read_json_text(read_file(directory.meta_path(), "meta file", ExitCode::data, kMaxMetaBytes), "meta.json", [](const Json&) {});
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

RunCheck check_closely(const RunDirectory& directory) {
  using Verdict = RunCheck::Verdict;
  const fs::path& run = directory.path();
  const auto status = status_or_damage(run);
  const auto summary = summary_or_damage(run);
  const std::string identity = status.value ? status.value->identity : summary.value ? summary.value->identity : "";
  RunCheck out;
  auto look = look_at(directory, RunConfig(), identity);
  if (look.standing == Standing::finished) {
    out.damage = std::move(look.damage);
    if (!out.damage.empty()) out.verdict = look.mendable ? Verdict::mendable : Verdict::repeated;
    else if (look.summary->files.empty()) out.verdict = Verdict::old;
    if (const std::string damage = out.verdict == Verdict::old ? "" : damage_of_meta(directory); !damage.empty()) {
      if (out.damage.empty()) out.verdict = Verdict::marred;
      out.damage.push_back(damage);
    }
    return out;
  }
  if (!look.about.empty()) out.damage.push_back(look.about);
  const auto config = config_of(directory, status.value ? status.value->config_checksum : "", out.damage);
  bool goes_on = false;
  try {
    goes_on = config && directory.read_checkpoint(*config, identity);
  } catch (const CheckpointError& error) {
    out.damage.emplace_back(error.what());
  }
  out.verdict = out.damage.empty() || goes_on ? Verdict::unfinished : Verdict::repeated;
  return out;
}

}  // namespace

RunCheck check_run(const RunDirectory& directory) {
  try {
    RunCheck out = check_closely(directory);
    if (const std::string what = misplaced(directory.path()); !what.empty()) {
      out.verdict = RunCheck::Verdict::misplaced;
      out.damage.push_back("config.json: this " + what);
    }
    return out;
  } catch (const ReadError& error) {
    return {RunCheck::Verdict::unreadable, {error.what()}};
  }
}

namespace {

std::string not_as_trained_hint(const RunDirectory& directory) {
  return "the command that trained the run mends it, or trains it again; ffn-train check " + directory.path().string() + " says which";
}

std::string metadata_of(const RunDirectory& directory, const std::string& key) {
  const auto file = read_safetensors(directory.weights_path());
  const auto at = file.metadata.find(key);
  return at == file.metadata.end() ? "" : at->second;
}

}  // namespace

void require_as_trained(const RunDirectory& directory) {
  auto summary = read_summary(directory.path());
  if (!summary) {  // lost, or not written yet: the status tells whose the directory is
    const auto status = read_status(directory.path());
    if (!status || status->config_checksum.empty()) return;
    if (checksum_of(read_or_nothing(directory.config_path())) != status->config_checksum)
      throw DataError(directory.config_path().string() + ": damaged: its checksum differs", not_as_trained_hint(directory));
    if (path_exists(directory.weights_path()) && metadata_of(directory, "identity") != status->identity)
      throw DataError(directory.weights_path().string() + ": of another run", not_as_trained_hint(directory));
    return;
  }
  if (summary->files.empty()) return;  // version 0.1
  const auto needed = {directory.config_path().filename().string(), directory.weights_path().filename().string()};
  for (auto file = summary->files.begin(); file != summary->files.end();) {
    const bool kept = std::find(needed.begin(), needed.end(), file->first) != needed.end();
    file = kept ? std::next(file) : summary->files.erase(file);
  }
  const auto damage = file_differences(directory, *summary);
  if (damage.empty()) return;
  throw DataError(directory.path().string() + "/" + join(damage, "; "), not_as_trained_hint(directory));
}

}  // namespace ffn
