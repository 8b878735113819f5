// Damaged configs: an error for the user or a config that can be written again, never anything else.
#include "config/helpers.hpp"
#include "ffn/base/text.hpp"
#include "fuzz/damage.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

const std::string kValid = R"({ // every kind of value
  "name": "fuzz", "seed": 7,
  "task": {"kind": "sequence_xor", "length": 12, "first_offset": 1, "second_offset": 3},
  "model": {"d_model": 16, "blocks": 2, "positions": "learned", "residual": true,
    "attention": {"heads": 4, "causal": true, "scores": "content", "bias": false},
    "norm": {"kind": "rms", "placement": "pre", "epsilon": 1e-6},
    "ffn": {"kind": "moe", "expansion": 2.5, "activation": "silu", "num_experts": 4, "top_k": 2, "gated": true}},
  "train": {"steps": 100, "batch_size": 8, "clip_norm": 1.0, /* and a comment */
    "optimizer": {"kind": "sgd", "lr": 3e-2, "momentum": 0.9, "nesterov": true},
    "schedule": {"kind": "wsd", "warmup_steps": 5, "decay_fraction": 0.2},
    "target": {"metric": "val/loss", "at_most": 0.5, "at_least": null}}
}
)";

using fuzz::Tally;

/// Reads the text; a result has to survive writing and reading again.
void read_anything(const std::string& text, Tally& tally) {
  try {
    const auto config = run_from(text);
    const auto written = resolved_json(config).dump();
    REQUIRE(resolved_json(run_from(written)).dump() == written);
    ++tally.read;
  } catch (const ConfigError& error) {
    REQUIRE(!error.problems().empty());
    REQUIRE(!first_invalid_utf8(error.what()));
    ++tally.refused;
  }
}

}  // namespace

TEST_CASE("a config with damaged bytes is read or refused, never worse") {
  REQUIRE(problems_in(kValid) == "");
  Tally tally;
  for (std::uint64_t trial = 0; trial < fuzz::trials(20'000); ++trial) {
    RandomStream random(1, trial);
    CAPTURE(trial);
    read_anything(fuzz::damaged(kValid, random), tally);
  }
  CHECK(tally.read + tally.refused == fuzz::trials(20'000));
  CHECK(tally.read > 200);  // both ways are taken
  CHECK(tally.refused > 5'000);
}

TEST_CASE("a config with a value replaced by any other is read or refused, never worse") {
  const Json valid = Json::parse(kValid, nullptr, true, true);
  std::vector<std::string> pointers;
  const Json flat = valid.flatten();
  for (const auto& item : flat.items()) pointers.push_back(item.key());
  for (const char* section : {"/task", "/model", "/model/attention", "/model/norm", "/model/ffn", "/train", "/train/optimizer",
                              "/train/schedule", "/train/target"}) {
    pointers.push_back(section);
  }
  Tally tally;
  for (const auto& pointer : pointers) {
    for (const auto& value : fuzz::odd_values()) {
      Json changed = valid;
      changed[Json::json_pointer(pointer)] = Json::parse(value);
      CAPTURE(pointer, value);
      read_anything(changed.dump(), tally);
    }
  }
  CHECK(pointers.size() == 45);
  CHECK(tally.read + tally.refused == 45 * fuzz::odd_values().size());
  CHECK(tally.read > 50);
  CHECK(tally.refused > 500);
}

TEST_CASE("damaged overrides are applied or refused, never worse") {
  const std::string valid[] = {"train.steps=500", "model.ffn={\"kind\": \"moe\", \"top_k\": [1, 2]}", "model.attention.heads=2",
                               "a.b.c=", "name=φ"};
  RandomStream random(1, 2);
  const auto index = [&](std::size_t n) { return static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(n))); };
  const auto document = parse_document(kValid, "x.json", "/configs");
  std::size_t applied = 0, refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string text = valid[index(std::size(valid))];
    for (std::size_t damages = 1 + index(3); damages > 0 && !text.empty(); --damages) {
      const auto at = index(text.size());
      if (index(3) == 0) text.erase(at, 1);
      else text[at] = index(2) == 0 ? "=.{}[]\"\\,:"[index(10)] : static_cast<char>(random.bits());
    }
    try {
      auto copy = document;
      apply_override(copy, text);
      read_run_config(copy, "x.json");
      ++applied;
    } catch (const ConfigError&) {
      ++applied;
    } catch (const UsageError& error) {
      REQUIRE(!first_invalid_utf8(error.what()));
      ++refused;
    }
  }
  CHECK(applied + refused == 10'000);
  CHECK(applied > 1'000);
  CHECK(refused > 1'000);
}
