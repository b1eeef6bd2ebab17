// Solutions of ordinary differential equations that gradients flow through. Chen et al. 2018, "Neural Ordinary
// Differential Equations".
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace tapegrad::nn {

///   rk4     the classical Runge-Kutta method of order 4, with steps of equal length
///   dopri5  Dormand, Prince 1980: order 5, with steps as long as the tolerance allows
enum class OdeSolver { rk4, dopri5 };

inline constexpr std::string_view kOdeSolverNames[] = {"rk4", "dopri5"};
/// Error for an unknown name; it lists the known ones.
OdeSolver ode_solver_named(std::string_view name);

struct OdeOptions {
  OdeSolver solver = OdeSolver::rk4;
  int64_t steps = 1;        ///< rk4: steps between two of the times
  double tolerance = 1e-5;  ///< dopri5: of the error of a step, absolute plus relative to the solution
  /// Gradients by the adjoint method instead of through the steps: nothing is kept between two of the times, and
  /// backward solves a second equation from the last time to the first. The gradients of both agree as far as the
  /// solutions are exact.
  bool adjoint = false;

  /// Error that names the first invalid member.
  void check() const;
};

/// The slope dh/dt at time t: of the shape of h, and a function of its arguments alone. With the adjoint method the
/// tape keeps a copy of it.
using OdeSlope = std::function<Tensor(double t, const Tensor& h, std::span<const Tensor> parameters)>;

/// The gradients of the sum of a slope(t, h, parameters), by h and by each parameter, made of recorded operations.
using OdeSlopeGradients =
    std::function<std::vector<Tensor>(double t, const Tensor& h, std::span<const Tensor> parameters, const Tensor& a)>;

/// h at each of N times, [N, ...]: h(times[0]) is `start`, and dh/dt = slope(t, h, parameters). Times rise or fall.
/// Gradients flow to `start` and to the parameters, to any order; by the adjoint method to more than the
/// first only where `gradients` says those of the slope (otherwise a tape finds them, inside of backward). The result
/// at a time does not depend on the times after it: dopri5 steps past a time and reads the solution in between (its
/// interpolant of order 4), except for the way back of the adjoint method, which stops at each time. Error for no time,
/// and for times that do neither rise nor fall.
Tensor odeint(const OdeSlope& slope, const Tensor& start, std::span<const Tensor> parameters,
              std::span<const double> times, const OdeOptions& options = {}, const OdeSlopeGradients& gradients = {});

}  // namespace tapegrad::nn
