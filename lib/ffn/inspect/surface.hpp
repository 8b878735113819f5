// A trained network over the whole of its input, where that is one number or two: a curve, or classes on a plane.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/tensor_data.hpp"
#include "ffn/config/run_config.hpp"

namespace ffn::inspect {

class TrainedNetwork;

struct Surface {
  enum class Kind { curve, classes, numbers };  ///< a number over one input; classes or a number over two
  struct Example {
    double x, y;        ///< y is the target of a curve, else the second input
    std::int64_t kind;  ///< on a plane its class, or 0 for a number above 0 and 1 below
    bool trained;       ///< else for validation
  };
  /// A place on the plane as it is drawn.
  struct Cell {
    std::int64_t kind;  ///< as of an Example, by the network; -1 where it computes no number
    double strength;    ///< 0 to 1: how far the probability is above an even one, or the number from 0
  };
  using Point = std::array<double, 2>;

  Kind kind = Kind::curve;
  std::int64_t outputs = 1;        ///< classes, or 1
  std::vector<std::string> names;  ///< of the inputs
  std::vector<std::string> kinds;  ///< "class 1", or what a table calls it; of numbers "above 0" and "below 0"
  std::vector<double> low, high;   ///< of the inputs: a little beyond the examples
  double peak = 0;                 ///< of the target's numbers the largest
  std::int64_t side = 0;           ///< places along an input
  std::vector<double> values;      ///< (side, outputs), or (side, side, outputs): probabilities or numbers; the first input runs fastest
  std::vector<Example> examples;
  std::vector<std::vector<Point>> zeros;  ///< where hidden units of the first layer change sign: a line's two ends, or a place on a curve

  double at(std::size_t input, std::int64_t index) const;
  Cell cell(std::int64_t column, std::int64_t row) const;
};

/// None for other tasks. Throws DataError where the data is not what the run was trained on. `beside`: one that it is shown beside, and
/// reaches as far as.
std::optional<Surface> surface_of(const RunConfig& config, const TensorFile& weights, TrainedNetwork& trained,
                                  const Surface* beside = nullptr);

/// Surfaces of runs that differ in nothing but the seed, under a title.
struct SurfacePanel {
  std::string title;
  std::vector<std::string> names;  ///< of the surfaces: "seed 0"
  std::vector<Surface> surfaces;
};

}  // namespace ffn::inspect
