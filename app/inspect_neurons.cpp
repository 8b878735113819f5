// Neurons of a run as text for the terminal: a layer's, and one with its examples.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "inspect_text.hpp"

namespace ffn::app {

using namespace inspect;

namespace {

constexpr std::size_t kShownNeurons = 8;

std::string without_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// Its size as a height; a stroke for values clearly below 0.
std::string activation_bar(double x, double peak) {
  const double share = peak > 0 ? x / peak : 0;
  return share <= -1.0 / 16 ? "−" : share_bar(share);
}

std::string prefix_text(const Example& example, std::size_t most) {
  std::string out;
  for (std::size_t k = example.names.size() - std::min(most, example.names.size()); k < example.names.size(); ++k)
    out += visible(example.names[k]);
  return out;
}

// The neurons that write most in a block, over all its experts.
std::vector<std::pair<std::size_t, std::int64_t>> writers_of(const BlockReport& block) {
  std::vector<std::pair<std::size_t, std::int64_t>> out;
  for (std::size_t part = 0; part < block.hidden.size(); ++part) {
    for (const auto n : strongest_writers(block.hidden[part], kShownNeurons)) out.emplace_back(part, n);
  }
  const auto written = [&](const auto& which) {
    const auto& report = block.hidden[which.first];
    return report.finite ? report.neurons[static_cast<std::size_t>(which.second)].writes() : 0;
  };
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return written(a) > written(b); });
  out.resize(std::min(kShownNeurons, out.size()));
  return out;
}

}  // namespace

void print_neurons(const Inspection& i, const CommonOptions& common) {
  for (std::size_t b = 0; b < i.blocks.size(); ++b) {
    Table table({{"neuron", Align::left},
                 {"fires", Align::right},
                 {"writes", Align::right},
                 {"cos", Align::right},
                 {"towards", Align::left},
                 {"away from", Align::left},
                 {"strongest on", Align::left}});
    for (const auto& [part, n] : writers_of(i.blocks[b])) {
      const auto& neuron = i.blocks[b].hidden[part].neurons[static_cast<std::size_t>(n)];
      const auto top = examples_of(i.values[b].hidden[part], n, i.inputs, {1, 0, 24}).top;
      table.add_row(
          {neuron_name(i, b, part, n), format_share(neuron.fires), shown_number(neuron.writes(), 2), cosine_text(neuron.cosine),
           classes_text(neuron.towards, i.inputs, i.inputs.shape.num_classes > 3 ? 2 : 1), classes_text(neuron.against, i.inputs, 1),
           top.empty() || !i.blocks[b].hidden[part].finite ? "-" : prefix_text(top[0], 12) + "  " + shown_number(top[0].activation, 2)});
    }
    const auto& parts = i.blocks[b].hidden;
    const bool known = std::all_of(parts.begin(), parts.end(), [](const HiddenReport& part) { return part.finite; });
    print_heading((known ? "The " : "The first ") + std::to_string(table.num_rows()) + " neurons of block " + std::to_string(b) +
                  (known ? " that write most" : ""));
    print_table(table, common);
  }
  print_paragraph(std::string("writes: mean |h| · ‖value‖") + (is_mixture(i) ? " over all tokens, 0 on those of other experts" : "") +
                  "; towards, away from: " + i.inputs.output_word() +
                  " that the value vector adds by the head; strongest on: the token with the largest "
                  "activation, behind what stands before it, and that activation.");
}

void print_patterns(const Inspection& i) {
  constexpr std::size_t kMostRows = 16;
  if (i.kinds.names.empty() || i.kinds.names.size() > kMostRows) return;
  std::size_t widest = 0;
  for (const auto& name : i.kinds.names) widest = std::max(widest, display_width(name));
  const int width = terminal_width_of(1);
  const auto room = static_cast<std::size_t>(width <= 0 ? 64 : std::max(8, width - static_cast<int>(widest) - 2));
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& r) {
    const auto patterns = patterns_of(i.values[b].hidden[part], i.kinds, kMostRows, room);
    if (patterns.kinds.empty() || r.dead == r.width) return;
    print_heading("Input × neuron, block " + part_name(i, b, part) +
                  (patterns.neurons.size() < static_cast<std::size_t>(r.width)
                       ? ", the " + std::to_string(patterns.neurons.size()) + " neurons that differ most"
                       : "") +
                  ": mean activations");
    double peak = 0;
    for (const double x : patterns.mean) peak = std::max(peak, std::abs(x));
    for (std::size_t k = 0; k < patterns.kinds.size(); ++k) {
      const auto& name = i.kinds.names[static_cast<std::size_t>(patterns.kinds[k])];
      std::string bars = name + std::string(widest - display_width(name) + 2, ' ');
      for (std::size_t n = 0; n < patterns.neurons.size(); ++n)
        bars += activation_bar(patterns.mean[k * patterns.neurons.size() + n], peak);
      std::cout << without_end(bars) << "\n";
    }
    print_paragraph("█ is " + format_significant(peak, 2) + "; − is below 0.");
  });
}

namespace {

void print_examples(const std::string& title, const std::vector<Example>& examples, double peak) {
  if (examples.empty()) return;
  print_heading(title);
  for (const auto& example : examples) {
    const bool single = example.names.size() == 1;
    std::string text, bars;
    for (std::size_t k = 0; k < example.names.size(); ++k) {
      const auto name = example.names[k] == " " ? " " : visible(example.names[k]);
      text += name;
      const auto x = static_cast<double>(example.along[k]);
      const std::string mark = std::isfinite(x) ? activation_bar(x, peak) : " ";
      bars += mark + std::string(display_width(name) - 1, ' ');
    }
    const std::string number = shown_number(example.activation, 3);
    const std::string indent(display_width(number) < 9 ? 9 - display_width(number) : 1, ' ');
    std::cout << indent << number << "  " << text << "\n";
    if (!single) std::cout << without_end(std::string(11, ' ') + bars) << "\n";
  }
}

}  // namespace

void print_neuron(const Inspection& i, const std::string& name) {
  const auto [b, part, n] = find_neuron(i, name);
  const auto& report = i.blocks[b].hidden[part];
  const auto& neuron = report.neurons[static_cast<std::size_t>(n)];
  const auto& rows = i.values[b].hidden[part];
  for (const auto& note : i.notes) print_paragraph("note: " + note);
  print_paragraph("Neuron " + name + ": fires on " + format_share(neuron.fires) + " of " + format_count(report.tokens) + " tokens" +
                  (neuron.dead ? " (dead)" : "") + ", largest |h| " + shown_number(neuron.peak) + ", ‖key‖ " +
                  shown_number(neuron.key_norm, 3) + (rows.gated() ? " (gate), ‖up‖ " + shown_number(neuron.up_norm, 3) : "") +
                  ", ‖value‖ " + format_significant(neuron.value_norm, 3) + ", cos(key, value) " + cosine_text(neuron.cosine) + ".");
  if (neuron.reads_out())
    print_paragraph("Its value writes towards " + classes_text(neuron.towards, i.inputs, 5) + "; away from " +
                    classes_text(neuron.against, i.inputs, 5) + ".");
  if (rows.gated())
    print_paragraph("gate+ up+ " + format_share(neuron.signs[0]) + ", gate+ up− " + format_share(neuron.signs[1]) + ", gate− up+ " +
                    format_share(neuron.signs[2]) + ", gate− up− " + format_share(neuron.signs[3]) + " of tokens.");
  if (!report.finite) return;
  const auto examples = examples_of(rows, neuron.index, i.inputs);
  print_examples("Strongest", examples.top, neuron.peak);
  print_examples("At the quantiles 0.9, 0.75, 0.5 and 0.25 of what it fires on", examples.middle, neuron.peak);
  print_examples("Drawn at random", examples.random, neuron.peak);
  if (i.inputs.shape.tokens) print_paragraph("\nUnder each character the neuron's activation there, █ being its largest; − is below 0.");
}

}  // namespace ffn::app
