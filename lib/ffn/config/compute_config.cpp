#include "ffn/config/compute_config.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"

namespace ffn {

namespace {

// "cpu", "cuda" or "cuda:N"
bool is_device(const std::string& name) {
  if (name == "cpu" || name == "cuda") return true;
  const std::string prefix = "cuda:", number = name.substr(std::min(name.size(), prefix.size()));
  const bool digits = std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return name.rfind(prefix, 0) == 0 && !number.empty() && number.size() <= 3 && digits;
}

}  // namespace

void ComputeConfig::describe(FieldVisitor& v) {
  v.choice({"engine", "what trains"}, engine,
           {{"auto", "fused where it covers the model and the device is the CPU, libtorch for everything else"},
            {"fused", "this program's own kernels: forward and backward by hand, CPU"},
            {"libtorch", "LibTorch's autograd: any layer, any device"}});
  v.text({"device", "cpu, cuda (the workers share all GPUs) or cuda:N"}, device);
  v.flag({"tf32", "on a GPU, let products round their inputs to TensorFloat-32: faster, three digits less"}, tf32);
  v.optional_integer({"threads",
                      "on the CPU, threads of the fused engine's steps and evaluations; not set: the cores that other workers leave idle. "
                      "Results do not depend on it"},
                     threads, between(std::int64_t{1}, std::int64_t{4096}));
  v.require(is_device(device), "device", shortened(Json(device)) + " is no device; use cpu, cuda or cuda:N");
  v.require(engine != "fused" || on_cpu(), "engine",
            "engine fused computes on the CPU only, and device is " + shortened(Json(device)) + "; use engine auto or libtorch",
            {"device"});
}

}  // namespace ffn
