// Samples of losses.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

#include <utility>

namespace tapegrad::tasks {
namespace {

constexpr std::pair<Reduction, const char*> kReductions[] = {
    {Reduction::none, ", none"}, {Reduction::sum, ", sum"}, {Reduction::mean, ", mean"}};

void add_class_losses(SampleTable& table) {
  const auto entropy = [&](const std::string& label, const Tensor& x, const Tensor& target, CrossEntropyOptions options,
                           bool zero = false) {
    table.add("cross_entropy", label, {x, target},
              [options](std::span<const Tensor> v) { return cross_entropy(v[0], v[1], options); },
              {.zero_gradient = zero});
  };
  const auto likelihood = [&](const std::string& label, const Tensor& x, const Tensor& target, Reduction reduction) {
    table.add("nll_loss", label, {x, target}, [reduction](std::span<const Tensor> v) {
      return nll_loss(v[0], v[1], {.reduction = reduction, .ignore_index = 1});
    });
  };
  for (const auto& [reduction, name] : kReductions) {
    for (double smoothing : {0.0, 0.1}) {
      const CrossEntropyOptions options{.reduction = reduction, .label_smoothing = smoothing};
      const CrossEntropyOptions ignoring{.reduction = reduction, .ignore_index = 1, .label_smoothing = smoothing};
      const std::string more = name + std::string(smoothing > 0 ? ", smoothed" : "");
      for (const LaidOut& a : layouts(3, 4)) entropy(a.label + more, a.x, tensor({3, 0, 2}), options);
      entropy("ignored" + more, spread({4, 3}), tensor({2, 1, 0, 1}), ignoring);
      entropy("[2, 2, 3]" + more, spread({2, 2, 3}), some_ids({2, 2}, 3), options);
      entropy("[5]" + more, spread({5}), scalar(2, kInt64), options);
      entropy("[2, 19]" + more, spread({2, 19}), tensor({18, 5}), options);
      entropy("expanded" + more, spread({1, 3}).expand({2, 3}), tensor({2, 0}), options);
      entropy("all ignored" + more, spread({2, 3}), tensor({1, 1}),
              {.reduction = reduction == Reduction::mean ? Reduction::sum : reduction,
               .ignore_index = 1,
               .label_smoothing = smoothing},
              true);
    }
    for (const LaidOut& a : layouts(3, 4)) likelihood(a.label + name, a.x, tensor({3, 0, 2}), reduction);
    likelihood("ignored" + std::string(name), spread({4, 3}), tensor({2, 1, 0, 1}), reduction);
    likelihood("[2, 2, 3]" + std::string(name), spread({2, 2, 3}), some_ids({2, 2}, 3), reduction);
  }
  const Tensor ids = some_ids({2, 3}, 4);
  entropy("[2, 4, 3], axis 1", spread({2, 4, 3}), ids, {.label_smoothing = 0.1, .axis = 1});
  table.add("nll_loss", "[2, 4, 3], axis 1", {spread({2, 4, 3}), ids},
            [](std::span<const Tensor> v) { return nll_loss(v[0], v[1], {.axis = 1}); });
  entropy("no row", spread({0, 3}), zeros({0}, kInt64), {.reduction = Reduction::sum});
}

void add_weighted_losses(SampleTable& table) {
  for (const auto& [reduction, name] : kReductions) {
    for (double smoothing : {0.0, 0.2}) {
      const Tensor weight = spread({4}, 0.2, 2);
      const CrossEntropyOptions options{
          .reduction = reduction, .ignore_index = 1, .label_smoothing = smoothing, .weight = weight};
      for (const LaidOut& a : layouts(3, 4)) {
        table.add("cross_entropy", a.label + name + ", weighted", {a.x, tensor({3, 0, 1})},
                  [options](auto v) { return cross_entropy(v[0], v[1], options); });
      }
    }
    table.add("nll_loss", std::string("weighted") + name, {spread({4, 3}), tensor({2, 1, 0, 1})},
              [reduction = reduction](auto v) {
                return nll_loss(v[0], v[1], {.reduction = reduction, .ignore_index = 1, .weight = spread({3}, 0.2, 2)});
              });
    const auto binary = [&, reduction = reduction, name = name](const std::string& label, const Tensor& x,
                                                                const Tensor& target, const Tensor& weight) {
      const std::string all = label + name;
      table.add("binary_cross_entropy_with_logits", all + ", pos_weight", {x, target, weight}, [reduction](auto v) {
        return binary_cross_entropy_with_logits(v[0], v[1], {.reduction = reduction, .pos_weight = v[2]});
      });
      table.add("binary_cross_entropy_with_logits", all + ", weight", {x, target, weight}, [reduction](auto v) {
        return binary_cross_entropy_with_logits(v[0], v[1], {.reduction = reduction, .weight = v[2]});
      });
      table.add("gaussian_nll_loss", all, {x, target, weight}, [reduction](auto v) {
        return gaussian_nll_loss(v[0], v[1], v[2], {.reduction = reduction, .full = true});
      });
    };
    for (const LaidOut& a : layouts(2, 3)) binary(a.label, a.x, spread({3, 2}, 0.1, 0.9).t(), spread({3}, 0.3, 2));
    binary("scalar", spread({}), spread({}, 0.1, 0.9), spread({}, 0.3, 2));
    binary("[19]", spread({19}), spread({19}, 0.1, 0.9), spread({19}, 0.3, 2));
    binary("broadcast", spread({3}), spread({2, 3}, 0.1, 0.9), spread({2, 1}, 0.3, 2));
    if (reduction != Reduction::mean) binary("[0]", spread({0}), spread({0}), spread({0}));
  }
}

void add_pair_losses(SampleTable& table) {
  for (const auto& [reduction, name] : kReductions) {
    const auto all = [&, reduction = reduction, name = name](const std::string& label, const Tensor& x,
                                                             const Tensor& target) {
      table.add("mse_loss", label + name, {x, target}, [reduction](auto v) { return mse_loss(v[0], v[1], reduction); });
      table.add("l1_loss", label + name, {x, target}, [reduction](auto v) { return l1_loss(v[0], v[1], reduction); });
      table.add("huber_loss", label + name, {x, target},
                [reduction](auto v) { return huber_loss(v[0], v[1], {.reduction = reduction, .delta = 0.7}); });
      table.add("smooth_l1_loss", label + name, {x, target},
                [reduction](auto v) { return smooth_l1_loss(v[0], v[1], {.reduction = reduction, .beta = 0.7}); });
      table.add("smooth_l1_loss", label + name + ", beta 0", {x, target},
                [reduction](auto v) { return smooth_l1_loss(v[0], v[1], {.reduction = reduction, .beta = 0}); });
      table.add("binary_cross_entropy", label + name, {target, x},
                [reduction](auto v) { return binary_cross_entropy(v[0], v[1], {.reduction = reduction}); });
      table.add("binary_cross_entropy", label + name + ", weight", {target, x}, [reduction](auto v) {
        return binary_cross_entropy(v[0], v[1], {.reduction = reduction, .weight = spread({1}, 0.3, 2)});
      });
      table.add("kl_div", label + name, {x, target},
                [reduction](auto v) { return kl_div(v[0], v[1], {.reduction = reduction}); });
      table.add("kl_div", label + name + ", log target", {x, target},
                [reduction](auto v) { return kl_div(v[0], v[1], {.reduction = reduction, .log_target = true}); });
      table.add("binary_cross_entropy_with_logits", label + name, {x, target},
                [reduction](auto v) { return binary_cross_entropy_with_logits(v[0], v[1], {.reduction = reduction}); });
    };
    for (const LaidOut& a : layouts(2, 3)) all(a.label, a.x, spread({3, 2}, 0.1, 0.9).t());
    all("scalar", spread({}), spread({}, 0.1, 0.9));
    all("[19]", spread({19}), spread({19}, 0.1, 0.9));
    all("expanded", spread({2, 1}).expand({2, 3}), spread({3}, 0.1, 0.9).expand({2, 3}));
    if (reduction != Reduction::mean) all("[0]", spread({0}), spread({0}));
  }
}

}  // namespace

void add_loss_samples(SampleTable& table) {
  add_class_losses(table);
  add_weighted_losses(table);
  add_pair_losses(table);
}

}  // namespace tapegrad::tasks
