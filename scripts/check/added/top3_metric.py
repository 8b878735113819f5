"""A metric of what a classifier puts out: a row and its function, for both engines."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/metrics.cpp", before="const std::vector<OutputMetric>& output_metrics() {", text='''\
// 1 if fewer than three classes have a larger output.
double in_top_3(const float* outputs, std::int64_t classes, std::int64_t label) {
  return std::count_if(outputs, outputs + classes, [&](float other) { return other > outputs[label]; }) < 3;
}

'''),
    Part("lib/ffn/config/metrics.cpp", after="static const std::vector<OutputMetric> rows{",
         text='{{"val/top3_accuracy", true, LoggedBy::class_tasks, "share whose right class is among the 3 most probable", 0, 1}, in_top_3}'),
    Part("tests/train/test_metrics_torch.cpp", before="    if (std::holds_alternative<TextConfig>(config_.task)) {\n", text='''\
    const auto classes = outputs.size(-1);
    const torch::Tensor labels = test::as_double(set.labels), top = std::get<1>(outputs.topk(std::min<std::int64_t>(3, classes)));
    const torch::Tensor hits = top.eq(labels.unsqueeze(-1)).any(-1).logical_and(labels.ge(0));
    out["val/top3_accuracy"] = hits.sum().item<double>() / loss.scored.item<double>();
'''),
]
