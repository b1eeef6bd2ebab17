// grid_sample: an element of the result is a weighted sum of elements of x, whose places and weights follow from the
// grid. A weight is the product of one weight per axis, which is a polynomial of the position, so its derivatives with
// respect to the grid have the same form: gradients of any order are sums with other weights (grid_kernel.cpp).
#include <tapegrad/autograd/grid_sample.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/pooling/detail/grid_kernel.h>

#include <cstdint>
#include <vector>

namespace tapegrad {
namespace {

const Op kGridSample{"grid_sample"};
const Op kGridAdd{"grid_add"};  // the gradient for x, which only backward records

Tensor grid_sums(const Sampling& s, const Tensor& x, const Tensor& grid, const Shape& spatial);
Tensor grid_spread(const Sampling& s, const Tensor& y, const Tensor& grid, const Shape& shape);

// The gradient for the grid of sum(dy * grid_sums(x, grid)).
Tensor grid_gradient(const Sampling& s, const Tensor& x, const Tensor& grid, const Tensor& dy) {
  if (s.options.mode == GridMode::nearest) return zeros(grid.shape(), grid.dtype());
  if (!Tape::current()) {
    const Tensor from = packed(x), at = packed(grid), seed = packed(dy);
    const Tensor dgrid = Tensor::empty(grid.shape(), grid.dtype());
    grid_slopes(s, {.dtype = x.dtype(),
                    .x = from.raw_data(),
                    .grid = at.raw_data(),
                    .dy = seed.raw_data(),
                    .y = dgrid.mutable_raw_data()});
    return dgrid;
  }
  std::vector<Tensor> by_axis;
  const Shape spatial(std::vector<int64_t>(grid.shape().begin() + 1, grid.shape().end() - 1));
  for (int axis = 0; axis < s.axes; ++axis) {
    by_axis.push_back(sum(dy * grid_sums(s.derived(axis), x, grid, spatial), 1));
  }
  return stack(by_axis, -1);
}

Tensor grid_sums(const Sampling& s, const Tensor& x, const Tensor& grid, const Shape& spatial) {
  Shape shape{s.n, s.channels};
  for (const int64_t size : spatial) shape.push_back(size);
  const Tensor y = Tensor::empty(shape, x.dtype());
  const Tensor from = packed(x), at = packed(grid);
  grid_gather(s, {.dtype = x.dtype(), .x = from.raw_data(), .grid = at.raw_data(), .y = y.mutable_raw_data()});
  const bool wants_x = needs_grad(x), wants_grid = needs_grad(grid);
  if (!wants_x && !wants_grid) return y;
  return record(kGridSample, y, {x, grid},
                [s, x = kept_if(wants_grid, x), grid, wants_x, from = x.shape()](const Tensor& dy) -> Grads {
                  return {wants_x ? grid_spread(s, dy, grid, from) : Tensor(),
                          x.defined() ? grid_gradient(s, x, grid, dy) : Tensor()};
                });
}

Tensor grid_spread(const Sampling& s, const Tensor& y, const Tensor& grid, const Shape& shape) {
  const Tensor x = Tensor::empty(shape, y.dtype());
  const Tensor from = packed(y), at = packed(grid);
  grid_scatter(s, {.dtype = y.dtype(), .grid = at.raw_data(), .dy = from.raw_data(), .y = x.mutable_raw_data()});
  const bool wants_y = needs_grad(y), wants_grid = needs_grad(grid);
  if (!wants_y && !wants_grid) return x;
  return record(kGridAdd, x, {y, grid}, [s, y = kept_if(wants_grid, y), grid, wants_y](const Tensor& dx) -> Grads {
    const Shape spatial(std::vector<int64_t>(grid.shape().begin() + 1, grid.shape().end() - 1));
    return {wants_y ? grid_sums(s, dx, grid, spatial) : Tensor(),
            y.defined() ? grid_gradient(s, dx, grid, y) : Tensor()};
  });
}

void require_members(const GridSampleOptions& options) {
  const auto require = [](const char* what, auto given, auto last) {
    if (given >= decltype(given){} && given <= last) return;
    fail(kGridSample, "expected a {}, got {}", what, static_cast<int>(given));
  };
  require("GridMode", options.mode, GridMode::bicubic);
  require("GridPadding", options.padding, GridPadding::reflection);
}

}  // namespace

Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options) {
  require_floating(kGridSample.name, {&x, &grid});
  require_members(options);
  const int axes = x.dim() == 5 ? 3 : 2;
  if ((x.dim() != 4 && x.dim() != 5) || grid.dim() != axes + 2 || grid.size(-1) != axes || grid.size(0) != x.size(0)) {
    fail(kGridSample,
         "expected x [N, C, H, W] and grid [N, OH, OW, 2], or x [N, C, D, H, W] and grid [N, OD, OH, OW, 3], got {} "
         "and {}",
         x.shape(), grid.shape());
  }
  require(axes != 3 || options.mode != GridMode::bicubic, kGridSample,
          "expected an image with bicubic, got a volume of shape {}", x.shape());
  Sampling s{.options = options, .axes = axes, .n = x.size(0), .channels = x.size(1)};
  for (int a = 0; a < axes; ++a) s.size[static_cast<std::size_t>(a)] = x.size(-1 - a);
  if (s.image() > INT32_MAX) {  // places are integers as wide as an element
    fail(kGridSample, "expected at most {} elements per channel, got shape {}", INT32_MAX, x.shape());
  }
  require(s.image() != 0, kGridSample, "expected spatial sizes of 1 or more, got shape {}", x.shape());
  const Shape spatial(std::vector<int64_t>(grid.shape().begin() + 1, grid.shape().end() - 1));
  s.points = spatial.numel();
  return grid_sums(s, x, grid, spatial);
}

Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners) {
  constexpr std::string_view kName = "affine_grid";
  require_floating(kName, {&theta});
  const int axes = size.rank() - 2;
  const bool fits = (axes == 2 || axes == 3) && theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == axes &&
                    theta.size(2) == axes + 1;
  require(
      fits, kName,
      "expected theta [N, 2, 3] and size {{N, C, H, W}}, or theta [N, 3, 4] and size {{N, C, D, H, W}}, got {} and {}",
      theta.shape(), size);
  for (const int64_t length : size) {
    if (length < 1) fail(kName, "expected sizes of 1 or more, got {}", size);
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
