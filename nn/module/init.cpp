// Initialisers in PyTorch's arithmetic: bounds in double, random numbers by the generator.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/init.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn::init {

namespace {

constexpr std::string_view kInitName = "init";

Generator& generator_or_default(Generator* generator) { return generator ? *generator : default_generator(); }

double he_std(const Parameter& p, double slope, Fan fan) {
  const Fans f = fans(p);
  return std::sqrt(2 / (1 + slope * slope)) / std::sqrt(static_cast<double>(fan == Fan::in ? f.in : f.out));
}

double glorot_std(const Parameter& p, double gain) {
  const Fans f = fans(p);
  return gain * std::sqrt(2.0 / static_cast<double>(f.in + f.out));
}

}  // namespace

Fans fans(const Tensor& weight) {
  require(weight.dim() >= 2 && weight.numel() != 0, kInitName, "expected a weight [out, in, ...] with elements, got {}",
          weight.shape());
  const int64_t field = weight.numel() / (weight.size(0) * weight.size(1));
  return {weight.size(1) * field, weight.size(0) * field};
}

void uniform(Parameter& p, double low, double high, Generator* generator) {
  if (Skip::on()) return;
  with_floating_type(p->dtype(), [&](auto t) {
    generator_or_default(generator).uniform(p.mutable_data<decltype(t)>(), p->numel(), low, high);
  });
}

void normal(Parameter& p, double mean, double std, Generator* generator) {
  if (Skip::on()) return;
  with_floating_type(p->dtype(), [&](auto t) {
    generator_or_default(generator).normal(p.mutable_data<decltype(t)>(), p->numel(), mean, std);
  });
}

void constant(Parameter& p, double value) {
  if (Skip::on()) return;
  with_floating_type(p->dtype(),
                     [&]<class T>(T) { std::fill_n(p.mutable_data<T>(), p->numel(), static_cast<T>(value)); });
}

void xavier_uniform(Parameter& p, double gain, Generator* generator) {
  const double bound = std::sqrt(3.0) * glorot_std(p, gain);
  uniform(p, -bound, bound, generator);
}

void xavier_normal(Parameter& p, double gain, Generator* generator) { normal(p, 0, glorot_std(p, gain), generator); }

void kaiming_uniform(Parameter& p, double slope, Fan fan, Generator* generator) {
  const double bound = std::sqrt(3.0) * he_std(p, slope, fan);
  uniform(p, -bound, bound, generator);
}

void kaiming_normal(Parameter& p, double slope, Fan fan, Generator* generator) {
  normal(p, 0, he_std(p, slope, fan), generator);
}

void orthogonal(Parameter& p, double gain, Generator* generator) {
  const Fans f = fans(p);  // the Error of a vector
  static_cast<void>(f);
  normal(p, 0, 1, generator);
  if (Skip::on()) return;
  const PauseRecording pause;
  const Tensor drawn = p->reshape({p->size(0), -1});
  const bool wide = drawn.size(0) < drawn.size(1);
  const Qr factors = qr(wide ? drawn.t() : drawn);
  const Tensor q = factors.q * sign(diagonal(factors.r));  // with a positive diagonal of r there is one q
  p.set(((wide ? q.t() : q) * gain).reshape(p->shape()));
}

void trunc_normal(Parameter& p, double mean, double std, double low, double high, Generator* generator) {
  if (Skip::on()) return;
  p.set(truncated_normal(p->shape(), mean, std, low, high, p->dtype(), generator));
}

void eye(Parameter& p) {
  if (p->dim() != 2) fail(kInitName, "expected a parameter with two axes, got {}", p->shape());
  if (Skip::on()) return;
  const Tensor rows = arange(p->size(0)).unsqueeze(-1);
  p.set((rows == arange(p->size(1))).to(p->dtype()));
}

void dirac(Parameter& p, int64_t groups) {
  if (p->dim() < 3) fail(kInitName, "expected a weight [out, in, K, ...], got {}", p->shape());
  if (groups < 1 || p->size(0) % groups != 0) {
    fail(kInitName, "expected groups that divide the {} outputs, got {}", p->size(0), groups);
  }
  if (Skip::on()) return;
  const int64_t outputs = p->size(0) / groups, channels = p->size(1);
  Tensor centre = ones({}, p->dtype());  // of the kernel: one there, zeros elsewhere
  for (int axis = p->dim() - 1; axis >= 2; --axis) {
    const Tensor at = (arange(p->size(axis)) == static_cast<double>(p->size(axis) / 2)).to(p->dtype());
    centre = outer(at, centre.flatten());
  }
  Shape shape = p->shape();
  for (int axis = 2; axis < p->dim(); ++axis) shape[axis] = 1;
  const Tensor output = remainder(arange(p->size(0)), static_cast<double>(outputs)).unsqueeze(-1);
  const Tensor passes = (output == arange(channels)).to(p->dtype());
  Shape kernel = p->shape();
  kernel[0] = kernel[1] = 1;
  p.set(passes.reshape(shape) * centre.reshape(kernel));
}

}  // namespace tapegrad::nn::init
