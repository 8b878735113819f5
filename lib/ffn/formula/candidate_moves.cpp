// Which candidates there are, and which lie beside one.
#include <algorithm>

#include "ffn/formula/candidate.hpp"

namespace ffn {

namespace {

using Kind = Hidden::Kind;

Hidden matrix(std::size_t index) { return {Kind::matrix, index}; }
Hidden call(const std::string& function, Hidden part) { return {Kind::call, 0, 0, function, {std::move(part)}}; }
Hidden joined(Kind kind, Hidden a, Hidden b) { return {kind, 0, 0, "", {std::move(a), std::move(b)}}; }

std::int64_t depth_of(const Hidden& h) {
  std::int64_t depth = 0;
  for (const auto& part : h.parts) depth = std::max(depth, 1 + depth_of(part));
  return depth;
}

void collect(Hidden& h, std::vector<Hidden*>& parts) {
  parts.push_back(&h);
  for (auto& part : h.parts) collect(part, parts);
}

// Matrices and scalars by the order in which they appear. False if there are more than the space has.
bool number_parameters(Hidden& h, const CandidateSpace& space) {
  std::vector<Hidden*> parts;
  collect(h, parts);
  std::vector<std::size_t> matrices, scalars;
  for (auto* part : parts) {
    if (part->kind != Kind::matrix && part->kind != Kind::scalar) continue;
    auto& seen = part->kind == Kind::matrix ? matrices : scalars;
    const auto place = static_cast<std::size_t>(std::find(seen.begin(), seen.end(), part->index) - seen.begin());
    if (place == seen.size()) seen.push_back(part->index);
    part->index = place;
  }
  const auto fits = [](const auto& seen, std::int64_t most) { return static_cast<std::int64_t>(seen.size()) <= most; };
  return fits(matrices, space.matrices) && fits(scalars, space.scalars);
}

constexpr std::size_t kMostParts = 16;

/// Changes one part of a candidate at random.
class Mutation {
 public:
  Mutation(const CandidateSpace& space, RandomStream& random) : space_(space), random_(random) {}

  // The words for what it did; empty where that part has no such neighbour.
  std::string apply(Candidate& candidate) {
    std::vector<Hidden*> parts;
    collect(candidate.hidden, parts);
    Hidden& part = *parts[below(parts.size())];
    switch (below(space_.norm ? 8 : 7)) {
      case 0:
        return wrap(part);
      case 1:
        return part.kind == Kind::call ? change_function(part) : "";
      case 2:
        return unwrap(part);
      case 3:
        return part.kind == Kind::matrix ? change_matrix(part) : "";
      case 4:
        return join(part, Kind::product, "times ");
      case 5:
        return random_.below(2) ? join(part, Kind::sum, "plus ") : join(part, Kind::difference, "minus ");
      case 6:
        return space_.scalars == 0 ? "" : scale(part);
      default:
        candidate.norm = !candidate.norm;
        return candidate.norm ? "normalized" : "not normalized";
    }
  }

 private:
  template <class Count>
  std::size_t below(Count n) {
    return random_.below(static_cast<std::uint32_t>(n));
  }
  const std::string& any_function() { return space_.functions[below(space_.functions.size())]; }
  Hidden any_matrix() { return matrix(below(space_.matrices)); }

  std::string wrap(Hidden& part) {
    part = call(any_function(), part);
    return part.function + " put in";
  }
  std::string change_function(Hidden& part) {
    const std::string before = part.function;
    part.function = any_function();
    return part.function == before ? "" : before + " became " + part.function;
  }
  std::string unwrap(Hidden& part) {
    if (part.parts.empty()) return "";
    Hidden kept = part.parts[below(part.parts.size())];
    const std::string words = part.kind == Kind::call ? part.function + " left out" : "one operand left out";
    part = std::move(kept);
    return words;
  }
  std::string change_matrix(Hidden& part) {
    const std::size_t before = part.index;
    part = any_matrix();
    return part.index == before ? "" : std::string("another matrix");
  }
  std::string join(Hidden& part, Kind kind, const std::string& words) {
    Hidden other = any_matrix();
    std::string name = "a matrix";
    if (random_.below(2)) {
      other = call(any_function(), std::move(other));
      name = other.function + " of a matrix";
    }
    part = joined(kind, std::move(part), std::move(other));
    return words + name;
  }
  std::string scale(Hidden& part) {
    part = joined(Kind::product, {Kind::scalar, below(space_.scalars)}, std::move(part));
    return "times a trained scalar";
  }

  const CandidateSpace& space_;
  RandomStream& random_;
};

}  // namespace

std::vector<Candidate> small_candidates(const CandidateSpace& space) {
  std::vector<Candidate> out;
  const auto add = [&](const Hidden& h) {
    Candidate candidate{h};
    if (depth_of(h) <= space.depth && number_parameters(candidate.hidden, space)) out.push_back(std::move(candidate));
  };
  const Hidden up = matrix(0), gate = matrix(1);
  for (const auto& f : space.functions) add(call(f, up));
  for (const auto& other : {up, gate}) {
    add(joined(Kind::product, up, other));
    for (const auto& f : space.functions)
      for (const auto kind : {Kind::product, Kind::sum}) add(joined(kind, call(f, up), other));
  }
  for (const auto& other : {up, gate})
    for (std::size_t i = 0; i < space.functions.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) add(joined(Kind::product, call(space.functions[i], up), call(space.functions[j], other)));
  return out;
}

std::pair<Candidate, std::string> mutated(const Candidate& candidate, const CandidateSpace& space, RandomStream& random) {
  constexpr int kTries = 100;  // a candidate from outside a small space may have no neighbour in it
  for (int i = 0; i < kTries; ++i) {
    Candidate out = candidate;
    std::string words = Mutation(space, random).apply(out);
    std::vector<Hidden*> parts;
    collect(out.hidden, parts);
    if (!words.empty() && parts.size() <= kMostParts && depth_of(out.hidden) <= space.depth && number_parameters(out.hidden, space))
      return {std::move(out), std::move(words)};
  }
  return {candidate, ""};
}

}  // namespace ffn
