#include "ffn/config/sequential_seeds.hpp"

#include <nlohmann/json.hpp>
#include <numeric>

#include "ffn/config/json_reader.hpp"

namespace ffn {

std::vector<std::int64_t> SequentialSeeds::seeds(std::size_t num_seeds) const {
  std::vector<std::int64_t> out(num_seeds);
  std::iota(out.begin(), out.end(), first);
  return out;
}

bool is_sequential_design(const Json& seeds) { return seeds.is_object() || seeds == "auto"; }

SequentialSeeds read_sequential_seeds(const Document& study, std::vector<Problem>& problems) {
  SequentialSeeds out;
  if (study.tree()["seeds"] == "auto") return out;
  constexpr std::int64_t kMost = 100'000;
  std::string until;
  auto min = static_cast<std::int64_t>(out.min), max = static_cast<std::int64_t>(out.max);
  JsonReader reader(study);
  reader.read_at("/seeds", [&](FieldVisitor& v) {
    v.choice({"until", ""}, until, {{"settled", ""}});
    v.integer({"min", ""}, min, between(std::int64_t{SequentialSeeds::kFewest}, kMost));
    v.integer({"max", ""}, max, between(std::int64_t{SequentialSeeds::kFewest}, kMost));
    v.integer({"first", ""}, out.first, between(std::int64_t{0}, SequentialSeeds::kLargestFirst));
    v.require(!until.empty(), "until", R"(missing; write {"until": "settled", "min": 8, "max": 100}, a count or a list of seeds)");
    v.require(min <= max, "max", "max (" + std::to_string(max) + ") is below min (" + std::to_string(min) + ")", {"min"});
  });
  problems.insert(problems.end(), reader.problems.begin(), reader.problems.end());
  out.min = static_cast<std::size_t>(min);
  out.max = static_cast<std::size_t>(max);
  return out;
}

}  // namespace ffn
