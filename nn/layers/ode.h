// Differentiable solutions of ordinary differential equations. Chen et al. 2018, "Neural Ordinary Differential
// Equations".
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace tapegrad::nn {

/// - rk4: the classical Runge-Kutta method of order 4, with steps of equal length
/// - dopri5: Dormand, Prince 1980: order 5, with steps as long as the tolerance allows
enum class OdeSolver { rk4, dopri5 };

inline constexpr std::string_view kOdeSolverNames[] = {"rk4", "dopri5"};  ///< in the order of OdeSolver
/// Error for an unknown name; it lists the known ones.
OdeSolver ode_solver_named(std::string_view name);

struct OdeOptions {
  OdeSolver solver = OdeSolver::rk4;  ///< fixed steps, or steps by tolerance
  int64_t steps = 1;                  ///< rk4: steps between two successive times
  double tolerance = 1e-5;            ///< dopri5: limit of a step's error, absolute plus relative to the solution
  /// Gradients by the adjoint method instead of through the steps: no intermediate steps are stored, and backward
  /// solves a second equation from the last time to the first. The gradients of the two methods differ by the errors of
  /// the solutions.
  bool adjoint = false;

  /// Error that names the first invalid member.
  void check() const;
};

/// The slope dh/dt at time t, with the shape of h. It must depend only on its arguments. With the adjoint method the
/// tape stores a copy of it.
using OdeSlope = std::function<Tensor(double t, const Tensor& h, std::span<const Tensor> parameters)>;

/// The gradients of sum(a slope(t, h, parameters)) for h and for each parameter, computed by recorded operations.
using OdeSlopeGradients =
    std::function<std::vector<Tensor>(double t, const Tensor& h, std::span<const Tensor> parameters, const Tensor& a)>;

/// h at each of N times, [N, ...]: h(times[0]) is `start`, and dh/dt = slope(t, h, parameters). Times increase or
/// decrease. `start` and the parameters get gradients of any order. With the adjoint method, orders above the first
/// need `gradients`, which computes those of the slope (otherwise backward computes them with a tape). The result at a
/// time does not depend on later times: dopri5 steps past a time and interpolates the solution there (order 4), except
/// in the backward pass of the adjoint method, which stops at each time. Error if there is no time, or if the times
/// neither increase nor decrease.
Tensor odeint(const OdeSlope& slope, const Tensor& start, std::span<const Tensor> parameters,
              std::span<const double> times, const OdeOptions& options = {}, const OdeSlopeGradients& gradients = {});

}  // namespace tapegrad::nn
