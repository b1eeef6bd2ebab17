// RoPE: queries and keys are rotated by angles that grow with the position.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/positions/detail/kind.h>
#include <tapegrad/nn/rope.h>

namespace tapegrad::nn {

namespace {

// The angles of RoPE, float64 [length, pairs].
Tensor angle_table(int64_t length, std::span<const double> speeds, int64_t start) {
  const auto pairs = static_cast<int64_t>(speeds.size());
  const Tensor angles = Tensor::empty({length, pairs}, kFloat64);
  double* out = angles.mutable_data<double>();
  for (int64_t t = start; t < start + length; ++t) {
    for (const double speed : speeds) *out++ = static_cast<double>(t) * speed;
  }
  return angles;
}

}  // namespace

double ntk_base(double base, double scale, int64_t head_dim) {
  if (scale == 1) return base;
  if (head_dim <= 2) fail(detail::kPositions, "ntk_scale expects heads of more than 2 elements, got {}", head_dim);
  const auto d = static_cast<double>(head_dim);
  return base * fixed::pow(scale, d / (d - 2));
}

std::vector<double> rope_speeds(int64_t head_dim, double base) {
  require(head_dim >= 2 && head_dim % 2 == 0, detail::kPositions, "expected heads of an even size for rope, got {}",
          head_dim);
  std::vector<double> speeds;
  for (int64_t i = 0; i < head_dim; i += 2) {
    speeds.push_back(fixed::pow(base, -static_cast<double>(i) / static_cast<double>(head_dim)));
  }
  return speeds;
}

Angles rope_angles(int64_t length, int64_t head_dim, int64_t start, double base, DType dtype) {
  return rope_angles(length, rope_speeds(head_dim, base), start, dtype);
}

Angles rope_angles(int64_t length, std::span<const double> speeds, int64_t start, DType dtype) {
  const Tensor angles = angle_table(length, speeds, start);
  const Tensor cosines = Tensor::empty(angles.shape(), kFloat64), sines = Tensor::empty(angles.shape(), kFloat64);
  const double* angle = angles.data<double>();
  double *cosine = cosines.mutable_data<double>(), *sine = sines.mutable_data<double>();
  for (int64_t i = 0; i < angles.numel(); ++i) {
    cosine[i] = fixed::cos(angle[i]);
    sine[i] = fixed::sin(angle[i]);
  }
  return {cosines.to(dtype), sines.to(dtype)};
}

Tensor rotate_pairs(const Tensor& x, const Tensor& cosines, const Tensor& sines, bool halves) {
  if (halves) {
    const int64_t pairs = x.size(-1) / 2;
    const Tensor a = narrow(x, -1, 0, pairs), b = narrow(x, -1, pairs, pairs);
    return cat({a * cosines - b * sines, a * sines + b * cosines}, -1);
  }
  Shape pairs = x.shape();  // [..., T, D] -> [..., T, D/2, 2]
  pairs[pairs.rank() - 1] /= 2;
  pairs.push_back(2);
  const Tensor split = x.reshape(pairs);
  const Tensor a = split.select(-1, 0), b = split.select(-1, 1);
  return stack({a * cosines - b * sines, a * sines + b * cosines}, -1).reshape(x.shape());
}

Tensor rope(const Tensor& x, int64_t start, double base) {
  if (x.dim() < 2) fail(detail::kPositions, "expected x [..., T, D], got {}", x.shape());
  const Angles angles = rope_angles(x.size(-2), x.size(-1), start, base, x.dtype());
  return rotate_pairs(x, angles.cosines, angles.sines);
}

namespace {

struct Rotation final : RelativeEncoding {
  Rotation(int64_t head_dim, const RopeOptions& o) : head_dim(head_dim), base(ntk_base(o.base, o.ntk_scale, head_dim)) {
    rope_speeds(head_dim, base);  // an Error for an odd head_dim
  }
  PositionBias operator()(int64_t queries, int64_t, int64_t start, DType dtype, const Tensor& scale) const override {
    PositionBias out{.start = start};
    if (scale.defined()) {
      const Tensor angles = angle_table(queries, rope_speeds(head_dim, base), start).to(dtype) * scale;
      out.cosines = cos(angles);
      out.sines = sin(angles);
    } else {
      Angles angles = rope_angles(queries, head_dim, start, base, dtype);
      out.cosines = std::move(angles.cosines);
      out.sines = std::move(angles.sines);
    }
    return out;
  }
  void visit(auto&&) {}

  int64_t head_dim;
  double base;
};

}  // namespace

struct RopeKind final : PositionKind {
  RopeKind() : PositionKind("rope", "rotates queries and keys", Role::relative) {}
  void list(PositionOptions& o, Fields& f) const override {
    f.add("rope-base", "rope: the slowest pair rotates once in about 2 pi times this number of positions",
          o.of<RopeOptions>().base, {.least = 1, .open_below = true});
    list_stretching(o, f);
  }
  void list_stretching(PositionOptions& o, Fields& f) const override {
    f.add("ntk-scale", "rope: factor by which inputs are longer than in training (NTK-aware scaling)",
          o.of<RopeOptions>().ntk_scale, {.least = 1});
  }
  void check_sizes(const PositionSizes& sizes, const PositionOptions& options, const Wrong& wrong) const override {
    if (sizes.head_dim % 2 != 0) {
      wrong("positions",
            fmt::format("expected heads of an even size for rope, got {}{}", sizes.head_dim, sizes.head_dim_from));
    }
    if (options.of<RopeOptions>().ntk_scale != 1 && sizes.head_dim <= 2) {
      wrong("ntk_scale", fmt::format("expected heads of more than 2 elements, got {}", sizes.head_dim));
    }
  }
  AnyOf<RelativeEncoding> relative(const PositionSizes& sizes, const PositionOptions& o) const override {
    return Rotation(sizes.head_dim, o.of<RopeOptions>());
  }
};
template const PositionKind& position_kind<RopeKind>();

}  // namespace tapegrad::nn
