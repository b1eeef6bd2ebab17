// Convolutions that are one matrix product: kernels of one element, and the transposes of patches of few channels.
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>

namespace tapegrad {
namespace {

template <class T>
void add_bias(const ConvShape& shape, int64_t channels, int64_t plane, const T* bias, T* to) {
  parallel_for_each(shape.n * channels, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, plane)), [&](int64_t i) {
    const T b = bias[i % channels];
    for (int64_t j = 0; j < plane; ++j) to[i * plane + j] += b;
  });
}

}  // namespace

template <class T>
void multiply_planes(const ConvShape& shape, bool transposed, const T* from, const T* weight, const T* bias, T* to) {
  const int64_t plane = shape.image(), columns = transposed ? shape.c : shape.o;
  const int64_t channels = transposed ? shape.o : shape.c;
  const MatrixView<const T> w{weight, transposed ? 1 : shape.c, transposed ? shape.c : 1};
  batched_gemm<T>(shape.n * shape.groups, columns, plane, channels, T{1}, w, {from, plane, 1}, T{0}, {to, plane, 1},
                  [&](int64_t i) -> BatchOffset {
                    return {i % shape.groups * shape.o * shape.c, i * channels * plane, i * columns * plane};
                  });
  if (bias != nullptr) add_bias(shape, shape.groups * columns, plane, bias, to);
}

template <class T>
void multiply_patches(const ConvShape& shape, const T* from, const T* weight, const T* bias, T* to) {
  const ConvAxis &rows = shape.rows, &cols = shape.cols;
  const int64_t pixels = shape.out_image(), size = shape.c * shape.taps();
  const bool whole = rows.whole() && cols.whole();
  const Scratch<T> patches(whole ? 0 : shape.n * pixels * size);
  T* const result = whole ? to : patches.get();
  const MatrixView<const T> w{weight, size, 1};
  if (pixels == 1) {
    gemm<T>(shape.n, size, shape.o, T{1}, {from, shape.o, 1}, w, T{0}, {result, size, 1});
  } else {
    batched_gemm<T>(shape.n, pixels, size, shape.o, T{1}, {from, 1, pixels}, w, T{0}, {result, size, 1},
                    [&](int64_t i) -> BatchOffset {
                      return {i * shape.o * pixels, 0, i * pixels * size};
                    });
  }
  if (!whole) {
    parallel_for_each(
        shape.n * shape.c, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, shape.image())), [&](int64_t plane) {
          const T* const patch = result + plane / shape.c * pixels * size + plane % shape.c * shape.taps();
          T* const image = to + plane * shape.image();
          std::fill_n(image, shape.image(), T(0));  // what no window reaches
          for (int64_t i = 0; i < pixels * rows.kernel; ++i) {
            const int64_t pixel = i / rows.kernel, tap = i % rows.kernel;
            const int64_t row = pixel / cols.out * rows.stride + tap;
            T* const line = image + row * cols.size + pixel % cols.out * cols.stride;
            std::copy_n(patch + pixel * size + tap * cols.kernel, cols.kernel, line);
          }
        });
  }
  if (bias != nullptr) add_bias(shape, shape.c, shape.image(), bias, to);
}

template void multiply_planes<float>(const ConvShape&, bool, const float*, const float*, const float*, float*);
template void multiply_planes<double>(const ConvShape&, bool, const double*, const double*, const double*, double*);
template void multiply_patches<float>(const ConvShape&, const float*, const float*, const float*, float*);
template void multiply_patches<double>(const ConvShape&, const double*, const double*, const double*, double*);

}  // namespace tapegrad
