"""A top-k router with another score, in both engines."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/model_config.hpp", before="/// Which tokens go to which experts with what weight.", text='''\
/// The K experts of the largest scores s = ln(1 + exp(x W)), with weights s divided by their sum.
struct SoftplusTopKConfig : TopKFields {
  static constexpr const char* kKind = "softplus_top_k";
  static constexpr const char* kScore = "softplus";
  static constexpr const char* kDoc = "s = ln(1 + exp(x W)); a token goes to its top_k largest, with s divided by the sum over them as weights.";
  void describe(FieldVisitor& v) { describe_top_k(v); }
};

'''),
    Part("lib/ffn/config/model_config.hpp", after="using RouterConfig = std::variant<SoftmaxTopKConfig", text=", SoftplusTopKConfig"),
    Part("scripts/generate/golden", before="def noisy_top_k(w, x):\n", text='''\
def softplus_top_k(w, x):
    score = F.softplus(F.linear(x, w("router.gate.weight", EXPERTS, D)))
    top, chosen = score.topk(TOP_K, -1)
    return torch.zeros_like(score).scatter(-1, chosen, F.normalize(top, p=1, dim=-1)), F.normalize(score, p=1, dim=-1)


'''),
    Part("scripts/generate/golden", after='ROUTERS = {"softmax_top_k": softmax_top_k', text=', "softplus_top_k": softplus_top_k',
         forgotten=("golden", "no formula of the router softplus_top_k; write it in ROUTERS of scripts/generate/golden")),
    Part("scripts/ffn_train_networks.py", before="class NoisyTopK(TopK):\n", text='''\
class SoftplusTopK(TopK):
    """The same with s = ln(1 + exp(x W))."""

    def score(self, x):
        return F.softplus(self.gate(x))


'''),
    Part("scripts/ffn_train_networks.py", after='ROUTERS = {"softmax_top_k": TopK', text=', "softplus_top_k": SoftplusTopK',
         forgotten=("test_python.py: every_layer", "a new router: write its module in scripts/ffn_train_networks.py")),
]
