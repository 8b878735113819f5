#include "ffn/formula/formula_syntax.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ffn/base/number.hpp"

namespace ffn {

namespace {

constexpr std::size_t kMaxBytes = 4096, kMaxParts = 256;
constexpr int kMaxLevels = 64;
constexpr std::int64_t kMaxSize = 1 << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The end of the name that begins at `at`; `at` itself if none does.
std::size_t name_end(const std::string& text, std::size_t at) {
  const auto word = [&](std::size_t i) {
    if (i >= text.size() || !is_letter(text[i])) return i;
    while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]))) ++i;
    return i;
  };
  const std::size_t end = word(at);
  if (end == at || end >= text.size() || text[end] != '.') return end;
  const std::size_t second = word(end + 1);
  return second > end + 1 ? second : end;
}

struct Operator {
  const char* text;
  int precedence;
};
// As C has them, so that "x > 0 & y > 0" needs no parentheses. The longer of two that begin alike is first.
constexpr Operator kOperators[] = {{"|", 1}, {"^", 2}, {"&", 3}, {"==", 4}, {"!=", 4}, {"<=", 4}, {">=", 4}, {"<", 4},
                                   {">", 4}, {"+", 5}, {"-", 5}, {"*", 6},  {"/", 6},  {"@", 6},  {"%", 6}};
constexpr int kComparison = 4, kTightest = 6;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Syntax whole() {
    if (text_.size() > kMaxBytes) fail(0, 0, "longer than " + std::to_string(kMaxBytes) + " characters");
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const auto c = static_cast<unsigned char>(text_[i]);
      if (c >= 0x80 || (c < 0x20 && c != '\t' && c != '\n')) fail(i, i + 1, "a character that no formula has; write it in ASCII");
    }
    Syntax tree = expression(0);
    skip();
    if (at_ < text_.size()) fail(at_, at_ + 1, unexpected("the end or an operator"));
    return tree;
  }

 private:
  [[noreturn]] void fail(std::size_t begin, std::size_t end, const std::string& message) const { throw SyntaxProblem{begin, end, message}; }

  std::string unexpected(const std::string& wanted) const {
    if (at_ >= text_.size()) return "ends where " + wanted + " is expected";
    const char c = text_[at_];
    const std::string found = std::string("'") + c + "' where " + wanted + " is expected";
    if (c == '*' && at_ > 0 && text_[at_ - 1] == '*') return found + "; a power is written pow(h, 2)";
    return found;
  }

  // The operator that begins here, if it is one of this precedence.
  const Operator* next_operator(int precedence) {
    skip();
    for (const auto& row : kOperators) {
      if (text_.compare(at_, std::strlen(row.text), row.text) != 0) continue;
      return row.precedence == precedence ? &row : nullptr;
    }
    return nullptr;
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool next_is(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) { return next_is(c) && (++at_, true); }
  void need(char c, std::size_t opened) {
    if (!take(c)) fail(opened, std::min(at_ + 1, text_.size()), unexpected(std::string("'") + c + "'"));
  }

  Syntax counted(Syntax part) {
    if (++parts_ > kMaxParts) fail(part.begin, part.end, "more than " + std::to_string(kMaxParts) + " parts");
    return part;
  }

  Syntax binary(Syntax left, Syntax right, std::size_t at, const char* text) {
    Syntax out;
    out.kind = Syntax::Kind::binary;
    out.text = text;
    out.begin = left.begin;
    out.end = right.end;
    out.at = at;
    out.parts.push_back(std::move(left));
    out.parts.push_back(std::move(right));
    return counted(std::move(out));
  }

  // Levels of parentheses, arguments and signs; a chain of operators of one precedence is as deep as it is long.
  void check_level(int level) const {
    if (level > kMaxLevels) fail(at_, std::min(at_ + 1, text_.size()), "deeper than " + std::to_string(kMaxLevels) + " levels");
  }

  Syntax expression(int level, int precedence = 1) {
    if (precedence > kTightest) return negation(level);
    check_level(level);
    Syntax left = expression(level, precedence + 1);
    const Operator* next = nullptr;
    for (int links = level; (next = next_operator(precedence)) != nullptr; ++links) {
      check_level(links);
      const std::size_t at = at_;
      at_ += std::strlen(next->text);
      if (precedence == kComparison && links > level)
        fail(left.begin, at_, "a comparison of a comparison; put the inner one in parentheses");
      left = binary(std::move(left), expression(level, precedence + 1), at, next->text);
    }
    return left;
  }

  Syntax negation(int level) {
    check_level(level);
    if (!next_is('-') && !next_is('!')) return sliced(atom(level), level);
    Syntax out;
    out.kind = Syntax::Kind::negate;
    out.text = text_[at_];
    out.begin = at_++;
    out.parts.push_back(negation(level + 1));
    out.end = out.parts[0].end;
    return counted(std::move(out));
  }

  Syntax sliced(Syntax from, int level) {
    while (next_is('[')) {
      const std::size_t opened = at_++;
      check_level(++level);
      Syntax out;
      out.kind = Syntax::Kind::slice;
      out.begin = from.begin;
      if (!next_is(':')) out.low.push_back(expression(level + 1));
      out.is_index = !out.low.empty() && next_is(']');
      if (!out.is_index) {
        need(':', opened);
        if (!next_is(']')) out.high.push_back(expression(level + 1));
      }
      need(']', opened);
      out.end = at_;
      out.parts.push_back(std::move(from));
      from = counted(std::move(out));
    }
    return from;
  }

  Syntax atom(int level) {
    skip();
    Syntax out;
    out.begin = at_;
    if (at_ < text_.size() && text_[at_] == '(') {
      const std::size_t opened = at_++;
      out = expression(level + 1);
      need(')', opened);
      out.begin = opened;
      out.end = at_;
      out.in_parentheses = true;
      return out;
    }
    if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) return number(std::move(out));
    const std::size_t end = name_end(text_, at_);
    if (end == at_) fail(at_, std::min(at_ + 1, text_.size()), unexpected("a name, a number or '('"));
    out.kind = Syntax::Kind::name;
    out.text = text_.substr(at_, end - at_);
    out.end = at_ = end;
    if (next_is('(')) {
      const std::size_t opened = at_++;
      out.kind = Syntax::Kind::call;
      if (!next_is(')')) {
        do out.parts.push_back(expression(level + 1));
        while (take(','));
      }
      need(')', opened);
      out.end = at_;
    }
    return counted(std::move(out));
  }

  Syntax number(Syntax out) {
    const char* first = text_.data() + at_;
    const char* last = text_.data() + text_.size();
    const auto [end, error] = read_double(first, last, out.number);
    if (error != std::errc() || (end < last && is_letter(*end))) fail(at_, at_ + 1, "not a number");
    if (out.number > 3e38) fail(at_, at_ + 1, "a number beyond what a float holds");
    if (*first == '0' && first + 1 < end && is_digit(first[1])) fail(at_, at_ + 1, "a number that begins with 0 and another digit");
    at_ += static_cast<std::size_t>(end - first);
    out.text = std::string(first, end);
    out.end = at_;
    return counted(std::move(out));
  }

  const std::string& text_;
  std::size_t at_ = 0, parts_ = 0;
};

struct NoSize {
  std::string why;
};

// In double: a result within rounding of a whole number counts as whole.
double evaluate(const Syntax& tree, double d_model, double hidden_width) {
  const auto part = [&](std::size_t i) { return evaluate(tree.parts[i], d_model, hidden_width); };
  switch (tree.kind) {
    case Syntax::Kind::number:
      if (std::nearbyint(tree.number) != tree.number) throw NoSize{"has " + tree.text + " in it; sizes use whole numbers"};
      return tree.number;
    case Syntax::Kind::name:
      if (tree.text == "D") return d_model;
      if (tree.text == "F") return hidden_width;
      throw NoSize{"has '" + tree.text + "' in it; sizes use D, F and numbers"};
    case Syntax::Kind::negate:
      if (tree.text == "-") return -part(0);
      break;
    case Syntax::Kind::binary: {
      const double a = part(0), b = part(1);
      const std::string& op = tree.text;
      if (op == "/" && b == 0) throw NoSize{"divides by 0"};
      if (op == "*") return a * b;
      if (op == "/") return a / b;
      if (op == "+") return a + b;
      if (op == "-") return a - b;
      break;
    }
    default:
      break;
  }
  throw NoSize{"is not a size; sizes use D, F, numbers and + - * /"};
}

}  // namespace

ParsedFormula parse_formula(const std::string& text) {
  ParsedFormula out;
  try {
    out.tree = Parser(text).whole();
  } catch (SyntaxProblem& problem) {
    out.problem = std::move(problem);
  }
  return out;
}

std::string pointed_out(const std::string& source, std::size_t begin, std::size_t end, std::size_t at, const std::string& message) {
  const std::size_t before = at == 0 ? std::string::npos : source.rfind('\n', at - 1);
  const std::size_t start = before == std::string::npos ? 0 : before + 1;
  const std::size_t stop = std::min(source.find('\n', start), source.size());
  const auto line = std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(start), '\n') + 1;
  constexpr std::size_t kShown = 72, kBefore = 40;
  const std::size_t from = stop - start <= kShown || at - start < kBefore ? start : at - kBefore;
  const std::size_t length = std::min(stop - from, kShown);
  begin = std::clamp(begin, from, from + length);
  end = std::clamp(end, begin, from + length);
  std::string marks(length + 1, ' ');
  std::fill(marks.begin() + static_cast<std::ptrdiff_t>(begin - from), marks.begin() + static_cast<std::ptrdiff_t>(end - from), '~');
  marks[std::min(at - from, length)] = '^';
  marks.erase(marks.find_last_not_of(' ') + 1);
  std::string shown = source.substr(from, length);
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  return "column " + std::to_string(at - start + 1) + (line > 1 ? " of line " + std::to_string(line) : "") + ": " + message + "\n    " +
         shown + "\n    " + marks;
}

bool is_formula_name(const std::string& name) { return !name.empty() && name_end(name, 0) == name.size(); }

Size evaluate_size(const Syntax& tree, std::int64_t d_model, std::int64_t hidden_width, std::int64_t lowest) {
  Size out;
  try {
    const double x = evaluate(tree, static_cast<double>(d_model), static_cast<double>(hidden_width)), whole = std::nearbyint(x);
    char is[32];
    std::snprintf(is, sizeof is, "is %.6g", x);
    if (!(whole >= static_cast<double>(lowest) && whole <= static_cast<double>(kMaxSize)))
      out.problem = std::string(is) + "; it has to lie between " + std::to_string(lowest) + " and " + std::to_string(kMaxSize);
    else if (std::abs(x - whole) > 1e-6) out.problem = std::string(is) + ", which is not whole";
    else out.value = static_cast<std::int64_t>(whole);
  } catch (const NoSize& no) {
    out.problem = no.why;
  }
  return out;
}

Size evaluate_size(const std::string& text, std::int64_t d_model, std::int64_t hidden_width) {
  const auto parsed = parse_formula(text);
  if (parsed.problem) return {0, parsed.problem->message};
  return evaluate_size(*parsed.tree, d_model, hidden_width);
}

}  // namespace ffn
