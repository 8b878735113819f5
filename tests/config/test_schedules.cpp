// Learning-rate schedules against values by hand.
#include <cmath>

#include "ffn/config/train_config.hpp"
#include "support/catch_plain.hpp"
#include "support/choices.hpp"

using namespace ffn;

TEST_CASE("a constant schedule rises linearly to 1 and stays") {
  const ConstantSchedule schedule{4};
  const double expected[] = {0.25, 0.5, 0.75, 1, 1, 1};
  for (int step = 0; step < 6; ++step) CHECK(schedule_factor(schedule, step, 100) == expected[step]);
  CHECK(schedule_factor(schedule, 99, 100) == 1);
  CHECK(schedule_factor(ConstantSchedule{}, 0, 100) == 1);
}

TEST_CASE("a cosine schedule goes from 1 to its final fraction in half a cosine") {
  const CosineSchedule schedule{10, 0.1};
  CHECK(schedule_factor(schedule, 0, 110) == 0.1);
  CHECK(schedule_factor(schedule, 4, 110) == 0.5);
  CHECK(schedule_factor(schedule, 9, 110) == 1);
  CHECK(schedule_factor(schedule, 10, 110) == 1);
  CHECK(schedule_factor(schedule, 35, 110) == Approx(0.1 + 0.45 * (1 + std::sqrt(0.5))).epsilon(1e-14));        // a quarter
  CHECK(schedule_factor(schedule, 60, 110) == Approx(0.55).epsilon(1e-14));                                     // half way
  CHECK(schedule_factor(schedule, 109, 110) == Approx(0.1 + 0.45 * (1 - 0.99950656036573156)).epsilon(1e-14));  // cos(0.99 π)
  CHECK(schedule_factor(schedule, 110, 110) == Approx(0.1).epsilon(1e-14));
  CHECK(schedule_factor(schedule, 1000, 110) == Approx(0.1).epsilon(1e-14));
  CHECK(schedule_factor(CosineSchedule{0, 0}, 50, 100) == Approx(0.5).epsilon(1e-14));
}

TEST_CASE("a WSD schedule warms up, stays, and decays linearly over its last part") {
  const WsdSchedule schedule{10, 0.2, 0.1};
  CHECK(schedule_factor(schedule, 0, 100) == 0.1);
  CHECK(schedule_factor(schedule, 9, 100) == 1);
  CHECK(schedule_factor(schedule, 50, 100) == 1);
  CHECK(schedule_factor(schedule, 80, 100) == 1);  // 20 steps left, all of them decay
  CHECK(schedule_factor(schedule, 90, 100) == Approx(0.1 + 0.9 * 0.5).epsilon(1e-14));
  CHECK(schedule_factor(schedule, 99, 100) == Approx(0.1 + 0.9 * 0.05).epsilon(1e-14));
  CHECK(schedule_factor(schedule, 100, 100) == Approx(0.1).epsilon(1e-14));
  CHECK(schedule_factor(WsdSchedule{0, 0, 0}, 99, 100) == 1);  // nothing to decay over
  CHECK(schedule_factor(WsdSchedule{0, 1, 0}, 25, 100) == 0.75);
}

TEST_CASE("a schedule stays between 0 and 1 whatever its lengths") {
  for (const std::int64_t warmup : {0, 1, 5, 1000}) {
    for (const std::int64_t total : {1, 2, 10}) {
      std::vector<ScheduleConfig> schedules{CosineSchedule{warmup, 0}, WsdSchedule{warmup, 0.5, 0}};
      test::each_alternative(ScheduleConfig{}, [&](auto schedule) {
        schedule.warmup_steps = warmup;
        schedules.emplace_back(schedule);
      });
      for (const auto& schedule : schedules) {
        for (std::int64_t step = 0; step <= total; ++step) {
          const double factor = schedule_factor(schedule, step, total);
          CHECK((factor >= 0 && factor <= 1));
        }
        CHECK(schedule_factor(schedule, 0, total) > 0);  // the first step moves
      }
    }
  }
}

TEST_CASE("a target is reached from its own side, and never by NaN") {
  TargetConfig high, low;
  high.at_least = 0.9;
  low.at_most = 0.1;
  CHECK(high.reached(0.9));
  CHECK(!high.reached(0.899));
  CHECK(low.reached(0.1));
  CHECK(!low.reached(0.101));
  CHECK(!high.reached(std::nan("")));
  CHECK(!low.reached(std::nan("")));
}
