// Convolutions with one channel per group: each plane of x is convolved by itself.
//
// A plane is copied between zeros, which are written once for all planes, its columns sorted by their remainder modulo
// the stride: each tap of the kernel then reads contiguous elements for a whole row of the result, for any stride.
// build: alone
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/convolution/convolution_depthwise.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/ops/convolution/detail/tap_rows.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// y[r * y_step + j] = start + sum of weight[t] * from[r * from_step + taps[t] + j] over the taps, for kRows rows and
// kVecs vectors of which the last has `last`.
template <int kRows, int kVecs, class T>
HWY_INLINE void combine(const TapRows<T>& work, const T* from, const T* weight, T start, T* y, int64_t y_step,
                        int64_t last) {
  constexpr int kAll = kRows * kVecs;
  Vec<T> total[kAll], sum[kAll];
#pragma GCC unroll 8
  for (int i = 0; i < kAll; ++i) sum[i] = Vec<T>(start);
  const int64_t size = work.count / work.parts;
  for (int64_t part = 0, t = 0; part < work.parts; ++part) {
    for (const int64_t end = t + size; t < end; ++t) {
      const Vec<T> w = weight[t];
      const T* const at = from + work.taps[t];
#pragma GCC unroll 8
      for (int i = 0; i < kAll; ++i)
        sum[i] = fma(w, load(at + i / kVecs * work.from_step + i % kVecs * kLanes<T>), sum[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kAll; ++i) {
      total[i] = part == 0 ? sum[i] : total[i] + sum[i];
      sum[i] = Vec<T>(0);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kAll; ++i) {
    T* const to = y + i / kVecs * y_step + i % kVecs * kLanes<T>;
    i % kVecs < kVecs - 1 || last == kLanes<T> ? store(total[i], to) : store(total[i], to, last);
  }
}

// Rows of the result, at distance y_step. Of a narrow result four at a time: a weight is loaded once for all of them.
template <class T>
void combine_rows(const TapRows<T>& work, const T* weight, T start, T* y, int64_t y_step) {
  const int64_t fours = work.n <= 2 * kLanes<T> ? work.rows / 4 * 4 : 0, last_of_two = work.n - kLanes<T>;
  for (int64_t r = 0; r < fours; r += 4, y += 4 * y_step) {
    const T* const from = work.from + r * work.from_step;
    if (last_of_two > 0) {
      combine<4, 2>(work, from, weight, start, y, y_step, last_of_two);
    } else {
      combine<4, 1>(work, from, weight, start, y, y_step, work.n);
    }
  }
  for (int64_t r = fours; r < work.rows; ++r, y += y_step) {
    const T* const from = work.from + r * work.from_step;
    for (int64_t j = 0; j < work.n; j += 4 * kLanes<T>) {
      const int64_t some = std::min(4 * kLanes<T>, work.n - j), vecs = (some + kLanes<T> - 1) / kLanes<T>;
      const int64_t last = some - (vecs - 1) * kLanes<T>;
      switch (vecs) {
        case 1: combine<1, 1>(work, from + j, weight, start, y + j, 0, last); break;
        case 2: combine<1, 2>(work, from + j, weight, start, y + j, 0, last); break;
        case 3: combine<1, 3>(work, from + j, weight, start, y + j, 0, last); break;
        default: combine<1, 4>(work, from + j, weight, start, y + j, 0, last); break;
      }
    }
  }
}

// Rows of n elements, at distances from_step and to_step. The last vector of a row may overlap the one before.
template <class T>
void copy_rows(int64_t rows, int64_t n, const T* from, int64_t from_step, T* to, int64_t to_step) {
  for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) {
    if (n < kLanes<T>) {
      store(load(from, n), to, n);
      continue;
    }
    for (int64_t j = 0; j + kLanes<T> < n; j += kLanes<T>) store(load(from + j), to + j);
    store(load(from + n - kLanes<T>), to + n - kLanes<T>);
  }
}

// sums[t] (kSumLanes partial sums per tap) += the products of the rows of y with the rows that the tap reads. Two
// chains per partial sum: of the even and the odd groups of kSumLanes elements, the last group, if not whole, in the
// odd ones.
template <class T>
void correlate_rows(const TapRows<T>& work, const T* y, T* sums) {
  constexpr int64_t kGroup = kSumLanes<T>;
  for (int64_t t = 0; t < work.count; ++t) {
    Sum<Vec<T>> even = load_sum(sums + t * kGroup), odd;
    for (int64_t r = 0; r < work.rows; ++r) {
      const T* const from = work.from + r * work.from_step + work.taps[t];
      const T* const row = y + r * work.n;
      const auto add = [&](int64_t group, Sum<Vec<T>>& to) HWY_ATTR {
        each_part<T>([&](auto part) HWY_ATTR {
          const int64_t j = group + part * kLanes<T>;
          to.part[part] = fma(load(row + j), load(from + j), to.part[part]);
        });
      };
      int64_t j = 0;
      for (; j + 2 * kGroup <= work.n; j += 2 * kGroup) {
        add(j, even);
        add(j + kGroup, odd);
      }
      if (j + kGroup <= work.n) {
        add(j, even);
        j += kGroup;
      }
      each_part<T>([&](auto part) HWY_ATTR {
        const int64_t at = j + part * kLanes<T>, left = std::min(work.n - at, kLanes<T>);
        if (left > 0) odd.part[part] = fma(load(row + at, left), load(from + at, left), odd.part[part]);
      });
    }
    even += odd;
    each_part<T>([&](auto part) HWY_ATTR { store(even.part[part], sums + t * kGroup + part * kLanes<T>); });
  }
}

template <class T>
T sum_of_lanes(const T* sums) {
  return reduce_sum(load_sum(sums));
}

template <class T>
const TapKernels<T>& tap_kernels() {
  static constexpr TapKernels<T> kTable{kSumLanes<T>, copy_rows<T>, combine_rows<T>, correlate_rows<T>,
                                        sum_of_lanes<T>};
  return kTable;
}
const TapKernels<float>& tap_kernels_float() { return tap_kernels<float>(); }
const TapKernels<double>& tap_kernels_double() { return tap_kernels<double>(); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(tap_kernels_float);
HWY_EXPORT(tap_kernels_double);

namespace {

constexpr int64_t kGrain = 32768;  // elements times taps for one thread to take at a time

template <class T>
const TapKernels<T>& tap_kernels() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return chosen<HWY_DISPATCH_TABLE(tap_kernels_float)>();
  } else {
    return chosen<HWY_DISPATCH_TABLE(tap_kernels_double)>();
  }
}

// Copies of source planes, for windows of one kernel.
template <class T>
class Planes {
 public:
  Planes(const ConvShape& shape, bool transposed)
      : rows_{shape.rows, transposed},
        cols_{shape.cols, transposed},
        first_row_(rows_.first(0)),
        first_col_(cols_.first(0)),
        height_(std::max<int64_t>(1, rows_.end(rows_.to()) - first_row_)),
        columns_(pieces_of(std::max<int64_t>(1, cols_.end(cols_.to()) - first_col_), cols_.advance())) {}

  const ConvPass& rows() const { return rows_; }
  const ConvPass& cols() const { return cols_; }
  int64_t row_size() const { return columns_ * cols_.advance(); }
  int64_t size() const { return height_ * row_size(); }

  // Zeros for `copies` of planes.
  void clear(T* to, int64_t copies) const { std::fill_n(to, copies * size(), T(0)); }

  // The elements of a plane. What is around them in `to` stays.
  [[gnu::noinline]] void copy(const T* from, T* to) const {
    const int64_t width = cols_.from(), step = cols_.advance(), top = std::max<int64_t>(0, -first_row_);
    const int64_t rows = std::min(height_, rows_.from() - first_row_) - top;
    for (int64_t phase = 0; phase < step && rows > 0; ++phase) {
      const int64_t begin = first_col_ + phase;  // the column of the first element of the phase
      const int64_t left = begin < 0 ? std::min(columns_, (step - 1 - begin) / step) : 0;
      const int64_t n = std::clamp(begin < width ? pieces_of(width - begin, step) : 0, left, columns_) - left;
      if (n <= 0) continue;
      const T* line = from + (first_row_ + top) * width + begin + left * step;
      T* part = to + top * row_size() + phase * columns_ + left;
      if (step == 1) {
        tap_kernels<T>().copy_rows(rows, n, line, width, part, row_size());
        continue;
      }
      for (int64_t i = 0; i < rows; ++i, line += width, part += row_size())
        for (int64_t j = 0; j < n; ++j) part[j] = line[j * step];
    }
  }

  // For the first element of a class: the offsets in a copy of the taps that contribute to it, and in `places` their
  // positions in the kernel. Returns their number.
  int64_t list_taps(const ConvTaps& down, int64_t row_class, const ConvTaps& across, int64_t col_class,
                    int64_t* offsets, int64_t* places) const {
    const ConvTaps::Class &rows = down[row_class], &cols = across[col_class];
    int64_t count = 0;
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t p = down.tap(rows.first + i), row = rows_.source(rows.residue, p) - first_row_;
      for (int64_t j = 0; j < cols.count; ++j) {
        const int64_t q = across.tap(cols.first + j), col = cols_.source(cols.residue, q) - first_col_;
        offsets[count] = row * row_size() + col % cols_.advance() * columns_ + col / cols_.advance();
        places[count++] = p * cols_.axis.kernel + q;
      }
    }
    return count;
  }

 private:
  ConvPass rows_, cols_;
  int64_t first_row_, first_col_, height_;
  int64_t columns_;  // of a phase
};

// Elements of a class along an axis.
int64_t count_of_class(const ConvPass& pass, int64_t residue) {
  return residue < pass.to() ? pieces_of(pass.to() - residue, pass.classes()) : 0;
}

// The taps of every class of elements of the result, source after source.
template <class T>
struct ListedTaps {
  Scratch<int64_t> offsets, places, counts;  // counts: by class

  ListedTaps(const Planes<T>& planes, const ConvTaps& rows, const ConvTaps& cols, int64_t taps, int64_t sources)
      : offsets(taps * sources), places(taps * sources), counts(rows.count() * cols.count()) {
    int64_t listed = 0;
    for (int64_t at = 0; at < rows.count() * cols.count(); ++at) {
      int64_t* const first = offsets.get() + listed;
      int64_t* const place = places.get() + listed;
      const int64_t count = planes.list_taps(rows, at / cols.count(), cols, at % cols.count(), first, place);
      for (int64_t s = 1; s < sources; ++s) {
        for (int64_t t = 0; t < count; ++t) {
          first[s * count + t] = first[t] + s * planes.size();
          place[s * count + t] = place[t] + s * taps;
        }
      }
      counts.get()[at] = count * sources;
      listed += count * sources;
    }
  }
};

}  // namespace

template <class T>
void convolve_planes(const ConvShape& shape, bool transposed, const T* from, const T* weight, const T* bias, T* to) {
  const TapKernels<T>& use = tap_kernels<T>();
  const Planes<T> planes(shape, transposed);
  const ConvPass &rows = planes.rows(), &cols = planes.cols();
  const ConvTaps row_taps(rows), col_taps(cols);
  const int64_t classes = row_taps.count() * col_taps.count(), taps = shape.taps();
  const int64_t sources = transposed ? shape.o : 1, results = transposed ? 1 : shape.o;  // planes per group
  const int64_t from_plane = rows.from() * cols.from(), to_plane = rows.to() * cols.to();

  const ListedTaps<T> listed(planes, row_taps, col_taps, taps, sources);
  const bool all_have_taps = row_taps.all() && col_taps.all();
  const int64_t work = std::max<int64_t>(1, to_plane * taps * shape.o / (rows.classes() * cols.classes()));
  parallel_for(shape.n * shape.groups, std::max<int64_t>(1, 8 * kGrain / work), [&](int64_t begin, int64_t end) {
    const Scratch<T> copy(sources * planes.size() + kTapSlack), chosen(taps * sources), spread(cols.to());
    planes.clear(copy.get(), sources);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i % shape.groups;
      for (int64_t s = 0; s < sources; ++s) {
        planes.copy(from + (i * sources + s) * from_plane, copy.get() + s * planes.size());
      }
      for (int64_t result = 0; result < results; ++result) {
        const T* const kernel = weight + (group * shape.o + result) * taps;
        const T start = bias == nullptr ? T(0) : bias[group * results + result];
        T* const y = to + (i * results + result) * to_plane;
        if (!all_have_taps) std::fill_n(y, to_plane, start);
        const int64_t *offset = listed.offsets.get(), *place = listed.places.get();
        for (int64_t at = 0; at < classes; ++at) {
          const int64_t row_class = row_taps[at / col_taps.count()].residue;
          const int64_t col_class = col_taps[at % col_taps.count()].residue, count = listed.counts.get()[at];
          for (int64_t t = 0; t < count; ++t) chosen.get()[t] = kernel[place[t]];
          TapRows<T> todo{.rows = count_of_class(rows, row_class),
                          .n = count_of_class(cols, col_class),
                          .count = count,
                          .taps = offset,
                          .from = copy.get(),
                          .from_step = rows.advance() * planes.row_size()};
          offset += count;
          place += count;
          if (cols.classes() == 1) {
            T* const first = y + row_class * cols.to();
            use.combine_rows(todo, chosen.get(), start, first, rows.classes() * cols.to());
            continue;
          }
          const int64_t lines = todo.rows;  // the elements of the result are strided: one row at a time
          todo.rows = 1;
          for (int64_t line = 0; line < lines; ++line, todo.from += todo.from_step) {
            use.combine_rows(todo, chosen.get(), start, spread.get(), 0);
            T* const row = y + (row_class + line * rows.classes()) * cols.to() + col_class;
            for (int64_t j = 0; j < todo.n; ++j) row[j * cols.classes()] = spread.get()[j];
          }
        }
      }
    }
  });
}

namespace {

// Copies of the planes that a window of depths reads: those that the window before has read stay where they are.
template <class T>
class DepthWindow {
 public:
  DepthWindow(const Planes<T>& planes, const ConvAxis& axis)
      : planes_(planes),
        axis_(axis),
        copies_((axis.kernel + 1) * planes.size() + kTapSlack),
        depths_(axis.kernel),
        wanted_(axis.kernel) {
    planes.clear(copies_.get(), axis.kernel + 1);  // the last is outside of the volume
  }

  const T* copies() const { return copies_.get(); }
  void forget() { std::fill_n(depths_.get(), axis_.kernel, kNone); }

  // Copies the planes of a window of `volume`; slots[k] is the place of the copy for element k of the kernel.
  void read(const T* volume, int64_t plane, int64_t window, int64_t* slots) {
    for (int64_t k = 0; k < axis_.kernel; ++k) {
      const int64_t depth = window * axis_.stride - axis_.padding + k * axis_.dilation;
      wanted_.get()[k] = depth >= 0 && depth < axis_.size ? depth : kNone;
      slots[k] = depth >= 0 && depth < axis_.size ? place_of(depths_.get(), depth) : axis_.kernel;
    }
    for (int64_t k = 0, free = 0; k < axis_.kernel; ++k) {
      const int64_t depth = wanted_.get()[k];
      if (depth == kNone || slots[k] < axis_.kernel) continue;
      while (place_of(wanted_.get(), depths_.get()[free]) < axis_.kernel && depths_.get()[free] != kNone) ++free;
      planes_.copy(volume + depth * plane, copies_.get() + free * planes_.size());
      depths_.get()[free] = depth;
      slots[k] = free++;
    }
  }

 private:
  static constexpr int64_t kNone = -1;

  int64_t place_of(const int64_t* list, int64_t depth) const {
    return std::find(list, list + axis_.kernel, depth) - list;
  }

  const Planes<T>& planes_;
  const ConvAxis& axis_;
  const Scratch<T> copies_;
  const Scratch<int64_t> depths_, wanted_;  // of the copies; of the window
};

}  // namespace

// The sums of the planes of a kernel are added in order.
template <class T>
void convolve_volumes(const ConvShape& shape, const T* x, const T* weight, const T* bias, T* y) {
  const TapKernels<T>& use = tap_kernels<T>();
  const Planes<T> planes(shape, false);
  const ConvAxis& depth = shape.depth;
  const int64_t taps = shape.taps(), all = taps * depth.kernel;
  const Scratch<int64_t> offsets(taps), places(taps);
  planes.list_taps(ConvTaps(planes.rows()), 0, ConvTaps(planes.cols()), 0, offsets.get(), places.get());
  const int64_t work = std::max<int64_t>(1, shape.out_image() * all * shape.o);
  // Windows next to each other for one thread, which copies most planes once.
  const int64_t blocks = pieces_of(depth.out, std::max(2 * depth.kernel, 8 * kGrain / work));
  parallel_for(shape.n / depth.out * shape.groups * blocks, 1, [&](int64_t begin, int64_t end) {
    DepthWindow<T> window(planes, depth);
    const Scratch<int64_t> slots(depth.kernel), at(all);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t volume = i / blocks, group = volume % shape.groups, block = i % blocks;
      window.forget();
      for (int64_t d = depth.out * block / blocks; d < depth.out * (block + 1) / blocks; ++d) {
        window.read(x + volume * depth.size * shape.image(), shape.image(), d, slots.get());
        for (int64_t t = 0; t < all; ++t) {
          at.get()[t] = slots.get()[t / taps] * planes.size() + offsets.get()[t % taps];
        }
        for (int64_t o = group * shape.o; o < (group + 1) * shape.o; ++o) {
          use.combine_rows(
              {.rows = shape.rows.out,
               .n = shape.cols.out,
               .count = all,
               .taps = at.get(),
               .from = window.copies(),
               .from_step = shape.rows.stride * planes.row_size(),
               .parts = depth.kernel},
              weight + o * all, bias == nullptr ? T(0) : bias[o],
              shape.y_plane(y, volume / shape.groups * depth.out + d, group) + (o - group * shape.o) * shape.y_step(),
              shape.cols.out);
        }
      }
    }
  });
}

template <class T>
void convolve_planes_weight(const ConvShape& shape, const T* x, const T* y, T* weight) {
  const TapKernels<T>& use = tap_kernels<T>();
  const Planes<T> planes(shape, false);
  const int64_t taps = shape.taps(), plane = shape.out_image();
  const Scratch<int64_t> offsets(taps), places(taps);
  planes.list_taps(ConvTaps(planes.rows()), 0, ConvTaps(planes.cols()), 0, offsets.get(), places.get());
  const int64_t work = std::max<int64_t>(1, shape.n * plane * taps * shape.o);
  parallel_for(shape.groups, std::max<int64_t>(1, 8 * kGrain / work), [&](int64_t begin, int64_t end) {
    const Scratch<T> copy(planes.size() + kTapSlack), sums(shape.o * taps * use.lanes);
    planes.clear(copy.get(), 1);
    for (int64_t group = begin; group < end; ++group) {
      std::fill_n(sums.get(), shape.o * taps * use.lanes, T(0));
      for (int64_t n = 0; n < shape.n; ++n) {
        const int64_t i = n * shape.groups + group;
        planes.copy(x + i * shape.image(), copy.get());
        for (int64_t o = 0; o < shape.o; ++o) {
          use.correlate_rows({.rows = shape.rows.out,
                              .n = shape.cols.out,
                              .count = taps,
                              .taps = offsets.get(),
                              .from = copy.get(),
                              .from_step = shape.rows.stride * planes.row_size()},
                             y + (i * shape.o + o) * plane, sums.get() + o * taps * use.lanes);
        }
      }
      for (int64_t at = 0; at < shape.o * taps; ++at) {
        weight[group * shape.o * taps + at] = use.sum_of_lanes(sums.get() + at * use.lanes);
      }
    }
  });
}

template void convolve_planes<float>(const ConvShape&, bool, const float*, const float*, const float*, float*);
template void convolve_planes<double>(const ConvShape&, bool, const double*, const double*, const double*, double*);
template void convolve_volumes<float>(const ConvShape&, const float*, const float*, const float*, float*);
template void convolve_volumes<double>(const ConvShape&, const double*, const double*, const double*, double*);
template void convolve_planes_weight<float>(const ConvShape&, const float*, const float*, float*);
template void convolve_planes_weight<double>(const ConvShape&, const double*, const double*, double*);

}  // namespace tapegrad
#endif  // HWY_ONCE
