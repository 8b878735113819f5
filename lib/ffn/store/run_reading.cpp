#include "ffn/store/run_reading.hpp"

#include <system_error>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/store/text.hpp"

namespace ffn::record_detail {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxRunFileBytes = std::uintmax_t{1} << 36;

template <class Reader>
auto read_or_damage(Reader reader, const fs::path& run) -> Read<typename decltype(reader(run))::value_type> {
  try {
    return {reader(run), {}};
  } catch (const DataError& error) {
    std::string what = error.what();
    const std::string prefix = run.string() + "/";
    if (what.rfind(prefix, 0) == 0) what.erase(0, prefix.size());
    return {std::nullopt, what};
  }
}

}  // namespace

Read<RunStatus> status_or_damage(const fs::path& run) { return read_or_damage(read_status, run); }
Read<RunSummary> summary_or_damage(const fs::path& run) { return read_or_damage(read_summary, run); }

std::string read_or_nothing(const fs::path& path) {
  try {
    return read_file(path, "file", ExitCode::data, kMaxRunFileBytes);
  } catch (const DataError&) {
    return "";
  }
}

std::vector<std::string> file_differences(const RunDirectory& directory, const RunSummary& summary, const std::string& except) {
  std::vector<std::string> out;
  const auto compare = [&](const std::string& name, const FileFacts* facts) {
    const fs::path path = directory.path() / name;
    const auto type = type_of(path);
    if (type == fs::file_type::not_found) return out.push_back(name + ": missing");
    if (type != fs::file_type::regular) return out.push_back(name + ": no regular file");
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error) throw ReadError("cannot read " + path.string() + ": " + error.message());
    if (!facts) return bytes == 0 ? out.push_back(name + ": empty") : void();
    if (bytes != facts->bytes)
      return out.push_back(name + ": " + std::to_string(bytes) + " bytes instead of " + std::to_string(facts->bytes));
    try {
      if (checksum_of(read_file(path, name, ExitCode::data, kMaxRunFileBytes)) != facts->checksum)
        out.push_back(name + ": damaged: its checksum differs");
    } catch (const DataError& problem) {
      out.emplace_back(problem.what());
    }
  };
  for (const auto& [name, facts] : summary.files) {
    // No path from a file leads out of the run's directory.
    if (name.find('/') != std::string::npos) out.push_back("summary.json names a file " + shown(name));
    else if (name != except) compare(name, &facts);
  }
  if (summary.files.empty()) {  // version 0.1
    for (const auto& path : {directory.metrics_path(), directory.weights_path()}) compare(path.filename().string(), nullptr);
  }
  return out;
}

}  // namespace ffn::record_detail
