// status.json.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ffn/store/json_text.hpp"
#include "ffn/store/run_files.hpp"

namespace ffn {

namespace {
// In the order of RunState.
constexpr const char* kStates[] = {"pending", "running", "done", "diverged", "failed", "interrupted"};
}  // namespace

const char* to_string(RunState state) { return kStates[static_cast<std::size_t>(state)]; }

Json status_json(const RunStatus& status) {
  return {{"schema_version", kSchemaVersion},
          {"state", to_string(status.state)},
          {"reason", status.reason},
          {"identity", status.identity},
          {"step", status.step},
          {"pid", status.pid},
          {"host", status.host},
          {"updated", status.updated},
          {"config_checksum", status.config_checksum}};
}

RunStatus parse_status(const std::string& text, const std::string& source) {
  RunStatus status;
  record_detail::read_json_text(text, source, [&](const Json& json) {
    const auto& state = json.at("state").get_ref<const std::string&>();
    const auto* const found = std::find(std::begin(kStates), std::end(kStates), state);
    if (found == std::end(kStates)) throw DataError(source + ": unknown state \"" + state + "\"");
    status.state = static_cast<RunState>(found - std::begin(kStates));
    json.at("reason").get_to(status.reason);
    json.at("identity").get_to(status.identity);
    status.step = record_detail::count_from(json.at("step"));
    status.pid = record_detail::count_from(json.at("pid"));
    json.at("host").get_to(status.host);
    json.at("updated").get_to(status.updated);
    status.config_checksum = json.value("config_checksum", std::string());
  });
  return status;
}

}  // namespace ffn
