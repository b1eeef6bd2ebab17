// softmax, norms and losses at limits, in long rows and in memory; fused and recorded gradients.
// ctest: threads families
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor wave(const Shape& shape, double step, DType dtype = kFloat32) {
  return (sin(arange(0, static_cast<double>(shape.numel()), 1, kFloat64) * step) * 2).to(dtype).reshape(shape);
}

// Gradient of sum(f(x) * wave); with `again` by way of the recorded backward.
Tensor wave_slope(auto f, const Tensor& x, bool again = false) {
  return slope(
      [&](const Tensor& leaf) {
        const Tensor y = f(leaf);
        return y * (wave(y.shape(), 0.7, y.dtype()) + 1);
      },
      x, again);
}

// The fused and the recorded backward give the same.
void expect_same_slopes(auto f, const Tensor& x) { expect_near(wave_slope(f, x), wave_slope(f, x, true)); }

// Results of as many rows as the largest cache holds, and of one more, whose stores go past the caches, next to those
// of a few rows.
TEST(RowKernels, ResultsLargerThanTheCachesHaveTheSameBits) {
  struct Form {
    const char* name;
    Tensor (*of)(const Tensor& x, const Tensor& weight);
  };
  const Form forms[] = {
      {"layer_norm", [](const Tensor& x, const Tensor& w) { return layer_norm(x, w, w); }},
      {"without weight", [](const Tensor& x, const Tensor&) { return layer_norm(x, {}, {}); }},
      {"layer_norm_std", [](const Tensor& x, const Tensor& w) { return layer_norm_std(x, w, w); }},
      {"rms_norm", [](const Tensor& x, const Tensor& w) { return rms_norm(x, w); }},
      {"softmax", [](const Tensor& x, const Tensor&) { return softmax(x); }},
      {"log_softmax", [](const Tensor& x, const Tensor&) { return log_softmax(x); }},
  };
  for (const int64_t n : {320, 1001, 5001}) {  // whole vectors; rows that begin anywhere; rows too long to be fetched
    const int64_t held = largest_cache_bytes() / (4 * n);
    // On a processor with a cache of more than 64 MB, this would take gigabytes.
    if (held * n > int64_t{1} << 24) GTEST_SKIP() << "the cache holds " << largest_cache_bytes() << " bytes";
    const Tensor weight = wave({n}, 0.4) + 1.5, all_rows = linspace(-4, 4, (held + 1) * n).reshape({held + 1, n});
    for (const Form& form : forms) {
      const auto value_and_slope = [&](const Tensor& x) {
        const Tensor leaf = x.as_leaf(), dy = x * x;
        Tape tape;
        const Tensor y = form.of(leaf, weight);
        return std::pair(y.detach(), tape.backward(y, {.create_graph = false, .grad_output = dy, .keep = {}})[leaf]);
      };
      for (const int64_t rows : {held, held + 1}) {
        const auto [y, dx] = value_and_slope(all_rows.slice(0, 0, rows));
        for (const int64_t first : {int64_t{0}, rows / 2, rows - 19}) {
          const auto [part, slope_of_part] = value_and_slope(all_rows.slice(0, first, first + 19));
          EXPECT_TRUE(all(y.slice(0, first, first + 19) == part)) << form.name << " " << n << " " << first;
          EXPECT_TRUE(all(dx.slice(0, first, first + 19) == slope_of_part)) << form.name << " " << n << " " << first;
        }
      }
    }
  }
}

// Every norm of rows of n equal elements is 0, and the gradients are those of PyTorch: the mean has no rounding error.
void expect_zeros(auto norm, const Tensor& x, const std::string& name) {
  SCOPED_TRACE(testing::Message() << name << " of " << str(x.shape()) << ", " << x.flatten()[0].item());
  EXPECT_EQ(amax(abs(norm(x))).item(), 0);
  const Tensor once = wave_slope(norm, x), again = wave_slope(norm, x, true);
  expect_near(once / amax(abs(once)), again / amax(abs(once)));
}

TEST(Norms, OfEqualElementsAreZero) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const int64_t n : {7, 64, 300, 768, 4100})
      for (const double c : {1.1, -100.7, 12345.678, 1e-3}) {
        const Tensor row = full({2, n}, c, dtype), channel = row.reshape({1, 2, n}), column = row.t();
        expect_zeros([](const Tensor& x) { return layer_norm(x, {}, {}); }, row, "layer_norm");
        expect_zeros([&](const Tensor& x) { return layer_norm_std(x, {}, {}); }, row, "layer_norm_std");
        expect_zeros([](const Tensor& x) { return group_norm(x, 1); }, channel, "group_norm");
        expect_zeros([](const Tensor& x) { return group_norm(x, 1); }, row, "group_norm [N, C]");
        expect_zeros([](const Tensor& x) { return instance_norm(x); }, channel, "instance_norm");
        expect_zeros([](const Tensor& x) { return batch_norm_training(x).y; }, channel, "batch_norm");
        expect_zeros([](const Tensor& x) { return batch_norm_training(x).y; }, column, "batch_norm [N, C]");
        const BatchNormed of = batch_norm_training(full({9, 3, n}, c, dtype));
        EXPECT_EQ(amax(of.var).item(), 0);
        EXPECT_TRUE(all(of.mean == full({3}, c, dtype)));
      }
  }
}

// Far from 0: as in float64, of the same elements.
TEST(Norms, OfRowsFarFromZeroAreAccurate) {
  const Tensor x = wave({4, 6, 500}, 0.9) + 3000, exact = x.to(kFloat64), rows = x.flatten(1);
  const auto apart = [](const Tensor& a, const Tensor& b) { return amax(abs(a - b)).item(); };
  EXPECT_LE(apart(layer_norm(rows, {}, {}), layer_norm(exact.flatten(1), {}, {})), 2e-4);
  EXPECT_LE(apart(group_norm(x, 2), group_norm(exact, 2)), 2e-4);
  EXPECT_LE(apart(batch_norm_training(x).y, batch_norm_training(exact).y), 2e-4);
  EXPECT_LE(apart(batch_norm_training(rows.t()).y, batch_norm_training(exact.flatten(1).t()).y), 2e-4);
  EXPECT_LE(apart(batch_norm_training(x).var, batch_norm_training(exact).var), 1e-6);
}

// Logits, targets and options by their definition: made of log_softmax.
Tensor entropy_by_definition(const Tensor& logits, const Tensor& target, double smoothing) {
  const Tensor p = log_softmax(logits), picked = gather(p, -1, target.unsqueeze(-1)).squeeze(-1);
  return -(picked * (1 - smoothing) + mean(p, -1) * smoothing);
}

TEST(CrossEntropy, EqualsItsDefinition) {
  for (int64_t classes : {3, 13, 2048, 2049, 20'011}) {  // within one chunk of a row, and over many
    const Tensor logits = wave({3, classes}, 0.013) * 4;
    const Tensor target = tensor(std::vector<int64_t>{0, classes - 1, classes / 2}, {3});
    for (double smoothing : {0., 0.1})
      for (Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
        const auto fused = [&](const Tensor& v) {
          return cross_entropy(v, target, {.reduction = reduction, .ignore_index = -100, .label_smoothing = smoothing});
        };
        const auto plain = [&](const Tensor& v) {
          const Tensor y = entropy_by_definition(v, target, smoothing);
          return reduction == Reduction::none ? y : reduction == Reduction::sum ? sum(y) : mean(y);
        };
        expect_near(fused(logits), plain(logits));
        expect_near(wave_slope(fused, logits), wave_slope(plain, logits));
        expect_same_slopes(fused, logits);
      }
  }
}

TEST(CrossEntropy, ALargerLogitInALaterChunk) {
  std::vector<float> row(6000, -500.f);
  row[1] = -kInf;
  row[3000] = 300;
  row[5999] = 301;
  const Tensor logits = tensor(row, {1, 6000});
  const double p = 1 / (1 + std::exp(1.));
  expect_near(cross_entropy(logits, tensor({3000})), {-std::log(p)});
  const Tensor dx = slope([](const Tensor& v) { return cross_entropy(v, tensor({3000})); }, logits);
  expect_near(dx.slice(1, 3000, 6000, 2999), {p - 1, 1 - p});
  expect_near(dx.slice(1, 0, 3), {0, 0, 0});
}

// A number that is added to all logits changes nothing; here all sums of logits and that number are exact.
TEST(CrossEntropy, LargeLogitsKeepTheDigitsOfASmallLoss) {
  const Tensor pair = tensor({1014.90722, 1002.39093}).reshape({1, 2});
  EXPECT_NEAR(cross_entropy(pair, tensor({0})).item(), 3.695e-6, 1e-9);  // as PyTorch; exactly 3.666e-6
  for (const int64_t classes : {3, 5000}) {
    const Tensor weight = arange(classes).to(kFloat32) / 512 + 1, target = tensor({classes - 1});
    Tensor logits = floor(wave({1, classes}, 0.3) * 8) / 8;
    logits = slice_update(logits, {0, classes - 1}, 12);  // nearly all of the probability
    for (const double smoothing : {0., 1e-6})
      for (const Tensor& w : {Tensor(), weight}) {
        const CrossEntropyOptions options{.reduction = Reduction::sum, .label_smoothing = smoothing, .weight = w};
        const double small = cross_entropy(logits, target, options).item();
        EXPECT_NEAR(cross_entropy(logits + 4096, target, options).item(), small, 1e-6 * small) << classes;
      }
  }
}

// Logarithms of several rows are computed at once.
TEST(CrossEntropy, ARowHasTheBitsThatItHasAlone) {
  for (const DType dtype : {kFloat32, kFloat64})
    for (const int64_t rows : {1, 2, 7, 8, 9, 16, 17, 35}) {
      const Tensor x = (sin(arange(rows * 13).to(dtype)) * 5).reshape({rows, 13});
      const Tensor target = remainder(arange(rows), 13), weight = cos(arange(13).to(dtype)) + 2;
      for (const double smoothing : {0., 0.1}) {
        const CrossEntropyOptions options{
            .reduction = Reduction::none, .ignore_index = 5, .label_smoothing = smoothing, .weight = weight};
        const CrossEntropyOptions plain{.reduction = Reduction::none, .label_smoothing = smoothing};
        const Tensor weighted = cross_entropy(x, target, options), losses = cross_entropy(x, target, plain);
        for (int64_t i = 0; i < rows; ++i) {
          const Tensor row = x.slice(0, i, i + 1), of_row = target.slice(0, i, i + 1);
          EXPECT_EQ(weighted[i].item(), cross_entropy(row, of_row, options).item()) << i << " of " << rows;
          EXPECT_EQ(losses[i].item(), cross_entropy(row, of_row, plain).item()) << i << " of " << rows;
        }
      }
      const Tensor y = log_softmax(x);
      for (int64_t i = 0; i < rows; ++i)
        EXPECT_TRUE(equal(y.slice(0, i, i + 1), log_softmax(x.slice(0, i, i + 1)))) << i << " of " << rows;
    }
}

TEST(CrossEntropy, FusedAndRecordedGradientsAgreeInIgnoredRows) {
  const Tensor logits = tensor({{-kInf, -kInf, -kInf}, {4., 5., 6.}, {kInf, 0., 0.}, {0., kNan, 0.}});
  for (Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    for (double smoothing : {0., 0.1}) {
      const auto loss = [&](const Tensor& target) {
        return
            [=](auto& v) { return cross_entropy(v, target, {.reduction = reduction, .label_smoothing = smoothing}); };
      };
      // Finite weights of the losses: with nothing to divide by, a mean is NaN, but its gradient is zero.
      for (const Tensor& target : {tensor({-100, -100, -100, -100}), tensor({-100, 1, -100, -100}),
                                   tensor({0, 1, 2, 0}), tensor({2, -100, -100, -100})})
        expect_same_slopes(loss(target), logits);
      for (bool again : {false, true}) {
        const Tensor ignored = wave_slope(loss(tensor({-100, -100, -100, -100})), logits, again);
        expect_near(ignored, zeros({4, 3}));
        expect_near(wave_slope(loss(tensor({0, 1, 2, 0})), logits, again)[0], {0, 0, 0});
        EXPECT_EQ(wave_slope(loss(tensor({-100})), zeros({1, 0}), again).shape(), (Shape{1, 0}));
      }
    }
  }
}

// The gradient takes the place of the logits if nobody holds them.
TEST(CrossEntropy, WritesOverLogitsOnlyIfNobodyElseHoldsThem) {
  const Tensor x = wave({32, 9000}, 0.3).as_leaf(), target = arange(32);
  const auto loss_of = [&](const Tensor& logits) { return cross_entropy(logits, target); };
  // Of the recorded gradient, which writes over nothing.
  const Tensor expected = slope([&](auto& v) { return loss_of(v * 2); }, x, true);
  int64_t held = 0, not_held = 0;  // the most bytes in use
  {
    Tape tape;
    const Tensor logits = x * 2;
    pool::reset_peak();
    expect_near(tape.backward(loss_of(logits))[x], expected);
    held = pool::peak();
    expect_near(logits, x.detach() * 2);
  }
  {
    Tape tape;
    const Tensor loss = loss_of(x * 2);
    pool::reset_peak();
    expect_near(tape.backward(loss)[x], expected);
    not_held = pool::peak();
  }
  {  // another node needs them, which runs later
    Tape tape;
    const Tensor loss = [&] {
      const Tensor logits = x * 2, squares = sum(logits * logits);
      return loss_of(logits) + squares;
    }();
    expect_near(tape.backward(loss)[x], expected + x.detach() * 8);
  }
  // the node that made them keeps them
  expect_same_slopes([&](const Tensor& v) { return loss_of(tanh(v)); }, x.detach());
  {
    Tape tape;
    const Tensor loss = loss_of(x * 2);
    for (int i = 0; i < 2; ++i)
      expect_near(tape.backward(loss, {.retain_graph = true, .grad_output = {}, .keep = {}})[x], expected);
  }
  if (pool::stats().reserved > 0) {  // not under the address sanitizer, which turns the pool off
    EXPECT_GE(held - not_held, 4 * x.numel());
  }
}

// Operands that broadcast give what their expanded forms give, gradients summed over what broadcasting repeated.
TEST(Losses, OfPairsThatBroadcast) {
  const auto loss_of = [](int i, Reduction reduction) {
    return [=](const Tensor& x, const Tensor& t) {
      return i == 0   ? kl_div(x, t, {.reduction = reduction})
             : i == 1 ? mse_loss(x, t, reduction)
                      : binary_cross_entropy_with_logits(x, t, {.reduction = reduction});
    };
  };
  const std::pair<Shape, Shape> shapes[] = {{{3, 2}, {2}}, {{2}, {3, 2}}, {{3, 1}, {3, 2}}, {{}, {3}}, {{0, 2}, {2}}};
  for (int i : {0, 1, 2}) {
    for (Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean})
      for (const auto& pair : shapes) {
        const Shape &a = pair.first, &b = pair.second;
        const auto f = loss_of(i, reduction);
        const Shape whole = broadcast("test", a, b);
        const auto run = [&](const auto& loss, bool again) {
          return value_and_gradients([&](auto& in) { return loss(in[0], in[1]); },
                                     {wave(a, 0.9), abs(wave(b, 0.4)) * 0.3 + 0.1},
                                     [](const Tensor& y) { return wave(y.shape(), 0.7, y.dtype()) + 1; }, again);
        };
        const auto expected = run([&](auto& x, auto& t) { return f(x.expand(whole), t.expand(whole)); }, false);
        for (bool again : {false, true}) {
          const auto found = run(f, again);
          for (std::size_t k = 0; k < 3; ++k) expect_near(found[k], expected[k]);
        }
      }
  }
}

}  // namespace
}  // namespace tapegrad::tests
