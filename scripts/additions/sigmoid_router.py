"""A router in both engines, with a bias that no gradient moves."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/model_config.hpp", before="/// Which tokens go to which experts with what weight.", text='''\
/// The K experts of the largest scores s = σ(x W), with weights s divided by their sum.
struct SigmoidTopKConfig {
  static constexpr const char* kKind = "sigmoid_top_k";
  static constexpr const char* kDoc = "s = σ(x W); a token goes to its top_k largest, with s divided by the sum over them as weights.";
  void describe(FieldVisitor&) {}
};

'''),
    Part("lib/ffn/config/model_config.hpp", after="using RouterConfig = std::variant<SoftmaxTopKConfig", text=", SigmoidTopKConfig"),
    Part("lib/ffn/config/accounting.cpp", before="Cost cost(const MoeConfig& c, std::int64_t d) {\n",
         forgotten=("lib/ffn/config/accounting.cpp", "SigmoidTopKConfig"), text='''\
Cost router_cost(const SigmoidTopKConfig&, const MoeConfig& c, std::int64_t d) { return dense(d * c.num_experts, 2 * d * c.num_experts); }

'''),
    Part("lib/ffn/layers/router_torch.cpp", after='#include "ffn/layers/router_torch.hpp"\n', text='\n#include "ffn/layers/activation_torch.hpp"\n'),
    Part("lib/ffn/layers/router_torch.cpp", before="namespace {\n\n// One overload per alternative of RouterConfig", text='''\
/// s = σ(x W_r), the K largest of s + b kept and divided by their sum, as in DeepSeek-V3 (2024, arXiv:2412.19437, eq. 12-16).
/// b is a buffer: after a step it rises by 0.001 for experts with less than an even share, and falls for the others.
class SigmoidTopKRouterImpl final : public Router {
 public:
  SigmoidTopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config) : Router(num_runs), top_k_(config.top_k) {
    bias_ = parameter(ParameterSpec{"bias", {config.num_experts}, Init::constant(0), false, Export::as_is, Role::buffer});
    gate_ = register_module("gate", Linear(num_runs, d_model, config.num_experts, /*bias=*/false));
  }
  Routing forward(const Tensor& x, const ForwardContext& context) override {
    const Tensor score = activate(activation("sigmoid"), gate_(x), context);  // (R, N, E)
    const TopK top = select_top_k(score + bias_.detach().unsqueeze(1), top_k_, context);
    const Tensor kept = score * top.chosen;
    Routing routing = route_top_k(top, top_k_ == 1 ? kept : kept / kept.sum(-1, /*keepdim=*/true));
    routing.auxiliary = {balance_loss(routing.load, score)};
    return routing;
  }
  void update_buffers(const Tensor& load, const Tensor& alive) override {
    const torch::NoGradGuard no_grad;
    const Tensor step = (1.0 / static_cast<double>(load.size(-1)) - load).sign() * 0.001;
    bias_.copy_(torch::where(alive, bias_ + step, bias_));
  }

 private:
  std::int64_t top_k_;
  Tensor bias_;
  Linear gate_{nullptr};
};

'''),
    Part("lib/ffn/layers/router_torch.cpp", before="  std::shared_ptr<Router> operator()(const SoftmaxTopKConfig&) const {\n",
         forgotten=("lib/ffn/layers/router_torch.cpp", "SigmoidTopKConfig"), text='''\
  std::shared_ptr<Router> operator()(const SigmoidTopKConfig&) const {
    return std::make_shared<SigmoidTopKRouterImpl>(num_runs, d_model, config);
  }
'''),
    Part("lib/ffn/config/coverage.cpp", after="  std::string operator()(const SoftmaxTopKConfig&) const { return {}; }\n",
         forgotten=("lib/ffn/config/coverage.cpp", "SigmoidTopKConfig"), text='''\
  std::string operator()(const SigmoidTopKConfig&) const { return {}; }
'''),
    Part("lib/ffn/layers/router_cpu.cpp", before="Routing TopK::route(Pass& pass, std::int64_t rows, const float* x) {\n", text='''\
class SigmoidTopK final : public TopK {
 public:
  SigmoidTopK(const Declare& declare, std::int64_t d_model, const MoeConfig& config)
      : TopK(declare, d_model, config, declare(ParameterSpec{"bias", {config.num_experts}, Init::constant(0), false, Export::as_is, Role::buffer})) {}
  void update_buffers(float* parameters) override {
    float* bias = bias_.in(parameters);
    for (std::int64_t e = 0; e < num_experts_; ++e) {
      const double lacking = 1 / static_cast<double>(num_experts_) - totals_.load(static_cast<std::size_t>(e));
      bias[e] += lacking > 0 ? 0.001f : lacking < 0 ? -0.001f : 0.0f;
    }
  }

 private:
  void squash(std::int64_t rows, float* score) const override {
    activation("sigmoid").forward(static_cast<std::size_t>(rows * num_experts_), score, score);
  }
  void squash_backward(std::int64_t rows, const float* score, float* gradient) const override {
    for (std::int64_t i = 0; i < rows * num_experts_; ++i) gradient[i] *= score[i] * (1 - score[i]);
  }
};

'''),
    Part("lib/ffn/layers/router_cpu.cpp", before="  // A router that exists in nn alone, which config/coverage.cpp keeps away from here.\n",
         forgotten=("test_train: a run alone equals the same run in a cohort of 8", "the router sigmoid_top_k has no fused form"), text='''\
  std::unique_ptr<Router> operator()(const SigmoidTopKConfig&) const { return std::make_unique<SigmoidTopK>(declare, d_model, config); }
'''),
    Part("lib/ffn/layers/router_cpu.cpp", after='#include "ffn/kernels/kernels.hpp"\n', text='#include "ffn/kernels/activations.hpp"\n'),
    Part("scripts/make-golden", before="def moe(w, x, phi, expert, route, aux):\n", text='''\
def sigmoid_top_k(w, x):
    bias = w("router.bias", EXPERTS)
    score = torch.sigmoid(F.linear(x, w("router.gate.weight", EXPERTS, D)))
    chosen = (score + bias).topk(TOP_K, -1).indices
    return F.normalize(score.gather(-1, chosen), p=1, dim=-1), chosen, EXPERTS * score.mean(0) + 0 * bias  # no gradient moves it


'''),
    Part("scripts/make-golden", after='ROUTERS = {"softmax_top_k": softmax_top_k', text=', "sigmoid_top_k": sigmoid_top_k',
         forgotten=("make-golden", "no formula of the router sigmoid_top_k; write it in ROUTERS of scripts/make-golden")),
    Part("scripts/ffn_train.py", before="ROUTERS = {", text='''\
class SigmoidTopK(SoftmaxTopK):
    """s = σ(x W); the K largest, divided by their sum, 0 for all others. (B, T, D) → (B, T, E)"""

    def __init__(self, d_model, config):
        super().__init__(d_model, config)
        self.bias = nn.Parameter(torch.zeros(config["num_experts"]), requires_grad=False)

    def forward(self, x):
        score = torch.sigmoid(self.gate(x))
        expert = (score + self.bias).topk(self.top_k).indices
        value = score.gather(-1, expert)
        return torch.zeros_like(score).scatter(-1, expert, value / value.sum(-1, keepdim=True) if self.top_k > 1 else value)


'''),
    Part("scripts/ffn_train.py", after='ROUTERS = {"softmax_top_k": SoftmaxTopK', text=', "sigmoid_top_k": SigmoidTopK',
         forgotten=("test_python.py: every_layer", "a new router: write its module in scripts/ffn_train.py")),
]
