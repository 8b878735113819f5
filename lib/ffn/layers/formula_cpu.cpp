#include "ffn/layers/formula_cpu.hpp"

#include <algorithm>

#include "ffn/kernels/isa.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/matrix.hpp"

namespace ffn::cpu {

namespace {

bool drops(const Pass& pass) { return pass.training && pass.dropout_rate > 0; }

// Keeps the k largest of a row, with 1 in `mask`; the others become 0. Ties go to the first. NaN counts as the largest, as in LibTorch.
// `out` may be `in`.
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

Broadcast FormulaProgram::operand(const Ref& ref, const Shape& as, const Part& part) const {
  const std::int64_t col = ref.shape.width == 1 && as.width > 1 ? 0 : 1;
  return {memory(ref, part), ref.shape.batched ? ref.shape.width : 0, col};
}

// Nowhere for no parameter.
template <class T>
T* FormulaProgram::own(int parameter, const Part& part, T* row) const {
  const auto i = static_cast<std::size_t>(parameter);
  return parameter < 0 ? nullptr : places_[i].in(row) + part.expert * sizes_[i];
}

void FormulaProgram::add_column_sums(const Ref& of, const Part& part, bool accumulate, float* out) {
  const std::int64_t rows = of.shape.batched ? part.rows : 1, cols = of.shape.width;
  if (!accumulate) return kernels().column_sums(rows, cols, memory(of, part), out);
  sums_.resize(static_cast<std::size_t>(cols));
  kernels().column_sums(rows, cols, memory(of, part), sums_.data());
  kernels().add(cols, sums_.data(), out, out);
}

void FormulaProgram::show(const Pass& pass, const Group& group) const {
  for (const auto& [op, what, ref] : shown_) {
    if (op >= group.begin && op < group.end) pass.show(what, rows_, ref.shape.width, memory(ref, {0, 0, rows_}));
  }
}

void FormulaProgram::run(Pass& pass, const std::vector<Group>& groups) {
  const bool drops = cpu::drops(pass);
  for (const Group& group : groups) {
    if (pass.watcher) show(pass, group);
    const std::int64_t experts = group.all_experts ? 1 : num_experts_;
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::int64_t first = offsets_[e], end = group.all_experts ? rows_ : offsets_[e + 1];
      if (group.tile == 0) {
        run(pass, ops_[group.begin], {e, first, end - first});
        continue;
      }
      for (Part part{e, first, 0}; part.first < end; part.first += group.tile) {
        part.rows = std::min(group.tile, end - part.first);
        for (std::size_t k = group.begin; k < group.end; ++k) {
          if (drops || !ops_[k].only_drops) run(pass, ops_[k], part);
        }
      }
    }
  }
}

void FormulaProgram::run(Pass& pass, const Op& op, const Part& part) {
  const std::int64_t rows = part.rows;
  const Shape& shape = op.out.shape;
  const std::int64_t width = shape.width, count = shape.batched ? rows : 1;
  float* out = memory(op.out, part);
  // A parameter, or a computed matrix.
  const auto weight = [&](auto* row, const Ref& computed) { return op.matrix >= 0 ? own(op.matrix, part, row) : memory(computed, part); };
  switch (op.kind) {
    case Kind::product: {  // y = in @ W + b
      const std::int64_t cols = op.a.shape.width;
      const ConstMatrix in(memory(op.a, part), rows, cols),
          w(weight(pass.parameters, op.b), op.transposed ? width : cols, op.transposed ? cols : width);
      multiply(in, op.transposed ? w.t() : w, Matrix(out, rows, width), own(op.bias, part, pass.parameters));
      break;
    }
    case Kind::weight_gradient: {  // dW = in.t() @ dy,   db = Σ rows of dy
      ConstMatrix in(memory(op.a, part), rows, op.a.shape.width), dy(memory(op.b, part), rows, op.b.shape.width);
      if (op.transposed) std::swap(in, dy);  // the gradient of W.t() is that of W, transposed
      const Matrix dw(weight(pass.gradients, op.out), in.cols, dy.cols);
      op.accumulate ? multiply_add(in.t(), dy, dw) : multiply(in.t(), dy, dw);
      if (float* db = own(op.bias, part, pass.gradients)) add_column_sums(op.b, part, op.accumulate_bias, db);
      break;
    }
    case Kind::input_gradient: {  // din = dy @ W.t()
      const std::int64_t cols = op.a.shape.width;
      const ConstMatrix dy(memory(op.a, part), rows, cols),
          w(weight(pass.parameters, op.b), op.transposed ? cols : width, op.transposed ? width : cols);
      const ConstMatrix back = op.transposed ? w : w.t();
      op.accumulate ? multiply_add(dy, back, Matrix(out, rows, width)) : multiply(dy, back, Matrix(out, rows, width));
      break;
    }
    case Kind::activation:
      op.phi->values_and_slopes(static_cast<std::size_t>(count * width), memory(op.a, part), out, memory(op.beside, part));
      break;
    case Kind::function: {
      const float* inputs[] = {memory(op.a, part), memory(op.b, part), memory(op.beside, part)};
      chosen_build().run(*op.expression, static_cast<std::size_t>(count * width), inputs, out);
      break;
    }
    case Kind::combine:
      kernels().combine(op.how, op.accumulate, count, width, operand(op.a, shape, part), operand(op.b, shape, part), out);
      break;
    case Kind::multiply:
      kernels().multiply(count * width, memory(op.a, part), memory(op.b, part), out);
      break;
    case Kind::drop:
      if (!drops(pass)) {
        std::copy_n(memory(op.a, part), count * width, out);
        break;
      }
      kernels().dropout_mask(static_cast<std::size_t>(count * width), pass.dropout_rate, pass.dropout_seed, op.site,
                             static_cast<std::uint64_t>(pass.step), memory(op.beside, part),
                             static_cast<std::size_t>((pass.first_row + part.first) * width));
      kernels().multiply(count * width, memory(op.a, part), memory(op.beside, part), out);
      break;
    case Kind::mask:
      kernels().combine(drops(pass) ? Arithmetic::multiply : Arithmetic::copy, op.accumulate, count, width, operand(op.a, shape, part),
                        operand(op.b, shape, part), out);
      break;
    case Kind::normalise:
      kernels().normalise(count, width, epsilon_, op.centre, memory(op.a, part), out, memory(op.beside, part));
      break;
    case Kind::normalise_backward:
      kernels().normalise_backward(count, width, op.centre, memory(op.a, part), memory(op.b, part), memory(op.beside, part), out);
      break;
    case Kind::softmax: {
      const float* in = memory(op.a, part);
      if (in != out) std::copy_n(in, count * width, out);
      kernels().softmax(count, width, 1.0f, /*seen=*/0, out);
      break;
    }
    case Kind::softmax_backward: {
      const float* dy = memory(op.a, part);
      if (dy != out) std::copy_n(dy, count * width, out);
      kernels().softmax_backward(count, width, 1.0f, memory(op.b, part), out);
      break;
    }
    case Kind::top_k: {
      const float* in = memory(op.a, part);
      float* mask = memory(op.beside, part);
      for (std::int64_t i = 0; i < count; ++i) top_k(width, op.kept, in + i * width, sums_, out + i * width, mask + i * width);
      break;
    }
    case Kind::reduce: {
      const std::int64_t from_rows = op.a.shape.batched ? rows : 1, cols = op.a.shape.width;
      const float* in = memory(op.a, part);
      if (shape.batched) {
        kernels().add_row_sums(from_rows, cols, in, out);
      } else if (width == 1) {
        kernels().add_row_sums(1, from_rows * cols, in, out);
      } else {
        add_column_sums(op.a, part, true, out);
      }
      break;
    }
    case Kind::copy_columns: {
      const std::int64_t columns = op.beside.shape.width;
      const Broadcast in = operand(op.a, op.a.shape, part);
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
  for (const Ref& slot : slots)
    bases_[static_cast<std::size_t>(slot.index)] = pass.arena.floats((slot.shape.batched ? rows_ : num_experts_) * slot.shape.width);
}

const float* FormulaProgram::forward(Pass& pass, std::int64_t rows, const float* x) {
  alone_[1] = rows;
  return forward(pass, alone_, x);
}

const float* FormulaProgram::forward(Pass& pass, const std::int64_t* offsets, const float* x) {
  offsets_ = offsets;
  rows_ = offsets[num_experts_];
  bases_[kX] = const_cast<float*>(x);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    bases_[kFirstParameter + i] = const_cast<float*>(places_[i].in(pass.parameters));
    bases_[kFirstParameter + places_.size() + i] = places_[i].in(pass.gradients);
  }
  take_slots(pass, forward_slots_);
  run(pass, forward_);
  return memory(result_, {0, 0, rows_});
}

const float* FormulaProgram::backward(Pass& pass, const float* dy, const AuxiliaryValues&) {
  bases_[kDy] = const_cast<float*>(dy);
  take_slots(pass, backward_slots_);
  run(pass, backward_);
  return memory(dx_, {0, 0, rows_});
}

}  // namespace ffn::cpu
