#include "ffn/config/compute_config.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"

namespace ffn {

bool is_device(const std::string& name) {
  if (name == "cpu" || name == "cuda") return true;
  const std::string prefix = "cuda:", number = name.substr(std::min(name.size(), prefix.size()));
  const bool digits = std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return name.rfind(prefix, 0) == 0 && !number.empty() && number.size() <= 3 && digits;
}

void ComputeConfig::describe(FieldVisitor& v) {
  v.choice({"engine", "training engine"}, engine,
           {{"auto", "cpu if it covers the model and the device is the CPU, otherwise torch"},
            {"cpu", "this program's own CPU kernels, with hand-written backward passes"},
            {"torch", "LibTorch's autograd: any layer, any device"}});
  v.text({"device", "cpu, cuda (the workers share all GPUs) or cuda:N"}, device);
  v.choice({"precision", "of products and attention; parameters, moments, losses and norms are float32"}, precision,
           {{"float32", "all 24 bits"},
            {"tf32", "on a GPU inputs of products are rounded to TensorFloat-32: faster, three digits less precise"},
            {"bfloat16", "products and what lies between them in bfloat16, by torch: fastest on a GPU, five digits less precise"}});
  v.optional_integer(
      {"threads", "CPU threads of the cpu engine; default: the cores that other workers leave idle. Results do not depend on it"}, threads,
      between(std::int64_t{1}, std::int64_t{4096}));
  v.require(is_device(device), "device", shortened(Json(device)) + " is not a device; use cpu, cuda or cuda:N");
  v.require(engine != "cpu" || on_cpu(), "engine",
            "engine cpu runs on the CPU only, but device is " + shortened(Json(device)) + "; use engine auto or torch", {"device"});
  v.require(engine != "cpu" || precision != "bfloat16", "engine", "engine cpu computes in float32; use engine auto or torch",
            {"precision"});
}

}  // namespace ffn
