#include "ffn/store/run_standing.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/differing_keys.hpp"
#include "ffn/store/event_file.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/store/run_reading.hpp"
#include "ffn/store/text.hpp"

namespace ffn {
namespace fs = std::filesystem;

using record_detail::file_differences;
using record_detail::Read;
using record_detail::read_or_nothing;
using record_detail::status_or_damage;
using record_detail::summary_or_damage;

namespace {

bool is_over(RunState state) { return state == RunState::done || state == RunState::diverged; }

// The keys in which the config of the run on disk differs.
std::vector<std::string> differences_from(const RunDirectory& directory, const RunConfig& config) {
  const Json before = parse_json(read_or_nothing(directory.config_path()));
  if (!before.is_object()) return {directory.config_path().filename().string() + ": cannot be read"};
  auto keys = differing_keys(before, resolved_json(config));
  if (keys.empty() && std::holds_alternative<TextConfig>(config.task)) return {"task.file: its text changed"};
  if (keys.empty()) return {"what is the same in both configs: another version of ffn-train took it for something else"};
  return keys;
}

// What a power cut may leave of a file that was not flushed: nothing, a beginning, zeros in between.
bool is_torn(const std::string& text, const std::string& whole) {
  return text.size() <= whole.size() &&
         std::equal(text.begin(), text.end(), whole.begin(), [](char found, char written) { return found == written || found == '\0'; });
}

// Whether there is no more than what the start of this run writes, whatever a power cut left of it: nothing is lost with that.
bool has_merely_begun(const RunDirectory& directory, const RunConfig& config) {
  bool has_config = false;
  for (const auto& entry : entries_of(directory.path())) {
    const std::string name = entry.path.filename().string();
    const bool is_config = name == directory.config_path().filename();
    const bool of_a_start = is_config || name == directory.meta_path().filename() || name == directory.status_path().filename() ||
                            name == directory.log_path().filename() || name.rfind(kEventFilePrefix, 0) == 0 || is_temporary(name);
    if (!of_a_start) return false;
    has_config |= is_config;
  }
  return has_config && is_torn(read_or_nothing(directory.config_path()), config_text(config));
}

// A directory without any file that says whose it is.
RunLook look_at_unnamed(const RunDirectory& directory, const RunConfig& config) {
  bool has_config = false, has_more = false;
  for (const auto& entry : entries_of(directory.path())) {
    const std::string name = entry.path.filename().string();
    const bool ours = name == directory.log_path().filename() || is_temporary(name);
    if (name == directory.config_path().filename()) has_config = true;
    else if (!ours) has_more = true;
  }
  RunLook look;
  if (!has_config && !has_more) look.standing = Standing::absent;
  else if (const std::string text = read_or_nothing(directory.config_path()), whole = config_text(config);
           has_config && (text == whole || (!has_more && is_torn(text, whole))))
    look.standing = Standing::begun;  // killed early
  else {
    look.standing = Standing::foreign;
    look.about = "is no run of ffn-train: there is neither a status.json nor a summary.json";
  }
  return look;
}

RunLook judge_finished(const RunDirectory& directory, const RunConfig& config, const Read<RunStatus>& status, RunSummary summary) {
  RunLook look;
  look.standing = Standing::finished;
  if (!computed_as_asked(config.compute, summary.computed_by)) {
    look.standing = Standing::another;
    look.about = "this run as another engine computed it";
    look.differs = {"compute.engine: " + engine_of(summary.computed_by) + " → " + config.compute.engine};
    return look;
  }
  const std::string config_name = directory.config_path().filename().string();
  auto damage = file_differences(directory, summary, config_name);
  look.mendable = damage.empty();
  const auto facts = summary.files.find(config_name);
  if (facts != summary.files.end()) {
    const std::string text = read_or_nothing(directory.config_path());
    if (checksum_of(text) != facts->second.checksum)
      damage.push_back(config_name + (text.empty() ? ": missing or empty" : ": damaged: its checksum differs"));
  }
  if (!status.damage.empty()) damage.push_back(status.damage);
  else if (!status.value) damage.emplace_back("status.json: missing");
  else if (!is_over(status.value->state)) damage.push_back(std::string("status.json: says ") + to_string(status.value->state));
  look.about = join(damage, "; ");
  look.damage = std::move(damage);
  look.summary = std::move(summary);
  return look;
}

// A text that was edited makes another run of the same config.json.
bool config_is_ours(const RunDirectory& directory, const RunConfig& config) {
  return !std::holds_alternative<TextConfig>(config.task) && read_or_nothing(directory.config_path()) == config_text(config);
}

// Whether a status of another identity is a file that lost its way, and not a sign of another run.
bool all_but_status_is_ours(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                            const Read<RunSummary>& summary) {
  return summary.value ? summary.value->identity == identity : config_is_ours(directory, config);
}

}  // namespace

RunLook look_at(const RunDirectory& directory, const RunConfig& config, const std::string& identity) {
  const fs::path& run = directory.path();
  RunLook look;
  auto type = link_type_of(run);
  if (type == fs::file_type::not_found) return look;
  if (type == fs::file_type::symlink) type = type_of(run);
  if (type != fs::file_type::directory) {
    look.standing = Standing::foreign;
    look.about = type == fs::file_type::not_found ? "is a link that leads nowhere" : "is no directory";
    return look;
  }
  auto status = status_or_damage(run);
  auto summary = summary_or_damage(run);
  if (status.value && status.value->identity != identity && all_but_status_is_ours(directory, config, identity, summary))
    status = {std::nullopt, "status.json: of another run"};
  if (!status.value && summary.value && summary.value->identity != identity && config_is_ours(directory, config))
    summary = {std::nullopt, "summary.json: of another run"};
  if (!holds_run(run)) return look_at_unnamed(directory, config);
  if (!status.value && !summary.value && has_merely_begun(directory, config)) {
    look.standing = Standing::begun;
    return look;
  }

  const std::string owner = status.value ? status.value->identity : summary.value ? summary.value->identity : identity;
  if (owner != identity) {
    look.standing = Standing::another;
    look.about = "a run of another config";
    look.differs = differences_from(directory, config);
    return look;
  }
  // A run is over when its status says so, the last that is written; where that is lost, a summary whose files are all there tells as
  // much. A run that failed after its end (its text was changed) has failed.
  const bool failed = status.value && status.value->state == RunState::failed;
  const bool over = status.value && is_over(status.value->state);
  const bool summed_up = summary.value && summary.value->identity == identity;
  if (summed_up && !failed) {
    look = judge_finished(directory, config, status, std::move(*summary.value));
    if (over || look.standing != Standing::finished || look.mendable) return look;
  } else if (over) {
    look.standing = Standing::finished;
    look.about = !summary.damage.empty() ? summary.damage : summary.value ? "summary.json: of another config" : "summary.json: missing";
    look.damage = {look.about};
    return look;
  }
  look = {};
  look.standing = failed ? Standing::failed : Standing::begun;
  look.about = !status.damage.empty() ? status.damage : !status.value ? "status.json: missing" : "";
  if (!status.value && !summary.damage.empty()) look.about += "; " + summary.damage;
  if (summary.value && summary.value->identity != identity) {
    look.holds_another = true;
    look.about += std::string(look.about.empty() ? "" : "; ") + "summary.json: of another run";
  }
  return look;
}

std::vector<std::string> stated_identities(const RunDirectory& directory) {
  std::vector<std::string> out;
  const auto add_unless_unreadable = [&](const auto& identity) {
    try {
      out.push_back(identity());
    } catch (const Error&) {  // whoever trains the run says so
    }
  };
  const auto required = [](auto there) { return there ? there->identity : throw DataError("missing"); };
  add_unless_unreadable([&] { return required(read_status(directory.path())); });
  add_unless_unreadable([&] { return required(read_summary(directory.path())); });
  if (out.size() == 2 && out[0] == out[1]) return {out[0]};  // as in almost all
  const std::string config = read_or_nothing(directory.config_path());
  if (!config.empty())
    add_unless_unreadable(
        [&] { return run_identity(read_run_config(parse_document(config, "config.json", directory.path().string()), "config.json")); });
  return out;
}

std::optional<StoredCheckpoint> make_ready(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                                           const RunLook& look) {
  const std::string path = directory.path().string();
  const auto aside = [&] { return move_aside(directory.path()).string(); };
  switch (look.standing) {
    case Standing::absent:
      return std::nullopt;
    case Standing::foreign:
      throw DataError(path + " " + look.about, "move it away, or choose another name= or -o");
    case Standing::another:
      throw refusal_of_another(directory, look);
    case Standing::finished:
      log_warning(path + ": " + look.about + "; moved to " + aside() + ", the run is trained again");
      return std::nullopt;
    case Standing::begun:
    case Standing::failed:
      break;
  }
  if (look.holds_another) {  // whose results would go where this run begins again or goes on
    log_warning(path + ": " + look.about + "; moved to " + aside() + ", the run starts again");
    return std::nullopt;
  }
  try {
    auto checkpoint = directory.read_checkpoint(config, identity);
    if (checkpoint && checkpoint->checkpoint.step > 0) {
      make_room_for_file(directory.status_path());
      if (!look.about.empty()) log_warning(path + ": " + look.about + "; the run goes on from its checkpoint");
      return checkpoint;
    }
    if (!look.about.empty()) log_warning(path + ": " + look.about + "; moved to " + aside() + ", the run starts again");
  } catch (const CheckpointError& error) {
    log_warning(std::string(error.what()) + "; " + path + " moved to " + aside() + ", the run starts again");
  }
  return std::nullopt;
}

const char* const kOtherResultsHint = "name=... or -o DIR keeps both; --fresh moves the earlier results aside";

UsageError refusal_of_another(const RunDirectory& directory, const RunLook& look, std::size_t more) {
  const std::string where = directory.path().string() + (more > 0 ? " and " + std::to_string(more) + " more hold " : " holds ");
  return UsageError(where + look.about + ":" + indented(look.differs), kOtherResultsHint);
}

void mend(const RunDirectory& directory, const RunConfig& config, const RunLook& look) {
  RunSummary summary = look.summary.value();
  const bool config_is_whole = read_or_nothing(directory.config_path()) == config_text(config);
  if (!config_is_whole && path_exists(directory.config_path())) move_aside(directory.config_path());
  make_room_for_file(directory.status_path());
  const FileFacts facts = directory.write_config(config);
  // The same run under another name, or asked for with another engine: what is vouched for is what lies there now.
  const auto vouched = summary.files.find(directory.config_path().filename());
  if (vouched != summary.files.end() && vouched->second.checksum != facts.checksum) {
    vouched->second = facts;
    directory.write_summary(summary);
  }
  RunStatus status;
  status.state = summary.end == RunEnd::diverged ? RunState::diverged : RunState::done;
  status.identity = summary.identity;
  status.step = summary.steps;
  status.config_checksum = facts.checksum;
  directory.write_status(status);
  directory.remove_temporaries();
  directory.remove_checkpoint();
  log_warning(directory.path().string() + ": " + look.about + "; written again from what is intact");
}

}  // namespace ffn
