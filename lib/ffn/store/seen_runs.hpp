// Which runs were trained, and for which question first: a verdict is sure of runs that were first trained for it. Who stops, asks or
// chooses after having seen results makes more errors than one answer says. Training is deterministic, so a run that is trained again under
// another name is the same data. Kept beside the studies, in .seen.json, so that it outlives them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ffn/config/study_config.hpp"
#include "ffn/store/run_record.hpp"

namespace ffn {

inline constexpr const char* kSeenFile = ".seen.json";

/// Equal for runs of two studies that differ in their seeds alone, whatever is measured of them: a hash of each variant's config as
/// declared, before tuning, without name, seed, target and evaluations.
std::map<std::string, std::string> variant_keys(const Study& study);

/// A comparison's question without what is at its default: a key that a later version adds changes none.
Json question_json(const CompareConfig& asked);
/// The question that the study is to answer, defaults filled in.
Json declared_question(const Study& study);

/// A run as it is told from others.
struct SeenRun {
  std::string variant;  ///< of variant_keys()
  std::int64_t seed = 0;
  std::string values;  ///< seen_values(); empty of a run that is not over
};

/// A hash of what came out: equal under a key that has no effect.
std::string seen_values(std::int64_t seed, const RunSummary& summary);

/// Adds the study that study.json declares, unless it is known, and what came out of its runs. Waits for other processes of this machine.
/// A directory that cannot be written is warned of.
void record_seen(const std::filesystem::path& study, const std::vector<std::string>& values = {});

struct SeenBefore {
  std::vector<std::string> studies;  ///< where two variants of one seed were trained for another question
  std::int64_t last_seed = -1;       ///< the largest in any study of these variants; larger ones are fresh
};
/// Finds, for runs that the study with this `declaration` (study.json's) is judged by. Throws DataError if the record is damaged.
SeenBefore seen_before(const std::filesystem::path& study, const std::string& declaration, const std::vector<SeenRun>& runs);

}  // namespace ffn
