// Formulas that are functions of the library, written out.
// build: -Os
#include <tapegrad/autograd/ops/fuse/detail/graph.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace tapegrad {
namespace {

constexpr double kErfScale = 0.70710678118654752;   // 1 / sqrt(2)
constexpr double kTanhScale = 0.79788456080286536;  // sqrt(2 / pi)
constexpr double kTanhCubic = 0.044715;

// Equal up to rounding.
bool equal_but_for_rounding(double a, double b) { return std::abs(a - b) <= 4e-16 * std::abs(b); }

// A product as a number times terms.
struct Factors {
  double number = 1;
  std::vector<int32_t> factors;
  int steps = 0;
};

class Idioms {
 public:
  Idioms(const std::vector<FuseTerm>& terms) : terms_(terms) {}

  // The function that a term is, its argument, and a number that it is multiplied by.
  struct Found {
    SymbolFunction function;
    int32_t x;
    double times = 1;
  };
  std::optional<Found> find(int32_t t) const {
    if (const std::optional<int32_t> x = logistic_divisor(t)) {
      if (const auto value = number(operand(t, 0))) return Found{"sigmoid", *x, *value};
      if (operand(t, 0) == *x) return Found{"silu", *x};
    }
    if (!is(t, all_.mul)) return {};
    const Factors product = product_of(t);
    const std::vector<int32_t>& f = product.factors;
    if (f.size() != 2) return {};
    for (const auto& [x, gate] : {std::pair(f[0], f[1]), std::pair(f[1], f[0])}) {
      if (is(gate, function("sigmoid"))) {
        const int32_t u = operand(gate, 0);
        if (u == x) return Found{"silu", x, product.number};
        if (is_tanh_argument(u, x, 2 * kTanhScale)) return Found{"gelu_tanh", x, product.number};
      }
      const std::optional<int32_t> inner = other_than_one(gate);
      if (!inner) continue;
      if (is(*inner, function("erf")) && is_multiple(operand(*inner, 0), x, kErfScale)) {
        return Found{"gelu", x, 2 * product.number};
      }
      if (is(*inner, function("tanh")) && is_tanh_argument(operand(*inner, 0), x, kTanhScale)) {
        return Found{"gelu_tanh", x, 2 * product.number};
      }
    }
    return {};
  }

 private:
  static constexpr int kMostSteps = 16;

  const FuseTerm& term(int32_t t) const { return terms_[static_cast<std::size_t>(t)]; }
  int32_t operand(int32_t t, std::size_t i) const { return term(t).operands[i]; }
  bool is(int32_t t, const FuseAction& action) const { return term(t).action == &action; }
  const FuseAction& function(SymbolFunction f) const { return all_.functions[f.place].value; }
  std::optional<double> number(int32_t t) const {
    if (!is(t, all_.number)) return {};
    return term(t).scalars.values[0];
  }

  void multiply(int32_t t, Factors& product) const {
    if (++product.steps > kMostSteps) return product.factors.push_back(t);  // x^(2^30) has as many factors
    if (const std::optional<double> value = number(t)) {
      product.number *= *value;
    } else if (is(t, all_.mul)) {
      multiply(operand(t, 0), product);
      multiply(operand(t, 1), product);
    } else if (is(t, all_.square) || is(t, function("square")) || is(t, all_.cube)) {
      for (int i = is(t, all_.cube) ? 3 : 2; i > 0; --i) multiply(operand(t, 0), product);
    } else if (is(t, all_.div) && number(operand(t, 1))) {
      multiply(operand(t, 0), product);
      product.number /= *number(operand(t, 1));
    } else {
      product.factors.push_back(t);
    }
  }
  Factors product_of(int32_t t) const {
    Factors product;
    multiply(t, product);
    return product;
  }
  // c times x to a power.
  bool is_power(int32_t t, int32_t x, std::size_t power, double c) const {
    const Factors p = product_of(t);
    return p.factors == std::vector<int32_t>(power, x) && equal_but_for_rounding(p.number, c);
  }
  bool is_multiple(int32_t t, int32_t x, double c) const { return is_power(t, x, 1, c); }

  // The other side of a sum with 1.
  std::optional<int32_t> other_than_one(int32_t t) const {
    if (!is(t, all_.add)) return {};
    if (number(operand(t, 0)) == 1.0) return operand(t, 1);
    if (number(operand(t, 1)) == 1.0) return operand(t, 0);
    return {};
  }

  // c (x + 0.044715 x^3), or c x (1 + 0.044715 x^2).
  bool is_tanh_argument(int32_t t, int32_t x, double c) const {
    const Factors p = product_of(t);
    if (!equal_but_for_rounding(p.number, c)) return false;
    if (p.factors.size() == 1 && is(p.factors[0], all_.add)) {
      const int32_t a = operand(p.factors[0], 0), b = operand(p.factors[0], 1);
      return (a == x && is_power(b, x, 3, kTanhCubic)) || (b == x && is_power(a, x, 3, kTanhCubic));
    }
    if (p.factors.size() != 2) return false;
    for (const auto& [one, other] : {std::pair(p.factors[0], p.factors[1]), std::pair(p.factors[1], p.factors[0])}) {
      const std::optional<int32_t> inner = one == x ? other_than_one(other) : std::nullopt;
      if (inner && is_power(*inner, x, 2, kTanhCubic)) return true;
    }
    return false;
  }

  // x of a quotient whose divisor is 1 + exp(-x).
  std::optional<int32_t> logistic_divisor(int32_t t) const {
    if (!is(t, all_.div)) return {};
    const std::optional<int32_t> power = other_than_one(operand(t, 1));
    if (!power || !is(*power, function("exp"))) return {};
    const int32_t negative = operand(*power, 0);
    if (!is(negative, all_.neg)) return {};
    return operand(negative, 0);
  }

  const std::vector<FuseTerm>& terms_;
  const FuseActions& all_ = FuseActions::all();
};

}  // namespace

std::pair<std::vector<FuseTerm>, int32_t> with_idioms(const std::vector<FuseTerm>& terms, int32_t result) {
  SymbolGraph graph;
  const Idioms idioms(terms);
  std::vector<Symbol> images;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    FuseTerm copy = terms[t];
    for (std::size_t i = 0; i < static_cast<std::size_t>(copy.count); ++i) {
      copy.operands[i] = graph.place(images[static_cast<std::size_t>(copy.operands[i])]);
    }
    const auto found = idioms.find(static_cast<int32_t>(t));
    if (!found) {
      images.push_back(graph.add(copy));
      continue;
    }
    const Symbol y = graph.add(FuseActions::all().functions[found->function.place].value,
                               {images[static_cast<std::size_t>(found->x)]});
    images.push_back(found->times == 1 ? y : y * found->times);
  }
  const int32_t place = graph.place(images[static_cast<std::size_t>(result)]);
  return {graph.terms(), place};
}

}  // namespace tapegrad
