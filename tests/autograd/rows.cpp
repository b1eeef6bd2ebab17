// Derivatives of every row of a batch at once: batch_jacobian and backward per example, against one row at a time.
#include <tapegrad/autograd/detail/layers.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using Rows = std::span<const Tensor>;
using RowFunction = std::function<Tensor(Rows)>;

Tensor row_values(const Shape& shape, uint64_t seed, DType dtype = kFloat64) {
  Generator generator(seed);
  return uniform(shape, -1.2, 1.2, dtype, &generator);
}

std::vector<Tensor> one_row(Rows x, int64_t row) {
  std::vector<Tensor> found;
  for (const Tensor& one : x) found.push_back(one.slice(0, row, row + 1));
  return found;
}

// --- batch_jacobian ---

// Compares with jacobian(), row by row.
void expect_jacobians(const RowFunction& f, const std::vector<Tensor>& x) {
  require_separate_rows(f, x);
  const std::vector<Tensor> found = batch_jacobian(f, x);
  ASSERT_EQ(found.size(), x.size());
  for (int64_t row = 0; row < x[0].size(0); ++row) {
    const std::vector<Tensor> single = jacobian(f, one_row(x, row));  // [1, out..., 1, in...]
    for (std::size_t i = 0; i < x.size(); ++i)
      expect_within(found[i].select(0, row), single[i].select(0, 0).select(found[i].dim() - x[i].dim(), 0));
  }
}

TEST(BatchJacobian, IsThatOfEveryRow) {
  const Tensor wide = row_values({8, 3}, 1), narrow = row_values({6, 8}, 2), bias = row_values({6}, 3);
  const auto net = [&](Rows x) { return linear(tanh(linear(x[0], wide)), narrow, bias); };
  expect_jacobians(net, {row_values({5, 3}, 4)});  // by results
  const Tensor one = row_values({8, 1}, 5);
  const auto curve = [&](Rows x) { return linear(tanh(linear(x[0], one)), narrow, bias); };
  expect_jacobians(curve, {row_values({5, 1}, 6)});  // by directions: 2 * 1 < 6
  expect_jacobians(curve, {row_values({1, 1}, 7)});
}

TEST(BatchJacobian, HasTheShapesOfResultAndArgument) {
  const auto turned = [](Rows x) { return x[0].t() * x[0].t(); };
  const Tensor x = row_values({4, 2, 3}, 1);
  expect_jacobians(turned, {x});
  EXPECT_EQ(str(batch_jacobian(turned, std::vector<Tensor>{x})[0].shape()), "[4, 3, 2, 2, 3]");
  const Tensor scalars = batch_jacobian([](const Tensor& v) { return v * v * v; }, row_values({4}, 2));
  expect_within(scalars, 3 * row_values({4}, 2) * row_values({4}, 2));
  const auto images = [](Rows v) {  // [B] -> [B, 2, 3]: by directions
    return exp(v[0].reshape({-1, 1, 1}) * row_values({2, 3}, 3));
  };
  expect_jacobians(images, {row_values({4}, 4)});
  EXPECT_EQ(str(batch_jacobian([](const Tensor& v) { return v * 2; }, zeros({0, 3})).shape()), "[0, 3, 3]");
  EXPECT_EQ(str(batch_jacobian([](const Tensor& v) { return v.slice(1, 0, 0); }, x).shape()), "[4, 0, 3, 2, 3]");
  const auto constant = [](const Tensor& v) { return ones({v.size(0), 2}, kFloat64); };
  expect_within(batch_jacobian(constant, x), zeros({4, 2, 2, 3}, kFloat64));
}

TEST(BatchJacobian, OfSeveralArguments) {
  const Tensor w = row_values({7, 5}, 1);
  const auto f = [&](Rows x) { return matmul(cat({x[0], x[1]}, 1), w.t()) * sum(x[1], 1, true); };
  expect_jacobians(f, {row_values({3, 2}, 2), row_values({3, 3}, 3)});  // by results
  const auto g = [&](Rows x) { return sin(matmul(x[0] * x[1], w.slice(1, 0, 1).t())); };
  expect_jacobians(g, {row_values({3, 1}, 4), row_values({3, 1}, 5)});  // by directions
}

// To second order in the point and in what the function captures.
TEST(BatchJacobian, CanBeDifferentiated) {
  const auto jacobians = [](const Tensor& x, const Tensor& w) {
    return batch_jacobian([&](const Tensor& v) { return tanh(linear(v, w)); }, x);
  };
  for (const int64_t width : {2, 1}) {  // by results, by directions
    EXPECT_TRUE(gradients_match(jacobians, {row_values({2, width}, 1), row_values({3, width}, 2)})) << width;
  }
}

TEST(BatchJacobian, OfOperationsThatAreDifferentiatedOnce) {
  static const Op kOnce{"cubed_once", false};
  const auto cubed = [](Rows x) {
    return custom(
        kOnce, {x[0]}, [](const Tensor& v) { return v * v * v * ones({4}, kFloat64); },
        [x = x[0]](const Tensor& dy) -> Grads { return sum(dy, 1, true) * 3 * x * x; });
  };
  expect_jacobians(cubed, {row_values({3, 1}, 1)});
}

TEST(BatchJacobian, Errors) {
  const auto same = [](const Tensor& x) { return x * 2; };
  const Tensor x = row_values({4, 3}, 1);
  EXPECT_ERROR(batch_jacobian(same, scalar(1.0)));
  EXPECT_ERROR(batch_jacobian([](const Tensor& a, const Tensor&) { return a; }, std::vector<Tensor>{x, zeros({3})}));
  EXPECT_ERROR(batch_jacobian(same, std::vector<Tensor>{}));
  EXPECT_ERROR(batch_jacobian([](const Tensor& v) { return sum(v); }, x));
  EXPECT_ERROR(batch_jacobian([](const Tensor& v) { return mean(v, 0, true); }, x));
  EXPECT_ERROR(batch_jacobian(same, arange(3)));
  EXPECT_ERROR(require_separate_rows([](const Tensor& v) { return v - mean(v, 0, true); }, x));
}

// --- backward per example ---

struct Batch {
  std::vector<Tensor> leaves;
  std::vector<Tensor> rows;
  RowFunction losses;  // of the rows
};

Gradients per_example(const Batch& of) {
  Tape tape;
  const Tensor losses = of.losses(of.rows);
  require_separate_examples(tape, losses);
  return tape.backward(losses, {.per_example = true});
}

// Compares with the gradients of batches of one.
void expect_single(const Batch& of, int64_t examples, double tolerance = 1e-12) {
  const Gradients found = per_example(of);
  EXPECT_EQ(found.size(), of.leaves.size());
  for (int64_t example = 0; example < examples; ++example) {
    std::vector<Tensor> rows;
    for (const Tensor& x : of.rows) {
      const int64_t count = x.size(0) / examples;
      rows.push_back(x.slice(0, example * count, (example + 1) * count));
    }
    const Gradients single = Tape().backward(of.losses(rows));
    for (const Tensor& leaf : of.leaves) {
      ASSERT_EQ(found[leaf].size(0), examples);
      expect_within(found[leaf].select(0, example), single[leaf], tolerance);
    }
  }
}

Tensor leaf_of(const Shape& shape, uint64_t seed) { return row_values(shape, seed).as_leaf(); }

// One loss per example from y [B, ...].
Tensor losses_from(const Tensor& y) {
  Axes axes;
  for (int i = 1; i < y.dim(); ++i) axes.push_back(i);
  const Tensor loss = sin(y) * y + y;
  return axes.empty() ? loss : sum(loss, axes);
}

TEST(PerExample, Products) {
  const Tensor w = leaf_of({4, 3}, 1), b = leaf_of({4}, 2), v = leaf_of({4, 2}, 3);
  const auto net = [&](Rows x) { return losses_from(matmul(tanh(linear(x[0], w, b)), v)); };
  expect_single({{w, b, v}, {row_values({5, 3}, 4)}, net}, 5);
  expect_single({{w, b, v}, {row_values({3, 7, 3}, 5)}, net}, 3);
  expect_single({{w, b, v}, {row_values({3, 2, 2, 3}, 6)}, net}, 3);
  const auto flat = [&](Rows x) {  // tokens as rows, examples next to each other
    const Tensor rows = linear(x[0].reshape({-1, 3}), w, b);
    return losses_from(rows.reshape({x[0].size(0), -1}));
  };
  expect_single({{w, b}, {row_values({3, 7, 3}, 5)}, flat}, 3);
  const auto left = [&](Rows x) { return losses_from(matmul(w, x[0])); };
  expect_single({{w}, {row_values({3, 3, 2}, 7)}, left}, 3);
  const auto sums = [&](Rows x) { return losses_from(einsum("bti,oi->bto", {x[0], w})); };
  expect_single({{w}, {row_values({3, 5, 3}, 8)}, sums}, 3);
}

TEST(PerExample, OperationsOnParametersAlone) {
  const Tensor w = leaf_of({4, 3}, 1), down = leaf_of({2, 3}, 2), up = leaf_of({4, 2}, 3), scale = leaf_of({}, 4);
  const auto net = [&](Rows x) { return losses_from(matmul(x[0], (w * scale + matmul(up, down)).t())); };
  expect_single({{w, down, up, scale}, {row_values({5, 3}, 5)}, net}, 5);
  const auto normal = [&](Rows x) { return losses_from(linear(x[0], w / sqrt(sum(w * w, 1, true)))); };
  expect_single({{w}, {row_values({4, 6, 3}, 6)}, normal}, 4);
}

TEST(PerExample, BroadcastParameters) {
  const Tensor bias = leaf_of({3}, 1), positions = leaf_of({5, 3}, 2), first = leaf_of({1, 1, 3}, 3),
               scale = leaf_of({}, 4), column = leaf_of({1, 5, 1}, 5);
  const auto net = [&](Rows x) {
    const Tensor y = (x[0] + positions) * scale + bias * column;
    return losses_from(cat({first.expand({x[0].size(0), 1, 3}), y}, 1));
  };
  expect_single({{bias, positions, first, scale, column}, {row_values({4, 5, 3}, 6)}, net}, 4);
  const auto flat = [&](Rows x) { return losses_from((x[0].reshape({-1, 3}) * bias).reshape({x[0].size(0), -1})); };
  expect_single({{bias}, {row_values({4, 5, 3}, 7)}, flat}, 4);
}

TEST(PerExample, Tables) {
  const Tensor table = leaf_of({6, 3}, 1), places = leaf_of({8, 3}, 2);
  const Tensor ids = tensor({{0, 3, 3, 5}, {1, 1, 2, 5}, {5, 0, 4, 0}});
  for (const std::optional<int64_t> padding : {std::optional<int64_t>{}, std::optional<int64_t>{5}}) {
    const auto tied = [&](Rows x) {  // the output layer has the same weight
      const Tensor y = embedding(table, x[0], padding) + embedding(places, arange(4));
      return losses_from(linear(tanh(y), table));
    };
    expect_single({{table, places}, {ids}, tied}, 3);
  }
}

TEST(PerExample, Normalisations) {
  const Tensor w = leaf_of({6}, 1), b = leaf_of({6}, 2), whole = leaf_of({4, 6}, 3), shift = leaf_of({4, 6}, 4);
  const Tensor x = row_values({3, 4, 6}, 5);
  const auto last = [&](Rows v) {
    return losses_from(rms_norm(layer_norm_std(layer_norm(v[0] * 2, w, b) + v[0], w, b) * v[0], b));
  };
  expect_single({{w, b}, {x}, last}, 3, 1e-10);
  const auto both = [&](Rows v) { return losses_from(layer_norm(v[0] * v[0], whole, shift)); };
  expect_single({{whole, shift}, {x}, both}, 3, 1e-10);
  const auto vectors = [&](Rows v) {
    return losses_from(group_norm(v[0].reshape({-1, 6}), 3, w, b).reshape({v[0].size(0), -1}));
  };
  expect_single({{w, b}, {x}, vectors}, 3, 1e-10);
}

TEST(PerExample, Convolutions) {
  const Tensor w = leaf_of({4, 2, 3}, 1), b = leaf_of({4}, 2), back = leaf_of({4, 2, 3}, 3), c = leaf_of({4}, 4);
  const auto signals = [&](Rows x) {
    const Tensor y = conv1d(x[0], w, b, {.stride = 2, .padding = 1, .groups = 2, .padding_mode = PadMode::reflect});
    return losses_from(conv_transpose1d(tanh(y), back, c, {.stride = 2, .groups = 2}));
  };
  expect_single({{w, b, back, c}, {row_values({3, 4, 9}, 5)}, signals}, 3);
  const Tensor wide = leaf_of({3, 2, 3, 2}, 6), depth = leaf_of({3, 1, 2, 2}, 7), tail = leaf_of({3, 2, 1, 2}, 8);
  const auto images = [&](Rows x) {
    const Tensor y = conv2d(conv2d(x[0], wide, {}, {.padding = Padding::same}), depth, {}, {.groups = 3});
    return losses_from(conv_transpose2d(y, tail));
  };
  expect_single({{wide, depth, tail}, {row_values({3, 2, 6, 5}, 9)}, images}, 3);
}

// The rows of an example need not be one: two views of each image, for example.
TEST(PerExample, SeveralRowsPerExample) {
  const Tensor w = leaf_of({4, 2, 3}, 1), v = leaf_of({5, 4}, 2), b = leaf_of({4}, 3);
  const auto net = [&](Rows x) {
    const Tensor y = mean(group_norm(conv1d(x[0], w), 2, b, b), -1);  // [2 B, 4]
    return losses_from(linear(y, v).reshape({x[0].size(0) / 2, -1}));
  };
  expect_single({{w, v, b}, {row_values({6, 2, 7}, 4)}, net}, 3, 1e-10);
}

TEST(PerExample, OneExampleAndNone) {
  const Tensor w = leaf_of({4, 3}, 1), hidden = leaf_of({4, 4}, 2);
  const auto net = [&](Rows x) {  // with an operation that cannot separate more of them
    const RecurrentWeights weights{w, hidden, {}, {}};
    return losses_from(rnn_layer(x[0], weights).output);
  };
  expect_single({{w, hidden}, {row_values({1, 5, 3}, 3)}, net}, 1);
  const Gradients none = Tape().backward(losses_from(linear(zeros({0, 3}, kFloat64), w)), {.per_example = true});
  EXPECT_EQ(str(none[w].shape()), "[0, 4, 3]");
}

TEST(PerExample, WeighsTheLosses) {
  const Tensor w = leaf_of({4, 3}, 1), x = row_values({5, 3}, 2), by = row_values({5}, 3);
  const Batch of{{w}, {x}, [&](Rows v) { return losses_from(linear(v[0], w)); }};
  const Gradients plain = per_example(of);
  Tape tape;
  const Tensor losses = of.losses(of.rows);
  const Gradients weighed = tape.backward(losses, {.retain_graph = true, .grad_output = by, .per_example = true});
  expect_within(weighed[w], plain[w] * by.reshape({5, 1, 1}));
  expect_within(tape.backward(losses, {.retain_graph = true, .only = {w}, .per_example = true})[w], plain[w]);
  expect_within(sum(plain[w], 0), tape.backward(sum(losses))[w]);
}

TEST(PerExample, CustomOperations) {
  static const Op kScaled{"scaled_rows"};
  const Tensor w = leaf_of({3}, 1);
  const auto scaled = [&](const Tensor& x) {
    return record(kScaled, x * w.detach(), {w}, [x](const Tensor& dy, const BackwardPass& pass) -> Grads {
      return pass.examples > 0 ? dy * x : sum(dy * x, 0);
    });
  };
  expect_single({{w}, {row_values({5, 3}, 2)}, [&](Rows x) { return losses_from(scaled(x[0])); }}, 5);
}

TEST(PerExample, IsTheSameForAnyNumberOfThreads) {
  const Tensor w = row_values({48, 3, 5}, 1, kFloat32).as_leaf(), v = row_values({7, 48}, 2, kFloat32).as_leaf();
  const Tensor b = row_values({48}, 3, kFloat32).as_leaf(), x = row_values({9, 3, 60}, 4, kFloat32);
  const Batch of{
      {w, v, b}, {x}, [&](Rows u) { return losses_from(linear(layer_norm(relu(conv1d(u[0], w, b)).t(), b, b), v)); }};
  expect_same_with_any_threads([&] {
    const Gradients found = per_example(of);
    return std::vector<Tensor>{found[w], found[v], found[b]};
  });
}

// --- what cannot be computed per example ---

std::string failure(const RowFunction& losses, const BackwardOptions& options = {.per_example = true}) {
  const std::vector<Tensor> x{row_values({4, 5, 3}, 1)};
  return error_of([&] { Tape().backward(losses(x), options); });
}

TEST(PerExample, OtherOperationsOnParametersAreErrors) {
  const Tensor w = leaf_of({4, 3}, 1), hidden = leaf_of({4, 4}, 2), scale = leaf_of({5}, 3);
  EXPECT_TEXT(failure([&](Rows x) {
    const RecurrentWeights weights{w, hidden, {}, {}};
    return losses_from(rnn_layer(x[0], weights).output);
  }));
  EXPECT_TEXT(failure([&](Rows x) { return losses_from(batch_norm_training(x[0], scale).y); }));
  EXPECT_TEXT(failure([&](Rows x) { return losses_from(index_select(w, 0, tensor({0, 1, 3, 1})) + sum(x[0], 1)); }));
  EXPECT_EQ(failure([&](Rows x) {  // time before batch
              return losses_from((x[0].transpose(0, 1) * w.slice(0, 0, 1).squeeze(0)).transpose(0, 1));
            }),
            "[mul] expected a first axis that is a multiple of the 4 examples where an input of shape [3] meets them, "
            "got a gradient of shape [5, 4, 3]");
  EXPECT_TEXT(failure([&](Rows x) {
    const Tensor y = linear(x[0], w);
    return losses_from(y - mean(y, 0, true));
  }));
}

TEST(PerExample, TheCheckFindsMixedRows) {
  const Tensor w = leaf_of({4, 3}, 1);
  const auto check = [&](const std::function<Tensor(const Tensor&)>& f) {
    return error_of([&] {
      Tape tape;
      require_separate_examples(tape, losses_from(f(linear(row_values({6, 3}, 2), w))));
    });
  };
  EXPECT_EQ(check([](const Tensor& y) { return tanh(y); }), "no error");
  EXPECT_TEXT(check([](const Tensor& y) { return y.reshape({2, 3, 4}).transpose(0, 1).reshape({6, 4}); }));
}

// As many features, or steps, as examples.
TEST(PerExample, SquareBatches) {
  const Tensor w = leaf_of({4, 4}, 1), b = leaf_of({4}, 2);
  const auto net = [&](Rows x) { return losses_from(linear(tanh(linear(x[0], w, b)), w)); };
  expect_single({{w, b}, {row_values({4, 4}, 4)}, net}, 4);
  expect_single({{w, b}, {row_values({4, 4, 4}, 5)}, net}, 4);
  expect_single({{w, b}, {row_values({4, 8, 4}, 6)}, net}, 4);
}

// Where sizes do not show the axis of the examples: that the operations do, so that backward need not run twice.
TEST(PerExample, OperationsShowTheAxis) {
  const Tensor w = leaf_of({4, 4}, 1), b = leaf_of({4}, 2), filters = leaf_of({4, 4, 3}, 3),
               x = row_values({4, 4, 4}, 4);
  const auto shows = [&](const std::function<Tensor(const Tensor&)>& losses) {
    Tape tape;
    const Tensor all = losses(x);
    return detail::Layers::keeps_examples_apart(tape, tape.size() - 1, 4);
  };
  const auto block = [&](const Tensor& v) { return v + linear(gelu(linear(layer_norm(v, b, b), w, b)), w); };
  expect_single({{w, b}, {x}, [&](Rows v) { return sum(square(mean(block(v[0]), 1)), 1); }}, 4);
  EXPECT_TRUE(shows([&](const Tensor& v) { return sum(square(mean(block(v), 1)), 1); }));
  EXPECT_FALSE(shows([&](const Tensor& v) { return sum(square(mean(block(v), 0)), 1); }));
  const auto heads = [&](const Tensor& v) {
    const Tensor q = linear(v, w).reshape({4, 4, 2, 2}).transpose(1, 2);
    return scaled_dot_product_attention(q, q * 2, q).transpose(1, 2).reshape({4, 4, 4});
  };
  EXPECT_TRUE(shows([&](const Tensor& v) {
    return mean(cross_entropy(matmul(heads(v), w), tensor({0, 1, 2, 3}).expand({4, 4}), {.reduction = Reduction::none}),
                1);
  }));
  EXPECT_TRUE(shows([&](const Tensor& v) { return sum(group_norm(conv1d(v, filters), 2, b, b).slice(1, 1), {1, 2}); }));
  EXPECT_FALSE(shows([&](const Tensor& v) { return sum(heads(v).select(0, 1), 1); }));
  EXPECT_FALSE(shows([&](const Tensor& v) { return sum(linear(v, w).transpose(0, 1), {1, 2}); }));
  EXPECT_FALSE(shows([&](const Tensor& v) { return sum(softmax(linear(v, w), 0), {1, 2}); }));
  // An operation of the user's own shows it by its rule.
  static const ElementwiseOp kElementwise{"test_elementwise"};
  static const Op kUnknown{"test_unknown"};
  const auto twice = [&](const Op& op) {
    return shows([&](const Tensor& v) {
      const Tensor y = custom(
          op, {linear(v, w)}, [](const Tensor& t) { return t * 2; }, [](const Tensor& dy) -> Grads { return dy * 2; });
      return sum(y, {1, 2});
    });
  };
  EXPECT_TRUE(twice(kElementwise));
  EXPECT_FALSE(twice(kUnknown));
}

TEST(PerExample, OptionsAreChecked) {
  const Tensor w = leaf_of({3}, 1);
  Tensor kept;
  const auto losses = [&](Rows x) { return losses_from(kept = x[0] * w); };
  EXPECT_TEXT(failure([&](Rows x) { return sum(losses(x)); }));
  EXPECT_TEXT(failure(losses, {.create_graph = true, .per_example = true}));
  EXPECT_TEXT(error_of([&] {
    Tape tape;
    const Tensor y = losses(std::vector<Tensor>{row_values({4, 3}, 1)});
    tape.backward(y, {.keep = {kept}, .per_example = true});
  }));
}

}  // namespace
}  // namespace tapegrad::tests
