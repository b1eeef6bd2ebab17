// Losses that are made of recorded operations, and options of the fused ones: derivatives to the second order, values
// at limits, and errors word for word.
#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tests/support/near.h>

#include <functional>
#include <limits>

namespace tapegrad::tests {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Reduction kReductions[] = {Reduction::none, Reduction::sum, Reduction::mean};

// Numbers without ties.
Tensor some(const Shape& shape, double step = 0.37) {
  const Tensor x = Tensor::empty(shape, kFloat64);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.mutable_data<double>()[i] = std::sin(step * static_cast<double>(7 * i + 3)) * 2;
  }
  return x;
}

struct Pair {
  Tensor a, b;
};

using Function = std::function<Tensor(std::span<const Tensor>)>;
void expect_gradients(const Function& f, const std::vector<Tensor>& inputs) {
  const GradcheckReport report = gradcheck(f, inputs);
  EXPECT_TRUE(report.ok) << report.text;
}

TEST(Losses, OfProbabilitiesHaveSecondDerivatives) {
  for (const Reduction reduction : kReductions) {
    for (const double smoothing : {0., 0.2}) {
      const auto loss = [=](auto x) {
        return cross_entropy(x[0], x[1], {.reduction = reduction, .label_smoothing = smoothing});
      };
      expect_gradients(loss, {some({3, 4}), some({3, 4}, 0.9)});
      expect_gradients(loss, {some({4}), some({4}, 0.9)});
    }
    const Tensor weight = abs(some({4}, 1.3));
    expect_gradients(
        [=](auto x) { return cross_entropy(x[0], x[1], {.reduction = reduction, .weight = weight, .axis = 1}); },
        {some({2, 4, 3}), some({2, 4, 3}, 0.9)});
  }
}

TEST(Losses, OfClassesAlongAnyAxis) {
  const Tensor logits = some({2, 5, 3}), target = tensor({{0, 4, 2}, {1, -100, 3}}), weight = abs(some({5}, 1.3));
  for (const Reduction reduction : kReductions) {
    const CrossEntropyOptions first{.reduction = reduction, .label_smoothing = 0.1, .weight = weight, .axis = 1};
    CrossEntropyOptions last = first;
    last.axis = -1;
    expect_near(cross_entropy(logits, target, first), cross_entropy(logits.transpose(1, 2), target, last));
    const Tensor log_p = log_softmax(logits, 1);
    const Tensor by_axis = nll_loss(log_p, target, {.reduction = reduction, .weight = weight, .axis = -2});
    expect_near(by_axis, nll_loss(log_p.transpose(1, 2), target, {.reduction = reduction, .weight = weight}));
    expect_gradients([=](auto x) { return cross_entropy(x[0], target, first); }, {logits});
    expect_gradients([=](auto x) { return nll_loss(x[0], target, {.reduction = reduction, .axis = 1}); }, {logits});
    for (const int p : {1, 2}) {
      expect_gradients(
          [=](auto x) {
            return multi_margin_loss(x[0], tensor({1, 3, 0}), {.reduction = reduction, .p = p, .weight = weight});
          },
          {some({3, 5})});
    }
  }
  // One-hot probabilities are classes.
  const Tensor rows = some({3, 5}), ids = tensor({4, 0, 2});
  expect_near(cross_entropy(rows, one_hot(ids, 5).to(kFloat64), {.label_smoothing = 0.3}),
              cross_entropy(rows, ids, {.label_smoothing = 0.3}));
  expect_near(cross_entropy(rows.to(kFloat32), one_hot(ids, 5).to(kFloat64)), cross_entropy(rows, ids));
}

TEST(Losses, OfMarginsAndCountsHaveSecondDerivatives) {
  const Tensor signs = tensor({{1., -1., 1., 1.}, {-1., -1., 1., -1.}, {1., 1., -1., 1.}}, kFloat64);
  const Tensor counts = tensor({0, 1, 2, 5});
  for (const Reduction reduction : kReductions) {
    for (const Pair& pair : {Pair{some({3, 4}), some({3, 4}, 0.9)}, Pair{some({4, 3}).t(), some({4}, 0.9)}}) {
      expect_gradients([=](auto x) { return soft_margin_loss(x[0], x[1], reduction); }, {pair.a, pair.b});
      expect_gradients(
          [=](auto x) { return margin_ranking_loss(x[0], x[1], signs, {.reduction = reduction, .margin = 0.43}); },
          {pair.a, pair.b});
      expect_gradients([=](auto x) { return hinge_embedding_loss(x[0], signs, {.reduction = reduction}); }, {pair.a});
      for (const bool full : {false, true}) {
        expect_gradients([=](auto x) { return poisson_nll_loss(x[0], x[1], {.reduction = reduction, .full = full}); },
                         {pair.a, abs(pair.b) * 3 + 1.2});
        expect_gradients(
            [=](auto x) {
              return poisson_nll_loss(x[0], counts,
                                      {.reduction = reduction, .log_input = false, .full = full, .eps = 0.1});
            },
            {abs(pair.a) + 0.1});
      }
    }
    if (reduction == Reduction::mean) continue;
    EXPECT_EQ(sum(soft_margin_loss(zeros({0}), zeros({0}), reduction)).item(), 0);
    EXPECT_EQ(sum(hinge_embedding_loss(zeros({0}), zeros({0}), {.reduction = reduction})).item(), 0);
    EXPECT_EQ(sum(multi_margin_loss(zeros({0, 3}), zeros({0}, kInt64), {.reduction = reduction})).item(), 0);
  }
  expect_near(soft_margin_loss(tensor({1e4, -1e4, kInf}), tensor({-1, -1, 1}), Reduction::none), {1e4, 0, 0});
  expect_near(hinge_embedding_loss(tensor({1., 2., -.5}), tensor({1, -1, -1}), {.reduction = Reduction::none}),
              {1, 0, 1.5});
  expect_near(poisson_nll_loss(zeros({3}), tensor({0, 1, 2}), {.reduction = Reduction::none, .full = true}),
              {1, 1, 1 + 2 * std::log(2.) - 2 + std::log(4 * 3.14159265358979) / 2});
}

TEST(Losses, OfDivergencesDivideByTheBatch) {
  const Tensor x = log_softmax(some({3, 2, 4})), p = softmax(some({3, 2, 4}, 0.9));
  const Tensor total = kl_div(x, p, {.reduction = Reduction::sum});
  expect_near(kl_div(x, p, {.batchmean = true}), total / 3);
  expect_near(kl_div(x, log(p), {.log_target = true, .batchmean = true}), total / 3);
  for (const bool log_target : {false, true}) {
    expect_gradients([=](auto v) { return kl_div(v[0], v[1], {.log_target = log_target, .batchmean = true}); },
                     {x.detach(), p.detach()});
  }
}

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

struct WrongCall {
  const char* text;
  std::function<void()> call;
};

TEST(Errors, OfLossesThatAreComposed) {
  const Tensor x = zeros({2, 3}), y = zeros({4, 5}), ids = zeros({2, 3}, kInt64), classes = tensor({0, 2});
  const Tensor cube = zeros({2, 5, 3});
  const std::vector<WrongCall> calls = {
      {"[cross_entropy] expected a target with the axes of the input [2, 5, 3] except axis 1 (the classes), got [2, 5]",
       [=] {
         cross_entropy(cube, zeros({2, 5}, kInt64), {.axis = 1});
       }},
      {"[cross_entropy] expected one weight per class, float32 of shape [5], got float32 of shape [3]",
       [=] {
         cross_entropy(cube, zeros({2, 3}, kInt64), {.weight = ones({3}), .axis = 1});
       }},
      {"[cross_entropy] axis 3 is out of range for shape [2, 5, 3] (axes go from -3 to 2)",
       [=] { cross_entropy(cube, cube, {.axis = 3}); }},
      {"[cross_entropy] expected one weight per class, float32 of shape [3], got float32 of shape [2]",
       [=] { cross_entropy(x, x, {.weight = ones({2})}); }},
      {"[cross_entropy] expected no ignore_index for probabilities, got 1",
       [=] { cross_entropy(x, x, {.ignore_index = 1}); }},
      {"[cross_entropy] label smoothing must be between 0 and 1, got -1",
       [=] { cross_entropy(x, x, {.label_smoothing = -1}); }},
      {"[nll_loss] expected a target with the axes of the input [2, 5, 3] except axis 1 (the classes), got [2]",
       [=] { nll_loss(cube, classes, {.axis = 1}); }},
      {"[kl_div] expected batchmean with Reduction::mean, got another one",
       [=] { kl_div(x, x, {.reduction = Reduction::sum, .batchmean = true}); }},
      {"[multi_margin_loss] expected a p of 1 or 2, got 3", [=] { multi_margin_loss(x, classes, {.p = 3}); }},
      {"[multi_margin_loss] target 3 at [1] is out of range (classes go from 0 to 2)",
       [=] {
         multi_margin_loss(x, tensor({0, 3}));
       }},
      {"[multi_margin_loss] expected int64 class numbers as the target, got float32",
       [=] { multi_margin_loss(x, zeros({2})); }},
      {"[multi_margin_loss] expected one weight per class, float32 of shape [3], got float32 of shape [2]",
       [=] { multi_margin_loss(x, classes, {.weight = ones({2})}); }},
      {"[poisson_nll_loss] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or "
       "1)",
       [=] { poisson_nll_loss(x, y); }},
      {"[poisson_nll_loss] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [=] { poisson_nll_loss(ids, x); }},
      {"[soft_margin_loss] expected float32 or float64, got bool of shape [2, 3] (convert with to(kFloat32))",
       [=] {
         soft_margin_loss(x, zeros({2, 3}, kBool));
       }},
      {"[hinge_embedding_loss] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal "
       "or 1)",
       [=] { hinge_embedding_loss(x, y); }},
      {"[margin_ranking_loss] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [=] { margin_ranking_loss(x, ids, x); }},
      {"[margin_ranking_loss] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal "
       "or 1)",
       [=] { margin_ranking_loss(x, x, y); }},
  };
  for (const WrongCall& wrong : calls) EXPECT_EQ(error_of(wrong.call), wrong.text);
}

}  // namespace
}  // namespace tapegrad::tests
