// softmax, norms and losses at limits, in long rows and in memory; fused and recorded gradients.
// ctest: threads families
#include <tapegrad/tests/support/testing.h>

namespace tg = tapegrad;
using tg::tests::error_of;
using tg::tests::expect_near;

namespace {

using tg::tests::kInf;
using tg::tests::kNan;

tg::Tensor wave(const tg::Shape& shape, double step, tg::DType dtype = tg::kFloat32) {
  return (tg::sin(tg::arange(0, static_cast<double>(shape.numel()), 1, tg::kFloat64) * step) * 2)
      .to(dtype)
      .reshape(shape);
}

// Gradient of sum(f(x) * wave); with `again` by way of the recorded backward.
template <class F>
tg::Tensor gradient(F f, const tg::Tensor& x, bool again = false) {
  return tg::tests::slope(
      [&](const tg::Tensor& leaf) {
        const tg::Tensor y = f(leaf);
        return y * (wave(y.shape(), 0.7, y.dtype()) + 1);
      },
      x, again);
}

// The fused and the recorded backward give the same.
template <class F>
void expect_one_gradient(F f, const tg::Tensor& x) {
  expect_near(gradient(f, x), gradient(f, x, true));
}

TEST(Softmax, ARowOfMinusInfinityGivesZeros) {
  const tg::Tensor x = tg::tensor({{-kInf, -kInf}, {-kInf, 0.}, {kNan, -kInf}, {kInf, 0.}});
  expect_near(tg::softmax(x), {0, 0, 0, 1, kNan, kNan, kNan, kNan});
  expect_near(tg::log_softmax(x), {-kInf, -kInf, -kInf, 0, kNan, kNan, kNan, kNan});
  for (bool again : {false, true}) {
    expect_near(gradient([](const tg::Tensor& v) { return tg::softmax(v); }, x.slice(0, 0, 2), again), {0, 0, 0, 0});
    const tg::Tensor leaf = x.slice(0, 0, 1).as_leaf();
    tg::Tape tape;
    const tg::Tensor loss = tg::log_softmax(leaf);
    expect_near(tape.backward(loss, {.create_graph = again, .grad_output = tg::ones({1, 2}), .keep = {}})[leaf],
                {0, 0});
  }
}

TEST(Softmax, OverAnAxisWithoutElements) {
  for (bool again : {false, true}) {
    using AlongAxis = tg::Tensor(const tg::Tensor&, int64_t);
    for (AlongAxis* const f : std::initializer_list<AlongAxis*>{tg::softmax, tg::log_softmax}) {
      const auto along = [&](const tg::Tensor& v) { return f(v, 1); };
      EXPECT_EQ(gradient(along, tg::zeros({3, 0}), again).shape(), (tg::Shape{3, 0}));
      EXPECT_EQ(gradient(along, tg::zeros({3, 0, 2}), again).shape(), (tg::Shape{3, 0, 2}));
    }
  }
}

TEST(Softmax, FusedAndRecordedGradientsAgree) {
  for (const tg::Shape& shape : {tg::Shape{4, 3}, tg::Shape{5, 37}, tg::Shape{2, 300}}) {
    expect_one_gradient([](const tg::Tensor& v) { return tg::softmax(v); }, wave(shape, 0.9));
    expect_one_gradient([](const tg::Tensor& v) { return tg::log_softmax(v, 0); }, wave(shape, 0.9));
  }
}

TEST(LayerNorm, FusedAndRecordedGradientsAgree) {
  for (const tg::Shape& shape : {tg::Shape{7, 5}, tg::Shape{3, 4, 37}, tg::Shape{200, 64}}) {
    const tg::Tensor x = wave(shape, 0.9);
    const tg::Tensor weight = wave({shape.back()}, 0.4) + 0.5;
    const tg::Tensor bias = wave({shape.back()}, 0.3);
    expect_one_gradient([&](const tg::Tensor& v) { return tg::layer_norm(v, weight, bias); }, x);
    expect_one_gradient([&](const tg::Tensor& v) { return tg::layer_norm(x, v, bias); }, weight);
    expect_one_gradient([&](const tg::Tensor& v) { return tg::layer_norm(x, weight, v); }, bias);
    expect_one_gradient([&](const tg::Tensor& v) { return tg::layer_norm_std(v, weight, bias); }, x);
    expect_one_gradient([&](const tg::Tensor& v) { return tg::layer_norm_std(x, v, bias); }, weight);
    expect_one_gradient([&](const tg::Tensor& v) { return tg::rms_norm(v, weight); }, x);
    expect_one_gradient([&](const tg::Tensor& v) { return tg::rms_norm(x, v); }, weight);
  }
}

TEST(LayerNorm, ConstantRowsGiveNoNan) {
  const auto norm = [](const tg::Tensor& v) { return tg::layer_norm_std(v, tg::ones({4}), tg::zeros({4})); };
  for (bool again : {false, true}) {
    EXPECT_TRUE(tg::all_finite(gradient(norm, tg::ones({2, 4}), again)));
  }
}

// Every norm of rows of n equal elements is 0, and the gradients are those of PyTorch: the mean has no rounding error.
template <class F>
void expect_zeros(F norm, const tg::Tensor& x, const std::string& name) {
  SCOPED_TRACE(testing::Message() << name << " of " << tg::str(x.shape()) << ", " << x.flatten()[0].item());
  EXPECT_EQ(tg::amax(tg::abs(norm(x))).item(), 0);
  const tg::Tensor once = gradient(norm, x), again = gradient(norm, x, true);
  expect_near(once / tg::amax(tg::abs(once)), again / tg::amax(tg::abs(once)));
}

TEST(Norms, OfEqualElementsAreZero) {
  for (const tg::DType dtype : {tg::kFloat32, tg::kFloat64}) {
    for (const int64_t n : {7, 64, 300, 768, 4100}) {
      for (const double c : {1.1, -100.7, 12345.678, 1e-3}) {
        const tg::Tensor row = tg::full({2, n}, c, dtype), channel = row.reshape({1, 2, n}), column = row.t();
        expect_zeros([](const tg::Tensor& x) { return tg::layer_norm(x, {}, {}); }, row, "layer_norm");
        expect_zeros([&](const tg::Tensor& x) { return tg::layer_norm_std(x, {}, {}); }, row, "layer_norm_std");
        expect_zeros([](const tg::Tensor& x) { return tg::group_norm(x, 1); }, channel, "group_norm");
        expect_zeros([](const tg::Tensor& x) { return tg::group_norm(x, 1); }, row, "group_norm [N, C]");
        expect_zeros([](const tg::Tensor& x) { return tg::instance_norm(x); }, channel, "instance_norm");
        expect_zeros([](const tg::Tensor& x) { return tg::batch_norm_training(x).y; }, channel, "batch_norm");
        expect_zeros([](const tg::Tensor& x) { return tg::batch_norm_training(x).y; }, column, "batch_norm [N, C]");
        const tg::BatchNormed of = tg::batch_norm_training(tg::full({9, 3, n}, c, dtype));
        EXPECT_EQ(tg::amax(of.var).item(), 0);
        EXPECT_TRUE(tg::all(of.mean == tg::full({3}, c, dtype)));
      }
    }
  }
}

// Far from 0: as in float64, of the same elements.
TEST(Norms, OfRowsFarFromZeroAreAccurate) {
  const tg::Tensor x = wave({4, 6, 500}, 0.9) + 3000, exact = x.to(tg::kFloat64), rows = x.flatten(1);
  const auto apart = [](const tg::Tensor& a, const tg::Tensor& b) { return tg::amax(tg::abs(a - b)).item(); };
  EXPECT_LE(apart(tg::layer_norm(rows, {}, {}), tg::layer_norm(exact.flatten(1), {}, {})), 2e-4);
  EXPECT_LE(apart(tg::group_norm(x, 2), tg::group_norm(exact, 2)), 2e-4);
  EXPECT_LE(apart(tg::batch_norm_training(x).y, tg::batch_norm_training(exact).y), 2e-4);
  EXPECT_LE(apart(tg::batch_norm_training(rows.t()).y, tg::batch_norm_training(exact.flatten(1).t()).y), 2e-4);
  EXPECT_LE(apart(tg::batch_norm_training(x).var, tg::batch_norm_training(exact).var), 1e-6);
}

// Logits, targets and options by their definition: made of log_softmax.
tg::Tensor by_definition(const tg::Tensor& logits, const tg::Tensor& target, double smoothing) {
  const tg::Tensor p = tg::log_softmax(logits);
  const tg::Tensor picked = tg::gather(p, -1, target.unsqueeze(-1)).squeeze(-1);
  return -(picked * (1 - smoothing) + tg::mean(p, -1) * smoothing);
}

TEST(CrossEntropy, EqualsItsDefinition) {
  for (int64_t classes : {3, 13, 2048, 2049, 20'011}) {  // within one chunk of a row, and over many
    const tg::Tensor logits = wave({3, classes}, 0.013) * 4;
    const tg::Tensor target = tg::tensor(std::vector<int64_t>{0, classes - 1, classes / 2}, {3});
    for (double smoothing : {0., 0.1}) {
      for (tg::Reduction reduction : {tg::Reduction::none, tg::Reduction::sum, tg::Reduction::mean}) {
        const auto fused = [&](const tg::Tensor& v) {
          return tg::cross_entropy(v, target,
                                   {.reduction = reduction, .ignore_index = -100, .label_smoothing = smoothing});
        };
        const auto plain = [&](const tg::Tensor& v) {
          const tg::Tensor y = by_definition(v, target, smoothing);
          return reduction == tg::Reduction::none ? y : reduction == tg::Reduction::sum ? tg::sum(y) : tg::mean(y);
        };
        expect_near(fused(logits), plain(logits));
        expect_near(gradient(fused, logits), gradient(plain, logits));
        expect_one_gradient(fused, logits);
      }
    }
  }
}

TEST(CrossEntropy, ALargerLogitInALaterChunk) {
  std::vector<float> row(6000, -500.f);
  row[1] = -kInf;
  row[3000] = 300;
  row[5999] = 301;
  const tg::Tensor logits = tg::tensor(row, {1, 6000});
  const double p = 1 / (1 + std::exp(1.));
  expect_near(tg::cross_entropy(logits, tg::tensor({3000})), {-std::log(p)});
  const tg::Tensor leaf = logits.as_leaf();
  tg::Tape tape;
  const tg::Tensor dx = tape.backward(tg::cross_entropy(leaf, tg::tensor({3000})))[leaf];
  expect_near(dx.slice(1, 3000, 6000, 2999), {p - 1, 1 - p});
  expect_near(dx.slice(1, 0, 3), {0, 0, 0});
}

// A number that is added to all logits changes nothing; here all sums of logits and that number are exact.
TEST(CrossEntropy, LargeLogitsKeepTheDigitsOfASmallLoss) {
  const tg::Tensor pair = tg::tensor({1014.90722, 1002.39093}).reshape({1, 2});
  EXPECT_NEAR(tg::cross_entropy(pair, tg::tensor({0})).item(), 3.695e-6, 1e-9);  // as PyTorch; exactly 3.666e-6
  for (const int64_t classes : {3, 5000}) {
    const tg::Tensor weight = tg::arange(classes).to(tg::kFloat32) / 512 + 1, target = tg::tensor({classes - 1});
    tg::Tensor logits = tg::floor(wave({1, classes}, 0.3) * 8) / 8;
    logits = tg::slice_update(logits, {0, classes - 1}, 12);  // nearly all of the probability
    for (const double smoothing : {0., 1e-6}) {
      for (const tg::Tensor& w : {tg::Tensor(), weight}) {
        const tg::CrossEntropyOptions options{
            .reduction = tg::Reduction::sum, .label_smoothing = smoothing, .weight = w};
        const double small = tg::cross_entropy(logits, target, options).item();
        EXPECT_NEAR(tg::cross_entropy(logits + 4096, target, options).item(), small, 1e-6 * small) << classes;
      }
    }
  }
}

// Logarithms of several rows are computed at once.
TEST(CrossEntropy, ARowHasTheBitsThatItHasAlone) {
  for (const tg::DType dtype : {tg::kFloat32, tg::kFloat64}) {
    for (const int64_t rows : {1, 2, 7, 8, 9, 16, 17, 35}) {
      const tg::Tensor x = (tg::sin(tg::arange(rows * 13).to(dtype)) * 5).reshape({rows, 13});
      const tg::Tensor target = tg::remainder(tg::arange(rows), 13), weight = tg::cos(tg::arange(13).to(dtype)) + 2;
      for (const double smoothing : {0., 0.1}) {
        const tg::CrossEntropyOptions options{
            .reduction = tg::Reduction::none, .ignore_index = 5, .label_smoothing = smoothing, .weight = weight};
        const tg::CrossEntropyOptions plain{.reduction = tg::Reduction::none, .label_smoothing = smoothing};
        const tg::Tensor weighted = tg::cross_entropy(x, target, options), losses = tg::cross_entropy(x, target, plain);
        for (int64_t i = 0; i < rows; ++i) {
          const tg::Tensor row = x.slice(0, i, i + 1), of_row = target.slice(0, i, i + 1);
          EXPECT_EQ(weighted[i].item(), tg::cross_entropy(row, of_row, options).item()) << i << " of " << rows;
          EXPECT_EQ(losses[i].item(), tg::cross_entropy(row, of_row, plain).item()) << i << " of " << rows;
        }
      }
      const tg::Tensor y = tg::log_softmax(x);
      for (int64_t i = 0; i < rows; ++i) {
        EXPECT_TRUE(tg::equal(y.slice(0, i, i + 1), tg::log_softmax(x.slice(0, i, i + 1)))) << i << " of " << rows;
      }
    }
  }
}

TEST(CrossEntropy, NothingButIgnoredTargetsGivesNan) {
  const tg::Tensor logits = tg::tensor({{1., 2.}, {3., 5.}}), ignored = tg::tensor({-100, -100});
  expect_near(tg::cross_entropy(logits, ignored), {kNan});
  expect_near(tg::nll_loss(logits, ignored), {kNan});
  expect_near(tg::mse_loss(tg::zeros({0}), tg::zeros({0})), {kNan});
}

TEST(CrossEntropy, RowsWithoutAnyProbability) {
  const tg::Tensor logits = tg::tensor({{-kInf, -kInf}, {0., -kInf}});
  expect_near(tg::cross_entropy(logits, tg::tensor({0, 0}), {.reduction = tg::Reduction::none}), {kInf, 0});
  expect_near(gradient(
                  [&](const tg::Tensor& v) {
                    return tg::cross_entropy(v, tg::tensor({0, 0}));
                  },
                  logits),
              {0, 0, 0, 0});
}

TEST(CrossEntropy, FusedAndRecordedGradientsAgreeInIgnoredRows) {
  const tg::Tensor logits = tg::tensor({{-kInf, -kInf, -kInf}, {4., 5., 6.}, {kInf, 0., 0.}, {0., kNan, 0.}});
  for (tg::Reduction reduction : {tg::Reduction::none, tg::Reduction::sum, tg::Reduction::mean}) {
    for (double smoothing : {0., 0.1}) {
      const auto loss = [&](const tg::Tensor& target) {
        return [=](const tg::Tensor& v) {
          return tg::cross_entropy(v, target, {.reduction = reduction, .label_smoothing = smoothing});
        };
      };
      // Finite weights of the losses: with nothing to divide by, a mean is NaN, but its gradient is zero.
      for (const tg::Tensor& target : {tg::tensor({-100, -100, -100, -100}), tg::tensor({-100, 1, -100, -100}),
                                       tg::tensor({0, 1, 2, 0}), tg::tensor({2, -100, -100, -100})}) {
        expect_one_gradient(loss(target), logits);
      }
      for (bool again : {false, true}) {
        const tg::Tensor ignored = gradient(loss(tg::tensor({-100, -100, -100, -100})), logits, again);
        expect_near(ignored, tg::zeros({4, 3}));
        expect_near(gradient(loss(tg::tensor({0, 1, 2, 0})), logits, again)[0], {0, 0, 0});
        EXPECT_EQ(gradient(loss(tg::tensor({-100})), tg::zeros({1, 0}), again).shape(), (tg::Shape{1, 0}));
      }
    }
  }
}

// The gradient takes the place of the logits if nobody holds them.
TEST(CrossEntropy, WritesOverLogitsOnlyIfNobodyElseHoldsThem) {
  const tg::Tensor x = wave({32, 9000}, 0.3).as_leaf(), target = tg::arange(32);
  const auto loss_of = [&](const tg::Tensor& logits) { return tg::cross_entropy(logits, target); };
  const auto expected = [&] {  // of the recorded gradient, which writes over nothing
    tg::Tape tape;
    return tape.backward(loss_of(x * 2), {.create_graph = true, .grad_output = {}, .keep = {}})[x].detach();
  }();
  int64_t held = 0, not_held = 0;  // the most bytes in use
  {
    tg::Tape tape;
    const tg::Tensor logits = x * 2;
    tg::pool::reset_peak();
    expect_near(tape.backward(loss_of(logits))[x], expected);
    held = tg::pool::peak();
    expect_near(logits, x.detach() * 2);
  }
  {
    tg::Tape tape;
    const tg::Tensor loss = loss_of(x * 2);
    tg::pool::reset_peak();
    expect_near(tape.backward(loss)[x], expected);
    not_held = tg::pool::peak();
  }
  {  // another node needs them, which runs later
    tg::Tape tape;
    const tg::Tensor loss = [&] {
      const tg::Tensor logits = x * 2, squares = tg::sum(logits * logits);
      return loss_of(logits) + squares;
    }();
    expect_near(tape.backward(loss)[x], expected + x.detach() * 8);
  }
  // the node that made them keeps them
  expect_one_gradient([&](const tg::Tensor& v) { return loss_of(tg::tanh(v)); }, x.detach());
  {
    tg::Tape tape;
    const tg::Tensor loss = loss_of(x * 2);
    for (int i = 0; i < 2; ++i) {
      expect_near(tape.backward(loss, {.retain_graph = true, .grad_output = {}, .keep = {}})[x], expected);
    }
  }
  if (tg::pool::stats().reserved > 0) {  // not under the address sanitizer, which turns the pool off
    EXPECT_GE(held - not_held, 4 * x.numel());
  }
}

TEST(CrossEntropy, SameBitsForAnyNumberOfThreads) {
  const tg::Tensor logits = wave({40, 9001}, 0.1).as_leaf();
  const tg::Tensor target = tg::arange(40);
  tg::tests::expect_same_with_any_threads([&] {
    tg::Tape tape;
    return std::vector<tg::Tensor>{tape.backward(tg::cross_entropy(logits, target))[logits]};
  });
}

// Operands that broadcast give what their expanded forms give, gradients summed over what broadcasting repeated.
TEST(Losses, OfPairsThatBroadcast) {
  const auto loss_of = [](int i, tg::Reduction reduction) {
    return [=](const tg::Tensor& x, const tg::Tensor& t) {
      return i == 0   ? tg::kl_div(x, t, {.reduction = reduction})
             : i == 1 ? tg::mse_loss(x, t, reduction)
                      : tg::binary_cross_entropy_with_logits(x, t, {.reduction = reduction});
    };
  };
  const std::pair<tg::Shape, tg::Shape> shapes[] = {
      {{3, 2}, {2}}, {{2}, {3, 2}}, {{3, 1}, {3, 2}}, {{}, {3}}, {{0, 2}, {2}}};
  for (int i : {0, 1, 2}) {
    for (tg::Reduction reduction : {tg::Reduction::none, tg::Reduction::sum, tg::Reduction::mean}) {
      for (const auto& [a, b] : shapes) {
        const auto f = loss_of(i, reduction);
        const tg::Tensor x = wave(a, 0.9), t = tg::abs(wave(b, 0.4)) * 0.3 + 0.1;
        const tg::Shape whole = tg::broadcast("test", a, b);
        expect_near(f(x, t), f(x.expand(whole), t.expand(whole)));
        const auto of_x = [&](const tg::Tensor& v) { return f(v, t); };
        const auto of_t = [&](const tg::Tensor& v) { return f(x, v); };
        const auto whole_x = [&](const tg::Tensor& v) { return f(v.expand(whole), t.expand(whole)); };
        const auto whole_t = [&](const tg::Tensor& v) { return f(x.expand(whole), v.expand(whole)); };
        for (bool again : {false, true}) {
          expect_near(gradient(of_x, x, again), gradient(whole_x, x));
          expect_near(gradient(of_t, t, again), gradient(whole_t, t));
        }
      }
    }
  }
}

// As PyTorch, which has NaN where the loss is 0 times infinity.
TEST(Losses, BinaryCrossEntropyAtInfiniteLogits) {
  const tg::Tensor x = tg::tensor({kInf, kInf, kInf, -kInf, -kInf, -kInf, 0., kNan, kInf});
  const tg::Tensor t = tg::tensor({0., 1., .5, 0., 1., .5, 1., 1., kNan});
  const auto each = [&](const tg::Tensor& v) {
    return tg::binary_cross_entropy_with_logits(v, t, {.reduction = tg::Reduction::none});
  };
  expect_near(each(x), {kInf, kNan, kInf, kNan, kInf, kInf, std::log(2.), kNan, kNan});
  const tg::Tensor leaf = x.slice(0, 0, 6).as_leaf();
  tg::Tape tape;
  expect_near(tape.backward(tg::sum(tg::binary_cross_entropy_with_logits(leaf, t.slice(0, 0, 6),
                                                                         {.reduction = tg::Reduction::none})))[leaf],
              {1, 0, .5, 0, -1, -.5});
}

}  // namespace
