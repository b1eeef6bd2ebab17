// Sines and cosines of many wavelengths.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/positions/detail/kind.h>
#include <tapegrad/nn/sinusoidal_positions.h>

namespace tapegrad::nn {

SinusoidalPositions::SinusoidalPositions(int64_t max_positions, int64_t dim)
    : pe(sinusoidal_table(max_positions, dim)) {}

Tensor SinusoidalPositions::operator()(const Tensor& x) const {
  if (x.dim() < 2 || x.size(-1) != pe->size(1)) {
    fail(detail::kPositions, "expected x [..., T, {}], got {}", pe->size(1), x.shape());
  }
  detail::require_within(x.size(-2), pe->size(0));
  return x + narrow(pe, 0, 0, x.size(-2));
}

Tensor sinusoidal_table(int64_t length, int64_t dim, int64_t start) {
  const Tensor table = Tensor::empty(detail::table_shape(length, dim));
  float* row = table.mutable_data<float>();
  const auto step = static_cast<float>(-(fixed::log(10000.0) / static_cast<double>(dim)));
  for (int64_t t = start; t < start + length; ++t, row += dim) {
    for (int64_t i = 0; i < dim; i += 2) {
      const float angle = static_cast<float>(t) * fixed::exp(static_cast<float>(i) * step);
      row[i] = fixed::sin(angle);
      if (i + 1 < dim) row[i + 1] = fixed::cos(angle);
    }
  }
  return table;
}

namespace {

struct AddedSinusoids final : AddedEncoding {
  Tensor operator()(const Tensor& x, int64_t start, const Tensor&, KVCache*) const override {
    return sinusoidal_table(x.size(1), x.size(-1), start).to(x.dtype());
  }
  void visit(auto&&) {}
};

}  // namespace

struct SinusoidalKind final : PositionKind {
  SinusoidalKind() : PositionKind("sinusoidal", "adds sines and cosines", Role::added) {}
  bool ignores_tokens() const override { return true; }
  AnyOf<AddedEncoding> added(const PositionSizes&, const PositionOptions&) const override { return AddedSinusoids(); }
};
template const PositionKind& position_kind<SinusoidalKind>();

}  // namespace tapegrad::nn
