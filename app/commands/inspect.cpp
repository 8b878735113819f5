// ffn-train inspect RUN: show what neurons, experts and heads of a run do.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../inspect_text.hpp"
#include "../load_config.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/base/text.hpp"
#include "ffn/base/version.hpp"
#include "ffn/inspect/inspection_json.hpp"
#include "ffn/inspect/page.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/html.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/train/trained.hpp"

namespace ffn::app {

namespace {

struct InspectOptions {
  std::string run, data = "task", neuron, trace, out;
  bool best = false;
};

void write_page(const std::string& path, const std::string& html, const CommonOptions& common) {
  const NamedFile page(expand_home(path), {"page", report::kPageMark});
  page.write(html);
  if (!common.json && !page.is_stdout()) std::cout << printable(path) << " (" << format_bytes(static_cast<double>(html.size())) << ")\n";
}

// Warns that the weights of a diverged run show no working layer.
std::vector<std::string> notes_of(const RunDirectory& directory, const RunConfig& config, const TensorFile& weights, bool best) {
  if (best) return {"these are the weights of step " + weights.metadata.at("step") + ", the best by " + config.best_by().name};
  try {
    const auto record = read_record(directory.path());
    if (!record || !record->summary || !record->summary->divergence) return {};
    return {"the run diverged at step " + format_count(record->summary->divergence->step) +
            ": these are the weights that it ended with, not what training aimed at"};
  } catch (const DataError& error) {
    return {std::string("what the run came to is not known: ") + error.what()};
  }
}

int inspect_run(const InspectOptions& options, bool traced, const CommonOptions& common) {
  const RunDirectory directory = named_run(options.run);
  const std::string run = directory.path().string();
  const auto page_facts = [&](const ModelConfig& model) {
    return inspect::PageFacts{run, std::to_string(model.blocks) + (model.blocks == 1 ? " block: " : " blocks: ") + layer_text(model),
                              kVersion, utc_now()};
  };
  const auto file = options.best ? directory.best_path() : directory.weights_path();
  const auto config = trained_config(directory, file);
  const auto weights = read_safetensors(file);
  inspect::TrainedNetwork network(config, weights);
  if (traced) {
    const auto inputs = inspect::typed_inputs(config, weights, options.trace);
    auto trace = inspect::trace(network, inputs);
    trace.notes = notes_of(directory, config, weights, options.best);
    if (!options.out.empty()) write_page(options.out, inspect::trace_page(trace, inputs, page_facts(config.model)), common);
    if (common.json) print_json(inspect::to_json(trace, inputs));
    else if (options.out.empty()) print_trace(trace, inputs, config.model);
    return 0;
  }
  const auto most = inspect::most_tokens(config, trained_shape(config.task, weights.metadata));
  auto inspection =
      inspect::look_inside(network, options.data == "task" ? inspect::training_inputs(config, weights, most)
                                                           : inspect::text_inputs(config, weights, expand_home(options.data), most));
  inspection.surface = inspect::surface_of(config, weights, network);
  const auto notes = notes_of(directory, config, weights, options.best);
  inspection.notes.insert(inspection.notes.begin(), notes.begin(), notes.end());
  if (!options.out.empty()) write_page(options.out, inspect::page(inspection, page_facts(config.model)), common);
  if (common.json)
    print_json(options.neuron.empty() ? inspect::to_json(inspection)
                                      : inspect::to_json(inspection, inspect::find_neuron(inspection, options.neuron)));
  else if (!options.neuron.empty()) print_neuron(inspection, options.neuron);
  else if (options.out.empty()) print_inspection(inspection, run, config.model, common);
  return 0;
}

}  // namespace

void add_inspect(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("inspect", "show what neurons, experts and heads of a run do");
  auto options = std::make_shared<InspectOptions>();
  command.option("run", options->run, "run directory").required().type("RUN");
  command.option("--data", options->data, "what to show it: task (what it was trained on), or a text file").type("FILE").shows_default();
  const auto neuron = command
                          .option("--neuron", options->neuron,
                                  "one neuron with what it fires on: 0.17 is number 17 of block 0, in a mixture 0.3.17 that of expert 3")
                          .type("NAME");
  command.flag("--best", options->best, "the weights that keep=best kept, instead of the last");
  const auto trace = command.option("--trace", options->trace, "an input step by step: a text; vectors such as \"1,-1 1,1\" or \"10 11\"")
                         .type("INPUT")
                         .excludes(neuron);
  command.option("-o,--out", options->out, "write it with its pictures to this file, a page for browsers")
      .type("FILE.html")
      .excludes(neuron);
  add_output_options(command, common);
  command.run([&common, options, trace] { return inspect_run(*options, trace.given(), common); });
}

}  // namespace ffn::app
