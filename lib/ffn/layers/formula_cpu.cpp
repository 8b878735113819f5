#include "ffn/layers/formula_cpu.hpp"

#include <algorithm>

#include "ffn/kernels/dropout.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/layers/matrix.hpp"

namespace ffn::fused {

namespace {

bool drops(const Pass& pass) { return pass.training && pass.dropout_rate > 0; }

void draw(const Pass& pass, const FormulaProgram::Drop& drop, std::int64_t rows, float* mask) {
  dropout_mask(static_cast<std::size_t>(rows * drop.width), pass.dropout_rate, pass.dropout_seed, drop.site,
               static_cast<std::uint64_t>(pass.step), mask, static_cast<std::size_t>(pass.first_row * drop.width));
}

// Of a row the k largest as they are and 1 in `mask`, else 0; of equals the first. NaN is the largest, as for LibTorch. `out` may be `in`.
void top_k(std::int64_t width, std::int64_t k, const float* in, std::vector<float>& sorted, float* out, float* mask) {
  const auto larger = [](float a, float b) { return a > b || (a != a && b == b); };
  sorted.assign(in, in + width);
  std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), larger);
  const float last = sorted[static_cast<std::size_t>(k - 1)];
  auto equals = k - std::count_if(in, in + width, [&](float v) { return larger(v, last); });  // that stay
  for (std::int64_t c = 0; c < width; ++c) {
    const bool stays = larger(in[c], last) || (!larger(last, in[c]) && equals-- > 0);
    mask[c] = stays ? 1.0f : 0.0f;
    out[c] = stays ? in[c] : 0.0f;
  }
}

}  // namespace

Broadcast FormulaProgram::operand(const Ref& ref, const Shape& as, std::int64_t first_row) const {
  const std::int64_t col = ref.shape.width == 1 && as.width > 1 ? 0 : 1;
  return {memory(ref, first_row), ref.shape.batched ? ref.shape.width : 0, col};
}

void FormulaProgram::run(Pass& pass, const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    if (group.tile == 0) {
      run(pass, ops_[group.begin], 0, rows_);
      continue;
    }
    for (std::int64_t first = 0; first < rows_; first += group.tile) {
      const std::int64_t rows = std::min(group.tile, rows_ - first);
      for (std::size_t k = group.begin; k < group.end; ++k) run(pass, ops_[k], first, rows);
    }
  }
}

void FormulaProgram::run(Pass& pass, const Op& op, std::int64_t first, std::int64_t rows) {
  const Shape& shape = op.out.shape;
  const std::int64_t width = shape.width, count = shape.batched ? rows : 1;
  float* out = memory(op.out, first);
  const auto weight = [&](auto* row) { return places_[static_cast<std::size_t>(op.matrix)].in(row); };
  switch (op.kind) {
    case Kind::product: {  // y = in @ W + b
      const std::int64_t cols = op.a.shape.width;
      const ConstMatrix in(memory(op.a, 0), rows, cols),
          w(weight(pass.parameters), op.transposed ? width : cols, op.transposed ? cols : width);
      multiply(in, op.transposed ? w.t() : w, Matrix(out, rows, width),
               op.bias < 0 ? nullptr : places_[static_cast<std::size_t>(op.bias)].in(pass.parameters));
      break;
    }
    case Kind::weight_gradient: {  // dW = in.t() @ dy
      ConstMatrix in(memory(op.a, 0), rows, op.a.shape.width), dy(memory(op.b, 0), rows, op.b.shape.width);
      if (op.transposed) std::swap(in, dy);  // the gradient of W.t() is that of W, transposed
      const Matrix dw(weight(pass.gradients), in.cols, dy.cols);
      op.accumulate ? multiply_add(in.t(), dy, dw) : multiply(in.t(), dy, dw);
      break;
    }
    case Kind::input_gradient: {  // din = dy @ W.t()
      const std::int64_t cols = op.a.shape.width;
      const ConstMatrix dy(memory(op.a, 0), rows, cols),
          w(weight(pass.parameters), op.transposed ? cols : width, op.transposed ? width : cols);
      const ConstMatrix back = op.transposed ? w : w.t();
      op.accumulate ? multiply_add(dy, back, Matrix(out, rows, width)) : multiply(dy, back, Matrix(out, rows, width));
      break;
    }
    case Kind::bias_gradient: {  // db = Σ rows of dy
      const std::int64_t cols = op.a.shape.width;
      float* db = places_[static_cast<std::size_t>(op.bias)].in(pass.gradients);
      if (!op.accumulate) {
        kernels().column_sums(rows, cols, memory(op.a, 0), db);
        break;
      }
      sums_.resize(static_cast<std::size_t>(cols));
      kernels().column_sums(rows, cols, memory(op.a, 0), sums_.data());
      kernels().add(cols, sums_.data(), db, db);
      break;
    }
    case Kind::draw_mask:
      if (!fused::drops(pass)) break;
      if (masks_.empty()) draw(pass, drops_[op.drop], rows, out);
      else bases_[static_cast<std::size_t>(op.out.index)] = const_cast<float*>(masks_[op.drop]);
      break;
    case Kind::activation:
      op.phi->values_and_slopes(static_cast<std::size_t>(count * width), memory(op.a, first), out, memory(op.beside, first));
      break;
    case Kind::function: {
      const float* inputs[] = {memory(op.a, first), memory(op.b, first), memory(op.beside, first)};
      chosen_build().run(*op.expression, static_cast<std::size_t>(count * width), inputs, out);
      break;
    }
    case Kind::combine:
      kernels().combine(op.how, op.accumulate, count, width, operand(op.a, shape, first), operand(op.b, shape, first), out);
      break;
    case Kind::multiply:
      kernels().multiply(count * width, memory(op.a, first), memory(op.b, first), out);
      break;
    case Kind::mask: {
      kernels().combine(fused::drops(pass) ? Arithmetic::multiply : Arithmetic::copy, op.accumulate, count, width,
                        operand(op.a, shape, first), operand(op.b, shape, first), out);
      break;
    }
    case Kind::normalise:
      kernels().normalise(count, width, epsilon_, op.centre, memory(op.a, first), out, memory(op.beside, first));
      break;
    case Kind::normalise_backward:
      kernels().normalise_backward(count, width, op.centre, memory(op.a, first), memory(op.b, first), memory(op.beside, first), out);
      break;
    case Kind::softmax: {
      const float* in = memory(op.a, first);
      if (in != out) std::copy_n(in, count * width, out);
      kernels().softmax(count, width, 1.0f, /*seen=*/0, out);
      break;
    }
    case Kind::softmax_backward: {
      const float* dy = memory(op.a, first);
      if (dy != out) std::copy_n(dy, count * width, out);
      kernels().softmax_backward(count, width, 1.0f, memory(op.b, first), out);
      break;
    }
    case Kind::top_k: {
      const float* in = memory(op.a, first);
      float* mask = memory(op.beside, first);
      for (std::int64_t i = 0; i < count; ++i) top_k(width, op.kept, in + i * width, sums_, out + i * width, mask + i * width);
      break;
    }
    case Kind::reduce: {
      const std::int64_t from_rows = op.a.shape.batched ? rows : 1, cols = op.a.shape.width;
      const float* in = memory(op.a, first);
      if (shape.batched) {
        kernels().add_row_sums(from_rows, cols, in, out);
      } else if (width == 1) {
        kernels().add_row_sums(1, from_rows * cols, in, out);
      } else {
        sums_.resize(static_cast<std::size_t>(cols));
        kernels().column_sums(from_rows, cols, in, sums_.data());
        kernels().add(cols, sums_.data(), out, out);
      }
      break;
    }
    case Kind::copy_columns: {
      const std::int64_t columns = op.beside.shape.width;
      const Broadcast in = operand(op.a, op.a.shape, first);
      for (std::int64_t i = 0; i < count; ++i) {
        const Broadcast row{in.data + i * in.row + op.from, columns, 1};
        kernels().combine(Arithmetic::copy, op.accumulate, 1, columns, row, row, out + i * width + op.to);
      }
      break;
    }
    case Kind::zero:
      std::fill_n(out, count * width, 0.0f);
      break;
  }
}

void FormulaProgram::take_slots(Pass& pass, const std::vector<Ref>& slots) {
  for (const Ref& slot : slots) {
    bases_[static_cast<std::size_t>(slot.index)] = pass.arena.floats((slot.shape.batched ? rows_ : 1) * slot.shape.width);
  }
}

const float* FormulaProgram::forward(Pass& pass, std::int64_t rows, const float* x, const std::vector<const float*>& masks) {
  rows_ = rows;
  masks_ = masks;
  bases_[kX] = const_cast<float*>(x);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    bases_[kFirstParameter + i] = const_cast<float*>(places_[i].in(pass.parameters));
    bases_[kFirstParameter + places_.size() + i] = places_[i].in(pass.gradients);
  }
  take_slots(pass, forward_slots_);
  run(pass, forward_);
  return memory(result_, 0);
}

const float* FormulaProgram::backward(Pass& pass, const float* dy) {
  bases_[kDy] = const_cast<float*>(dy);
  take_slots(pass, backward_slots_);
  run(pass, backward_);
  return memory(dx_, 0);
}

namespace {

std::vector<Place> declare_all(const Declare& declare, const FormulaGraph& graph, const std::vector<ParameterSpec>& specs) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < specs.size(); ++i)
    places.push_back(declare(specs[i], FormulaProgram::gradient_of(graph, static_cast<int>(i))));
  return places;
}

FormulaGraph graph_of(const FormulaText& text, std::int64_t d_model, const FfnSize& size) {
  return compile_formula(text, d_model, size.hidden_width(d_model), size.activation);
}

FormulaProgram program_of(const Declare& declare, const FormulaGraph& graph, std::uint32_t site) {
  return FormulaProgram(graph, declare_all(declare, graph, graph.parameters), site);
}

}  // namespace

FormulaFeedForward::FormulaFeedForward(const Declare& declare, std::int64_t d_model, const FormulaConfig& config, std::uint32_t site)
    : program_(program_of(declare, graph_of(config.text, d_model, config), site)) {}

FormulaExperts::FormulaExperts(const Declare& declare, std::int64_t d_model, const MoeConfig& config, std::uint32_t site)
    : d_model_(d_model) {
  const FormulaGraph graph = graph_of(*config.expert, d_model, config);
  const auto places = declare_all(declare, graph, expert_parameters(graph.parameters, config.num_experts));
  for (std::int64_t e = 0; e < config.num_experts; ++e) {
    std::vector<Place> own;
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::int64_t count = 1;
      for (const auto size : graph.parameters[i].shape) count *= size;
      own.push_back(places[i].after(e * count));
    }
    experts_.emplace_back(graph, std::move(own), site);
  }
}

const float* FormulaExperts::forward(Pass& pass, const std::int64_t* offsets, const float* x) {
  const std::int64_t all_rows = offsets[experts_.size()];
  const auto& dropouts = experts_.front().drops();
  std::vector<float*> masks;  // of all rows: which of them are an expert's changes from step to step
  for (std::size_t k = 0; drops(pass) && k < dropouts.size(); ++k) {
    masks.push_back(pass.arena.floats(all_rows * dropouts[k].width));
    draw(pass, dropouts[k], all_rows, masks[k]);
  }
  std::vector<const float*> own(masks.size());
  float* y = pass.arena.floats(all_rows * d_model_);
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    const std::int64_t rows = offsets[e + 1] - offsets[e];
    for (std::size_t k = 0; k < own.size(); ++k) own[k] = masks[k] + offsets[e] * dropouts[k].width;
    std::copy_n(experts_[e].forward(pass, rows, x + offsets[e] * d_model_, own), rows * d_model_, y + offsets[e] * d_model_);
  }
  return y;
}

const float* FormulaExperts::backward(Pass& pass, const std::int64_t* offsets, const float* dy) {
  float* dx = pass.arena.floats(offsets[experts_.size()] * d_model_);
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    const std::int64_t rows = offsets[e + 1] - offsets[e];
    std::copy_n(experts_[e].backward(pass, dy + offsets[e] * d_model_), rows * d_model_, dx + offsets[e] * d_model_);
  }
  return dx;
}

}  // namespace ffn::fused
