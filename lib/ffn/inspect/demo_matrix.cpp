#include "ffn/inspect/demo_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "ffn/base/random.hpp"
#include "ffn/base/utf8.hpp"

namespace ffn::demo {

Matrix Matrix::row(std::size_t i) const {
  Matrix out(1, cols);
  for (std::size_t j = 0; j < cols; ++j) out.at(0, j) = at(i, j);
  return out;
}

Matrix some_matrix(const std::string& name, std::size_t rows, std::size_t cols) {
  RandomStream random(0, name_hash(name));
  Matrix out(rows, cols);
  for (auto& x : out.values) x = (static_cast<double>(random.below(21)) - 10) / 10;
  return out;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.cols);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < b.cols; ++j) {
      for (std::size_t k = 0; k < a.cols; ++k) out.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return out;
}

Matrix plus_row(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.cols; ++j) a.at(i, j) += b.at(0, j);
  }
  return a;
}

Matrix apply(Matrix a, const std::function<double(double)>& phi) {
  for (auto& x : a.values) x = phi(x);
  return a;
}

double relu(double z) { return z < 0 ? 0 : z; }

Layer::Layer(std::size_t d_model, std::size_t d_ff)
    : w1(some_matrix("W1", d_model, d_ff)),
      b1(some_matrix("b1", 1, d_ff)),
      w2(some_matrix("W2", d_ff, d_model)),
      b2(some_matrix("b2", 1, d_model)) {}

Matrix Layer::operator()(const Matrix& x, const std::function<double(double)>& phi) const {
  return plus_row(product(apply(plus_row(product(x, w1), b1), phi), w2), b2);
}

double largest_difference(const Matrix& a, const Matrix& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double difference = std::abs(a.values[i] - b.values[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

std::string fixed(double x, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, x);
  const std::string out = text;
  if (out[0] != '-') return out;
  return (out.find_first_not_of("-0.") == std::string::npos ? "" : "−") + out.substr(1);
}

std::string row_text(const Matrix& m, std::size_t row, int decimals, std::size_t most) {
  std::string out;
  for (std::size_t j = 0; j < std::min(m.cols, most); ++j) {
    const std::string text = fixed(m.at(row, j), decimals);
    const std::size_t width = static_cast<std::size_t>(decimals) + 4;
    out += std::string(width - std::min(width, display_width(text)), ' ') + text;
  }
  return out + (m.cols > most ? "  …" : "");
}

std::vector<std::string> matrix_lines(const std::string& name, const Matrix& m, int decimals) {
  std::vector<std::string> out = {name + " (" + std::to_string(m.rows) + ", " + std::to_string(m.cols) + ")"};
  for (std::size_t i = 0; i < m.rows; ++i) out.push_back(row_text(m, i, decimals));
  return out;
}

std::string apart_text(double difference) { return difference == 0 ? "the same to the last bit" : difference_text(difference) + " apart"; }

std::string difference_text(double difference) {
  if (difference == 0) return "0";
  char text[64];
  std::snprintf(text, sizeof text, difference < 1e-3 ? "%.1e" : "%.3f", difference);
  return text;
}

Json to_json(const Matrix& m) {
  Json out = Json::array();
  for (std::size_t i = 0; i < m.rows; ++i)
    out.push_back(std::vector<double>(m.values.begin() + static_cast<std::ptrdiff_t>(i * m.cols),
                                      m.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * m.cols)));
  return out;
}

}  // namespace ffn::demo
