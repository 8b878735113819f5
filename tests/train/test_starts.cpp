// How the parameters of a network start, against the rules written out once more.
#include <algorithm>
#include <set>

#include "ffn/base/random.hpp"
#include "ffn/config/parameters.hpp"
#include "observer.hpp"
#include "rows.hpp"
#include "support/worst.hpp"

using namespace ffn;
using test::by_name;
using test::ends_with;
using test::floats;
using test::is_matrix;
using test::is_norm;
using test::is_of_formula;
using test::layout_of;

namespace {

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

}  // namespace

TEST_CASE("every parameter of every case starts as the rules say", "[train][parameters]") {
  int checked = 0;
  for (const auto& [name, config] : test::cpu_cases()) {
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
