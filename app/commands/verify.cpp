// ffn-train verify CONFIG...: both engines side by side. What the cpu engine computes by hand, LibTorch computes by
// autograd; they may differ by what float32 rounding explains, and by nothing else.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../load_config.hpp"
#include "../signals.hpp"
#include "../train.hpp"
#include "ffn/base/nan_max.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/train/libtorch.hpp"

namespace ffn::app {

namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  std::int64_t steps = 10;
};

/// One config, or one variant of a study.
struct Verified {
  std::string name;
  VerifyResult result;
  std::int64_t batch_size = 0;  ///< the config's
};

double ratio(double difference, double unit) { return difference == 0 ? 0 : difference / unit; }

double worst_of(const VerifyResult& result) {
  double worst = result.validation_near_ties > 0 ? 0 : ratio(result.loss, result.loss_unit);
  for (const auto& p : result.parameters)
    worst = nan_max(worst, nan_max(ratio(p.gradient, p.gradient_unit), ratio(p.weight, p.weight_unit)));
  return worst;
}

bool comparable(const VerifyResult& result) { return result.steps > 0; }

// NaN is beyond the limit.
bool agrees(const VerifyResult& result) { return !result.not_covered.empty() || (comparable(result) && worst_of(result) <= kVerifyLimit); }

std::vector<std::pair<std::string, RunConfig>> runs_to_verify(const std::string& file, const std::vector<std::string>& overrides) {
  const Document document = load_with_overrides(file, overrides);
  refuse_program(document, "verify");
  if (!is_study(document)) return {{file, read_run_config(document, file)}};
  std::vector<std::pair<std::string, RunConfig>> runs;
  const Study study = read_study(document, file);
  for (const auto& variant : study.variants) {
    RunConfig config = variant.config;
    config.seed = study.seeds.at(0);
    runs.emplace_back(file + " " + variant.name, config);
  }
  return runs;
}

Json verified_json(const Verified& verified) {
  const auto& r = verified.result;
  Json parameters = Json::array();
  for (const auto& p : r.parameters) {
    parameters.push_back({{"name", p.name},
                          {"gradient", p.gradient},
                          {"gradient_unit", p.gradient_unit},
                          {"weight", p.weight},
                          {"weight_unit", p.weight_unit}});
  }
  const double worst = worst_of(r);
  return {{"name", verified.name},
          {"device", r.device.empty() ? Json() : Json(r.device)},
          {"agrees", agrees(r)},
          {"not_covered", r.not_covered},
          {"steps", r.steps},
          {"seed", r.seed},
          {"seeds_passed_over", r.seeds_passed_over},
          {"batch_size", r.batch_size},
          {"near_ties", r.near_ties},
          {"validation_near_ties", r.validation_near_ties},
          {"worst", std::isfinite(worst) ? Json(worst) : Json("not finite")},
          {"loss", r.loss},
          {"loss_unit", r.loss_unit},
          {"diverges", r.diverges},
          {r.device.empty() ? "fused_seconds_per_step" : "device_seconds_per_step", r.seconds},
          {"libtorch_seconds_per_step", r.libtorch_seconds},
          {"parameters", parameters}};
}

std::string in_units(double difference, double unit) { return format_significant(ratio(difference, unit), 2); }

void print_parameters(const VerifyResult& result, const CommonOptions& common) {
  Table table({{"parameter", Align::left},
               {"gradient", Align::right},
               {"in roundings", Align::right},
               {"weight", Align::right},
               {"in roundings", Align::right}});
  for (const auto& p : result.parameters) {
    table.add_row({p.name, format_significant(p.gradient, 2), in_units(p.gradient, p.gradient_unit), format_significant(p.weight, 2),
                   in_units(p.weight, p.weight_unit)});
    const double worst = nan_max(ratio(p.gradient, p.gradient_unit), ratio(p.weight, p.weight_unit));
    if (!(worst <= kVerifyLimit)) table.highlight_last_row();
  }
  print_table(table, common);
}

std::string sentence(const Verified& verified) {
  const auto& r = verified.result;
  const std::string name = verified.name + (r.device.empty() ? "" : ", LibTorch on " + r.device);
  if (!r.not_covered.empty()) return name + ": nothing to compare, the cpu engine does not cover " + r.not_covered;
  if (!comparable(r))
    return name + ": cannot be compared, in the first step of each of " + std::to_string(r.seeds_passed_over + 1) +
           " seeds a token's choice of experts lies within rounding of a tie, however small the batch";
  if (r.diverges && !agrees(r))
    return name + ": cannot be compared, it diverges on both sides within " + std::to_string(r.steps) +
           " steps; a lower learning rate or fewer --steps may help";
  return name + ": " + (agrees(r) ? "agree" : "DIFFER") + ", at most " + format_significant(worst_of(r), 2) +
         " times what rounding explains, over " + format_counted(static_cast<std::size_t>(r.steps), "step") + " and " +
         format_counted(r.parameters.size(), "parameter");
}

std::string near_tied(std::int64_t tokens) {
  return tokens == 1 ? "1 token's choice of experts lies" : std::to_string(tokens) + " choices of experts lie";
}

// Names the steps left out because either engine's choice of experts is right.
std::vector<std::string> left_out(const Verified& verified) {
  const auto& r = verified.result;
  std::vector<std::string> lines;
  if (!comparable(r)) return lines;
  if (r.batch_size < verified.batch_size)
    lines.push_back("batches of " + format_counted(static_cast<std::size_t>(r.batch_size), "example") +
                    " are compared: in those of the config a token's choice lies within rounding of a tie whatever the seed");
  if (r.seeds_passed_over > 0)
    lines.push_back("seed " + std::to_string(r.seed) +
                    " is compared: a token's choice of experts lies within rounding of a tie in the first step of " +
                    format_counted(static_cast<std::size_t>(r.seeds_passed_over), "seed") + " before");
  if (r.near_ties > 0)
    lines.push_back("step " + std::to_string(r.steps + 1) + ": " + near_tied(r.near_ties) +
                    " within rounding of a tie; weights are compared after " + format_counted(static_cast<std::size_t>(r.steps), "step"));
  if (r.validation_near_ties > 0)
    lines.push_back("validation: " + near_tied(r.validation_near_ties) + " within rounding of a tie; its loss is not compared");
  return lines;
}

int verify(const VerifyOptions& options, const CommonOptions& common) {
  handle_stop_signals();
  VerifyRequest request;
  request.steps = options.steps;
  request.stop = stop_requested;
  bool all = true, any = false, differ = false, interrupted = false;
  Json out = Json::array();
  for (const auto& file : options.files) {
    if (interrupted) break;
    for (const auto& [name, config] : runs_to_verify(file, common.overrides)) {
      const Verified verified{name, load_libtorch().verify(config, request), config.train.batch_size};
      interrupted = stop_requested();  // in the middle: the sides did not take the same steps
      if (interrupted) break;
      const bool agree = agrees(verified.result);
      all = all && agree;
      any = any || verified.result.not_covered.empty();
      differ = differ || (!agree && comparable(verified.result) && !verified.result.diverges);
      if (common.json) {
        out.push_back(verified_json(verified));
        continue;
      }
      if (comparable(verified.result) && (options.files.size() == 1 || !agree || common.verbosity > 0))
        print_parameters(verified.result, common);
      print_text(sentence(verified));
      for (const auto& line : left_out(verified)) print_text("  " + line);
    }
  }
  if (common.json) print_json(out);
  if (interrupted) {
    std::cerr << "interrupted; the results above are complete\n";
    return static_cast<int>(ExitCode::interrupted);
  }
  if (!common.json)
    std::cout << (!any     ? "nothing was compared\n"
                  : all    ? "the engines agree\n"
                  : differ ? "the engines differ by more than " + format_significant(kVerifyLimit, 2) + " roundings\n"
                           : std::string("not all could be compared\n"));
  return static_cast<int>(all ? ExitCode::done : ExitCode::run_failed);
}

}  // namespace

void add_verify(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("verify", "compare both engines, or GPU and CPU, in units of rounding errors");
  auto options = std::make_shared<VerifyOptions>();
  add_configs_options(command, options->files);
  command.option("--steps", options->steps, "steps to train before weights are compared").integer_in(1, 100000).shows_default();
  add_output_options(command, common);
  command.run([&common, options] {
    require_configs(options->files, common);
    return verify(*options, common);
  });
}

}  // namespace ffn::app
