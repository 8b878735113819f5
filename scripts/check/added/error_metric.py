"""A metric: a row, what it is, and what it is by other means."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/metrics.hpp", before="inline constexpr MetricRow kValBitsPerChar{", text='''\
inline constexpr MetricRow kValError{"val/error", false, LoggedBy::class_tasks, "1 - val/accuracy"};
'''),
    Part("lib/ffn/config/metrics.cpp", after="kValLoss, kValAccuracy,", text=" kValError,"),
    Part("lib/ffn/train/evaluator.cpp", after="    out.emplace_back(&metric::kValAccuracy, static_cast<double>(sums.correct) / static_cast<double>(sums.scored));\n",
         text="    out.emplace_back(&metric::kValError, static_cast<double>(sums.scored - sums.correct) / static_cast<double>(sums.scored));\n",
         forgotten=("test_train: a run logs the metrics that the catalogue says it does, in that order",
                    "have the same metrics")),
    Part("tests/train/test_metrics_torch.cpp", before="    if (std::holds_alternative<TextConfig>(config_.task)) {\n", text='''\
    out["val/error"] = (loss.scored.item<double>() - loss.correct.item<double>()) / loss.scored.item<double>();
'''),
]
