// Losses that are made of recorded operations, and options of the fused ones: derivatives to the second order, values
// at limits, and rejected broadcasts and gradients. ctc_loss: special cases; its values and gradients against
// PyTorch's are golden.
// ctest: families threads
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

constexpr Reduction kReductions[] = {Reduction::none, Reduction::sum, Reduction::mean};

// Probabilities that rounding has made 0 or 1: the logarithms have no slope there.
TEST(Losses, OfSaturatedProbabilitiesHaveFiniteSecondDerivatives) {
  for (const DType type : {kFloat32, kFloat64}) {
    const Tensor x = tensor({-2000., 2000., -2000., 2000., 1., -800.}).to(type).as_leaf();
    const Tensor t = tensor({-2000., 2000., 2000., -2000., -2000., 0.5}).to(type).as_leaf();
    Tape tape;
    const Tensor loss = binary_cross_entropy(sigmoid(x), sigmoid(t), {.reduction = Reduction::sum});
    const Gradients first = tape.backward(loss, {.create_graph = true});
    const Tensor slopes = sum(square(first[x])) + sum(square(first[t])) + sum(first[x] * first[t]);
    const Gradients second = tape.backward(slopes);
    EXPECT_TRUE(all_finite(second[x])) << second[x];
    EXPECT_TRUE(all_finite(second[t])) << second[t];
  }
}

// 1 / count gives infinite weights for classes that the targets lack. 9000 classes are read in several chunks.
TEST(Losses, DoNotReadTheWeightsOfClassesThatAreNoTarget) {
  const KeepThreads keep;
  for (const int64_t classes : {3, 9000})
    for (const DType type : {kFloat32, kFloat64}) {
      const Tensor rows = without_ties({4, classes}).to(type), target = tensor({1, 2, -100, 1});
      const Tensor logits = cat({rows, full({1, classes}, -kInf, type)}), targets = cat({target, tensor({2})});
      const auto weights = [&](double unused) {
        const Tensor w = cat({full({1}, unused), tensor({0.5, 2.}), full({classes - 3}, unused)});
        return w.to(type);
      };
      for (const Reduction reduction : kReductions) {
        const auto same = [&](const char* name, const auto& loss) {
          for (const double unused : {kInf, -kInf, kNan})
            for (const int threads : {1, 2, 3}) {
              set_num_threads(threads);
              for (const bool again : {false, true}) {
                const auto with = [&](double number) {
                  return slope([&, w = weights(number)](const Tensor& x) { return loss(x, w); }, logits, again);
                };
                const Tensor got = with(unused);
                EXPECT_TRUE(all_finite(got)) << name << " " << unused;
                EXPECT_TRUE(equal(got, with(1))) << name << " " << unused;
              }
            }
        };
        const auto entropy = [&](const Tensor& x, const Tensor& w) {
          return cross_entropy(x, targets, {.reduction = reduction, .weight = w});
        };
        same("cross_entropy", entropy);
        same("cross_entropy in place", [&](auto& x, auto& w) { return entropy(x * 1.5, w); });  // nothing else holds it
        same("nll_loss", [&](auto& x, auto& w) {
          return nll_loss(x.slice(0, 0, 4), target, {.reduction = reduction, .weight = w});
        });
        same("multi_margin_loss", [&](auto& x, auto& w) {
          return multi_margin_loss(x.slice(0, 0, 2), tensor({1, 2}), {.reduction = reduction, .weight = w});
        });
      }
    }
}

TEST(Losses, OfProbabilitiesHaveAGradientOfTheWeights) {
  for (const Reduction reduction : kReductions)
    for (const double smoothing : {0., 0.2}) {
      const auto loss = [=](auto x) {
        return cross_entropy(x[0], x[1],
                             {.reduction = reduction, .label_smoothing = smoothing, .weight = x[2], .axis = 1});
      };
      EXPECT_TRUE(
          gradients_match(loss, {without_ties({2, 4, 3}), without_ties({2, 4, 3}, 0.9), abs(without_ties({4}, 1.3))}));
    }
  // By PyTorch.
  const Tensor x = tensor({{1., 2., 3.}, {3., 1., 0.}}, kFloat64), p = softmax(x);
  expect_near(slope([&](auto& w) { return cross_entropy(x, p, {.weight = w}); }, tensor({1., 2., 3.}, kFloat64)),
              {0.180037, 0.296134, 0.202161});
}

TEST(Errors, OfClassWeightsThatNeedAGradient) {
  const Tensor x = zeros({2, 3}), target = tensor({0, 2}), w = ones({3}).as_leaf();
  const std::string_view why = "expected a weight without a gradient: it is a constant (pass weight.detach())";
  EXPECT_EQ(error_of([&] { cross_entropy(x, target, {.weight = w}); }), "no error");  // nothing is recorded
  Tape tape;
  for (const Tensor& weight : {w, w * 2}) {
    EXPECT_EQ(error_of([&] { cross_entropy(x, target, {.weight = weight}); }), fmt::format("[cross_entropy] {}", why));
    EXPECT_EQ(error_of([&] { nll_loss(x, target, {.weight = weight}); }), fmt::format("[nll_loss] {}", why));
    EXPECT_ERROR(multi_margin_loss(x, target, {.weight = weight}));
    EXPECT_EQ(error_of([&] { cross_entropy(x, target, {.weight = weight.detach()}); }), "no error");
  }
}

TEST(Errors, OfTheMeanOverABatch) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(kl_div(x, x, {.reduction = Reduction::sum, .batchmean = true}));
}

// The mean over all pairs of an output [N, 1] and targets [N] would look like a loss.
TEST(Errors, OfElementLossesThatWouldPairAllElements) {
  const std::pair<const char*, std::function<Tensor(const Tensor&, const Tensor&)>> losses[] = {
      {"mse_loss", [](auto& x, auto& t) { return mse_loss(x, t); }},
      {"l1_loss", [](auto& x, auto& t) { return l1_loss(x, t); }},
      {"huber_loss", [](auto& x, auto& t) { return huber_loss(x, t); }},
      {"smooth_l1_loss", [](auto& x, auto& t) { return smooth_l1_loss(x, t); }},
      {"kl_div", [](auto& x, auto& t) { return kl_div(x, t); }},
      {"binary_cross_entropy", [](auto& x, auto& t) { return binary_cross_entropy(x, t); }},
      {"binary_cross_entropy", [](auto& x, auto& t) { return binary_cross_entropy(x, x, {.weight = t}); }},
      {"binary_cross_entropy_with_logits", [](auto& x, auto& t) { return binary_cross_entropy_with_logits(x, t); }},
      {"binary_cross_entropy_with_logits",
       [](auto& x, auto& t) { return binary_cross_entropy_with_logits(x, x, {.weight = t}); }},
      {"binary_cross_entropy_with_logits",
       [](auto& x, auto& t) { return binary_cross_entropy_with_logits(x, x, {.pos_weight = t}); }},
      {"gaussian_nll_loss", [](auto& x, auto& t) { return gaussian_nll_loss(x, t, t.unsqueeze(0)); }},
      {"gaussian_nll_loss", [](auto& x, auto& t) { return gaussian_nll_loss(x, x, t.unsqueeze(0)); }},
      {"poisson_nll_loss", [](auto& x, auto& t) { return poisson_nll_loss(x, t); }},
      {"soft_margin_loss", [](auto& x, auto& t) { return soft_margin_loss(x, t); }},
      {"hinge_embedding_loss", [](auto& x, auto& t) { return hinge_embedding_loss(x, t); }},
      {"margin_ranking_loss", [](auto& x, auto& t) { return margin_ranking_loss(x, t, x); }},
      {"margin_ranking_loss", [](auto& x, auto& t) { return margin_ranking_loss(x, x, t); }},
  };
  const Tensor column = full({4, 1}, 0.5), row = full({4}, 0.25), table = column.expand({4, 4});
  for (const auto& [name, loss] : losses) {
    const std::string text = error_of([&, &f = loss] { f(column, row); });
    const std::string start =
        fmt::format("[{}] expected operands that broadcast to the shape of one of them, got ", name);
    EXPECT_EQ(text.substr(0, start.size()), start);
    const std::string end =
        ", which would give [4, 4] (squeeze or unsqueeze an axis, or expand one operand if all pairs are meant)";
    EXPECT_TRUE(text.ends_with(end)) << text;
    for (const auto& [x, t] : {std::pair(table, row), std::pair(table, scalar(0.25)), std::pair(column, column)})
      EXPECT_EQ(error_of([&, &f = loss, &a = x, &b = t] { f(a, b); }), "no error") << name;
  }
}

// Log-probabilities.
Tensor ctc_steps(const Shape& shape, uint64_t seed, DType dtype = kFloat64) {
  return log_softmax(normal_of(shape, seed, dtype));
}

TEST(CtcLoss, WhereTheLabelsDoNotFit) {
  const Tensor p = ctc_steps({3, 2, 3}, 2), targets = tensor({{1, 1, 2}, {1, 2, 0}}), steps = tensor({3, 3}),
               counts = tensor({3, 2});
  const auto loss = [&](bool zero, const Tensor& x) {
    return ctc_loss(x, targets, steps, counts, {.reduction = Reduction::none, .zero_infinity = zero});
  };
  EXPECT_EQ(loss(false, p)[0].item(), kInf) << "two equal labels need a blank between them";
  EXPECT_EQ(loss(true, p)[0].item(), 0);
  for (const bool again : {false, true}) {
    const Tensor of_infinite = slope([&](const Tensor& x) { return loss(false, x); }, p, again);
    EXPECT_TRUE(all(isnan(of_infinite.select(1, 0))));
    EXPECT_FALSE(any(isnan(of_infinite.select(1, 1))));
    const Tensor of_zero = slope([&](const Tensor& x) { return loss(true, x); }, p, again);
    EXPECT_EQ(amax(abs(of_zero.select(1, 0))).item(), 0);
    expect_near(of_zero.select(1, 1), of_infinite.select(1, 1));
  }
}

TEST(CtcLoss, OfNanHasGradientsOfNanInItsSequenceAlone) {
  const Tensor p = ctc_steps({4, 2, 4}, 3).detach();
  Tensor bad = p.clone();
  bad(1, 0, 1) = std::nan("");  // of a class that is a label
  for (const bool zero : {false, true})
    for (const bool again : {false, true}) {
      const Tensor g = slope(
          [&](const Tensor& x) {
            return ctc_loss(x, tensor({{1, 2}, {3, 1}}), tensor({3, 4}), tensor({2, 2}),
                            {.reduction = Reduction::none, .zero_infinity = zero});
          },
          bad, again);
      EXPECT_TRUE(all(isnan(g.select(1, 0).slice(0, 0, 3)))) << zero << again;
      EXPECT_EQ(amax(abs(g(3, 0))).item(), 0) << "after its last step";
      EXPECT_TRUE(all(isfinite(g.select(1, 1))));
    }
}

TEST(CtcLoss, OfImpossibleClassesHasAFiniteGradient) {
  const Tensor impossible = one_hot(tensor({3, 0, 2, 4}), 5).slice(1, 0, 4).unsqueeze(1).to(kBool);  // none in the last
  const Tensor p = masked_fill(ctc_steps({4, 1, 4}, 3), impossible, -kInf);
  for (const bool again : {false, true}) {
    const Tensor g = slope([&](auto& x) { return ctc_loss(x, tensor({{1, 2}}), tensor({4}), tensor({2})); }, p, again);
    EXPECT_TRUE(all(isfinite(g)));
    EXPECT_EQ(amax(abs(masked_select(g, isinf(p)))).item(), 0);
  }
}

TEST(CtcLoss, OfALongSequenceInFloat32) {
  const Tensor p = ctc_steps({2000, 2, 30}, 5), targets = randint(1, 30, {2, 400});
  const auto loss = [&](const Tensor& x) {
    return ctc_loss(x, targets, tensor({2000, 1500}), tensor({400, 301}), {.reduction = Reduction::sum});
  };
  const double exact = loss(p).item();
  EXPECT_NEAR(loss(p.to(kFloat32)).item() / exact, 1, 1e-6);
  EXPECT_LE(largest_difference(slope(loss, p.to(kFloat32)).to(kFloat64), slope(loss, p)), 5e-3);
}

TEST(CtcLoss, TakesLabelsAndLengthsOfEveryInteger) {
  const Tensor p = ctc_steps({5, 2, 4}, 6), targets = tensor({{1, 2}, {3, 0}}), steps = tensor({5, 4}),
               counts = tensor({2, 1});
  const double loss = ctc_loss(p, targets, steps, counts).item();
  for (const DType dtype : {kInt32, kUInt8})
    EXPECT_EQ(ctc_loss(p, targets.to(dtype), steps.to(dtype), counts.to(dtype)).item(), loss) << name(dtype);
}

}  // namespace
}  // namespace tapegrad::tests
