// batch_norm: one kernel for training and evaluation, forward and backward.
// build: -O2
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/norm/batch_norm.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/moments-inl.h>
#include <tapegrad/autograd/ops/norm/detail/channel_norm.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

constexpr int64_t kTile = 64;        // columns of x [N, C] that are read together
constexpr int64_t kColumnRows = 64;  // rows that are added in T

// With l = 1 the channels are columns: f(s, n) for the spans of rows [begin, end), added per column and given to
// take(column, sums); `Sums` is Vec or TwoSums.
template <class T, class F, class Take>
HWY_INLINE void add_columns(const BatchNormPiece& piece, F f, Take take) {
  const int64_t width = piece.c_end - piece.c_begin;
  T a[kTile], b[kTile];
  for (int64_t begin = piece.n_begin; begin < piece.n_end; begin += kColumnRows) {
    const int64_t end = std::min(begin + kColumnRows, piece.n_end);
    std::fill(a, a + width, T{0});
    std::fill(b, b + width, T{0});
    for (int64_t n = begin; n < end; ++n) {
      each_span<T>(width, [&](auto s) {
        const TwoSums<T> v = f(s, n);
        s.store(s.load(a) + v.a, a);
        s.store(s.load(b) + v.b, b);
      });
    }
    for (int64_t j = 0; j < width; ++j) take(j, static_cast<double>(a[j]), static_cast<double>(b[j]));
  }
}

// The moments of the columns that are far from 0, again (as corrected_moments).
template <class T>
void correct_columns(const BatchNormPiece& piece, const T* tile, int64_t channels, const bool* far, T* means,
                     Moments* moments) {
  const double count = moments[0].count;
  double rests[kTile], squares[kTile];
  const auto measure = [&] {
    std::fill(rests, rests + kTile, 0.0);
    std::fill(squares, squares + kTile, 0.0);
    add_columns<T>(
        piece,
        [&](auto s, int64_t i) {
          const Vec<T> d = s.load(tile + i * channels) - s.load(means);
          return TwoSums<T>{d, d * d};
        },
        [&](int64_t j, double rest, double square) { rests[j] += rest, squares[j] += square; });
  };
  const int64_t width = piece.c_end - piece.c_begin;
  measure();
  for (int64_t j = 0; j < width; ++j) means[j] = static_cast<T>(static_cast<double>(means[j]) + rests[j] / count);
  measure();
  for (int64_t j = 0; j < width; ++j) {
    if (!far[j]) continue;
    moments[j] = {count, rests[j], std::max(squares[j] - rests[j] * rests[j] / count, 0.0),
                  static_cast<double>(means[j])};
  }
}

void batch_norm_measure(const BatchNormArgs& args, const BatchNormPiece& piece, Moments* moments) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t channels = args.size.c, l = args.size.l;
    const int64_t n = piece.n_end - piece.n_begin, stride = channels * l;
    const T* const x = static_cast<const T*>(args.x) + piece.n_begin * stride;
    if (l > 1) {
      for (int64_t c = piece.c_begin; c < piece.c_end; ++c)
        moments[c - piece.c_begin] = moments_of(x + c * l, n, stride, l);
      return;
    }
    const T* const tile = static_cast<const T*>(args.x) + piece.c_begin;
    T means[kTile];
    const int64_t width = piece.c_end - piece.c_begin;
    for (int64_t j = 0; j < width; ++j) moments[j] = {static_cast<double>(n), 0, 0};
    add_columns<T>(
        piece,
        [&](auto s, int64_t i) {
          return TwoSums<T>{s.load(tile + i * channels), Vec<T>()};
        },
        [&](int64_t j, double sum, double) { moments[j].sum += sum; });
    for (int64_t j = 0; j < width; ++j) means[j] = static_cast<T>(moments[j].mean());
    add_columns<T>(
        piece,
        [&](auto s, int64_t i) {
          const Vec<T> d = s.load(tile + i * channels) - s.load(means);
          return TwoSums<T>{d * d, Vec<T>()};
        },
        [&](int64_t j, double squares, double) { moments[j].squares += squares; });
    bool far[kTile];
    for (int64_t j = 0; j < width; ++j) far[j] = is_far(moments[j].mean(), moments[j].variance());
    if (HWY_UNLIKELY(std::find(far, far + width, true) != far + width)) {
      correct_columns(piece, tile, channels, far, means, moments);
    }
  });
}

// mean, scale and var of channel c.
void batch_norm_settle(const BatchNormArgs& args, int64_t c, const Moments& moments) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    static_cast<T*>(args.mean)[c] = static_cast<T>(moments.mean());
    static_cast<T*>(args.scale)[c] = static_cast<T>(1 / std::sqrt(moments.variance() + args.eps));
    if (args.var) static_cast<T*>(args.var)[c] = static_cast<T>(moments.squares / (moments.count - 1));
  });
}

void batch_norm_apply(const BatchNormArgs& args, const BatchNormPiece& piece) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t channels = args.size.c, l = args.size.l;
    const T* const x = static_cast<const T*>(args.x);
    T* const y = static_cast<T*>(args.y);
    const T* const weight = static_cast<const T*>(args.weight);
    const T* const bias = static_cast<const T*>(args.bias);
    const T* const means = static_cast<const T*>(args.mean);
    const T* const scales = static_cast<const T*>(args.scale);
    if (l > 1) {
      for (int64_t n = piece.n_begin; n < piece.n_end; ++n) {
        for (int64_t c = piece.c_begin; c < piece.c_end; ++c) {
          const Vec<T> mean = means[c], scale = weight ? scales[c] * weight[c] : scales[c],
                       shift = bias ? bias[c] : T{0};
          const int64_t at = (n * channels + c) * l;
          each_span<T>(
              l, [&, from = x + at, to = y + at](auto s) { s.store(fma(s.load(from) - mean, scale, shift), to); });
        }
      }
      return;
    }
    const int64_t width = piece.c_end - piece.c_begin;
    T factors[kTile], shifts[kTile];
    for (int64_t j = 0; j < width; ++j) {
      const int64_t c = piece.c_begin + j;
      factors[j] = weight ? scales[c] * weight[c] : scales[c];
      shifts[j] = bias ? bias[c] : T{0};
    }
    for (int64_t n = piece.n_begin; n < piece.n_end; ++n) {
      const int64_t at = n * channels + piece.c_begin;
      each_span<T>(width, [&, from = x + at, to = y + at, mean = means + piece.c_begin](auto s) {
        s.store(fma(s.load(from) - s.load(mean), s.load(factors), s.load(shifts)), to);
      });
    }
  });
}

void batch_norm_sums(const BatchNormBackwardArgs& args, const BatchNormPiece& piece, GradientSums* sums) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t channels = args.size.c, l = args.size.l;
    const T* const x = static_cast<const T*>(args.x);
    const T* const dy = static_cast<const T*>(args.dy);
    const T* const means = static_cast<const T*>(args.mean);
    if (l > 1) {
      for (int64_t c = piece.c_begin; c < piece.c_end; ++c) {
        const int64_t begin = (piece.n_begin * channels + c) * l;
        sums[c - piece.c_begin] =
            gradient_sums_of(x + begin, dy + begin, means[c], piece.n_end - piece.n_begin, channels * l, l);
      }
      return;
    }
    std::fill(sums, sums + (piece.c_end - piece.c_begin), GradientSums());
    add_columns<T>(
        piece,
        [&](auto s, int64_t n) {
          const int64_t at = n * channels + piece.c_begin;
          const Vec<T> d = s.load(dy + at);
          return TwoSums<T>{d, d * (s.load(x + at) - s.load(means + piece.c_begin))};
        },
        [&](int64_t j, double a, double b) {
          sums[j].add({a, b});
        });
  });
}

// dx = f * (dy - mean(dy) - (x - mean) * scale^2 * mean(dy * (x - mean))), f = scale * weight; with given statistics f
// * dy.
void batch_norm_dx(const BatchNormBackwardArgs& args, const BatchNormPiece& piece, const GradientSums* sums) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t channels = args.size.c, l = args.size.l;
    const T* const x = static_cast<const T*>(args.x);
    const T* const dy = static_cast<const T*>(args.dy);
    T* const dx = static_cast<T*>(args.dx);
    const T* const weight = static_cast<const T*>(args.weight);
    const T* const means = static_cast<const T*>(args.mean);
    const T* const scales = static_cast<const T*>(args.scale);
    const int64_t width = piece.c_end - piece.c_begin;
    T factors[kTile], pulls[kTile], shifts[kTile];  // dx = factor * dy - (x - mean) * pull - shift
    const double count = static_cast<double>(args.size.n * l);
    for (int64_t j = 0; j < width; ++j) {
      const int64_t c = piece.c_begin + j;
      const double scale = static_cast<double>(scales[c]);
      const double factor = weight ? scale * static_cast<double>(weight[c]) : scale;
      factors[j] = static_cast<T>(factor);
      pulls[j] = args.measured ? static_cast<T>(factor * scale * scale * sums[j].dy_x / count) : T{0};
      shifts[j] = args.measured ? static_cast<T>(factor * sums[j].dy / count) : T{0};
    }
    for (int64_t n = piece.n_begin; n < piece.n_end && l == 1; ++n) {
      const int64_t at = n * channels + piece.c_begin;
      each_span<T>(width, [&, mean = means + piece.c_begin](auto s) {
        const Vec<T> shifted = fma(s.load(x + at) - s.load(mean), s.load(pulls), s.load(shifts));
        s.store(args.measured ? s.load(dy + at) * s.load(factors) - shifted : s.load(dy + at) * s.load(factors),
                dx + at);
      });
    }
    for (int64_t j = 0; j < width && l > 1; ++j) {
      const int64_t c = piece.c_begin + j;
      const Vec<T> mean = means[c], factor = factors[j], pull = pulls[j], shift = shifts[j];
      for (int64_t n = piece.n_begin; n < piece.n_end; ++n) {
        const int64_t at = (n * channels + c) * l;
        if (args.measured) {
          each_span<T>(l, [&, from = x + at, by = dy + at, to = dx + at](auto s) {
            s.store(fma(s.load(by), factor, -fma(s.load(from) - mean, pull, shift)), to);
          });
        } else {
          each_span<T>(l, [&, by = dy + at, to = dx + at](auto s) { s.store(s.load(by) * factor, to); });
        }
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(batch_norm_measure);
HWY_EXPORT(batch_norm_settle);
HWY_EXPORT(batch_norm_apply);
HWY_EXPORT(batch_norm_sums);
HWY_EXPORT(batch_norm_dx);

namespace {

const Op kBatchNorm{"batch_norm"};
const Op kBatchNormTraining{"batch_norm_training"};

constexpr int64_t kGrain = 8192;       // elements for one thread to take at a time
constexpr int64_t kTileColumns = 64;   // kTile
constexpr int64_t kFewChannels = 8;    // with fewer, the samples are divided, too
constexpr int64_t kSamplePieces = 16;  // into at most this number of pieces

// Several channels per piece; or, of few large channels, several samples of one channel.
struct Cut {
  Channels size;
  int64_t channels, samples;  // in a piece
  explicit Cut(const Channels& size) : size(size), channels(kTileColumns), samples(size.n) {
    if (size.l > 1) channels = std::min(kTileColumns, rows_grain(size.n * size.l, kGrain));
    if (size.c < kFewChannels && size.n * size.l > 2 * kGrain) {
      channels = size.l > 1 ? 1 : size.c;
      samples = std::max(pieces_of(size.n, kSamplePieces), rows_grain(size.l, kGrain));
    }
  }
  int64_t channel_pieces() const { return pieces_of(size.c, channels); }
  int64_t sample_pieces() const { return pieces_of(size.n, samples); }
  int64_t pieces() const { return channel_pieces() * sample_pieces(); }
  BatchNormPiece operator[](int64_t i) const {
    const int64_t c = i / sample_pieces() * channels, n = i % sample_pieces() * samples;
    return {c, std::min(c + channels, size.c), n, std::min(n + samples, size.n)};
  }
};

void each_piece(const Cut& cut, auto f) {
  parallel_for_each(cut.pieces(), 1, [&](int64_t i) { f(i, cut[i]); });
}

// measure(piece, sums), settle(channel, sum) and apply(piece, sums of its channels), at once where a piece has all
// samples of its channels: then they are read from memory once.
template <class Sums, class Measure, class Settle, class Apply>
void in_two_passes(const Cut& cut, Measure measure, Settle settle, Apply apply) {
  if (cut.sample_pieces() == 1) {
    each_piece(cut, [&](int64_t, const BatchNormPiece& piece) {
      Sums sums[kTileColumns];
      measure(piece, sums);
      for (int64_t c = piece.c_begin; c < piece.c_end; ++c) settle(c, sums[c - piece.c_begin]);
      apply(piece, sums);
    });
    return;
  }
  Sums parts[kFewChannels * kSamplePieces], sums[kFewChannels];
  each_piece(cut, [&](int64_t i, const BatchNormPiece& piece) { measure(piece, parts + i * cut.channels); });
  for (int64_t i = 0; i < cut.pieces(); ++i) {
    const BatchNormPiece piece = cut[i];
    for (int64_t c = piece.c_begin; c < piece.c_end; ++c) sums[c].add(parts[i * cut.channels + c - piece.c_begin]);
  }
  for (int64_t c = 0; c < cut.size.c; ++c) settle(c, sums[c]);
  each_piece(cut, [&](int64_t, const BatchNormPiece& piece) { apply(piece, sums + piece.c_begin); });
}

// The statistics that forward used.
struct Kept {
  Tensor mean, scale;
};

Grads fused_backward(const Channels& size, bool measured, const Tensor& x, const Tensor& weight, const Kept& kept,
                     const WantedGrads& wants, const Tensor& given_dy) {
  const Tensor dy = packed(given_dy);
  const DType dtype = x.dtype();
  const Tensor dx = wants.x ? Tensor::empty(x.shape(), dtype) : Tensor();
  const Tensor dweight = wants.weight ? zeros({size.c}, dtype) : Tensor();
  const Tensor dbias = wants.bias ? zeros({size.c}, dtype) : Tensor();
  if (x.numel() == 0) return {dx, dweight, dbias};
  const BatchNormBackwardArgs args{.dtype = dtype,
                                   .size = size,
                                   .measured = measured,
                                   .x = x.raw_data(),
                                   .weight = data_or_null(weight),
                                   .mean = kept.mean.raw_data(),
                                   .scale = kept.scale.raw_data(),
                                   .dy = dy.raw_data(),
                                   .dx = mutable_data_or_null(dx)};
  in_two_passes<GradientSums>(
      Cut(size),
      [&](const BatchNormPiece& piece, GradientSums* sums) {
        if (measured || wants.weight || wants.bias) {
          kernel_of(HWY_DISPATCH_TABLE(batch_norm_sums))(args, piece, sums);
          batch_norm_wide_sums(args, piece, sums);
        }
      },
      [&](int64_t c, const GradientSums& sums) {
        with_floating_type(dtype, [&]<class T>(T) {
          if (wants.weight) {
            dweight.mutable_data<T>()[c] = static_cast<T>(sums.dy_x * static_cast<double>(kept.scale.data<T>()[c]));
          }
          if (wants.bias) dbias.mutable_data<T>()[c] = static_cast<T>(sums.dy);
        });
      },
      [&](const BatchNormPiece& piece, const GradientSums* sums) {
        if (!wants.x) return;
        kernel_of(HWY_DISPATCH_TABLE(batch_norm_dx))(args, piece, sums);
        batch_norm_wide_dx(args, piece, sums);
      });
  return {dx, dweight, dbias};
}

BatchNormArgs args_of(const Channels& size, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                      const Kept& kept, const Tensor& var, const Tensor& y) {
  return {.dtype = x.dtype(),
          .size = size,
          .eps = eps,
          .x = x.raw_data(),
          .weight = data_or_null(weight),
          .bias = data_or_null(bias),
          .mean = kept.mean.mutable_raw_data(),
          .scale = kept.scale.mutable_raw_data(),
          .var = mutable_data_or_null(var),
          .y = y.mutable_raw_data()};
}

Tensor recorded(const Op& op, const Channels& size, bool measured, const Tensor& x, const Tensor& weight,
                const Tensor& bias, double eps, const GivenStatistics& given, const Kept& kept, const Tensor& y) {
  const WantedGrads wants(x, weight, bias);
  if (!wants.any()) return y;
  const bool uses_x = measured || wants.weight;
  return record(op, y, {x, weight, bias}, [=, x = kept_if(uses_x, x), shape = x.shape()](const Tensor& dy) -> Grads {
    const Tensor from = x.defined() ? x : packed(dy);  // of given statistics dx does not depend on x
    if (!Tape::current()) return fused_backward(size, measured, from, weight, kept, wants, dy);
    const Axes axes{0, 2, 3};
    return composed_norm_backward(from, weight, {size.n, size.c, 1, size.l}, axes, eps, given, dy);
  });
}

}  // namespace

BatchNormed batch_norm_training(const Tensor& given_x, const Tensor& given_weight, const Tensor& given_bias,
                                double eps) {
  const Op& op = kBatchNormTraining;
  const Channels size(op, given_x, given_weight, given_bias);
  require(size.n * size.l != 1, op, "expected more than one element per channel, got shape {}", given_x.shape());
  const Tensor x = given_x.contiguous();
  const Tensor weight = contiguous_or_empty(given_weight), bias = contiguous_or_empty(given_bias);
  const DType dtype = x.dtype();
  const Tensor y = Tensor::empty(x.shape(), dtype);
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const bool empty = x.numel() == 0;
  const auto statistic = [&] { return empty ? full({size.c}, unknown, dtype) : Tensor::empty({size.c}, dtype); };
  const Kept kept{statistic(), statistic()};
  const Tensor var = statistic();
  const BatchNormArgs args = args_of(size, x, weight, bias, eps, kept, var, y);
  if (!empty) {
    in_two_passes<Moments>(
        Cut(size),
        [&](const BatchNormPiece& piece, Moments* sums) {
          kernel_of(HWY_DISPATCH_TABLE(batch_norm_measure))(args, piece, sums);
        },
        [&](int64_t c, const Moments& sums) {
          if (std::isfinite(sums.squares) || !batch_norm_wide_settle(args, c)) {
            kernel_of(HWY_DISPATCH_TABLE(batch_norm_settle))(args, c, sums);
          }
        },
        [&](const BatchNormPiece& piece, const Moments*) {
          kernel_of(HWY_DISPATCH_TABLE(batch_norm_apply))(args, piece);
        });
  }
  return {recorded(op, size, true, x, weight, bias, eps, {}, kept, y), kept.mean, var};
}

Tensor batch_norm(const Tensor& given_x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& given_weight, const Tensor& given_bias, double eps) {
  const Op& op = kBatchNorm;
  const Channels size(op, given_x, given_weight, given_bias);
  require_floating(op.name, {&given_x, &running_mean, &running_var});
  for (const auto& [name, statistic] : {std::pair{"running_mean", &running_mean}, {"running_var", &running_var}}) {
    if (!statistic->defined() || !(statistic->shape() == Shape{size.c})) {
      fail(op, "expected {} [{}] for x {}, got {}", name, size.c, given_x.shape(),
           statistic->defined() ? "shape " + str(statistic->shape()) : "none");
    }
    if (needs_grad(*statistic)) fail(op, "expected {} without a gradient: it is a constant", name);
  }
  const Tensor weight = contiguous_or_empty(given_weight), bias = contiguous_or_empty(given_bias);
  const Tensor x = given_x.contiguous(), y = Tensor::empty(x.shape(), x.dtype());
  const GivenStatistics given{running_mean.detach().reshape({1, size.c, 1, 1}),
                              running_var.detach().reshape({1, size.c, 1, 1})};
  const Kept kept{packed(running_mean), detail::unrecorded([&] { return rsqrt(running_var + eps); })};
  const BatchNormArgs args = args_of(size, x, weight, bias, eps, kept, {}, y);
  if (x.numel() > 0 && size.l > 1) {  // whole samples: they follow one another in memory
    parallel_for(size.n, rows_grain(size.c * size.l, kGrain), [&](int64_t begin, int64_t end) {
      kernel_of(HWY_DISPATCH_TABLE(batch_norm_apply))(args, {0, size.c, begin, end});
    });
  } else if (x.numel() > 0) {
    each_piece(Cut(size), [&](int64_t, const BatchNormPiece& piece) {
      kernel_of(HWY_DISPATCH_TABLE(batch_norm_apply))(args, piece);
    });
  }
  return recorded(op, size, false, x, weight, bias, eps, given, kept, y);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
