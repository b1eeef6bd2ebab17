// The selective state space of Mamba, made of a linear scan.
// build: -Os
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/scan.h>

namespace tapegrad {
namespace {

constexpr std::string_view kSelectiveScan = "selective_scan";

void require_sizes(const Tensor& u, const Tensor& delta, const Tensor& a, const Tensor& b, const Tensor& c) {
  const bool fit = u.dim() == 3 && delta.shape() == u.shape() && a.dim() == 2 && a.size(0) == u.size(2) &&
                   b.shape() == Shape{u.size(0), u.size(1), a.size(1)} && c.shape() == b.shape();
  require(fit, kSelectiveScan, "expected u and delta [B, L, E], a [E, N], b and c [B, L, N], got {}, {}, {}, {} and {}",
          u.shape(), delta.shape(), a.shape(), b.shape(), c.shape());
}

}  // namespace

Tensor selective_scan(const Tensor& u, const Tensor& delta, const Tensor& a, const Tensor& b, const Tensor& c,
                      const Tensor& d) {
  require_sizes(u, delta, a, b, c);
  if (d.defined() && !(d.shape() == Shape{u.size(2)})) {
    fail(kSelectiveScan, "expected d [{}], got {}", u.size(2), d.shape());
  }
  const Tensor decay = exp(delta.unsqueeze(-1) * a), moved = (delta * u).unsqueeze(-1), to_states = b.unsqueeze(2);
  const Tensor h = linear_scan(decay, moved * to_states, 1);  // [B, L, E, N]
  const Tensor y = sum(h * c.unsqueeze(2), -1);
  if (!d.defined()) return y;
  return y + u * d;
}

}  // namespace tapegrad
