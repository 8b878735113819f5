// Provenance of a run: the machine and the build that trained it.
#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ffn/base/cores.hpp"
#include "ffn/base/version.hpp"
#include "ffn/store/run_record.hpp"

namespace ffn {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = __VERSION__;  // "Clang 16.0.6 (…)"
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

std::string read_cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "unknown";  // ARM's cpuinfo has no model name
}

/// Read once: the kernel takes a while to write cpuinfo, longer the more cores there are.
const std::string& cpu_model() {
  static const std::string model = read_cpu_model();
  return model;
}

std::string kernel() {
  utsname system{};
  if (::uname(&system) != 0) return "unknown";
  return std::string(system.sysname) + " " + system.release + " " + system.machine;
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::optional<double> seconds_of(const std::string& utc) {
  std::tm parts{};
  if (!::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts)) return std::nullopt;
  return static_cast<double>(::timegm(&parts));
}

std::string host_name() {
  utsname system{};
  return ::uname(&system) == 0 ? system.nodename : "unknown";
}

Json session_json(const std::vector<std::string>& argv, const EngineInfo& engine, const std::string& started,
                  std::optional<std::int64_t> resumed_at) {
  static const std::size_t cores = usable_cores();  // read once, as the processor is
  Json json = {{"argv", argv},
               {"version", kVersion},
               {"git_commit", kGitCommit},
               {"compiler", kCompiler},
               {"host", host_name()},
               {"kernel", kernel()},
               {"cpu", cpu_model()},
               {"cores", cores},
               {"engine", engine.engine},
               {"engine_reason", engine.reason},
               {"device", engine.device},
               {"kernel_isa", engine.kernel_isa},
               {"libtorch", engine.libtorch},
               {"started", started}};
  if (resumed_at) json["resumed_at_step"] = *resumed_at;
  return json;
}

}  // namespace ffn
