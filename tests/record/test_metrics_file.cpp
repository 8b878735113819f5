#include <chrono>
#include <cmath>
#include <limits>

#include "ffn/core/error.hpp"
#include "ffn/record/metrics_file.hpp"
#include "record/runs.hpp"
#include "record/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::string kFirst = R"({"step":100,"time_s":25.0,"tokens":6400,"val/loss":0.5,"val/accuracy":0.75})"
                           "\n";
const std::string kSecond = R"({"step":200,"time_s":50.0,"tokens":12800,"val/loss":0.25,"val/accuracy":1.0})"
                            "\n";

}  // namespace

TEST_CASE("an evaluation is one flat line") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";

  append_metrics(path, {evaluation(100, 0.5, 0.75)});
  append_metrics(path, {evaluation(200, 0.25, 1.0)});

  CHECK(content(path) == kFirst + kSecond);
}

TEST_CASE("numbers that are not finite are strings, and all numbers come back bit for bit") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  const double awkward[] = {0.1, 1.0 / 3.0, -0.0, 5e-324, std::numeric_limits<double>::max(), 1e22, 123456789012345678.0};
  Evaluation written{1, kInfinity, 2, {{"train/loss", kNan}, {"val/loss", -kInfinity}}};
  for (const double value : awkward) written.metrics.emplace_back("m" + std::to_string(written.metrics.size()), value);

  append_metrics(path, {written});
  const auto read = read_metrics(path);

  CHECK(content(path).find(R"("time_s":"inf","tokens":2,"train/loss":"nan","val/loss":"-inf")") != std::string::npos);
  REQUIRE(read.size() == 1);
  CHECK(read[0].time_s == kInfinity);
  REQUIRE(read[0].metrics.size() == 9);
  CHECK(std::isnan(read[0].metrics[0].second));
  CHECK(read[0].metrics[1].second == -kInfinity);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(read[0].metrics[i + 2].first == "m" + std::to_string(i + 2));
    CHECK(read[0].metrics[i + 2].second == awkward[i]);
    CHECK(std::signbit(read[0].metrics[i + 2].second) == std::signbit(awkward[i]));
  }
}

TEST_CASE("a missing file is an empty history and needs no truncation") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";

  CHECK(read_metrics(path).empty());
  truncate_metrics_after(path, 100);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a last line torn at any byte is left out, a complete one without newline is not") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  const std::size_t complete = kSecond.size() - 1;
  for (std::size_t length = 0; length < complete; ++length) {
    put(path, kFirst + kSecond.substr(0, length));
    CHECK(read_metrics(path).size() == 1);
  }

  put(path, kFirst + kSecond.substr(0, complete));
  CHECK(read_metrics(path).size() == 2);
}

TEST_CASE("any other line that is no evaluation is an error with its number") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  const auto problem = [&](const std::string& line) {
    put(path, kFirst + line + "\n" + kSecond);
    return message_of<DataError>([&] { read_metrics(path); });
  };
  const std::string place = path.string() + ":2: no evaluation: ";

  CHECK(problem("{\"step\":150,") == place + R"("{\"step\":150,")");
  CHECK(problem(R"({"step":1.5,"time_s":0,"tokens":0})").rfind(place, 0) == 0);
  CHECK(problem(R"({"step":1,"time_s":0,"tokens":0,"val/loss":"large"})").rfind(place, 0) == 0);
  CHECK(problem(R"({"step":1,"time_s":0})").rfind(place, 0) == 0);
  CHECK(problem("[]").rfind(place, 0) == 0);
  CHECK(message_of<DataError>([&] { truncate_metrics_after(path, 100); }).rfind(place, 0) == 0);
  CHECK(problem(R"({"step":1,"time_s":0,"tokens":0})") == "");
}

TEST_CASE("truncation keeps what was measured up to the checkpoint, byte for byte") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  const std::string torn = kSecond.substr(0, 30);

  put(path, kFirst + kSecond + torn);
  truncate_metrics_after(path, 200);
  CHECK(content(path) == kFirst + kSecond);

  truncate_metrics_after(path, 199);
  CHECK(content(path) == kFirst);

  truncate_metrics_after(path, 99);
  CHECK(content(path).empty());
}

TEST_CASE("what is appended after a truncation starts on a line of its own") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  put(path, kFirst.substr(0, kFirst.size() - 1));

  truncate_metrics_after(path, 100);
  append_metrics(path, {evaluation(200, 0.25, 1.0)});

  CHECK(content(path) == kFirst + kSecond);
}

TEST_CASE("a file that needs no truncation is not written again") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  put(path, kFirst);
  const auto before = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(path, before);

  truncate_metrics_after(path, 100);

  CHECK(std::filesystem::last_write_time(path) == before);
}

TEST_CASE("a metrics file that cannot be opened is an error with path and reason") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "no such directory" / "metrics.jsonl";

  CHECK(message_of<SystemError>([&] { append_metrics(path, {evaluation(1, 0, 0)}); }) ==
        "cannot open " + path.string() + ": No such file or directory");
}

TEST_CASE("a full disk is an error that says what to do") {
  // /dev/full takes every open and refuses every write with "no space left".
  if (!std::filesystem::exists("/dev/full")) return;
  std::string hint;
  try {
    append_metrics("/dev/full", {evaluation(1, 0, 0)});
  } catch (const SystemError& error) {
    hint = std::string(error.what()) + " | " + error.hint();
  }
  CHECK(hint ==
        "cannot write /dev/full: No space left on device | free some disk space and start again; the run goes on from its last checkpoint");
}
