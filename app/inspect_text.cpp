#include "inspect_text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/shell.hpp"
#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "next_command.hpp"

namespace ffn::app {

using namespace inspect;

namespace {

std::string rate_bars(const HiddenReport& report) {
  if (!report.finite) return "-";
  const auto most = static_cast<double>(*std::max_element(report.rates.begin(), report.rates.end()));
  std::string out;
  for (const auto count : report.rates)
    out += count > 0 ? share_bar(std::max(0.125, static_cast<double>(count) / most)) : "·";  // at a blank a table may break
  return out;
}

const char* part_header(const Inspection& i) { return is_mixture(i) ? "expert" : "block"; }

// The number of tokens behind a rank, its upper bound: " on 256 tokens".
std::string rank_tokens_text(const Inspection& i) {
  std::set<std::int64_t> counts;
  for_each_part(i, [&](std::size_t, std::size_t, const HiddenReport& r) {
    if (r.tokens > 0) counts.insert(r.rank_tokens);
  });
  if (counts.empty()) return "";
  const auto most = *counts.rbegin();
  return " on " + (counts.size() > 1 ? format_count(*counts.begin()) + " to " : "") + format_count(most) +
         (most == 1 ? " token" : " tokens");
}

void print_layers(const Inspection& i, const CommonOptions& common) {
  Table table({{part_header(i), Align::left},
               {"neurons", Align::right},
               {"zeros", Align::right},
               {"near 0", Align::right},
               {"fire", Align::right},
               {"dead", Align::right},
               {"always on", Align::right},
               {"eff. rank", Align::right},
               {"fire rates", Align::left}});
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& r) {
    if (r.tokens == 0) table.add_row({part_name(i, b, part), format_count(r.width), "", "", "", "", "", "", "no tokens"});
    else
      table.add_row({part_name(i, b, part), format_count(r.width), format_share(r.zeros), format_share(r.near_zeros), format_share(r.fires),
                     r.finite ? format_count(r.dead) : "-", r.finite ? format_count(r.always_on) : "-", shown_number(r.effective_rank),
                     rate_bars(r)});
  });
  print_heading("Hidden layers");
  print_table(table, common);
  print_paragraph("zeros: activations h that are exactly 0; near 0: |h| below " + format_significant(kNearZero, 1) +
                  " of the layer's root mean square; fire: the pre-activation is above 0; dead: near 0 on every token; "
                  "always on: fires on every token; eff. rank: exp of the entropy of h's singular values" +
                  rank_tokens_text(i) +
                  "; "
                  "fire rates: neurons by the share of tokens on which they fire, in tenths from 0 to 100 %, · being none.");
}

std::string size_text(double x) { return shown_number(x, 2); }
// "1.2 [0.9, 1.6]"
std::string quantiles(std::vector<double> values, std::string (*text)(double)) {
  if (std::isnan(values[0])) return "-";  // there are no keys
  std::sort(values.begin(), values.end());
  const auto at = [&](double q) { return text(values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))]); };
  return at(0.5) + " [" + at(0.1) + ", " + at(0.9) + "]";
}

void print_weights(const Inspection& i, const CommonOptions& common) {
  std::vector<Column> columns{
      {part_header(i), Align::left}, {"‖key‖", Align::right}, {"‖value‖", Align::right}, {"cos(key, value)", Align::right}};
  bool any_agreement = false;
  for_each_part(i, [&](std::size_t, std::size_t, const HiddenReport& r) { any_agreement = any_agreement || r.agreement; });
  if (any_agreement) {
    columns.back().header = "cos";
    columns.insert(columns.end(), {{"agrees", Align::right}, {"chance", Align::right}});
  }
  Table table(columns);
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& r) {
    const auto all = [&](double NeuronReport::*member, std::string (*text)(double)) {
      std::vector<double> out;
      for (const auto& neuron : r.neurons) out.push_back(neuron.*member);
      return quantiles(out, text);
    };
    std::vector<std::string> row{part_name(i, b, part), all(&NeuronReport::key_norm, size_text), all(&NeuronReport::value_norm, size_text),
                                 all(&NeuronReport::cosine, cosine_text)};
    if (any_agreement && r.agreement) row.insert(row.end(), {format_share(r.agreement->share), format_share(r.agreement->by_chance)});
    else if (any_agreement) row.insert(row.end(), 2, "-");
    table.add_row(row);
  });
  print_heading("Keys and values: median [10 %, 90 %] of the neurons");
  print_table(table, common);
  if (any_agreement)
    print_paragraph(
        "cos: of key and value; agrees: neurons whose value favours, by the head, the very token that follows where the key is strongest; "
        "chance: how many would by the frequencies of tokens alone.");
}

void print_gates(const Inspection& i, const CommonOptions& common) {
  Table table({{part_header(i), Align::left},
               {"gate near 0", Align::right},
               {"up near 0", Align::right},
               {"gate+ up+", Align::right},
               {"gate+ up−", Align::right},
               {"gate− up+", Align::right},
               {"gate− up−", Align::right}});
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& r) {
    if (!r.gated || r.tokens == 0) return;
    table.add_row({part_name(i, b, part), format_share(r.gate_near_zeros), format_share(r.up_near_zeros), format_share(r.signs[0]),
                   format_share(r.signs[1]), format_share(r.signs[2]), format_share(r.signs[3])});
  });
  if (table.num_rows() == 0) return;
  print_heading("Gate φ(x W_gate) and up x W_up apart, and how often they have which signs");
  print_table(table, common);
}

void print_experts(const Inspection& i, const CommonOptions& common) {
  for_each_router(i, [&](std::size_t b, const RoutingReport& routing) {
    Table table({{"expert", Align::left},
                 {"share", Align::right},
                 {"weight", Align::right},
                 {"most together with", Align::left},
                 {"takes", Align::left}});
    for (std::size_t e = 0; e < routing.experts.size(); ++e) {
      const auto& expert = routing.experts[e];
      std::vector<std::string> takes;
      for (std::size_t k = 0; k < std::min<std::size_t>(5, expert.takes.size()); ++k)
        takes.push_back(i.kinds.names[static_cast<std::size_t>(expert.takes[k].kind)] + " " + format_percent(expert.takes[k].share, 0));
      const auto with = [&](std::size_t other) { return routing.together[e * routing.experts.size() + other]; };
      std::size_t partner = e;
      for (std::size_t other = 0; other < routing.experts.size(); ++other) {
        if (other != e && (partner == e || with(other) > with(partner))) partner = other;
      }
      const double both = with(partner);
      table.add_row({std::to_string(b) + "." + std::to_string(e), format_share(expert.load), format_significant(expert.mean_weight, 2),
                     routing.top_k > 1 && partner != e && both > 0 ? std::to_string(partner) + " (" + format_share(both) + ")" : "-",
                     join(takes, " · ")});
    }
    print_heading("What the experts of block " + std::to_string(b) + " take");
    print_table(table, common);
    const std::string chosen = format_significant(routing.token_entropy, 3);
    const std::string most = format_significant(std::log(static_cast<double>(routing.num_experts)), 3);
    std::string text = "even share " + format_percent(1.0 / static_cast<double>(routing.num_experts)) + ", largest " +
                       format_percent(routing.max_violation, 0) + " above it; as many as " +
                       format_significant(routing.effective_experts, 3) + " of " + format_count(routing.num_experts) +
                       " even experts (exp of the entropy of the shares); entropy of the router's choice per token " + chosen +
                       " of at most " + most + " nats";
    if (i.inputs.length > 1) {
      text += "; the first choice is that of the token before on " + format_percent(routing.repeats, 0) + " of tokens, by chance " +
              format_percent(routing.repeats_by_chance, 0);
    }
    print_paragraph(text + ".");
  });
  if (is_mixture(i))
    print_paragraph("takes: tokens that go to it more often than tokens do on average, with the share of theirs that does.");
}

void print_attention(const Inspection& i, const CommonOptions& common) {
  if (i.inputs.length == 1) return;  // it can look nowhere else
  Table table({{"block.head", Align::left}, {"entropy", Align::right}, {"looks at", Align::left}});
  for (std::size_t b = 0; b < i.blocks.size(); ++b) {
    for (std::size_t h = 0; h < i.blocks[b].heads.size(); ++h) {
      const auto& head = i.blocks[b].heads[h];
      std::vector<std::string> looks;
      for (const auto& looked : head.looks_at) {
        if (looked.share < 0.01) continue;
        const std::string far = std::to_string(std::abs(looked.offset)) + (looked.offset < 0 ? " back" : " ahead");
        looks.push_back((looked.offset == 0 ? "itself" : far) + " " + format_percent(looked.share, 0));
      }
      table.add_row({std::to_string(b) + "." + std::to_string(h), shown_number(head.entropy, 2), join(looks)});
    }
  }
  if (table.num_rows() == 0) return;
  print_heading("Attention, mean over the inputs");
  print_table(table, common);
}

}  // namespace

void print_heading(const std::string& text) { print_paragraph("\n" + text); }
void print_paragraph(const std::string& text) { print_text(text, /*hanging=*/0); }

const char* share_bar(double share) {
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return kBars[static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * 8))];
}

std::string cosine_text(double x) {
  if (std::isnan(x)) return "-";
  const std::string text = format_signed(x, 0.1);
  return text[0] == '+' ? text.substr(1) : text;
}

std::string layer_text(const ModelConfig& model) {
  const char* kind = std::visit([](const auto& config) { return config.kKind; }, model.ffn);
  const FfnSize* size = size_of(model.ffn);
  if (!size) return std::string(kind);
  const auto* moe = std::get_if<MoeConfig>(&model.ffn);
  const std::string d = std::to_string(model.d_model), f = model.widths_text();
  const FormulaText* formula = formula_of(model.ffn);
  const std::string trained = formula ? formula->written_from->value("activation", "") : "";
  const bool has_none = formula && trained.empty() && !formula->calls_phi();
  std::string activation = trained.empty() ? size->activation : trained;
  if (!model.block_activation->empty()) activation = join(model.block_activation->get<std::vector<std::string>>());
  return std::string(kind) + " " + d + " → " + f + " → " + d + (has_none ? "" : ", " + activation) +
         (moe ? ", top " + std::to_string(moe->top_k) + " of " + std::to_string(moe->num_experts) + " experts" : "");
}

void print_inspection(const Inspection& i, const std::string& run, const ModelConfig& model, const CommonOptions& common) {
  print_paragraph(std::to_string(model.blocks) + (model.blocks == 1 ? " block: " : " blocks: ") + layer_text(model) +
                  "\nShown to it: " + i.inputs.source + "\n");
  for (const auto& note : i.notes) print_paragraph("note: " + note);
  if (i.surface) print_surface(*i.surface, common);
  const std::size_t first_block = first_hidden_layer(i);
  const bool any_hidden = first_block < i.blocks.size();
  if (any_hidden) {
    print_layers(i, common);
    print_gates(i, common);
    print_weights(i, common);
    print_patterns(i);
    print_neurons(i, common);
  }
  print_experts(i, common);
  print_attention(i, common);
  if (!any_hidden) return;
  const std::string command = "ffn-train inspect " + shell_word(run);
  const auto first = strongest_writers(i.blocks[first_block].hidden[0], 1);
  std::cout << "\n"
            << sentence_and_command("one neuron with what it fires on:", command + " --neuron " + neuron_name(i, first_block, 0, first[0]),
                                    STDOUT_FILENO)
            << "\n"
            << sentence_and_command("with pictures:", command + " -o page.html", STDOUT_FILENO) << "\n";
}

}  // namespace ffn::app
