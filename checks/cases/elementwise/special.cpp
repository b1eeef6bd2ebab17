// Cases of special functions.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

// The first argument of these is a constant.
void add_incomplete(CaseTable& t, const std::string& name, Tensor (*f)(const Tensor&, const Tensor&)) {
  t.call(name, [f](const Inputs& x, const json&) -> Outputs { return {f(x[0].detach(), x[1])}; });
  t.rule(name + "(ones_like({t0}) * 1.5, square({t0}) + 0.5)",
         "torch." + name + "(torch.ones_like({t0}) * 1.5, {t0}.square() + 0.5)", any_value,
         [f](const Arguments& a) { return f(ones_like(a.t[0]) * 1.5, square(a.t[0]) + 0.5); });
  if (t.large())  // few elements, because it is slow
    return t.add_large(name, {numbers({7, kColumns}, 0.2, 9), numbers({kColumns}, 0.2, 9)});
  for (const double a : {0.4, 1.0, 3.5, 260.0}) {
    const Tensor first = full({}, a, kFloat64);
    t.samples(name, 0.6 * a + 0.1, 1.3 * a + 0.2, [=](const Tensor& x) { return f(first.to(x.dtype()), x); });
  }
  const Tensor row = spread({4}, 0.3, 5);
  t.add(name, "a broadcasts", {spread({3, 1}, 0.5, 4)}, [=](auto x) { return f(row, x[0]); });
}

// x with igamma(a, x) = p.
Tensor number_of(const Tensor& a, double p) {
  Tensor low = zeros_like(a), high = 4 * a + 20;
  for (int step = 0; step < 60; ++step) {
    const Tensor middle = (low + high) / 2, below = lt(igamma(a, middle), p);
    low = where(below, middle, low), high = where(below, high, middle);
  }
  return low;
}

}  // namespace

void add_special_cases(CaseTable& t) {
  using enum Domain;
  t.unary("lgamma", lgamma, {"torch.lgamma", 0.6, 4, between});
  t.unary("digamma", digamma, {"torch.digamma", 0.6, 4, between});
  t.unary("erfc", erfc, {"torch.erfc"});
  t.unary("erfinv", erfinv, {"torch.erfinv", -0.8, 0.8, between});
  t.unary("i0", i0, {"torch.special.i0"});
  t.unary("i1", i1, {"torch.special.i1"});
  t.unary("i0e", i0e, {.pytorch = "torch.special.i0e", .low = 0.3, .high = 3, .kinks = {0}});
  t.unary("i1e", i1e, {.pytorch = "torch.special.i1e", .low = 0.3, .high = 3, .kinks = {0}});
  t.add("lgamma", "between poles", {spread({9}, -2.8, -2.2)});
  t.add("digamma", "between poles", {spread({9}, -2.7, -2.3)});
  t.add("i1", "wide", {spread({9}, 25, 35)}, [](auto x) { return i1(x[0]) * 1e-12; });
  t.add("i1e", "wide", {spread({9}, 25, 35)});
  t.add("erfc", "wide", {spread({41}, -4, 4)});

  t.call("polygamma", polygamma, "n=1");
  t.rule(FORMULA(polygamma(1, square(a.t[0]) + 0.5)), "torch.polygamma(1, {t0}.square() + 0.5)", any_value);
  for (const int64_t n : {1, 2, 4}) {
    t.samples("polygamma", 1.1, 5, [=](const Tensor& x) { return polygamma(n, x); });
  }
  t.add("polygamma", "between poles", {spread({9}, -2.7, -2.3)}, [](auto x) { return polygamma(2, x[0]) * 0.01; });

  add_incomplete(t, "igamma", igamma);
  add_incomplete(t, "igammac", igammac);
  // x moves with a as the number of the same probability: found by bisection, and differentiated as implicit_gamma.
  t.call("implicit_gamma", implicit_gamma);
  if (t.large()) {
    t.add_large("implicit_gamma", {numbers({7, kColumns}, 0.4, 6), numbers({kColumns}, 0.4, 6)});
  } else {
    t.samples("implicit_gamma", 0.4, 6, {.rtol = 1e-6},
              [](const Tensor& a) { return implicit_gamma(a, number_of(a.detach(), 0.3)); });
  }
  t.add("implicit_gamma", "large", {spread({5}, 190, 260)},
        [](auto a) { return implicit_gamma(a[0], number_of(a[0].detach(), 0.6)); }, {.rtol = 1e-6});

  t.call("gamma_density", gamma_density);
  t.samples("gamma_density", BinaryFunction(gamma_density), 0.7, 3);
  t.rule(FORMULA(gamma_density(square(a.t[0]) + 0.5, square(a.t[1]) + 0.5)),
         "torch.distributions.Gamma({t0}.square() + 0.5, torch.ones((), dtype={t0}.dtype)).log_prob({t1}.square() + "
         "0.5).exp()",
         pair);
}

}  // namespace tapegrad::tasks
