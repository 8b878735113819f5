#include "ffn/train/bench_torch.hpp"

#include <algorithm>
#include <chrono>

#include "ffn/base/error.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/feed_forward_cpu.hpp"
#include "ffn/layers/feed_forward_torch.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "ffn/train/bench_cohorts.hpp"
#include "ffn/train/memory.hpp"

namespace ffn {

namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;

double seconds_of(const Work& work, std::int64_t times) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < times; ++i) work();
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(times);
}

/// Median seconds per call of each piece of work. They take turns, so that a disturbance meets all of them.
std::vector<double> medians(const std::vector<Work>& works, double seconds) {
  std::vector<double> once;
  for (const auto& work : works) {
    work();  // first touches
    once.push_back(std::max(1e-9, seconds_of(work, 1)));
  }
  const bool long_ones = *std::max_element(once.begin(), once.end()) > seconds;
  const std::size_t rounds = long_ones ? 3 : 9;
  std::vector<std::int64_t> times;
  for (const double s : once)
    times.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds / static_cast<double>(rounds) / s)));
  std::vector<std::vector<double>> found(works.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) found[i].push_back(seconds_of(works[i], times[i]));
  }
  std::vector<double> out;
  for (auto& values : found) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(rounds / 2);
    std::nth_element(values.begin(), middle, values.end());
    out.push_back(*middle);
  }
  return out;
}

/// A matrix as its layer holds it, or that transposed.
struct Stored {
  Stored(std::int64_t rows, std::int64_t cols, bool transposed_)
      : transposed(transposed_),
        held(torch::randn({transposed ? cols : rows, transposed ? rows : cols})),
        seen(transposed ? held.t() : held) {}
  bool transposed;
  torch::Tensor held, seen;

  std::int64_t row() const { return seen.stride(0); }
  std::int64_t col() const { return seen.stride(1); }
};

/// A product of our own kernel and the same by the BLAS that LibTorch has.
struct Product {
  Product(std::int64_t m_, std::int64_t k_, std::int64_t n_, bool a_transposed = false, bool b_transposed = false)
      : m(m_), n(n_), k(k_), a(m, k, a_transposed), b(k, n, b_transposed), c(torch::empty({m, n})) {}
  std::int64_t m, n, k;
  Stored a, b;
  torch::Tensor c;

  std::string name() const {
    return std::to_string(m) + " x " + std::to_string(k) + " by " + std::to_string(n) + (a.transposed ? ", A transposed" : "") +
           (b.transposed ? ", B transposed" : "");
  }
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  Work own() {
    return [this] {
      kernels().gemm(
          {m, n, k, a.held.data_ptr<float>(), a.row(), a.col(), b.held.data_ptr<float>(), b.row(), b.col(), c.data_ptr<float>(), n});
    };
  }
  Work blas() {
    return [this] { at::mm_out(c, a.seen, b.seen); };
  }
};

// The three products of a linear map's step: forward, the gradient of its weights, that of its input.
std::vector<Product> products_of(std::int64_t tokens, std::int64_t d_in, std::int64_t d_out) {
  return {{tokens, d_in, d_out}, {d_in, tokens, d_out, /*a_transposed=*/true}, {tokens, d_out, d_in, false, /*b_transposed=*/true}};
}

void bench_products(const BenchRequest& request, const std::function<void(const Measurement&)>& emit) {
  struct Linear {
    std::int64_t tokens, d_in, d_out;
  };
  // From the maps of an XOR run to those of a block of d_model 512; a head of 65 characters; an expert's few tokens; cubes.
  for (const auto& s : {Linear{64, 8, 32}, Linear{64, 32, 8}, Linear{64, 32, 64}, Linear{100, 50, 30}, Linear{128, 128, 128},
                        Linear{512, 32, 128}, Linear{256, 256, 256}, Linear{768, 128, 65}, Linear{768, 128, 512}, Linear{512, 256, 1024},
                        Linear{512, 512, 2048}, Linear{1024, 1024, 1024}, Linear{2048, 2048, 2048}}) {
    const torch::InferenceMode inference;
    for (auto& product : products_of(s.tokens, s.d_in, s.d_out)) {
      if (request.stop && request.stop()) return;
      const auto t = medians({product.own(), product.blas()}, request.seconds);
      emit({"product",
            product.name(),
            {{"us", t[0] * 1e6},
             {"gflops", product.flops() / t[0] * 1e-9},
             {"blas_us", t[1] * 1e6},
             {"blas_gflops", product.flops() / t[1] * 1e-9},
             {"times_blas", t[1] / t[0]}}});
    }
  }
}

/// Forward and backward of one FFN by hand and by LibTorch's autograd.
class FfnBench {
 public:
  FfnBench(const FfnConfig& config, std::int64_t d_model, std::int64_t tokens)
      : tokens_(tokens),
        module_(modules::make_ffn(1, d_model, config, 0)),
        row_(*module_),
        x_(torch::randn({1, tokens, d_model}).requires_grad_()),
        dy_(torch::randn({1, tokens, d_model})) {
    row_.initialise({1});
    cpu::Declared declared;
    cpu_ = cpu::make_feed_forward(cpu::Declare(declared), d_model, config, 0);
    TORCH_CHECK(declared.layout().width() == row_.layout().width(), "the two engines do not agree on the parameters");
  }

  Work cpu() {
    return [this] {
      arena_.reset();
      cpu::Pass pass{row_.values().data_ptr<float>(), row_.gradients().data_ptr<float>(), arena_, tokens_, true};
      cpu_->forward(pass, tokens_, x_.data_ptr<float>());
      cpu_->backward(pass, dy_.data_ptr<float>(), {});
    };
  }
  Work libtorch() {
    return [this] { module_->forward(x_, context_).y.backward(dy_); };
  }

 private:
  std::int64_t tokens_;
  std::shared_ptr<modules::FeedForward> module_;
  modules::ParameterRow row_;
  torch::Tensor x_, dy_;
  modules::ForwardContext context_;
  std::unique_ptr<cpu::FeedForward> cpu_;
  cpu::Arena arena_;
};

template <class Config>
FfnConfig sized(std::int64_t d_ff) {
  Config config;
  config.d_ff = d_ff;
  return config;
}

// A layer that is given as the formula of that name.
FfnConfig as_formula(const char* name, std::int64_t d_ff) {
  FormulaConfig config;
  config.d_ff = d_ff;
  for (const auto& row : named_formulas()) {
    if (row.name == std::string(name)) config.text = formula_text(row);
  }
  return config;
}

void bench_ffns(const BenchRequest& request, const std::function<void(const Measurement&)>& emit) {
  constexpr std::int64_t kTokens = 512;
  for (const std::int64_t d : {8, 16, 32, 64, 128, 256, 512}) {
    struct Kind {
      const char* name;
      FfnConfig config;
    };
    // Gated at the parameters of the plain one; the mixture's experts are plain ones, and the wide one does as much work
    // per token as two of them.
    const Kind kinds[] = {{"positionwise", sized<PositionwiseConfig>(4 * d)},
                          {"gated", sized<GatedConfig>(8 * d / 3)},
                          {"moe", sized<MoeConfig>(4 * d)},
                          {"wide", sized<PositionwiseConfig>(8 * d)},
                          {"formula normformer", as_formula("normformer", 4 * d)}};
    Product own(512, 512, 512), blas(512, 512, 512);
    std::vector<std::unique_ptr<FfnBench>> benches;
    std::vector<Work> works{own.own(), blas.blas()};
    for (const auto& kind : kinds) {
      benches.push_back(std::make_unique<FfnBench>(kind.config, d, kTokens));
      works.push_back(benches.back()->cpu());
      works.push_back(benches.back()->libtorch());
    }
    if (request.stop && request.stop()) return;
    const auto t = medians(works, request.seconds);
    const double own_rate = own.flops() / t[0], blas_rate = blas.flops() / t[1];
    for (std::size_t i = 0; i < std::size(kinds); ++i) {
      // Backward takes two products for each of the forward pass.
      const double flops = 3.0 * kTokens * static_cast<double>(ffn_cost(kinds[i].config, d).flops);
      const double ours = t[2 + 2 * i], theirs = t[3 + 2 * i];
      emit({"ffn",
            std::string(kinds[i].name) + " " + std::to_string(d),
            {{"d_model", static_cast<double>(d)},
             {"us", ours * 1e6},
             {"gflops", flops / ours * 1e-9},
             {"share_of_own_product", flops / ours / own_rate},
             {"share_of_blas_product", flops / ours / blas_rate},
             {"libtorch_us", theirs * 1e6},
             {"times_libtorch", theirs / ours}}});
    }
  }
}

/// Forward and backward of one FFN as it trains: by the cpu engine where that covers it, else by LibTorch.
class SizedFfn {
 public:
  SizedFfn(const FfnConfig& config, const BenchRequest& request, const torch::Device& device)
      : lowered_(request.compute.precision == "bfloat16"),
        on_device_(device.is_cuda() || lowered_),
        module_(modules::make_ffn(1, request.d_model, config, 0)),
        row_(*module_, torch::TensorOptions(torch::kFloat32).device(device)),
        x_(torch::randn({1, request.tokens, request.d_model}).to(device).requires_grad_()),
        dy_(torch::randn({1, request.tokens, request.d_model}).to(device)) {
    std::vector<float> start(static_cast<std::size_t>(row_.layout().width()));
    row_.layout().initialise(1, start.data());
    const torch::NoGradGuard no_grad;
    row_.values()[0].copy_(torch::from_blob(start.data(), {row_.layout().width()}));
    context_.host_free = on_device_;
  }

  Work work() {
    return [this] {
      const modules::OwnKernels kernels(on_device_);
      x_.mutable_grad() = torch::Tensor();
      const auto y = [&] {
        const ProductPrecision precision(lowered_, x_.device());
        return module_->forward(x_, context_).y;
      }();
      y.backward(dy_.to(y.scalar_type()));
    };
  }

 private:
  bool lowered_, on_device_;
  std::shared_ptr<modules::FeedForward> module_;
  modules::ParameterRow row_;
  torch::Tensor x_, dy_;
  modules::ForwardContext context_;
};

// Plain, gated, mixture and formula at about the same work per token, and the product of that shape beside them.
void bench_sized_ffns(const BenchRequest& request, const torch::Device& device, const std::function<void(const Measurement&)>& emit) {
  const auto d = request.d_model, f = request.d_ff > 0 ? request.d_ff : 4 * d;
  MoeConfig mixture;
  mixture.d_ff = std::max<std::int64_t>(1, f / mixture.top_k);
  const std::pair<const char*, FfnConfig> kinds[] = {{"positionwise", sized<PositionwiseConfig>(f)},
                                                     {"gated", sized<GatedConfig>(std::max<std::int64_t>(1, 2 * f / 3))},
                                                     {"moe", mixture},
                                                     {"formula normformer", as_formula("normformer", f)}};
  double parameters = 0;
  for (const auto& [name, config] : kinds) parameters = std::max(parameters, static_cast<double>(ffn_cost(config, d).parameters));
  // On the CPU a module's weights as it starts, then its row of weights and gradients, and what a pass reads, keeps and writes.
  const double bytes = device.is_cuda() ? 4 * parameters : 12 * parameters + 4.0 * static_cast<double>(request.tokens * (4 * d + 3 * f));
  if (bytes > usable_memory())
    throw OutOfMemory(static_cast<std::size_t>(bytes), "layers of d_model " + std::to_string(d) + " and d_ff " + std::to_string(f),
                      "a smaller --d-model, --d-ff or --tokens takes less");
  const bool lowered = request.compute.precision == "bfloat16";
  const auto options = torch::TensorOptions(lowered ? torch::kBFloat16 : torch::kFloat32).device(device);
  const torch::Tensor a = torch::randn({request.tokens, d}).to(options), b = torch::randn({d, f}).to(options);
  torch::Tensor c = torch::empty({request.tokens, f}, options);
  const auto waits = [&](Work work) -> Work {
    if (!device.is_cuda()) return work;
    return [work = std::move(work), index = device.index()] {
      work();
      torch::cuda::synchronize(index);
    };
  };
  const auto product = waits([&] {
    const torch::NoGradGuard no_grad;
    at::mm_out(c, a, b);
  });
  for (const auto& [name, config] : kinds) {
    if (request.stop && request.stop()) return;
    const bool cpu = !device.is_cuda() && !lowered;
    std::unique_ptr<FfnBench> by_hand;
    std::unique_ptr<SizedFfn> by_torch;
    if (cpu) by_hand = std::make_unique<FfnBench>(config, d, request.tokens);
    else by_torch = std::make_unique<SizedFfn>(config, request, device);
    const auto t = medians({product, waits(cpu ? by_hand->cpu() : by_torch->work())}, request.seconds);
    const auto cost = ffn_cost(config, d);
    const auto tokens = static_cast<double>(request.tokens);
    const double flops = 3.0 * static_cast<double>(cost.flops), peak = 2 * tokens * static_cast<double>(d * f) / t[0];
    emit({"ffn of one size",
          name,
          {{"ms", t[1] * 1e3},
           {"tokens_per_s", tokens / t[1]},
           {"flops_per_s", flops * tokens / t[1]},
           {"product_flops_per_s", peak},
           {"share_of_product", flops * tokens / t[1] / peak},
           {"flops_per_token", flops},
           {"parameter_bytes", 4.0 * static_cast<double>(cost.parameters)}}});
  }
}

RunConfig xor_config(std::int64_t d_model, std::int64_t d_ff, std::int64_t batch_size) {
  RunConfig config;
  config.task = XorConfig{};
  config.model.d_model = d_model;
  config.model.ffn = sized<PositionwiseConfig>(d_ff);
  std::get<PositionwiseConfig>(config.model.ffn).activation = "relu";
  config.train.batch_size = batch_size;
  return config;
}

}  // namespace

void run_bench(const BenchRequest& request, const torch::Device& device, const std::function<void(const Measurement&)>& emit) {
  if (request.d_model > 0) return bench_sized_ffns(request, device, emit);
  const auto wanted = [&](const char* group) {
    return request.groups.empty() || std::find(request.groups.begin(), request.groups.end(), group) != request.groups.end();
  };
  if (wanted("product")) bench_products(request, emit);
  if (wanted("ffn")) bench_ffns(request, emit);
  if (!wanted("steps")) return;
  auto formula = xor_config(2, 8, 4);
  formula.model.ffn = as_formula("positionwise", 8);
  std::get<FormulaConfig>(formula.model.ffn).activation = "relu";
  bench_cohorts(request, {{"FFN 2-8-2, batch 4", xor_config(2, 8, 4), 0.6}, {"formula 2-8-2, batch 4", formula, 0.6}}, emit);
  bench_cohorts(request, {{"FFN 8-32-8, batch 64", xor_config(8, 32, 64), 3}}, emit);
}

}  // namespace ffn
