#include <unistd.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ffn/data/run_identity.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/safetensors.hpp"
#include "store/runs.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::string kIdentity = "0123456789abcdef";

RunSummary full_summary() {
  RunResult result;
  result.end = RunEnd::diverged;
  result.steps = 250;
  result.train_seconds = 1.5;
  result.hit = Hit{200, 50.0, 12800};
  result.divergence = Divergence{250, kNan, 0.01, std::numeric_limits<double>::infinity()};
  MetricTally tally;
  for (const auto& e : {evaluation(100, 0.5, 0.75), evaluation(200, 0.25, 1.0), evaluation(250, kNan, 0.5)}) tally.add(e);
  auto summary = summarize(kIdentity, {10, 8, 64}, tally, result);
  summary.files["metrics.jsonl"] = {123, "xxh3:0"};
  return summary;
}

}  // namespace

TEST_CASE("runs lie where the design says") {
  CHECK(single_run_path("runs", "xor", 3) == std::filesystem::path("runs/xor/seed-3"));
  CHECK(study_run_path("runs", "activations", "relu-x4", 0) == std::filesystem::path("runs/activations/relu-x4/seed-0"));
}

TEST_CASE("any of a run's small files tells of it, and nothing else does") {
  const ScratchDirectory scratch;
  put(scratch.path() / "config.json", "{}");
  CHECK_FALSE(holds_run(scratch.path()));
  CHECK_FALSE(holds_run(scratch.path() / "none"));
  for (const char* name : {"status.json", "summary.json", "meta.json"}) {
    put(scratch.path() / name, "");  // damaged
    CHECK(holds_run(scratch.path()));
    std::filesystem::remove(scratch.path() / name);
  }
}

TEST_CASE("config.json is the resolved config and trains the same run") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path() / "deep" / "run");
  run.create();
  const RunConfig config = small_run(7);

  run.write_config(config);
  const RunConfig again = read_run_config(load_document(run.config_path().string()), "again");

  CHECK(content(run.config_path()) == resolved_json(config).dump(2) + "\n");
  CHECK(run_identity(again) == run_identity(config));
  CHECK(again.seed == 7);
}

TEST_CASE("meta.json tells where a run came from") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());

  run.write_meta({{"ffn-train", "--config", "x\xff.json"}, {"fused", "cpu", "x86-64-v3", "", ""}, "2026-01-31T12:00:00Z", {}});
  const Json meta = Json::parse(content(scratch.path() / "meta.json"));

  CHECK(meta["schema_version"] == kSchemaVersion);
  CHECK(meta["argv"] == Json{"ffn-train", "--config", "x\xef\xbf\xbd.json"});
  CHECK(meta["engine"] == "fused");
  CHECK(meta["kernel_isa"] == "x86-64-v3");
  CHECK(meta["started"] == "2026-01-31T12:00:00Z");
  CHECK(meta["host"] == host_name());
  CHECK(meta["cores"].get<int>() >= 1);
  for (const char* key : {"version", "git_commit", "compiler", "kernel", "cpu"}) CHECK_FALSE(meta.at(key).get<std::string>().empty());
  CHECK_FALSE(meta.contains("resumed_at_step"));
}

TEST_CASE("a resumed run keeps the record of its earlier sessions") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());

  run.write_meta({{"first"}, {}, "t1", {}});
  run.write_meta({{"second"}, {}, "t2", 100});
  run.write_meta({{"third"}, {}, "t3", 200});
  const Json meta = Json::parse(content(scratch.path() / "meta.json"));

  CHECK(meta["started"] == "t3");
  CHECK(meta["resumed_at_step"] == 200);
  REQUIRE(meta["earlier_sessions"].size() == 2);
  CHECK(meta["earlier_sessions"][0]["argv"] == Json{"first"});
  CHECK(meta["earlier_sessions"][1]["resumed_at_step"] == 100);
  CHECK_FALSE(meta["earlier_sessions"][1].contains("earlier_sessions"));

  run.write_meta({{"fresh"}, {}, "t4", {}});
  CHECK_FALSE(Json::parse(content(scratch.path() / "meta.json")).contains("earlier_sessions"));
}

TEST_CASE("the time is ISO 8601 in UTC") {
  const std::string now = utc_now();
  REQUIRE(now.size() == 20);
  CHECK(now[4] == '-');
  CHECK(now[10] == 'T');
  CHECK(now[19] == 'Z');
  CHECK(now > "2024");
}

TEST_CASE("every state of a run is written and read") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  CHECK_FALSE(read_status(scratch.path()));

  for (const auto state :
       {RunState::pending, RunState::running, RunState::done, RunState::diverged, RunState::failed, RunState::interrupted}) {
    run.write_status({state, "because \"so\"", kIdentity, 42, 0, "", "", "xxh3:1"});
    const auto status = read_status(scratch.path());
    REQUIRE(status);
    CHECK(status->state == state);
    CHECK(status->reason == "because \"so\"");
    CHECK(status->identity == kIdentity);
    CHECK(status->step == 42);
    CHECK(status->pid == ::getpid());
    CHECK(status->host == host_name());
    CHECK(status->updated.size() == 20);
    CHECK(status->config_checksum == "xxh3:1");
    CHECK(content(scratch.path() / "status.json").find(std::string("\"state\": \"") + to_string(state) + "\"") != std::string::npos);
  }
}

TEST_CASE("a status file that cannot be understood is an error that names it") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "status.json";
  const auto problem = [&](const std::string& text) {
    put(path, text);
    return message_of<DataError>([&] { read_status(scratch.path()); });
  };

  CHECK(problem("{") == path.string() + ": no JSON object");
  CHECK(problem("{}") == path.string() + ": key 'state' not found");
  CHECK(problem(R"({"state":"asleep"})") == path.string() + ": unknown state \"asleep\"");
  CHECK(problem(R"({"schema_version":3})") == path.string() + ": schema_version 3, this ffn-train reads up to 2");
  CHECK(problem(R"({"schema_version":2})") == path.string() + ": damaged: its checksum is missing");
  CHECK(problem("") == path.string() + ": empty");
  CHECK(problem(R"({"state":3})").rfind(path.string() + ": ", 0) == 0);
}

TEST_CASE("a summary has the last and the best value of each metric, the best by the metric's own direction") {
  const RunSummary summary = full_summary();

  REQUIRE(summary.find("val/loss"));
  CHECK(std::isnan(summary.find("val/loss")->final_value));
  CHECK(summary.find("val/loss")->best->value == 0.25);
  CHECK(summary.find("val/loss")->best->step == 200);
  CHECK(summary.find("val/accuracy")->final_value == 0.5);
  CHECK(summary.find("val/accuracy")->best->value == 1.0);
  CHECK(summary.find("val/accuracy")->best->step == 200);
  CHECK(summary.find("val/perplexity") == nullptr);
  CHECK(summary.tokens == 64 * 250);
}

TEST_CASE("a best value is the earliest of equals, and absent where nothing was finite or the direction is unknown") {
  const std::vector<Evaluation> history = {{1, 0, 0, {{"val/loss", 1.0}, {"train/loss", kNan}, {"of my own", 1.0}}},
                                           {2, 0, 0, {{"val/loss", 1.0}}}};

  MetricTally tally;
  for (const auto& evaluation : history) tally.add(evaluation);
  const RunSummary summary = summarize("", {}, tally, {});

  CHECK(summary.find("val/loss")->best->step == 1);
  CHECK_FALSE(summary.find("train/loss")->best);
  CHECK_FALSE(summary.find("of my own")->best);
  CHECK(summary.find("of my own")->final_value == 1.0);
}

TEST_CASE("an evaluation whose loss is not finite has no best value") {
  MetricTally tally;
  for (const double loss : {1.0, kNan, 2.0})
    tally.add(
        {static_cast<std::int64_t>(tally.last_step() + 1), 0, 0, {{"val/loss", loss}, {"val/accuracy", std::isnan(loss) ? 0.9 : 0.25}}});
  const RunSummary summary = summarize("", {}, tally, {});
  CHECK(summary.find("val/accuracy")->best->value == 0.25);
  CHECK(summary.find("val/accuracy")->best->step == 0);
}

TEST_CASE("a summary is written for people and programs and comes back the same") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  CHECK_FALSE(read_summary(scratch.path()));

  run.write_summary(full_summary());
  const Json json = Json::parse(content(scratch.path() / "summary.json"));
  const auto back = read_summary(scratch.path());

  CHECK(json["schema_version"] == kSchemaVersion);
  CHECK(json["end"] == "diverged");
  CHECK(json["parameters"] == 10);
  CHECK(json["active_parameters"] == 8);
  CHECK(json["flops_per_token"] == 64);
  CHECK(json["metrics"]["val/loss"] == Json{{"final", "nan"}, {"best", 0.25}, {"best_step", 200}});
  CHECK(json["hit"] == Json{{"step", 200}, {"time_s", 50.0}, {"tokens", 12800}});
  CHECK(json["divergence"]["grad_norm"] == "inf");
  REQUIRE(back);
  Json without_checksum = json;
  without_checksum.erase("checksum");
  CHECK(summary_json(*back) == without_checksum);
  CHECK(back->files.at("metrics.jsonl").bytes == 123);
  CHECK(back->end == RunEnd::diverged);
  CHECK(back->divergence->step == 250);
}

TEST_CASE("a run that never hit and never diverged says null") {
  const ScratchDirectory scratch;
  RunDirectory(scratch.path()).write_summary(summarize(kIdentity, {}, {}, {}));

  const auto back = read_summary(scratch.path());

  CHECK(Json::parse(content(scratch.path() / "summary.json"))["hit"].is_null());
  CHECK_FALSE(back->hit);
  CHECK_FALSE(back->divergence);
}

TEST_CASE("weights carry the config that made them") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());

  run.write_weights(small_run(5), kIdentity, 400, some_weights());
  const TensorFile file = read_safetensors(run.weights_path());

  REQUIRE(file.tensors.size() == 1);
  CHECK(file.tensors[0].bytes == some_weights()[0].bytes);
  CHECK(file.metadata.at("format") == "pt");
  CHECK(file.metadata.at("identity") == kIdentity);
  CHECK(file.metadata.at("step") == "400");
  CHECK(file.metadata.at("schema_version") == std::to_string(kSchemaVersion));
  CHECK(has_checksum(file));
  CHECK(run_identity(read_run_config(parse_document(file.metadata.at("config"), "weights", ""), "weights")) == run_identity(small_run(5)));
}

TEST_CASE("a checkpoint comes back bit for bit") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  const RunConfig config = small_run();
  CHECK_FALSE(run.read_checkpoint(config, kIdentity));
  Checkpoint checkpoint;
  checkpoint.step = 123;
  checkpoint.numbers = {
      {"third", 1.0 / 3.0}, {"tiny", 5e-324}, {"minus zero", -0.0}, {"nan", kNan}, {"inf", -std::numeric_limits<double>::infinity()},
      {"count", 1e15}};
  checkpoint.tensors = {{"parameters", DType::f32, {2}, "12345678"}, {"second moment", DType::f64, {1}, "abcdefgh"}};

  put(run.metrics_path(), "abcdef");
  run.write_checkpoint(checkpoint, kIdentity, {4, checksum_of("abcd")});
  const auto stored = run.read_checkpoint(config, kIdentity);

  REQUIRE(stored);
  CHECK(stored->metrics == "abcd");
  const Checkpoint* back = &stored->checkpoint;
  CHECK(back->step == 123);
  REQUIRE(back->numbers.size() == 6);
  for (const auto& [name, value] : checkpoint.numbers) {
    INFO(name);
    CHECK(std::signbit(back->numbers.at(name)) == std::signbit(value));
    CHECK((back->numbers.at(name) == value || std::isnan(value)));
  }
  CHECK(std::isnan(back->numbers.at("nan")));
  REQUIRE(back->tensors.size() == 2);
  CHECK(tensor_differences(checkpoint.tensors, back->tensors).empty());
  CHECK(back->tensors[0].bytes == "abcdefgh");
  CHECK(back->tensors[1].bytes == "12345678");

  run.remove_checkpoint();
  CHECK_FALSE(run.read_checkpoint(config, kIdentity));
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "checkpoint"));
}

TEST_CASE("a checkpoint of another config or of nobody is refused, and so is a step that the run does not have") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  const RunConfig config = small_run();  // 400 steps
  const std::string path = run.checkpoint_path().string();
  run.write_checkpoint({}, kIdentity, {0, checksum_of("")});
  const auto refused = [&](const std::string& identity) {
    return message_of<CheckpointError>([&] { run.read_checkpoint(config, identity); });
  };
  CHECK(refused("ffff") == path + ": belongs to another config (identity 0123456789abcdef, this one is ffff)");

  const auto problem = [&](const std::map<std::string, std::string>& metadata) {
    put(path, safetensors_bytes({{}, metadata}));
    return refused(kIdentity);
  };
  CHECK(problem({}) == path + ": no checkpoint of ffn-train: its metadata has no \"state\"");
  CHECK(problem({{"state", "{}"}}) == path + ": key 'identity' not found");
  CHECK(problem({{"state", R"({"schema_version":9})"}}) == path + ": schema_version 9, this ffn-train reads up to 2");
  CHECK(problem({{"state", R"({"schema_version":2})"}}) == path + ": damaged: its checksum is missing");
  CHECK(problem({{"state", R"({"identity":"0123456789abcdef","step":1,"numbers":{"x":"huge"}})"}}) ==
        path + ": expected a number, got \"huge\"");
  for (const char* step : {"400", "-5", "100000", "1e300", "9223372036854775808", "1.5", "null"}) {
    INFO(step);
    const std::string state = std::string(R"({"identity":"0123456789abcdef","numbers":{},"step":)") + step + "}";
    CHECK_FALSE(problem({{"state", state}}).empty());
  }
}

TEST_CASE("no bit of a checkpoint can change unnoticed") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  const RunConfig config = small_run();
  put(run.metrics_path(), "abcd");
  run.write_checkpoint({7, {{"sum", 0.5}}, some_weights(), {"fused"}}, kIdentity, {4, checksum_of("abcd")});
  const std::string whole = content(run.checkpoint_path());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    put(run.checkpoint_path(), flipped);
    std::optional<StoredCheckpoint> read;
    const auto problem = message_of<CheckpointError>([&] { read = run.read_checkpoint(config, kIdentity); });
    CHECK(problem.empty() == read.has_value());
    if (!problem.empty()) continue;
    // Spaces that fill up the header may be others.
    INFO("bit " << bit % 8 << " of byte " << bit / 8);
    CHECK(std::isspace(static_cast<unsigned char>(whole[bit / 8])));
  }
}

TEST_CASE("what a run left is removed in two steps") {
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  const auto fill = [&] {
    std::filesystem::remove(run.metrics_path());
    Checksum written;
    append_metrics(run.metrics_path(), {evaluation(1, 0, 0)}, written);
    run.write_summary(full_summary());
    run.write_weights(small_run(), kIdentity, 1, {});
    run.write_checkpoint({}, kIdentity, {});
    put(scratch.path() / "notes.txt", "mine");
  };

  fill();
  run.remove_final_results();
  CHECK(std::filesystem::exists(run.metrics_path()));
  CHECK(std::filesystem::exists(run.checkpoint_path()));
  CHECK_FALSE(std::filesystem::exists(run.weights_path()));
  CHECK_FALSE(read_summary(scratch.path()));

  fill();
  run.remove_results();
  CHECK(content(scratch.path() / "notes.txt") == "mine");
  CHECK(std::distance(std::filesystem::directory_iterator(scratch.path()), {}) == 1);
}

TEST_CASE("a run directory in a place that cannot be is an error with the path") {
  const ScratchDirectory scratch;
  put(scratch.path() / "file", "");
  const RunDirectory run(scratch.path() / "file" / "run");

  CHECK(message_of<SystemError>([&] { run.create(); }).rfind("cannot create the directory " + run.path().string(), 0) == 0);
  CHECK(message_of<SystemError>([&] { run.write_status({}); }).rfind("cannot create " + run.path().string() + "/status.json", 0) == 0);
}
