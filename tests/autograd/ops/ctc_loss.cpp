// ctc_loss against the sum over all ways, and special cases. Values and gradients against PyTorch's are golden.
// ctest: families threads
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Log-probabilities.
Tensor ctc_steps(const Shape& shape, uint64_t seed, DType dtype = kFloat64) {
  Generator generator(seed);
  return log_softmax(randn(shape, dtype, &generator));
}

// What is read from the classes of all steps.
std::vector<int64_t> read_labels(const std::vector<int64_t>& way) {
  std::vector<int64_t> labels;
  for (std::size_t t = 0; t < way.size(); ++t) {
    if (way[t] != 0 && (t == 0 || way[t] != way[t - 1])) labels.push_back(way[t]);
  }
  return labels;
}

// Minus the logarithm of the sum over all ways; log_probs [T, C].
double ctc_by_enumeration(const Tensor& log_probs, const std::vector<int64_t>& labels) {
  const int64_t steps = log_probs.size(0), classes = log_probs.size(1);
  const std::vector<double> p = log_probs.to_vector<double>();
  double total = 0;
  const auto ways = static_cast<int64_t>(std::pow(classes, steps) + 0.5);
  for (int64_t i = 0; i < ways; ++i) {
    std::vector<int64_t> way;
    double sum = 0;
    for (int64_t t = 0, rest = i; t < steps; ++t, rest /= classes) {
      way.push_back(rest % classes);
      sum += p[static_cast<std::size_t>(t * classes + way.back())];
    }
    if (read_labels(way) == labels) total += std::exp(sum);
  }
  return -std::log(total);
}

TEST(CtcLoss, IsTheSumOverAllWays) {
  const Tensor p = ctc_steps({6, 3}, 1);
  for (const std::vector<int64_t>& labels :
       std::vector<std::vector<int64_t>>{{1}, {1, 2}, {1, 1}, {2, 2, 1}, {1, 2, 1, 2}, {}}) {
    const auto count = static_cast<int64_t>(labels.size());
    const Tensor targets = count > 0 ? tensor(labels, {count}) : zeros({0}, kInt64);
    const double loss =
        ctc_loss(p, targets, scalar(6, kInt64), scalar(count, kInt64), {.reduction = Reduction::sum}).item();
    EXPECT_NEAR(loss, ctc_by_enumeration(p, labels), 1e-12) << count;
  }
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
  for (const bool zero : {false, true}) {
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
}

TEST(CtcLoss, OfImpossibleClassesHasAFiniteGradient) {
  Tensor p = ctc_steps({4, 1, 4}, 3);
  p = masked_fill(p,
                  tensor({{{false, false, false, true}},
                          {{true, false, false, false}},
                          {{false, false, true, false}},
                          {{false, false, false, false}}}),
                  -kInf);
  for (const bool again : {false, true}) {
    const Tensor g = slope(
        [&](const Tensor& x) {
          return ctc_loss(x, tensor({{1, 2}}), tensor({4}), tensor({2}));
        },
        p, again);
    EXPECT_TRUE(all(isfinite(g)));
    EXPECT_EQ(amax(abs(masked_select(g, isinf(p)))).item(), 0);
  }
}

TEST(CtcLoss, RecordsTheGradientThatItsKernelsCompute) {
  const Tensor p = ctc_steps({9, 3, 5}, 4), targets = tensor({{1, 1, 4}, {2, 0, 0}, {0, 0, 0}}),
               steps = tensor({9, 5, 7}), counts = tensor({3, 1, 0});
  for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    const auto loss = [&](const Tensor& x) { return ctc_loss(x, targets, steps, counts, {.reduction = reduction}); };
    EXPECT_LE(largest_difference(slope(loss, p), slope(loss, p, true)), 1e-13);
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

TEST(CtcLoss, HasTheSameBitsForAnyNumberOfThreads) {
  const Tensor p = ctc_steps({200, 11, 40}, 6, kFloat32), targets = randint(1, 40, {11, 60});
  const Tensor steps = full({11}, 200, kInt64), counts = full({11}, 55, kInt64);
  const auto loss = [&](const Tensor& x) { return ctc_loss(x, targets, steps, counts); };
  expect_same_with_any_threads([&] { return std::vector<Tensor>{loss(p), slope(loss, p)}; });
}

TEST(CtcLoss, TakesLabelsAndLengthsOfEveryInteger) {
  const Tensor p = ctc_steps({5, 2, 4}, 6), targets = tensor({{1, 2}, {3, 0}}), steps = tensor({5, 4}),
               counts = tensor({2, 1});
  const double loss = ctc_loss(p, targets, steps, counts).item();
  for (const DType dtype : {kInt32, kUInt8}) {
    EXPECT_EQ(ctc_loss(p, targets.to(dtype), steps.to(dtype), counts.to(dtype)).item(), loss) << name(dtype);
  }
}

}  // namespace
}  // namespace tapegrad::tests
