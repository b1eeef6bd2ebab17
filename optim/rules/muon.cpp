// Muon.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/muon.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::optim {

namespace {

ParameterGroups matrices(ParameterGroups groups) {
  for (const ParameterGroup& group : groups) {
    for (const NamedTensor& p : group.parameters) {
      if (p.tensor.defined() && p.tensor.dim() != 2) {
        fail("muon", "expected parameters with two axes, got {} for \"{}\" (give the others to AdamW)",
             p.tensor.shape(), p.name);
      }
    }
  }
  return groups;
}

// Rounded to bfloat16, in float32.
Tensor rounded(const Tensor& x) { return x.to(kFloat32).to(kBFloat16).to(kFloat32); }

// A matrix with the singular vectors of g and singular values near 1.
Tensor orthogonal(const Tensor& g, const MuonOptions& options) {
  const bool tall = g.size(0) > g.size(1);
  Tensor x = rounded(tall ? g.t().contiguous() : g);
  x = rounded(x / maximum(rounded(sqrt(sum(x * x))), options.eps));
  const auto& [a, b, c] = options.coefficients;
  for (int i = 0; i < options.iterations; ++i) {
    const Tensor gram = rounded(matmul(x, x.t()));
    const Tensor mixed = rounded(b * gram + c * matmul(gram, gram));
    x = rounded(a * x + matmul(mixed, x));
  }
  return tall ? x.t().contiguous() : x;
}

double scale_of(MuonScale scale, const Tensor& p) {
  const double rows = static_cast<double>(p.size(0)), columns = static_cast<double>(p.size(1));
  switch (scale) {
    case MuonScale::match_adamw: return 0.2 * std::sqrt(std::max(rows, columns));
    case MuonScale::spectral: return std::sqrt(rows / columns);
    default: return std::sqrt(std::max(1.0, rows / columns));
  }
}

}  // namespace

Muon::Muon(ParameterGroups parameters, MuonOptions options)
    : Optimizer(matrices(std::move(parameters)), options.lr, options.weight_decay, {"momentum"}), options_(options) {
  require_in("muon", "momentum", options.momentum, kBelowOne);
  require_in("muon", "eps", options.eps, kNotNegative);
  require(options.iterations >= 1 && options.iterations < 100, "muon", "expected 1 to 99 iterations, got {}",
          options.iterations);
}

void Muon::update_all(const PoolVector<Slot*>& slots) {
  for (Slot* slot : slots) {
    Tensor& p = slot->parameter;
    if (p.numel() == 0) continue;
    const Tensor& g = slot->grad;
    Tensor& average = slot->buffers[0];
    average = average + (1 - options_.momentum) * (g - average);
    const Tensor direction = options_.nesterov ? g + options_.momentum * (average - g) : average;
    const double lr = group_lr(slot->group), scale = scale_of(options_.scale, p);
    const Tensor update = orthogonal(direction, options_).to(p.dtype());
    copy_into(p, p.detach() * (1 - lr * weight_decay_of(*slot)) - (lr * scale) * update);
  }
}

}  // namespace tapegrad::optim
