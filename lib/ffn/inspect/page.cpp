#include "ffn/inspect/page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "ffn/base/text.hpp"
#include "ffn/inspect/inspection_json.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/html.hpp"
#include "ffn/report/style.hpp"

namespace ffn::inspect {

using report::Cell;
using report::escaped;
using report::html_numbers;
using report::Numbers;
using report::paragraph;

namespace {

std::string part_title(const Inspection& i, std::size_t block, std::size_t part) {
  return "Block " + std::to_string(block) + (i.blocks[block].routing ? ", expert " + std::to_string(part) : "");
}

constexpr int kShades = 10;                                // either way: of text, in which fewer are told apart
constexpr std::size_t kNeuronsShown = 12;                  // with their examples, per hidden layer
constexpr std::size_t kOfExperts = 3, kOfAllExperts = 48;  // likewise, per expert and together, but one of each
constexpr std::size_t kMostRows = 512;                     // of the table of neurons

std::string section(const std::string& id, const std::string& heading, const std::string& reading, const std::string& body) {
  return "<section id=\"" + id + "\"><h2>" + escaped(heading) + "</h2>\n" + paragraph(reading, "reading") + body + "</section>\n";
}

// Shaded by the classes of ffn/pictures, and below 0 underlined: colour does not say it alone.
constexpr const char* kRules =
    ".on{font-family:ui-monospace,\"DejaVu Sans Mono\",monospace;white-space:pre}.on b{font-weight:400}.on "
    "b[class^=n]{text-decoration:underline}.examples td{border:0;padding:1px 14px 1px 0;white-space:nowrap}"
    ".neurons{display:flex;flex-wrap:wrap;gap:18px 28px;margin-top:12px}.neuron{flex:0 1 420px;min-width:0}.neuron h3{margin:0}";

std::string shaded(const Example& example, double peak) {
  std::string out;
  for (std::size_t k = 0; k < example.names.size(); ++k) {
    const double share = peak > 0 && std::isfinite(example.along[k]) ? static_cast<double>(example.along[k]) / peak : 0;
    const int level = static_cast<int>(std::lround(share * kShades)) * report::kShadeLevels / kShades;
    const std::string text = escaped(visible(example.names[k]));
    out += level == 0 ? text : std::string("<b class=") + report::shade_class(level) + ">" + text + "</b>";
  }
  return out;
}

// Sort key of table cells, with one digit more than is shown: all digits of all neurons would double the page.
double short_value(double x) { return std::copysign(std::strtod(format_significant(std::abs(x), 4).c_str(), nullptr), x); }

Cell percent_cell(double share) { return std::isfinite(share) ? Cell{format_share(share), short_value(share)} : Cell{"-"}; }
Cell signed_cell(double x) { return std::isfinite(x) ? Cell{shown_number(x), short_value(x)} : Cell{"-"}; }

Cell count_of(const HiddenReport& report, std::int64_t neurons) {
  return report.finite ? report::count_cell(static_cast<double>(neurons)) : Cell{"-"};
}

std::string layers_section(const Inspection& i) {
  Numbers numbers{
      {"", "tokens", "neurons", "zeros", "near zero", "fire", "dead", "always on", "effective rank", "of tokens", "agreement", "by chance"},
      {}};
  bool gated = false;
  for_each_part(i, [&](std::size_t, std::size_t, const HiddenReport& r) { gated = gated || r.gated; });
  if (gated) numbers.headers.insert(numbers.headers.end(), {"gate near zero", "up near zero"});
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& r) {
    numbers.rows.push_back({{part_title(i, b, part)},
                            report::count_cell(static_cast<double>(r.tokens)),
                            report::count_cell(static_cast<double>(r.width)),
                            percent_cell(r.zeros),
                            percent_cell(r.near_zeros),
                            percent_cell(r.fires),
                            count_of(r, r.dead),
                            count_of(r, r.always_on),
                            signed_cell(r.effective_rank),
                            r.finite ? report::count_cell(static_cast<double>(r.rank_tokens)) : Cell{"-"},
                            r.agreement ? percent_cell(r.agreement->share) : Cell{"-"},
                            r.agreement ? percent_cell(r.agreement->by_chance) : Cell{"-"}});
    if (gated) {
      numbers.rows.back().push_back(percent_cell(r.gate_near_zeros));
      numbers.rows.back().push_back(percent_cell(r.up_near_zeros));
    }
  });
  if (numbers.rows.empty()) return "";
  return section("layers", "Hidden layers",
                 "Zeros are activations h that are exactly 0; near zero is |h| below " + format_significant(kNearZero, 1) +
                     " of the layer's root mean square; a neuron fires where its pre-activation (the gate's in a gated layer) is above 0, "
                     "is dead where it is near zero on every token, "
                     "always on where it fires on every token. The effective rank is exp of the entropy of the singular values of h, not "
                     "centred (Roy and Vetterli 2007), over as many tokens as stand beside it, which it cannot be above. Agreement: of a "
                     "text, neurons whose value favours the very token that follows where the key is strongest (Geva et al. 2021).",
                 html_numbers(numbers));
}

/// Below which a neuron is left out of the table.
double least_writing(const Inspection& i) {
  std::vector<double> all;
  for_each_part(i, [&](std::size_t, std::size_t, const HiddenReport& r) {
    for (const auto& n : r.neurons) all.push_back(r.finite ? n.writes() : 0);
  });
  if (all.size() <= kMostRows) return -1;
  std::nth_element(all.begin(), all.begin() + (kMostRows - 1), all.end(), std::greater<>());
  return all[kMostRows - 1];
}

std::string neurons_section(const Inspection& i) {
  Numbers numbers{{"neuron", "fires", "mean |h|", "largest |h|", "‖key‖", "‖value‖", "cos", "writes", "towards", "away from"}, {}};
  const double least = least_writing(i);
  std::size_t all = 0;
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& r) {
    all += r.neurons.size();
    for (const auto& n : r.neurons) {
      if ((r.finite ? n.writes() : 0) < least || numbers.rows.size() == kMostRows) continue;
      numbers.rows.push_back({{neuron_name(i, b, part, n.index)},
                              percent_cell(n.fires),
                              signed_cell(n.mean_size),
                              signed_cell(n.peak),
                              signed_cell(n.key_norm),
                              signed_cell(n.value_norm),
                              signed_cell(n.cosine),
                              signed_cell(n.writes()),
                              {classes_text(n.towards, i.inputs, 3)},
                              {classes_text(n.against, i.inputs, 3)}});
    }
  });
  if (numbers.rows.empty()) return "";
  const std::string shown = format_count(numbers.rows.size());
  return section(
      "neurons", numbers.rows.size() < all ? "The neurons that write most" : "All neurons",
      "A key is what a neuron reads by, a value what it writes. Writes: mean |h| · ‖value‖ over all tokens, in a mixture 0 on those of "
      "other experts. Towards, away from: " +
          std::string(i.inputs.output_word()) + " that the value adds by the head. A click on a column's name sorts by it." +
          (numbers.rows.size() < all
               ? " These are the " + shown + " of " + format_count(all) + " neurons that write most; ffn-train inspect --json has all."
               : std::string()),
      "<details><summary>" + shown + " neurons</summary><div class=\"sortable\">" + html_numbers(numbers) + "</div></details>\n");
}

std::string examples_rows(const std::string& title, const std::vector<Example>& examples, double peak) {
  if (examples.empty()) return "";
  std::string out = "<tr><th colspan=\"2\" scope=\"colgroup\">" + title + "</th></tr>\n";
  for (const auto& example : examples)
    out += "<tr><td class=\"n\">" + escaped(format_significant(example.activation, 3)) + "</td><td class=\"on\">" + shaded(example, peak) +
           "</td></tr>\n";
  return out;
}

std::string neuron_html(const Inspection& i, std::size_t b, std::size_t part, const NeuronReport& n) {
  const auto& rows = i.values[b].hidden[part];
  const auto examples = examples_of(rows, n.index, i.inputs);
  std::string out = "<div class=\"neuron\"><h3>" + neuron_name(i, b, part, n.index) + "</h3>\n";
  std::string facts = "Fires on " + percent_cell(n.fires).text + " of tokens, ‖key‖ " + shown_number(n.key_norm, 3) + ", ‖value‖ " +
                      format_significant(n.value_norm, 3) + ", cos " + signed_cell(n.cosine).text + ".";
  if (n.reads_out())
    facts += " Writes towards " + classes_text(n.towards, i.inputs, 5) + "; away from " + classes_text(n.against, i.inputs, 5) + ".";
  if (rows.gated())
    facts += " Gate and up: + + " + percent_cell(n.signs[0]).text + ", + − " + percent_cell(n.signs[1]).text + ", − + " +
             percent_cell(n.signs[2]).text + ", − − " + percent_cell(n.signs[3]).text + ".";
  out += paragraph(facts, "meta");
  out += "<div class=\"scroll\"><table class=\"examples\"><tbody>\n" + examples_rows("strongest", examples.top, n.peak) +
         examples_rows("at the quantiles 0.9, 0.75, 0.5, 0.25 of what it fires on", examples.middle, n.peak) +
         examples_rows("at random", examples.random, n.peak) + "</tbody></table></div></div>\n";
  return out;
}

std::string examples_section(const Inspection& i) {
  std::string body;
  std::size_t experts = 0;
  for_each_part(i, [&](std::size_t b, std::size_t, const HiddenReport&) { experts += i.blocks[b].routing ? 1 : 0; });
  const std::size_t of_expert = std::clamp<std::size_t>(kOfAllExperts / std::max<std::size_t>(1, experts), 1, kOfExperts);
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& r) {
    if (r.tokens == 0 || !r.finite) return;
    std::string neurons;
    for (const auto n : strongest_writers(r, i.blocks[b].routing ? of_expert : kNeuronsShown))
      neurons += neuron_html(i, b, part, r.neurons[static_cast<std::size_t>(n)]);
    body += "<details" + std::string(b == 0 && part == 0 ? " open" : "") + "><summary>" + part_title(i, b, part) +
            "</summary><div class=\"neurons\">" + neurons + "</div></details>\n";
  });
  if (body.empty()) return "";
  return section("examples", "What neurons fire on",
                 "The neurons that write most on average (" +
                     std::string(experts > 0 ? std::to_string(of_expert) + " of each expert"
                                             : std::to_string(kNeuronsShown) + " of each layer at most") +
                     "), with the inputs on which each is strongest, and others: the strongest alone mislead. Each token is shaded by the "
                     "neuron's activation on it, blue above 0, orange and underlined below; the number is that on the last one. ␣ is a "
                     "blank, ⏎ the end of a line.",
                 body);
}

std::string experts_section(const Inspection& i) {
  Numbers numbers{{"expert", "share of assignments", "even share", "mean weight", "takes"}, {}};
  std::string text;
  for_each_router(i, [&](std::size_t b, const RoutingReport& routing) {
    text += paragraph("Block " + std::to_string(b) + ": the router's entropy per token is " + format_significant(routing.token_entropy, 3) +
                      " of at most " + format_significant(std::log(static_cast<double>(routing.num_experts)), 3) +
                      " nats; the shares are as even as among " + format_significant(routing.effective_experts, 3) + " of " +
                      format_count(routing.num_experts) + " experts; the largest is " + format_percent(routing.max_violation, 0) +
                      " above an even one" +
                      (i.inputs.length > 1 ? "; the first choice is that of the token before on " + format_percent(routing.repeats, 0) +
                                                 " of tokens, by chance " + format_percent(routing.repeats_by_chance, 0)
                                           : "") +
                      ".");
    for (std::size_t e = 0; e < routing.experts.size(); ++e) {
      std::vector<std::string> takes;
      for (const auto& taken : routing.experts[e].takes)
        takes.push_back(i.kinds.names[static_cast<std::size_t>(taken.kind)] + " " + format_percent(taken.share, 0));
      numbers.rows.push_back({{std::to_string(b) + "." + std::to_string(e)},
                              percent_cell(routing.experts[e].load),
                              percent_cell(1.0 / static_cast<double>(routing.num_experts)),
                              report::number_cell(routing.experts[e].mean_weight),
                              {join(takes, " · ")}});
    }
  });
  if (numbers.rows.empty()) return "";
  return section("experts", "What each expert takes",
                 "Takes: tokens that go to the expert more often than tokens do on average, with the share of theirs that does.",
                 text + html_numbers(numbers));
}

std::string header(const std::string& heading, const PageFacts& facts, const std::string& shown) {
  return "<header><h1>" + escaped(heading + facts.title) + "</h1>\n" + paragraph(facts.layer + " · written " + facts.written, "meta") +
         paragraph(shown, "meta") + "</header>\n";
}

}  // namespace

std::string page(const Inspection& i, const PageFacts& facts) {
  std::string body = header("Inside ", facts, "Shown to it: " + i.inputs.source + ".");
  for (const auto& note : i.notes) body += paragraph("Note: " + note + ".", "note");
  body += report::chart_place("first") + experts_section(i) + layers_section(i) + report::chart_place("charts") + examples_section(i) +
          neurons_section(i);
  return report::html_document("Inside " + facts.title, facts.version, body, drawn_json(i), kRules);
}

std::string trace_page(const Trace& trace, const Inputs& inputs, const PageFacts& facts) {
  std::string body =
      header("Step by step through ", facts,
             format_count(trace.tokens.size()) + (trace.tokens.size() == 1 ? " token: " : " tokens: ") + join(trace.tokens, " "));
  for (const auto& note : trace.notes) body += paragraph("Note: " + note + ".", "note");
  body += report::chart_place("first") + report::chart_place("charts");
  Numbers numbers{{"token", "what the network says"}, {}};
  for (std::size_t n = 0; n < trace.tokens.size(); ++n) numbers.rows.push_back({{trace.tokens[n]}, {join(trace.outcome_names(n, inputs))}});
  body += section("outcome", "What the network says",
                  inputs.shape.target == Target::classes ? "The most probable classes behind each token." : "The outputs for each input.",
                  html_numbers(numbers));
  return report::html_document("Step by step through " + facts.title, facts.version, body, to_json(trace, inputs));
}

}  // namespace ffn::inspect
