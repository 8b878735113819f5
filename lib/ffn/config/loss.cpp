#include "ffn/config/loss.hpp"

#include <stdexcept>
#include <tuple>

namespace ffn {

namespace {

constexpr const char* kAuto = "auto";

// Calls f(loss) for every alternative.
template <class F, std::size_t... I>
void for_each_loss(const F& f, std::index_sequence<I...>) {
  (f(std::variant_alternative_t<I, Loss>{}), ...);
}
template <class F>
void for_each_loss(const F& f) {
  for_each_loss(f, std::make_index_sequence<std::variant_size_v<Loss>>{});
}

Loss loss_of_target(Target target) {
  std::optional<Loss> first;
  for_each_loss([&](auto loss) {
    if (!first && loss.kTarget == target) first = loss;
  });
  return first.value();
}

}  // namespace

Loss loss_of(const std::string& name, Target target) {
  if (name == kAuto) return loss_of_target(target);
  std::optional<Loss> found;
  for_each_loss([&](auto loss) {
    if (loss.kName == name && loss.kTarget == target) found = loss;
  });
  if (!found) throw std::invalid_argument("no loss " + name + " of this target");  // configs are checked before they get here
  return *found;
}

Loss measured_loss(const Loss& loss) { return std::holds_alternative<CrossEntropy>(loss) ? CrossEntropy() : loss; }

std::optional<Target> target_of_loss(const std::string& name) {
  std::optional<Target> found;
  for_each_loss([&](auto loss) {
    if (loss.kName == name) found = loss.kTarget;
  });
  return found;
}

std::vector<Choice> loss_choices() {
  std::vector<Choice> out{{kAuto, "of classes cross-entropy, of vectors mean squared error"}};
  for_each_loss([&](auto loss) {
    const bool is_default = std::holds_alternative<decltype(loss)>(loss_of_target(loss.kTarget));
    if (!is_default) out.push_back({loss.kName, loss.kDoc});
  });
  return out;
}

}  // namespace ffn
