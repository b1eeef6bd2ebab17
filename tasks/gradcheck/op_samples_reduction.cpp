// Samples of reductions, softmax and normalisation.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

#include <cmath>
#include <limits>

namespace tapegrad::tasks {
namespace {

// f over every choice of axes of [2, 3, 4] or so, in several layouts, with and without keepdim.
void add_reduction(SampleTable& table, std::string_view op, const ReductionForm& f, bool empty, bool of_one = true) {
  table.of(op).reductions.push_back(f);
  for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}, Axes{-1}, Axes{0, 1}, Axes{0, 2}, Axes{-1, -2}, Axes{2, 0, 1}}) {
    for (bool keepdim : {false, true}) {
      const auto call = [f, axes, keepdim](std::span<const Tensor> x) { return f(x[0], axes, keepdim); };
      const std::string label = "over " + str(axes) + (keepdim ? ", kept" : "");
      table.add(op, label, {spread({2, 3, 2})}, call);
      if (keepdim) continue;
      table.add(op, label + ", permuted", {spread({2, 2, 3}).permute({1, 2, 0})}, call);
      table.add(op, label + ", strided", {spread({2, 3, 4}).slice(2, 0, kAll, 2)}, call);
      table.add(op, label + ", reversed", {spread({2, 3, 2}).slice(1, kAll, kAll, -1)}, call);
    }
  }
  const auto over = [&](const char* label, const Tensor& x, const Axes& axes) {
    table.add(op, label, {x}, [f, axes](auto v) { return f(v[0], axes, false); });
  };
  over("[37]", spread({37}), 0);
  over("rows of 19", spread({2, 19}), 1);
  over("columns of 19", spread({19, 2}), 0);
  if (of_one) {
    over("scalar", spread({}), {});
    over("[1]", spread({1}), 0);
    over("axis of one", spread({3, 1}), 1);
  }
  over("no row is left", spread({0, 3}), 1);
  if (empty) {
    over("of nothing", spread({0}), {});
    over("of empty columns", spread({0, 3}), 0);
  }
}

void add_reductions(SampleTable& table) {
  add_reduction(table, "sum", sum, true);
  add_reduction(table, "mean", mean, false);
  add_reduction(table, "prod", prod, true);
  add_reduction(table, "amax", amax, false);
  add_reduction(table, "amin", amin, false);
  add_reduction(table, "logsumexp", logsumexp, false);
  const auto variance = [](const Tensor& x, const Axes& axes, bool keepdim) { return var(x, axes, keepdim); };
  const auto variance0 = [](const Tensor& x, const Axes& axes, bool keepdim) { return var(x, axes, keepdim, 0); };
  const auto deviation = [](const Tensor& x, const Axes& axes, bool keepdim) { return std(x, axes, keepdim); };
  const auto deviation0 = [](const Tensor& x, const Axes& axes, bool keepdim) { return std(x, axes, keepdim, 0); };
  add_reduction(table, "var", variance, false, false);
  add_reduction(table, "var", variance0, false, false);
  add_reduction(table, "std", deviation, false, false);
  add_reduction(table, "std", deviation0, false, false);
  table.add("mean", "expanded", {spread({3, 1}).expand({3, 4})}, [](auto x) { return mean(x[0], 0); });
  table.add("sum", "expanded", {spread({3, 1}).expand({3, 4})}, [](auto x) { return sum(x[0], 1); });
  table.add("amax", "large", {spread({3, 4}, -1e3, 1e3)}, [](auto x) { return amax(x[0], 1); });
  table.add("logsumexp", "wide", {spread({2, 4}, -20, 20)}, [](auto x) { return logsumexp(x[0], 1); });
  for (int zeros_in_it : {1, 2, 3}) {
    Tensor x = spread({2, 4});
    std::vector<double> numbers = x.to_vector<double>();
    for (int i = 0; i < zeros_in_it; ++i) numbers[static_cast<std::size_t>(i)] = 0;
    x = tensor(numbers, {2, 4});
    table.add("prod", std::to_string(zeros_in_it) + " zeros in a row", {x}, [](auto v) { return prod(v[0], 1); });
    table.add("prod", std::to_string(zeros_in_it) + " zeros among all", {x}, [](auto v) { return prod(v[0]); },
              {.zero_gradient = zeros_in_it > 1});
    table.add("prod", std::to_string(zeros_in_it) + " zeros, columns", {x}, [](auto v) { return prod(v[0], 0); });
  }
  for (const LaidOut& a : layouts(3, 4)) {
    table.add("cumsum", a.label, {a.x}, [](auto x) { return cumsum(x[0], 1); });
    table.add("cumsum", a.label + ", rows", {a.x}, [](auto x) { return cumsum(x[0], 0); });
    table.add("sum_to", a.label + ", row", {a.x}, [](auto x) { return sum_to(x[0], {4}); });
    table.add("sum_to", a.label + ", column", {a.x}, [](auto x) { return sum_to(x[0], {3, 1}); });
    table.add("sum_to", a.label + ", scalar", {a.x}, [](auto x) { return sum_to(x[0], {}); });
  }
  table.add("cumsum", "middle axis", {spread({2, 3, 2})}, [](auto x) { return cumsum(x[0], 1); });
  table.add("cumsum", "[0, 2]", {spread({0, 2})}, [](auto x) { return cumsum(x[0], 0); });
  table.add("sum_to", "[2, 3, 4] to [3, 1]", {spread({2, 3, 4})}, [](auto x) { return sum_to(x[0], {3, 1}); });
  table.add("sum_to", "[0, 3] to [3]", {spread({0, 3})}, [](auto x) { return sum_to(x[0], {3}); });
}

void add_norms_of_vectors(SampleTable& table) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (double p : {2., 1., 3., 1.5, 0.5, -1., kInfinity, -kInfinity}) {
    const bool of_none = p > 0 && p < kInfinity;
    // |x|^p is not smooth near 0, except for these powers.
    const double shift = p == 1 || p == 2 || std::abs(p) == kInfinity ? 0 : 3;
    add_reduction(
        table, "norm",
        [p, shift](const Tensor& x, const Axes& axes, bool keepdim) { return norm(x + shift, p, axes, keepdim); },
        of_none);
  }
}

void add_scans(SampleTable& table) {
  const auto all = [&](const std::string& label, const Tensor& x, int axis) {
    table.add("cumprod", label, {x}, [axis](auto v) { return cumprod(v[0], axis); });
    table.add("logcumsumexp", label, {x}, [axis](auto v) { return logcumsumexp(v[0], axis); });
    table.add("cummax", label, {x}, [axis](auto v) { return cummax(v[0], axis).values; });
    table.add("cummin", label, {x}, [axis](auto v) { return cummin(v[0], axis).values; });
    table.add("recurrence", label, {x}, [axis](auto v) {
      return pulled_back([axis](const Tensor& factors) { return cumprod(factors, axis); }, spread(v[0].shape(), -1, 2),
                         v[0]);
    });
  };
  for (const LaidOut& a : layouts(3, 4)) {
    all(a.label, a.x, -1);
    all(a.label + ", columns", a.x, 0);
  }
  all("[19]", spread({19}), 0);
  all("[1]", spread({1}), 0);
  all("[2, 3, 2]", spread({2, 3, 2}), 1);
  all("[0, 2]", spread({0, 2}), 0);
  all("[2, 0]", spread({2, 0}), 0);
  all("scalar", spread({}), 0);
  for (const std::vector<double>& factors :
       {std::vector<double>{2, 0, 3, -1}, {0, 2, 0, 1}, {0, 0, 0, 0}, {1.5, 2, 3, 0}}) {
    table.add("cumprod", "zeros", {tensor(factors, {4})}, [](auto v) { return cumprod(v[0], 0); });
  }
}

void add_extremes(SampleTable& table) {
  using Along = Sorted (*)(const Tensor&, int64_t, bool);
  using Whole = Tensor (*)(const Tensor&);
  const auto of = [&](const char* op, Along along, Whole whole) {
    const auto both = [&](const std::string& label, const Tensor& x, int axis) {
      table.add(op, label, {x}, [=](auto v) { return along(v[0], axis, false).values; });
      table.add(op, label + ", kept", {x}, [=](auto v) { return along(v[0], axis, true).values; });
      table.add(op, label + ", all", {x}, [=](auto v) { return whole(v[0]); });
    };
    for (const LaidOut& a : layouts(3, 4)) {
      both(a.label, a.x, -1);
      both(a.label + ", columns", a.x, 0);
    }
    both("[19]", spread({19}), 0);
    both("[2, 3, 2]", spread({2, 3, 2}), 1);
    both("scalar", spread({}), 0);
    table.add(op, "no row is left", {spread({0, 3})}, [=](auto v) { return along(v[0], 1, false).values; });
  };
  of("max", max, max);
  of("min", min, min);
  of("median", median, median);
}

void add_softmax(SampleTable& table) {
  const auto both = [&](const std::string& label, const Tensor& x, int axis) {
    table.add("softmax", label, {x}, [axis](auto v) { return softmax(v[0], axis); });
    table.add("log_softmax", label, {x}, [axis](auto v) { return log_softmax(v[0], axis); });
  };
  for (const LaidOut& a : layouts(3, 4)) {
    both(a.label, a.x, -1);
    both(a.label + ", columns", a.x, 0);
  }
  both("[5]", spread({5}), 0);
  both("[19]", spread({19}), 0);
  both("middle axis", spread({2, 3, 2}), 1);
  both("expanded", spread({1, 4}).expand({3, 4}), -1);
  both("[0, 3]", spread({0, 3}), 1);
  both("wide", spread({2, 5}, -12, 12), 1);
}

void add_norms(SampleTable& table) {
  const auto normed = [](std::span<const Tensor> x) {
    return layer_norm(x[0], x.size() > 1 ? x[1] : Tensor(), x.size() > 2 ? x[2] : Tensor(), 1e-2);
  };
  const auto by_std = [](std::span<const Tensor> x) { return layer_norm_std(x[0], x[1], x[2], 1e-2); };
  const auto by_rms = [](std::span<const Tensor> x) { return rms_norm(x[0], x[1], 1e-2); };
  const auto all = [&](const std::string& label, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    table.add("layer_norm", label, {x}, normed);
    table.add("layer_norm", label + ", weight", {x, weight}, normed);
    table.add("layer_norm", label + ", weight and bias", {x, weight, bias}, normed);
    table.add("layer_norm_std", label, {x, weight, bias}, by_std);
    table.add("rms_norm", label, {x, weight}, by_rms);
  };
  for (const LaidOut& a : layouts(3, 4)) all(a.label, a.x, spread({4}, 0.5, 2), spread({4}));
  all("three axes", spread({2, 2, 5}), spread({5}, 0.5, 2), spread({5}));
  all("vector", spread({5}), spread({5}, 0.5, 2), spread({5}));
  all("[2, 19]", spread({2, 19}), spread({19}, 0.5, 2), spread({19}));
  all("[0, 4]", spread({0, 4}), spread({4}, 0.5, 2), spread({4}));
  all("expanded", spread({1, 4}).expand({2, 4}), spread({4}, 0.5, 2), spread({4}));
  all("strided weight", spread({2, 4}), spread({8}, 0.5, 2).slice(0, 0, kAll, 2), spread({4}).slice(0, kAll, kAll, -1));
  table.add("layer_norm", "over two axes", {spread({2, 3, 2}), spread({3, 2}, 0.5, 2), spread({3, 2})}, normed);
  table.add("layer_norm", "a bias alone", {spread({2, 3}), spread({3})},
            [](auto x) { return layer_norm(x[0], {}, x[1], 1e-2); });
}

void add_channel_norms(SampleTable& table) {
  const auto parameter = [](std::span<const Tensor> x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); };
  const auto trained = [=](std::span<const Tensor> x) {
    return batch_norm_training(x[0], parameter(x, 1), parameter(x, 2), 1e-2).y;
  };
  const auto instances = [=](std::span<const Tensor> x) {
    return instance_norm(x[0], parameter(x, 1), parameter(x, 2), 1e-2);
  };
  const auto all = [&](const std::string& label, const Tensor& x) {
    const int64_t channels = x.size(1);
    const Tensor weight = spread({channels}, 0.5, 2), bias = spread({channels}), mean = spread({channels}, -1, 1);
    const auto evaluated = [=](std::span<const Tensor> x) {
      return batch_norm(x[0], mean, weight.detach(), parameter(x, 1), parameter(x, 2), 1e-2);
    };
    const auto add = [&](std::string_view op, SampleTable::Function f) {
      table.add(op, label, {x}, f);
      table.add(op, label + ", weight", {x, weight}, f);
      table.add(op, label + ", weight and bias", {x, weight, bias}, f);
    };
    add("batch_norm", evaluated);
    add("batch_norm_training", trained);
    for (const int64_t groups : {1, 2}) {
      if (channels % groups != 0) continue;
      add("group_norm",
          [=](std::span<const Tensor> x) { return group_norm(x[0], groups, parameter(x, 1), parameter(x, 2), 1e-2); });
    }
    if (x.dim() > 2) add("instance_norm", instances);
  };
  all("[3, 4]", spread({3, 4}));
  all("[19, 3]", spread({19, 3}));
  all("[2, 3, 2]", spread({2, 3, 2}));
  all("[2, 2, 2, 3]", spread({2, 2, 2, 3}));
  all("[1, 2, 19]", spread({1, 2, 19}));
  all("transposed", spread({2, 3, 4}).transpose(1, 2));
  all("every second column", spread({2, 2, 6}).slice(2, 0, kAll, 2));
  all("expanded", spread({1, 4, 3}).expand({2, 4, 3}));
  all("no sample", spread({0, 2, 3}));
  all("no channel", spread({2, 0, 3}));
  table.add("batch_norm", "a bias alone", {spread({2, 3}), spread({3})},
            [](auto x) { return batch_norm(x[0], zeros({3}, kFloat64), ones({3}, kFloat64), {}, x[1]); });
  table.add("batch_norm_training", "a bias alone", {spread({2, 3}), spread({3})},
            [](auto x) { return batch_norm_training(x[0], {}, x[1], 1e-2).y; });
  table.add("group_norm", "a bias alone", {spread({2, 4}), spread({4})},
            [](auto x) { return group_norm(x[0], 2, {}, x[1], 1e-2); });
}

}  // namespace

void add_reduction_samples(SampleTable& table) {
  add_reductions(table);
  add_norms_of_vectors(table);
  add_scans(table);
  add_extremes(table);
  add_softmax(table);
  add_norms(table);
  add_channel_norms(table);
}

}  // namespace tapegrad::tasks
