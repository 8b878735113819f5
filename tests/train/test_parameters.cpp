// How the parameters of a network start and what a weight file holds, against the rules written out once more.
#include <algorithm>
#include <map>
#include <set>

#include "cases.hpp"
#include "ffn/base/random.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/layers/network_cpu.hpp"
#include "ffn/train/optimizer.hpp"
#include "observer.hpp"
#include "support/catch_plain.hpp"
#include "support/worst.hpp"

using namespace ffn;

namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
bool is_norm(const std::string& name) { return name.find("norm.") != std::string::npos; }

RowLayout layout_of(const RunConfig& config) { return fused::Network(config.model, task_shape(config.task)).layout(); }

const RowEntry& entry_of(const RowLayout& layout, const std::string& name) {
  for (const auto& entry : layout.entries()) {
    if (entry.name == name) return entry;
  }
  throw std::out_of_range("no parameter " + name);
}

/// Word `index` of the stream of a name under a seed: Philox blocks counted by the index, keyed by the seed, in the
/// stream that 64-bit FNV-1a makes of the name.
std::uint32_t word(std::uint64_t seed, const std::string& name, std::uint64_t index) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const unsigned char c : name) h = (h ^ c) * 0x100000001b3;
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x & 0xffffffff); };
  return philox({low(index / 4), low(index / 4 >> 32), low(h), low(h >> 32)}, seed)[index % 4];
}
double uniform(std::uint64_t seed, const std::string& name, std::uint64_t i, double bound) {
  return bound * (2 * std::floor(word(seed, name, i) / 256.0) / 16777216.0 - 1);
}
double normal(std::uint64_t seed, const std::string& name, std::uint64_t i) {
  const double u = (word(seed, name, 2 * i) + 0.5) / 4294967296.0, v = (word(seed, name, 2 * i + 1) + 0.5) / 4294967296.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::acos(-1.0) * v);
}

/// Parameters of formulas have names of their own: dimensions tell matrices from vectors, whose starts formulas give
/// (config/test_formula.cpp).
bool is_of_formula(const RowEntry& entry) {
  return entry.name.find(".ffn.") != std::string::npos && !ends_with(entry.name, ".weight") && !ends_with(entry.name, ".bias");
}
bool is_matrix(const RowEntry& entry) { return entry.shape.size() == (entry.name.find(".experts.") == std::string::npos ? 2 : 3); }

// By name: norms start as the identity, tables (embeddings, scores) as standard normals, maps as torch.nn.Linear does,
// weight and bias within 1/√D_in, where D_in is the map's, also for every expert's.
double expected_start(const RowLayout& layout, const RowEntry& entry, std::uint64_t seed, std::uint64_t i) {
  const bool weight = ends_with(entry.name, ".weight"), bias = ends_with(entry.name, ".bias");
  if (is_norm(entry.name)) return weight ? 1 : 0;
  if (!weight && !bias && !is_of_formula(entry)) return normal(seed, entry.name, i);
  const auto& weights = layout.entries();
  const bool tied = entry.name == "head.bias" &&
                    std::none_of(weights.begin(), weights.end(), [](const RowEntry& other) { return other.name == "head.weight"; });
  if (tied) return uniform(seed, entry.name, i, 1 / std::sqrt(static_cast<double>(entry_of(layout, "embedding").shape.back())));
  const auto& shape = is_of_formula(entry) ? entry.shape : entry_of(layout, entry.name.substr(0, entry.name.rfind('.')) + ".weight").shape;
  return uniform(seed, entry.name, i, 1 / std::sqrt(static_cast<double>(shape[shape.size() - 2])));
}

const float* floats(const TensorData& tensor) { return reinterpret_cast<const float*>(tensor.bytes.data()); }

std::map<std::string, TensorData> by_name(const std::vector<TensorData>& tensors) {
  std::map<std::string, TensorData> out;
  for (const auto& tensor : tensors) out[tensor.name] = tensor;
  REQUIRE(out.size() == tensors.size());
  return out;
}

/// The file's name of an expert's part: "….experts.up.weight" of expert 2 is "….experts.2.up.weight".
std::string name_in_file(const std::string& name, std::int64_t expert) {
  const auto after = name.find("experts.") + 8;
  return name.substr(0, after) + std::to_string(expert) + "." + name.substr(after);
}

// Compares a file's tensor with its part of a row that counts its own places; what is (in, out) there is (out, in) here.
std::size_t wrong_in_file(const TensorData& tensor, std::int64_t begin, std::vector<std::int64_t> shape, bool transposed) {
  if (transposed) std::swap(shape[0], shape[1]);
  CHECK(tensor.shape == shape);
  CHECK(tensor.dtype == DType::f32);
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  REQUIRE(tensor.bytes.size() == static_cast<std::size_t>(count) * sizeof(float));
  std::size_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto from = transposed ? i % shape[1] * shape[0] + i / shape[1] : i;
    wrong += floats(tensor)[i] != static_cast<float>(begin + from);
  }
  return wrong;
}

}  // namespace

TEST_CASE("every parameter of every case starts as the rules say", "[train][parameters]") {
  int checked = 0;
  for (const auto& [name, config] : test::fused_cases()) {
    const auto layout = layout_of(config);
    std::vector<float> row(static_cast<std::size_t>(layout.width()), -7.0f);
    layout.initialise(11, row.data());
    test::Worst worst;
    for (const auto& entry : layout.entries()) {
      if (entry.role == Role::buffer || (is_of_formula(entry) && !is_matrix(entry))) continue;
      for (std::int64_t i = 0; i < entry.count; ++i) {
        const double found = static_cast<double>(row[static_cast<std::size_t>(entry.offset + i)]);
        worst.add(found - expected_start(layout, entry, 11, static_cast<std::uint64_t>(i)), entry.name);
      }
    }
    INFO(name << ", worst start of " << worst.where());
    CHECK(worst.error() < 3e-7);  // a float's rounding of numbers up to 5
    ++checked;
  }
  CHECK(checked > 100);
}

TEST_CASE("starts are pinned: a change here would change every published result", "[train][parameters]") {
  // From an independent implementation in Python.
  RowLayout layout;
  layout.add({"head.weight", {4, 2}, Init::fan_in(4), true, Export::linear});
  layout.add({"embedding", {2, 2}, Init::normal(1), true, Export::as_is});
  std::vector<float> row(static_cast<std::size_t>(layout.width()));
  layout.initialise(7, row.data());
  const double expected[] = {0.108523905, 0.358126998, -0.36702621, 0.391958535, -0.132175684};
  for (std::size_t i = 0; i < 5; ++i) CHECK(static_cast<double>(row[i]) == Approx(expected[i]).epsilon(1e-6));
  const double embedding[] = {1.55678544, -1.86909196, 1.49371503};
  for (std::size_t i = 0; i < 3; ++i) CHECK(static_cast<double>(row[16 + i]) == Approx(embedding[i]).epsilon(1e-6));
}

TEST_CASE("a run starts from its own seed's draw", "[train][parameters]") {
  auto config = test::base(test::some_ffn<PositionwiseConfig>("relu"), false);
  config.train.steps = 1;
  SgdConfig still;
  still.lr = 1e-300;  // the smallest step: weights stay where they started
  config.train.optimizer = still;
  config.seed = 5;
  const auto weights = by_name(test::train({config}).results.at(0).weights);
  test::Worst worst;
  for (std::size_t i = 0; i < 2; ++i)
    worst.add(static_cast<double>(floats(weights.at("head.bias"))[i]) - uniform(sub_seed(5, "init"), "head.bias", i, 1 / std::sqrt(10.0)));
  CHECK(worst.error() < 1e-7);
}

// Every parameter's deviation against what the papers say of it; 0 for a constant 0, 1 for a constant 1.
TEST_CASE("gpt2 and fan_in start weights at the deviations of their papers, biases at 0 and norms at 1", "[train][parameters]") {
  for (const std::string init : {"gpt2", "fan_in"}) {
    MoeConfig moe;
    moe.d_ff = 200;
    moe.num_experts = 4;
    auto config = test::base(moe, true);
    config.model.init = init;
    config.model.d_model = 100;
    config.model.blocks = 3;
    const auto layout = layout_of(config);
    std::vector<float> row(static_cast<std::size_t>(layout.width()));
    initialise(config.model, layout, 11, row.data());
    std::set<Role> seen;
    for (const auto& entry : layout.entries()) {
      INFO(init << " " << entry.name);
      double square = 0;
      for (std::int64_t i = 0; i < entry.count; ++i)
        square += std::pow(static_cast<double>(row[static_cast<std::size_t>(entry.offset + i)]), 2);
      const double deviation = std::sqrt(square / static_cast<double>(entry.count));
      const bool weight = entry.shape.size() > 1 && entry.name.find(".bias") == std::string::npos, inner = entry.role == Role::down;
      const bool writes = inner || entry.role == Role::attention_output,
                 table = entry.role == Role::embedding || entry.role == Role::position;
      const double expected = entry.role == Role::norm ? (ends_with(entry.name, ".weight") ? 1 : 0)
                              : !weight                ? 0
                              : init == "gpt2"         ? (writes ? 0.02 / std::sqrt(6.0) : 0.02)
                              : table                  ? 1
                                                       : 1 / std::sqrt(inner ? 200.0 : 100.0);
      if (expected == 0) CHECK(deviation == 0);
      else CHECK(deviation == Approx(expected).epsilon(std::min(0.9, 4 / std::sqrt(2.0 * static_cast<double>(entry.count)))));
      seen.insert(entry.role);
    }
    CHECK(seen.count(Role::down) + seen.count(Role::router) + seen.count(Role::attention_output) + seen.count(Role::head) == 4);
  }
}

// Bounds from what muP says: W₂ ∝ 1/F, equal to torch's 1/√F at the base. 24 units here, 6 at the base.
TEST_CASE("init mup scales start and rate of the maps back from the hidden layer alone", "[train][parameters]") {
  MoeConfig moe;
  moe.d_ff = 24;
  moe.num_experts = 4;
  auto config = test::base(moe, true);
  const auto layout = layout_of(config);
  const auto start = [&](const std::string& init) {
    config.model.init = init;
    config.model.base_d_ff.reset();
    if (init == "mup") config.model.base_d_ff = 6;
    std::vector<float> row(static_cast<std::size_t>(layout.width()));
    initialise(config.model, layout, 11, row.data());
    return row;
  };
  const auto torch = start("torch"), mup = start("mup");
  const auto rule = update_rule(config), usual = update_rule(config.train.optimizer);
  std::size_t scaled = 0;
  for (const auto& entry : layout.entries()) {
    CAPTURE(entry.name);
    const bool back = ends_with(entry.name, "experts.down.weight");
    float largest = 0;
    for (std::int64_t i = 0; i < entry.count; ++i) {
      const auto at = static_cast<std::size_t>(entry.offset + i);
      largest = std::max(largest, std::abs(mup[at]));
      if (!back) CHECK(mup[at] == torch[at]);
    }
    if (back) CHECK(largest == Approx(std::sqrt(6.0) / 24).epsilon(0.02));
    CHECK(rule(entry).rate == (back ? 0.25 : 1));
    CHECK(rule(entry).decays == usual(entry).decays);
    scaled += back;
  }
  CHECK(scaled == 2);
}

TEST_CASE("nanochat starts as its gpt.py says", "[train][parameters]") {
  auto config = test::base(test::some_ffn<GatedConfig>("relu2"), true);
  config.model.init = "nanochat";
  config.model.d_model = 100;
  config.model.ffn = [] {
    GatedConfig ffn;
    ffn.d_ff = 200;
    return ffn;
  }();
  const auto layout = layout_of(config);
  std::vector<float> row(static_cast<std::size_t>(layout.width()));
  initialise(config.model, layout, 11, row.data());
  const std::map<Role, double> expected{{Role::query, 0.1}, {Role::key, 0.1},    {Role::value, 0.1},     {Role::up, 0.04},
                                        {Role::gate, 0.04}, {Role::head, 0.001}, {Role::embedding, 0.8}, {Role::attention_output, 0},
                                        {Role::down, 0}};
  std::size_t seen = 0;
  for (const auto& entry : layout.entries()) {
    if (entry.shape.size() < 2 || expected.count(entry.role) == 0) continue;
    CAPTURE(entry.name);
    double square = 0, largest = 0;
    for (std::int64_t i = 0; i < entry.count; ++i) {
      const auto x = static_cast<double>(row[static_cast<std::size_t>(entry.offset + i)]);
      square += x * x;
      largest = std::max(largest, std::abs(x));
    }
    const double deviation = std::sqrt(square / static_cast<double>(entry.count)), wanted = expected.at(entry.role);
    CHECK(deviation == Approx(wanted).epsilon(4 / std::sqrt(2.0 * static_cast<double>(entry.count))));
    const bool uniform = entry.role != Role::head && entry.role != Role::embedding;
    CHECK((largest <= 1.7321 * wanted) == (uniform || wanted == 0));
    ++seen;
  }
  CHECK(seen == 16);
}

TEST_CASE("init_scale multiplies what a role starts with, after init's rule, and leaves alone what a formula asks for",
          "[train][parameters]") {
  FormulaConfig formula;
  formula.d_ff = 13;
  formula.text.formula = "relu(x @ up + b) @ down";
  *formula.text.parameters = {{"up", {"D", "F"}}, {"b", {"F"}}, {"down", {"F", "D"}}};
  *formula.text.init = {{"down", 0.25}};
  for (const std::string init : {"torch", "fan_in"}) {
    auto config = test::base(formula, true);
    config.model.init = init;
    const auto layout = layout_of(config);
    const auto start = [&](const Json& scale) {
      *config.model.init_scale = scale;
      std::vector<float> row(static_cast<std::size_t>(layout.width()));
      initialise(config.model, layout, 11, row.data());
      return row;
    };
    const auto plain = start(Json::object()), scaled = start({{"up", 2}, {"down", 3}, {"query", 0}});
    for (const auto& entry : layout.entries()) {
      CAPTURE(entry.name);
      const float factor = entry.role == Role::up ? 2 : entry.role == Role::query ? 0 : 1;
      for (std::int64_t i = 0; i < entry.count; ++i) {
        const auto at = static_cast<std::size_t>(entry.offset + i);
        CHECK(scaled[at] == Approx(factor * plain[at]));
      }
    }
  }
}

TEST_CASE("a tied embedding and its positions start at a deviation of 1/√D, all else as untied", "[train][parameters]") {
  for (const std::string init : {"torch", "zero_out", "fan_in"}) {
    auto config = test::base(test::some_ffn<PositionwiseConfig>("relu"), true);
    config.model.init = init;
    const auto start = [&](bool tie) {
      config.model.tie = tie;
      const auto layout = layout_of(config);
      std::vector<float> row(static_cast<std::size_t>(layout.width()));
      initialise(config.model, layout, 11, row.data());
      return by_name(layout.export_row(row.data()));
    };
    const auto apart = start(false), tied = start(true);
    CHECK(apart.size() == tied.size() + 1);
    for (const auto& [name, tensor] : tied) {
      INFO(init << " " << name);
      const bool table = name == "embedding" || name == "position";
      for (std::size_t i = 0; i < tensor.bytes.size() / sizeof(float); ++i)
        CHECK(floats(tensor)[i] == Approx(floats(apart.at(name))[i] / (table ? std::sqrt(10.0f) : 1)).epsilon(1e-6));
    }
  }
}

TEST_CASE("a weight file has torch.nn.Linear's layout, and each expert's tensors by their number", "[train][parameters]") {
  std::size_t files = 0, of_experts = 0;
  for (const auto& [name, config] : test::fused_cases()) {
    const auto layout = layout_of(config);
    std::vector<float> row(static_cast<std::size_t>(layout.width()));
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i);
    REQUIRE(row.size() < (1 << 24));  // floats count exactly
    auto file = by_name(layout.export_row(row.data()));
    for (const auto& entry : layout.entries()) {
      INFO(name << ": " << entry.name);
      const bool experts = entry.name.find(".experts.") != std::string::npos;
      const bool map = is_of_formula(entry) ? is_matrix(entry) : ends_with(entry.name, ".weight") && !is_norm(entry.name);
      const std::vector<std::int64_t> shape(entry.shape.begin() + experts, entry.shape.end());
      const auto parts = experts ? entry.shape[0] : 1;
      for (std::int64_t e = 0; e < parts; ++e) {
        const auto stored = experts ? name_in_file(entry.name, e) : entry.name;
        REQUIRE(file.count(stored) == 1);
        CHECK(wrong_in_file(file.at(stored), entry.offset + e * entry.count / parts, shape, map) == 0);
        file.erase(stored);
        ++files;
        of_experts += experts;
      }
    }
    CHECK(file.empty());
    std::vector<float> back(row.size(), -1.0f);
    layout.import_row(back.data(), layout.export_row(row.data()));
    for (const auto& entry : layout.entries())
      CHECK(std::equal(row.begin() + entry.offset, row.begin() + entry.offset + entry.count, back.begin() + entry.offset));
  }
  CHECK(files > 2000);
  CHECK(of_experts > 1000);
}

TEST_CASE("the role of a parameter follows from its name, in every part of a network") {
  const std::map<std::string, Role> expected{{"embedding", Role::embedding},
                                             {"projection.bias", Role::embedding},
                                             {"position", Role::position},
                                             {"block0.attention.query.weight", Role::query},
                                             {"block0.attention.key.weight", Role::key},
                                             {"block0.attention.value.bias", Role::value},
                                             {"block0.attention.output.weight", Role::attention_output},
                                             {"block0.attention.scores", Role::scores},
                                             {"block0.attention_norm.weight", Role::norm},
                                             {"block0.ffn_post_norm.bias", Role::norm},
                                             {"final_norm.weight", Role::norm},
                                             {"block1.ffn.up.weight", Role::up},
                                             {"block1.ffn.gate.weight", Role::gate},
                                             {"block1.ffn.down.bias", Role::down},
                                             {"block0.ffn.router.gate.weight", Role::router},
                                             {"block0.ffn.experts.gate.weight", Role::gate},
                                             {"block0.ffn.experts.up.bias", Role::up},
                                             {"head.weight", Role::head}};
  for (const auto& [name, role] : expected) {
    CAPTURE(name);
    CHECK(role_of(name) == role);
  }
  std::size_t seen = 0;
  for (const auto& [name, config] : test::cases_with({"gelu"})) {
    if (!test::is_fused(config)) continue;
    const auto layout = layout_of(config);
    for (const auto& entry : layout.entries()) {
      CAPTURE(name, entry.name);
      CHECK((entry.role != Role::other || is_of_formula(entry)));
      ++seen;
    }
  }
  CHECK(seen > 500);
}

TEST_CASE("zero_out starts at zero what sub-layers write, and all else as torch does") {
  auto config = test::base(test::some_ffn<MoeConfig>("gelu"), true);
  const auto layout = layout_of(config);
  std::vector<float> torch(static_cast<std::size_t>(layout.width())), zero_out(torch.size());
  initialise(config.model, layout, 3, torch.data());
  config.model.init = "zero_out";
  initialise(config.model, layout, 3, zero_out.data());
  std::set<std::string> zeros;
  for (const auto& entry : layout.entries()) {
    const auto begin = static_cast<std::ptrdiff_t>(entry.offset), end = begin + static_cast<std::ptrdiff_t>(entry.count);
    if (std::equal(torch.begin() + begin, torch.begin() + end, zero_out.begin() + begin)) continue;
    CHECK(std::all_of(zero_out.begin() + begin, zero_out.begin() + end, [](float x) { return x == 0; }));
    zeros.insert(entry.name);
  }
  CHECK(zeros == std::set<std::string>{"block0.attention.output.weight", "block0.ffn.experts.down.weight", "block0.ffn.experts.down.bias",
                                       "block1.attention.output.weight", "block1.ffn.experts.down.weight", "block1.ffn.experts.down.bias"});
}

namespace {

template <class Config>
void multiply_rates(Config& config, double factor) {
  config.lr *= factor;
  if constexpr (std::is_same_v<Config, MuonConfig>) config.adam_lr *= factor;
}

}  // namespace

TEST_CASE("an optimizer sees every parameter's role and matrices, and takes its rate and decay from a rule over them") {
  auto config = test::base(test::some_ffn<MoeConfig>("gelu"), true);
  const auto layout = layout_of(config);
  const UpdateRule rule = [](const RowEntry& entry) {
    return Update{matrices_of(entry).count > 0, entry.role == Role::router ? 0.1 : entry.role == Role::head ? 3 : 1};
  };
  test::each_alternative(OptimizerConfig{}, [&](auto optimizer) {
    CAPTURE(optimizer.kKind);
    optimizer.weight_decay = 0.3;
    std::vector<float> gradient(static_cast<std::size_t>(layout.width()), 0.2f), row(gradient.size(), 1.0f);
    const auto by_rule = [&](const RowEntry& entry) {
      return Update{rule(entry).decays, rule(entry).rate, update_rule(optimizer)(entry).as_matrices};
    };
    RowOptimizer(layout, {optimizer}, by_rule).step(0, 1, 0.5, 1, gradient.data(), row.data());
    for (const auto& entry : layout.entries()) {
      CAPTURE(entry.name);
      auto alone = optimizer;  // as if there were no other parameter
      multiply_rates(alone, rule(entry).rate);
      alone.decay = "all";
      if (matrices_of(entry).count == 0) alone.weight_decay = 0;
      std::vector<float> expected(row.size(), 1.0f);
      RowOptimizer(layout, {alone}).step(0, 1, 0.5, 1, gradient.data(), expected.data());
      const auto begin = static_cast<std::ptrdiff_t>(entry.offset), end = begin + static_cast<std::ptrdiff_t>(entry.count);
      for (auto i = begin; i < end; ++i)
        CHECK(row[static_cast<std::size_t>(i)] == Approx(expected[static_cast<std::size_t>(i)]).epsilon(1e-6));
    }
  });

  std::set<std::string> with_matrices;
  for (const auto& group : parameter_groups(layout, rule)) {
    for (const auto& entry : group.parameters) {
      const auto matrices = matrices_of(entry);
      if (matrices.count == 0) continue;
      with_matrices.insert(entry.name);
      CHECK(matrices.count * matrices.rows * matrices.columns == entry.count);
      if (entry.name == "block0.ffn.experts.up.weight") {
        CHECK((entry.role == Role::up && group.update.rate == 1 && group.update.decays));
        CHECK((matrices.count == std::get<MoeConfig>(config.model.ffn).num_experts && matrices.rows == config.model.d_model));
      }
      if (entry.role == Role::router) CHECK((matrices.count == 1 && group.update.rate == 0.1));
    }
  }
  CHECK(with_matrices.count("block1.attention.query.weight") == 1);
  CHECK(with_matrices.count("block1.ffn.router.gate.weight") == 1);
  CHECK(with_matrices.count("embedding") + with_matrices.count("block0.ffn.experts.up.bias") == 0);
}

TEST_CASE("a model's roles are those of its parameters, whatever it is made of") {
  std::size_t seen = 0;
  for (const auto& [name, config] : test::cases_with({"gelu"})) {
    if (!test::is_fused(config)) continue;
    CAPTURE(name);
    const auto layout = layout_of(config);
    std::set<Role> expected;
    for (const auto& entry : layout.entries()) expected.insert(entry.role);
    expected.erase(Role::buffer);
    auto roles = config.model.roles();
    if (!task_shape(config.task).tokens) roles.erase(std::remove(roles.begin(), roles.end(), Role::position), roles.end());
    CHECK(std::set<Role>(roles.begin(), roles.end()) == expected);
    ++seen;
  }
  CHECK(seen > 100);
}

TEST_CASE("rates by role multiply the rate of that role alone, and 0 keeps parameters and state to the bit") {
  auto config = test::base(test::some_ffn<MoeConfig>("gelu"), true);
  const auto layout = layout_of(config);
  const std::map<Role, double> scale{{Role::head, 0}, {Role::norm, 0}, {Role::router, 0.5}, {Role::embedding, 4}};
  test::each_alternative(OptimizerConfig{}, [&](auto optimizer) {
    CAPTURE(optimizer.kKind);
    optimizer.weight_decay = 0.3;
    optimizer.decay = "all";
    auto scaled = optimizer;
    for (const auto& [role, factor] : scale) (*scaled.lr_scale)[role_name(role)] = factor;
    std::vector<float> gradient(static_cast<std::size_t>(layout.width()), 0.2f), row(gradient.size(), 0.7f);
    RowOptimizer rows(layout, {scaled});
    for (std::int64_t step = 1; step <= 3; ++step) rows.step(0, step, 0.5, 1, gradient.data(), row.data());
    for (const auto& entry : layout.entries()) {
      if (entry.role == Role::buffer) continue;
      CAPTURE(entry.name);
      const double factor = scale.count(entry.role) ? scale.at(entry.role) : 1;
      auto alone = optimizer;  // as if all had this rate
      multiply_rates(alone, factor);
      std::vector<float> expected(row.size(), 0.7f);
      RowOptimizer other(layout, {alone});
      for (std::int64_t step = 1; step <= 3 && factor > 0; ++step) other.step(0, step, 0.5, 1, gradient.data(), expected.data());
      const auto begin = static_cast<std::ptrdiff_t>(entry.offset), end = begin + static_cast<std::ptrdiff_t>(entry.count);
      CHECK(std::equal(row.begin() + begin, row.begin() + end, expected.begin() + begin));
      CHECK((row[static_cast<std::size_t>(begin)] == 0.7f) == (factor == 0));
      for (const auto& [name, state] : rows.state())
        if (name != "square" || !update_rule(optimizer)(entry).as_matrices)  // which Muon leaves at 0
          CHECK(std::all_of(state.row(0) + begin, state.row(0) + end, [&](float x) { return (x == 0) == (factor == 0); }));
    }
  });
}

TEST_CASE("an optimizer leaves buffers alone, also where everything decays") {
  RowLayout layout;
  layout.add({"weight", {2, 2}, Init::constant(1), true});
  ParameterSpec bias{"router.bias", {3}, Init::constant(1), false};
  bias.role = Role::buffer;
  layout.add(bias);
  layout.add({"norm", {2}, Init::constant(1), false});
  int kinds = 0;
  test::each_alternative(OptimizerConfig{}, [&](auto optimizer) {
    CAPTURE(optimizer.kKind);
    optimizer.decay = "all";
    optimizer.weight_decay = 0.5;
    RowOptimizer row_optimizer(layout, {optimizer});
    std::vector<float> gradient(static_cast<std::size_t>(layout.width())), row(gradient.size());
    layout.initialise(1, row.data());
    for (int step = 1; step <= 3; ++step) row_optimizer.step(0, step, 1, 1, gradient.data(), row.data());
    for (const auto& entry : layout.entries()) CHECK((row[static_cast<std::size_t>(entry.offset)] == 1) == (entry.role == Role::buffer));
    ++kinds;
  });
  CHECK(kinds > 2);
}
