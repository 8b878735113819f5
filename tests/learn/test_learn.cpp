// Does it learn what it should, and fail where it must? Each claim over ten seeds with a stated pass count.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "../train/observer.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/train/trainer.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

RunConfig shipped(const std::string& name) {
  const std::string path = std::string(FFN_SOURCE_DIR) + "/configs/" + name + ".json";
  return read_run_config(load_document(path), path);
}

// Validation accuracy at the end of each of ten seeds, the mean.
double mean_of_ten_seeds(RunConfig config) {
  std::vector<RunConfig> runs(10, config);
  for (std::size_t r = 0; r < runs.size(); ++r) runs[r].seed = static_cast<std::int64_t>(r);
  test::Collected collected;
  test::cpu_trainer({runs, {}}, collected).train();
  double sum = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) sum += collected.last(r, "val/accuracy");
  return sum / static_cast<double>(runs.size());
}

// Best validation accuracy of each of ten seeds.
std::vector<double> ten_seeds(RunConfig config) {
  std::vector<RunConfig> runs(10, config);
  for (std::size_t r = 0; r < runs.size(); ++r) runs[r].seed = static_cast<std::int64_t>(r);
  test::Collected collected;
  test::cpu_trainer({runs, {}}, collected).train();
  std::vector<double> best(runs.size(), 0);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    int seen = 0;
    for (const auto& e : collected.evaluations.at(r)) {
      for (const auto& [metric, value] : e.metrics) {
        if (metric != "val/accuracy") continue;
        REQUIRE(std::isfinite(value));  // NaN would stay under every ceiling
        best[r] = std::max(best[r], value);
        ++seen;
      }
    }
    REQUIRE(seen > 1);
  }
  return best;
}

std::int64_t count_at_least(const std::vector<double>& values, double bound) {
  return std::count_if(values.begin(), values.end(), [&](double v) { return v >= bound; });
}

std::string text_of(const std::vector<double>& values) {
  std::string out;
  for (const double v : values) out += std::to_string(v).substr(0, 5) + " ";
  return out;
}

}  // namespace

TEST_CASE("XOR with ReLU, GELU and SiLU reaches 100 % in at least 9 of 10 seeds at d_ff 32", "[learn]") {
  for (const char* activation : {"relu", "gelu", "silu"}) {
    auto config = shipped("xor");
    auto& ffn = std::get<PositionwiseConfig>(config.model.ffn);
    ffn.activation = activation;
    REQUIRE(ffn.hidden_width(config.model.d_model) == 32);
    const auto best = ten_seeds(config);
    INFO(activation << ": " << text_of(best));
    CHECK(count_at_least(best, 1.0) >= 9);
  }
}

TEST_CASE("XOR without a non-linearity stays at or under 75 % in every seed", "[learn]") {
  auto config = shipped("xor");
  std::get<PositionwiseConfig>(config.model.ffn).activation = "identity";
  const auto best = ten_seeds(config);
  INFO(text_of(best));
  CHECK(*std::max_element(best.begin(), best.end()) <= 0.75);
}

namespace {

RunConfig sequence(const char* attention, bool ffn) {
  auto config = shipped("sequence-xor");
  if (*attention) config.model.attention->scores = attention;
  else config.model.attention.reset();
  if (!ffn) config.model.ffn = NoFfnConfig{};
  return config;
}

}  // namespace

TEST_CASE("sequence_xor without attention stays at chance, with or without FFN", "[learn]") {
  for (const bool ffn : {false, true}) {
    const auto best = ten_seeds(sequence("", ffn));
    INFO("FFN " << ffn << ": " << text_of(best));
    CHECK(*std::max_element(best.begin(), best.end()) <= 0.55);
  }
}

TEST_CASE("sequence_xor with attention by position needs the FFN: linear without it, solved with it", "[learn]") {
  const auto without = ten_seeds(sequence("position", false)), with = ten_seeds(sequence("position", true));
  INFO("without: " << text_of(without) << "\nwith: " << text_of(with));
  CHECK(*std::max_element(without.begin(), without.end()) <= 0.76);  // 75 % is a linear classifier's ceiling
  CHECK(count_at_least(with, 0.99) >= 8);
}

TEST_CASE("sequence_xor with softmax attention and FFN is solved; without FFN it is reported as it is", "[learn]") {
  const auto with = ten_seeds(sequence("content", true)), without = ten_seeds(sequence("content", false));
  std::cout << "softmax attention without FFN, best accuracy of 10 seeds: " << text_of(without) << "\n";
  INFO("with: " << text_of(with));
  CHECK(count_at_least(with, 0.99) >= 8);
}

namespace {

// Held-out loss in nats of a bigram model with additive smoothing, the amount chosen on the held-out text: a lower bound
// of what such a model can honestly get.
double bigram_loss(const TextCorpus& corpus) {
  const auto v = corpus.alphabet.size();
  const auto split = corpus.text.end() - static_cast<std::ptrdiff_t>(corpus.held_out);
  const std::vector<std::uint16_t> train(corpus.text.begin(), split), valid(split, corpus.text.end());
  std::vector<double> pairs(v * v), firsts(v);
  for (std::size_t i = 0; i + 1 < train.size(); ++i) {
    ++pairs[static_cast<std::size_t>(train[i]) * v + static_cast<std::size_t>(train[i + 1])];
    ++firsts[static_cast<std::size_t>(train[i])];
  }
  double best = INFINITY;
  for (const double amount : {0.01, 0.03, 0.1, 0.3, 1.0}) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < valid.size(); ++i) {
      const auto a = static_cast<std::size_t>(valid[i]), b = static_cast<std::size_t>(valid[i + 1]);
      sum -= std::log((pairs[a * v + b] + amount) / (firsts[a] + amount * static_cast<double>(v)));
    }
    best = std::min(best, sum / static_cast<double>(valid.size() - 1));
  }
  return best;
}

}  // namespace

TEST_CASE("the text config beats a bigram model of the same file", "[learn]") {
  const auto config = shipped("text");
  const double bigram = bigram_loss(*read_corpus(std::get<TextConfig>(config.task)));
  test::Collected collected;
  test::cpu_trainer({{config}, {}}, collected).train();
  const double loss = collected.last(0, "val/loss");
  std::cout << "text: validation loss " << loss << " nats, bigram " << bigram << "\n";
  CHECK(loss < bigram);
  CHECK((bigram > 1.5 && std::isfinite(bigram)));
}

TEST_CASE("the table config classifies iris as scikit-learn does, and so does a linear model: about 95 %") {
  auto config = shipped("table");
  const double ffn = mean_of_ten_seeds(config);
  config.model.ffn = NoFfnConfig{};
  const double linear = mean_of_ten_seeds(config);
  std::cout << "iris, 10 splits: FFN " << ffn << ", linear " << linear << "\n";
  for (const double accuracy : {ffn, linear}) CHECK((accuracy > 0.92 && accuracy < 0.98));  // of ten splits, standard error 0.01
}
