// Cases of softmax and of normalisation.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

namespace tapegrad::tasks {
namespace {

double eps_of(const json& args) { return args.value("eps", 1e-2); }

void add_softmax(CaseTable& t) {
  t.along_axis("softmax", softmax, softmax);
  t.along_axis("log_softmax", log_softmax, log_softmax);
  const auto both = [&](const std::string& label, const Tensor& x, int axis) {
    for (const char* op : {"softmax", "log_softmax"}) t.add(op, label, {x}, {{"axis", axis}});
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
  if (!t.large()) return;
  for (int axis : {0, 1}) {
    t.add_large("softmax", {numbers({kRows, kColumns})}, {{"axis", axis}});
    t.add_large("log_softmax", {numbers({kColumns, kRows}).t()}, {{"axis", axis}});
  }
}

void add_norms(CaseTable& t) {
  t.call("layer_norm", [](auto& x, auto& args) { return layer_norm(x[0], input(x, 1), input(x, 2), eps_of(args)); });
  t.call("layer_norm_std", [](auto& x, auto& args) { return layer_norm_std(x[0], x[1], x[2], eps_of(args)); });
  t.call("rms_norm", [](auto& x, auto& args) { return rms_norm(x[0], x[1], eps_of(args)); });
  const auto all = [&](const std::string& label, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    t.add("layer_norm", label, {x});
    t.add("layer_norm", label + ", weight", {x, weight});
    t.add("layer_norm", label + ", weight and bias", {x, weight, bias});
    t.add("layer_norm_std", label, {x, weight, bias});
    t.add("rms_norm", label, {x, weight});
  };
  for (const LaidOut& a : layouts(3, 4)) all(a.label, a.x, spread({4}, 0.5, 2), spread({4}));
  all("three axes", spread({2, 2, 5}), spread({5}, 0.5, 2), spread({5}));
  all("vector", spread({5}), spread({5}, 0.5, 2), spread({5}));
  all("[2, 19]", spread({2, 19}), spread({19}, 0.5, 2), spread({19}));
  all("[0, 4]", spread({0, 4}), spread({4}, 0.5, 2), spread({4}));
  all("expanded", spread({1, 4}).expand({2, 4}), spread({4}, 0.5, 2), spread({4}));
  all("strided weight", spread({2, 4}), spread({8}, 0.5, 2).slice(0, 0, kAll, 2), spread({4}).slice(0, kAll, kAll, -1));
  const auto per_example = [&](const char* op, const Function& f) {
    t.add_per_example(op, "per example", {spread({2, 4, 3}), spread({3}, 0.5, 2), spread({3})}, f);
  };
  per_example("layer_norm", [](auto x) { return layer_norm(x[0], x[1], x[2], 1e-2); });
  per_example("layer_norm_std", [](auto x) { return layer_norm_std(x[0], x[1], x[2], 1e-2); });
  t.add_per_example("rms_norm", "per example", {spread({2, 4, 3}), spread({3}, 0.5, 2)},
                    [](auto x) { return rms_norm(x[0], x[1], 1e-2); });
  t.add("layer_norm", "over two axes", {spread({2, 3, 2}), spread({3, 2}, 0.5, 2), spread({3, 2})});
  t.add("layer_norm", "a bias alone", {spread({2, 3}), spread({3})},
        [](auto x) { return layer_norm(x[0], {}, x[1], 1e-2); });

  const DrawRule vectors = operand([](const Tensor& x) { return x.dim() > 0 && x.numel() > 0 && x.size(-1) > 1; });
  const DrawRule vectors_and_weight =
      and_operand(vectors, [](const Tensor& x, const Tensor& w) { return w.shape() == Shape{x.size(-1)}; });
  t.rule(FORMULA(layer_norm(a.t[0], {}, {})), "F.layer_norm({t0}, {t0}.shape[-1:])", vectors, apart);
  t.rule(FORMULA(layer_norm(a.t[0], a.t[1], a.t[1])), "F.layer_norm({t0}, {t1}.shape, {t1}, {t1})", vectors_and_weight,
         apart);
  t.rule(FORMULA(rms_norm(a.t[0], a.t[1])), "{t0} / ({t0}.square().mean(-1, keepdim=True) + 1e-6).sqrt() * {t1}",
         vectors_and_weight, first_away_from({0}));
  t.rule(FORMULA(layer_norm_std(a.t[0], a.t[1], a.t[1])),
         "({t0} - {t0}.mean(-1, keepdim=True)) / ({t0}.std(-1, unbiased=False, keepdim=True) + 1e-6) * {t1} + {t1}",
         vectors_and_weight, apart);
  if (!t.large()) return;
  for (int64_t width : {64, 1003}) {
    const Tensor rows = numbers({2000, width}), weight = numbers({width}, 0.5, 2), bias = numbers({width});
    t.add_large("layer_norm", {rows, weight, bias}, {{"eps", 1e-5}});
    t.add_large("layer_norm_std", {rows, weight, bias}, {{"eps", 1e-6}});
    t.add_large("rms_norm", {rows, weight}, {{"eps", 1e-6}});
  }
}

void add_channel_norm_rules(CaseTable& t) {
  const DrawRule halves = sized(4, kMostElements, 2);
  t.rule(FORMULA(group_norm(a.t[0].reshape({1, 2, -1}), 1)), "F.group_norm({t0}.reshape(1, 2, -1), 1)", halves, apart);
  t.rule(FORMULA(instance_norm(a.t[0].reshape({1, 2, -1}))), "F.instance_norm({t0}.reshape(1, 2, -1))", halves, apart);
  t.rule(FORMULA(batch_norm_training(a.t[0].reshape({-1, 1})).y),
         "F.batch_norm({t0}.reshape(-1, 1), None, None, training=True)", sized(2), apart);
  t.rule(FORMULA(batch_norm(a.t[0].reshape({-1, 1}), full({1}, 0.3, a.type), full({1}, 0.6, a.type))),
         "F.batch_norm({t0}.reshape(-1, 1), torch.full((1,), 0.3, dtype={T}), torch.full((1,), 0.6, dtype={T}))",
         sized(1));
  // Two channels, and the first two elements of {t1} as their weights (PyTorch 2.15 has wrong gradients for strided
  // ones).
  const std::string weights = "{t1}.reshape(-1)[:2].contiguous()";
  t.rule(FORMULA(batch_norm_training(a.t[0].reshape({-1, 2}), a.t[1].reshape({-1}).slice(0, 0, 2),
                                     a.t[1].reshape({-1}).slice(0, 0, 2))
                     .y),
         "F.batch_norm({t0}.reshape(-1, 2), None, None, " + weights + ", " + weights + ", training=True)",
         both(halves, sized(2)), apart);
  t.rule(FORMULA(group_norm(a.t[0].reshape({2, 2, -1}), 1, a.t[1].reshape({-1}).slice(0, 0, 2))),
         "F.group_norm({t0}.reshape(2, 2, -1), 1, " + weights + ")", both(sized(8, kMostElements, 4), sized(2)), apart);
}

void add_channel_norm_calls(CaseTable& t) {
  t.call("batch_norm", [](auto& x, auto& args) {
    return batch_norm(x[0], x[1].detach(), x[2].detach(), input(x, 3), input(x, 4), args.value("eps", 1e-5));
  });
  t.call("batch_norm_training", [](const Inputs& x, const json& args) -> Outputs {
    const BatchNormed all = batch_norm_training(x[0], input(x, 1), input(x, 2), args.value("eps", 1e-5));
    return {all.y, all.mean, all.var};
  });
  t.call("group_norm", [](auto& x, auto& args) {
    return group_norm(x[0], args.at("groups").template get<int64_t>(), input(x, 1), input(x, 2),
                      args.value("eps", 1e-5));
  });
  t.call("instance_norm",
         [](auto& x, auto& args) { return instance_norm(x[0], input(x, 1), input(x, 2), args.value("eps", 1e-5)); });
  const std::vector<Tensor> examples{spread({2, 4, 3}), spread({4}, 0.5, 2), spread({4})};
  t.add_per_example("group_norm", "per example", examples,
                    [](auto x) { return group_norm(x[0], 2, x[1], x[2], 1e-2); });
  t.add_per_example("instance_norm", "per example", examples,
                    [](auto x) { return instance_norm(x[0], x[1], x[2], 1e-2); });
}

void add_channel_norms(CaseTable& t) {
  const auto all = [&](const std::string& label, const Tensor& x) {
    const int64_t channels = x.size(1);
    const Tensor weight = spread({channels}, 0.5, 2), bias = spread({channels}), mean = spread({channels}, -1, 1);
    const auto evaluated = [=](std::span<const Tensor> x) {
      const Inputs v(x.begin(), x.end());
      return batch_norm(x[0], mean, weight.detach(), input(v, 1), input(v, 2), 1e-2);
    };
    for (const std::vector<Tensor>& inputs :
         {std::vector<Tensor>{x}, std::vector<Tensor>{x, weight}, std::vector<Tensor>{x, weight, bias}}) {
      const std::string name = label + (inputs.size() > 2 ? ", weight and bias" : inputs.size() > 1 ? ", weight" : "");
      t.add("batch_norm", name, inputs, evaluated);
      t.add("batch_norm_training", name, inputs, {{"eps", 1e-2}});
      for (int64_t groups : {1, 2})
        if (channels % groups == 0) t.add("group_norm", name, inputs, {{"groups", groups}, {"eps", 1e-2}});
      if (x.dim() > 2) t.add("instance_norm", name, inputs, {{"eps", 1e-2}});
    }
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
  t.add("batch_norm", "a bias alone", {spread({2, 3}), spread({3})},
        [](auto x) { return batch_norm(x[0], zeros({3}, kFloat64), ones({3}, kFloat64), {}, x[1]); });
  t.add("batch_norm_training", "a bias alone", {spread({2, 3}), spread({3})},
        [](auto x) { return batch_norm_training(x[0], {}, x[1], 1e-2).y; });
  t.add("group_norm", "a bias alone", {spread({2, 4}), spread({4})},
        [](auto x) { return group_norm(x[0], 2, {}, x[1], 1e-2); });
  if (!t.large()) return;
  for (const Shape& shape :
       {Shape{9, 70, 37, 5}, Shape{70, 3, 1003}, Shape{1000, 300}, Shape{3000, 6}, Shape{40, 6, 3001}}) {
    const Tensor x = numbers(shape), weight = numbers({shape[1]}, 0.5, 2), bias = numbers({shape[1]});
    t.add_large("batch_norm_training", {x, weight, bias});
    t.add_large("batch_norm", {x, weight, bias},
                [](auto v) { return batch_norm(v[0], v[2].detach(), v[1].detach(), v[1], v[2]); });
    t.add_large("group_norm", {x, weight, bias}, {{"groups", shape[1] % 2 ? 1 : 2}});
    if (shape.rank() > 2) t.add_large("instance_norm", {x, weight, bias});
  }
}

}  // namespace

void add_norm_cases(CaseTable& table) {
  add_softmax(table);
  add_norms(table);
  add_channel_norm_calls(table);
  add_channel_norms(table);
  add_channel_norm_rules(table);
}

}  // namespace tapegrad::tasks
