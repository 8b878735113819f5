// Parameters in weight files and for optimizers, against the rules written out once more.
#include <algorithm>
#include <set>

#include "ffn/config/parameters.hpp"
#include "ffn/train/optimizer.hpp"
#include "observer.hpp"
#include "rows.hpp"

using namespace ffn;
using test::by_name;
using test::ends_with;
using test::floats;
using test::is_matrix;
using test::is_norm;
using test::is_of_formula;
using test::layout_of;

namespace {

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

TEST_CASE("a weight file has torch.nn.Linear's layout, and each expert's tensors by their number", "[train][parameters]") {
  std::size_t files = 0, of_experts = 0;
  for (const auto& [name, config] : test::cpu_cases()) {
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
    if (!test::is_cpu(config)) continue;
    const auto layout = layout_of(config);
    for (const auto& entry : layout.entries()) {
      CAPTURE(name, entry.name);
      CHECK((entry.role != Role::other || is_of_formula(entry)));
      ++seen;
    }
  }
  CHECK(seen > 500);
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
    if (!test::is_cpu(config)) continue;
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

TEST_CASE("decay by role multiplies the weight decay of that role alone, and 0 is none") {
  const auto layout = layout_of(test::base(test::some_ffn<MoeConfig>("gelu"), true));
  const std::map<Role, double> scale{{Role::head, 0}, {Role::router, 3}, {Role::down, 0.5}};
  test::each_alternative(OptimizerConfig{}, [&](auto optimizer) {
    CAPTURE(optimizer.kKind);
    optimizer.weight_decay = 0.3;
    auto scaled = optimizer;
    for (const auto& [role, factor] : scale) (*scaled.decay_scale)[role_name(role)] = factor;
    const auto stepped = [&](const OptimizerConfig& config) {
      std::vector<float> gradient(static_cast<std::size_t>(layout.width()), 0.2f), row(gradient.size(), 0.7f);
      RowOptimizer rows(layout, {config});
      for (std::int64_t step = 1; step <= 3; ++step) {  // of both signs: Adam's step is of one length otherwise, with decay or without
        std::fill(gradient.begin(), gradient.end(), step % 2 == 0 ? -0.3f : 0.2f);
        rows.step(0, step, 0.5, 1, gradient.data(), row.data());
      }
      return row;
    };
    const auto row = stepped(scaled), usual = stepped(optimizer);
    for (const auto& entry : layout.entries()) {
      if (entry.role == Role::buffer) continue;
      CAPTURE(entry.name);
      auto alone = optimizer;  // as if all had this decay
      alone.weight_decay *= scale.count(entry.role) ? scale.at(entry.role) : 1;
      const auto expected = stepped(alone);
      const auto begin = static_cast<std::ptrdiff_t>(entry.offset), end = begin + static_cast<std::ptrdiff_t>(entry.count);
      CHECK(std::equal(row.begin() + begin, row.begin() + end, expected.begin() + begin));
      const bool same = std::equal(row.begin() + begin, row.begin() + end, usual.begin() + begin);
      CHECK(same == (scale.count(entry.role) == 0 || !entry.decays));
    }
  });
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
