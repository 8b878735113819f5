#include <chrono>
#include <cmath>
#include <limits>

#include "ffn/base/error.hpp"
#include "ffn/store/metrics_file.hpp"
#include "store/runs.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::string kFirst = R"({"step":100,"time_s":25.0,"tokens":6400,"val/loss":0.5,"val/accuracy":0.75})"
                           "\n";
const std::string kSecond = R"({"step":200,"time_s":50.0,"tokens":12800,"val/loss":0.25,"val/accuracy":1.0})"
                            "\n";

}  // namespace

TEST_CASE("an evaluation is one flat line") {
  CHECK(metrics_lines({evaluation(100, 0.5, 0.75), evaluation(200, 0.25, 1.0)}) == kFirst + kSecond);
}

TEST_CASE("numbers that are not finite are strings, and all numbers come back bit for bit") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  const double awkward[] = {0.1, 1.0 / 3.0, -0.0, 5e-324, std::numeric_limits<double>::max(), 1e22, 123456789012345678.0};
  Evaluation written{1, kInfinity, 2, {{"train/loss", kNoNumber}, {"val/loss", -kInfinity}}};
  for (const double value : awkward) written.metrics.emplace_back("m" + std::to_string(written.metrics.size()), value);

  put(path, metrics_lines({written}));
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

TEST_CASE("a missing file is an empty history") {
  const ScratchDirectory scratch;
  CHECK(read_metrics(scratch.path() / "metrics.jsonl").empty());
}

TEST_CASE("a line that is no evaluation is an error with its number") {
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
  CHECK(problem(kSecond.substr(0, 30)).rfind(place, 0) == 0);
  CHECK(problem(R"({"step":1,"time_s":0,"tokens":0})") == "");
}

TEST_CASE("what a checkpoint rests on is the beginning of the file, bit for bit") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  const FileFacts facts{kFirst.size(), checksum_of(kFirst)};

  for (const std::string& more : {std::string(), kSecond, kSecond.substr(0, 30)}) {
    put(path, kFirst + more);
    CHECK(read_metrics_up_to(path, facts) == kFirst);
  }
  put(path, kFirst.substr(1));
  CHECK(message_of<DataError>([&] { read_metrics_up_to(path, facts); }) ==
        path.string() + ": " + std::to_string(kFirst.size() - 1) + " bytes, the checkpoint rests on " + std::to_string(kFirst.size()));
  std::string flipped = kFirst + kSecond;
  flipped[20] = static_cast<char>(flipped[20] ^ 1);
  put(path, flipped);
  CHECK(message_of<DataError>([&] { read_metrics_up_to(path, facts); }) == path.string() + ": damaged: its checksum differs");
  std::filesystem::remove(path);
  CHECK_FALSE(message_of<DataError>([&] { read_metrics_up_to(path, facts); }).empty());
}

TEST_CASE("values of some metrics are the same whether the file is vouched for or not, and what is not vouched for is refused") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "metrics.jsonl";
  const std::string text = metrics_lines({{0, 0, 0, {{"train/val/loss", 7.0}, {"val/loss", 5e-324}}},
                                          {10, 1, 2, {{"val/loss", kInfinity}, {"val/accuracy", 1.0}}},
                                          {20, 2, 4, {{"val/accuracy", 0.1}, {"val/loss", 1e300}}}});
  put(path, text);
  FileFacts facts{text.size(), checksum_of(text)};
  const std::vector<std::string> names = {"val/loss", "val/accuracy"};
  const auto slow = read_metric_rows(path, names, nullptr), fast = read_metric_rows(path, names, &facts);
  REQUIRE(slow.size() == 3);
  REQUIRE(fast.size() == 3);
  const double expected[3][2] = {{5e-324, kNoNumber}, {kInfinity, 1.0}, {1e300, 0.1}};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(slow[i].step == static_cast<std::int64_t>(10 * i));
    CHECK(fast[i].step == slow[i].step);
    for (std::size_t k = 0; k < 2; ++k) {
      const double value = expected[i][k];
      CHECK((std::isnan(value) ? std::isnan(slow[i].values[k]) : slow[i].values[k] == value));
      CHECK((std::isnan(value) ? std::isnan(fast[i].values[k]) : fast[i].values[k] == value));
    }
  }
  facts.checksum = checksum_of("something else");
  CHECK_THROWS_AS(read_metric_rows(path, names, &facts), DataError);
}
