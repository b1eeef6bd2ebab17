// The neural spline flow of bayesiains' nflows (MIT licence, github.com/bayesiains/nflows, version 0.14), composed as
// in bayesiains/nsf (MIT licence), with the names of its parameters, so that its weights load.
//
// A density that is a chain of invertible transforms of normal noise: permutations, linear maps, and rational-quadratic
// splines whose knots depend on the features that they leave alone. Durkan, Bekasov, Murray, Papamakarios 2019.
#pragma once

#include <tapegrad/tapegrad.h>

#include <cmath>
#include <numbers>
#include <utility>

namespace ported {

namespace nn = tapegrad::nn;
using tapegrad::Tensor;

struct Mapped {
  Tensor y;        // [B, features]
  Tensor log_det;  // [B]: log |det dy/dx|
};
using Transform = nn::AnyOf<Mapped(const Tensor& x, bool inverse)>;

struct Composite {
  nn::List<Transform> _transforms;
  Mapped operator()(const Tensor& x, bool inverse) const {
    Mapped all{x, tapegrad::zeros({x.size(0)}, x.dtype())};
    for (std::size_t i = 0; i < _transforms.size(); ++i) {
      const Mapped next = _transforms[inverse ? _transforms.size() - 1 - i : i](all.y, inverse);
      all = {next.y, all.log_det + next.log_det};
    }
    return all;
  }
};

struct RandomPermutation {
  int64_t features;
  nn::Buffer _permutation{tapegrad::randperm(features)};
  Mapped operator()(const Tensor& x, bool inverse) const {
    const Tensor& order = _permutation;
    return {x(tapegrad::all, inverse ? argsort(order) : order), tapegrad::zeros({x.size(0)}, x.dtype())};
  }
};

struct LULinear {  // y = L U x + bias
  int64_t features;
  double eps = 1e-3;
  nn::Parameter bias{tapegrad::zeros({features})};
  nn::Parameter lower_entries{tapegrad::zeros({features * (features - 1) / 2})};
  nn::Parameter upper_entries{tapegrad::zeros({features * (features - 1) / 2})};
  nn::Parameter unconstrained_upper_diag{tapegrad::full({features}, std::log(std::exp(1 - eps) - 1))};
  Mapped operator()(const Tensor& x, bool inverse) const {
    const Tensor diagonal = softplus(unconstrained_upper_diag) + eps, square = tapegrad::ones({features, features});
    Tensor lower = tapegrad::eye(features, x.dtype()), upper = diag(diagonal);
    lower(tril(square, -1) > 0) = lower_entries;
    upper(triu(square, 1) > 0) = upper_entries;
    const Tensor log_det = sum(log(diagonal)).expand({x.size(0)});
    if (!inverse) return {linear(linear(x, upper), lower, bias), log_det};
    const Tensor z = triangular_solve(lower, (x - bias).t(), {.unitriangular = true});
    return {triangular_solve(upper, z, {.upper = true}).t(), -log_det};
  }
};

struct ResidualBlock {
  int64_t features;
  double p = 0;
  nn::List<nn::Linear> linear_layers = nn::repeat<nn::Linear>(2, features, features);
  nn::Dropout dropout{p};
  Tensor operator()(const Tensor& x) const { return x + linear_layers[1](dropout(relu(linear_layers[0](relu(x))))); }
};

struct ResidualNet {
  int64_t in, out, hidden, count = 2;
  double p = 0;
  nn::Linear initial_layer{in, hidden};
  nn::List<ResidualBlock> blocks = nn::repeat<ResidualBlock>(count, hidden, p);
  nn::Linear final_layer{hidden, out};
  Tensor operator()(const Tensor& x) const {
    Tensor y = initial_layer(x);
    for (const ResidualBlock& block : blocks) y = block(y);
    return final_layer(y);
  }
};

/// A spline of x [...] from [-bound, bound] onto itself, linear outside. parameters [..., 3 bins - 1]: widths and
/// heights of the bins, the slopes at the inner knots.
struct RationalQuadraticSpline {
  int64_t bins;
  double bound = 1, scale = 1, least_width = 1e-3, least_height = 1e-3, least_slope = 1e-3;

  // The edges of the bins, [..., bins + 1].
  Tensor edges(const Tensor& parameters, double least) const {
    const Tensor widths = least + (1 - least * double(bins)) * softmax(parameters * scale, -1);
    Tensor edges = 2 * bound * pad(cumsum(widths, -1), {1, 0}) - bound;
    edges(tapegrad::ellipsis, 0) = -bound;
    edges(tapegrad::ellipsis, -1) = bound;
    return edges;
  }
  // y and log |dy/dx|, in the shape of x.
  Mapped operator()(const Tensor& x, const Tensor& parameters, bool inverse) const {
    using tapegrad::ellipsis, tapegrad::range, tapegrad::kAll;
    const auto parts = split(parameters, {bins, bins, bins - 1}, -1);
    const Tensor xs = edges(parts[0], least_width), ys = edges(parts[1], least_height);
    const Tensor slopes = least_slope + softplus(pad(parts[2], {1, 1}, tapegrad::PadMode::constant,
                                                     std::log(std::exp(1 - least_slope) - 1)));
    const Tensor inside = x >= -bound && x <= bound, at = clamp(x, -bound, bound);
    const Tensor bin = clamp(searchsorted(inverse ? ys : xs, at.unsqueeze(-1), true) - 1, 0, double(bins - 1));
    const auto of = [&](const Tensor& t, int64_t next = 0) { return gather(t, -1, bin + double(next)).squeeze(-1); };
    const Tensor left = of(xs), width = of(xs, 1) - left, low = of(ys), height = of(ys, 1) - low;
    const Tensor slope = height / width, begin = of(slopes), end = of(slopes, 1), bend = begin + end - 2 * slope;
    Tensor t;  // where x, or y, is in its bin: 0 to 1
    if (inverse) {
      const Tensor from = at - low, a = from * bend + height * (slope - begin), b = height * begin - from * bend,
                   c = -slope * from;
      t = 2 * c / (-b - sqrt(square(b) - 4 * a * c));
    } else {
      t = (at - left) / width;
    }
    const Tensor mixed = t * (1 - t), denominator = slope + bend * mixed;
    const Tensor y = inverse ? t * width + left : low + height * (slope * square(t) + begin * mixed) / denominator;
    const Tensor derivative = square(slope) * (end * square(t) + 2 * slope * mixed + begin * square(1 - t));
    const Tensor log_slope = log(derivative) - 2 * log(denominator);
    return {where(inside, y, x), where(inside, inverse ? -log_slope : log_slope, 0)};
  }
};

struct NsfOptions {
  int64_t features, hidden_features = 64, num_flow_steps = 4, num_transform_blocks = 2, num_bins = 8;
  double tail_bound = 3, dropout = 0;
};

/// Transforms the features of even numbers, or of odd ones, given the others.
struct SplineCoupling {
  NsfOptions options;
  bool even;
  nn::Buffer identity_features{tapegrad::arange(even ? 1 : 0, double(options.features), 2)};
  nn::Buffer transform_features{tapegrad::arange(even ? 0 : 1, double(options.features), 2)};
  ResidualNet transform_net{identity_features->numel(), transform_features->numel() * (3 * options.num_bins - 1),
                            options.hidden_features, options.num_transform_blocks, options.dropout};
  Mapped operator()(Tensor x, bool inverse) const {
    const Tensor parameters =
        transform_net(x(tapegrad::all, identity_features)).reshape({x.size(0), -1, 3 * options.num_bins - 1});
    const double scale = 1 / std::sqrt(double(options.hidden_features));
    const Mapped moved = RationalQuadraticSpline{options.num_bins, options.tail_bound, scale}(
        x(tapegrad::all, transform_features), parameters, inverse);
    x(tapegrad::all, transform_features) = moved.y;
    return {x, sum(moved.log_det, -1)};
  }
};

struct NeuralSplineFlow {
  NsfOptions options;
  Composite _transform = make_transform();

  /// x [B, features] -> [B].
  Tensor log_prob(const Tensor& x) const {
    const Mapped noise = _transform(x, false);
    return noise.log_det - 0.5 * (sum(square(noise.y), -1) + double(options.features) * std::log(2 * std::numbers::pi));
  }
  Tensor sample(int64_t count) const { return _transform(tapegrad::randn({count, options.features}), true).y; }

 private:
  Composite make_transform() const {
    const auto linear = [this] {
      Composite made;
      made._transforms.emplace_back(RandomPermutation{options.features});
      made._transforms.emplace_back(LULinear{options.features});
      return made;
    };
    Composite flow;
    for (int64_t i = 0; i < options.num_flow_steps; ++i) {
      Composite step;
      step._transforms.emplace_back(linear());
      step._transforms.emplace_back(SplineCoupling{options, i % 2 == 0});
      flow._transforms.emplace_back(std::move(step));
    }
    flow._transforms.emplace_back(linear());
    return flow;
  }
};

}  // namespace ported
