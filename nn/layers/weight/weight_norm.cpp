// Parametrisations of a layer's weight: weight normalisation and spectral normalisation.
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/weight_norm.h>

namespace tapegrad::nn::detail {

namespace {

// The weight as a matrix, with `axis` as its rows.
Tensor as_matrix(const Tensor& weight, int64_t axis) {
  return (axis == 0 ? weight : movedim(weight, {axis}, {0})).flatten(1);
}

// u and v after power iterations with the matrix [rows, columns]. They stay where it maps them to 0: after a matrix of
// zeros they would never change again.
void iterate(const Tensor& matrix, Tensor& u, Tensor& v, int64_t iterations, double eps) {
  const auto turn = [eps](Tensor& to, const Tensor& product) {
    if (any(product != 0)) to = normalize(product, 2, 0, eps);
  };
  for (int64_t i = 0; i < iterations; ++i) {
    turn(u, matmul(matrix, v));
    turn(v, matmul(matrix.t(), u));
  }
}

}  // namespace

WeightInUse::WeightInUse(Parameter& weight, const Tensor& values) : weight_(weight), before_(weight.tensor()) {
  weight.substitute(values);
}
WeightInUse::~WeightInUse() { weight_.substitute(before_); }

Tensor take_values(Parameter& weight) {
  if (!weight.defined()) fail("parametrization", "expected a layer with a weight in floating point, got none");
  const Tensor values = weight.tensor();
  weight.substitute(Tensor::empty({}, values.dtype()).expand(values.shape()));
  return values.detach();
}

Tensor norm_except(const Tensor& weight, std::optional<int64_t> axis) {
  if (!axis) return norm(weight);
  const int kept = normal_axis("weight_norm", *axis, weight.shape());
  Axes others{-1};
  for (int i = 0; i < weight.dim(); ++i) {
    if (i != kept) others.push_back(i);
  }
  return norm(weight.unsqueeze(-1), 2, others, true).squeeze(-1);
}

Tensor nonzero_length(const Tensor& length) { return masked_fill(length, length.detach() == 0, 1); }

SpectralState::SpectralState(const Tensor& weight, const SpectralNormOptions& options, int64_t axis)
    : axis(normal_axis("spectral_norm", axis, weight.shape())), eps(options.eps) {
  require_positive("spectral_norm", "the number of power iterations", options.n_power_iterations);
  if (weight.dim() == 1) return;
  const PauseRecording pause;
  const Tensor matrix = as_matrix(weight, this->axis);
  Tensor first = normalize(randn({matrix.size(0)}), 2, 0, eps), second = normalize(randn({matrix.size(1)}), 2, 0, eps);
  iterate(matrix, first, second, 15 + options.n_power_iterations, eps);  // as PyTorch, which calls it once
  u = Buffer(std::move(first));
  v = Buffer(std::move(second));
}

Tensor SpectralState::normalized(const Tensor& weight, int64_t iterations) const {
  if (weight.dim() == 1) return normalize(weight, 2, 0, eps);
  const Tensor matrix = as_matrix(weight, axis);
  Tensor first = u.tensor(), second = v.tensor();
  if (iterations > 0) {
    const PauseRecording pause;
    iterate(matrix.detach(), first, second, iterations, eps);
    u.set(first);
    v.set(second);
  }
  return weight / nonzero_length(sum(first * matmul(matrix, second)));
}

}  // namespace tapegrad::nn::detail
