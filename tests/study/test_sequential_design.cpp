// Sequential designs: their interim analyses, and directories that have no error left for one.
#include <filesystem>

#include "ffn/base/error.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/sequential_design.hpp"
#include "study/pretending.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

std::string design(const std::string& seeds, const std::string& metric = "val/loss") {
  return R"({"name": "s", "seeds": )" + seeds + R"(, "compare": {"metric": ")" + metric +
         R"("}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})";
}

constexpr const char* kAuto = R"({"until": "settled", "max": 16})";

double alike(const RunConfig& config) { return 1 + 0.1 * static_cast<double>(config.seed * 5 % 7); }

std::string refusal(const std::string& json, const ScratchDirectory& scratch) {
  return message_of<UsageError>([&] { record_to_go_on(study_of(json), scratch.path()); });
}

}  // namespace

TEST_CASE("interim analyses begin with min and end with max, within what was declared") {
  SequentialSeeds seeds;
  seeds.max = 30;
  const SequentialRecord fresh{{30}, 1, {}};
  CHECK(first_analysis(seeds, fresh) == 8);
  CHECK(last_analysis(seeds, fresh) == 30);
  CHECK(first_analysis(seeds, {{30}, 1, {8, 12, 16}}) == 16);
  seeds.min = 10;
  CHECK(first_analysis(seeds, fresh) == 12);
  seeds.max = 20;  // below what was declared: the last at or below it
  CHECK(last_analysis(seeds, fresh) == 16);
  CHECK(last_analysis(seeds, {{30}, 1, {8, 24}}) == 24);
}

TEST_CASE("a sequential design is read with the seeds of its first analysis") {
  Study study = study_of(design(R"({"until": "settled", "min": 9, "first": 5})"));
  take_first_seeds(study);
  CHECK(study.seeds.size() == 12);
  CHECK(study.seeds.front() == 5);
  Study fixed = study_of(design("3"));
  take_first_seeds(fixed);
  CHECK(fixed.seeds.size() == 3);
}

TEST_CASE("a new directory declares the design, and one with a record goes on with it") {
  const ScratchDirectory scratch;
  Pretending engine(alike);
  const auto fresh = record_to_go_on(study_of(design(kAuto)), scratch.path());
  REQUIRE(fresh);
  CHECK(fresh->maxima == std::vector<std::size_t>{16});
  CHECK(fresh->comparisons == 1);
  CHECK(fresh->sample_sizes.empty());
  const auto trained = train(design(kAuto), request_of(scratch, engine));
  CHECK(trained.plan.study.sequential->sample_sizes == std::vector<std::size_t>{8, 12, 16});
  const auto raised = record_to_go_on(study_of(design(R"({"until": "settled", "max": 40})")), scratch.path());
  CHECK(raised->maxima == std::vector<std::size_t>{16, 40});
  CHECK(raised->sample_sizes == std::vector<std::size_t>{8, 12, 16});
  CHECK_FALSE(has_come_further(trained.plan));
  auto behind = trained.plan;
  behind.study.sequential->sample_sizes.pop_back();
  CHECK(has_come_further(behind));
}

TEST_CASE("another question than that of the interim analyses is refused with what differs") {
  const ScratchDirectory scratch;
  Pretending engine(alike);
  train(design(kAuto), request_of(scratch, engine));
  CHECK(refusal(design(kAuto, "val/accuracy"), scratch).find("compare.metric: \"val/loss\" → \"val/accuracy\"") != std::string::npos);
  CHECK(refusal(design(R"({"until": "settled", "max": 16, "first": 3})"), scratch).find("seeds.first: 0 → 3") != std::string::npos);
  CHECK(refusal(design("20"), scratch).find("adds seeds until decided") != std::string::npos);
}

TEST_CASE("seeds of a fixed number leave no error for interim analyses") {
  const ScratchDirectory scratch;
  Pretending engine(alike);
  train(design("6"), request_of(scratch, engine));
  CHECK_FALSE(record_to_go_on(study_of(design("9")), scratch.path()));
  CHECK(refusal(design(kAuto), scratch).find("was declared with 6 seeds") != std::string::npos);
}

TEST_CASE("interim analyses whose record is lost are not repeated") {
  const ScratchDirectory scratch;
  Pretending engine(alike);
  train(design(kAuto), request_of(scratch, engine));
  std::filesystem::remove(study_file_path(scratch.path() / "s"));
  const auto lost = message_of<DataError>([&] { record_to_go_on(study_of(design(kAuto)), scratch.path()); });
  CHECK(lost.find("used up of the error") != std::string::npos);
}
