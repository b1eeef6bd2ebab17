// Values and gradients of every operation are the same bits with 1, 2, 3 and 7 threads, of which as many run at once as
// the machine has processors, on tensors that are divided into pieces.
// ctest: threads
#include <gtest/gtest.h>
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/on_grad.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/recurrent.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/autograd/window_attention.h>
#include <tapegrad/nn/ode.h>
#include <tapegrad/nn/recompute.h>
#include <tapegrad/nn/reversible.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>

namespace tapegrad::tests {
namespace {

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

struct Large {
  std::string op;
  Inputs inputs;
  Function f;
};

Tensor numbers(const Shape& shape, double low = -2, double high = 2) {
  Generator generator(static_cast<uint64_t>(shape.numel()));
  return rand(shape, kFloat32, &generator) * (high - low) + low;
}

Tensor ids(const Shape& shape, int64_t bound) {
  return (numbers(shape, 0, 1) * static_cast<double>(bound)).to(kInt64);  // truncates
}

// At least two rows of a grain's length; sizes that are not multiples of a vector.
constexpr int64_t kRows = 301, kColumns = 1003;

// Large inputs for the forms of the table of samples.
void add_forms(std::vector<Large>& all, const tasks::OpSamples& of) {
  const auto add = [&](Inputs inputs, Function f) { all.push_back({of.op, std::move(inputs), std::move(f)}); };
  for (const tasks::UnaryForm& form : of.unary) {
    const Tensor x = numbers({kRows, kColumns}, form.low, form.high);
    const auto call = [form](const Inputs& v) { return form.f(v[0]); };
    add({x}, call);
    add({x.slice(1, 0, kAll, 2)}, call);
    add({numbers({kColumns, kRows}, form.low, form.high).t()}, call);
  }
  for (const tasks::BinaryForm& form : of.binary) {
    for (const Shape& shape : {Shape{kColumns, kRows}, Shape{kColumns, 1}, Shape{1, kRows}}) {
      add({numbers({kRows, kColumns}, form.low, form.high), numbers(shape, form.low, form.high).t()},
          [form](const Inputs& v) { return form.f(v[0], v[1]); });
    }
  }
  for (const tasks::ReductionForm& form : of.reductions) {
    for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}}) {
      for (const Tensor& x :
           {numbers({kRows, kColumns}), numbers({kColumns, kRows}).t(), numbers({7, 43, 1009}), numbers({300'007})}) {
        if (axes.rank() && axes[0] >= x.dim()) continue;
        add({x * 0.01 + 1}, [form, axes](const Inputs& v) { return form(v[0], axes, false); });
      }
    }
  }
}

void add_convolutions(std::vector<Large>& all) {
  const auto add = [&](std::string op, Inputs inputs, Function f) {
    all.push_back({std::move(op), std::move(inputs), std::move(f)});
  };
  const Shape images[][2] = {{{9, 18, 28, 28}, {20, 18, 3, 3}},
                             {{1, 3, 60, 70}, {40, 3, 5, 5}},
                             {{70, 16, 5, 5}, {33, 16, 2, 2}},
                             {{5, 64, 30, 20}, {70, 64, 1, 1}}};
  for (const auto& [x, weight] : images) {
    for (int64_t stride : {1, 2}) {
      add("conv2d", {numbers(x), numbers(weight), numbers({weight[0]})},
          [stride](const Inputs& v) { return conv2d(v[0], v[1], v[2], {.stride = stride, .padding = 1}); });
      add("conv_transpose2d", {numbers(x), numbers(weight).transpose(0, 1)},
          [stride](const Inputs& v) { return conv_transpose2d(v[0], v[1], {}, {.stride = stride}); });
    }
  }
  add("conv_weight", {numbers({6, 8, 40, 40}), numbers({12, 8, 3, 3})},
      [](const Inputs& v) { return conv2d(v[0], v[1]); });
  add("conv2d", {numbers({5, 33, 40, 40}), numbers({66, 1, 3, 3})},
      [](const Inputs& v) { return conv2d(v[0], v[1], {}, {.padding = 1, .groups = 33}); });
  add("conv1d", {numbers({3, 40, 3001}), numbers({50, 20, 5})},
      [](const Inputs& v) { return conv1d(v[0], v[1], {}, {.groups = 2}); });
  add("conv_transpose1d", {numbers({3, 40, 1001}), numbers({40, 20, 4})},
      [](const Inputs& v) { return conv_transpose1d(v[0], v[1], {}, {.stride = 2, .padding = 1}); });
}

void add_linear_algebra(std::vector<Large>& all) {
  // Well-conditioned and symmetric matrices: a batch of small ones, and a large one.
  for (const Shape& shape : {Shape{64, 24, 24}, Shape{100, 100}}) {
    const int64_t n = shape[-1];
    const Tensor a = numbers(shape, -0.5, 0.5) + eye(n) * arange(1, static_cast<double>(n + 1), 1, kFloat32);
    const Tensor b = numbers(shape), symmetric = a + a.t(), positive = matmul(a, a.t());
    const auto add = [&](std::string op, Inputs inputs, Function f) {
      all.push_back({std::move(op), std::move(inputs), std::move(f)});
    };
    add("solve", {a, b}, [](const Inputs& v) { return solve(v[0], v[1]); });
    add("triangular_solve", {a, b}, [](const Inputs& v) { return triangular_solve(v[0], v[1], {.upper = true}); });
    add("inverse", {a}, [](const Inputs& v) { return inverse(v[0]); });
    add("cholesky", {positive}, [](const Inputs& v) { return cholesky(v[0]); });
    add("det", {a * 0.2}, [](const Inputs& v) { return det(v[0]); });
    add("slogdet", {a}, [](const Inputs& v) { return slogdet(v[0]).logabsdet; });
    add("qr", {a.slice(-1, 0, n / 2)}, [](const Inputs& v) { return matmul(qr(v[0]).q, qr(v[0]).r); });
    add("eigh", {symmetric}, [](const Inputs& v) { return eigh(v[0]).vectors * eigh(v[0]).values.unsqueeze(-1); });
    add("eigvalsh", {symmetric}, [](const Inputs& v) { return eigvalsh(v[0]); });
    add("svd", {a.slice(-2, 1)}, [](const Inputs& v) {
      const Svd y = svd(v[0]);
      return matmul(y.u * y.s.unsqueeze(-2), sin(y.vh));
    });
    add("svdvals", {a}, [](const Inputs& v) { return svdvals(v[0]); });
    add("pinv", {a.slice(-1, 1)}, [](const Inputs& v) { return pinv(v[0]); });
  }
}

std::vector<Large> large_samples() {
  std::vector<Large> all;
  const auto add_sample = [&](std::string op, Inputs inputs, Function f) {
    all.push_back({std::move(op), std::move(inputs), std::move(f)});
  };
  for (const tasks::OpSamples& of : tasks::op_samples()) add_forms(all, of);
  add_convolutions(all);
  const Tensor x = numbers({kRows, kColumns}), positive = numbers({kRows, kColumns}, 0.3, 2);
  const Tensor turned = numbers({kColumns, kRows}).t(), row = numbers({kColumns}, 0.3, 2), column = numbers({kRows, 1});
  const Tensor mask = numbers({kRows, kColumns}) > 0, probabilities = numbers({kRows, kColumns}, 0.01, 0.99);

  add_sample("where", {mask, x, row}, [](const Inputs& v) { return where(v[0], v[1], v[2]); });
  add_sample("masked_fill", {x, mask}, [](const Inputs& v) { return masked_fill(v[0], v[1], 0); });
  add_sample("tril", {x}, [](const Inputs& v) { return tril(v[0]); });
  add_sample("triu", {turned}, [](const Inputs& v) { return triu(v[0], 3); });

  add_sample("lerp", {x, row, column}, [](const Inputs& v) { return lerp(v[0], v[1], v[2]); });
  add_sample("prelu", {x, row}, [](const Inputs& v) { return prelu(v[0], v[1]); });
  for (int64_t axis : {0, 1}) {
    const Tensor halves = numbers({302, 1006}), other = numbers({1006, 302}).t();
    for (const Tensor& pair : {halves, other}) {
      add_sample("glu", {pair}, [axis](const Inputs& v) { return glu(v[0], axis); });
      add_sample("swiglu", {pair}, [axis](const Inputs& v) { return swiglu(v[0], axis); });
    }
  }
  for (int axis : {0, 1}) {
    add_sample("cumsum", {x}, [axis](const Inputs& v) { return cumsum(v[0], axis); });
    add_sample("cumprod", {positive}, [axis](const Inputs& v) { return cumprod(v[0], axis); });
    add_sample("recurrence", {positive}, [axis](const Inputs& v) { return cumprod(v[0], axis); });
    add_sample("logcumsumexp", {turned}, [axis](const Inputs& v) { return logcumsumexp(v[0], axis); });
    add_sample("cummax", {x}, [axis](const Inputs& v) { return cummax(v[0], axis).values; });
    add_sample("cummin", {x}, [axis](const Inputs& v) { return cummin(v[0], axis).values; });
    add_sample("max", {x}, [axis](const Inputs& v) { return max(v[0], axis).values; });
    add_sample("min", {turned}, [axis](const Inputs& v) { return min(v[0], axis).values; });
    add_sample("median", {x}, [axis](const Inputs& v) { return median(v[0], axis).values; });
    add_sample("softmax", {x}, [axis](const Inputs& v) { return softmax(v[0], axis); });
    add_sample("log_softmax", {turned}, [axis](const Inputs& v) { return log_softmax(v[0], axis); });
    add_sample("sort", {x}, [axis](const Inputs& v) { return sort(v[0], axis).values; });
    add_sample("topk", {x}, [axis](const Inputs& v) { return topk(v[0], 5, axis).values; });
    add_sample("cat", {x, turned}, [axis](const Inputs& v) { return cat(v, axis); });
    add_sample("flip", {x}, [axis](const Inputs& v) { return flip(v[0], axis); });
    add_sample("index_select", {x, ids({2000}, 300)},
               [axis](const Inputs& v) { return index_select(v[0], axis, v[1]); });
    add_sample("gather", {x, ids({300, 1000}, 300)}, [axis](const Inputs& v) { return gather(v[0], axis, v[1]); });
    add_sample("scatter_add", {x, ids({300, 1000}, 300), numbers({300, 1000})},
               [axis](const Inputs& v) { return scatter_add(v[0], axis, v[1], v[2]); });
  }
  for (int axis : {0, 1}) {
    const Shape some = axis == 0 ? Shape{200, kColumns} : Shape{kRows, 200};
    add_sample("scatter", {x, ids({300, 1000}, 300), numbers({300, 1000})},
               [axis](const Inputs& v) { return scatter(v[0], axis, v[1], v[2]); });
    add_sample("index_add", {x, ids({200}, 300), numbers(some)},
               [axis](const Inputs& v) { return index_add(v[0], axis, v[1], v[2]); });
    add_sample("index_copy", {x, ids({200}, 300), numbers(some)},
               [axis](const Inputs& v) { return index_copy(v[0], axis, v[1], v[2]); });
    add_sample("roll", {turned}, [axis](const Inputs& v) { return roll(v[0], 77, axis); });
    for (int64_t step : {1, 3, 90}) {
      add_sample("unfold", {x}, [axis, step](const Inputs& v) { return unfold(v[0], axis, 7, step) * 2; });
      add_sample("add_windows", {x}, [axis, step](const Inputs& v) { return unfold(v[0], axis, 7, step) * 2; });
    }
  }
  add_sample("index_select", {x, ids({400, 500}, 300), ids({500}, 900)}, [](const Inputs& v) {
    return index(v[0], {v[1], v[2]});
  });
  add_sample("index_select", {x, mask}, [](const Inputs& v) { return masked_select(v[0], v[1]); });
  add_sample("diagonal", {numbers({400, 30, 40})}, [](const Inputs& v) { return diagonal(v[0], 1, 1, 2) * 2; });
  add_sample("diag_embed", {numbers({400, 30})}, [](const Inputs& v) { return diag_embed(v[0], 1); });
  add_sample("slice_update", {x, numbers({100, 1000})}, [](const Inputs& v) {
    return slice_update(v[0], {{1, kAll, 3}, {3, kAll}}, v[1]);
  });
  for (PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular}) {
    for (const char* op : {"pad", "unpad"}) {
      if (mode == PadMode::constant && op == std::string("unpad")) continue;
      add_sample(op, {turned}, [mode](const Inputs& v) { return pad(v[0], {30, 7, 5, 100}, mode); });
      add_sample(op, {x}, [mode](const Inputs& v) { return pad(v[0], {0, 0, 5, 100}, mode); });
    }
  }
  add_sample("sum_to", {x}, [](const Inputs& v) { return sum_to(v[0], {kColumns}); });
  add_sample("sum_to", {x}, [](const Inputs& v) { return sum_to(v[0], {kRows, 1}); });
  add_sample("embedding", {numbers({500, 257}), ids({3000}, 500)},
             [](const Inputs& v) { return embedding(v[0], v[1], 3); });
  add_sample("add_rows", {numbers({500, 257}), ids({3000}, 7)}, [](const Inputs& v) { return embedding(v[0], v[1]); });

  add_sample("reshape", {turned}, [](const Inputs& v) { return v[0].reshape({-1}); });
  add_sample("transpose", {x}, [](const Inputs& v) { return v[0].t() * 2; });
  add_sample("permute", {numbers({40, 60, 80})}, [](const Inputs& v) { return v[0].permute({2, 0, 1}) * 2; });
  add_sample("slice", {x}, [](const Inputs& v) { return v[0].slice(1, kAll, kAll, -3) * 2; });
  add_sample("unslice", {x}, [](const Inputs& v) { return v[0].slice(0, 1, kAll, 2) * 2; });
  add_sample("select", {numbers({3, 300, 500})}, [](const Inputs& v) { return v[0].select(1, 7) * 2; });
  add_sample("expand", {row}, [](const Inputs& v) { return v[0].expand({kRows, kColumns}) * 2; });
  add_sample("squeeze", {numbers({1, 200'000})}, [](const Inputs& v) { return v[0].squeeze(0) * 2; });
  add_sample("unsqueeze", {numbers({200'000})}, [](const Inputs& v) { return v[0].unsqueeze(0) * 2; });
  add_sample("variable", {x}, [](const Inputs& v) { return Tape::current() ? Tape::variable(v[0]) : v[0]; });
  add_sample("contiguous", {turned}, [](const Inputs& v) { return v[0].contiguous(); });
  add_sample("on_grad", {x}, [](const Inputs& v) { return on_grad(v[0], [](const Tensor& dy) { return dy * 3; }); });
  add_sample("to", {x}, [](const Inputs& v) { return v[0].to(kFloat64); });

  const Shape products[][2] = {{{301, 257}, {257, 203}}, {{64, 768}, {768, 300}},      {{1, 1000}, {1000, 3000}},
                               {{3000, 5}, {5, 7}},      {{24, 20, 32}, {24, 32, 20}}, {{5, 130, 70}, {70, 90}},
                               {{17, 5000}, {5000, 13}}};
  for (const auto& [a, b] : products) {
    add_sample("matmul", {numbers(a), numbers(b)}, [](const Inputs& v) { return matmul(v[0], v[1]); });
  }
  add_linear_algebra(all);
  for (int64_t rows : {20, 640, 2000}) {
    add_sample("linear", {numbers({rows, 130}), numbers({517, 130}), numbers({517})},
               [](const Inputs& v) { return linear(v[0], v[1], v[2]); });
  }
  for (const Shape& heads : {Shape{4, 6, 65, 32}, Shape{2, 700, 16}}) {  // few keys and many
    for (bool causal : {false, true}) {
      add_sample("scaled_dot_product_attention", {numbers(heads), numbers(heads, -1, 2), numbers(heads)},
                 [causal](const Inputs& v) {
                   Generator generator(1);
                   return scaled_dot_product_attention(v[0], v[1], v[2],
                                                       {.causal = causal, .dropout = 0.1, .generator = &generator});
                 });
    }
  }
  const Shape long_heads{2, 3, 1500, 16};
  for (int64_t dilation : {1, 2}) {
    add_sample("sliding_window_attention", {numbers(long_heads), numbers(long_heads, -1, 2), numbers(long_heads)},
               [dilation](const Inputs& v) {
                 Generator generator(1);
                 return sliding_window_attention(v[0], v[1], v[2],
                                                 {.window = 20,
                                                  .dilation = dilation,
                                                  .causal = dilation == 1,
                                                  .global_tokens = {0, 700},
                                                  .dropout = 0.1,
                                                  .generator = &generator});
               });
  }
  add_sample("recompute", {x, numbers({kColumns, 300})}, [](const Inputs& v) {
    const Tensor w = v[1];
    return nn::recompute(v[0], [w](const Tensor& in) { return tanh(matmul(in, w)); });
  });
  for (const bool other : {false, true}) {
    const Shape shape{3, 4, 201, 33};
    add_sample("causal_product", {numbers(shape), numbers(shape, -1, 2), numbers(shape)},
               [other](const Inputs& v) { return causal_product(v[0], v[1], v[2], other); });
    add_sample("lsh_attention", {numbers(shape), numbers(shape, -1, 2), numbers(shape), ids({2, 3, 4, 201}, 20)},
               [other](const Inputs& v) {
                 return lsh_attention(v[0], v[1], v[2], v[3], {.chunk_length = 16, .causal = other});
               });
  }
  add_sample("reversible", {x, numbers({kColumns, kColumns}, -0.1, 0.1)}, [](const Inputs& v) {
    const Tensor w = v[1];
    std::vector<nn::ReversibleFunctions> layers;
    layers.push_back({[w](const Tensor& in) { return tanh(matmul(in, w)); }, [](const Tensor& in) { return sin(in); }});
    const nn::Halves y = nn::reversible({v[0], v[0]}, std::move(layers));
    return y.first + y.second * 2;
  });
  add_sample("ode_adjoint", {numbers({700, 130}), numbers({130, 130})}, [](const Inputs& v) {
    const auto slope = [](double, const Tensor& h, std::span<const Tensor> p) { return tanh(matmul(h, p[0])); };
    const double times[] = {0, 0.1, 0.2};
    return nn::odeint(slope, v[0], {&v[1], 1}, times, {.adjoint = true});
  });
  add_sample("dropout", {x}, [](const Inputs& v) {
    Generator generator(1);
    return dropout(v[0], 0.3, true, &generator);
  });
  for (int64_t width : {64, 1003}) {
    const Tensor rows = numbers({2000, width}), weight = numbers({width}, 0.5, 2), bias = numbers({width});
    add_sample("layer_norm", {rows, weight, bias}, [](const Inputs& v) { return layer_norm(v[0], v[1], v[2]); });
    add_sample("layer_norm_std", {rows, weight, bias},
               [](const Inputs& v) { return layer_norm_std(v[0], v[1], v[2]); });
    add_sample("rms_norm", {rows, weight}, [](const Inputs& v) { return rms_norm(v[0], v[1]); });
  }
  for (const Shape& shape :
       {Shape{9, 70, 37, 5}, Shape{70, 3, 1003}, Shape{1000, 300}, Shape{3000, 6}, Shape{40, 6, 3001}}) {
    const int64_t channels = shape[1];
    const Inputs inputs{numbers(shape), numbers({channels}, 0.5, 2), numbers({channels})};
    add_sample("batch_norm_training", inputs, [](const Inputs& v) { return batch_norm_training(v[0], v[1], v[2]).y; });
    add_sample("batch_norm", inputs,
               [](const Inputs& v) { return batch_norm(v[0], v[2].detach(), v[1].detach(), v[1], v[2]); });
    add_sample("group_norm", inputs,
               [](const Inputs& v) { return group_norm(v[0], v[0].size(1) % 2 ? 1 : 2, v[1], v[2]); });
    if (shape.rank() > 2) {
      add_sample("instance_norm", inputs, [](const Inputs& v) { return instance_norm(v[0], v[1], v[2]); });
    }
  }
  const auto add_pooling = [&](std::string op, const Shape& shape, Tensor (*f)(const Tensor&)) {
    add_sample(std::move(op), {numbers(shape)}, [f](const Inputs& v) { return f(v[0]); });
  };
  const Shape signals{40, 30, 403};
  for (const Shape& images : {Shape{7, 30, 61, 43}, Shape{1, 1, 701, 803}}) {
    add_pooling("max_pool2d", images, [](const Tensor& x) { return max_pool2d(x, 3, {.stride = 2, .padding = 1}); });
    add_pooling("avg_pool2d", images, [](const Tensor& x) { return avg_pool2d(x, 3, {.stride = 2, .padding = 1}); });
    add_pooling("adaptive_max_pool2d", images, [](const Tensor& x) { return adaptive_max_pool2d(x, {7, 9}); });
    add_pooling("adaptive_avg_pool2d", images, [](const Tensor& x) { return adaptive_avg_pool2d(x, {7, 9}); });
    add_pooling("interpolate", images, [](const Tensor& x) { return interpolate(x, {.scale_factor = 1.7}); });
    add_pooling("interpolate", images,
                [](const Tensor& x) { return interpolate(x, {.scale_factor = 2, .mode = Interpolation::bilinear}); });
  }
  add_pooling("max_pool1d", signals, [](const Tensor& x) { return max_pool1d(x, 2); });
  add_pooling("avg_pool1d", signals, [](const Tensor& x) { return avg_pool1d(x, 2); });
  add_pooling("adaptive_max_pool1d", signals, [](const Tensor& x) { return adaptive_max_pool1d(x, 7); });
  add_pooling("adaptive_avg_pool1d", signals, [](const Tensor& x) { return adaptive_avg_pool1d(x, 7); });
  // Few sequences, and a batch that is divided; the products of a step are large enough to be divided, too.
  for (int64_t batch : {5, 43}) {
    const auto layer = [&](int64_t gates, const char* op, auto f) {
      const int64_t inputs = 70, width = 331;
      add_sample(op,
                 {numbers({9, batch, inputs}), numbers({gates * width, inputs}, -0.1, 0.1),
                  numbers({gates * width, width}, -0.1, 0.1), numbers({gates * width}), numbers({batch, width})},
                 [f](const Inputs& v) {
                   return f(v[0], RecurrentWeights{v[1], v[2], v[3], v[3]}, v[4]).output;
                 });
    };
    layer(1, "rnn_layer",
          [](const Tensor& x, const RecurrentWeights& w, const Tensor& h) { return rnn_layer(x, w, h); });
    layer(3, "gru_layer",
          [](const Tensor& x, const RecurrentWeights& w, const Tensor& h) { return gru_layer(x, w, h); });
    layer(4, "lstm_layer",
          [](const Tensor& x, const RecurrentWeights& w, const Tensor& h) { return lstm_layer(x, w, h, h); });
  }
  for (Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    add_sample("cross_entropy", {numbers({500, 1003}), ids({500}, 1003)}, [reduction](const Inputs& v) {
      return cross_entropy(v[0], v[1], {.reduction = reduction, .label_smoothing = 0.1});
    });
    add_sample("cross_entropy", {numbers({500, 1003}), ids({500}, 1003)}, [reduction, row](const Inputs& v) {
      return cross_entropy(v[0], v[1], {.reduction = reduction, .label_smoothing = 0.1, .weight = row});
    });
    add_sample("nll_loss", {numbers({500, 1003}), ids({500}, 1003)},
               [reduction](const Inputs& v) { return nll_loss(v[0], v[1], {.reduction = reduction}); });
    add_sample("mse_loss", {x, turned}, [reduction](const Inputs& v) { return mse_loss(v[0], v[1], reduction); });
    add_sample("l1_loss", {x, turned}, [reduction](const Inputs& v) { return l1_loss(v[0], v[1], reduction); });
    add_sample("huber_loss", {x, turned},
               [reduction](const Inputs& v) { return huber_loss(v[0], v[1], {.reduction = reduction}); });
    add_sample("smooth_l1_loss", {x, turned},
               [reduction](const Inputs& v) { return smooth_l1_loss(v[0], v[1], {.reduction = reduction}); });
    add_sample("binary_cross_entropy", {probabilities, probabilities},
               [reduction](const Inputs& v) { return binary_cross_entropy(v[0], v[1], {.reduction = reduction}); });
    add_sample("gaussian_nll_loss", {x, turned, positive}, [reduction](const Inputs& v) {
      return gaussian_nll_loss(v[0], v[1], v[2], {.reduction = reduction, .full = true});
    });
    add_sample("kl_div", {x, positive},
               [reduction](const Inputs& v) { return kl_div(v[0], v[1], {.reduction = reduction}); });
    add_sample("binary_cross_entropy_with_logits", {x, positive}, [reduction](const Inputs& v) {
      return binary_cross_entropy_with_logits(v[0], v[1], {.reduction = reduction});
    });
    add_sample("binary_cross_entropy_with_logits", {x, positive, row}, [reduction](const Inputs& v) {
      return binary_cross_entropy_with_logits(v[0], v[1], {.reduction = reduction, .pos_weight = v[2]});
    });
  }
  return all;
}

void append(std::string& bits, const Tensor& x) {
  const Tensor packed = x.detach().contiguous();
  bits.append(static_cast<const char*>(packed.raw_data()),
              static_cast<std::size_t>(packed.numel() * item_size(packed.dtype())));
}

struct Outcome {
  std::string bits;  // of the result and of every gradient
  bool recorded;     // the operation is on the tape
  int64_t nodes;     // so many are
};

Outcome run(const Large& sample) {
  Tape tape;
  Inputs leaves;
  for (const Tensor& x : sample.inputs) leaves.push_back(is_floating(x.dtype()) ? x.as_leaf() : x);
  const Tensor y = sample.f(leaves);
  std::string bits;
  append(bits, y);
  // What backward does below.
  const std::set<std::string> inner = {"unslice", "add_rows", "add_windows", "unpad", "conv_weight", "recurrence"};
  bool recorded_it = inner.contains(sample.op);
  for (int64_t i = 0; i < tape.size(); ++i) recorded_it |= tape.op_name(i) == sample.op;
  const int64_t nodes = tape.size();
  Generator generator(2);
  const Tensor seed = (rand(y.shape(), kFloat32, &generator) - 0.4).to(y.dtype());
  const Gradients grads = tape.backward(y, {.grad_output = seed});
  for (const Tensor& leaf : leaves) {
    if (const Tensor* grad = grads.find(leaf)) append(bits, *grad);
  }
  return {bits, recorded_it, nodes};
}

class Threads : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(Threads, GiveTheSameBitsForEveryOperation) {
  std::map<std::string, int> covered;
  for (const Large& sample : large_samples()) {
    Outcome expected;
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      const Outcome result = run(sample);
      EXPECT_TRUE(result.recorded) << "a sample of " << sample.op << " does not record it";
      if (threads == 1) expected = result;
      EXPECT_TRUE(result.bits == expected.bits) << sample.op << " gives other bits with " << threads
                                                << " threads, inputs " << str(sample.inputs[0].shape()) << " ...";
      EXPECT_EQ(result.nodes, expected.nodes) << sample.op << " with " << threads << " threads";
    }
    ++covered[sample.op];
  }
  for (const Op* op : Op::all())
    EXPECT_TRUE(covered.contains(std::string(op->name))) << op->name << " has no large sample";
}

}  // namespace
}  // namespace tapegrad::tests
