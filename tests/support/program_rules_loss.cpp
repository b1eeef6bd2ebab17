// The operations that random programs are made of: normalisations, attention and losses.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/support/program_table.h>

namespace tapegrad::tests {

namespace {

const char* const kReductions[] = {"none", "sum", "mean"};

// Two operands, one of which broadcasts to the other.
bool one_way_pair(const D& d, Call& c) {
  if (!not_empty(d, c)) return false;
  const Shape shape = d.last(c).shape();
  return d.operand(c, [&](const Tensor& x) {
    return x.numel() > 0 && (broadcasts_to(x.shape(), shape) || broadcasts_to(shape, x.shape()));
  });
}

}  // namespace

void add_norms_and_losses(Table& table) {
  const DrawRule vectors = [](const D& d, Call& c) {
    return d.operand(c, [](const Tensor& x) { return x.dim() > 0 && x.numel() > 0 && x.size(-1) > 1; });
  };
  table.add(
      "layer_norm({t0}, {}, {})", "F.layer_norm({t0}, {t0}.shape[-1:])", vectors,
      [](const A& a) { return layer_norm(a.t[0], {}, {}, 1e-5); }, kApart);
  const DrawRule vectors_and_weight = [vectors](const D& d, Call& c) {
    if (!vectors(d, c)) return false;
    const Shape last{d.last(c).size(-1)};
    return d.operand(c, [&](const Tensor& w) { return w.shape() == last; });
  };
  table.add(
      "layer_norm({t0}, {t1}, {t1})", "F.layer_norm({t0}, {t1}.shape, {t1}, {t1})", vectors_and_weight,
      [](const A& a) { return layer_norm(a.t[0], a.t[1], a.t[1]); }, kApart);
  table.add(
      "rms_norm({t0}, {t1})", "{t0} / ({t0}.square().mean(-1, keepdim=True) + 1e-6).sqrt() * {t1}", vectors_and_weight,
      [](const A& a) { return rms_norm(a.t[0], a.t[1]); }, first_away_from({0}));
  table.add(
      "group_norm({t0}.reshape({1, 2, -1}), 1)", "F.group_norm({t0}.reshape(1, 2, -1), 1)",
      [](const D& d, Call& c) {
        return d.operand(c, [](const Tensor& x) { return x.numel() > 2 && x.numel() % 2 == 0; });
      },
      [](const A& a) {
        return group_norm(a.t[0].reshape({1, 2, -1}), 1);
      },
      kApart);
  table.add(
      "instance_norm({t0}.reshape({1, 2, -1}))", "F.instance_norm({t0}.reshape(1, 2, -1))",
      [](const D& d, Call& c) {
        return d.operand(c, [](const Tensor& x) { return x.numel() > 3 && x.numel() % 2 == 0; });
      },
      [](const A& a) {
        return instance_norm(a.t[0].reshape({1, 2, -1}));
      },
      kApart);
  table.add(
      "batch_norm_training({t0}.reshape({-1, 1})).y", "F.batch_norm({t0}.reshape(-1, 1), None, None, training=True)",
      sized(2, 24),
      [](const A& a) {
        return batch_norm_training(a.t[0].reshape({-1, 1})).y;
      },
      kApart);
  table.add("batch_norm({t0}.reshape({-1, 1}), full({1}, 0.3, {T}), full({1}, 0.6, {T}))",
            "F.batch_norm({t0}.reshape(-1, 1), torch.full((1,), 0.3, dtype={T}), torch.full((1,), 0.6, dtype={T}))",
            sized(1, 24), [](const A& a) {
              return batch_norm(a.t[0].reshape({-1, 1}), full({1}, 0.3, a.type), full({1}, 0.6, a.type));
            });
  table.add(
      "layer_norm_std({t0}, {t1}, {t1})",
      "({t0} - {t0}.mean(-1, keepdim=True)) / ({t0}.std(-1, unbiased=False, keepdim=True) + 1e-6) * {t1} + {t1}",
      vectors_and_weight, [](const A& a) { return layer_norm_std(a.t[0], a.t[1], a.t[1]); }, kApart);
  table.add(
      "scaled_dot_product_attention({t0}, {t1}, {t1})",
      "torch.softmax({t0} @ {t1}.transpose(-1, -2) / {t0}.size(-1) ** 0.5, -1) @ {t1}",
      [](const D& d, Call& c) {
        if (!d.operand(c, [](const Tensor& x) { return x.dim() == 2 && x.numel() > 0; })) return false;
        const int64_t size = d.last(c).size(-1);
        return d.operand(c, [&](const Tensor& k) { return k.dim() == 2 && k.numel() > 0 && k.size(-1) == size; });
      },
      [](const A& a) { return scaled_dot_product_attention(a.t[0], a.t[1], a.t[1]); });
  table.add(
      "cosine_similarity({t0}, {t1}, -1)", "F.cosine_similarity({t0}, {t1}, -1)",
      [](const D& d, Call& c) { return twins(d, c) && d.last(c).dim() > 0; },
      [](const A& a) { return cosine_similarity(a.t[0], a.t[1], -1); },
      [](const A& a) { return away_from(a.t[0], {0}) && away_from(a.t[1], {0}); });
  table.add(
      "pairwise_distance({t0}, {t1})", "F.pairwise_distance({t0}, {t1})",
      [](const D& d, Call& c) { return twins(d, c) && d.last(c).dim() > 0; },
      [](const A& a) { return pairwise_distance(a.t[0], a.t[1]); }, kFirstTwoDiffer);
  using Loss = std::function<Tensor(const A&, Reduction)>;
  const std::string kAlone = "reduction";  // the loss has no other options
  const auto given = [&](const std::string& reduction, const std::string& options) {
    const std::string value = "Reduction::" + reduction;
    return options == kAlone ? value : "{.reduction = " + value + options + "}";
  };
  const auto loss = [&](const std::string& name, const std::string& between, const std::string& torch,
                        const std::string& before, const std::string& options, const Loss& f, const Smooth& smooth = {},
                        const DrawRule& draw = one_way_pair) {
    for (const Reduction r : {Reduction::none, Reduction::sum, Reduction::mean}) {
      const std::string of = kReductions[static_cast<int>(r)];
      table.add(
          name + "(" + between + ", " + given(of, options) + ")", torch + "(" + before + ", reduction='" + of + "')",
          draw, [f, r](const A& a) { return f(a, r); }, smooth);
    }
  };
  const std::string two = "{t0}, {t1}";
  loss("mse_loss", two, "F.mse_loss", "*torch.broadcast_tensors({t0}, {t1})", kAlone,
       [](const A& a, Reduction r) { return mse_loss(a.t[0], a.t[1], r); });
  loss(
      "l1_loss", two, "F.l1_loss", "*torch.broadcast_tensors({t0}, {t1})", kAlone,
      [](const A& a, Reduction r) { return l1_loss(a.t[0], a.t[1], r); }, kFirstTwoDiffer);
  const Smooth not_at_seams = [](const A& a) { return away_from(abs(a.t[0] - a.t[1]), {0, 0.7}); };
  loss(
      "huber_loss", two, "F.huber_loss", "*torch.broadcast_tensors({t0}, {t1}), delta=0.7", ", .delta = 0.7",
      [](const A& a, Reduction r) { return huber_loss(a.t[0], a.t[1], {.reduction = r, .delta = 0.7}); }, not_at_seams);
  loss(
      "smooth_l1_loss", two, "F.smooth_l1_loss", "*torch.broadcast_tensors({t0}, {t1}), beta=0.7", ", .beta = 0.7",
      [](const A& a, Reduction r) { return smooth_l1_loss(a.t[0], a.t[1], {.reduction = r, .beta = 0.7}); },
      not_at_seams);
  loss("kl_div", "{t0}, square({t1}) + 0.5", "F.kl_div", "*torch.broadcast_tensors({t0}, {t1}.square() + 0.5)", "",
       [](const A& a, Reduction r) { return kl_div(a.t[0], square(a.t[1]) + 0.5, {.reduction = r}); });
  loss(
      "binary_cross_entropy", "sigmoid({t0}), sigmoid({t1})", "F.binary_cross_entropy",
      "{t0}.sigmoid(), {t1}.sigmoid()", "",
      [](const A& a, Reduction r) { return binary_cross_entropy(sigmoid(a.t[0]), sigmoid(a.t[1]), {.reduction = r}); },
      {}, twins);
  loss(
      "binary_cross_entropy_with_logits", two, "F.binary_cross_entropy_with_logits", two, "",
      [](const A& a, Reduction r) { return binary_cross_entropy_with_logits(a.t[0], a.t[1], {.reduction = r}); }, {},
      twins);
  loss(
      "gaussian_nll_loss", "{t0}, {t1}, square({t1}) + 0.5", "F.gaussian_nll_loss", "{t0}, {t1}, {t1}.square() + 0.5",
      "",
      [](const A& a, Reduction r) { return gaussian_nll_loss(a.t[0], a.t[1], square(a.t[1]) + 0.5, {.reduction = r}); },
      {}, [](const D& d, Call& c) { return twins(d, c) && d.last(c).dim() > 0; });
  const DrawRule classes = [](const D& d, Call& c) {
    if (!d.operand(c, [](const Tensor& x) { return x.dim() == 2 && x.numel() > 0; })) return false;
    c.c = {d.index({d.last(c).size(0)}, d.last(c).size(1))};
    return true;
  };
  const DrawRule smoothed = and_number(classes, 0, 0.5);
  table.add("cross_entropy({t0}, {c0}, {.label_smoothing = {d0}})", "F.cross_entropy({t0}, {c0}, label_smoothing={d0})",
            smoothed, [](const A& a) { return cross_entropy(a.t[0], a.c(0), {.label_smoothing = a.d(0)}); });
  table.add("nll_loss({t0}, {c0}, {.reduction = Reduction::none})", "F.nll_loss({t0}, {c0}, reduction='none')", classes,
            [](const A& a) { return nll_loss(a.t[0], a.c(0), {.reduction = Reduction::none}); });
}

}  // namespace tapegrad::tests
