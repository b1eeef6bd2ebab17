// batch_norm of channels whose squares overflow: plain loops in place of the kernels.
// build: -Os
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/norm/detail/channel_norm.h>

namespace tapegrad {
namespace {

// f(x, dy, offset) for the elements of a channel in a piece.
template <class T, class F>
void each_element(const BatchNormBackwardArgs& args, const BatchNormPiece& piece, int64_t c, F f) {
  const int64_t l = args.size.l;
  for (int64_t n = piece.n_begin; n < piece.n_end; ++n) {
    const int64_t begin = (n * args.size.c + c) * l;
    for (int64_t i = begin; i < begin + l; ++i)
      f(static_cast<const T*>(args.x)[i], static_cast<const T*>(args.dy)[i], i);
  }
}

// f(channel, its mean, its scale) for the channels of a piece with a small scale.
template <class T, class F>
void each_wide_channel(const BatchNormBackwardArgs& args, const BatchNormPiece& piece, F f) {
  if (!args.measured) return;
  for (int64_t c = piece.c_begin; c < piece.c_end; ++c) {
    const T scale = static_cast<const T*>(args.scale)[c];
    if (is_wide(scale)) f(c, static_cast<const T*>(args.mean)[c], scale);
  }
}

}  // namespace

bool batch_norm_wide_settle(const BatchNormArgs& args, int64_t c) {
  return with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t l = args.size.l, count = args.size.n * l;
    const T* const x = static_cast<const T*>(args.x) + c * l;
    WideMoments of;
    if (!of.measure(count, true, [&](int64_t i) { return x[i / l * args.size.c * l + i % l]; })) return false;
    static_cast<T*>(args.mean)[c] = static_cast<T>(of.mean);
    static_cast<T*>(args.scale)[c] = static_cast<T>(1 / square_root(of.variance + args.eps));
    const Wide n = static_cast<Wide>(count);
    if (args.var) static_cast<T*>(args.var)[c] = static_cast<T>(of.variance * (n / (n - 1)));
    return true;
  });
}

void batch_norm_wide_sums(const BatchNormBackwardArgs& args, const BatchNormPiece& piece, GradientSums* sums) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    each_wide_channel<T>(args, piece, [&](int64_t c, T mean, T) {
      GradientSums of;
      each_element<T>(args, piece, c, [&](T x, T dy, int64_t) {
        const double d = static_cast<double>(dy);
        of.add({d, d * (static_cast<double>(x) - static_cast<double>(mean))});
      });
      sums[c - piece.c_begin] = of;
    });
  });
}

void batch_norm_wide_dx(const BatchNormBackwardArgs& args, const BatchNormPiece& piece, const GradientSums* sums) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const double count = static_cast<double>(args.size.n * args.size.l);
    each_wide_channel<T>(args, piece, [&](int64_t c, T mean, T scale) {
      const double w = args.weight ? static_cast<double>(static_cast<const T*>(args.weight)[c]) : 1;
      const GradientSums& of = sums[c - piece.c_begin];
      each_element<T>(args, piece, c, [&](T x, T dy, int64_t i) {
        const T g = static_cast<T>(static_cast<double>(dy) * w);
        static_cast<T*>(args.dx)[i] = wide_gradient(g, x, mean, scale, {of.dy * w, of.dy_x * w}, count);
      });
    });
  });
}

}  // namespace tapegrad
