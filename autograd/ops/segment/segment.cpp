// Reductions of rows by segment: sum, mean, extremes, softmax, logsumexp.
#include <tapegrad/autograd/detail/index_text.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/ops/segment/detail/segments.h>
#include <tapegrad/autograd/segment.h>

#include <algorithm>
#include <limits>

namespace tapegrad {
namespace {

const Op kSegmentSum{"segment_sum"};
const Op kSegmentMean{"segment_mean"};
const Op kSegmentMax{"segment_max"};
const Op kSegmentMin{"segment_min"};
const SymmetricOp kSegmentSoftmax{"segment_softmax"};
const Op kSegmentLogsumexp{"segment_logsumexp"};

Segments segments_of(const Op& op, const Tensor& x, const Tensor& index, int64_t count) {
  if (x.dim() == 0) op.fail("expected x with one axis or more, got a scalar");
  return make_segments(op.name, index, x.shape()[0], count);
}

// The reduction of x by segment, [count, ...], in the type of x. Not recorded.
Tensor reduced_by_segment(SegmentKind kind, const Tensor& x, const Segments& segments) {
  const Tensor y = Tensor::empty(with_size(x.shape(), 0, segments.count), x.dtype());
  run_segments(kind, segments, {.x = packed(x)}, y);
  return y;
}

// Row i of the result is row ids[i] of y [count, ...]. Recorded.
Tensor of_rows(const Tensor& y, const Segments& segments) { return index_select(y, 0, segments.ids); }

// segment_sum with segments that are known. Recorded.
Tensor summed(const Tensor& x, const Segments& segments) {
  return record(kSegmentSum, reduced_by_segment(SegmentKind::sum, x, segments), {x},
                [segments](const Tensor& dy) -> Grads { return of_rows(dy, segments); });
}

// The number of rows of each segment, at least 1, [count, 1, ...] for `rank` axes.
Tensor sizes_of(const Segments& segments, int rank, DType dtype) {
  const Tensor sizes = Tensor::empty(with_size(Shape::filled(rank, 1), 0, segments.count), dtype);
  const int64_t* const start = segments.starts.data<int64_t>();
  with_floating_type(dtype, [&]<class T>(T) {
    for (int64_t s = 0; s < segments.count; ++s)
      sizes.mutable_data<T>()[s] = static_cast<T>(std::max<int64_t>(start[s + 1] - start[s], 1));
  });
  return sizes;
}

// The gradient of x in one pass over the segments, where backward itself is not recorded. Softmax needs no x.
Tensor gradient(SegmentKind kind, const Segments& segments, const Tensor& x, const Tensor& y, const Tensor& dy) {
  const Tensor dx = Tensor::empty(x.defined() ? x.shape() : y.shape(), dy.dtype());
  run_segments(kind, segments, {.x = packed(x), .y = y, .dy = packed(dy)}, dx);
  return dx;
}

Tensor extreme(const Op& op, SegmentKind kind, const Tensor& x, const Tensor& index, int64_t count) {
  require(!widens_to_int64(x.dtype()), op, "expected int64, float32 or float64, got {} (convert with to(kInt64))",
          x.dtype());
  const Segments segments = segments_of(op, x, index, count);
  const Tensor y = reduced_by_segment(kind, x, segments);
  return record(op, y, {x}, [x, y, segments](const Tensor& dy) -> Grads {
    if (!Tape::current()) return gradient(SegmentKind::extreme_gradient, segments, x, y, dy);
    const Tensor chosen = (x.detach() == of_rows(y.detach(), segments)).to(dy.dtype());
    // by row: an empty segment has nothing to divide by
    const Tensor shares = of_rows(reduced_by_segment(SegmentKind::sum, chosen, segments), segments);
    return of_rows(dy, segments) / shares * chosen;
  });
}

}  // namespace

Segments make_segments(std::string_view where, const Tensor& index, int64_t rows, int64_t count) {
  if (!is_integer(index.dtype())) fail(where, "expected an int64 index, got {}", index.dtype());
  require(index.dim() == 1 && index.shape()[0] == rows, where,
          "expected an index of shape [{}], one for each row of x, got {}", rows, index.shape());
  if (count < 0) fail(where, "expected 0 segments or more, got {}", count);
  Segments made{count, rows, packed(index.to(kInt64)), zeros({checked_numel(where, {count}) + 1}, kInt64),
                zeros({rows + kLookAhead}, kInt64)};
  const int64_t* const id = made.ids.data<int64_t>();
  int64_t* const start = made.starts.mutable_data<int64_t>();
  int64_t* const order = made.order.mutable_data<int64_t>();
  bool ascending = true;
  for (int64_t i = 0; i < rows; ++i) {
    if (id[i] < 0 || id[i] >= count) {
      fail(where, "{} at {} of the index {} is out of range for {} segments", id[i], index_text(i, index.shape()),
           index.shape(), count);
    }
    ++start[id[i] + 1];
    ascending = ascending && (i == 0 || id[i - 1] <= id[i]);
  }
  for (int64_t s = 0; s < count; ++s) start[s + 1] += start[s];
  if (ascending) {
    for (int64_t i = 0; i < rows; ++i) order[i] = i;
  } else {
    Scratch<int64_t> next(count);
    std::copy(start, start + count, next.get());
    for (int64_t i = 0; i < rows; ++i) order[next.get()[id[i]]++] = i;
  }
  return made;
}

Tensor segment_sum(const Tensor& x, const Tensor& index, int64_t segments) {
  if (widens_to_int64(x.dtype())) return segment_sum(x.to(kInt64), index, segments);
  return summed(x, segments_of(kSegmentSum, x, index, segments));
}

Tensor segment_mean(const Tensor& x, const Tensor& index, int64_t count) {
  require_floating(kSegmentMean.name, {&x});
  const Segments segments = segments_of(kSegmentMean, x, index, count);
  return record(kSegmentMean, reduced_by_segment(SegmentKind::mean, x, segments), {x},
                [segments](const Tensor& dy) -> Grads {
                  return of_rows(dy / sizes_of(segments, dy.dim(), dy.dtype()), segments);
                });
}

Tensor segment_max(const Tensor& x, const Tensor& index, int64_t segments) {
  return extreme(kSegmentMax, SegmentKind::maximum, x, index, segments);
}

Tensor segment_min(const Tensor& x, const Tensor& index, int64_t segments) {
  return extreme(kSegmentMin, SegmentKind::minimum, x, index, segments);
}

Tensor segment_logsumexp(const Tensor& x, const Tensor& index, int64_t count) {
  require_floating(kSegmentLogsumexp.name, {&x});
  const Segments segments = segments_of(kSegmentLogsumexp, x, index, count);
  const Tensor y = reduced_by_segment(SegmentKind::log_sum_exp, x, segments);
  return record(kSegmentLogsumexp, y, {x}, [x, y, segments](const Tensor& dy) -> Grads {
    if (!Tape::current()) return gradient(SegmentKind::log_sum_exp_gradient, segments, x, y, dy);
    // dx = dy * exp(x - y); where all of a segment is -inf it is 0
    return of_rows(dy, segments) *
           exp(x - of_rows(masked_fill(y, y == -std::numeric_limits<double>::infinity(), 0), segments));
  });
}

Tensor segment_softmax(const Tensor& x, const Tensor& index, int64_t count) {
  require_floating(kSegmentSoftmax.name, {&x});
  const Segments segments = segments_of(kSegmentSoftmax, x, index, count);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  run_segments(SegmentKind::softmax, segments, {.x = packed(x)}, y);
  return record(kSegmentSoftmax, y, {x}, [y, segments](const Tensor& dy) -> Grads {
    if (!Tape::current()) return gradient(SegmentKind::softmax_gradient, segments, {}, y, dy);
    return y * (dy - of_rows(summed(y * dy, segments), segments));
  });
}

}  // namespace tapegrad
