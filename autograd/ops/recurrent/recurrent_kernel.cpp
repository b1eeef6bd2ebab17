// The elementwise part of one step of RNN, LSTM and GRU: one pass over the gates, forward and backward.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/recurrent/recurrent_kernel.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/ops/recurrent/detail/recurrent_layer.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// A row of one step, typed.
template <class T>
struct StepRow {
  const T* bias;
  T* gates;
  const T* hidden_before;
  T* hidden;
  const T* cell_before;
  T* cell;
  T* output;
};

template <class T>
HWY_INLINE T* row_of(void* first, int64_t row, int64_t columns) {
  return first ? static_cast<T*>(first) + row * columns : nullptr;
}
template <class T>
HWY_INLINE const T* row_of(const void* first, int64_t row, int64_t columns) {
  return first ? static_cast<const T*>(first) + row * columns : nullptr;
}

template <class T>
HWY_INLINE StepRow<T> step_row(const RecurrentStep& s, int64_t row) {
  const int64_t n = s.width;
  return {static_cast<const T*>(s.bias),      row_of<T>(s.gates, row, gate_columns(s.kind) * n),
          row_of<T>(s.hidden_before, row, n), row_of<T>(s.hidden, row, n),
          row_of<T>(s.cell_before, row, n),   row_of<T>(s.cell, row, n),
          row_of<T>(s.output, row, n)};
}

template <class T>
HWY_INLINE void rnn_row(bool relu, int64_t n, const StepRow<T>& r) {
  if (relu) {
    each_span<T>(n, [&](auto s) {
      const Vec<T> a = s.load(r.gates) + s.load(r.bias);
      s.store(where(a <= 0, Vec<T>(0), a), r.hidden);
    });
  } else {
    each_span<T>(n, [&](auto s) { s.store(tanh(s.load(r.gates) + s.load(r.bias)), r.hidden); });
  }
}

template <class T>
HWY_INLINE void lstm_row(int64_t n, const StepRow<T>& r) {
  T *const gi = r.gates, *const gf = gi + n, *const gg = gf + n, *const go = gg + n;
  const T *const bi = r.bias, *const bf = bi + n, *const bg = bf + n, *const bo = bg + n;
  each_span<T>(n, [&](auto s) {
    const Vec<T> i = sigmoid(s.load(gi) + s.load(bi)), f = sigmoid(s.load(gf) + s.load(bf));
    const Vec<T> g = tanh(s.load(gg) + s.load(bg)), o = sigmoid(s.load(go) + s.load(bo));
    const Vec<T> c = fma(f, s.load(r.cell_before), i * g);
    s.store(i, gi);
    s.store(f, gf);
    s.store(g, gg);
    s.store(o, go);
    s.store(c, r.cell);
    s.store(o * tanh(c), r.hidden);
  });
}

template <class T>
HWY_INLINE void gru_row(int64_t width, const StepRow<T>& row) {
  T *const gn = row.gates, *const gr = gn + width, *const gz = gr + width, *const gh = gz + width;
  const T *const bn = row.bias, *const br = bn + width, *const bz = br + width, *const bh = bz + width;
  each_span<T>(width, [&](auto s) {
    const Vec<T> r = sigmoid(s.load(gr) + s.load(br)), z = sigmoid(s.load(gz) + s.load(bz));
    const Vec<T> h = s.load(gh) + s.load(bh), n = tanh(fma(r, h, s.load(gn) + s.load(bn)));
    s.store(n, gn);
    s.store(r, gr);
    s.store(z, gz);
    s.store(h, gh);
    s.store(fma(z, s.load(row.hidden_before) - n, n), row.hidden);
  });
}

// forward was h = f(a), so now da = dh f'(a), which h determines.
template <class T>
HWY_INLINE void rnn_row_backward(bool relu, int64_t n, const StepRow<T>& r, const T* dy, T* dh) {
  each_span<T>(n, [&](auto s) {
    const Vec<T> h = s.load(r.hidden), d = s.load(dh) + s.load(dy);
    s.store(relu ? where(h <= 0, Vec<T>(0), d) : d * (1 - h * h), r.gates);
    s.store(Vec<T>(0), dh);
  });
}

// forward was c = f c_before + i g, h = o tanh(c).
template <class T>
HWY_INLINE void lstm_row_backward(int64_t n, const StepRow<T>& r, const T* dy, T* dh, T* dc) {
  T *const gi = r.gates, *const gf = gi + n, *const gg = gf + n, *const go = gg + n;
  each_span<T>(n, [&](auto s) {
    const Vec<T> i = s.load(gi), f = s.load(gf), g = s.load(gg), o = s.load(go);
    const Vec<T> t = tanh(s.load(r.cell)), d = s.load(dh) + s.load(dy);
    const Vec<T> e = fma(d * o, 1 - t * t, s.load(dc));  // of c
    s.store(e * g * (i * (1 - i)), gi);
    s.store(e * s.load(r.cell_before) * (f * (1 - f)), gf);
    s.store(e * i * (1 - g * g), gg);
    s.store(d * t * (o * (1 - o)), go);
    s.store(e * f, dc);
    s.store(Vec<T>(0), dh);
  });
}

// forward was n = tanh(a + r h), hidden = n + z (hidden_before - n).
template <class T>
HWY_INLINE void gru_row_backward(int64_t width, const StepRow<T>& row, const T* dy, T* dh) {
  T *const gn = row.gates, *const gr = gn + width, *const gz = gr + width, *const gh = gz + width;
  each_span<T>(width, [&](auto s) {
    const Vec<T> n = s.load(gn), r = s.load(gr), z = s.load(gz), h = s.load(gh);
    const Vec<T> d = s.load(dh) + s.load(dy);
    const Vec<T> dn = d * (1 - z) * (1 - n * n);
    s.store(dn, gn);
    s.store(dn * h * (r * (1 - r)), gr);
    s.store(d * (s.load(row.hidden_before) - n) * (z * (1 - z)), gz);
    s.store(dn * r, gh);
    s.store(d * z, dh);
  });
}

void step_rows(const RecurrentStep& step, int64_t begin, int64_t end) {
  with_floating_type(step.dtype, [&]<class T>(T) {
    const int64_t n = step.width;
    for (int64_t i = begin; i < end; ++i) {
      const StepRow<T> row = step_row<T>(step, i);
      if (step.lengths && step.time >= step.lengths[i]) {
        std::copy_n(row.hidden_before, n, row.hidden);
        if (row.cell) std::copy_n(row.cell_before, n, row.cell);
        std::fill_n(row.output, n, T{0});
        continue;
      }
      if (step.kind == Recurrent::lstm) {
        lstm_row(n, row);
      } else if (step.kind == Recurrent::gru) {
        gru_row(n, row);
      } else {
        rnn_row(step.kind == Recurrent::rnn_relu, n, row);
      }
      if (row.output) std::copy_n(row.hidden, n, row.output);
    }
  });
}

void step_rows_backward(const RecurrentStep& step, const RecurrentStepGradients& gradients, int64_t begin,
                        int64_t end) {
  with_floating_type(step.dtype, [&]<class T>(T) {
    const int64_t n = step.width;
    for (int64_t i = begin; i < end; ++i) {
      const StepRow<T> row = step_row<T>(step, i);
      const T* const dy = row_of<T>(gradients.output, i, n);
      T *const dh = row_of<T>(gradients.hidden, i, n), *const dc = row_of<T>(gradients.cell, i, n);
      if (step.lengths && step.time >= step.lengths[i]) {
        std::fill_n(row.gates, gate_columns(step.kind) * n, T{0});
      } else if (step.kind == Recurrent::lstm) {
        lstm_row_backward(n, row, dy, dh, dc);
      } else if (step.kind == Recurrent::gru) {
        gru_row_backward(n, row, dy, dh);
      } else {
        rnn_row_backward(step.kind == Recurrent::rnn_relu, n, row, dy, dh);
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(step_rows);
HWY_EXPORT(step_rows_backward);

void recurrent_step(const RecurrentStep& step, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(step_rows))(step, begin, end);
}

void recurrent_step_backward(const RecurrentStep& step, const RecurrentStepGradients& gradients, int64_t begin,
                             int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(step_rows_backward))(step, gradients, begin, end);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
