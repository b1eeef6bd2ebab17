// flex_attention: packed documents against each alone, masks, memory and errors. Values and gradients against PyTorch's
// are golden.
// ctest: families threads
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// y, dq, dk and dv.
std::vector<Tensor> flex_results(const auto& f, const std::vector<Tensor>& x) {
  return value_and_gradients([&](auto& qkv) { return f(qkv[0], qkv[1], qkv[2]); }, x,
                             [](const Tensor& y) { return normal_of(y.shape(), 77, y.dtype()); });
}

// Those of flex_attention.
std::vector<Tensor> flex_with(const FlexAttentionOptions& options, const std::vector<Tensor>& x) {
  return flex_results([&](auto& q, auto& k, auto& v) { return flex_attention(q, k, v, options); }, x);
}

void expect_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b, double most = 1e-12) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(largest_difference(a[i], b[i]), most) << "result " << i;
}

std::vector<Tensor> flex_qkv(int64_t batch, int64_t heads, int64_t t, DType dtype = kFloat64) {
  return {normal_of({batch, heads, t, 8}, 1, dtype), normal_of({batch, heads, t, 8}, 2, dtype),
          normal_of({batch, heads, t, 6}, 3, dtype)};
}

TEST(FlexAttention, OfPackedDocumentsIsThatOfEachAlone) {
  const std::vector<int64_t> lengths{70, 1, 130, 99};
  const auto x = flex_qkv(1, 2, 300);
  Tensor document = zeros({300}, kInt64);
  int64_t first = 0;
  for (std::size_t i = 0; i < lengths.size(); first += lengths[i++])
    std::fill_n(document.mutable_data<int64_t>() + first, lengths[i], static_cast<int64_t>(i));
  const BlockMask mask = block_mask(
      [of = flex::Table<int64_t>(document)](auto, auto, auto q, auto k) { return of(q) == of(k) && q >= k; }, 300, 300);
  EXPECT_NEAR(mask.sparsity(), 7 / 15., 1e-12);  // 5 x 3 blocks of 64 x 128
  const auto together = flex_with({.block_mask = mask}, x);
  const Tensor dy = normal_of({1, 2, 300, 6}, 77);
  first = 0;
  for (const int64_t n : lengths) {
    const auto part = [first, n](const Tensor& a) { return a.slice(2, first, first + n); };
    const Tensor q = part(x[0]).as_leaf(), k = part(x[1]).as_leaf(), v = part(x[2]).as_leaf();
    Tape tape;
    const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});
    const Gradients grads = tape.backward(sum(y * part(dy)));
    expect_close({part(together[0]), part(together[1]), part(together[2]), part(together[3])},
                 {y.detach(), grads[q], grads[k], grads[v]});
    first += n;
  }
}

TEST(FlexAttention, OfMaskedQueriesIsZero) {
  const auto x = flex_qkv(1, 1, 140, kFloat32);
  // A whole block of queries sees nothing, and so does the third query. The formula has no value at masked keys.
  const auto rule = [](auto, auto, auto q, auto k) { return q >= 64 && q != 66 && k < 130; };
  const auto formula = [](auto score, auto, auto, auto, auto k) { return score + sqrt(129.5 - k); };
  const auto results = flex_with({.score_mod = formula, .mask_mod = rule}, x);
  for (const Tensor& r : results) EXPECT_TRUE(all(isfinite(r)));
  for (const int i : {0, 1}) {
    EXPECT_EQ(amax(abs(results[static_cast<std::size_t>(i)].slice(2, 0, 64))).item(), 0);
    EXPECT_EQ(amax(abs(results[static_cast<std::size_t>(i)].select(2, 66))).item(), 0);
  }
  for (const int i : {2, 3}) EXPECT_EQ(amax(abs(results[static_cast<std::size_t>(i)].slice(2, 130))).item(), 0);
}

TEST(FlexAttention, PropagatesNaN) {
  const auto x = flex_qkv(1, 1, 5, kFloat32);
  const Tensor y = flex_attention(x[0], x[1], x[2], {.score_mod = [](auto score, auto, auto, auto q, auto k) {
                                    return where(q == 1 && k == 2, std::nan(""), score);
                                  }});
  EXPECT_TRUE(all(isnan(y.select(2, 1))));
  EXPECT_FALSE(any(isnan(y.select(2, 0))));
}

TEST(FlexAttention, HiddenNanHasNoInfluence) {
  for (const bool by_score : {false, true}) {
    FlexAttentionOptions options;
    if (by_score) {
      options.score_mod = [](auto score, auto, auto, auto q, auto k) {
        return where(k == 150, -kInf, score - 0.01 * (q - k));
      };
    } else {
      options.mask_mod = [](auto, auto, auto q, auto k) { return q >= k && k != 150; };
    }
    const auto x = flex_qkv(1, 2, 200, kFloat32);
    const Tensor hidden = (arange(200) == 150).unsqueeze(1);
    const auto with = [&](double key, double value) {
      return flex_with(options, {x[0], masked_fill(x[1], hidden, key), masked_fill(x[2], hidden, value)});
    };
    expect_close(with(std::nan(""), 0), with(0, 0), 1e-6);
    expect_close(with(0, std::nan("")), with(0, 0), 1e-6);
    expect_close(with(kInf, -kInf), with(0, 0), 1e-6);
  }
}

TEST(FlexAttention, SkipsMaskedBlocksAndAsksNoFullOne) {
  std::atomic<int64_t> asked{0};
  const BlockMask mask = block_mask(
      [&asked](auto, auto, auto q, auto k) {
        ++asked;
        return q >= k;
      },
      256, 256);
  EXPECT_EQ(asked, 256 * 256);
  asked = 0;
  const auto x = flex_qkv(1, 1, 256, kFloat32);
  std::atomic<int64_t> formulas{0};
  const auto counted = [&formulas](auto score, auto, auto, auto, auto) {
    formulas += flex::kWidth;
    return score;
  };
  flex_attention(x[0], x[1], x[2], {.score_mod = counted, .block_mask = mask});
  EXPECT_EQ(asked, 4 * 64 * 128);     // one block per 64 queries is on the diagonal
  EXPECT_EQ(formulas, 6 * 64 * 128);  // of 8 blocks
  EXPECT_NEAR(mask.sparsity(), 0.25, 1e-12);
}

TEST(FlexAttention, MasksPerSequenceAndHead) {
  const auto x = flex_qkv(2, 3, 70);
  const auto rule = [](auto b, auto h, auto q, auto k) { return k <= q + 10 * b && (q + k) % (h + 1) == 0; };
  Tensor dense = zeros({2, 3, 70, 70}, kBool);
  for (int64_t i = 0; i < dense.numel(); ++i)
    dense.mutable_data<bool>()[i] = rule(i / 14700, i / 4900 % 3, i / 70 % 70, i % 70);
  const auto expected = flex_results(
      [&](auto& q, auto& k, auto& v) { return scaled_dot_product_attention(q, k, v, {.mask = dense}); }, x);
  const BlockMask mask = block_mask(rule, 70, 70, {.batch = 2, .heads = 3});
  expect_close(flex_with({.block_mask = mask}, x), expected);
  expect_close(flex_with({.mask_mod = rule}, x), expected);
}

TEST(FlexAttention, NeedsNoMatrixOfScores) {
  constexpr int64_t kTokens = 8192;  // a matrix of scores, even of one byte each, is 64 MiB
  const BlockMask mask = block_mask([](auto, auto, auto q, auto k) { return q >= k && q - k < 500; }, kTokens, kTokens);
  std::vector<Tensor> x;
  for (const uint64_t seed : {1, 2, 3}) x.push_back(normal_of({1, 1, kTokens, 8}, seed, kFloat32));
  pool::reset_peak();
  const int64_t before = pool::peak();
  flex_with({.block_mask = mask}, x);
  EXPECT_LE(pool::peak() - before, int64_t{8} << 20);
}

TEST(FlexAttention, HasTheDerivativesOfItsFormulas) {
  const std::vector<Tensor> x{normal_of({1, 2, 4, 3}, 1), normal_of({1, 2, 20, 3}, 2), normal_of({1, 2, 20, 2}, 3)};
  const auto expect_right = [&](const ScoreMod& formula) {
    EXPECT_TRUE(gradients_match(
        [&](std::span<const Tensor> v) { return flex_attention(v[0], v[1], v[2], {.score_mod = formula}); }, x,
        {.refuses = "flex_attention"}));
  };
  expect_right([](auto s, auto, auto, auto, auto) { return -s * s / (2 + s * s); });
  expect_right([](auto s, auto, auto, auto, auto) { return 1 / (3 + exp(s)) + log(2 + sigmoid(s)); });
  expect_right([](auto s, auto, auto, auto q, auto k) { return max(s, 0.1 * s) * exp(-abs(q - k) / 10.0); });
  expect_right(
      [](auto s, auto, auto, auto, auto k) { return where(!(k < 3) || s > 0.2, min(s, 0.3) - 1, sqrt(s * s + 1)); });
  expect_right([](auto s, auto b, auto h, auto q, auto k) {
    auto y = s;
    y += b + h, y *= 2, y -= k, y /= q + 1.5;
    return y - abs(s);
  });
}

// One language of formulas: what a score_mod writes, fuse takes, too, with equal values and slopes.
template <class F>
void expect_a_formula_of_fuse(const F& formula) {
  const auto of_lanes = [](const float(&lanes)[flex::kWidth]) {
    return tensor(std::vector<float>(std::begin(lanes), std::end(lanes)), {flex::kWidth});
  };
  flex::Score<float, true> x;
  for (int i = 0; i < flex::kWidth; ++i) {
    x.value[i] = 0.375F * static_cast<float>(i) - 2.7F;
    x.slope[i] = 1;
  }
  const Tensor scores = of_lanes(x.value).as_leaf();
  const flex::Score<float, true> y = formula(x);
  Tape tape;
  const Tensor fused = fuse(formula, scores);
  expect_close({fused.detach(), tape.backward(sum(fused))[scores]}, {of_lanes(y.value), of_lanes(y.slope)}, 1e-6);
}

TEST(FlexAttention, FormulasAreFormulasOfFuse) {
  expect_a_formula_of_fuse([](auto score) { return 20 * tanh(score / 20); });
  expect_a_formula_of_fuse([](auto score) { return where(score > 0 && !(score >= 2), exp(-score), score * score); });
  expect_a_formula_of_fuse([](auto score) { return log(1 + abs(score)) - sqrt(score * score + 0.5); });
  expect_a_formula_of_fuse([](auto score) { return min(sigmoid(score), 0.5) + max(score, 0.25 * score); });
  expect_a_formula_of_fuse([](auto score) {
    auto y = score;
    y += 1, y *= score, y -= 0.5, y /= 3;
    return where(score != 0.3 || score == 0.3, y, score);
  });
}

TEST(FlexAttention, TablesAreIndexedByNumbersAndPositions) {
  const flex::Table<int64_t> ids(tensor({{1, 2, 3}, {4, 5, 6}}));
  const flex::Table<float> row(tensor({0.5, 0.25, 2.0}));
  flex::Pack<int64_t> k;
  for (int i = 0; i < flex::kWidth; ++i) k.lane[i] = i % 3;
  EXPECT_EQ(ids(1, 2), 6);
  EXPECT_EQ(row(2), 2.0);
  EXPECT_EQ(ids(1, k).lane[4], 5);
  EXPECT_EQ((row(k) * 2).lane[1], 0.5);
  EXPECT_EQ((ids(0, k) % 2 == 0).lane[1], true);
  EXPECT_EQ((7 / (k + 1)).lane[2], 2) << "integers";
  EXPECT_EQ(max(k - 1, 0).lane[0], 0);
  EXPECT_EQ(tanh(k).lane[0], 0.0);
}

TEST(FlexAttention, Errors) {
  const Tensor q = zeros({2, 4, 3, 5}), k = zeros({2, 2, 7, 5}), ids = tensor({1, 2});
  const auto always = [](auto, auto, auto, auto) { return true; };
  const BlockMask mask = block_mask(always, 3, 7);
  EXPECT_ERROR(flex_attention(q, q, q, {.mask_mod = always, .block_mask = mask}));
  EXPECT_ERROR(flex_attention(q, q, q, {.block_mask = mask}));
  EXPECT_ERROR(block_mask({}, 1, 1));
  EXPECT_ERROR(block_mask(always, -1, 2));
  EXPECT_ERROR(block_mask(always, int64_t{1} << 40, int64_t{1} << 40));
  EXPECT_ERROR(flex::Table<int64_t>(ids)(0, 1));
  EXPECT_TEXT(error_of([&] { flex::Table<int64_t> wrong(q); }));
  EXPECT_TEXT(error_of([&] { flex::Table<float> wrong(q.as_leaf()); }));
  EXPECT_TEXT(error_of([&] {
    const flex::Table<int64_t> table(ids);
    block_mask([table](auto, auto, auto, auto k) { return table(k) > 0; }, 1, 3);
  }));
  const Tensor leaf = q.as_leaf();
  EXPECT_EQ(error_of([&] {
              Tape().backward(sum(flex_attention(leaf, q, q)), {.create_graph = true});
            }).find("[flex_attention]"),
            0u);
}

}  // namespace
}  // namespace tapegrad::tests
