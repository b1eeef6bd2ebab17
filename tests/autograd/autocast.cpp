// Products in bfloat16: all forms against one scalar rule bit by bit, and Autocast, which asks for them.
// ctest: products
#include <tapegrad/autograd/kernels/product/bfloat16_product.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// ---- The rule ----

float flushed(float x) { return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

// One rounding of a * b + s with 24 bits and no least exponent; then denormals are zeros.
float next_sum(float a, float b, float s) {
  const double exact = std::fma(static_cast<double>(flushed(a)), static_cast<double>(flushed(b)), flushed(s));
  if (!(std::abs(exact) < 0x1p-100)) return static_cast<float>(exact);
  const float large = static_cast<float>(exact * 0x1p80);
  return std::abs(large) < 0x1p-46f ? std::copysign(0.0f, large) : large * 0x1p-80f;
}

// Element (i, j) of a matrix is at i * row + j * column.
struct Layout {
  int64_t row, column;
};
enum class Kind { ordinary, extreme };

struct Matrix {
  int64_t rows, columns;
  Layout layout;
  std::vector<float> wide;
  std::vector<uint16_t> narrow;

  Matrix(int64_t rows, int64_t columns, Layout layout, Kind kind, Generator& generator)
      : rows(rows), columns(columns), layout(layout) {
    const int64_t size =
        std::max<int64_t>(0, (rows - 1) * layout.row) + std::max<int64_t>(0, (columns - 1) * layout.column) + 1;
    wide = randn({size}, kFloat32, &generator).to_vector<float>();
    if (kind == Kind::extreme) {
      const Tensor which = randint(0, 40, {size}, &generator), power = randint(-149, 128, {size}, &generator);
      const std::vector<int64_t> pick = which.to_vector<int64_t>(), by = power.to_vector<int64_t>();
      constexpr float inf = kInf;
      for (std::size_t i = 0; i < wide.size(); ++i) {
        if (pick[i] < 25) wide[i] = std::ldexp(wide[i], static_cast<int>(by[i]));
        if (pick[i] == 30) wide[i] = by[i] < 100 ? 0 : inf;
        if (pick[i] == 31) wide[i] = by[i] < 100 ? -0.0f : -inf;
        if (pick[i] == 32 && by[i] > 120) wide[i] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    for (const float x : wide) narrow.push_back(round_to_bfloat16(x));
  }
  float at(int64_t i, int64_t j) const {
    return widen_bfloat16(narrow[static_cast<std::size_t>(i * layout.row + j * layout.column)]);
  }
  RoundedView view(bool of_narrow) const {
    return {of_narrow ? static_cast<const void*>(narrow.data()) : wide.data(), of_narrow, layout.row, layout.column};
  }
};

float expected_sum(const Matrix& a, const Matrix& b, int64_t i, int64_t j, float s) {
  for (int64_t p = 0; p < a.columns; p += 2) {
    const bool pair = p + 1 < a.columns;
    s = next_sum(pair ? a.at(i, p + 1) : 0, pair ? b.at(p + 1, j) : 0, s);
    s = next_sum(a.at(i, p), b.at(p, j), s);
  }
  return s != s ? std::bit_cast<float>(0x7fc00000) : s;
}

// Whether `form` gives the bits of the rule for all elements, or for some of a large C; nothing else is written.
void check_form(const rounded_product::Form& form, int64_t m, int64_t n, int64_t k, int a_layout, int b_layout,
                int c_layout, Kind kind, bool add, bool narrow) {
  SCOPED_TRACE(testing::Message() << form.name << " " << m << " " << n << " " << k << " layouts " << a_layout
                                  << b_layout << c_layout << (kind == Kind::extreme ? " extreme" : "")
                                  << (add ? " add" : "") << (narrow ? " narrow" : ""));
  const auto layout = [](int which, int64_t rows, int64_t columns) -> Layout {
    if (which == 0) return {columns + 3, 1};
    if (which == 1) return {1, rows + 1};
    return {2 * columns + 1, 2};
  };
  Generator generator(static_cast<uint64_t>(m * 31 + n * 7 + k));
  const Matrix a(m, k, layout(a_layout, m, k), kind, generator), b(k, n, layout(b_layout, k, n), kind, generator);
  Matrix c(m, n, layout(c_layout, m, n), Kind::ordinary, generator);
  if (kind == Kind::extreme) c.wide[0] = std::numeric_limits<float>::denorm_min();
  std::vector<float> got = c.wide;
  int64_t finished = 0;
  const auto done = [&](int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    static_cast<void>(std::atomic_ref(finished).fetch_add((row_end - row) * (column_end - column)));
  };
  rounded_product::multiply(form, m, n, k, a.view(narrow), b.view(!narrow && m % 2 == 1), add,
                            {got.data(), c.layout.row, c.layout.column}, done);
  EXPECT_EQ(finished, m * n);
  const int64_t step = std::max<int64_t>(1, m * n * k / 100000);
  std::vector<bool> inside(got.size());
  int wrong = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(i * c.layout.row + j * c.layout.column);
      inside[at] = true;
      if ((i * n + j) % step != 0) continue;
      const float expected = expected_sum(a, b, i, j, add ? c.wide[at] : 0);
      if (std::bit_cast<uint32_t>(got[at]) != std::bit_cast<uint32_t>(expected) && ++wrong < 4) {
        ADD_FAILURE() << i << ", " << j << ": " << got[at] << ", expected " << expected;
      }
    }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (inside[i]) continue;
    ASSERT_EQ(got[i], c.wide[i]);
  }
}

TEST(RoundedProduct, EveryFormSumsByTheRule) {
  const std::vector<std::array<int64_t, 3>> sizes = {
      {1, 1, 1},    {1, 1, 0},   {2, 3, 2},   {6, 16, 7},  {7, 17, 9},   {14, 32, 8}, {15, 33, 3}, {13, 8, 300},
      {5, 40, 257}, {29, 3, 31}, {1, 20, 12}, {20, 1, 13}, {30, 50, 65}, {4, 17, 40}, {8, 33, 21}, {9, 40, 6}};
  for (const rounded_product::Form* form : rounded_product::forms()) {
    int turn = 0;
    for (const auto& [m, n, k] : sizes)
      for (int layouts = 0; layouts < 27; ++layouts, ++turn)
        check_form(*form, m, n, k, layouts % 3, layouts / 3 % 3, layouts / 9, turn % 2 ? Kind::extreme : Kind::ordinary,
                   turn / 2 % 2, turn / 4 % 2);
    check_form(*form, 130, 200, 900, 0, 1, 0, Kind::ordinary, false, true);   // cut along the columns
    check_form(*form, 300, 100, 390, 1, 0, 0, Kind::extreme, true, false);    // along the rows
    check_form(*form, 290, 110, 200, 0, 1, 1, Kind::ordinary, false, false);  // columns of C
  }
}

TEST(RoundedProduct, TheRuleOnSingleSteps) {
  // Bits that show the order of a pair, two roundings, and denormals.
  const auto one = [](float even, float odd, float old) {
    const float a[] = {even, odd}, b[] = {1, 1};
    float c = old;
    rounded_product::multiply(*rounded_product::forms().front(), 1, 1, 2, {a, false, 2, 1}, {b, false, 1, 1}, true,
                              {&c, 1, 1});
    return c;
  };
  EXPECT_EQ(one(1, -0x1p24f, 0x1p24f), 1);
  EXPECT_EQ(one(-0x1p24f, 1, 0x1p24f), 0);
  EXPECT_EQ(one(1, 1, 0x1p24f), 0x1p24f);
  EXPECT_EQ(one(0x1p-130f, 0, 0), 0);
  EXPECT_EQ(one(1, 0, 0x1p-130f), 1);
  EXPECT_EQ(one(1 + 0x1p-9f, 0, 0), 1);  // the operand is rounded, ties to even
  EXPECT_EQ(std::bit_cast<uint32_t>(one(-std::numeric_limits<float>::quiet_NaN(), 0, 0)), 0x7fc00000u);
}

TEST(RoundedProduct, SameBitsForAnyNumberOfThreads) {
  Generator generator(5);
  const Tensor x = randn({150, 700}, kFloat32, &generator), w = randn({430, 700}, kFloat32, &generator);
  const Tensor heads = randn({6, 90, 64}, kFloat32, &generator);
  expect_same_with_any_threads([&] {
    const Autocast autocast(kBFloat16);
    const Tensor leaf = x.as_leaf(), weight = w.as_leaf(), q = heads.as_leaf();
    const Gradients grads = Tape().backward(sum(square(linear(leaf, weight))) + sum(square(matmul(q, q.t()))) +
                                            sum(square(scaled_dot_product_attention(q, q, q, {.causal = true}))));
    return std::vector<Tensor>{grads[leaf], grads[weight], grads[q]};
  });
}

// ---- The guard ----

Tensor rounded(const Tensor& x) { return x.detach().to(kFloat32).to(kBFloat16).to(kFloat64); }

void expect_rounded(const Tensor& x, const Tensor& expected) {
  EXPECT_EQ(x.dtype(), kFloat32);
  ASSERT_EQ(x.shape(), expected.shape());
  EXPECT_LT(amax(abs(x.to(kFloat64) - expected)).item(), 2e-6 * (1 + amax(abs(expected)).item()));
}

TEST(Autocast, SaysTheTypeOfProducts) {
  EXPECT_EQ(Autocast::dtype(), kFloat32);
  {
    const Autocast autocast(kBFloat16);
    EXPECT_EQ(Autocast::dtype(), kBFloat16);
    {
      const Autocast off(kFloat32);
      EXPECT_EQ(Autocast::dtype(), kFloat32);
      const Autocast disabled(kBFloat16, false);
      EXPECT_EQ(Autocast::dtype(), kFloat32);
    }
    EXPECT_EQ(Autocast::dtype(), kBFloat16);
  }
  EXPECT_EQ(Autocast::dtype(), kFloat32);
  EXPECT_EQ(error_of([] { const Autocast wrong(kFloat64); }), "[autocast] expected bfloat16 or float32, got float64");
}

TEST(Autocast, RoundsTheOperandsOfBothDirections) {
  Generator generator(3);
  const Tensor x = randn({3, 5, 7}, kFloat32, &generator), w = randn({4, 7}, kFloat32, &generator);
  const Tensor bias = randn({4}, kFloat32, &generator), dy = randn({3, 5, 4}, kFloat32, &generator);
  const Tensor leaf = x.as_leaf(), weight = w.as_leaf(), b = bias.as_leaf();
  Tape tape;
  Tensor y, product;
  {
    const Autocast autocast(kBFloat16);
    const Tensor recorded = leaf * 1;
    y = linear(recorded, weight, b);
    product = matmul(y, weight);
    EXPECT_EQ(matmul(x.to(kFloat64), w.to(kFloat64).t()).dtype(), kFloat64);
    EXPECT_TRUE(einsum("btc,hc->bth", {x, w}).to_vector<float>() == linear(x, w).to_vector<float>());
  }
  expect_rounded(y, linear(rounded(x), rounded(w), bias.to(kFloat64)));
  expect_rounded(product, matmul(rounded(y), rounded(w)));
  const Gradients grads = tape.backward(sum(y * dy));  // outside
  const Tensor flat = dy.reshape({15, 4});
  expect_rounded(grads[leaf], matmul(rounded(dy), rounded(w)));
  expect_rounded(grads[weight], matmul(rounded(flat).t(), rounded(x).reshape({15, 7})));
  expect_rounded(grads[b], sum(flat.to(kFloat64), 0));
}

TEST(Autocast, LeavesFloat64Alone) {
  const Tensor x = randn({4, 4}, kFloat64), plain = matmul(x, x);
  const Autocast autocast(kBFloat16);
  EXPECT_EQ(matmul(x, x).to_vector<double>(), plain.to_vector<double>());
}

// All gradients of a small GPT; `where` says how far the guard reaches.
enum class Where { forward, everywhere, nowhere };
Tensor gpt_gradients(Where where, bool recompute) {
  manual_seed(2);
  nn::GPTModel model(
      {.vocab_size = 19, .context_length = 12, .emb_dim = 24, .n_heads = 3, .n_layers = 2, .drop_rate = 0.1});
  model.recompute_blocks = recompute;
  const Tensor ids = randint(0, 19, {2, 12}), targets = randint(0, 19, {2, 12});
  Tape tape;
  const Autocast all(kBFloat16, where == Where::everywhere);
  const Tensor loss = [&] {
    const Autocast autocast(kBFloat16, where != Where::nowhere);
    return cross_entropy(model(ids), targets);
  }();
  const Gradients grads = tape.backward(loss);
  std::vector<Tensor> found{loss.detach().flatten()};
  for (const NamedTensor& p : nn::parameters(model)) found.push_back(grads[p.tensor].flatten());
  return cat(found);
}

TEST(Autocast, BackwardIsTheSameInsideAndOutsideAndRecomputed) {
  const Tensor inside = gpt_gradients(Where::everywhere, false);
  EXPECT_TRUE(equal(gpt_gradients(Where::forward, false), inside));
  EXPECT_TRUE(equal(gpt_gradients(Where::forward, true), inside));
  const Tensor exact = gpt_gradients(Where::nowhere, false);
  const double error = (norm(exact - inside) / norm(exact)).item();
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.01);
}

// The gradient of |dloss/dx|^2, by the recorded backward.
TEST(Autocast, CanBeDifferentiatedTwice) {
  Generator generator(9);
  const Tensor start = randn({2, 6, 8}, kFloat32, &generator), w = randn({8, 8}, kFloat32, &generator) * 0.5;
  const Tensor weight = w.as_leaf();
  const auto second = [&](bool autocasts) {
    const Tensor x = start.as_leaf();
    Tape tape;
    const Autocast autocast(kBFloat16, autocasts);
    const Tensor h = gelu(linear(x, weight)), y = scaled_dot_product_attention(h, h * 2, h, {.causal = true});
    const Gradients first = tape.backward(sum(square(matmul(y, y.t()))), {.create_graph = true});
    const Gradients grads = tape.backward(sum(square(first[x])) + sum(square(first[weight])));
    return std::pair{grads[x].detach(), grads[weight].detach()};
  };
  const auto exact = second(false), rough = second(true);
  for (const auto& [a, b] : {std::pair{exact.first, rough.first}, {exact.second, rough.second}}) {
    EXPECT_LT((norm(a - b) / norm(a)).item(), 0.03);
    EXPECT_GT(norm(a - b).item(), 0);
  }
}

// What forward keeps of a block of a GPT: 0.6 of float32's.
TEST(Autocast, KeepsLessForBackward) {
  manual_seed(1);
  nn::GPTBlock block({.context_length = 64, .emb_dim = 256, .n_heads = 4, .n_layers = 1, .drop_rate = 0});
  const Tensor x = randn({4, 64, 256}).as_leaf();
  const auto kept = [&](bool autocasts) {
    pool::reset_peak();
    const int64_t before = pool::peak();
    Tape tape;
    {
      const Autocast autocast(kBFloat16, autocasts);
      const Tensor y = block(x);
      static_cast<void>(tape.position_of(y));
    }
    pool::reset_peak();  // the peak is now what is in use
    return static_cast<double>(pool::peak() - before);
  };
  // The sanitizer must see each allocation, so the pool is off, and there is no peak to measure.
  if (pool::stats().reserved == 0) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
  kept(false);
  const double wide = kept(false), half = kept(true);
  EXPECT_LT(half, 0.62 * wide) << half << " " << wide;
  EXPECT_GT(half, 0.4 * wide);
}

// Parameters [24, 40] after four steps; in an Autocast from the forward pass or from the step on.
template <class Optimizer>
Tensor optimized(bool autocasts, bool in_backward) {
  Generator generator(3);
  const Tensor w = randn({24, 40}, kFloat32, &generator).as_leaf(), x = randn({16, 24, 1}, kFloat32, &generator);
  Optimizer optimizer({{"w", w}});
  for (int i = 0; i < 4; ++i) {
    Tape tape;
    const Tensor loss = sum(square(x * 0.1 * w));
    const Autocast autocast(kBFloat16, autocasts);
    in_backward ? optimizer.step(tape, loss) : optimizer.step(tape.backward(loss));
  }
  return w.clone();
}

template <class Optimizer>
void expect_float32() {
  const Tensor expected = optimized<Optimizer>(false, false);
  for (const bool in_backward : {false, true})
    EXPECT_TRUE(equal(optimized<Optimizer>(true, in_backward), expected)) << typeid(Optimizer).name();
}

TEST(Autocast, LeavesOptimisersAlone) {
  expect_float32<optim::Adafactor>();
  expect_float32<optim::Adam>();
  expect_float32<optim::Muon>();
  const auto lbfgs = [](bool autocasts, bool inside) {
    Generator generator(1);
    const Tensor w = randn({30}, kFloat32, &generator).as_leaf(), a = randn({30, 30}, kFloat32, &generator);
    optim::LBFGS optimizer({{"w", w}}, {.strong_wolfe = true});
    DType seen = kFloat32;
    for (int i = 0; i < 3; ++i) {
      const Autocast autocast(kBFloat16, autocasts);
      optimizer.step([&] {
        seen = Autocast::dtype();
        const Autocast own(kFloat32, !inside);
        Tape tape;
        const Tensor y = sum(square(square(w) - 1.5)) + (inside ? sum(square(matmul(a, w))) * 0.1 : scalar(0));
        return optim::Evaluation{y.item(), tape.backward(y)};
      });
    }
    EXPECT_EQ(seen, autocasts ? kBFloat16 : kFloat32) << "the function's own products are as the caller asks";
    return w.clone();
  };
  EXPECT_TRUE(equal(lbfgs(true, false), lbfgs(false, false)));
}

TEST(Autocast, LeavesLinearAlgebraAlone) {
  Generator generator(1);
  const Tensor a = randn({20, 20}, kFloat32, &generator), tall = randn({20, 7}, kFloat32, &generator),
               b = randn({20, 3}, kFloat32, &generator), c = randn({7, 3}, kFloat32, &generator);
  const std::vector<std::function<Tensor()>> functions{
      [&] { return solve(a, b); },
      [&] { return triangular_solve(a, b, {}); },
      [&] { return inverse(a); },
      [&] { return lstsq(tall, b); },
      [&] { return lstsq(tall.t(), c); },
      [&] { return cholesky(matrix_power(a, 0) * 2); },
      [&] { return det(a); },
      [&] { return slogdet(a).logabsdet; },
      [&] { return qr(tall).q; },
      [&] { return eigh(a).vectors; },
      [&] { return eigvalsh(a); },
      [&] { return svd(tall).u; },
      [&] { return svdvals(tall); },
      [&] { return pinv(tall); },
      [&] { return matrix_power(a, 3); },
      [&] { return matrix_power(a, -2); },
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const Tensor expected = functions[i]();
    const Autocast autocast(kBFloat16);
    EXPECT_TRUE(equal(functions[i](), expected)) << "function " << i;
  }
  // Recorded, they are differentiated in float32.
  const auto gradient = [&](bool autocasts) {
    const Tensor x = tall.as_leaf();
    Tape tape;
    const Autocast autocast(kBFloat16, autocasts);
    return tape.backward(sum(square(lstsq(x, b))) + sum(square(pinv(x))))[x];
  };
  EXPECT_TRUE(equal(gradient(true), gradient(false)));
}

TEST(Autocast, TrapsNaN) {
  const Tensor x = tensor({{1.0, 2.0}}).as_leaf(), w = tensor({{1.0, kInf}}).as_leaf();
  Tape tape;
  tape.trap_nan();
  const Autocast autocast(kBFloat16);
  EXPECT_NE(error_of([&] { linear(x * 1, w); }).find("[linear] the value is not finite"), std::string::npos);
}

}  // namespace
}  // namespace tapegrad::tests
