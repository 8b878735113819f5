"""A metric: a row, what it is, and what it is by other means."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/metrics.hpp", before="inline constexpr MetricRow kValBitsPerChar{", text='''\
inline constexpr MetricRow kValError{"val/error", false, LoggedBy::every_run, "1 - val/accuracy"};
'''),
    Part("lib/ffn/config/metrics.cpp", after="metric::kValAccuracy, ", text="metric::kValError, "),
    Part("lib/ffn/train/trainer.cpp", after="  add(metric::kValAccuracy, score.accuracy);\n", text="  add(metric::kValError, 1 - score.accuracy);\n",
         forgotten=("test_train: a run logs the metrics that the catalogue says it does, in that order",
                    "Trainer::metrics_of and metric_catalogue() have the same metrics")),
    Part("tests/train/test_metrics_torch.cpp", before="    if (std::holds_alternative<TextConfig>(config_.task)) {\n", text='''\
    out["val/error"] = (loss.scored.item<double>() - loss.correct.item<double>()) / loss.scored.item<double>();
'''),
]
