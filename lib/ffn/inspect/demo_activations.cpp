// What activations and their derivatives are, where it matters for training.
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/inspect/demo.hpp"
#include "ffn/inspect/demo_matrix.hpp"
#include "ffn/kernels/activations.hpp"
#include "ffn/report/activations.hpp"
#include "ffn/report/format.hpp"

namespace ffn::demo {

namespace {

constexpr double kPlaces[] = {-3, -1, 0, 1, 3};

struct Lowest {
  double z, value;
};

// On a fine grid; where it falls for ever the end of it.
Lowest lowest_of(const Activation& a) {
  Lowest lowest{0, INFINITY};
  for (int i = -6000; i <= 6000; ++i) {
    const double z = i / 1000.0, value = pictures::value_at(a, z);
    if (value < lowest.value) lowest = {z, value};
  }
  return lowest;
}

}  // namespace

Demo activations_demo() {
  Demo out;
  out.claim = "What an activation passes on, and what it lets the gradient pass.";
  std::vector<Column> columns = {{"activation", Align::left}};
  for (const double z : kPlaces) columns.push_back({"φ(" + fixed(z, 0) + ")", Align::right});
  for (const double z : kPlaces) columns.push_back({"φ′(" + fixed(z, 0) + ")", Align::right});
  Table table(columns);
  Json rows = Json::array();
  for (const auto& a : activations()) {
    std::vector<std::string> cells = {a.name};
    Json values = Json::array(), slopes = Json::array();
    for (const double z : kPlaces) {
      values.push_back(pictures::value_at(a, z));
      slopes.push_back(pictures::slope_at(a, z));
    }
    for (const auto& value : values) cells.push_back(fixed(value, 2));
    for (const auto& slope : slopes) cells.push_back(fixed(slope, 2));
    table.add_row(cells);
    rows.push_back({{"activation", a.name}, {"z", kPlaces}, {"value", values}, {"derivative", slopes}});
  }
  Part drawn{"The function as a line, its derivative as dots:"};
  for (const char* name : {"relu", "gelu", "silu", "sigmoid"}) drawn.charts.push_back(pictures::activation_chart(activation(name)));
  out.parts.push_back(std::move(drawn));
  out.parts.push_back({"In numbers:", {}, std::move(table)});
  const auto gelu = lowest_of(activation("gelu")), silu = lowest_of(activation("silu"));
  const double steepest = pictures::slope_at(activation("sigmoid"), 0);
  out.parts.push_back(
      {"Below 0 the derivative of ReLU is 0: a hidden unit that is negative for every token learns nothing any more, it is dead. GELU and SiLU are smooth, have a derivative there, and fall a little below 0 before they "
       "rise: GELU to " +
       fixed(gelu.value, 3) + " at " + fixed(gelu.z, 2) + ", SiLU to " + fixed(silu.value, 3) + " at " + fixed(silu.z, 2) + "."});
  out.parts.push_back({"The derivative of the sigmoid is nowhere above " + fixed(steepest, 2) +
                       ": through four layers a gradient shrinks to at most " + format_significant(std::pow(steepest, 4), 2) +
                       " of itself, which is why it is used as a gate and not between the layers."});
  out.next = "ffn-train list activations --plot";
  out.numbers = Json{
      {"activations", rows}, {"lowest", {{"gelu", {gelu.z, gelu.value}}, {"silu", {silu.z, silu.value}}}}, {"steepest_sigmoid", steepest}};
  return out;
}

}  // namespace ffn::demo
