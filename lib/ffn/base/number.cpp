#include "ffn/base/number.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

namespace ffn {

std::from_chars_result read_double(const char* first, const char* last, double& value) {
#ifdef __cpp_lib_to_chars
  return std::from_chars(first, last, value);
#else  // strtod also reads spaces, a plus and hexadecimal digits
  const std::string text(first, last);
  const std::string digits = first == last || *first == '+' ? "" : text.substr(0, text.find_first_not_of("+-.0123456789eE"));
  char* end = nullptr;
  errno = 0;
  const double read = std::strtod(digits.c_str(), &end);
  const auto length = end - digits.c_str();
  if (length == 0) return {first, std::errc::invalid_argument};
  if (errno == ERANGE && (std::isinf(read) || read == 0)) return {first + length, std::errc::result_out_of_range};
  value = read;
  return {first + length, std::errc()};
#endif
}

}  // namespace ffn
