// metrics.jsonl: one flat JSON object per evaluation. The file is replaced whole as it grows: a crash tears no line, and of two processes
// that train one run neither spoils what the other wrote.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/store/run_record.hpp"
#include "ffn/train/run_result.hpp"

namespace ffn {

/// A line for each.
std::string metrics_lines(const std::vector<Evaluation>& evaluations);

/// Everything on file, oldest first; a missing file is an empty history. Throws DataError with file and line for a line that is none of
/// ours.
std::vector<Evaluation> read_metrics(const std::filesystem::path& path);

/// The evaluations of a text that has been read from `path`, one after the other.
void for_each_evaluation(const std::string& text, const std::filesystem::path& path, const std::function<void(const Evaluation&)>& take);

/// One evaluation's values of some metrics; NaN for one that was not measured.
struct MetricValues {
  std::int64_t step;
  std::vector<double> values;
};

/// The metrics `names` over a whole run, oldest first. With `facts` the file has to match them (DataError otherwise), and is read an order
/// of magnitude faster, as metrics_lines() writes it.
std::vector<MetricValues> read_metric_rows(const std::filesystem::path& path, const std::vector<std::string>& names,
                                           const FileFacts* facts);

/// The first `facts.bytes` bytes of the file. Throws DataError if they are not what they were.
std::string read_metrics_up_to(const std::filesystem::path& path, const FileFacts& facts);

}  // namespace ffn
