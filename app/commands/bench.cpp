// ffn-train bench: what this machine does.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "../commands.hpp"
#include "../signals.hpp"
#include "ffn/base/error.hpp"
#include "ffn/base/text.hpp"
#include "ffn/base/version.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/output.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/train/libtorch.hpp"

namespace ffn::app {

namespace {

double measured_value(const Measurement& m, const char* name) {
  for (const auto& [key, value] : m.values) {
    if (key == name) return value;
  }
  return 0;
}

/// A column of a table: its header and how the cell is written.
struct Shown {
  const char* header;
  std::function<std::string(const Measurement&)> cell;
};

Shown number_column(const char* header, const char* value) {
  return {header, [value](const Measurement& m) { return format_significant(measured_value(m, value)); }};
}
Shown percent_column(const char* header, const char* value) {
  return {header, [value](const Measurement& m) { return format_percent(measured_value(m, value), 0); }};
}
Shown count_column(const char* header, const char* value) {
  return {header, [value](const Measurement& m) { return format_short(measured_value(m, value)); }};
}

struct Group {
  const char* name;
  const char* title;
  const char* first_column;
  std::vector<Shown> columns;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all{
      {"product",
       "Matrix products in float32, one thread: our kernel and LibTorch's BLAS",
       "shape",
       {number_column("µs", "us"), number_column("GFLOP/s", "gflops"), number_column("BLAS µs", "blas_us"),
        number_column("BLAS GFLOP/s", "blas_gflops"), number_column("ratio", "times_blas")}},
      {"ffn",
       "Feed-forward layers, forward and backward, 512 tokens; shares are of a 512³ product in the same run",
       "kind and d_model",
       {number_column("µs", "us"), number_column("GFLOP/s", "gflops"), percent_column("of our product", "share_of_own_product"),
        percent_column("of BLAS's", "share_of_blas_product"), number_column("LibTorch µs", "libtorch_us"),
        number_column("ratio", "times_libtorch")}},
      {"ffn of one size",
       "Feed-forward layers of that size, forward and backward, as they train; shares are of one product of that shape in the same "
       "precision",
       "kind",
       {number_column("ms", "ms"),
        count_column("tokens/s", "tokens_per_s"),
        count_column("FLOP/s", "flops_per_s"),
        percent_column("of the product", "share_of_product"),
        count_column("FLOPs/token", "flops_per_token"),
        {"parameters", [](const Measurement& m) { return format_bytes(measured_value(m, "parameter_bytes")); }}}},
      {"steps",
       "Training on XOR, one thread: whole steps (data, forward, backward, AdamW)",
       "cohort",
       {number_column("µs per run and step", "us_per_run_and_step"),
        count_column("steps/s", "steps_per_s"),
        count_column("runs·steps/s", "runs_times_steps_per_s"),
        {"memory per run", [](const Measurement& m) { return format_bytes(measured_value(m, "bytes_per_run")); }}}}};
  return all;
}

void print_group(const Group& group, const std::vector<Measurement>& measurements, bool color) {
  std::vector<Column> columns{{group.first_column, Align::left}};
  for (const auto& shown : group.columns) columns.push_back({shown.header, Align::right});
  Table table(columns);
  for (const auto& m : measurements) {
    if (m.group != group.name) continue;
    std::vector<std::string> row{m.name};
    for (const auto& shown : group.columns) row.push_back(shown.cell(m));
    table.add_row(row);
  }
  if (table.num_rows() > 0)
    std::cout << wrapped(std::string(group.title) + "\n", terminal_width_of(1)) << "\n"
              << laid_out(table, terminal_width_of(1), color) << "\n";
}

Json bench_json(const LibTorchInfo& info, const std::vector<Measurement>& measurements) {
  Json out = {{"schema_version", 1}, {"version", kVersion},     {"commit", kGitCommit},         {"libtorch", info.version},
              {"blas", info.blas},   {"kernels", kernel_isa()}, {"measurements", Json::array()}};
  for (const auto& m : measurements) {
    Json values = Json::object();
    for (const auto& [name, value] : m.values) values[name] = value;
    out["measurements"].push_back({{"group", m.group}, {"name", m.name}, {"values", values}});
  }
  return out;
}

int bench(const BenchRequest& asked, const CommonOptions& common) {
  handle_stop_signals();
  LibTorch& libtorch = load_libtorch();
  const bool show_progress = color_enabled(ColorMode::automatic, 2) && common.verbosity >= 0;
  std::vector<Measurement> measurements;
  BenchRequest request = asked;
  request.stop = [] { return stop_requested(); };
  libtorch.bench(request, [&](const Measurement& m) {
    measurements.push_back(m);
    if (!show_progress) return;
    write_control(std::cerr, "\r\x1b[K");
    std::cerr << clipped("measured " + m.group + " " + m.name, static_cast<std::size_t>(std::max(4, terminal_width_of(2) - 1)))
              << std::flush;
  });
  if (show_progress) write_control(std::cerr, "\r\x1b[K");
  if (common.json) {
    print_json(bench_json(libtorch.info(), measurements));
  } else {
    const auto info = libtorch.info();
    for (const auto& group : groups()) print_group(group, measurements, color_enabled(color_mode(common), 1));
    print_text("medians; kernels " + std::string(kernel_isa()) + ", LibTorch " + info.version + ", BLAS " + info.blas);
  }
  return stop_requested() ? static_cast<int>(ExitCode::interrupted) : 0;
}

}  // namespace

void add_bench(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("bench", "measure this machine: products, feed-forward layers, training steps");
  auto request = std::make_shared<BenchRequest>();
  command.option("groups", request->groups, "product, ffn or steps; all by default").one_of({"product", "ffn", "steps"});
  command.option("--seconds", request->seconds, "time to spend on each figure").real_in(0.001, 60.0).shows_default();
  auto& compute = request->compute;
  command.option("--d-model", request->d_model, "feed-forward layers of this width alone").integer_in(1, 1 << 18).type("D");
  command.option("--d-ff", request->d_ff, "their hidden width; 4·D by default").integer_in(1, 1 << 20).type("F");
  command.option("--tokens", request->tokens, "tokens of a pass of them").integer_in(1, 1 << 24).shows_default();
  command.option("--device", compute.device, "where: cpu, cuda or cuda:N").shows_default();
  command.option("--precision", compute.precision, "as compute.precision").one_of({"float32", "tf32", "bfloat16"}).shows_default();
  add_output_options(command, common);
  command.run([&common, request] {
    const auto d_model = request->d_model;
    const bool ffn_alone = request->groups == std::vector<std::string>{"ffn"};
    if (!is_device(request->compute.device))
      throw UsageError("--device " + request->compute.device + " is no device", "write cpu, cuda or cuda:N");
    if (d_model > 0 && !ffn_alone)
      throw UsageError("--d-model is of the group ffn", "write `ffn-train bench ffn --d-model " + std::to_string(d_model) + "`");
    if (d_model == 0 &&
        (request->d_ff > 0 || request->compute.device != "cpu" || request->compute.precision != "float32" || request->tokens != 512))
      throw UsageError("--d-ff, --tokens, --device and --precision are of layers of one width", "add --d-model D");
    return bench(*request, common);
  });
}

}  // namespace ffn::app
