// A convolution, and its gradients for x (the transposed convolution) and for the weight: shapes and kernels.
#pragma once

#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/detail/scratch.h>

#include <algorithm>
#include <cstdint>

namespace tapegrad {

/// One axis of a convolution from `size` elements to `out`. Outside of the axis there are zeros: `padding` before it,
/// and after it as many as the last window needs.
struct ConvAxis {
  int64_t size = 1, out = 1;
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;

  /// From the first to the last element of a window.
  int64_t reach() const { return (kernel - 1) * dilation; }
  /// Whether a window contains elements outside of the axis.
  bool padded() const { return padding > 0 || (out - 1) * stride - padding + reach() >= size; }
  /// Windows without gaps, or a single one, each element of which is in the axis: no element is in two of them.
  bool disjoint() const { return !padded() && (kernel == 1 || dilation == 1) && (out == 1 || kernel == stride); }
  /// A single window, which is the axis.
  bool whole() const { return disjoint() && out == 1 && kernel == size; }
  /// Every element is a window.
  bool plain() const { return kernel == 1 && stride == 1 && padding == 0 && out == size; }
};

/// x [n, groups * c, rows.size, cols.size], weight [groups * o, c, rows.kernel, cols.kernel] and
/// y [n, groups * o, rows.out, cols.out], all contiguous. A convolution of signals has one row.
///
/// A volume is depth.out images, whose channels are the depths of a window: n counts these images, and c the depths of
/// all channels. They are read and written in place, in x [n / depth.out, groups * c / depth.kernel, depth.size,
/// rows.size, cols.size] and y [n / depth.out, groups * o, depth.out, rows.out, cols.out]. Only the result of a
/// transposed convolution is images, [n, groups * c, rows.size, cols.size], whose depths are still to be added.
struct ConvShape {
  int64_t n = 0, groups = 1, c = 0, o = 0;
  ConvAxis rows, cols, depth;

  bool volumes() const { return depth.size > 1 || !depth.plain(); }
  int64_t taps() const { return rows.kernel * cols.kernel; }
  int64_t image() const { return rows.size * cols.size; }
  int64_t out_image() const { return rows.out * cols.out; }
  /// One channel per group: each plane of x is convolved by itself.
  bool depthwise() const { return c == depth.kernel && groups > 1 && o > 0; }
  bool padded() const { return rows.padded() || cols.padded() || depth.padded(); }
  /// Windows of an image that share no element, with so few channels that the transpose is computed as one matmul: tap
  /// by tap, vectors would be mostly empty.
  bool patches() const { return rows.disjoint() && cols.disjoint() && groups == 1 && c < 32 && !volumes(); }
  /// One matmul per image: no element of x is padded, skipped or used twice.
  bool pointwise() const { return rows.plain() && cols.plain(); }

  /// The plane of x that is channel `channel` of a group in image i; nullptr for zeros.
  template <class T>
  const T* x_plane(const T* x, int64_t i, int64_t group, int64_t channel) const {
    const int64_t at = i % depth.out * depth.stride - depth.padding + channel % depth.kernel * depth.dilation;
    if (at < 0 || at >= depth.size) return nullptr;
    const int64_t volume = (i / depth.out * groups + group) * (c / depth.kernel) + channel / depth.kernel;
    return x + (volume * depth.size + at) * image();
  }
  /// The plane of y that is the first channel of a group in image i; the others follow at distance y_step().
  template <class T>
  T* y_plane(T* y, int64_t i, int64_t group) const {
    return y + (i / depth.out * groups + group) * o * y_step() + i % depth.out * out_image();
  }
  int64_t y_step() const { return depth.out * out_image(); }
};

/// y = convolution of x, plus bias [groups * o] unless it is nullptr. finite: no element of the weight is NaN or
/// infinite, so that zeros outside of x need not be multiplied.
template <class T>
void convolve(const ConvShape& shape, const T* x, const T* weight, const T* bias, T* y, bool finite);
/// x = transposed convolution of y, the gradient of `convolve` for x; plus bias [groups * c] unless it is nullptr.
template <class T>
void convolve_transposed(const ConvShape& shape, const T* y, const T* weight, const T* bias, T* x);
/// The same for a weight with NaN or infinities: they reach only the elements of x that they contribute to, and no
/// product with the zeros outside of y is formed.
template <class T>
void convolve_transposed_exactly(const ConvShape& shape, const T* y, const T* weight, const T* bias, T* x);
/// weight = the gradient of `convolve` for the weight, where y is the gradient of its result.
template <class T>
void convolve_weight(const ConvShape& shape, const T* x, const T* y, T* weight);

// convolve and convolve_transposed for shape.pointwise(), and convolve_transposed for shape.patches()
// (autograd/ops/convolution/convolution_gemm.cpp).
/// to [columns, plane] = W from [channels, plane], for each image and group.
template <class T>
void multiply_planes(const ConvShape& shape, bool transposed, const T* from, const T* weight, const T* bias, T* to);
/// [c, kernel] of all pixels of y, = from [pixels, o] W [o, c * kernel], moved to their places in `to`.
template <class T>
void multiply_patches(const ConvShape& shape, const T* from, const T* weight, const T* bias, T* to);

// The functions above for shape.depthwise() (autograd/ops/convolution/convolution_depthwise.cpp); all but
// convolve_volumes are for images.
template <class T>
void convolve_volumes(const ConvShape& shape, const T* x, const T* weight, const T* bias, T* y);
template <class T>
void convolve_planes(const ConvShape& shape, bool transposed, const T* from, const T* weight, const T* bias, T* to);
template <class T>
void convolve_planes_weight(const ConvShape& shape, const T* x, const T* y, T* weight);

/// An axis as a convolution uses it, forward or transposed. The elements of the result form classes, by their
/// remainder modulo `classes`. The elements of a class are combined from the same taps of the kernel; from each element
/// to the next one of its class, the source advances by `advance`.
struct ConvPass {
  ConvAxis axis;
  bool transposed = false;

  int64_t from() const { return transposed ? axis.out : axis.size; }
  int64_t to() const { return transposed ? axis.size : axis.out; }
  int64_t classes() const { return transposed ? axis.stride : 1; }
  int64_t advance() const { return transposed ? 1 : axis.stride; }

  /// The class to whose elements a tap of the kernel contributes.
  int64_t class_of(int64_t tap) const { return transposed ? modulo(tap * axis.dilation - axis.padding) : 0; }
  /// The element of the source that a tap combines with element `residue` of the result; zero outside the source.
  int64_t source(int64_t residue, int64_t tap) const {
    if (!transposed) return residue * axis.stride + tap * axis.dilation - axis.padding;
    return floor_of(residue + axis.padding - tap * axis.dilation);
  }
  /// The source elements, from first() up to end(), that elements [begin, end) of the result need.
  int64_t first(int64_t begin) const {
    return transposed ? floor_of(begin + axis.padding - axis.reach()) : begin * axis.stride - axis.padding;
  }
  int64_t end(int64_t end) const {
    if (transposed) return floor_of(end - 1 + axis.padding) + 1;
    return (end - 1) * axis.stride - axis.padding + axis.reach() + 1;
  }
  int64_t residue_of(int64_t element) const { return modulo(element); }
  /// The first element of a class at or after `begin`.
  int64_t first_of_class(int64_t residue, int64_t begin) const { return begin + modulo(residue - begin); }

 private:
  int64_t modulo(int64_t x) const {
    const int64_t rest = x % classes();
    return rest < 0 ? rest + classes() : rest;
  }
  int64_t floor_of(int64_t x) const { return (x - modulo(x)) / classes(); }
};

/// The taps of an axis by class. With a stride above the size of the kernel there are classes without taps, whose
/// elements are zero; they are not listed, so that the work does not depend on the stride.
class ConvTaps {
 public:
  explicit ConvTaps(const ConvPass& pass);

  /// Elements whose remainder is `residue`; they are combined from the taps tap(first) .. tap(first + count - 1).
  struct Class {
    int64_t residue, first, count;
  };
  int64_t count() const { return count_; }  ///< classes that have taps
  bool all() const { return count_ == pass_.classes(); }
  const Class& operator[](int64_t i) const { return classes_.get()[i]; }
  int64_t tap(int64_t i) const { return taps_.get()[i].tap; }

  /// Calls use(i) for each class that has an element in [begin, end).
  void each(int64_t begin, int64_t end, const auto& use) const {
    const Class* const all = classes_.get();
    const int64_t first = pass_.residue_of(begin);
    const int64_t from =
        std::lower_bound(all, all + count_, first, [](const Class& c, int64_t r) { return c.residue < r; }) - all;
    for (int64_t k = 0; k < count_; ++k) {
      const int64_t i = from + k < count_ ? from + k : from + k - count_;
      if (pass_.first_of_class(all[i].residue, begin) >= end) return;
      use(i);
    }
  }

 private:
  struct Tap {
    int64_t residue, tap;
  };
  const ConvPass pass_;
  const Scratch<Tap> taps_;
  const Scratch<Class> classes_;
  int64_t count_ = 0;
};

/// The smallest number of multiplications that is worth another thread.
inline constexpr int64_t kConvPieceWork = 800000;

}  // namespace tapegrad
