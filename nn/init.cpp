// Initialisers in PyTorch's arithmetic: bounds in double, random numbers by the generator.
#include <fmt/format.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/init.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn::init {

namespace {

constexpr std::string_view kWhere = "init";
thread_local int skips = 0;

Generator& generator_or_default(Generator* generator) { return generator ? *generator : default_generator(); }

double he_std(const Parameter& p, double slope) {
  return std::sqrt(2 / (1 + slope * slope)) / std::sqrt(static_cast<double>(fans(p).in));
}

double glorot_std(const Parameter& p, double gain) {
  const Fans f = fans(p);
  return gain * std::sqrt(2.0 / static_cast<double>(f.in + f.out));
}

}  // namespace

Skip::Skip() { ++skips; }
Skip::~Skip() { --skips; }
bool Skip::on() { return skips > 0; }

Fans fans(const Tensor& weight) {
  if (weight.dim() < 2 || weight.numel() == 0) {
    fail(kWhere, fmt::format("expected a weight [out, in, ...] with elements, got {}", str(weight.shape())));
  }
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
  with_floating_type(p->dtype(), [&](auto t) {
    using T = decltype(t);
    std::fill_n(p.mutable_data<T>(), p->numel(), static_cast<T>(value));
  });
}

void xavier_uniform(Parameter& p, double gain, Generator* generator) {
  const double bound = std::sqrt(3.0) * glorot_std(p, gain);
  uniform(p, -bound, bound, generator);
}

void xavier_normal(Parameter& p, double gain, Generator* generator) { normal(p, 0, glorot_std(p, gain), generator); }

void kaiming_uniform(Parameter& p, double slope, Generator* generator) {
  const double bound = std::sqrt(3.0) * he_std(p, slope);
  uniform(p, -bound, bound, generator);
}

void kaiming_normal(Parameter& p, double slope, Generator* generator) { normal(p, 0, he_std(p, slope), generator); }

}  // namespace tapegrad::nn::init
