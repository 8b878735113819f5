"""An optimizer whose update the kernels have already: torch.optim.RMSprop is Adam without a mean and without corrections."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/train_config.hpp", before="struct SgdConfig {\n", text='''\
/// Tieleman & Hinton 2012, lecture 6e; torch.optim.RMSprop without momentum. beta2 is its alpha.
struct RmspropConfig : AdamFields {
  static constexpr const char* kKind = "rmsprop";
  static constexpr const char* kDoc = "RMSprop (Tieleman & Hinton 2012), in torch.optim.RMSprop's form, without momentum.";
  RmspropConfig() {
    beta1 = 0;
    beta2 = 0.99;
  }
  double weight_decay = 0.0;
  std::string decay = "matrices";
  void describe(FieldVisitor& v);
};

'''),
    Part("lib/ffn/config/train_config.hpp", after="using OptimizerConfig = std::variant<AdamWConfig, AdamConfig, SgdConfig", text=", RmspropConfig"),
    Part("lib/ffn/config/train_config.cpp", before="void SgdConfig::describe(FieldVisitor& v) {\n", text='''\
void RmspropConfig::describe(FieldVisitor& v) {
  v.real({"lr", "learning rate"}, lr, above(0.0));
  v.real({"beta2", "decay of the squared gradient's running mean"}, beta2, between(0.0, 0.9999999));
  v.real({"epsilon", "added to the root of the second moment"}, epsilon, at_least(1e-30));
  v.real({"weight_decay", "weight_decay · parameter is added to the gradient"}, weight_decay, at_least(0.0));
  describe_decay(v, decay);
}

'''),
    Part("lib/ffn/train/optimizer.cpp", before="BothSteps<SgdStep> steps_of(const SgdConfig& c, const Moment& now) {\n",
         forgotten=("lib/ffn/train/optimizer.cpp", "RmspropConfig"), text='''\
BothSteps<AdamStep> steps_of(const RmspropConfig& c, const Moment& now) {
  AdamStep s = undecayed(c, now);
  s.root_scale = 1;
  BothSteps<AdamStep> both{s, s};
  both.decaying.l2 = static_cast<float>(c.weight_decay);
  return both;
}

'''),
    Part("lib/ffn/train/optimizer_torch.cpp", before="std::vector<double> row_of(const SgdConfig& c, std::int64_t, double factor) {",
         forgotten=("lib/ffn/train/optimizer_torch.cpp", "RmspropConfig"), text='''\
std::vector<double> row_of(const RmspropConfig& c, std::int64_t t, double factor) {
  auto row = adam_row(c, c.lr * factor, t);
  row[kRootScale] = 1;
  row[kL2] = c.weight_decay;
  return row;
}
'''),
    Part("tests/train/test_optimizer_torch.cpp", before="std::vector<SgdConfig> some(SgdConfig c) {\n",
         forgotten=("tests/train/test_optimizer_torch.cpp", "RmspropConfig"), text='''\
std::vector<RmspropConfig> some(RmspropConfig c) {
  c.lr = 0.002;
  c.weight_decay = 0.1;
  return {c};
}
std::unique_ptr<torch::optim::Optimizer> twin(const RmspropConfig& c, const std::vector<Tensor>& p) {
  return std::make_unique<torch::optim::RMSprop>(p, torch::optim::RMSpropOptions(c.lr).alpha(c.beta2).weight_decay(c.weight_decay));
}

'''),
]
