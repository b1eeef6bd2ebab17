// Cases of losses.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

#include <utility>

namespace tapegrad::tasks {
namespace {

using A = Arguments;
constexpr const char* kReductions[] = {"none", "sum", "mean"};

Reduction reduction(const json& args) {
  const std::string wanted = args.value("reduction", "mean");
  return wanted == "none" ? Reduction::none : wanted == "sum" ? Reduction::sum : Reduction::mean;
}

// Class weights are constants.
Tensor class_weight(const Inputs& x) { return x.size() > 2 ? x[2].detach() : Tensor(); }

CrossEntropyOptions of_classes(const Inputs& x, const json& args) {
  return {.reduction = reduction(args),
          .ignore_index = integer(args, "ignore_index", -100),
          .label_smoothing = args.value("label_smoothing", 0.0),
          .weight = class_weight(x),
          .axis = integer(args, "axis", -1)};
}

// x, the weight, the classes, and if given, the bias and class weights.
Tensor linear_entropy(const Inputs& x, const json& args) {
  return linear_cross_entropy(x[0], x[1], x[2],
                              {.reduction = reduction(args),
                               .bias = input(x, 3),
                               .ignore_index = integer(args, "ignore_index", -100),
                               .label_smoothing = args.value("label_smoothing", 0.0),
                               .class_weight = x.size() > 4 ? x[4].detach() : Tensor()});
}

// "given": which of weight and pos_weight the inputs are.
Tensor binary_of_logits(const Inputs& x, const json& args) {
  const std::string given = args.value("given", "");
  BinaryCrossEntropyWithLogitsOptions options{.reduction = reduction(args)};
  if (given == "ones") {
    options.pos_weight = x[1].detach();
    return binary_cross_entropy_with_logits(x[0], ones_like(x[0]), options);
  }
  if (given == "weight" || given == "both") options.weight = input(x, 2);
  if (given == "pos_weight") options.pos_weight = x[2];
  if (given == "both") options.pos_weight = input(x, 3);
  return binary_cross_entropy_with_logits(x[0], x[1], options);
}

// log_probs, targets and both lengths; "scores": the first are before log_softmax.
Tensor ctc(const Inputs& x, const json& args) {
  const Tensor log_probs = args.contains("scores") ? log_softmax(x[0]) : x[0];
  return ctc_loss(log_probs, x[1], x[2], x[3],
                  {.reduction = reduction(args),
                   .blank = integer(args, "blank", 0),
                   .zero_infinity = args.value("zero_infinity", false)});
}

using LossCall = std::function<Tensor(const Inputs&, const json&, Reduction)>;

OpCall loss_call(const LossCall& f) {
  return [f](const Inputs& x, const json& args) -> Outputs { return {f(x, args, reduction(args))}; };
}

void add_calls_of_losses(CaseTable& t) {
  const auto loss = [&](const char* name, const LossCall& f) { t.call(name, loss_call(f)); };
  loss("cross_entropy", [](auto& x, auto& args, Reduction) { return cross_entropy(x[0], x[1], of_classes(x, args)); });
  loss("linear_cross_entropy", [](auto& x, auto& args, Reduction) { return linear_entropy(x, args); });
  loss("ctc_loss", [](auto& x, auto& args, Reduction) { return ctc(x, args); });
  loss("nll_loss", [](auto& x, auto& args, Reduction r) {
    const CrossEntropyOptions o = of_classes(x, args);
    return nll_loss(x[0], x[1], {.reduction = r, .ignore_index = o.ignore_index, .weight = o.weight, .axis = o.axis});
  });
  loss("mse_loss", [](auto& x, auto&, Reduction r) { return mse_loss(x[0], x[1], r); });
  loss("l1_loss", [](auto& x, auto&, Reduction r) { return l1_loss(x[0], x[1], r); });
  loss("soft_margin_loss", [](auto& x, auto&, Reduction r) { return soft_margin_loss(x[0], x[1], r); });
  loss("kl_div", [](auto& x, auto& args, Reduction r) {
    return kl_div(x[0], x[1],
                  {.reduction = r,
                   .log_target = args.value("log_target", false),
                   .batchmean = args.value("reduction", "") == "batchmean"});
  });
  loss("huber_loss", [](auto& x, auto& args, Reduction r) {
    return huber_loss(x[0], x[1], {.reduction = r, .delta = args.value("delta", 1.0)});
  });
  loss("smooth_l1_loss", [](auto& x, auto& args, Reduction r) {
    return smooth_l1_loss(x[0], x[1], {.reduction = r, .beta = args.value("beta", 1.0)});
  });
  loss("binary_cross_entropy", [](auto& x, auto& args, Reduction r) {
    return binary_cross_entropy(x[0], args.contains("given") ? ones_like(x[0]) : x[1],
                                {.reduction = r, .weight = input(x, 2)});
  });
  loss("binary_cross_entropy_with_logits", [](auto& x, auto& args, Reduction) { return binary_of_logits(x, args); });
  loss("gaussian_nll_loss", [](auto& x, auto& args, Reduction r) {
    return gaussian_nll_loss(x[0], x[1], x[2],
                             {.reduction = r, .full = args.value("full", false), .eps = args.value("eps", 1e-6)});
  });
}

void add_calls_of_margin_losses(CaseTable& t) {
  const auto loss = [&](const char* name, const LossCall& f) { t.call(name, loss_call(f)); };
  const auto at = [](const json& args, const char* key) { return args.at(key).get<double>(); };
  loss("triplet_margin_loss", [at](auto& x, auto& args, Reduction r) {
    return triplet_margin_loss(x[0], x[1], x[2],
                               {.reduction = r,
                                .margin = at(args, "margin"),
                                .p = at(args, "p"),
                                .eps = at(args, "eps"),
                                .swap = args.at("swap").template get<bool>()});
  });
  loss("cosine_embedding_loss", [at](auto& x, auto& args, Reduction r) {
    return cosine_embedding_loss(x[0], x[1], x[2], {.reduction = r, .margin = at(args, "margin")});
  });
  loss("margin_ranking_loss", [at](auto& x, auto& args, Reduction r) {
    return margin_ranking_loss(x[0], x[1], x[2], {.reduction = r, .margin = at(args, "margin")});
  });
  loss("hinge_embedding_loss", [at](auto& x, auto& args, Reduction r) {
    return hinge_embedding_loss(x[0], x[1], {.reduction = r, .margin = at(args, "margin")});
  });
  loss("poisson_nll_loss", [at](auto& x, auto& args, Reduction r) {
    return poisson_nll_loss(x[0], x[1],
                            {.reduction = r,
                             .log_input = args.at("log_input").template get<bool>(),
                             .full = args.at("full").template get<bool>(),
                             .eps = at(args, "eps")});
  });
  loss("multi_margin_loss", [at](auto& x, auto& args, Reduction r) {
    return multi_margin_loss(x[0], x[1],
                             {.reduction = r,
                              .p = args.at("p").template get<int>(),
                              .margin = at(args, "margin"),
                              .weight = class_weight(x)});
  });
}

void add_class_losses(CaseTable& t) {
  const auto entropy = [&](const std::string& label, std::vector<Tensor> inputs, const json& options,
                           bool zero = false) {
    t.add("cross_entropy", label, std::move(inputs), options, {.zero_gradient = zero});
  };
  const auto weighted = [&](const std::string& op, const std::string& label, std::vector<Tensor> inputs,
                            const Tensor& weight, const json& options) {
    t.add(op, label, std::move(inputs), [f = t.calls.at(op), weight, options](auto v) {
      return f({v[0], v[1], weight}, options)[0];
    });
  };
  for (const std::string reduction : kReductions) {
    const std::string way = ", " + reduction;
    for (double smoothing : {0.0, 0.1}) {
      const json options{{"reduction", reduction}, {"label_smoothing", smoothing}};
      json ignoring = options;
      ignoring["ignore_index"] = 1;
      const std::string more = way + (smoothing > 0 ? ", smoothed" : "");
      for (const LaidOut& a : layouts(3, 4)) {
        entropy(a.label + more, {a.x, tensor({3, 0, 2})}, options);
        weighted("cross_entropy", a.label + more + ", weighted", {a.x, tensor({3, 0, 1})}, spread({4}, 0.2, 2),
                 ignoring);
      }
      entropy("ignored" + more, {spread({4, 3}), tensor({2, 1, 0, 1})}, ignoring);
      entropy("[2, 2, 3]" + more, {spread({2, 2, 3}), some_ids({2, 2}, 3)}, options);
      entropy("[5]" + more, {spread({5}), scalar(2, kInt64)}, options);
      entropy("[2, 19]" + more, {spread({2, 19}), tensor({18, 5})}, options);
      entropy("expanded" + more, {spread({1, 3}).expand({2, 3}), tensor({2, 0})}, options);
      if (reduction == "mean") ignoring["reduction"] = "sum";
      entropy("all ignored" + more, {spread({2, 3}), tensor({1, 1})}, ignoring, true);
    }
    const json ignoring{{"reduction", reduction}, {"ignore_index", 1}};
    for (const LaidOut& a : layouts(3, 4)) t.add("nll_loss", a.label + way, {a.x, tensor({3, 0, 2})}, ignoring);
    t.add("nll_loss", "ignored" + way, {spread({4, 3}), tensor({2, 1, 0, 1})}, ignoring);
    t.add("nll_loss", "[2, 2, 3]" + way, {spread({2, 2, 3}), some_ids({2, 2}, 3)}, ignoring);
    weighted("nll_loss", "weighted" + way, {spread({4, 3}), tensor({2, 1, 0, 1})}, spread({3}, 0.2, 2), ignoring);
  }
  const Tensor classes = some_ids({2, 3}, 4);
  entropy("[2, 4, 3], axis 1", {spread({2, 4, 3}), classes}, {{"label_smoothing", 0.1}, {"axis", 1}});
  t.add("nll_loss", "[2, 4, 3], axis 1", {spread({2, 4, 3}), classes}, {{"axis", 1}});
  entropy("no row", {spread({0, 3}), zeros({0}, kInt64)}, {{"reduction", "sum"}});
}

void add_linear_entropies(CaseTable& t) {
  const Tensor classes = tensor({3, 0, 2});
  for (const std::string reduction : kReductions) {
    for (const double smoothing : {0.0, 0.1}) {
      const json options{{"reduction", reduction}, {"label_smoothing", smoothing}, {"ignore_index", 0}};
      const std::string more = ", " + reduction + (smoothing > 0 ? ", smoothed" : "");
      const auto entropy = [&](const std::string& label, std::vector<Tensor> inputs) {
        t.add("linear_cross_entropy", label + more, std::move(inputs), options);
      };
      for (const LaidOut& a : layouts(3, 2)) entropy(a.label, {a.x, spread({4, 2}, -1, 2), classes});
      for (const LaidOut& a : layouts(4, 2)) entropy(a.label + " as the weight", {spread({3, 2}), a.x, classes});
      entropy("[2, 2, 3], bias", {spread({2, 2, 3}), spread({5, 3}, -1, 2), some_ids({2, 2}, 5), spread({5})});
      entropy("[3], bias", {spread({3}), spread({4, 3}, -1, 2), scalar(2, kInt64), spread({4})});
      t.add("linear_cross_entropy", "class weights" + more, {spread({3, 2}), spread({4, 2}, -1, 2), spread({4})},
            [=](auto v) {
              return linear_entropy({v[0], v[1], classes, v[2], spread({4}, 0.2, 2)}, options);
            });
    }
  }
  t.add_per_example(
      "linear_cross_entropy", "per example", {spread({3, 2}), spread({4, 2}, -1, 2), spread({4})},
      [=](auto v) { return linear_cross_entropy(v[0], v[1], classes, {.reduction = Reduction::none, .bias = v[2]}); });
  t.add("linear_cross_entropy", "no row", {spread({0, 2}), spread({3, 2}), zeros({0}, kInt64)}, {{"reduction", "sum"}},
        {.zero_gradient = true});
}

// The gradient of ctc_loss is that of distributions.
void add_ctc(CaseTable& t) {
  const Tensor steps = tensor({5, 4, 3}), counts = tensor({2, 2, 0});
  const Tensor padded = tensor({{1, 2, 0}, {2, 2, 0}, {0, 0, 0}}), joined = tensor({1, 2, 2, 2});
  for (const std::string reduction : kReductions) {
    const json options{{"reduction", reduction}, {"scores", true}};
    const std::string way = ", " + reduction;
    t.add("ctc_loss", "padded" + way, {spread({5, 3, 3}), padded, steps, counts}, options);
    t.add("ctc_loss", "joined" + way, {spread({5, 3, 3}), joined, steps, counts}, options);
    t.add("ctc_loss", "transposed" + way, {spread({3, 5, 3}).transpose(0, 1), padded, steps, counts}, options);
    t.add("ctc_loss", "expanded" + way, {spread({5, 1, 3}).expand({5, 3, 3}), padded, steps, counts}, options);
    t.add("ctc_loss", "one sequence" + way, {spread({4, 3}), tensor({1, 2}), scalar(4, kInt64), scalar(2, kInt64)},
          options);
  }
  t.add("ctc_loss", "blank", {spread({4, 1, 4}), tensor({{0, 1, 0}}), tensor({4}), tensor({3})},
        {{"blank", 3}, {"scores", true}});
  t.add("ctc_loss", "infinite", {spread({3, 2, 3}), tensor({{1, 1, 2}, {1, 2, 0}}), tensor({3, 3}), tensor({3, 2})},
        {{"zero_infinity", true}, {"scores", true}});
  t.add("ctc_loss", "only blanks", {spread({3, 1, 3}), zeros({1, 0}, kInt64), tensor({3}), tensor({0})},
        {{"scores", true}});
  t.add("ctc_loss", "no sequence", {spread({3, 0, 3}), zeros({0, 1}, kInt64), zeros({0}, kInt64), zeros({0}, kInt64)},
        {{"reduction", "sum"}, {"scores", true}}, {.zero_gradient = true});
  if (!t.large()) return;
  for (const char* reduction : kReductions) {
    t.add_large("ctc_loss", {numbers({103, 19, 37}), ids({19, 21}, 36) + 1, ids({19}, 50) + 50, ids({19}, 21)},
                {{"reduction", reduction}, {"scores", true}});
  }
}

// Losses of elements: label, inputs x and target in (0, 1), and a weight where there is one.
void add_element_losses(CaseTable& t, const std::string& reduction) {
  const auto with = [&](json options) {
    options["reduction"] = reduction;
    return options;
  };
  const auto all = [&](std::string label, const Tensor& x, const Tensor& target) {
    label += ", " + reduction;
    for (const char* loss : {"mse_loss", "l1_loss", "kl_div", "binary_cross_entropy_with_logits"})
      t.add(loss, label, {x, target}, with(kNone));
    t.add("huber_loss", label, {x, target}, with({{"delta", 0.7}}));
    t.add("smooth_l1_loss", label, {x, target}, with({{"beta", 0.7}}));
    t.add("smooth_l1_loss", label + ", beta 0", {x, target}, with({{"beta", 0}}));
    t.add("binary_cross_entropy", label, {target, x}, with(kNone));
    t.add("binary_cross_entropy", label + ", weight", {target, x}, [r = tasks::reduction(with(kNone))](auto v) {
      return binary_cross_entropy(v[0], v[1], {.reduction = r, .weight = spread({1}, 0.3, 2)});
    });
    t.add("kl_div", label + ", log target", {x, target}, with({{"log_target", true}}));
  };
  const auto weighted = [&](std::string label, const Tensor& x, const Tensor& target, const Tensor& weight) {
    label += ", " + reduction;
    for (const char* given : {"pos_weight", "weight"})
      t.add("binary_cross_entropy_with_logits", label + ", " + given, {x, target, weight}, with({{"given", given}}));
    t.add("gaussian_nll_loss", label, {x, target, weight}, with({{"full", true}}));
  };
  for (const LaidOut& a : layouts(2, 3)) {
    all(a.label, a.x, spread({3, 2}, 0.1, 0.9).t());
    weighted(a.label, a.x, spread({3, 2}, 0.1, 0.9).t(), spread({3}, 0.3, 2));
  }
  all("scalar", spread({}), spread({}, 0.1, 0.9));
  all("[19]", spread({19}), spread({19}, 0.1, 0.9));
  all("expanded", spread({2, 1}).expand({2, 3}), spread({3}, 0.1, 0.9).expand({2, 3}));
  weighted("scalar", spread({}), spread({}, 0.1, 0.9), spread({}, 0.3, 2));
  weighted("[19]", spread({19}), spread({19}, 0.1, 0.9), spread({19}, 0.3, 2));
  weighted("broadcast", spread({3}), spread({2, 3}, 0.1, 0.9), spread({2, 1}, 0.3, 2));
  if (reduction == "mean") return;
  all("[0]", spread({0}), spread({0}));
  weighted("[0]", spread({0}), spread({0}), spread({0}));
}

// Two operands, one of which broadcasts to the other.
bool one_way_pair(const Draw& d, Call& c) {
  if (!not_empty(d, c)) return false;
  const Shape shape = d.last(c).shape();
  return d.operand(c, [&](const Tensor& x) {
    return x.numel() > 0 && (broadcasts_to(x.shape(), shape) || broadcasts_to(shape, x.shape()));
  });
}

void add_rules_of_losses(CaseTable& t) {
  using Loss = std::function<Tensor(const A&, Reduction)>;
  const std::string kAlone = "reduction";  // the loss has no other options
  const auto loss = [&](const std::string& name, const std::string& between, const std::string& before,
                        const std::string& options, const Loss& f, const Smooth& smooth = {},
                        const DrawRule& draw = one_way_pair) {
    for (const char* of : kReductions) {
      const std::string value = std::string("Reduction::") + of;
      t.rule(name + "(" + between + ", " + (options == kAlone ? value : "{.reduction = " + value + options + "}") + ")",
             "F." + name + "(" + before + ", reduction='" + of + "')", draw, smooth,
             [f, r = reduction({{"reduction", of}})](const A& a) { return f(a, r); });
    }
  };
  const std::string two = "{t0}, {t1}", both = "*torch.broadcast_tensors({t0}, {t1})";
  const auto positive = [](const Tensor& x) { return square(x) + 0.5; };
  loss("mse_loss", two, both, kAlone, [](const A& a, Reduction r) { return mse_loss(a.t[0], a.t[1], r); });
  loss(
      "l1_loss", two, both, kAlone, [](const A& a, Reduction r) { return l1_loss(a.t[0], a.t[1], r); },
      first_two_differ);
  const Smooth not_at_seams = [](const A& a) { return away_from(abs(a.t[0] - a.t[1]), {0, 0.7}); };
  loss(
      "huber_loss", two, both + ", delta=0.7", ", .delta = 0.7",
      [](const A& a, Reduction r) { return huber_loss(a.t[0], a.t[1], {.reduction = r, .delta = 0.7}); }, not_at_seams);
  loss(
      "smooth_l1_loss", two, both + ", beta=0.7", ", .beta = 0.7",
      [](const A& a, Reduction r) { return smooth_l1_loss(a.t[0], a.t[1], {.reduction = r, .beta = 0.7}); },
      not_at_seams);
  loss("kl_div", "{t0}, square({t1}) + 0.5", "*torch.broadcast_tensors({t0}, {t1}.square() + 0.5)", "",
       [=](const A& a, Reduction r) { return kl_div(a.t[0], positive(a.t[1]), {.reduction = r}); });
  loss(
      "binary_cross_entropy", "sigmoid({t0}), sigmoid({t1})", "{t0}.sigmoid(), {t1}.sigmoid()", "",
      [](const A& a, Reduction r) { return binary_cross_entropy(sigmoid(a.t[0]), sigmoid(a.t[1]), {.reduction = r}); },
      {}, twins);
  loss(
      "binary_cross_entropy_with_logits", two, two, "",
      [](const A& a, Reduction r) { return binary_cross_entropy_with_logits(a.t[0], a.t[1], {.reduction = r}); }, {},
      twins);
  loss(
      "gaussian_nll_loss", "{t0}, {t1}, square({t1}) + 0.5", "{t0}, {t1}, {t1}.square() + 0.5", "",
      [=](const A& a, Reduction r) { return gaussian_nll_loss(a.t[0], a.t[1], positive(a.t[1]), {.reduction = r}); },
      {}, [](const Draw& d, Call& c) { return twins(d, c) && d.last(c).dim() > 0; });
}

void add_rules_of_class_losses(CaseTable& t) {
  const DrawRule rows = operand([](const Tensor& x) { return x.dim() == 2 && x.numel() > 0; });
  const DrawRule classes =
      then(rows, [](const Draw& d, Call& c) { c.c = {d.index({d.last(c).size(0)}, d.last(c).size(1))}; });
  t.rule(FORMULA(cross_entropy(a.t[0], a.c(0), {.label_smoothing = a.d(0)})),
         "F.cross_entropy({t0}, {c0}, label_smoothing={d0})", and_number(classes, 0, 0.5));
  const DrawRule own_rows =
      then(rows, [](const Draw& d, Call& c) { c.c = {d.index({d.last(c).size(0)}, d.last(c).size(0))}; });
  t.rule(FORMULA(linear_cross_entropy(a.t[0], cos(a.t[0]), a.c(0), {.label_smoothing = a.d(0)})),
         "F.cross_entropy({t0} @ {t0}.cos().t(), {c0}, label_smoothing={d0})", and_number(own_rows, 0, 0.5));
  t.rule(FORMULA(nll_loss(a.t[0], a.c(0), {.reduction = Reduction::none})), "F.nll_loss({t0}, {c0}, reduction='none')",
         classes);
}

void add_large_losses(CaseTable& t) {
  const Tensor x = numbers({kRows, kColumns}), turned = numbers({kColumns, kRows}).t();
  const Tensor positive = numbers({kRows, kColumns}, 0.3, 2), row = numbers({kColumns}, 0.3, 2);
  const Tensor probabilities = numbers({kRows, kColumns}, 0.01, 0.99);
  const Tensor logits = numbers({500, 1003}), classes = ids({500}, 1003);
  const Tensor hidden = numbers({90, 6}), head = numbers({50257, 6}), of_many = ids({90}, 50257);
  for (const char* way : kReductions) {
    const json reduction{{"reduction", way}}, smoothed{{"reduction", way}, {"label_smoothing", 0.1}};
    t.add_large("cross_entropy", {logits, classes}, smoothed);
    t.add_large("cross_entropy", {logits, classes, row}, smoothed);
    t.add_large("linear_cross_entropy", {hidden, head, of_many, numbers({50257})}, smoothed);
    t.add_large("nll_loss", {logits, classes}, reduction);
    for (const char* loss : {"mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"})
      t.add_large(loss, {x, turned}, reduction);
    t.add_large("binary_cross_entropy", {probabilities, probabilities}, reduction);
    t.add_large("gaussian_nll_loss", {x, turned, positive}, {{"reduction", way}, {"full", true}});
    t.add_large("kl_div", {x, positive}, reduction);
    t.add_large("binary_cross_entropy_with_logits", {x, positive}, reduction);
    t.add_large("binary_cross_entropy_with_logits", {x, positive, row}, {{"reduction", way}, {"given", "pos_weight"}});
  }
}

}  // namespace

void add_loss_cases(CaseTable& table) {
  add_calls_of_losses(table);
  add_calls_of_margin_losses(table);
  add_class_losses(table);
  add_linear_entropies(table);
  add_ctc(table);
  for (const char* reduction : kReductions) add_element_losses(table, reduction);
  add_rules_of_losses(table);
  add_rules_of_class_losses(table);
  if (table.large()) add_large_losses(table);
}

}  // namespace tapegrad::tasks
