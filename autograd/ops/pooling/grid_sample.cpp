// grid_sample: an element of the result is a weighted sum of elements of x, whose places and weights follow from the
// grid. A weight is the product of one weight per axis, which is a polynomial of the position, so its derivatives with
// respect to the grid have the same form: gradients of any order are sums with other weights.
#include <fmt/format.h>
#include <tapegrad/autograd/grid_sample.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tapegrad {
namespace {

const Op kGridSample{"grid_sample"};
const Op kGridAdd{"grid_add"};  // the gradient for x, which only backward records

constexpr int kMostAxes = 3, kMostTaps = 4;  // taps: elements of an axis that contribute to one of the result
constexpr int64_t kPoints = 128;             // of a block

struct Sampling {
  GridSampleOptions options;
  int axes = 2;
  int64_t n = 0, channels = 0, points = 0;
  std::array<int64_t, kMostAxes> size = {};    // of the image, the last axis first, as in the grid
  std::array<int, kMostAxes> derivative = {};  // of the weights, by axis

  int taps() const { return options.mode == GridMode::nearest ? 1 : options.mode == GridMode::bilinear ? 2 : 4; }
  int all_taps() const {
    int all = taps();
    for (int a = 1; a < axes; ++a) all *= taps();
    return all;
  }
  int64_t image() const {
    int64_t all = 1;
    for (int a = 0; a < axes; ++a) all *= size[static_cast<std::size_t>(a)];
    return all;
  }
  Sampling derived(int axis) const {
    Sampling next = *this;
    ++next.derivative[static_cast<std::size_t>(axis)];
    return next;
  }
};

// A position in elements of an axis, and its derivative with respect to the grid.
template <class T>
struct Position {
  T at, slope;
};

template <class T>
Position<T> clipped(Position<T> p, int64_t size) {
  const T last = static_cast<T>(size - 1);
  if (!(p.at > 0)) return {0, 0};  // NaN, too
  return p.at >= last ? Position<T>{last, 0} : p;
}

// Reflected at the edges of the axis until it is between them.
template <class T>
Position<T> reflected(Position<T> p, int64_t size, bool align_corners) {
  const T low = align_corners ? T{0} : T(-0.5), span = static_cast<T>(align_corners ? size - 1 : size);
  if (span == 0) return {0, 0};
  const T distance = std::abs(p.at - low), extra = std::fmod(distance, span);
  const bool odd = std::fmod(std::floor(distance / span), T{2}) != 0;
  const bool turned = (p.at < low) != odd;
  return clipped<T>({odd ? span - extra + low : extra + low, turned ? -p.slope : p.slope}, size);
}

template <class T>
Position<T> padded(const GridSampleOptions& options, Position<T> p, int64_t size) {
  switch (options.padding) {
    case GridPadding::border: return clipped(p, size);
    case GridPadding::reflection: return reflected(p, size, options.align_corners);
    default: return p;
  }
}

// The weights of four elements for a position t between the second and the third, or their derivative: Keys' filter.
template <class T>
void cubic_weights(T t, int derivative, T* weights) {
  constexpr T a = T(-0.75);
  // coefficients of 1, t, t^2, t^3
  constexpr T all[4][4] = {{0, a, -2 * a, a}, {1, 0, -(a + 3), a + 2}, {0, -a, 2 * a + 3, -(a + 2)}, {0, 0, a, -a}};
  for (int k = 0; k < 4; ++k) {
    const T(&c)[4] = all[k];
    weights[k] = derivative == 0   ? ((c[3] * t + c[2]) * t + c[1]) * t + c[0]
                 : derivative == 1 ? (3 * c[3] * t + 2 * c[2]) * t + c[1]
                 : derivative == 2 ? 6 * c[3] * t + 2 * c[2]
                 : derivative == 3 ? 6 * c[3]
                                   : T{0};
  }
}

// What an axis contributes to one point: its elements, -1 where there is none, and their weights.
template <class T>
struct AxisTaps {
  int64_t at[kMostTaps];
  T weight[kMostTaps];
};

// The element of an axis at a whole number, or -1.
template <class T>
int64_t element_at(T position, int64_t size) {
  return position >= 0 && position < static_cast<T>(size) ? static_cast<int64_t>(position) : -1;
}

template <class T>
T floor_of(T x) {
  if (!(std::abs(x) < T(1 << 23))) return std::floor(x);
  const T whole = static_cast<T>(static_cast<int32_t>(x));
  return whole > x ? whole - 1 : whole;
}

template <class T>
void set_taps(const Sampling& s, int axis, T grid, AxisTaps<T>& taps) {
  const auto i = static_cast<std::size_t>(axis);
  const int64_t size = s.size[i];
  const int derivative = s.derivative[i];
  const T length = static_cast<T>(s.options.align_corners ? size - 1 : size);
  Position<T> p{s.options.align_corners ? (grid + 1) / 2 * length : ((grid + 1) * length - 1) / 2, length / 2};
  const int count = s.taps();
  if (s.options.mode == GridMode::bicubic) {
    const T second = floor_of(p.at);
    for (int k = 0; k < count; ++k) {
      taps.at[k] = element_at(padded<T>(s.options, {second + static_cast<T>(k - 1), 1}, size).at, size);
    }
    cubic_weights(p.at - second, derivative, taps.weight);
  } else if (s.options.mode == GridMode::nearest) {
    taps.at[0] = element_at(std::nearbyint(padded(s.options, p, size).at), size);
    taps.weight[0] = derivative == 0 ? T{1} : T{0};
  } else {
    p = padded(s.options, p, size);
    const T first = floor_of(p.at), right = p.at - first;
    taps.at[0] = element_at(first, size);
    taps.at[1] = element_at(first + 1, size);
    taps.weight[0] = derivative == 0 ? 1 - right : derivative == 1 ? T{-1} : T{0};
    taps.weight[1] = derivative == 0 ? right : derivative == 1 ? T{1} : T{0};
  }
  for (int d = 0; d < derivative; ++d) {
    for (int k = 0; k < count; ++k) taps.weight[k] *= p.slope;
  }
}

// Places in the image and weights of a block of points.
template <class T, int kTaps>
struct Block {
  int64_t at[kPoints][kTaps];
  T weight[kPoints][kTaps];
  bool inside[kPoints];  // no place is -1
};

template <class T, int kTaps>
void set_block(const Sampling& s, const T* grid, int64_t points, Block<T, kTaps>& block) {
  AxisTaps<T> taps[kMostAxes];
  for (int64_t p = 0; p < points; ++p, grid += s.axes) {
    int64_t* const at = block.at[p];
    T* const weight = block.weight[p];
    at[0] = 0;
    weight[0] = 1;
    int count = 1;
    // From the first axis of the image to the last: the places of the next one within each place so far.
    for (int axis = s.axes - 1; axis >= 0; --axis) {
      AxisTaps<T>& own = taps[axis];
      set_taps(s, axis, grid[axis], own);
      for (int i = count - 1; i >= 0; --i) {
        const int64_t row = at[i];
        const T factor = weight[i];
        for (int k = 0; k < s.taps(); ++k) {
          at[i * s.taps() + k] =
              row < 0 || own.at[k] < 0 ? -1 : row * s.size[static_cast<std::size_t>(axis)] + own.at[k];
          weight[i * s.taps() + k] = factor * own.weight[k];
        }
      }
      count *= s.taps();
    }
    block.inside[p] = std::all_of(at, at + kTaps, [](int64_t place) { return place >= 0; });
  }
}

// The weighted sum of a point; elements outside of the image are zeros, whose product with a weight of NaN is NaN.
template <class T, int kTaps>
T sum_of(const Block<T, kTaps>& block, int64_t p, const T* x) {
  const int64_t* const at = block.at[p];
  const T* const weight = block.weight[p];
  T sum = 0;
  if (block.inside[p]) {
    for (int k = 0; k < kTaps; ++k) sum += weight[k] * x[at[k]];
  } else {
    for (int k = 0; k < kTaps; ++k) sum += weight[k] * (at[k] < 0 ? T{0} : x[at[k]]);
  }
  return sum;
}

// f(std::integral_constant<int, number of taps>)
template <class F>
void with_taps(const Sampling& s, F f) {
  switch (s.all_taps()) {
    case 1: return f(std::integral_constant<int, 1>());
    case 4: return f(std::integral_constant<int, 4>());
    case 8: return f(std::integral_constant<int, 8>());
    default: return f(std::integral_constant<int, 16>());
  }
}

// f(image, first point, number of points) for all blocks of points.
template <class F>
void each_block(const Sampling& s, int64_t work, F f) {
  const int64_t blocks = pieces_of(s.points, kPoints);
  parallel_for(s.n * blocks, rows_grain(kPoints * work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kPoints;
      f(i / blocks, first, std::min(kPoints, s.points - first));
    }
  });
}

// y [n, channels, points] = the weighted sums of x [n, channels, image].
template <class T>
void sample(const Sampling& s, const T* x, const T* grid, T* y) {
  with_taps(s, [&](auto taps) {
    each_block(s, s.channels + 8, [&](int64_t n, int64_t first, int64_t count) {
      Block<T, taps> block;
      set_block(s, grid + (n * s.points + first) * s.axes, count, block);
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        const T* const image = x + c * s.image();
        T* const to = y + c * s.points + first;
        for (int64_t p = 0; p < count; ++p) to[p] = sum_of(block, p, image);
      }
    });
  });
}

// x [n, channels, image] = the sums of y [n, channels, points] times their weights, in the order of the points.
template <class T>
void add(const Sampling& s, const T* y, const T* grid, T* x) {
  const int64_t group = s.n >= 4 ? s.channels : (s.channels + 3) / 4, groups = pieces_of(s.channels, group);
  std::fill_n(x, s.n * s.channels * s.image(), T{0});
  with_taps(s, [&](auto taps) {
    parallel_for(s.n * groups, 1, [&](int64_t begin, int64_t end) {
      Block<T, taps> block;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / groups, from = i % groups * group, to = std::min(from + group, s.channels);
        for (int64_t first = 0; first < s.points; first += kPoints) {
          const int64_t count = std::min(kPoints, s.points - first);
          set_block(s, grid + (n * s.points + first) * s.axes, count, block);
          for (int64_t c = n * s.channels + from; c < n * s.channels + to; ++c) {
            const T* const dy = y + c * s.points + first;
            T* const image = x + c * s.image();
            for (int64_t p = 0; p < count; ++p) {
              for (int k = 0; k < taps; ++k) {
                if (block.at[p][k] >= 0) image[block.at[p][k]] += block.weight[p][k] * dy[p];
              }
            }
          }
        }
      }
    });
  });
}

// dgrid [n, points, axes] = the sums over the channels of dy times the derivatives of y.
template <class T>
void slopes(const Sampling& s, const T* x, const T* grid, const T* dy, T* dgrid) {
  with_taps(s, [&](auto taps) {
    each_block(s, s.axes * (s.channels + 8), [&](int64_t n, int64_t first, int64_t count) {
      Block<T, taps> block;
      T sums[kPoints];
      for (int axis = 0; axis < s.axes; ++axis) {
        set_block(s.derived(axis), grid + (n * s.points + first) * s.axes, count, block);
        std::fill_n(sums, count, T{0});
        for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
          const T* const image = x + c * s.image();
          const T* const seed = dy + c * s.points + first;
          for (int64_t p = 0; p < count; ++p) sums[p] += seed[p] * sum_of(block, p, image);
        }
        for (int64_t p = 0; p < count; ++p) dgrid[(n * s.points + first + p) * s.axes + axis] = sums[p];
      }
    });
  });
}

Tensor sampled(const Sampling& s, const Tensor& x, const Tensor& grid, const Shape& spatial);
Tensor added(const Sampling& s, const Tensor& y, const Tensor& grid, const Shape& shape);

// The gradient for the grid of sum(dy * sampled(x, grid)).
Tensor grid_gradient(const Sampling& s, const Tensor& x, const Tensor& grid, const Tensor& dy) {
  if (s.options.mode == GridMode::nearest) return zeros(grid.shape(), grid.dtype());
  if (!Tape::current()) {
    const Tensor from = packed(x), at = packed(grid), seed = packed(dy),
                 dgrid = Tensor::empty(grid.shape(), grid.dtype());
    with_floating_type(x.dtype(), [&](auto t) {
      using T = decltype(t);
      slopes(s, from.data<T>(), at.data<T>(), seed.data<T>(), dgrid.mutable_data<T>());
    });
    return dgrid;
  }
  std::vector<Tensor> by_axis;
  const Shape spatial(std::vector<int64_t>(grid.shape().begin() + 1, grid.shape().end() - 1));
  for (int axis = 0; axis < s.axes; ++axis) {
    by_axis.push_back(sum(dy * sampled(s.derived(axis), x, grid, spatial), 1));
  }
  return stack(by_axis, -1);
}

Tensor sampled(const Sampling& s, const Tensor& x, const Tensor& grid, const Shape& spatial) {
  Shape shape{s.n, s.channels};
  for (const int64_t size : spatial) shape.push_back(size);
  const Tensor y = Tensor::empty(shape, x.dtype());
  const Tensor from = packed(x), at = packed(grid);
  with_floating_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    sample(s, from.data<T>(), at.data<T>(), y.mutable_data<T>());
  });
  const bool wants_x = needs_grad(x), wants_grid = needs_grad(grid);
  if (!wants_x && !wants_grid) return y;
  return record(
      kGridSample, y, {x, grid},
      [s, x = kept_if(wants_grid, x), grid, wants_x, from = x.shape()](const Tensor& dy) -> Grads {
        return {wants_x ? added(s, dy, grid, from) : Tensor(), x.defined() ? grid_gradient(s, x, grid, dy) : Tensor()};
      });
}

Tensor added(const Sampling& s, const Tensor& y, const Tensor& grid, const Shape& shape) {
  const Tensor x = Tensor::empty(shape, y.dtype());
  const Tensor from = packed(y), at = packed(grid);
  with_floating_type(y.dtype(), [&](auto t) {
    using T = decltype(t);
    add(s, from.data<T>(), at.data<T>(), x.mutable_data<T>());
  });
  const bool wants_y = needs_grad(y), wants_grid = needs_grad(grid);
  if (!wants_y && !wants_grid) return x;
  return record(kGridAdd, x, {y, grid}, [s, y = kept_if(wants_grid, y), grid, wants_y](const Tensor& dx) -> Grads {
    const Shape spatial(std::vector<int64_t>(grid.shape().begin() + 1, grid.shape().end() - 1));
    return {wants_y ? sampled(s, dx, grid, spatial) : Tensor(), y.defined() ? grid_gradient(s, dx, grid, y) : Tensor()};
  });
}

}  // namespace

Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options) {
  require_floating(kGridSample.name, {&x, &grid});
  const int axes = x.dim() == 5 ? 3 : 2;
  if ((x.dim() != 4 && x.dim() != 5) || grid.dim() != axes + 2 || grid.size(-1) != axes || grid.size(0) != x.size(0)) {
    kGridSample.fail(fmt::format(
        "expected x [N, C, H, W] and grid [N, OH, OW, 2], or x [N, C, D, H, W] and grid [N, OD, OH, OW, 3], "
        "got {} and {}",
        str(x.shape()), str(grid.shape())));
  }
  if (axes == 3 && options.mode == GridMode::bicubic) {
    kGridSample.fail(fmt::format("expected an image with bicubic, got a volume of shape {}", str(x.shape())));
  }
  Sampling s{.options = options, .axes = axes, .n = x.size(0), .channels = x.size(1)};
  for (int a = 0; a < axes; ++a) s.size[static_cast<std::size_t>(a)] = x.size(-1 - a);
  if (s.image() == 0) {
    kGridSample.fail(fmt::format("expected spatial sizes of 1 or more, got shape {}", str(x.shape())));
  }
  const Shape spatial(std::vector<int64_t>(grid.shape().begin() + 1, grid.shape().end() - 1));
  s.points = spatial.numel();
  return sampled(s, x, grid, spatial);
}

Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners) {
  constexpr std::string_view kName = "affine_grid";
  require_floating(kName, {&theta});
  const int axes = size.rank() - 2;
  const bool fits = (axes == 2 || axes == 3) && theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == axes &&
                    theta.size(2) == axes + 1;
  if (!fits) {
    fail(kName, fmt::format("expected theta [N, 2, 3] and size {{N, C, H, W}}, or theta [N, 3, 4] and size "
                            "{{N, C, D, H, W}}, got {} and {}",
                            str(theta.shape()), str(size)));
  }
  for (const int64_t length : size) {
    if (length < 1) fail(kName, fmt::format("expected sizes of 1 or more, got {}", str(size)));
  }
  // y[n, i] = theta[n, :, axes] + the sum over a of theta[n, :, a] times the coordinate a of place i
  Shape coefficient{size[0]};
  for (int a = 0; a < axes; ++a) coefficient.push_back(1);
  coefficient.push_back(axes);
  Tensor grid = theta.select(2, axes).reshape(coefficient);
  for (int a = 0; a < axes; ++a) {
    const int64_t n = size[size.rank() - 1 - a];
    const double end = n == 1 ? 0 : align_corners ? 1 : static_cast<double>(n - 1) / static_cast<double>(n);
    Shape along(std::vector<int64_t>(static_cast<std::size_t>(axes) + 1, 1));
    along[axes - 1 - a] = n;
    grid = grid + theta.select(2, a).reshape(coefficient) * linspace(-end, end, n, theta.dtype()).reshape(along);
  }
  return grid;
}

}  // namespace tapegrad
