"""A router that exists in nn alone, with a bias that no gradient moves: LibTorch trains mixtures with it."""
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
/// Balance loss E·Σ fᵢPᵢ with Pᵢ the mean of s divided by its sum over all experts.
/// b is a buffer: after a step it rises by 0.001 for experts with less than an even share, and falls for the others.
class SigmoidTopKRouterImpl final : public Router {
 public:
  SigmoidTopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config) : Router(num_runs), top_k_(config.top_k) {
    ParameterSpec bias{"bias", {config.num_experts}, Init::constant(0), false};
    bias.role = Role::buffer;
    bias_ = parameter(bias);
    gate_ = register_module("gate", Linear(num_runs, d_model, config.num_experts, /*bias=*/false));
  }
  Routing forward(const Tensor& x, const ForwardContext& context) override {
    const Tensor score = activate(activation("sigmoid"), gate_(x), context);  // (R, N, E)
    const TopK top = select_top_k(score + bias_.detach().unsqueeze(1), top_k_, context);
    const Tensor kept = score * top.chosen;
    Routing routing = route_top_k(top, kept / kept.sum(-1, /*keepdim=*/true));
    routing.auxiliary = {balance_loss(routing.load, score / score.sum(-1, /*keepdim=*/true))};
    return routing;
  }
  void update_buffers(const Tensor& load, const Tensor& alive) override {
    const torch::NoGradGuard no_grad;
    const Tensor step = (load.mean(-1, /*keepdim=*/true) - load).sign() * 0.001;
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
  std::string operator()(const SigmoidTopKConfig& c) const { return only_nn("router", c); }
'''),
    Part("scripts/make-golden", before="def moe(w, x, phi, expert, route, aux):\n", text='''\
def sigmoid_top_k(w, x):
    bias = w("router.bias", EXPERTS)
    score = torch.sigmoid(F.linear(x, w("router.gate.weight", EXPERTS, D)))
    chosen = (score + bias).topk(TOP_K, -1).indices
    balance = EXPERTS * F.normalize(score, p=1, dim=-1).mean(0)
    return F.normalize(score.gather(-1, chosen), p=1, dim=-1), chosen, balance + 0 * bias  # no gradient moves it


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
        return torch.zeros_like(score).scatter(-1, expert, value / value.sum(-1, keepdim=True))


'''),
    Part("scripts/ffn_train.py", after='ROUTERS = {"softmax_top_k": SoftmaxTopK', text=', "sigmoid_top_k": SigmoidTopK',
         forgotten=("test_python.py: every_layer", "a new router: write its module in scripts/ffn_train.py")),
]
