"""A schedule of the learning rate."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/train_config.hpp", before="using ScheduleConfig = std::variant<", text='''\
struct LinearSchedule {
  static constexpr const char* kKind = "linear";
  static constexpr const char* kDoc = "Linear warm-up, then a straight line down to 0.";
  std::int64_t warmup_steps = 0;
  void describe(FieldVisitor& v);
};

'''),
    Part("lib/ffn/config/train_config.hpp", after="using ScheduleConfig = std::variant<ConstantSchedule, CosineSchedule, WsdSchedule", text=", LinearSchedule"),
    Part("lib/ffn/config/train_config.cpp", before="double factor(const WsdSchedule& s, std::int64_t step, std::int64_t total) {\n",
         forgotten=("lib/ffn/config/train_config.cpp", "LinearSchedule"), text='''\
double factor(const LinearSchedule& s, std::int64_t step, std::int64_t total) {
  if (step < s.warmup_steps) return warmup_factor(step, s.warmup_steps);
  return std::max(0.0, static_cast<double>(total - step) / static_cast<double>(std::max<std::int64_t>(1, total - s.warmup_steps)));
}

'''),
    Part("lib/ffn/config/train_config.cpp", after="void ConstantSchedule::describe(FieldVisitor& v) { describe_warmup(v, warmup_steps); }\n",
         text="void LinearSchedule::describe(FieldVisitor& v) { describe_warmup(v, warmup_steps); }\n"),
]
