// Attention within a sliding window: matrix products of blocks of queries with the keys that they attend to.
//
// With dilation d, positions only attend to positions that are equal modulo d: each such lane is a separate sequence,
// whose rows are d rows apart in memory. Within a lane the window has no gaps.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/attention/detail/hidden_keys.h>
#include <tapegrad/autograd/ops/attention/detail/window_block.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/window_attention.h>

#include <cmath>
#include <cstring>

namespace tapegrad {
namespace {

using namespace window;

const Op kWindowAttention{"sliding_window_attention"};

bool covers_everything(const WindowAttention& a) { return a.dilation == 1 && a.window >= a.columns() - 1; }

template <class T>
void copy_row(MatrixView<const T> from, int64_t n, MatrixView<T> to) {
  for (int64_t j = 0; j < n; ++j) to.data[j * to.col_stride] = from.data[j * from.col_stride];
}

// Calls f(h, lane, first, last) for the pieces of queries of all heads and lanes: first the even-numbered ones, then
// the odd-numbered ones, or with `at_once` all of them. `g(piece)` makes the buffers that f needs on a thread.
void for_each_piece(const WindowAttention& a, bool at_once, const auto& make, const auto& f) {
  const int64_t pieces = a.pieces(), size = a.piece();
  const int64_t work =
      std::max<int64_t>(1, std::min(size, a.rows()) * a.block_columns() * (a.query.size(-1) + a.value.size(-1)));
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 20) / work);
  const int64_t phases = at_once ? 1 : 2;
  for (int64_t phase = 0; phase < phases; ++phase) {
    const int64_t count = (pieces - phase + phases - 1) / phases;
    parallel_for(a.heads() * a.dilation * count, grain, [&](int64_t begin, int64_t end) {
      auto state = make();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t piece = i % count * phases + phase, l = i / count % a.dilation, h = i / count / a.dilation;
        const Lane lane = a.lane(l);
        const int64_t first = piece * size, last = std::min(lane.queries, first + size);
        if (first < last) f(state, h, lane, first, last, (h * a.dilation + l) * pieces + piece);
      }
    });
  }
}

template <class T>
void global_forward(const WindowAttention& a, const WindowInputs& in, const Tensor& y) {
  const Offsets from_y = matrix_starts(y, in.batch);
  const int64_t s = a.columns(), e = a.value.size(-1), queries = a.global_queries();
  parallel_for(a.heads(), 1, [&](int64_t begin, int64_t end) {
    GlobalBlock<T> block(a, in);
    const Tensor result = Tensor::empty({GlobalBlock<T>::kRows, e}, a.query.dtype());
    for (int64_t h = begin; h < end; ++h) {
      const auto i = static_cast<std::size_t>(h);
      for (int64_t first = 0; first < queries; first += GlobalBlock<T>::kRows) {
        const int64_t rows = std::min(GlobalBlock<T>::kRows, queries - first);
        block.compute(h, first, rows);
        gemm<T>(rows, e, s, T{1}, {block.dropped(), s, 1}, matrix_of<T>(a.value, in.from_v[i]), T{0},
                {result.mutable_data<T>(), e, 1});
        for (int64_t t = 0; t < rows; ++t) {
          copy_row<T>(matrix_of<T>(result, 0, t), e, fresh_matrix_of<T>(y, from_y[i], block.row_of(first + t)));
        }
      }
    }
  });
}

template <class T>
void forward(const WindowAttention& a, const Tensor& y) {
  const WindowInputs in(a);
  const Offsets from_y = matrix_starts(y, in.batch);
  const int64_t e = a.value.size(-1), globals = a.seen_by_all();
  const auto make = [&] { return WindowBlock<T>(a, in); };
  for_each_piece(a, true, make,
                 [&](WindowBlock<T>& block, int64_t h, const Lane& lane, int64_t begin, int64_t end, int64_t) {
                   const auto i = static_cast<std::size_t>(h);
                   for (int64_t first = begin; first < end; first += a.block_rows()) {
                     const int64_t rows = std::min(a.block_rows(), end - first);
                     block.compute(h, lane, first, rows);
                     const MatrixView<T> out = block.fresh_query_rows(y, from_y[i]);
                     gemm<T>(rows, e, block.keys(), T{1}, {block.dropped() + globals, block.columns(), 1},
                             block.value(i), T{0}, out);
                     if (globals > 0) {
                       gemm<T>(rows, e, globals, T{1}, {block.dropped(), block.columns(), 1},
                               contiguous_matrix<T>(in.global_values, h), T{1}, out);
                     }
                   }
                 });
  if (a.global_queries() > 0) global_forward<T>(a, in, y);
}

// The gradients of one call: those of the results, and for the global tokens those of each piece.
struct WindowGradients {
  Tensor dq, dk, dv;
  Offsets to_q, to_k, to_v;
};

template <class T>
void global_backward(const WindowAttention& a, const WindowInputs& in, const Tensor& dy, const WindowGradients& out) {
  const int64_t s = a.columns(), d = a.query.size(-1), e = a.value.size(-1), queries = a.global_queries();
  const T scale = static_cast<T>(a.scale);
  const Tensor global_dy = WindowInputs::taken(dy, a.globals, a.first_global_query(), a.start());
  parallel_for(a.heads(), 1, [&](int64_t begin, int64_t end) {
    GlobalBlock<T> block(a, in);
    constexpr int64_t kRows = GlobalBlock<T>::kRows;
    const Tensor scratch = Tensor::empty({kRows, s}, a.query.dtype());
    const Tensor result = Tensor::empty({kRows, d}, a.query.dtype());
    T* const ds = scratch.mutable_data<T>();
    for (int64_t h = begin; h < end; ++h) {
      const auto i = static_cast<std::size_t>(h);
      const MatrixView<const T> key = matrix_of<T>(a.key, in.from_k[i]);
      for (int64_t first = 0; first < queries; first += kRows) {
        const int64_t rows = std::min(kRows, queries - first);
        const MatrixView<const T> of_y = contiguous_matrix<T>(global_dy, h, first);
        block.compute(h, first, rows);
        gemm<T>(s, e, rows, T{1}, {block.dropped(), 1, s}, of_y, T{1}, fresh_matrix_of<T>(out.dv, out.to_v[i]));
        gemm<T>(rows, s, e, T{1}, of_y, transposed(matrix_of<T>(a.value, in.from_v[i])), T{0}, {ds, s, 1});
        block.backward(ds);
        gemm<T>(rows, d, s, scale, {ds, s, 1}, key, T{0}, {result.mutable_data<T>(), d, 1});
        for (int64_t t = 0; t < rows; ++t) {
          copy_row<T>(matrix_of<T>(result, 0, t), d, fresh_matrix_of<T>(out.dq, out.to_q[i], block.row_of(first + t)));
        }
        gemm<T>(s, d, rows, scale, {ds, 1, s}, block.query(h, first), T{1}, fresh_matrix_of<T>(out.dk, out.to_k[i]));
      }
    }
  });
}

// Adds the gradients [heads, pieces, G, n] of the global tokens' rows to those of all rows, piece after piece.
template <class T>
void add_global_rows(const WindowAttention& a, const Tensor& of_pieces, const Tensor& to, const Offsets& starts) {
  const int64_t pieces = of_pieces.size(1), globals = of_pieces.size(2), n = of_pieces.size(3);
  parallel_for_each(a.heads() * globals, 16, [&](int64_t i) {
    const int64_t h = i / globals, g = i % globals;
    const MatrixView<T> row =
        fresh_matrix_of<T>(to, starts[static_cast<std::size_t>(h)], a.globals[static_cast<std::size_t>(g)]);
    for (int64_t p = 0; p < pieces; ++p) {
      const T* const from = of_pieces.data<T>() + ((h * pieces + p) * globals + g) * n;
      for (int64_t j = 0; j < n; ++j) row.data[j * row.col_stride] += from[j];
    }
  });
}

// Zeros a tensor that empty_laid_out_as made.
void clear(const Tensor& x) {
  const int64_t bytes = x.numel() * item_size(x.dtype());
  auto* const to = static_cast<char*>(x.mutable_raw_data());
  parallel_for(bytes, int64_t{1} << 20,
               [&](int64_t begin, int64_t end) { std::memset(to + begin, 0, static_cast<std::size_t>(end - begin)); });
}

template <class T>
void backward(const WindowAttention& a, const Tensor& dy, const WindowGradients& out) {
  const WindowInputs in(a);
  const Offsets from_dy = matrix_starts(dy, in.batch);
  const int64_t d = a.query.size(-1), e = a.value.size(-1), globals = a.seen_by_all();
  const T scale = static_cast<T>(a.scale);
  clear(out.dk), clear(out.dv);
  Tensor dkg, dvg;  // of the global tokens: every piece adds to them
  if (globals > 0) {
    dkg = zeros({a.heads(), a.dilation * a.pieces(), globals, d}, dy.dtype());
    dvg = zeros({a.heads(), a.dilation * a.pieces(), globals, e}, dy.dtype());
  }
  struct State {
    WindowBlock<T> block;
    Tensor scratch;
  };
  const auto make = [&] {
    return State{WindowBlock<T>(a, in), Tensor::empty({a.block_rows() * a.block_columns()}, dy.dtype())};
  };
  for_each_piece(
      a, false, make, [&](State& state, int64_t h, const Lane& lane, int64_t begin, int64_t end, int64_t piece) {
        const auto i = static_cast<std::size_t>(h);
        WindowBlock<T>& block = state.block;
        T* const ds = state.scratch.template mutable_data<T>();
        for (int64_t first = begin; first < end; first += a.block_rows()) {
          const int64_t rows = std::min(a.block_rows(), end - first);
          block.compute(h, lane, first, rows);
          const int64_t keys = block.keys(), columns = block.columns();
          const MatrixView<const T> of_y = block.query_rows(dy, from_dy[i]);
          const MatrixView<T> dq = block.fresh_query_rows(out.dq, out.to_q[i]);
          // y = weights v
          gemm<T>(keys, e, rows, T{1}, {block.dropped() + globals, 1, columns}, of_y, T{1},
                  block.fresh_key_rows(out.dv, out.to_v[i]));
          gemm<T>(rows, keys, e, T{1}, of_y, transposed(block.value(i)), T{0}, {ds + globals, columns, 1});
          if (globals > 0) {
            gemm<T>(globals, e, rows, T{1}, {block.dropped(), 1, columns}, of_y, T{1},
                    {dvg.mutable_data<T>() + piece * globals * e, e, 1});
            gemm<T>(rows, globals, e, T{1}, of_y, transposed(contiguous_matrix<T>(in.global_values, h)), T{0},
                    {ds, columns, 1});
          }
          block.backward(ds);
          // scores = scale q k^T
          gemm<T>(rows, d, keys, scale, {ds + globals, columns, 1}, block.key(i), T{0}, dq);
          gemm<T>(keys, d, rows, scale, {ds + globals, 1, columns}, block.query(i), T{1},
                  block.fresh_key_rows(out.dk, out.to_k[i]));
          if (globals > 0) {
            gemm<T>(rows, d, globals, scale, {ds, columns, 1}, contiguous_matrix<T>(in.global_keys, h), T{1}, dq);
            gemm<T>(globals, d, rows, scale, {ds, 1, columns}, block.query(i), T{1},
                    {dkg.mutable_data<T>() + piece * globals * d, d, 1});
          }
        }
      });
  if (globals > 0) {
    add_global_rows<T>(a, dkg, out.dk, out.to_k);
    add_global_rows<T>(a, dvg, out.dv, out.to_v);
  }
  if (a.global_queries() > 0) global_backward<T>(a, in, dy, out);
}

struct WindowResult {
  Tensor y;
};

WindowResult window_result(const WindowAttention& a) {
  const Tensor y = empty_laid_out_as(a.query.detach(), a.value.size(-1));
  with_floating_type(y.dtype(), [&](auto t) { forward<decltype(t)>(a, y); });
  return {y};
}

Grads window_gradients(const WindowAttention& a, const WindowResult&, const Tensor& dy) {
  WindowGradients out{empty_laid_out_as(a.query, a.query.size(-1)),
                      empty_laid_out_as(a.key, a.key.size(-1)),
                      empty_laid_out_as(a.value, a.value.size(-1)),
                      {},
                      {},
                      {}};
  const Shape batch = leading_axes(a.query);
  out.to_q = matrix_starts(out.dq, batch);
  out.to_k = matrix_starts(out.dk, batch);
  out.to_v = matrix_starts(out.dv, batch);
  with_floating_type(dy.dtype(), [&](auto t) { backward<decltype(t)>(a, dy, out); });
  return {out.dq, out.dk, out.dv};
}

constexpr AttentionFunctions<WindowAttention, WindowResult> kWindowFunctions{
    .result = window_result,
    .gradients = window_gradients,
    .uniform =
        [](const WindowAttention& a) {
          WindowAttention b = a;
          b.keep = {};
          return b;
        },
    .recorded = recorded_window_backward,
};

void require_arguments(const Tensor& query, const Tensor& key, const Tensor& value,
                       const WindowAttentionOptions& options) {
  const Op& op = kWindowAttention;
  AttentionOperands{query, key, value}.check(op.name);
  if (query.size(-2) > key.size(-2)) {
    fail(op, "expected at most as many queries as keys, got query {}, key {}, value {} ({} queries against {} keys)",
         query.shape(), key.shape(), value.shape(), query.size(-2), key.size(-2));
  }
  require_in(op.name, "window", options.window, kNotNegative);
  require_in(op.name, "dilation", options.dilation, kPositive);
  int64_t last = -1;
  for (const int64_t token : options.global_tokens) {
    require(token > last && token < key.size(-2), op, "expected global tokens in ascending order from 0 to {}, got {}",
            key.size(-2) - 1, token);
    last = token;
  }
  if (options.mask.defined() && options.mask.dtype() != kBool) {
    fail(op, "expected a mask of bools (true: may be attended to), got {}", options.mask.dtype());
  }
  require_probability(op.name, "dropout", options.dropout);
}

}  // namespace

Tensor sliding_window_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                const WindowAttentionOptions& options) {
  const Op& op = kWindowAttention;
  require_arguments(query, key, value, options);
  const Shape batch =
      broadcast(op.name, broadcast(op.name, leading_axes(query), leading_axes(key)), leading_axes(value));
  WindowAttention a;
  a.query = with_leading_axes(query, batch);
  a.key = with_leading_axes(key, batch);
  a.value = with_leading_axes(value, batch);
  if (options.mask.defined()) {
    const Shape cells = with_axes(batch, {a.rows(), a.columns()});
    require(broadcasts_to(options.mask.shape(), cells), op, "expected a mask that broadcasts to the scores {}, got {}",
            cells, options.mask.shape());
    a.mask = options.mask.shape() == cells ? options.mask : options.mask.expand(cells);
  }
  a.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.size(-1)))));
  a.causal = options.causal;
  a.dilation = std::clamp<int64_t>(options.dilation, 1, std::max<int64_t>(1, a.columns()));
  a.window = std::min(options.window, std::max<int64_t>(0, a.columns() - 1) / a.dilation);
  if (covers_everything(a)) {
    return scaled_dot_product_attention(query, key, value,
                                        {.mask = options.mask,
                                         .causal = a.causal,
                                         .dropout = options.dropout,
                                         .training = options.training,
                                         .scale = a.scale,
                                         .generator = options.generator});
  }
  a.globals.assign(options.global_tokens.begin(), options.global_tokens.end());
  const int64_t draws = a.heads() * (a.rows() * a.draws() + a.global_queries() * a.columns());
  if (options.training && options.dropout > 0 && draws > 0) {
    a.keep =
        PackedDropoutMask(draws, 1 - options.dropout, options.generator ? *options.generator : default_generator());
    if (options.dropout < 1) a.keep_probability = 1 - options.dropout;
  }
  Tensor y = window_result(a).y;
  if (!is_all_finite(y)) y = kWindowFunctions.result_of_seen(a, y);
  if (!needs_grad(a.query) && !needs_grad(a.key) && !needs_grad(a.value)) return y;
  Tensor inputs[] = {a.query, a.key, a.value};
  return record(op, y, {inputs[0], inputs[1], inputs[2]},
                [a = std::move(a)](const Tensor& dy) { return kWindowFunctions.backward(a, {}, dy); });
}

}  // namespace tapegrad
