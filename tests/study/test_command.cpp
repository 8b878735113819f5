// A program's config: its arguments, its identity, and the numbers that it left.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/helpers.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/run_record.hpp"
#include "ffn/study/command_metrics.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

// With further keys of the engine and of the config.
std::string program(const std::string& engine = "", const std::string& keys = "") {
  return R"~({"engine": {"command": ["python3", "--lr={train.lr}", "{act}", "{seed}", "{run_dir}"], "metrics": {"loss": {"regex": "loss (.*)"}})~" +
         engine + R"~(}, "act": "relu", "train": {"lr": 0.001})~" + keys + "}";
}

std::string identity(const std::string& text, const std::string& files = "") { return run_identity(run_from(text), files); }

CommandMetric metric(CommandMetric::Source source, const std::string& what, const std::string& file = "") {
  return {source, "loss", file, what};
}

void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

// "step: name value …" of each evaluation.
std::string series(const std::vector<Evaluation>& evaluations) {
  std::string out;
  for (const auto& evaluation : evaluations) {
    out += (out.empty() ? "" : "; ") + std::to_string(evaluation.step) + ":";
    for (const auto& [name, value] : evaluation.metrics) out += " " + name + " " + dump_json(Json(value));
  }
  return out;
}

std::string printed(const std::string& regex, const std::string& out, const std::string& err = "") {
  return series(read_command_metrics({metric(CommandMetric::Source::regex, regex)}, {"", {out, err}}));
}

}  // namespace

TEST_CASE("arguments take the values of keys, the seed and the run's directory") {
  const auto config = run_from(program());
  CHECK(config.command->arguments({{"seed", "7"}, {"run_dir", "/r"}}) ==
        std::vector<std::string>{"python3", "--lr=0.001", "relu", "7", "/r"});
  CHECK(config.command->workdir == "/configs");
  CHECK(config.command->names("seed"));
  CHECK(!config.command->names("act.x"));
}

TEST_CASE("a program's config is read back from what is kept of it") {
  const auto config = run_from(program(R"(, "timeout": "10m")", R"(, "seed": 3)"));
  const auto json = resolved_json(config);
  CHECK(json["train"] == Json({{"lr", 0.001}}));
  const auto again = read_run_config(parse_document(dump_json(json), "run.json", "/elsewhere"), "run.json");
  CHECK(resolved_json(again) == json);
  CHECK(run_identity(again, "x") == run_identity(config, "x"));
}

TEST_CASE("keys, command, metrics, environment and files make a program's run; where and how long it runs does not") {
  const auto id = identity(program());
  CHECK(id == "d9d2c924cf7a4e0f");
  CHECK(identity(program(R"(, "timeout": "1h", "workdir": "/tmp")", R"(, "name": "other", "label": "x", "keep": "summary")")) == id);
  for (const auto& other : {program(R"(, "environment": {"A": "1"})"), program("", R"(, "seed": 1)"), program("", R"(, "width": 3)")})
    CHECK(problems_in(other).empty() == (other.find("width") == std::string::npos));
  CHECK(identity(program(R"(, "environment": {"A": "1"})")) != id);
  CHECK(identity(program("", R"(, "seed": 1)")) != id);
  CHECK(identity(program(), "0123") != id);
}

TEST_CASE("what a program printed: the last match, on stderr where stdout has none, or a series") {
  CHECK(printed("loss (\\S+)", "loss 2\nloss 0.5 loss 1e-3\n") == "0: loss 0.001");
  CHECK(printed("loss (\\S+)", "nothing\n", "loss 4\n") == "0: loss 4.0");
  CHECK(printed("(\\d+): loss (\\S+)", "20: loss 1\n10: loss 2\n20: loss 0.5") == "10: loss 2.0; 20: loss 0.5");
  CHECK(printed("loss (\\S+)", std::string(200'000, 'x') + "\nloss 3") == "0: loss 3.0");
  CHECK(thrown<DataError>([] { printed("loss (\\S+)", "loss x"); }));
  CHECK(thrown<DataError>([] { printed("(\\S+) (\\S+)", "-1 2"); }));
  CHECK(thrown<DataError>([] { printed("loss (\\S+)", ""); }));
}

TEST_CASE("numbers in JSON and CSV, and those without steps at the last step") {
  using Source = CommandMetric::Source;
  const ScratchDirectory scratch;
  write(scratch.path() / "o.json", R"({"a": [{"b~": 2}], "n": null, "t": "1"})");
  write(scratch.path() / "nan.json", R"({"loss": NaN, "low": -Infinity})");
  write(scratch.path() / "log.csv", "step,acc\n10,0.5\n30,0.75\n");
  const CommandOutput output{scratch.path(), {"", ""}};
  const auto read = [&](const CommandMetric& one) { return read_command_metrics({one}, output); };
  CHECK(series(read(metric(Source::json, "/a/0/b~0", "o.json"))) == "0: loss 2.0");
  CHECK(std::isnan(read(metric(Source::json, "/n", "o.json"))[0].metrics[0].second));
  CHECK(std::isnan(read(metric(Source::json, "/low", "nan.json"))[0].metrics[0].second));
  CHECK(series(read_command_metrics({metric(Source::json, "/a/0/b~0", "o.json"), {Source::csv, "acc", "log.csv", "acc"}}, output)) ==
        "10: acc 0.5; 30: loss 2.0 acc 0.75");
  for (const auto& wrong :
       {metric(Source::json, "/t", "o.json"), metric(Source::json, "/x", "o.json"), metric(Source::json, "/a", "no.json"),
        metric(Source::csv, "loss", "log.csv"), metric(Source::csv, "loss", "no.csv")})
    CHECK(thrown<DataError>([&] { read(wrong); }));
}

TEST_CASE("a failed run has a summary if its program ended") {
  RunRecord record;
  record.identity = "x";
  record.config = Json::object();
  record.state = RunState::failed;
  record.summary = RunSummary();
  record.summary->end = RunEnd::failed;
  CHECK(parse_record(record_text(record), "run.json").summary->end == RunEnd::failed);
  record.state = RunState::running;
  CHECK(thrown<DataError>([&] { parse_record(record_text(record), "run.json"); }));
}
