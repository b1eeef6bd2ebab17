// linear_cross_entropy against cross_entropy of linear: values, gradients, memory, threads, bfloat16, single examples.
// ctest: threads products
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

constexpr int64_t kManyClasses = 50257;  // of GPT-2; 256 rows of logits are a chunk

// Numbers of a fixed order between -size and size.
Tensor waves(const Shape& shape, double size, DType dtype = kFloat32) {
  const Tensor x = arange(0, static_cast<double>(shape.numel()), 1, kFloat64);
  return (sin(x * x * 0.37 + x) * size).reshape(shape).to(dtype);
}

Tensor some_classes(const Shape& shape, int64_t classes) {
  return remainder(arange(shape.numel()) * 7919 + 5, classes).reshape(shape);
}

// A loss of x [..., D] and the parameters of a head.
struct HeadCase {
  Tensor x, weight, bias, target;
  LinearCrossEntropyOptions options = {};

  Tensor fused(const Tensor& in, const Tensor& w, const Tensor& b) const {
    LinearCrossEntropyOptions all = options;
    all.bias = b;
    return linear_cross_entropy(in, w, target, all);
  }
  Tensor composed(const Tensor& in, const Tensor& w, const Tensor& b) const {
    return cross_entropy(linear(in, w, b), target,
                         {.reduction = options.reduction,
                          .ignore_index = options.ignore_index,
                          .label_smoothing = options.label_smoothing,
                          .weight = options.class_weight});
  }
};

HeadCase head_case(const Shape& rows, int64_t classes, int64_t features, DType dtype = kFloat32) {
  Shape shape = rows;
  shape.push_back(features);
  return {.x = waves(shape, 1, dtype),
          .weight = waves({classes, features}, 0.8, dtype),
          .bias = waves({classes}, 0.5, dtype),
          .target = some_classes(rows, classes)};
}

using Results = std::vector<Tensor>;  // the loss, and the gradients of x, weight and bias

// dy is 1, 2, 3, ...
Results results(const HeadCase& c, bool fused, const BackwardOptions& options = {}) {
  const Tensor x = c.x.as_leaf(), weight = c.weight.as_leaf(), bias = c.bias.defined() ? c.bias.as_leaf() : Tensor();
  Tape tape;
  const Tensor loss = fused ? c.fused(x, weight, bias) : c.composed(x, weight, bias);
  BackwardOptions with = options;
  with.grad_output = arange(1, static_cast<double>(loss.numel()) + 1, 1, loss.dtype()).reshape(loss.shape());
  const Gradients grads = tape.backward(loss, with);
  Results all{loss.detach(), grads[x].detach(), grads[weight].detach()};
  if (bias.defined()) all.push_back(grads[bias].detach());
  return all;
}

void expect_same_results(const Results& a, const Results& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << "result " << i;
}

// Within `room` of the largest value.
void expect_close_results(const Results& a, const Results& b, double room) {
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_LE(largest_difference(a[i], b[i]), room * amax(abs(b[i])).item()) << "result " << i;
}

TEST(LinearCrossEntropy, OfOneChunkHasTheBitsOfTheComposition) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const Shape& rows : {Shape{}, Shape{7}, Shape{3, 5}})
      for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
        HeadCase c = head_case(rows, 37, 6, dtype);
        c.options.reduction = reduction;
        expect_same_results(results(c, true), results(c, false));
        c.options.label_smoothing = 0.1;
        c.options.ignore_index = 5;  // the first target
        if (rows.rank() > 0) c.options.class_weight = abs(waves({37}, 2, dtype)) + 0.1;
        if (rows.rank() == 0) c.options.ignore_index = -100;
        c.bias = {};
        c.x = c.x.transpose(0, -1).contiguous().transpose(0, -1);
        c.weight = c.weight.t().contiguous().t();
        expect_same_results(results(c, true), results(c, false));
      }
  }
}

TEST(LinearCrossEntropy, OfChunksIsTheComposition) {
  HeadCase c = head_case({340}, kManyClasses, 4);  // 256 rows, and 84
  c.options.label_smoothing = 0.1;
  expect_close_results(results(c, true), results(c, false), 1e-6);
  expect_same_with_any_threads([&] { return results(c, true); });
  HeadCase fine = head_case({340}, kManyClasses, 2, kFloat64);
  fine.options.reduction = Reduction::none;
  expect_close_results(results(fine, true), results(fine, false), 1e-12);
}

// Chunks are blocks of the products' sums.
TEST(LinearCrossEntropy, OfChunksHasTheBitsOfTheCompositionWithoutBias) {
  HeadCase c = head_case({600}, kManyClasses, 20);
  c.bias = {};
  expect_same_results(results(c, true), results(c, false));
}

TEST(LinearCrossEntropy, TakesAnyGradientOfTheLoss) {
  const HeadCase c = head_case({21}, 37, 6);
  const Tensor x = c.x.as_leaf(), weight = c.weight.as_leaf(), bias = c.bias.as_leaf();
  for (const double dy : {1.0, 0.25, -2.0, 0.3, 0.0, 1e-30}) {
    std::vector<Gradients> grads;
    for (const bool fused : {true, false}) {
      Tape tape;
      const Tensor loss = fused ? c.fused(x, weight, bias) : c.composed(x, weight, bias);
      const BackwardOptions options{.grad_output = scalar(dy)};
      if (!fused) {
        grads.push_back(tape.backward(loss, options));
        continue;
      }
      BackwardOptions first = options;
      first.retain_graph = true;
      const Gradients kept = tape.backward(loss, first);
      grads.push_back(tape.backward(loss, options));
      for (const Tensor& leaf : {x, weight, bias}) EXPECT_TRUE(same_bits(kept[leaf], grads[0][leaf])) << dy;
    }
    for (const Tensor& leaf : {x, weight, bias}) EXPECT_TRUE(same_bits(grads[0][leaf], grads[1][leaf])) << dy;
  }
}

// The composition keeps its logits, and turns them into their gradient in place.
TEST(LinearCrossEntropy, NeedsAFifthOfTheMemoryOfTheLogits) {
  // The sanitizer must see each allocation, so the pool is off, and there is no peak to measure.
  if (pool::stats().reserved == 0) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
  const int64_t rows = 1500;
  const HeadCase c = head_case({rows}, kManyClasses, 2);
  const Tensor x = c.x.as_leaf(), weight = c.weight.as_leaf();
  pool::reset_peak();
  const int64_t before = pool::peak();
  {
    const Gradients grads = Tape().backward(c.fused(x, weight, {}));
    EXPECT_TRUE(std::isfinite(sum(grads[weight]).item()));
  }
  EXPECT_LE((pool::peak() - before) * 5, rows * kManyClasses * 4);
}

TEST(LinearCrossEntropy, UnderAutocastRoundsAsLinear) {
  const HeadCase c = head_case({9}, 37, 16);
  const auto of_model = [&](bool fused) {
    const Tensor x = c.x.as_leaf(), weight = c.weight.as_leaf(), bias = c.bias.as_leaf();
    Tape tape;
    Tensor loss;
    {
      const Autocast autocast(kBFloat16);
      const Tensor hidden = tanh(x);  // kept in bfloat16
      loss = fused ? c.fused(hidden, weight, bias) : c.composed(hidden, weight, bias);
    }
    const Gradients grads = tape.backward(loss);
    return Results{loss.detach(), grads[x].detach(), grads[weight].detach(), grads[bias].detach()};
  };
  expect_same_results(of_model(true), of_model(false));
  EXPECT_FALSE(same_bits(of_model(true)[0], c.fused(tanh(c.x), c.weight, c.bias)));
}

TEST(LinearCrossEntropy, HasGradientsPerExample) {
  HeadCase c = head_case({4, 3}, 11, 5);
  c.options.reduction = Reduction::none;
  const auto of_examples = [&](bool fused) {
    const Tensor weight = c.weight.as_leaf(), bias = c.bias.as_leaf();
    Tape tape;
    const Tensor losses = mean(fused ? c.fused(c.x, weight, bias) : c.composed(c.x, weight, bias), 1);
    const Gradients grads = tape.backward(losses, {.per_example = true});
    return Results{losses.detach(), grads[weight].detach(), grads[bias].detach()};
  };
  const Results wanted = of_examples(false);
  EXPECT_EQ(str(wanted[1].shape()), "[4, 11, 5]");
  expect_close_results(of_examples(true), wanted, 1e-6);
}

TEST(LinearCrossEntropy, WithoutRowsAndWithInfiniteLogits) {
  HeadCase none = head_case({0}, 7, 3);
  none.options.reduction = Reduction::sum;
  expect_same_results(results(none, true), results(none, false));
  HeadCase ignored = head_case({2}, 7, 3);
  ignored.target = full({2}, -100, kInt64);
  expect_same_results(results(ignored, true), results(ignored, false));
  HeadCase lowest = head_case({2}, 7, 3);
  lowest.bias = full({7}, -kInf);
  lowest.options.reduction = Reduction::sum;
  expect_same_results(results(lowest, true), results(lowest, false));
}

}  // namespace
}  // namespace tapegrad::tests
