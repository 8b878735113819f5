// ffn-train sample RUN: text from a trained character model.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../load_config.hpp"
#include "ffn/record/run_directory.hpp"
#include "ffn/record/safetensors.hpp"
#include "ffn/train/sampler.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

int sample(const std::string& run, const SampleRequest& request, bool json) {
  const RunDirectory directory{fs::path(run)};
  if (!fs::exists(directory.config_path())) {
    throw UsageError("no run at " + run, "name the directory that a training ended with, for example runs/text/seed-0");
  }
  if (!fs::exists(directory.weights_path()))
    throw DataError(run + " has no trained weights yet", "finish the training first, with the command that started it");
  const auto config = read_run_config(load_document(directory.config_path().string()), directory.config_path().string());
  const auto weights = read_safetensors(directory.weights_path());
  std::string text;
  bool begun = false;  // the prompt is printed once it is known to be usable
  sample_text(config, weights, request, [&](const std::string& piece) {
    if (json) text += piece;
    else std::cout << (begun ? "" : request.prompt) << piece << std::flush;
    begun = true;
  });
  if (json) std::cout << Json{{"prompt", request.prompt}, {"text", text}, {"seed", request.seed}}.dump(2) << "\n";
  else std::cout << "\n";
  return 0;
}

}  // namespace

void add_sample(CLI::App& app, CommonOptions& common, Command& command) {
  auto* sub = app.add_subcommand("sample", "text from a trained character model");
  auto run = std::make_shared<std::string>();
  auto request = std::make_shared<SampleRequest>();
  sub->add_option("run", *run, "run directory")->required()->type_name("RUN");
  sub->add_option("--prompt", request->prompt, "text to continue")->type_name("TEXT");
  sub->add_option("--temperature", request->temperature, "below 1 is safer, above 1 wilder, 0 always takes the most probable")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  sub->add_option("--top-k", request->top_k, "draw from the K most probable characters only; 0 from all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31))
      ->capture_default_str();
  sub->add_option("--length", request->length, "characters to write")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
  sub->add_option("--seed", request->seed, "same seed, same text")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53))
      ->capture_default_str();
  add_output_options(*sub, common);
  sub->callback([&common, &command, run, request] { command = [&common, run, request] { return sample(*run, *request, common.json); }; });
}

}  // namespace ffn::app
