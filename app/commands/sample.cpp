// ffn-train sample RUN: text from a trained character model.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/train/sampler.hpp"

namespace ffn::app {

namespace {

int sample(const std::string& run, bool best, const SampleRequest& request, bool json) {
  const RunDirectory directory = named_run(run);
  const auto file = best ? directory.best_path() : directory.weights_path();
  const auto config = trained_config(directory, file);
  const auto weights = read_safetensors(file);
  std::string text;
  bool begun = false;  // the prompt is printed once it is known to be usable
  sample_text(config, weights, request, [&](const std::string& piece) {
    if (json) text += piece;
    else std::cout << (begun ? "" : request.prompt) << piece << std::flush;
    begun = true;
  });
  if (json) print_json({{"prompt", request.prompt}, {"text", text}, {"seed", request.seed}});
  else std::cout << "\n";
  return 0;
}

}  // namespace

void add_sample(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("sample", "generate text with a trained character model");
  auto run = std::make_shared<std::string>();
  auto best = std::make_shared<bool>(false);
  auto request = std::make_shared<SampleRequest>();
  command.option("run", *run, "run directory").required().type("RUN");
  command.flag("--best", *best, "by the weights that keep=best kept, instead of the last");
  command.option("--prompt", request->prompt, "text to continue").type("TEXT").may_be_empty();
  command.option("--temperature", request->temperature, "below 1 is safer, above 1 wilder, 0 always takes the most probable")
      .real_in(0.0, 100.0)
      .shows_default();
  command.option("--top-k", request->top_k, "draw from the K most probable characters only; 0 from all")
      .integer_in(0, std::int64_t{1} << 31)
      .shows_default();
  command.option("--length", request->length, "characters to write").integer_in(1, 1 << 24).shows_default();
  command.option("--seed", request->seed, "same seed, same text").integer_in(0, std::int64_t{1} << 53).shows_default();
  add_output_options(command, common);
  command.run([&common, run, best, request] { return sample(*run, *best, *request, common.json); });
}

}  // namespace ffn::app
