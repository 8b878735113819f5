// The memory of a formula's program: which values share a piece of it, and what goes over the rows together.
#include <algorithm>

#include "ffn/layers/formula_cpu.hpp"

namespace ffn::cpu {

namespace {

constexpr std::int64_t kTile = 2048;  // floats of a value that are worked on at a time: a few of them lie in L1

}  // namespace

bool FormulaProgram::in_place(const Op& op) {
  switch (op.kind) {
    case Kind::activation:
    case Kind::function:
    case Kind::combine:
    case Kind::normalise:
    case Kind::normalise_backward:
    case Kind::softmax:
    case Kind::top_k:
    case Kind::drop:
    case Kind::mask:
      return true;
    default:
      return false;
  }
}

// One list of lifetimes over both passes: a value's memory goes to the next value of its shape once its last reader has been, or
// is at work on it element by element.
void FormulaProgram::share_slots(int num_values, std::size_t num_forward) {
  const auto count = static_cast<std::size_t>(num_values);
  std::vector<Shape> shapes(count);
  std::vector<std::size_t> last(count, 0);
  const auto refs = [](Op& op) { return std::vector<Ref*>{&op.a, &op.b, &op.out, &op.beside}; };
  for (std::size_t k = 0; k < ops_.size(); ++k) {
    for (const Ref* ref : refs(ops_[k])) {
      if (ref->of != Ref::Of::slot) continue;
      const auto v = static_cast<std::size_t>(ref->index);
      shapes[v] = ref->shape;
      last[v] = k;
    }
  }
  // The result is read after the forward pass, dx after the backward pass.
  if (result_.of == Ref::Of::slot) {
    auto& end = last[static_cast<std::size_t>(result_.index)];
    end = std::max(end, num_forward);
  }
  if (dx_.of == Ref::Of::slot) last[static_cast<std::size_t>(dx_.index)] = ops_.size();
  // Values that backward passes read must outlive other layers' passes in between, which the arena sees to.
  std::vector<int> slot_of(count, -1);
  std::vector<Shape> slots;
  std::vector<bool> is_free;
  const auto release = [&](std::size_t v) { is_free[static_cast<std::size_t>(slot_of[v])] = true; };
  std::vector<bool> released(count);
  for (std::size_t k = 0; k < ops_.size(); ++k) {
    for (std::size_t v = 0; v < count; ++v) {
      if (!released[v] && slot_of[v] >= 0 && last[v] < k) {
        released[v] = true;
        release(v);
      }
    }
    Op& op = ops_[k];
    std::vector<int> dying;  // operands that are read here for the last time
    if (in_place(op)) {
      for (const Ref* ref : {&op.a, &op.b}) {
        if (ref->of == Ref::Of::slot && last[static_cast<std::size_t>(ref->index)] == k) dying.push_back(ref->index);
      }
    }
    // A slope takes the place of what it is the slope at; 1/σ is there before all of its row has been read.
    for (Ref* ref : {&op.beside, &op.out}) {
      if (ref->of != Ref::Of::slot || slot_of[static_cast<std::size_t>(ref->index)] >= 0) continue;
      const auto v = static_cast<std::size_t>(ref->index);
      for (const int other : dying) {
        if (ref == &op.beside && op.kind != Kind::activation) break;
        const auto d = static_cast<std::size_t>(other);
        if (released[d] || slot_of[v] >= 0 || !(shapes[d] == shapes[v])) continue;
        slot_of[v] = slot_of[d];
        released[d] = true;
      }
      for (std::size_t s = 0; s < is_free.size() && slot_of[v] < 0; ++s) {
        if (is_free[s] && slots[s] == shapes[v]) slot_of[v] = static_cast<int>(s);
      }
      if (slot_of[v] < 0) {
        slot_of[v] = static_cast<int>(slots.size());
        is_free.push_back(true);
        slots.push_back(shapes[v]);
        (k < num_forward ? forward_slots_ : backward_slots_).push_back({Ref::Of::slot, slot_of[v], shapes[v]});
      }
      is_free[static_cast<std::size_t>(slot_of[v])] = false;
    }
  }
  for (auto& op : ops_) {
    for (Ref* ref : refs(op)) {
      if (ref->of == Ref::Of::slot) ref->index = slot_of[static_cast<std::size_t>(ref->index)];
    }
  }
  std::vector<Ref*> others{&result_, &dx_};
  for (Shown& shown : shown_) others.push_back(&shown.ref);
  for (Ref* ref : others) {
    if (ref->of == Ref::Of::slot) ref->index = slot_of[static_cast<std::size_t>(ref->index)];
  }
}

// From a place among those of its sort to the place among all.
void FormulaProgram::place_in_bases() {
  const auto parameters = static_cast<int>(places_.size()), numbers = static_cast<int>(numbers_.size());
  const auto place = [&](Ref& ref) {
    const int first_parameter = static_cast<int>(kFirstParameter);
    ref.step = ref.of == Ref::Of::number ? 0 : ref.shape.width;
    switch (ref.of) {
      case Ref::Of::nothing:
      case Ref::Of::x:
        ref.index = static_cast<int>(kX);
        break;
      case Ref::Of::dy:
        ref.index = static_cast<int>(kDy);
        break;
      case Ref::Of::parameter:
        ref.index += first_parameter;
        break;
      case Ref::Of::gradient:
        ref.index += first_parameter + parameters;
        break;
      case Ref::Of::number:
        ref.index += first_parameter + 2 * parameters;
        break;
      case Ref::Of::slot:
        ref.index += first_parameter + 2 * parameters + numbers;
        break;
    }
  };
  for (auto& op : ops_) {
    for (Ref* ref : {&op.a, &op.b, &op.out, &op.beside}) place(*ref);
  }
  for (auto* slots : {&forward_slots_, &backward_slots_}) {
    for (Ref& slot : *slots) place(slot);
  }
  for (Shown& shown : shown_) place(shown.ref);
  place(result_);
  place(dx_);
  bases_.resize(kFirstParameter + 2 * places_.size());
  for (float& number : numbers_) bases_.push_back(&number);
  bases_.resize(bases_.size() + forward_slots_.size() + backward_slots_.size());
}

// The most frequent combination needs no look at its operands' shapes, and a mask in place nothing where no run drops.
void FormulaProgram::simplify() {
  for (auto& op : ops_) {
    const bool plain = op.a.shape == op.out.shape && op.b.shape == op.out.shape && !op.accumulate;
    if (op.kind == Kind::combine && op.how == Arithmetic::multiply && plain) op.kind = Kind::multiply;
    op.only_drops = (op.kind == Kind::drop || op.kind == Kind::mask) && op.a.index == op.out.index;
  }
}

bool FormulaProgram::goes_by_rows(const Op& op) {
  if (op.kind < Kind::activation) return false;
  if (op.kind == Kind::reduce) return op.a.shape.batched;
  return op.out.shape.batched;
}

std::vector<FormulaProgram::Group> FormulaProgram::grouped(std::size_t begin, std::size_t end) const {
  std::vector<Group> groups;
  for (std::size_t k = begin; k < end; ++k) {
    if (!goes_by_rows(ops_[k])) {
      groups.push_back({k, k + 1, 0, num_experts_ == 1});
      continue;
    }
    if (groups.empty() || groups.back().tile == 0) groups.push_back({k, k, kTile, true});
    Group& group = groups.back();
    group.end = k + 1;
    for (const Ref* ref : {&ops_[k].a, &ops_[k].b, &ops_[k].out, &ops_[k].beside})
      group.all_experts = group.all_experts && (ref->shape.batched || ref->of == Ref::Of::nothing || ref->of == Ref::Of::number);
    const std::int64_t width = std::max(ops_[k].out.shape.width, ops_[k].a.shape.width);
    group.tile = std::min(group.tile, std::max<std::int64_t>(1, kTile / width));
  }
  return groups;
}

}  // namespace ffn::cpu
