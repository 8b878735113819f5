"""A kind of FFN that exists in LibTorch alone: LibTorch trains it."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/model_config.hpp", before="struct NoFfnConfig {\n", text='''\
/// y = φ(x A B + b₁) W₂ + b₂
struct LowRankConfig : FfnSize {
  static constexpr const char* kKind = "low_rank";
  static constexpr const char* kDoc = "A plain FFN whose first map has a low rank: φ(x A B + b₁) W₂ + b₂ (Sainath et al. 2013).";
  std::int64_t rank = 2;
  void describe(FieldVisitor& v);
  std::vector<Role> roles() const { return {Role::other, Role::up, Role::down}; }
};

'''),
    Part("lib/ffn/config/model_config.hpp", after="Conv1x1Config, PkmConfig, PeerConfig, NoFfnConfig",
         text=", LowRankConfig"),
    Part("lib/ffn/config/model_config.cpp", after="void GatedConfig::describe(FieldVisitor& v) { describe_size(v); }\n", text='''\
void LowRankConfig::describe(FieldVisitor& v) {
  describe_size(v);
  v.integer({"rank", "inner width of the first map"}, rank, between(std::int64_t{1}, 65536));
}
'''),
    Part("lib/ffn/config/accounting.cpp", after="Cost cost(const GatedConfig& c, std::int64_t d) { return two_layer(c, d, true); }\n",
         forgotten=("lib/ffn/config/accounting.cpp", "LowRankConfig"), text='''\
Cost cost(const LowRankConfig& c, std::int64_t d) {
  const std::int64_t f = c.hidden_width(d), weights = d * c.rank + c.rank * f + f * d;
  return dense(weights + (c.bias ? f + d : 0), 2 * weights);
}
'''),
    Part("lib/ffn/layers/feed_forward_torch.hpp", before='/// The FFN of a kind, or nullptr for "none".', text='''\
/// y = φ(x A B + b₁) W₂ + b₂ with A: (D, r), B: (r, F).
/// Source: Sainath et al. 2013, "Low-rank matrix factorization for deep neural network training", eq. 2.
class LowRankFeedForwardImpl final : public FeedForward {
 public:
  LowRankFeedForwardImpl(std::int64_t num_runs, std::int64_t d_model, const LowRankConfig& config, std::uint32_t site = 0);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;

 private:
  const Activation& phi_;
  std::uint32_t site_;
  Linear reduce_{nullptr}, up_{nullptr}, down_{nullptr};
};

'''),
    Part("lib/ffn/layers/feed_forward_torch.cpp", before="namespace {\n\n// One overload per alternative of FfnConfig", text='''\
LowRankFeedForwardImpl::LowRankFeedForwardImpl(std::int64_t num_runs, std::int64_t d_model, const LowRankConfig& config, std::uint32_t site)
    : FeedForward(num_runs), phi_(activation(config.activation)), site_(site) {
  const auto d_ff = config.hidden_width(d_model);
  reduce_ = register_module("reduce", Linear(num_runs, d_model, config.rank, false));
  up_ = register_module("up", Linear(num_runs, config.rank, d_ff, config.bias));
  down_ = register_module("down", Linear(num_runs, d_ff, d_model, config.bias));
}

FfnOutput LowRankFeedForwardImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor hidden = activate(phi_, up_(reduce_(x)), context);  // (R, N, F)
  return {down_(dropout(hidden, context, site_)), {}, {}};         // (R, N, D)
}

'''),
    Part("lib/ffn/layers/feed_forward_torch.cpp", before="  std::shared_ptr<FeedForward> operator()(const NoFfnConfig&) const { return nullptr; }\n",
         forgotten=("lib/ffn/layers/feed_forward_torch.cpp", "LowRankConfig"), text='''\
  std::shared_ptr<FeedForward> operator()(const LowRankConfig& c) const {
    return std::make_shared<LowRankFeedForwardImpl>(num_runs, d_model, c, site);
  }
'''),
    Part("lib/ffn/config/coverage.cpp", after="  std::string operator()(const GatedConfig&) const { return {}; }\n",
         forgotten=("lib/ffn/config/coverage.cpp", "LowRankConfig"), text='''\
  std::string operator()(const LowRankConfig& c) const { return only_torch("FFN", c); }
'''),
    Part("scripts/generate/golden", before="# A new kind of FFN or router needs its formula here.", text='''\
def low_rank(w, x, phi, prefix="", bias=True):
    reduced = F.linear(x, w("reduce.weight", 2, D))
    h = phi(F.linear(reduced, w("up.weight", HIDDEN, 2), w("up.bias", HIDDEN) if bias else None))
    return F.linear(h, w("down.weight", D, HIDDEN), w("down.bias", D) if bias else None)


'''),
    Part("scripts/generate/golden", after='"positionwise": ffn, "gated": gated', text=', "low_rank": low_rank',
         forgotten=("golden", "no formula of the FFN kind low_rank; write it in FFNS of scripts/generate/golden")),
    Part("scripts/ffn_train_networks.py", before="class TopK(nn.Module):\n", text='''\
class LowRank(Positionwise):
    """φ(x A B + b₁) W₂ + b₂"""

    def __init__(self, d_model, d_ff, config):
        super().__init__(d_model, d_ff, config)
        self.reduce = nn.Linear(d_model, config["rank"], bias=False)
        self.up = nn.Linear(config["rank"], d_ff, bias=config["bias"])

    def forward(self, x):
        return super().forward(self.reduce(x))


'''),
    Part("scripts/ffn_train_networks.py", after='"conv1x1": Conv1x1', text=', "low_rank": LowRank',
         forgotten=("test_python.py: every_layer", "a new kind of FFN: write its module in scripts/ffn_train_networks.py")),
]
