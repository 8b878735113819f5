// `match`: the hidden width that makes one FFN cost what the plain one costs.
#include "config/helpers.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/json_reader.hpp"
#include "ffn/config/match.hpp"
#include "ffn/data/run_identity.hpp"
#include "support/catch_plain.hpp"
#include "support/choices.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

/// The width that a config's FFN of type Ffn gets.
template <class Ffn>
std::int64_t width(const std::string& model) {
  const auto config = run_from("{\"model\": " + model + "}");
  return std::get<Ffn>(config.model.ffn).hidden_width(config.model.d_model);
}

}  // namespace

TEST_CASE("a gated layer matched to the plain one has two thirds of its width") {
  // Shazeer 2020, arXiv:2002.05202, §2: d_ff times 2/3, here rounded to the nearest integer. Without biases.
  const auto gated = [](int d_model) {
    return width<GatedConfig>("{\"d_model\": " + std::to_string(d_model) +
                              R"(, "ffn": {"kind": "gated", "bias": false, "match": "params"}})");
  };
  CHECK(gated(128) == 341);
  CHECK(gated(384) == 1024);
  CHECK(gated(512) == 1365);
  CHECK(width<GatedConfig>(R"({"d_model": 384, "ffn": {"kind": "gated", "bias": false, "match": "flops"}})") == 1024);
  CHECK(width<GatedConfig>(R"({"d_model": 128, "ffn": {"kind": "gated", "match": "params"}})") == 341);
}

TEST_CASE("a matched width is rounded up to a multiple, as LLaMA's are") {
  const auto llama = [](int d_model) {
    return width<GatedConfig>(
        "{\"d_model\": " + std::to_string(d_model) +
        R"(, "ffn": {"kind": "gated", "bias": false, "match": "params", "match_multiple_of": 256, "match_tolerance": 1}})");
  };
  CHECK(llama(4096) == 11008);  // 7B: Touvron et al. 2023, arXiv:2302.13971, and its params.json
  CHECK(llama(5120) == 13824);  // 13B
  CHECK(llama(384) == 1024);
  CHECK(problems_in(R"({"model": {"d_model": 128, "ffn": {"kind": "gated", "bias": false, "match": "params", "match_multiple_of": 256}}})")
            .find("the nearest width (512, a multiple of 256) misses") != std::string::npos);
  CHECK(problems_in(R"({"model": {"ffn": {"match_multiple_of": 8}}})").find("match is none") != std::string::npos);
}

TEST_CASE("a plain layer matched to itself keeps its width") {
  CHECK(width<PositionwiseConfig>(R"({"d_model": 24, "ffn": {"expansion": 3, "match": "params"}})") == 72);
  CHECK(width<PositionwiseConfig>(R"({"d_model": 24, "ffn": {"expansion": 3, "match": "flops"}})") == 72);
}

TEST_CASE("the matched cost is as near to the plain one as a whole width allows") {
  std::vector<std::string> ffns{R"("kind": "moe", "num_experts": 4, "top_k": 2)",
                                R"("kind": "moe", "num_experts": 3, "top_k": 1, "gated": true)"};
  for (const auto& kind : choices("model.ffn")) {
    if (kind != "none" && kind != "formula" && kind != "pkm" && kind != "peer") ffns.push_back("\"kind\": \"" + kind + "\"");
  }
  std::size_t seen = 0;
  for (const char* match : {"params", "flops", "active_params"}) {
    for (const int d_model : {16, 64, 200}) {
      for (const char* bias : {"true", "false"}) {
        for (const auto& ffn : ffns) {
          const std::string text = "{\"model\": {\"d_model\": " + std::to_string(d_model) + ", \"ffn\": {" + ffn + ", \"bias\": " + bias +
                                   ", \"match\": \"" + match + "\", \"match_tolerance\": 1}}}";
          CAPTURE(text);
          const auto config = run_from(text);
          PositionwiseConfig plain;
          plain.bias = std::string(bias) == "true";
          const auto cost = [&](const FfnConfig& of) {
            const Cost c = ffn_cost(of, d_model);
            return static_cast<double>(std::string(match) == "params"  ? c.parameters
                                       : std::string(match) == "flops" ? c.flops
                                                                       : c.active_parameters);
          };
          const double target = cost(plain), found = std::abs(cost(config.model.ffn) - target);
          for (const int step : {-1, 1}) {
            auto other = config.model.ffn;
            std::visit(
                [&](auto& of) {
                  if constexpr (std::is_base_of_v<FfnSize, std::decay_t<decltype(of)>>) {
                    of.d_ff = std::max<std::int64_t>(1, *of.matched_width + step);
                    of.matched_width.reset();
                  }
                },
                other);
            CHECK(found <= std::abs(cost(other) - target));
          }
          ++seen;
        }
      }
    }
  }
  CHECK(seen == 3 * 3 * 2 * ffns.size());
}

TEST_CASE("a match that no width reaches is refused with the mismatch and what to do") {
  CHECK(
      problems_in("{\"model\": {\"d_model\": 2, \"ffn\": {\"kind\": \"moe\", \"num_experts\": 8,\n\"match\": \"params\"}}}") ==
      "x.json:2  /model/ffn/match: the nearest width (1) misses the plain FFN's params by 71.42 %, more than match_tolerance=0.01 allows; "
      "use a larger d_model or expansion, or raise match_tolerance");
}

TEST_CASE("a formula without F has no width to match, and is told so") {
  const std::string formula =
      R"({"kind": "formula", "match": "params", "formula": "relu(x @ a) @ b", "parameters": {"a": ["D", RANK], "b": [RANK, "D"]}})";
  const auto problems_of = [&](const std::string& rank) {
    std::string text = R"({"model": {"d_model": 16, "ffn": )" + formula + "}}";
    for (auto at = text.find("RANK"); at != std::string::npos; at = text.find("RANK")) text.replace(at, 4, rank);
    return problems_in(text);
  };
  const auto low_rank = problems_of("4");
  CHECK(low_rank.find("/model/ffn/match: no parameter of the formula has F in its shape, so there is no width to solve") !=
        std::string::npos);
  CHECK(low_rank.find("larger d_model") == std::string::npos);
  CHECK(low_rank.find("leave match out, or give a parameter a size of F") != std::string::npos);
  CHECK(problems_of("\"F\"").find("no width to solve") == std::string::npos);
}

TEST_CASE("a formula that is possible at one width alone is refused at its place, or matched if that is its width") {
  // x @ a ends in F, and a layer's result has to end in D = 16.
  const auto problems_at = [](const std::string& expansion) {
    return problems_in("{\"model\": {\"d_model\": 16, \"ffn\": {\"kind\": \"formula\", \"match\": \"params\", \"expansion\": " + expansion +
                       ",\n\"formula\": \"x @ a\", \"parameters\": {\"a\": [\"D\", \"F\"]}}}}");
  };
  CHECK(problems_at("4").find("x.json:2  /model/ffn/formula: column 1: the result ends in F = 64; it has to end in D = 16") == 0);
  // 256 parameters; the plain FFN has 2 · 16² and two biases of 16: 544.
  CHECK(problems_at("1").find("/model/ffn/match: the nearest width (16) misses the plain FFN's params by -52.9 %") != std::string::npos);
}

TEST_CASE("a match that no width reaches is named together with the other problems") {
  const auto problems =
      problems_in("{\"train\": {\"steps\": 0},\n\"model\": {\"d_model\": 2, \"ffn\": {\"kind\": \"moe\", \"match\": \"params\"}}}");
  CHECK(problems.find("x.json:1  /train/steps: 0 is out of range") != std::string::npos);
  CHECK(problems.find("x.json:2  /model/ffn/match: the nearest width (1) misses") != std::string::npos);
}

TEST_CASE("match and d_ff exclude one another") {
  CHECK(problems_in("{\"model\": {\"ffn\": {\"kind\": \"gated\", \"d_ff\": 8,\n\"match\": \"params\"}}}") ==
        "x.json:2  /model/ffn/match: match chooses the hidden width, but d_ff (8) fixes it; remove one");
  CHECK(problems_in("{\"model\": {\"ffn\": {\"kind\": \"gated\", \"d_ff\": \"wide\", \"match\": \"params\"}}}") ==
        "x.json:1  /model/ffn/d_ff: expected an integer, got \"wide\"");
}

TEST_CASE("a match that rests on a value which could not be read is not held against the rest") {
  CHECK(
      problems_in("{\"model\": {\"d_model\": \"wide\", \"ffn\": {\"kind\": \"gated\", \"match\": \"params\", \"match_tolerance\": 0}}}") ==
      "x.json:1  /model/d_model: expected an integer, got \"wide\"");
  CHECK(problems_in(
            "{\"model\": {\"ffn\": {\"kind\": \"gated\", \"expansion\": \"wide\", \"match\": \"params\", \"match_tolerance\": 0}}}") ==
        "x.json:1  /model/ffn/expansion: expected a number, got \"wide\"");
}

TEST_CASE("a matched config is written and read back with the same width") {
  const auto config = run_from(R"({"model": {"d_model": 128, "ffn": {"kind": "gated", "match": "params", "expansion": 3}}})");
  const auto again = run_from(resolved_json(config).dump());
  CHECK(resolved_json(again) == resolved_json(config));
  CHECK(std::get<GatedConfig>(again.model.ffn).matched_width == std::get<GatedConfig>(config.model.ffn).matched_width);
}

TEST_CASE("a matched run is the run with that width written out") {
  const auto matched = run_from(R"({"model": {"d_model": 384, "ffn": {"kind": "gated", "bias": false, "match": "params"}}})");
  const auto written = run_from(R"({"model": {"d_model": 384, "ffn": {"kind": "gated", "bias": false, "d_ff": 1024}}})");
  CHECK(run_identity(matched) == run_identity(written));
}

TEST_CASE("d_model is solved so that the model keeps the size of another expansion, with heads of one width") {
  // 4D² + 2·e·D² a block: of expansion 4 and D 48, 2 · 12 · 48² = 55,296. Expansion 1 is 6D² a block: 67.9, 64 of heads that are 16 wide.
  const auto of = [](const std::string& keys, const std::string& ffn) {
    return "{\"model\": {\"blocks\": 2, \"d_model\": 48, \"match_expansion\": 4, " + keys + "\"ffn\": {\"bias\": false, " + ffn + "}}}";
  };
  const std::string three = "\"attention\": {\"heads\": 3}, ", four = "\"attention\": {\"heads\": 4}, ";
  const auto solved = run_from(of(three, R"("expansion": 1, "match_tolerance": 0.12)"));
  CHECK(solved.model.d_model == 64);
  CHECK(solved.model.attention->heads == 4);
  CHECK(solved.model.mismatch == 2 * (4 * 64 * 64 + 2 * 64 * 64) / 55296.0 - 1);
  CHECK(run_from(of(three, R"("expansion": 1.375)")).model.d_model == 64);
  CHECK(run_from(of(four, R"("expansion": 22)")).model.d_model == 24);
  CHECK(run_from(of(four, R"("expansion": 4)")).model.d_model == 48);
  const auto gated = run_from(of(four, R"("expansion": 22, "kind": "gated", "match": "params")"));
  CHECK(gated.model.d_model == 24);
  CHECK(std::get<GatedConfig>(gated.model.ffn).hidden_width(24) == 352);
  CHECK(run_from(of("", R"("expansion": 1)")).model.d_model == 96);  // without heads any width will do: 2·D² = 8 · 48²

  CHECK(
      problems_in(of(three, R"("expansion": 1)")) ==
      "x.json:1  /model/match_expansion: at expansion 1 the nearest d_model (64, a multiple of a head's width, 16) misses the parameters of "
      "expansion 4 by -11.1 %, more than ffn.match_tolerance=0.01 allows; expansion 1.38 fits d_model 64; "
      "expansion 0.16 fits d_model 80; or raise match_tolerance");
  CHECK_THAT(problems_in(of(four, R"("d_ff": 64)")), ContainsSubstring("is of layers whose width is ffn.expansion"));
  CHECK_THAT(problems_in(of("\"block_expansion\": [1, 2], ", R"("kind": "gated")")), ContainsSubstring("or give the width so"));

  const auto written =
      run_from(R"({"model": {"blocks": 2, "d_model": 64, "attention": {"heads": 4}, "ffn": {"bias": false, "expansion": 1}}})");
  CHECK(run_identity(solved) == run_identity(written));
  CHECK(resolved_json(solved)["model"]["d_model"] == 48);
  CHECK(resolved_json(solved)["model"]["attention"]["heads"] == 3);
  const auto again = run_from(resolved_json(solved).dump());
  CHECK(again.model.d_model == 64);
  CHECK(resolved_json(again) == resolved_json(solved));
}

TEST_CASE("reading a model solves no width: that is a step of its own, and may be taken again") {
  const auto document = parse_document(R"({"d_model": 384, "ffn": {"kind": "gated", "bias": false, "match": "params"}})", "x.json", "/");
  ModelConfig model;
  JsonReader reader(document);
  reader.read([&](FieldVisitor& v) { model.describe(v); });
  REQUIRE(reader.problems.empty());
  CHECK(!size_of(model.ffn)->matched_width);
  resolve_widths(model);
  CHECK(size_of(model.ffn)->matched_width == 1024);
  model.d_model = 512;
  resolve_widths(model);
  CHECK(size_of(model.ffn)->matched_width == 1365);
  size_of(model.ffn)->match = "none";
  resolve_widths(model);
  CHECK(!size_of(model.ffn)->matched_width);
}
