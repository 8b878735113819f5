#include "ffn/inspect/figures.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/suggest.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/matrix.hpp"
#include "ffn/report/series.hpp"

namespace ffn::inspect {

using pictures::Figure;
using pictures::Form;
using pictures::MatrixPicture;

std::string part_title(const Inspection& i, std::size_t block, std::size_t part) {
  return "Block " + std::to_string(block) + (i.blocks[block].routing ? ", expert " + std::to_string(part) : "");
}

namespace {

// Drawn narrow where it has one panel alone, too.
Figure narrow_figure(std::string id, std::string heading, std::string reading) {
  Figure out;
  out.id = std::move(id);
  out.heading = std::move(heading);
  out.reading = std::move(reading);
  out.wide = false;
  return out;
}

void add_panel(Figure& figure, const std::string& title, MatrixPicture picture) {
  figure.panels.push_back({title, [picture = std::move(picture)](const Form& form, const std::string& style) {
                             return pictures::draw_matrix(picture, form, style);
                           }});
}

void add_if_any(std::vector<Figure>& out, Figure figure) {
  if (figure.panels.empty()) return;
  pictures::keep_most_panels(figure.panels, figure.notes, "--json has the numbers of all");
  out.push_back(std::move(figure));
}

pictures::Axis axis_of_counts(const std::vector<double>& counts) {
  pictures::Axis axis = pictures::axis_for(counts, pictures::AxisKind::linear, /*with_zero=*/true);
  axis.whole = true;
  return axis;
}

std::string draw_rates(const HiddenReport& report, const std::string& title, const Form& form, const std::string& style) {
  std::vector<double> counts(report.rates.begin(), report.rates.end());
  pictures::Frame frame(form,
                        {"How often the neurons of " + title + " fire",
                         format_count(report.width) + " neurons; " + format_count(report.dead) + " are dead, " +
                             format_count(report.always_on) + " fire on every token.",
                         "share of tokens, %", "neurons"},
                        {0, 100}, axis_of_counts(counts), {180});
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    const double from = 100.0 * static_cast<double>(bin) / kRateBins, to = 100.0 * static_cast<double>(bin + 1) / kRateBins,
                 top = frame.y.at(counts[bin]);
    const std::string tip = format_count(report.rates[bin]) + " neurons fire on " + format_significant(from, 2) + " to " +
                            format_significant(to, 3) + " % of tokens";
    frame.svg.rect(frame.x.at(from) + 1, top, frame.x.at(to) - frame.x.at(from) - 2, frame.y.at(0) - top, "s s0",
                   "fill=\"currentColor\" data-tip=\"" + tip + "\"");
  }
  return frame.svg.element(style);
}

Figure rates_figure(const Inspection& i) {
  Figure out = narrow_figure(
      "rates", "How often neurons fire",
      "Bars count neurons by the share of tokens on which their pre-activation (the gate's in a gated layer) is above 0; those far left "
      "are all but dead, those far right all but linear.");
  out.numbers.headers = {"", "from", "to", "neurons"};
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& report) {
    if (report.tokens == 0 || !report.finite) return;
    const auto title = part_title(i, b, part);
    out.panels.push_back(
        {title, [&report, title](const Form& form, const std::string& style) { return draw_rates(report, title, form, style); }});
    for (std::size_t bin = 0; bin < kRateBins; ++bin) {
      const auto edge = [](std::size_t n) { return pictures::number_cell(static_cast<double>(n) / kRateBins); };
      out.numbers.rows.push_back({{title}, edge(bin), edge(bin + 1), pictures::count_cell(static_cast<double>(report.rates[bin]))});
    }
  });
  return out;
}

constexpr std::size_t kMostKinds = 40, kMostNeurons = 80, kKindsOfExperts = 24, kNeuronsOfExperts = 64;  // experts are many

MatrixPicture patterns_picture(const Inspection& i, std::size_t b, std::size_t part) {
  const bool expert = i.blocks[b].routing.has_value();
  const auto patterns =
      patterns_of(i.values[b].hidden[part], i.kinds, expert ? kKindsOfExperts : kMostKinds, expert ? kNeuronsOfExperts : kMostNeurons);
  MatrixPicture picture;
  picture.title = "Mean activations, " + part_title(i, b, part);
  picture.description = format_count(patterns.kinds.size()) + " inputs by " + format_count(patterns.neurons.size()) + " neurons.";
  const bool all = patterns.neurons.size() == static_cast<std::size_t>(i.blocks[b].hidden[part].width);
  picture.column_label = all ? "neuron" : "neuron, the " + std::to_string(patterns.neurons.size()) + " that differ most between rows";
  for (const auto kind : patterns.kinds) picture.rows.push_back(i.kinds.names[static_cast<std::size_t>(kind)]);
  for (const auto n : patterns.neurons) picture.columns.push_back(std::to_string(n));
  picture.num_rows = picture.rows.size();
  picture.num_columns = picture.columns.size();
  picture.values = patterns.mean;
  return picture;
}

Figure patterns_figure(const Inspection& i) {
  Figure out;
  out.id = "patterns";
  out.heading = "Input × neuron";
  const bool last_tokens = i.inputs.shape.tokens;
  const std::size_t most = is_mixture(i) ? kKindsOfExperts : kMostKinds;
  out.reading = std::string("A row is ") +
                (!last_tokens              ? "an input"
                 : i.kinds.tokens_each > 1 ? "what the last tokens are"
                                           : "a character") +
                ", a column a neuron, a cell the neuron's mean activation there: blue above 0, orange below. Neurons stand by the row on "
                "which they are strongest." +
                (i.kinds.names.size() > most ? " Drawn are the " + std::to_string(most) + " most frequent rows." : std::string());
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport&) {
    if (auto picture = patterns_picture(i, b, part); picture.num_rows > 0) add_panel(out, part_title(i, b, part), std::move(picture));
  });
  return out;
}

std::string draw_loads(const RoutingReport& routing, const std::string& title, const Form& form, const std::string& style) {
  std::vector<double> loads;
  for (const auto& expert : routing.experts) loads.push_back(100 * expert.load);
  const auto count = static_cast<double>(loads.size());
  pictures::Frame frame(
      form,
      {"Shares of the experts, " + title,
       "Even is " + format_percent(1 / count) + "; the largest is " + format_percent(routing.max_violation, 0) + " above it.", "expert",
       "share of assignments, %"},
      {-0.5, count - 0.5}, pictures::axis_for(loads, pictures::AxisKind::linear, /*with_zero=*/true), {180});
  for (std::size_t e = 0; e < loads.size(); ++e) {
    const double middle = static_cast<double>(e), left = frame.x.at(middle - 0.4), top = frame.y.at(loads[e]);
    frame.svg.rect(left, top, frame.x.at(middle + 0.4) - left, frame.y.at(0) - top, "s s0",
                   "fill=\"currentColor\" data-tip=\"expert " + std::to_string(e) + ": " + format_percent(loads[e] / 100) + "\"");
  }
  const double even = frame.y.at(100 / count);
  frame.svg.line(frame.left, even, frame.right, even, "zero");
  return frame.svg.element(style);
}

Figure loads_figure(const Inspection& i) {
  Figure out =
      narrow_figure("loads", "How much each expert gets", "Bars are shares of all (token, choice) pairs; the line is an even share.");
  for_each_router(i, [&](std::size_t b, const RoutingReport& routing) {
    const std::string title = "Block " + std::to_string(b);
    out.panels.push_back(
        {title, [&routing, title](const Form& form, const std::string& style) { return draw_loads(routing, title, form, style); }});
  });
  return out;
}

/// A picture for every block with a router.
template <class Picture>
void add_routed_blocks(Figure& figure, const Inspection& i, const Picture& picture_of) {
  for_each_router(i, [&](std::size_t b, const RoutingReport& routing) {
    add_panel(figure, "Block " + std::to_string(b), picture_of(routing, ", block " + std::to_string(b)));
  });
}

bool goes_to_several(const Inspection& i) {
  return std::any_of(i.blocks.begin(), i.blocks.end(), [](const BlockReport& block) { return block.routing && block.routing->top_k > 1; });
}

MatrixPicture of_experts(const RoutingReport& routing, const std::string& title) {
  MatrixPicture picture;
  picture.title = title;
  picture.num_rows = routing.experts.size();
  picture.row_label = "expert";
  for (std::size_t e = 0; e < routing.experts.size(); ++e) picture.rows.push_back(std::to_string(e));
  return picture;
}

Figure positions_figure(const Inspection& i) {
  Figure out = narrow_figure(
      "positions", "Which positions go to which expert",
      "A row is an expert, a column a position in the window; the stronger the shade, the larger the share of the position's tokens that "
      "goes to that expert.");
  if (i.inputs.length < 2) return out;
  add_routed_blocks(out, i, [&](const RoutingReport& routing, const std::string& of_block) {
    auto picture = of_experts(routing, "Positions by expert" + of_block);
    picture.description = format_count(routing.num_experts) + " experts by " + format_count(i.inputs.length) + " positions.";
    picture.num_columns = static_cast<std::size_t>(i.inputs.length);
    picture.column_label = "position";
    for (const auto& expert : routing.experts)
      picture.values.insert(picture.values.end(), expert.by_position.begin(), expert.by_position.end());
    return picture;
  });
  return out;
}

Figure together_figure(const Inspection& i) {
  Figure out = narrow_figure("together", "Which experts go together",
                             "A cell is the share of tokens that go to both experts; on the diagonal, to that one.");
  if (!goes_to_several(i)) return out;
  add_routed_blocks(out, i, [](const RoutingReport& routing, const std::string& of_block) {
    auto picture = of_experts(routing, "Experts together" + of_block);
    picture.description = "Shares of tokens by pairs of experts.";
    picture.columns = picture.rows;
    picture.num_columns = picture.num_rows;
    picture.values = routing.together;
    picture.column_label = "expert";
    return picture;
  });
  return out;
}

Figure attention_figure(const Inspection& i) {
  Figure out = narrow_figure("attention", "Attention",
                             "Mean weights over the inputs: a row is a position that looks, a column one that it looks at.");
  for (std::size_t b = 0; b < i.blocks.size(); ++b) {
    const auto& attention = i.values[b].attention;
    const auto length = static_cast<std::size_t>(attention.length), square = length * length;
    for (std::size_t h = 0; h < i.blocks[b].heads.size(); ++h) {
      const auto& looks_at = i.blocks[b].heads[h].looks_at;
      MatrixPicture picture;
      const std::string title = "Block " + std::to_string(b) + ", head " + std::to_string(h);
      picture.title = title + ", mean attention";
      picture.description = looks_at.empty()
                                ? ""
                                : "Most at " + (looks_at[0].offset == 0 ? "itself" : std::to_string(looks_at[0].offset) + " from itself") +
                                      ", " + format_percent(looks_at[0].share, 0) + ".";
      picture.num_rows = picture.num_columns = length;
      picture.tall = true;
      picture.column_label = "position looked at →";
      const auto first = attention.mean.begin() + static_cast<std::ptrdiff_t>(h * square);
      picture.values.assign(first, first + static_cast<std::ptrdiff_t>(square));
      add_panel(out, title, std::move(picture));
    }
  }
  return out;
}

Figure heads_figure(const Trace& trace, std::size_t b) {
  Figure out =
      narrow_figure("heads-" + std::to_string(b), trace.blocks.size() > 1 ? "Attention of block " + std::to_string(b) : "Attention",
                    "A row is a token that looks, a column one that it looks at, a cell how much; each row adds up to 1.");
  for (const auto& head : trace.blocks[b].attention) {
    MatrixPicture picture;
    picture.title = "Attention, " + head.name;
    picture.description = head.meaning + ".";
    picture.rows = picture.columns = head.rows;
    picture.num_rows = picture.num_columns = head.rows.size();
    picture.values = head.values;
    picture.peak = 1;
    add_panel(out, head.name, std::move(picture));
  }
  return out;
}

}  // namespace

InspectionFigures figures_of(const Inspection& i) {
  InspectionFigures out;
  add_if_any(out.of_experts, loads_figure(i));
  add_if_any(out.of_experts, positions_figure(i));
  add_if_any(out.of_experts, together_figure(i));
  add_if_any(out.of_neurons, rates_figure(i));
  add_if_any(out.of_neurons, patterns_figure(i));
  add_if_any(out.of_attention, attention_figure(i));
  return out;
}

std::vector<Figure> figures_of(const Trace& trace) {
  std::vector<Figure> out;
  for (std::size_t b = 0; b < trace.blocks.size(); ++b) {
    const auto& block = trace.blocks[b];
    Figure figure = narrow_figure(
        "steps-" + std::to_string(b), trace.blocks.size() > 1 ? "Block " + std::to_string(b) : "Step by step",
        "Each row is a token and goes its way by itself; blue is above 0, orange below, the stronger the further from it, on a scale for "
        "each step." +
            (block.routes.empty() ? std::string() : " " + join(block.routes, "; ") + "."));
    figure.numbers.headers = {"step", "row", "values"};
    for (const auto& step : block.steps) {
      const auto width = static_cast<std::size_t>(step.width);
      MatrixPicture picture;
      picture.title = step.name;
      picture.description = step.meaning + ", " + format_count(step.rows.size()) + " rows of " + format_count(step.width) + " numbers.";
      picture.rows = step.rows;
      picture.num_rows = step.rows.size();
      picture.num_columns = width;
      picture.values = step.values;
      add_panel(figure, step.meaning + ": " + step.name + "  (" + std::to_string(step.rows.size()) + ", " + std::to_string(width) + ")",
                std::move(picture));
      for (std::size_t r = 0; r < step.rows.size(); ++r) {
        std::vector<std::string> numbers;
        for (std::size_t k = 0; k < width; ++k) numbers.push_back(shown_number(step.values[r * width + k]));
        figure.numbers.rows.push_back({{step.name}, {step.rows[r]}, {join(numbers, " ")}});
      }
    }
    add_if_any(out, std::move(figure));
    add_if_any(out, heads_figure(trace, b));
  }
  return out;
}

}  // namespace ffn::inspect
