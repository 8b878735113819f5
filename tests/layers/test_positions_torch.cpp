// Position encodings against NumPy's numbers, on both engines.
#include "ffn/layers/position_cpu.hpp"
#include "ffn/layers/position_torch.hpp"
#include "support/catch.hpp"

using namespace ffn;

TEST_CASE("sinusoidal positions are sines and cosines of falling frequency, of an odd width, too", "[nn]") {
  // sin(t / 10000**(j/5)) for even j, cos(t / 10000**((j-1)/5)) for odd j
  const std::vector<double> numpy = {0,
                                     1,
                                     0,
                                     1,
                                     0,
                                     0.841470984807897,
                                     0.54030230586814,
                                     0.0251162229097738,
                                     0.99968453791521,
                                     0.00063095730261542,
                                     0.909297426825682,
                                     -0.416146836547142,
                                     0.0502165993874652,
                                     0.998738350693493,
                                     0.00126191435404222};
  const auto table = fused::sinusoids(3, 5);
  const auto tensor = nn::sinusoids(3, 5, torch::zeros(1, torch::kFloat64));
  REQUIRE(table.size() == numpy.size());
  REQUIRE(tensor.sizes() == torch::IntArrayRef({3, 5}));
  for (std::size_t i = 0; i < numpy.size(); ++i) {
    CHECK(static_cast<double>(table[i]) == Approx(numpy[i]).margin(1e-7));  // half a float's last place below 1
    CHECK(tensor.flatten()[static_cast<std::int64_t>(i)].item<double>() == Approx(numpy[i]).margin(1e-14));
  }
}
