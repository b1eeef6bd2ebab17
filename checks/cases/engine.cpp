// Cases of dropout and Gumbel samples, hooks, and ways to run other operations: recomputation, reversible layers, the
// adjoint method.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

void add_draws(CaseTable& t) {
  t.call("dropout", [](const Inputs& x, const json& args) -> Outputs {
    Generator generator(static_cast<uint64_t>(integer(args, "seed", 7)));
    const Tensor y = dropout(x[0], args["p"].get<double>(), args.value("training", true), &generator);
    return {y, rand({3}, kFloat32, &generator)};
  });
  t.call("gumbel_softmax", [](const Inputs& x, const json& args) -> Outputs {
    Generator generator(args["seed"].get<uint64_t>());
    return {
        gumbel_softmax(x[0], args["tau"].get<double>(), args["hard"].get<bool>(), integer(args, "axis"), &generator)};
  });
  for (const LaidOut& a : layouts(3, 4)) t.add("dropout", a.label, {a.x}, {{"p", 0.4}});
  t.add("dropout", "[19]", {spread({19})}, {{"p", 0.1}});
  t.add("dropout", "expanded", {spread({3, 1}).expand({3, 4})}, {{"p", 0.4}});
  t.rule(FORMULA([&] {
           Generator seeded(a.i(0));
           return dropout(a.t[0], 0.4, true, &seeded);
         }()),
         "(torch.manual_seed({i0}), F.dropout({t0}.contiguous(), 0.4))[1]", and_integer(any_value, 0, 999));
}

void add_hooks(CaseTable& t) {
  for (const LaidOut& a : layouts(3, 4)) {
    t.add("on_grad", a.label, {a.x}, [](auto x) {
      const Tensor y = x[0] * x[0];
      return on_grad(y, [](const Tensor&) {}) * y;
    });
  }
  t.add("on_grad", "replaced by itself", {spread({2, 3})},
        [](auto x) { return sin(on_grad(x[0], [](const Tensor& dy) { return dy * 1; })); });
  t.rule(FORMULA(on_grad(a.t[0], [](const Tensor& g) { return g * 1; })), "{t0}.clone()", any_value);
  const Function variable = [](auto v) { return Tape::current() ? Tape::variable(v[0]) : v[0]; };
  for (const LaidOut& x : layouts(2, 3)) t.add("variable", x.label, {x.x}, variable);
  if (t.large()) t.add_large("variable", {numbers({kRows, kColumns})}, variable);
}

Tensor recomputed(std::span<const Tensor> x) {
  const Tensor w = x[1];
  return nn::recompute(x[0], [w](const Tensor& in) { return tanh(matmul(in, w)); });
}

void add_recompute(CaseTable& t) {
  t.add("recompute", "tanh of a product", {spread({2, 3}), spread({3, 2}, -1, 1.3)}, recomputed);
  t.add("recompute", "no parameters", {spread({2, 3})},
        [](auto x) { return nn::recompute(x[0], [](const Tensor& in) { return in * sin(in); }); });
}

void add_reversible(CaseTable& t) {
  const auto layers = [](const Tensor& w) {
    std::vector<nn::ReversibleFunctions> all;
    for (int i = 0; i < 2; ++i) {
      all.push_back(
          {[w](const Tensor& x) { return tanh(matmul(x, w)); }, [w](const Tensor& x) { return sin(x) * sum(w); }});
    }
    return all;
  };
  t.add("reversible", "two layers", {spread({2, 2}), spread({2, 2}, -1, 1.3), spread({2, 2}, -0.9, 1)}, [=](auto x) {
    const nn::Halves y = nn::reversible({x[0], x[1]}, layers(x[2]));
    return cat({y.first, y.second});
  });
  t.add("reversible", "both halves are one", {spread({2, 2}), spread({2, 2}, -0.9, 1)}, [=](auto x) {
    const nn::Halves y = nn::reversible({x[0], x[0]}, layers(x[1]));
    return y.first * y.second;
  });
}

// Fine steps: the adjoint method's gradients are those of the solution, not of its approximation. dopri5 chooses its
// steps by x, so that differences of its results, which are right within its tolerance, are less smooth.
void add_adjoint(CaseTable& t) {
  for (const nn::OdeSolver solver : {nn::OdeSolver::rk4, nn::OdeSolver::dopri5}) {
    const std::string label(nn::kOdeSolverNames[static_cast<int>(solver)]);
    t.add("ode_adjoint", label, {spread({2, 2}), spread({2, 2}, -1, 1.3)},
          [solver](std::span<const Tensor> x) {
            const double times[] = {0, 0.3, 0.5};
            const auto slope = [](double t, const Tensor& h, std::span<const Tensor> p) {
              return sin(matmul(h, p[0]) + t);
            };
            const auto gradients = [](double t, const Tensor& h, std::span<const Tensor> p, const Tensor& a) {
              const Tensor dx = a * cos(matmul(h, p[0]) + t);
              return std::vector<Tensor>{matmul(dx, p[0].t()), matmul(h.t(), dx)};
            };
            return nn::odeint(slope, x[0], x.subspan(1), times,
                              {.solver = solver, .steps = 16, .tolerance = 1e-11, .adjoint = true}, gradients);
          },
          {.atol = solver == nn::OdeSolver::dopri5 ? 1e-9 : 0});
  }
}

void add_large_runs(CaseTable& t) {
  const Tensor x = numbers({kRows, kColumns});
  t.add_large("on_grad", {x}, [](auto v) { return on_grad(v[0], [](const Tensor& dy) { return dy * 3; }); });
  t.add_large("dropout", {x}, {{"p", 0.3}, {"seed", 1}});
  t.add_large("recompute", {x, numbers({kColumns, 300})}, recomputed);
  t.add_large("reversible", {x, numbers({kColumns, kColumns}, -0.1, 0.1)}, [](auto v) {
    const Tensor w = v[1];
    std::vector<nn::ReversibleFunctions> layers;
    layers.push_back({[w](const Tensor& in) { return tanh(matmul(in, w)); }, [](const Tensor& in) { return sin(in); }});
    const nn::Halves y = nn::reversible({v[0], v[0]}, std::move(layers));
    return y.first + y.second * 2;
  });
  t.add_large("ode_adjoint", {numbers({700, 130}), numbers({130, 130})}, [](std::span<const Tensor> v) {
    const auto slope = [](double, const Tensor& h, std::span<const Tensor> p) { return tanh(matmul(h, p[0])); };
    const double times[] = {0, 0.1, 0.2};
    return nn::odeint(slope, v[0], v.subspan(1), times, {.adjoint = true});
  });
}

}  // namespace

void add_engine_cases(CaseTable& table) {
  add_draws(table);
  add_hooks(table);
  add_recompute(table);
  add_reversible(table);
  add_adjoint(table);
  if (table.large()) add_large_runs(table);
}

}  // namespace tapegrad::tasks
