#include "ffn/config/growing_seeds.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ffn/base/json_document.hpp"
#include "ffn/base/suggest.hpp"

namespace ffn {

std::vector<std::int64_t> GrowingSeeds::seeds(std::size_t num_seeds) const {
  std::vector<std::int64_t> out(num_seeds);
  std::iota(out.begin(), out.end(), first);
  return out;
}

bool is_growing(const Json& seeds) { return seeds.is_object() || seeds == "auto"; }

GrowingSeeds read_growing_seeds(const Json& seeds, std::vector<SeedsProblem>& problems) {
  GrowingSeeds out;
  if (seeds == "auto") return out;
  const auto bad = [&](const std::string& key, const std::string& why) {
    problems.push_back({"/seeds" + (key.empty() ? "" : "/" + escape_pointer(key)), why});
  };
  constexpr std::size_t kMost = 100'000;
  const auto count = [&](const char* key, std::size_t& value) {
    if (!seeds.contains(key)) return;
    const Json& found = seeds[key];
    if (found.is_number_integer() && found >= GrowingSeeds::kFewest && found <= kMost) value = found.get<std::size_t>();
    else
      bad(key, "expected a number of seeds between " + std::to_string(GrowingSeeds::kFewest) + " and " + std::to_string(kMost) + ", got " +
                   shortened(found));
  };
  const std::vector<std::string> known = {"until", "min", "max", "first"};
  for (const auto& item : seeds.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      bad(item.key(), "unknown key " + shortened(item.key()) + did_you_mean(item.key(), known) + " Known: " + join(known));
  }
  if (!seeds.contains("until"))
    bad("", "expected {\"until\": \"settled\", \"min\": 8, \"max\": 100}, a count or a list of seeds, got " + shortened(seeds));
  else if (seeds["until"] != "settled") bad("until", "expected \"settled\", got " + shortened(seeds["until"]));
  if (seeds.contains("first")) {
    const Json& found = seeds["first"];
    if (found.is_number_integer() && found >= 0 && found <= GrowingSeeds::kLargestFirst) out.first = found.get<std::int64_t>();
    else bad("first", "expected a seed, at least 0, got " + shortened(found));
  }
  const std::size_t before = problems.size();
  count("min", out.min);
  count("max", out.max);
  if (problems.size() == before && out.min > out.max)
    bad("max", "max (" + std::to_string(out.max) + ") is below min (" + std::to_string(out.min) + ")");
  return out;
}

}  // namespace ffn
