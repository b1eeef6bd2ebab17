// The gradients of window attention as recorded operations, which can be differentiated again.
// build: -Os
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/attention/detail/window_call.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

#include <limits>

namespace tapegrad {
namespace {

// Some queries, and the keys that each of them may see.
struct SeenKeys {
  Tensor queries;  // [R] int64, rows of query
  Tensor keys;     // [R, K] int64; 0 where hidden
  Tensor visible;  // [..., R, K] bool
  Tensor kept;     // the same, or empty
};

bool allows(const WindowAttention& a, int64_t start, int64_t query, int64_t key) {
  return !a.mask.defined() || a.mask.data<bool>()[start + query * a.mask.strides()[-2] + key * a.mask.strides()[-1]];
}

// `keys_of(query, k)` is the k-th key that a query may see, or -1; `drawn` where the mask of dropout begins.
SeenKeys seen_keys(const WindowAttention& a, const Tensor& queries, int64_t count, int64_t drawn, const auto& keys_of) {
  const Shape batch = leading_axes(a.query);
  const Offsets from_mask = a.mask.defined() ? matrix_starts(a.mask, batch) : Offsets();
  const int64_t rows = queries.numel(), heads = batch.numel();
  const Shape cells = with_axes(batch, {rows, count});
  SeenKeys out{queries, Tensor::empty({rows, count}, kInt64), Tensor::empty(cells, kBool), {}};
  int64_t* const keys = out.keys.mutable_data<int64_t>();
  for (int64_t i = 0; i < rows * count; ++i) keys[i] = keys_of(queries.data<int64_t>()[i / count], i % count);
  bool* visible = out.visible.mutable_data<bool>();
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t start = a.mask.defined() ? from_mask[static_cast<std::size_t>(h)] : 0;
    for (int64_t i = 0; i < rows * count; ++i) {
      *visible++ = keys[i] >= 0 && allows(a, start, queries.data<int64_t>()[i / count], keys[i]);
    }
  }
  for (int64_t i = 0; i < rows * count; ++i) keys[i] = std::max<int64_t>(0, keys[i]);
  if (a.keep) {
    out.kept = Tensor::empty(cells, kBool);
    a.keep.unpack(drawn, cells.numel(), out.kept.mutable_data<bool>());
  }
  return out;
}

SeenKeys keys_of_windows(const WindowAttention& a) {
  const int64_t slots = a.slots(), d = a.dilation;
  return seen_keys(a, arange(0, a.rows()), a.draws(), 0, [&](int64_t query, int64_t k) -> int64_t {
    const int64_t position = a.start() + query;
    if (std::binary_search(a.globals.begin(), a.globals.end(), position)) return -1;
    if (k < slots) {
      const int64_t key = position + (k - a.window) * d;
      return key < a.columns() ? key : -1;  // negative before the first key
    }
    const int64_t key = a.globals[static_cast<std::size_t>(k - slots)], distance = key - position;
    const bool in_window = distance % d == 0 && distance >= -a.window * d && distance <= a.later() * d;
    return in_window || (a.causal && distance > 0) ? -1 : key;
  });
}

SeenKeys keys_of_globals(const WindowAttention& a) {
  const Tensor queries = Tensor::empty({a.global_queries()}, kInt64);
  for (int64_t i = 0; i < a.global_queries(); ++i) {
    queries.mutable_data<int64_t>()[i] = a.globals[static_cast<std::size_t>(a.first_global_query() + i)] - a.start();
  }
  return seen_keys(a, queries, a.columns(), a.heads() * a.rows() * a.draws(),
                   [&](int64_t query, int64_t k) { return a.causal && k > a.start() + query ? int64_t{-1} : k; });
}

// The rows of x [..., S, D] that `keys` [R, K] lists: [..., R, K, D].
Tensor gathered(const Tensor& x, const Tensor& keys) {
  Shape shape = x.shape();
  shape[-2] = keys.size(0);
  shape.insert(shape.rank() - 1, keys.size(1));
  return index_select(x, -2, keys.reshape({keys.numel()})).reshape(shape);
}

// The reverse: adds dx [..., R, K, D] to the rows of zeros like x.
Tensor spread(const Tensor& x, const Tensor& keys, const Tensor& dx) {
  return index_add(zeros(x.shape(), x.dtype()), -2, keys.reshape({keys.numel()}), dx.flatten(-3, -2));
}

Grads gathered_backward(const WindowAttention& a, const Tensor& dy, const SeenKeys& seen) {
  const Tensor q = index_select(a.query, -2, seen.queries).unsqueeze(-2);  // [..., R, 1, D]
  const Tensor of_y = index_select(dy, -2, seen.queries).unsqueeze(-2);    // [..., R, 1, E]
  const Tensor k = gathered(a.key, seen.keys), v = gathered(a.value, seen.keys);
  const double nothing = -std::numeric_limits<double>::infinity();
  const Tensor w = softmax(where(seen.visible, sum(q * k, -1) * a.scale, nothing), -1);  // [..., R, K]
  const Tensor kept = seen.kept.defined() ? seen.kept.to(w.dtype()) / a.keep_probability : Tensor();
  const Tensor dropped = kept.defined() ? w * kept : w;
  Tensor dw = sum(of_y * v, -1);
  if (kept.defined()) dw = dw * kept;
  const Tensor ds = (w * (dw - sum(dw * w, -1, true)) * a.scale).unsqueeze(-1);  // [..., R, K, 1]
  const Tensor dq = index_add(zeros(a.query.shape(), dy.dtype()), -2, seen.queries, sum(ds * k, -2));
  return {dq, spread(a.key, seen.keys, ds * q), spread(a.value, seen.keys, dropped.unsqueeze(-1) * of_y)};
}

}  // namespace

Grads recorded_window_backward(const WindowAttention& a, const Tensor& dy) {
  Grads out = gathered_backward(a, dy, keys_of_windows(a));
  if (a.global_queries() == 0) return out;
  Grads of_globals = gathered_backward(a, dy, keys_of_globals(a));
  for (std::size_t i = 0; i < 3; ++i) out[i] = out[i] + of_globals[i];
  return out;
}

}  // namespace tapegrad
