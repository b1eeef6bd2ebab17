// Complex waves of learned amplitude, frequency and phase.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/complex_positions.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <vector>

namespace tapegrad::nn {

ComplexPositions::ComplexPositions(int64_t dim) {
  detail::checked_dim(dim);
  if (dim % 2 != 0) fail(detail::kPositions, "expected an even width for complex numbers, got {}", dim);
  const int64_t pairs = dim / 2;
  std::vector<double> frequencies;
  for (int64_t k = 0; k < pairs; ++k) {
    frequencies.push_back(fixed::pow(10000.0, -2.0 * static_cast<double>(k) / static_cast<double>(dim)));
  }
  amplitude = Parameter(ones({pairs}));
  frequency = Parameter(tensor(frequencies, {pairs}).to(kFloat32));
  phase = Parameter(zeros({pairs}));
}

Tensor ComplexPositions::operator()(int64_t length, int64_t start) const {
  const Tensor at = arange(static_cast<double>(start), static_cast<double>(start + length), 1, frequency->dtype());
  const Tensor angle = at.reshape({length, 1}) * frequency + phase;  // [length, pairs]
  return stack({amplitude * cos(angle), amplitude * sin(angle)}, -1).reshape({length, 2 * frequency->size(0)});
}

namespace {

struct AddedWaves final : AddedEncoding {
  explicit AddedWaves(int64_t dim) : waves(dim) {}
  Tensor operator()(const Tensor& x, int64_t start, const Tensor&, KVCache*) const override {
    return waves(x.size(1), start);
  }
  void visit(auto&& field) { field("complex", waves); }

  ComplexPositions waves;
};

}  // namespace

struct ComplexKind final : PositionKind {
  ComplexKind() : PositionKind("complex", "adds learned waves", Role::added) {}
  void check_sizes(const PositionSizes& sizes, const PositionOptions&, const Wrong& wrong) const override {
    if (sizes.width % 2 == 0) return;
    wrong("positions", fmt::format("expected an even width for complex numbers, got {}", sizes.width));
  }
  AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions&) const override {
    return AddedWaves(sizes.width);
  }
};
template const PositionKind& position_kind<ComplexKind>();

}  // namespace tapegrad::nn
