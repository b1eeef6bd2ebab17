// Positions by a learned differential equation.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/ode_positions.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapegrad::nn {

namespace {

struct AddedOde final : AddedEncoding {
  AddedOde(const PositionSizes& sizes, const OdePositionOptions& o) : ode(sizes.width, o) {}
  Tensor operator()(const Tensor& x, int64_t start, const Tensor&, KVCache* cache) const override {
    return ode(x.size(1), start, cache);
  }
  void visit(auto&& field) { field("ode", ode); }

  OdePositions ode;
};

}  // namespace

struct OdeKind final : PositionKind {
  OdeKind() : PositionKind("ode", "adds the solution of a learned differential equation", Role::added) {}
  void list(PositionOptions& options, Fields& f) const override {
    OdePositionOptions& o = options.of<OdePositionOptions>();
    const bool adapts = o.solver.solver == OdeSolver::dopri5;
    f.add(detail::size_setting("ode-size", "ode: hidden units of the network for dh/dt"), o.size);
    f.add("ode-interval", "ode: time between two positions", o.interval, kPositive);
    f.add_named({.name = "ode-solver", .help = "ode: Runge-Kutta in equal steps, or Dormand-Prince in adaptive ones"},
                o.solver.solver, kOdeSolverNames);
    f.add("ode-steps", "ode: steps of rk4 between two positions", o.solver.steps, kPositive, !adapts);
    f.add("ode-tolerance", "ode: allowed error of a step of dopri5", o.solver.tolerance, kPositive, adapts);
    f.add("ode-adjoint", "ode: gradients by the adjoint method, which stores no intermediate steps", o.solver.adjoint);
  }
  AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions& o) const override {
    return AddedOde(sizes, o.of<OdePositionOptions>());
  }
};
template const PositionKind& position_kind<OdeKind>();

OdePositions::OdePositions(int64_t dim, const OdePositionOptions& o)
    : start_value(zeros({detail::checked_dim(dim)})),
      w_1(dim, detail::size_or(o.size, dim)),
      w_2(detail::size_or(o.size, dim), dim),
      time(init::blank({detail::size_or(o.size, dim)})),
      interval(o.interval),
      options(o.solver) {
  position_kind<OdeKind>().require_valid(o);
  const double bound = 1 / std::sqrt(static_cast<double>(dim));
  init::uniform(time, -bound, bound);
}

Tensor OdePositions::operator()(int64_t length, int64_t start, KVCache* cache) const {
  const int64_t dim = start_value->size(0);
  const auto solved = [&](int64_t count) {  // positions 0 .. count - 1
    std::vector<double> times;
    for (int64_t i = 0; i < count; ++i) times.push_back(static_cast<double>(i) * interval);
    const OdeSlope slope = [](double t, const Tensor& h, std::span<const Tensor> p) {
      return linear(tanh(linear(h, p[0], p[1]) + p[2] * t), p[3], p[4]);
    };
    const OdeSlopeGradients gradients = [](double t, const Tensor& h, std::span<const Tensor> p, const Tensor& a) {
      const Tensor z = tanh(linear(h, p[0], p[1]) + p[2] * t), dz = matmul(a, p[3]) * (1 - z * z);
      const Tensor db = dz.reshape({dz.size(1)});
      return std::vector<Tensor>{matmul(dz, p[0]), matmul(dz.t(), h), db,
                                 db * t,           matmul(a.t(), z),  a.reshape({a.size(1)})};
    };
    const Tensor parameters[] = {w_1.weight.matrix(), w_1.bias, time, w_2.weight.matrix(), w_2.bias};
    const Tensor from = start_value->reshape({1, dim});
    return odeint(slope, from, parameters, times, options, gradients).reshape({count, dim}) - from;
  };
  // One position alone would leave the slope out, and its parameters without gradients.
  if (!cache) return narrow(solved(std::max<int64_t>(2, start + length)), 0, start, length);
  Tensor& table = cache->table();
  if (table.defined() && table.size(1) != dim) {
    fail(detail::kPositions, "expected a cache with positions of width {}, got {} (is the cache of another model?)",
         dim, table.size(1));
  }
  if (!table.defined() || table.size(0) < start + length) table = solved(std::max<int64_t>(64, 2 * (start + length)));
  return narrow(table, 0, start, length);
}

}  // namespace tapegrad::nn
