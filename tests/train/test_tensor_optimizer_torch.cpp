// The optimizers as tensor operations against the kernels: the same bits, so that a checkpoint goes on in either engine. Muon's products
// are LibTorch's here and the program's there, each with its own order of sums.
#include "ffn/config/parameters.hpp"
#include "ffn/train/optimizer.hpp"
#include "ffn/train/optimizer_torch.hpp"
#include "support/catch.hpp"
#include "support/choices.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

constexpr std::int64_t kRuns = 3;

RowLayout some_layout() {
  RowLayout layout;
  const auto map = linear_parameters(5, 7, true);
  layout.add(map.weight);
  layout.add(*map.bias);  // a matrix that decays, a bias that does not
  layout.add({"head.weight", {2, 3}, Init::constant(0), true});
  layout.add(expert_linear_parameters(3, 6, 4, false).weight);
  return layout;
}

Tensor some_rows(const RowLayout& layout, double phase) {
  return torch::sin(torch::arange(kRuns * layout.width(), torch::kFloat64) * 0.37 + phase)
      .to(torch::kFloat32)
      .view({kRuns, layout.width()});
}

template <class Config>
std::vector<OptimizerConfig> three(Config config) {
  std::vector<OptimizerConfig> configs;
  if constexpr (std::is_base_of_v<AdamFields, Config>) {  // off the defaults: one that is forgotten differs
    config.beta1 = 0.7;
    config.beta2 = 0.95;
    config.epsilon = 1e-2;
  } else if constexpr (std::is_same_v<Config, SgdConfig>) {
    config.momentum = 0.7;
  }
  for (const double rate : {0.01, 0.02, 0.03}) {
    config.lr = rate;
    config.weight_decay = 10 * rate;
    configs.push_back(config);
  }
  return configs;
}

// Both over some steps; the largest difference of a parameter.
double largest_difference(const std::vector<OptimizerConfig>& configs, const UpdateRule& rule) {
  const torch::NoGradGuard no_grad;
  const auto layout = some_layout();
  Tensor tensors = some_rows(layout, 0), rows = tensors.clone();
  TensorOptimizer ours(layout, tensors, configs, rule);
  RowOptimizer kernels(layout, configs, rule);
  const Tensor alive = torch::ones({kRuns, 1}, torch::kBool);
  for (std::int64_t step = 0; step < 20; ++step) {
    const Tensor gradients = some_rows(layout, static_cast<double>(step));
    const double factor = 1 - 0.02 * static_cast<double>(step), scale = 0.7;
    ours.step(tensors, gradients, torch::full({kRuns, 1}, scale, torch::kFloat32), ours.coefficients(step + 1, factor).to(torch::kFloat32),
              alive);
    for (std::int64_t r = 0; r < kRuns; ++r) {
      kernels.step(r, step + 1, factor, scale, gradients.data_ptr<float>() + r * layout.width(),
                   rows.data_ptr<float>() + r * layout.width());
    }
  }
  double largest = 0;
  for (std::int64_t r = 0; r < kRuns; ++r) {
    // Padding is the kernels' own business.
    for (const auto& entry : layout.entries())
      largest = std::max(largest, (tensors[r] - rows[r]).narrow(0, entry.offset, entry.count).abs().max().item<double>());
  }
  CHECK(torch::isfinite(tensors).all().item<bool>());
  return largest;
}

// MKL's square root, which pip's LibTorch takes, is not always the nearest number; the processor's, which Debian's takes, is.
double allowed_for_square_roots() {
  const Tensor x = torch::arange(1, 10000, torch::kFloat32);
  return torch::equal(x.sqrt(), x.to(torch::kFloat64).sqrt().to(torch::kFloat32)) ? 0 : 5e-7;  // some roundings of a parameter near 1
}

}  // namespace

TEST_CASE("tensor optimizers give the kernels' bits over 20 steps, but for roundings of Muon's products and MKL's square roots",
          "[torch]") {
  std::size_t compared = 0;
  const double of_roots = allowed_for_square_roots();
  test::each_alternative(OptimizerConfig{}, [&](auto config) {
    for (const char* decay : {"matrices", "all"}) {
      INFO(config.kKind << ", decay " << decay);
      config.decay = decay;
      // Newton–Schulz multiplies a rounding by up to 3.4445⁵ = 485; 20 steps of 0.03.
      const double allowed = std::is_same_v<decltype(config), MuonConfig>      ? 1e-4
                             : std::is_base_of_v<AdamFields, decltype(config)> ? of_roots
                                                                               : 0;
      const auto rule = update_rule(config);
      CHECK(largest_difference(three(config), rule) <= allowed);
      const auto by_role = [&](const RowEntry& entry) {
        const bool head = entry.role == Role::head;
        return Update{!head && rule(entry).decays,
                      head                      ? 0.3
                      : entry.shape.size() == 1 ? 1.7
                                                : 1,
                      rule(entry).as_matrices, entry.role == Role::up ? 0.25 : 1};
      };
      CHECK(largest_difference(three(config), by_role) <= allowed);
      const auto frozen = [&](const RowEntry& entry) { return Update{true, entry.role == Role::head ? 0 : 1.0}; };
      CHECK(largest_difference(three(config), frozen) <= of_roots);  // without matrices as a whole
      if constexpr (std::is_same_v<decltype(config), SgdConfig>) {
        auto nesterov = config;
        nesterov.nesterov = true;
        CHECK(largest_difference(three(nesterov), by_role) == 0);
      }
      ++compared;
    }
  });
  CHECK(compared == 2 * std::variant_size_v<OptimizerConfig>);
}

// Two experts: the second has five times the first's gradient, which changes no direction. W[i, j] is of output i and input j.
TEST_CASE("Muon gives reference values in float64, for each expert by itself", "[torch]") {
  const torch::NoGradGuard no_grad;
  RowLayout layout;
  layout.add({"ffn.experts.up.weight", {2, 2, 3}, Init::constant(0), true, Export::expert_linear});
  const auto filled = [&](double of_second, const std::function<double(double, double)>& f) {
    Tensor row = torch::zeros({1, layout.width()}, torch::kFloat64);
    for (std::int64_t k = 0; k < 12; ++k)
      row[0][k] = (k < 6 ? 1 : of_second) * f(static_cast<double>(k % 3), static_cast<double>(k / 3 % 2));
    return row;
  };
  const auto after = [&](const MuonConfig& config, std::int64_t steps) {
    Tensor row = filled(1, [](double i, double j) { return std::sin(1 + i + 2 * j); });
    TensorOptimizer muon(layout, row, {config});
    for (std::int64_t t = 1; t <= steps; ++t) {
      const Tensor gradient = filled(5, [&](double i, double j) { return std::cos(i + 2 * j + 3 * static_cast<double>(t)); });
      muon.step(row, gradient, torch::ones({1, 1}, torch::kFloat64), muon.coefficients(t, 1), torch::ones({1, 1}, torch::kBool));
    }
    return row[0];
  };
  const auto check = [&](const Tensor& row, const std::vector<double>& expected) {
    for (std::int64_t expert = 0; expert < 2; ++expert) {
      for (std::int64_t k = 0; k < static_cast<std::int64_t>(expected.size()); ++k) {
        const double margin = expert == 0 ? 1e-12 : 1e-7;  // 1e-7 is added to the norm
        CHECK(row[6 * expert + k % 2 * 3 + k / 2].item<double>() == Approx(expected[static_cast<std::size_t>(k)]).margin(margin));
      }
    }
  };
  const MuonConfig usual;
  check(after(usual, 1), {.858500458004, .137138303833, .919671624163, -.772821101681, .135300940350, -.972252350357});
  check(after(usual, 3), {.858373616880, .136426019891, .918916541918, -.772879596034, .134611836118, -.971603275682});
  auto plain = usual, rms = usual;
  plain.nesterov = false;
  rms.scaling = "rms";
  check(after(plain, 3), {.872817103735});
  check(after(rms, 3), {.845889763293});
  // NS₅ of the first gradient, in both precisions.
  const std::vector<double> expected{-.702094280622, .161398743754, -.430947364003, .660134056046, .236410571666, .551945161574};
  const Tensor g = filled(1, [](double i, double j) { return std::cos(i + 2 * j + 3); })[0].narrow(0, 0, 6);
  check(orthogonalised(g.view({1, 2, 3})).flatten().repeat({2}), expected);
  Tensor single = g.to(torch::kFloat32).contiguous();
  orthogonalise(2, 3, single.data_ptr<float>());
  for (std::int64_t k = 0; k < 6; ++k)
    CHECK(single[k % 2 * 3 + k / 2].item<float>() == Approx(expected[static_cast<std::size_t>(k)]).margin(1e-5));
}

TEST_CASE("Lion gives reference values in float64", "[torch]") {
  const torch::NoGradGuard no_grad;
  RowLayout layout;
  layout.add({"ffn.up.weight", {3, 2}, Init::constant(0), true});
  const auto filled = [&](const std::function<double(double, double)>& f) {
    Tensor row = torch::zeros({1, layout.width()}, torch::kFloat64);
    for (std::int64_t k = 0; k < 6; ++k) row[0][k] = f(static_cast<double>(k / 2), static_cast<double>(k % 2));
    return row;
  };
  Tensor row = filled([](double i, double j) { return std::sin(1 + i + 2 * j); });
  LionConfig config;
  config.lr = 0.01;
  config.weight_decay = 0.1;
  TensorOptimizer lion(layout, row, {config});
  for (std::int64_t t = 1; t <= 3; ++t) {
    const Tensor gradient = filled([&](double i, double j) { return std::cos(i + 2 * j + 3 * static_cast<double>(t)); });
    lion.step(row, gradient, torch::ones({1, 1}, torch::kFloat64), lion.coefficients(t, 1), torch::ones({1, 1}, torch::kBool));
  }
  const double expected[] = {.848939105425, .130707061255, .916562271528, -.764524367473, .130707061255, -.966040387653};
  for (std::int64_t k = 0; k < 6; ++k) CHECK(row[0][k].item<double>() == Approx(expected[k]).margin(1e-12));
}

TEST_CASE("a run that is not alive stays where it is", "[torch]") {
  const torch::NoGradGuard no_grad;
  const auto layout = some_layout();
  Tensor rows = some_rows(layout, 0);
  const Tensor before = rows.clone();
  TensorOptimizer optimizer(layout, rows, three(AdamWConfig{}));
  const Tensor alive = torch::tensor({true, false, true}).view({kRuns, 1});
  Tensor gradients = some_rows(layout, 1);
  gradients[1].fill_(NAN);
  optimizer.step(rows, gradients, torch::ones({kRuns, 1}), optimizer.coefficients(1, 1).to(torch::kFloat32), alive);
  CHECK(torch::equal(rows[1], before[1]));
  CHECK_FALSE(torch::equal(rows[0], before[0]));
  for (const auto& [name, state] : optimizer.state()) CHECK(state[1].eq(0).all().item<bool>());
}
