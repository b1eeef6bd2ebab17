// Transposed convolutions by a weight with NaN or infinities.
//
// The products read zeros outside of the source, and a zero times NaN or infinity is NaN. Here such elements of the
// weight are replaced by finite ones for the product, and then added to the elements that they contribute to.
// build: -Os
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/parallel.h>

#include <cmath>

namespace tapegrad {
namespace {

// An element of the weight that is not finite: the channel of y and the tap of the kernel that it is for.
template <class T>
struct Broken {
  int64_t channel, row, col;
  T value;
};

// The elements of the weight that are not finite and belong to channel c of x, from channels of the same group.
template <class T>
int64_t list_broken(const ConvShape& shape, const T* weight, int64_t group, int64_t c, Broken<T>* found) {
  int64_t count = 0;
  for (int64_t o = 0; o < shape.o; ++o) {
    const T* const kernel = weight + ((group * shape.o + o) * shape.c + c) * shape.taps();
    for (int64_t tap = 0; tap < shape.taps(); ++tap) {
      if (std::isfinite(kernel[tap])) continue;
      found[count++] = {o, tap / shape.cols.kernel, tap % shape.cols.kernel, kernel[tap]};
    }
  }
  return count;
}

// The element of y, along an axis, that a tap combines with element i of x, or -1.
int64_t source_of(const ConvAxis& axis, int64_t i, int64_t tap) {
  const int64_t at = i + axis.padding - tap * axis.dilation;
  return at >= 0 && at % axis.stride == 0 && at / axis.stride < axis.out ? at / axis.stride : -1;
}

// Adds the products with the listed elements to a plane of x.
template <class T>
void add_broken(const ConvShape& shape, const Broken<T>* broken, int64_t count, const T* y, T* x) {
  for (int64_t i = 0; i < shape.rows.size; ++i) {
    for (int64_t j = 0; j < shape.cols.size; ++j, ++x) {
      for (int64_t k = 0; k < count && !std::isnan(*x); ++k) {
        const int64_t row = source_of(shape.rows, i, broken[k].row), col = source_of(shape.cols, j, broken[k].col);
        if (row < 0 || col < 0) continue;
        *x += y[broken[k].channel * shape.y_step() + row * shape.cols.out + col] * broken[k].value;
      }
    }
  }
}

}  // namespace

template <class T>
void convolve_transposed_exactly(const ConvShape& shape, const T* y, const T* weight, const T* bias, T* x) {
  const int64_t size = shape.groups * shape.o * shape.c * shape.taps();
  const Scratch<T> finite(size);
  // Of the same sign, so that an infinite product stays what it is.
  for (int64_t i = 0; i < size; ++i) {
    finite.get()[i] = std::isfinite(weight[i]) ? weight[i] : std::copysign(T(1), weight[i]);
  }
  convolve_transposed(shape, y, finite.get(), bias, x);
  parallel_for(shape.groups * shape.c, 1, [&](int64_t begin, int64_t end) {
    const Scratch<Broken<T>> broken(shape.o * shape.taps());
    for (int64_t channel = begin; channel < end; ++channel) {
      const int64_t group = channel / shape.c;
      const int64_t count = list_broken(shape, weight, group, channel % shape.c, broken.get());
      for (int64_t n = 0; n < shape.n && count > 0; ++n) {
        add_broken(shape, broken.get(), count, shape.y_plane(y, n, group),
                   x + (n * shape.groups * shape.c + channel) * shape.image());
      }
    }
  });
}

template void convolve_transposed_exactly<float>(const ConvShape&, const float*, const float*, const float*, float*);
template void convolve_transposed_exactly<double>(const ConvShape&, const double*, const double*, const double*,
                                                  double*);

}  // namespace tapegrad
