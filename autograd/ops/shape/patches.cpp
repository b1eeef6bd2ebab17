// Patches of images: as columns, added back, and exchanged with channels.
// build: -O2
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/patches.h>

#include <algorithm>
#include <string_view>

namespace tapegrad {
namespace {

const Op kUnfold2d{"unfold2d"};
const Op kFold2d{"fold2d"};

// One axis: `count` patches of `kernel` elements in an image of `size`.
struct PatchAxis {
  int64_t size, kernel, stride, padding, dilation, count;

  // The patches [begin, end) whose element k is in the image, at patch * stride + offset(k).
  int64_t offset(int64_t k) const { return k * dilation - padding; }
  int64_t begin(int64_t k) const { return offset(k) >= 0 ? 0 : std::min((-offset(k) - 1) / stride + 1, count); }
  int64_t end(int64_t k) const { return offset(k) >= size ? 0 : std::min((size - 1 - offset(k)) / stride + 1, count); }
};

// Patches of `planes` images.
struct Patches {
  int64_t planes;
  PatchAxis rows, cols;

  int64_t image() const { return rows.size * cols.size; }
  int64_t places() const { return rows.count * cols.count; }
  int64_t columns() const { return rows.kernel * cols.kernel * places(); }
};

PatchAxis patch_axis(const Op& op, int64_t size, const PerAxis<int64_t>& kernel_size, const FoldOptions& options,
                     int axis) {
  const auto checked = [&](std::string_view what, int64_t value, int64_t least) {
    // Positions, products and sums of these, must fit into 64 bits.
    require(value >= least && value <= INT32_MAX, op, "expected {} between {} and {}, got {}", what, least, INT32_MAX,
            value);
    return value;
  };
  PatchAxis a{.size = size,
              .kernel = checked("kernel_size", kernel_size[axis], 1),
              .stride = checked("stride", options.stride[axis], 1),
              .padding = checked("padding", options.padding[axis], 0),
              .dilation = checked("dilation", options.dilation[axis], 1),
              .count = 0};
  const int64_t room = size + 2 * a.padding - (a.kernel - 1) * a.dilation - 1;
  require(room >= 0, op, "expected patches of at most {} elements along a padded axis, got {}", size + 2 * a.padding,
          size + 2 * a.padding - room);
  a.count = room / a.stride + 1;
  return a;
}

void require_two(const Op& op, const PerAxis<int64_t>& kernel_size, const FoldOptions& options) {
  kernel_size.require_axes(op.name, "kernel_size", 2);
  options.dilation.require_axes(op.name, "dilation", 2);
  options.padding.require_axes(op.name, "padding", 2);
  options.stride.require_axes(op.name, "stride", 2);
}

// Sizes of the columns of one image are products that must fit into 64 bits.
void require_countable(const Op& op, int64_t channels, const Patches& p) {
  checked_numel(op.name, {channels, p.rows.kernel, p.cols.kernel, p.rows.count, p.cols.count});
}

// f(image, column, step, count) for each run of elements that is in one row of the image and of the columns.
void each_run(const Patches& p, auto f) {
  for (int64_t i = 0; i < p.rows.kernel; ++i) {
    for (int64_t j = 0; j < p.cols.kernel; ++j) {
      const int64_t begin = p.cols.begin(j), count = p.cols.end(j) - begin;
      if (count <= 0) continue;
      const int64_t column = (i * p.cols.kernel + j) * p.places();
      for (int64_t row = p.rows.begin(i); row < p.rows.end(i); ++row) {
        f((row * p.rows.stride + p.rows.offset(i)) * p.cols.size + begin * p.cols.stride + p.cols.offset(j),
          column + row * p.cols.count + begin, count);
      }
    }
  }
}

template <class T>
void take_patches(const Patches& p, const T* x, T* y) {
  const bool partial = p.rows.padding > 0 || p.cols.padding > 0;
  parallel_for_each(p.planes, rows_grain(p.columns()), [&](int64_t plane) {
    const T* const image = x + plane * p.image();
    T* const columns = y + plane * p.columns();
    if (partial) std::fill_n(columns, p.columns(), T{0});
    each_run(p, [&, step = p.cols.stride](int64_t from, int64_t to, int64_t count) {
      if (step == 1) {
        std::copy_n(image + from, count, columns + to);
      } else {
        for (int64_t k = 0; k < count; ++k) columns[to + k] = image[from + k * step];
      }
    });
  });
}

template <class T>
void add_patches(const Patches& p, const T* x, T* y) {
  parallel_for_each(p.planes, rows_grain(p.columns()), [&](int64_t plane) {
    const T* const columns = x + plane * p.columns();
    T* const image = y + plane * p.image();
    std::fill_n(image, p.image(), T{0});
    each_run(p, [&, step = p.cols.stride](int64_t to, int64_t from, int64_t count) {
      const T* const values = columns + from;
      T* const sums = image + to;
      if (step == 1) {
        for (int64_t k = 0; k < count; ++k) sums[k] += values[k];
      } else {
        for (int64_t k = 0; k < count; ++k) sums[k * step] += values[k];
      }
    });
  });
}

// The columns of an image, or the image of columns: each is the gradient of the other.
Tensor patched(const Op& op, const Tensor& x, const Patches& patches, const Shape& shape) {
  const Tensor y = Tensor::empty(shape, x.dtype());
  if (y.numel() > 0) {
    const Tensor from = packed(x);
    with_floating_type(x.dtype(), [&]<class T>(T) {
      const auto run = &op == &kUnfold2d ? take_patches<T> : add_patches<T>;
      run(patches, from.data<T>(), y.mutable_data<T>());
    });
  }
  return record(op, y, {x}, [&op, patches, from = x.shape()](const Tensor& dy) -> Grads {
    return patched(&op == &kUnfold2d ? kFold2d : kUnfold2d, dy, patches, from);
  });
}

int64_t leading(const Shape& shape, int count) {
  int64_t n = 1;
  for (int i = 0; i < count; ++i) n *= shape[i];
  return n;
}

int64_t checked_factor(std::string_view where, const Tensor& x, int64_t factor) {
  if (x.dim() < 3) fail(where, "expected x [..., C, H, W], got shape {}", x.shape());
  require(factor >= 1 && factor <= INT32_MAX, where, "expected a factor between 1 and {}, got {}", INT32_MAX, factor);
  return factor;
}

// x [..., A, B, C] as [..., a, b, c, d, e], permuted to `order` of the last axes, then as [..., A', B', C'].
Tensor rearranged(const Tensor& x, std::initializer_list<int64_t> split, std::initializer_list<int> order,
                  std::initializer_list<int64_t> merged) {
  const int lead = x.dim() - 3;
  Shape apart, together;
  Dims axes;
  for (int i = 0; i < lead; ++i) {
    apart.push_back(x.shape()[i]);
    together.push_back(x.shape()[i]);
    axes.push_back(i);
  }
  for (const int64_t size : split) apart.push_back(size);
  for (const int axis : order) axes.push_back(lead + axis);
  for (const int64_t size : merged) together.push_back(size);
  return x.reshape(apart).permute(axes).reshape(together);
}

}  // namespace

Tensor unfold2d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const FoldOptions& options) {
  require_two(kUnfold2d, kernel_size, options);
  require(x.dim() == 3 || x.dim() == 4, kUnfold2d, "expected x [N, C, H, W] or [C, H, W], got shape {}", x.shape());
  require_floating(kUnfold2d.name, {&x});
  const Patches patches{.planes = leading(x.shape(), x.dim() - 2),
                        .rows = patch_axis(kUnfold2d, x.size(-2), kernel_size, options, 0),
                        .cols = patch_axis(kUnfold2d, x.size(-1), kernel_size, options, 1)};
  require_countable(kUnfold2d, x.size(-3), patches);
  Shape shape{x.size(-3) * patches.rows.kernel * patches.cols.kernel, patches.places()};
  if (x.dim() == 4) shape.insert(0, x.size(0));
  return patched(kUnfold2d, x, patches, shape);
}

Tensor fold2d(const Tensor& columns, const PerAxis<int64_t>& output_size, const PerAxis<int64_t>& kernel_size,
              const FoldOptions& options) {
  require_two(kFold2d, kernel_size, options);
  output_size.require_axes(kFold2d.name, "output_size", 2);
  require_floating(kFold2d.name, {&columns});
  for (const int axis : {0, 1}) {
    require(output_size[axis] >= 1 && output_size[axis] <= INT32_MAX, kFold2d,
            "expected output_size between 1 and {}, got {}", INT32_MAX, output_size[axis]);
  }
  Patches patches{.planes = 0,
                  .rows = patch_axis(kFold2d, output_size[0], kernel_size, options, 0),
                  .cols = patch_axis(kFold2d, output_size[1], kernel_size, options, 1)};
  require_countable(kFold2d, 1, patches);
  const int64_t elements = patches.rows.kernel * patches.cols.kernel;
  if ((columns.dim() != 2 && columns.dim() != 3) || columns.size(-2) % elements != 0 ||
      columns.size(-1) != patches.places()) {
    fail(kFold2d, "expected columns [N, C * {0}, {1}] or [C * {0}, {1}] for an image of {2} x {3}, got shape {4}",
         elements, patches.places(), output_size[0], output_size[1], columns.shape());
  }
  Shape shape{columns.size(-2) / elements, output_size[0], output_size[1]};
  if (columns.dim() == 3) shape.insert(0, columns.size(0));
  patches.planes = leading(shape, shape.rank() - 2);
  return patched(kFold2d, columns, patches, shape);
}

Tensor pixel_shuffle(const Tensor& x, int64_t factor) {
  const int64_t r = checked_factor("pixel_shuffle", x, factor), c = x.size(-3), h = x.size(-2), w = x.size(-1);
  require(c % (r * r) == 0, "pixel_shuffle", "expected channels divisible by {} for a factor of {}, got {} (shape {})",
          r * r, r, c, x.shape());
  return rearranged(x, {c / (r * r), r, r, h, w}, {0, 3, 1, 4, 2}, {c / (r * r), h * r, w * r});
}

Tensor pixel_unshuffle(const Tensor& x, int64_t factor) {
  const int64_t r = checked_factor("pixel_unshuffle", x, factor), c = x.size(-3), h = x.size(-2), w = x.size(-1);
  require(h % r == 0 && w % r == 0, "pixel_unshuffle",
          "expected a height and width divisible by a factor of {}, got shape {}", r, x.shape());
  return rearranged(x, {c, h / r, r, w / r, r}, {0, 2, 4, 1, 3}, {c * r * r, h / r, w / r});
}

Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  if (x.dim() < 3) fail("channel_shuffle", "expected x [N, C, ...], got shape {}", x.shape());
  require(groups >= 1 && x.size(1) % groups == 0, "channel_shuffle",
          "expected groups that divide the {} channels, got {}", x.size(1), groups);
  Shape split = x.shape();
  split[1] /= groups;
  split.insert(1, groups);
  return x.reshape(split).transpose(1, 2).reshape(x.shape());
}

}  // namespace tapegrad
