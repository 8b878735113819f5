// metrics.jsonl: one flat JSON object per evaluation, appended while a run trains.
// A crash can tear the last line; everything here knows that. Depends on core and the engine's structs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/store/run_record.hpp"
#include "ffn/train/interface.hpp"

namespace ffn {

/// Appends evaluations, a line each in one write(): a crash leaves whole lines behind others, and at most one torn one at
/// the end. `written` is of everything in the file so far, and goes on. Throws SystemError, also for a file that is not as
/// long as what was written; what could not be written completely is taken back. A `group` flushes the file before its own appear.
void append_metrics(const std::filesystem::path& path, const std::vector<Evaluation>& evaluations, Checksum& written,
                    FileGroup* group = nullptr);

/// Everything on file, oldest first; a torn last line is left out, a missing file is an empty history.
/// Throws DataError with file and line for any other line that is none of ours.
std::vector<Evaluation> read_metrics(const std::filesystem::path& path);

/// The evaluations of a text that has been read from `path`, one after the other.
void for_each_evaluation(const std::string& text, const std::filesystem::path& path, const std::function<void(const Evaluation&)>& take);

/// One evaluation's values of some metrics; NaN for one that was not measured.
struct MetricValues {
  std::int64_t step;
  std::vector<double> values;
};

/// Those of `names` over a whole run, oldest first. With `facts` the file has to be what they vouch for (DataError otherwise), and is read
/// an order of magnitude faster, as append_metrics() writes it.
std::vector<MetricValues> read_metric_rows(const std::filesystem::path& path, const std::vector<std::string>& names,
                                           const FileFacts* facts);

/// The first `facts.bytes` bytes of the file. Throws DataError if they are not what they were.
std::string read_metrics_up_to(const std::filesystem::path& path, const FileFacts& facts);

}  // namespace ffn
