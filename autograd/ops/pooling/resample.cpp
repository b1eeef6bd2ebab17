// The kernel of averages over windows and of interpolation: a linear map of the rows and one of the columns.
// build: -O2
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/pooling/resample.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops/pooling/detail/resample.h>

#ifndef TAPEGRAD_RESAMPLE_ARGS
#define TAPEGRAD_RESAMPLE_ARGS
namespace tapegrad {
struct ResampleArgs {
  DType dtype;
  const AxisMap* h;
  const AxisMap* w;
  const void* x;
  void* y;
  int64_t block;  // rows of the result in a piece
};
}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
struct AxisData {
  const AxisMap& map;
  const AxisMap::Output* outputs;
  const T* weights;
  const T* divisors;
  explicit AxisData(const AxisMap& map)
      : map(map),
        outputs(&map[0]),
        weights(map.weights.defined() ? map.weights.data<T>() : nullptr),
        divisors(map.divisors.defined() ? map.divisors.data<T>() : nullptr) {}
};

// y = the weighted sum of rows of n elements at distance `stride`.
template <class T>
HWY_INLINE void add_rows_up(const T* rows, int64_t stride, const AxisMap::Output& o, const T* weights, int64_t n,
                            T* y) {
  if (o.count == 0) {
    std::fill(y, y + n, T{0});
  } else if (weights) {
    const T* const w = weights + o.at;
    each_span<T>(n, [&](auto s) {
      Vec<T> sum = s.load(rows) * w[0];
      for (int64_t k = 1; k < o.count; ++k) sum = fma(s.load(rows + k * stride), Vec<T>(w[k]), sum);
      s.store(sum, y);
    });
  } else {
    each_span<T>(n, [&](auto s) {
      Vec<T> sum = s.load(rows);
      for (int64_t k = 1; k < o.count; ++k) sum += s.load(rows + k * stride);
      s.store(sum, y);
    });
  }
}

// The outputs [o, end) of a row, one by one.
template <class T>
HWY_INLINE void map_columns(const AxisData<T>& axis, const T* x, int64_t o, int64_t end, T* y) {
  const T* const w = axis.weights;
  const int64_t same = std::min(axis.map.same, end), each = same > 0 ? axis.outputs[0].count : 0;
  if (each == 1) {
    for (; o < same; ++o) y[o] = w ? x[axis.outputs[o].first] * w[o] : x[axis.outputs[o].first];
  } else if (each == 2) {
    for (; o < same; ++o) {
      const T* const at = x + axis.outputs[o].first;
      y[o] = w ? at[0] * w[2 * o] + at[1] * w[2 * o + 1] : at[0] + at[1];
    }
  }
  for (; o < end; ++o) {
    const auto& [first, count, at] = axis.outputs[o];
    T sum = count > 0 && !w ? x[first] : T{0};  // not 0 + x[first], which would lose the sign of -0
    if (w) {
      for (int64_t k = 0; k < count; ++k) sum += x[first + k] * w[at + k];
    } else if (count < 4 * kSumLanes<T>) {
      for (int64_t k = 1; k < count; ++k) sum += x[first + k];
    } else {
      const T* const from = x + first;
      sum = reduce_sum(sum_spans<T>(count, [&](auto s) { return s.load(from); }));
    }
    y[o] = sum;
  }
}

// Whether the rest of a row is faster as a part of a vector than one by one.
template <class T>
constexpr bool fills_a_vector(int64_t rest) {
  return rest > kLanes<T> / 4;
}

// Each element of v twice, at y and what follows.
template <class T>
HWY_INLINE void twice(Vec<T> v, T* y) {
  hn::StoreInterleaved2(v.raw, v.raw, hn::ScalableTag<T>(), y);
}

// p[0] + p[1], p[2] + p[3], ..: `count` sums, fewer than a vector has lanes. Nothing past them is read.
template <class T>
HWY_INLINE Vec<T> sums_of_pairs(const T* p, int64_t count) {
  const hn::ScalableTag<T> d;
  const Vec<T> low = load(p, std::min(2 * count, kLanes<T>));
  const Vec<T> high = 2 * count > kLanes<T> ? load(p + kLanes<T>, 2 * count - kLanes<T>) : Vec<T>(T{0});
  Vec<T> even, odd;
  even.raw = hn::ConcatEven(d, high.raw, low.raw);
  odd.raw = hn::ConcatOdd(d, high.raw, low.raw);
  return even + odd;
}

// Applies the map of the columns to one row of x, with vectors where the outputs are regular.
template <class T>
HWY_INLINE void map_row_of(const AxisData<T>& axis, const T* x, T* y) {
  const int64_t out = axis.map.out;
  const RegularRun& run = axis.map.run;
  if (axis.map.identity()) {
    std::copy(x, x + out, y);
    return;
  }
  int64_t o = 0;
  if (axis.map.doubled) {
    for (; o + 2 * kLanes<T> <= out; o += 2 * kLanes<T>) twice(load(x + o / 2), y + o);
    if (fills_a_vector<T>((out - o) / 2)) {
      T last[2 * kLanes<T>];
      twice(load(x + o / 2, (out - o) / 2), last);
      each_span<T>(out - o, [&](auto s) { s.store(s.load(last), y + o); });
      o = out;
    }
    if (axis.weights)
      map_row(
          o, y, [](auto v, auto w) { return v * w; }, static_cast<const T*>(y), axis.weights);
  } else if (!axis.weights && run.count > 0 && (run.stride == 1 || (run.stride == 2 && run.count == 2))) {
    map_columns(axis, x, 0, run.begin, y);
    const T* from = x + axis.outputs[run.begin].first;
    o = run.begin;
    if (run.stride == 1) {
      each_span<T>(run.end - o, [&](auto s) {
        Vec<T> sum = s.load(from);
        for (int64_t k = 1; k < run.count; ++k) sum += s.load(from + k);
        s.store(sum, y + o);
      });
      o = run.end;
    } else {
      for (; o + kLanes<T> <= run.end; o += kLanes<T>, from += 2 * kLanes<T>) {
        Vec<T> even, odd;
        hn::LoadInterleaved2(hn::ScalableTag<T>(), from, even.raw, odd.raw);
        store(even + odd, y + o);
      }
      if (fills_a_vector<T>(run.end - o)) {
        store(sums_of_pairs(from, run.end - o), y + o, run.end - o);
        o = run.end;
      }
    }
  }
  map_columns(axis, x, o, out, y);
}

template <class T>
HWY_INLINE void divide_row(const AxisData<T>& h, const AxisData<T>& w, int64_t row, T* y) {
  if (!h.divisors && !w.divisors) return;
  const Vec<T> high = h.divisors ? h.divisors[row] : T{1};
  if (w.divisors) {
    each_span<T>(w.map.out, [&](auto s) { s.store(s.load(y) / (high * s.load(w.divisors)), y); });
  } else {
    each_span<T>(w.map.out, [&](auto s) { s.store(s.load(y) / high, y); });
  }
}

// Rows [begin, end) of one plane. The map that makes the plane smaller is applied first.
template <class T>
HWY_INLINE void resample_plane(const AxisData<T>& h, const AxisData<T>& w, const T* x, int64_t begin, int64_t end,
                               PoolVector<T>& buffer, T* y) {
  const int64_t in_w = w.map.in, out_w = w.map.out;
  if (h.map.identity()) {
    for (int64_t i = begin; i < end; ++i) {
      map_row_of(w, x + i * in_w, y + i * out_w);
      divide_row(h, w, i, y + i * out_w);
    }
  } else if (h.map.out <= h.map.in) {
    buffer.resize(static_cast<std::size_t>(in_w));
    for (int64_t i = begin; i < end; ++i) {
      add_rows_up(x + h.outputs[i].first * in_w, in_w, h.outputs[i], h.weights, in_w, buffer.data());
      map_row_of(w, buffer.data(), y + i * out_w);
      divide_row(h, w, i, y + i * out_w);
    }
  } else {
    const int64_t first = h.outputs[begin].first, last = h.outputs[end - 1].first + h.outputs[end - 1].count;
    buffer.resize(static_cast<std::size_t>((last - first) * out_w));
    for (int64_t i = first; i < last; ++i) map_row_of(w, x + i * in_w, buffer.data() + (i - first) * out_w);
    for (int64_t i = begin; i < end; ++i) {
      add_rows_up(buffer.data() + (h.outputs[i].first - first) * out_w, out_w, h.outputs[i], h.weights, out_w,
                  y + i * out_w);
      divide_row(h, w, i, y + i * out_w);
    }
  }
}

// Pieces are consecutive blocks of rows of the planes.
void resample_pieces(const ResampleArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const AxisData<T> h(*args.h), w(*args.w);
    const int64_t rows = args.h->out, blocks = (rows + args.block - 1) / args.block;
    PoolVector<T> buffer;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t plane = piece / blocks, row = piece % blocks * args.block;
      resample_plane(h, w, static_cast<const T*>(args.x) + plane * args.h->in * args.w->in, row,
                     std::min(row + args.block, rows), buffer, static_cast<T*>(args.y) + plane * rows * args.w->out);
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(resample_pieces);

namespace {

constexpr int64_t kBlock = 32768;  // elements of the result that one thread takes at a time from a large plane

// The map with the transposed matrix. The outputs that read an input are adjacent, because windows move in one
// direction only.
AxisMap transposed(const AxisMap& map, DType dtype) {
  const int64_t in = map.in, out = map.out;
  if (map.identity()) return map;
  PoolVector<int64_t> first(static_cast<std::size_t>(in), 0), count(static_cast<std::size_t>(in), 0);
  for (int64_t o = out - 1; o >= 0; --o) {
    for (int64_t k = 0; k < map[o].count; ++k) {
      const auto i = static_cast<std::size_t>(map[o].first + k);
      count[i] += 1;
      first[i] = o;
    }
  }
  for (std::size_t i = 1; i < count.size(); ++i) {  // an input that no output reads
    if (count[i] == 0) first[i] = first[i - 1] + count[i - 1];
  }
  const auto of = [](const PoolVector<int64_t>& list) {
    return [&list](int64_t i) { return list[static_cast<std::size_t>(i)]; };
  };
  AxisMap back = axis_map(out, in, of(first), of(count));
  if (!map.weights.defined() && !map.divisors.defined()) return back;
  back.weights = Tensor::empty({weight_count(back)}, dtype);
  with_floating_type(dtype, [&]<class T>(T) {
    T* weight = back.weights.mutable_data<T>();
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t o = back[i].first; o < back[i].first + back[i].count; ++o) {
        const T w = map.weights.defined() ? map.weights.data<T>()[map[o].at + i - map[o].first] : T{1};
        *weight++ = map.divisors.defined() ? w / map.divisors.data<T>()[o] : w;
      }
    }
  });
  return back;
}

}  // namespace

int64_t weight_count(const AxisMap& map) {
  const int64_t out = map.out;
  return out == 0 ? 0 : map[out - 1].at + map[out - 1].count;
}

Tensor resample(const Op& op, const Tensor& x, const Planes& planes, const AxisMap& h, const AxisMap& w) {
  const int64_t rows = h.out, columns = w.out;
  const Tensor y = Tensor::empty(planes.resized(x, rows, columns), x.dtype());
  if (y.numel() > 0) {
    const Tensor from = packed(x);
    const int64_t block = rows * columns <= 2 * kBlock ? rows : rows_grain(columns, kBlock);
    run_rows(kernel_of(HWY_DISPATCH_TABLE(resample_pieces)),
             {.dtype = x.dtype(), .h = &h, .w = &w, .x = from.raw_data(), .y = y.mutable_raw_data(), .block = block},
             planes.count * pieces_of(rows, block), block * columns + planes.h * planes.w * block / rows);
  }
  return record(op, y, {x}, [&op, planes, h, w](const Tensor& dy) -> Grads {
    Planes from = planes;
    from.h = h.out;
    from.w = w.out;
    return resample(op, dy, from, transposed(h, dy.dtype()), transposed(w, dy.dtype()));
  });
}

AxisMap identity_map(int64_t size) {
  return axis_map(
      size, size, [](int64_t o) { return o; }, [](int64_t) { return 1; });
}

Tensor resample(const Op& op, const Tensor& x, const Planes& planes, const ImageMap& map) {
  const auto by_plane = [&](const Tensor& v, int64_t depths) {
    Planes each = planes;
    each.d = depths;
    return resample(op, v, each.each_depth(), map.h, map.w);
  };
  if (map.d.identity()) return by_plane(x, planes.d);
  const auto by_depth = [&](const Tensor& v) {
    const Tensor flat = depth_by_plane(v);
    const Tensor y = resample(op, flat, Planes(flat), map.d, identity_map(flat.size(-1)));
    return plane_unflattened(y, v.size(-2), v.size(-1));
  };
  return map.d.out <= map.d.in ? by_plane(by_depth(x), map.d.out) : by_depth(by_plane(x, planes.d));
}

}  // namespace tapegrad
#endif  // HWY_ONCE
