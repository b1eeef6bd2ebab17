// Samples of matrix products, attention and dropout.
#include <tapegrad/autograd/on_grad.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/ode.h>
#include <tapegrad/nn/recompute.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

void add_matrix_products(SampleTable& table) {
  const auto product = [](std::span<const Tensor> x) { return matmul(x[0], x[1]); };
  const Shape pairs[][2] = {{{3}, {3}},          {{2, 3}, {3}},          {{3}, {3, 2}},       {{2, 3}, {3, 2}},
                            {{2, 2, 3}, {3, 2}}, {{2, 2, 3}, {2, 3, 2}}, {{2, 3}, {2, 3, 2}}, {{2, 1, 2, 2}, {3, 2, 1}},
                            {{2, 2, 3}, {3}},    {{3}, {2, 3, 2}},       {{1, 1}, {1, 1}},    {{0, 2}, {2, 3}},
                            {{2, 0}, {0, 3}},    {{2, 3}, {3, 0}},       {{0, 2, 3}, {3, 2}}, {{0}, {0}},
                            {{5, 7}, {7, 3}},    {{1, 9}, {9, 1}}};
  for (const auto& [a, b] : pairs) table.add("matmul", str(a) + " @ " + str(b), {spread(a), spread(b, -1, 1)}, product);
  for (const LaidOut& a : layouts(2, 3)) {
    for (const LaidOut& b : layouts(3, 4)) table.add("matmul", a.label + ", " + b.label, {a.x, b.x}, product);
    table.add("matmul", a.label + ", strided vector", {a.x, spread({6}).slice(0, 0, kAll, 2)}, product);
    table.add("matmul", "reversed vector, " + a.label, {spread({2}).slice(0, kAll, kAll, -1), a.x}, product);
  }
  table.add("matmul", "heads of one tensor", {spread({2, 3, 4}), spread({2, 3, 4})}, [](auto x) {
    const auto heads = [](const Tensor& v) { return v.reshape({2, 3, 2, 2}).transpose(1, 2); };
    return matmul(heads(x[0]), heads(x[1]).t());
  });
  table.add("matmul", "expanded batch", {spread({1, 2, 3}).expand({2, 2, 3}), spread({3, 1}).expand({2, 3, 2})},
            product);
  table.add("matmul", "by its own transpose", {spread({3, 2})}, [](auto x) { return matmul(x[0], x[0].t()); });

  const auto layer = [](std::span<const Tensor> x) { return linear(x[0], x[1], x.size() > 2 ? x[2] : Tensor()); };
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 2, 4}, Shape{0, 4}, Shape{1, 4}}) {
    table.add("linear", str(shape), {spread(shape), spread({3, 4}, -1, 1)}, layer);
    table.add("linear", str(shape) + ", bias", {spread(shape), spread({3, 4}, -1, 1), spread({3})}, layer);
  }
  for (const LaidOut& x : layouts(3, 4)) {
    for (const LaidOut& w : layouts(2, 4)) {
      table.add("linear", x.label + ", weight " + w.label, {x.x, w.x, spread({4}).slice(0, 0, kAll, 2)}, layer);
    }
  }
  table.add("linear", "expanded",
            {spread({2, 1}).expand({2, 3}), spread({1, 3}).expand({2, 3}), spread({}).expand({2})}, layer);
}

void add_attention(SampleTable& table) {
  using Options = AttentionOptions;
  constexpr std::string_view kOp = "scaled_dot_product_attention";
  const auto attend = [&](const std::string& label, std::vector<Tensor> inputs, const Options& options,
                          bool mask = false) {
    table.add(kOp, label, std::move(inputs), [options, mask](std::span<const Tensor> x) {
      Options chosen = options;
      if (mask) chosen.mask = x[3];
      return scaled_dot_product_attention(x[0], x[1], x[2], chosen);
    });
  };
  const auto qkv = [](const Shape& batch, int64_t t, int64_t s, int64_t d, int64_t e) {
    const auto shaped = [&](int64_t rows, int64_t columns) {
      Shape shape = batch;
      shape.push_back(rows);
      shape.push_back(columns);
      return shape;
    };
    return std::vector<Tensor>{spread(shaped(t, d)), spread(shaped(s, d), -1.9, 2.1), spread(shaped(s, e), -1, 1.3)};
  };
  const auto with = [](std::vector<Tensor> inputs, const Tensor& mask) {
    inputs.push_back(mask);
    return inputs;
  };
  attend("[3, 2]", qkv({}, 3, 3, 2, 2), {});
  attend("[2, 3, 2]", qkv({2}, 3, 3, 2, 2), {});
  attend("cross", qkv({2}, 2, 3, 2, 3), {});
  attend("heads", qkv({1, 2}, 2, 3, 2, 2), {});
  attend("scale", qkv({}, 3, 3, 2, 2), {.scale = 0.3});
  attend("causal", qkv({2}, 3, 3, 2, 2), {.causal = true});
  attend("one query", qkv({2}, 1, 3, 3, 2), {});
  attend("no batch", qkv({0}, 2, 2, 2, 2), {});
  attend("no query", qkv({}, 0, 3, 2, 2), {});
  const Tensor may_see = tensor({{true, false, true}, {false, false, false}, {true, true, true}});
  attend("boolean mask, the second query sees nothing", with(qkv({}, 3, 3, 2, 2), may_see), {}, true);
  attend("boolean mask of keys", with(qkv({2, 1}, 2, 3, 2, 2), tensor({true, true, false}).reshape({1, 1, 1, 3})), {},
         true);
  attend("boolean mask, causal", with(qkv({2}, 3, 3, 2, 2), may_see), {.causal = true}, true);
  attend("additive mask", with(qkv({2}, 3, 3, 2, 2), spread({3, 3})), {}, true);
  attend("additive mask of keys", with(qkv({2}, 2, 3, 2, 2), spread({3})), {}, true);
  const auto heads = [](const Tensor& x) { return x.reshape({2, 3, 2, 2}).transpose(1, 2); };
  table.add(kOp, "heads of one tensor", {spread({2, 3, 4}), spread({2, 3, 4}, -1, 1)},
            [heads](std::span<const Tensor> x) {
              return scaled_dot_product_attention(heads(x[0]), heads(x[1]), heads(x[0] + x[1]));
            });
  std::vector<Tensor> strided = {spread({2, 3}).t(), spread({3, 4}).slice(1, 0, kAll, 2),
                                 spread({3, 2}).slice(0, kAll, kAll, -1)};
  attend("layouts", strided, {});
  attend("expanded", {spread({1, 2}).expand({2, 2}), spread({2, 2}), spread({2, 1}).expand({2, 2})}, {});
  table.add(kOp, "dropout", qkv({2}, 3, 3, 2, 2), [](std::span<const Tensor> x) {
    Generator generator(5);
    return scaled_dot_product_attention(x[0], x[1], x[2], {.dropout = 0.4, .generator = &generator});
  });
  table.add(kOp, "and the weights", qkv({2}, 3, 3, 2, 2),
            [](std::span<const Tensor> x) { return attention_with_weights(x[0], x[1], x[2]).first; });
}

void add_dropout(SampleTable& table) {
  const auto drop = [](double p, bool training = true) {
    return [p, training](std::span<const Tensor> x) {
      Generator generator(7);
      return dropout(x[0], p, training, &generator);
    };
  };
  for (const LaidOut& a : layouts(3, 4)) table.add("dropout", a.label, {a.x}, drop(0.4));
  table.add("dropout", "[19]", {spread({19})}, drop(0.1));
  table.add("dropout", "expanded", {spread({3, 1}).expand({3, 4})}, drop(0.4));
}

void add_hooks(SampleTable& table) {
  for (const LaidOut& a : layouts(3, 4)) {
    table.add("on_grad", a.label, {a.x}, [](std::span<const Tensor> x) {
      const Tensor y = x[0] * x[0];
      return on_grad(y, [](const Tensor&) {}) * y;
    });
  }
  table.add("on_grad", "replaced by itself", {spread({2, 3})},
            [](std::span<const Tensor> x) { return sin(on_grad(x[0], [](const Tensor& dy) { return dy * 1; })); });
}

void add_recompute(SampleTable& table) {
  table.add("recompute", "tanh of a product", {spread({2, 3}), spread({3, 2}, -1, 1.3)}, [](std::span<const Tensor> x) {
    const Tensor w = x[1];
    return nn::recompute(x[0], [w](const Tensor& in) { return tanh(matmul(in, w)); });
  });
  table.add("recompute", "no parameters", {spread({2, 3})}, [](std::span<const Tensor> x) {
    return nn::recompute(x[0], [](const Tensor& in) { return in * sin(in); });
  });
}

// Fine steps: the adjoint method's gradients are those of the solution, not of its approximation.
void add_adjoint(SampleTable& table) {
  for (const nn::OdeSolver solver : {nn::OdeSolver::rk4, nn::OdeSolver::dopri5}) {
    const std::string label(nn::kOdeSolverNames[static_cast<int>(solver)]);
    table.add("ode_adjoint", label, {spread({2, 2}), spread({2, 2}, -1, 1.3)}, [solver](std::span<const Tensor> x) {
      const double times[] = {0, 0.3, 0.5};
      const auto slope = [](double t, const Tensor& h, std::span<const Tensor> p) { return sin(matmul(h, p[0]) + t); };
      const auto gradients = [](double t, const Tensor& h, std::span<const Tensor> p, const Tensor& a) {
        const Tensor dx = a * cos(matmul(h, p[0]) + t);
        return std::vector<Tensor>{matmul(dx, p[0].t()), matmul(h.t(), dx)};
      };
      return nn::odeint(slope, x[0], x.subspan(1), times,
                        {.solver = solver, .steps = 16, .tolerance = 1e-11, .adjoint = true}, gradients);
    });
  }
}

}  // namespace

void add_product_samples(SampleTable& table) {
  add_matrix_products(table);
  add_attention(table);
  add_dropout(table);
  add_hooks(table);
  add_recompute(table);
  add_adjoint(table);
}

}  // namespace tapegrad::tasks
