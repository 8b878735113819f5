// Position encodings against NumPy's numbers, on both engines.
#include "ffn/layers/position_cpu.hpp"
#include "ffn/layers/position_torch.hpp"
#include "support/catch.hpp"

using namespace ffn;

TEST_CASE("sinusoidal positions are sines and cosines of falling frequency, of an odd width, too", "[torch]") {
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
  const auto table = cpu::sinusoids(3, 5);
  const auto tensor = modules::sinusoids(3, 5, torch::zeros(1, torch::kFloat64));
  REQUIRE(table.size() == numpy.size());
  REQUIRE(tensor.sizes() == torch::IntArrayRef({3, 5}));
  for (std::size_t i = 0; i < numpy.size(); ++i) {
    CHECK(static_cast<double>(table[i]) == Approx(numpy[i]).margin(1e-7));  // half a float's last place below 1
    CHECK(tensor.flatten()[static_cast<std::int64_t>(i)].item<double>() == Approx(numpy[i]).margin(1e-14));
  }
}

TEST_CASE("rotary positions turn vectors by the paper's angles, in pairs and in halves", "[torch]") {
  // By NumPy, x = (1, 2, 3, 4) at position 3.
  const std::map<bool, std::vector<double>> numpy = {{true, {-1.272232513, -1.838864985, 2.878668100, 4.088186636}},
                                                     {false, {-1.413352521, 1.879118067, -2.828857482, 4.058191135}}};
  for (const auto& [in_pairs, expected] : numpy) {
    INFO((in_pairs ? "pairs" : "halves"));
    const auto rows = torch::tensor({1.0, 2.0, 3.0, 4.0}, torch::kFloat64).repeat({4, 1});
    const auto turned = modules::Rotary(4, 4, 10000, in_pairs, rows)(rows)[3];
    std::vector<float> x;
    for (int t = 0; t < 4; ++t) x.insert(x.end(), {1, 2, 3, 4});
    const cpu::Rotary rotary(6, 4, 10000, in_pairs);
    rotary.turn(4, 4, 1, x.data());
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(turned[static_cast<std::int64_t>(i)].item<double>() == Approx(expected[i]).epsilon(1e-9));
      CHECK(x[12 + i] == Approx(expected[i]).epsilon(1e-6));
    }
    rotary.turn(4, 4, 1, x.data(), /*back=*/true);
    for (std::size_t i = 0; i < 16; ++i) CHECK(x[i] == Approx(1.0 + static_cast<double>(i % 4)).epsilon(1e-6));
  }
}
