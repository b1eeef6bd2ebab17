// Topics of `tapegrad show` that train models: their tables have what they are about, and their pictures no faults.
#include <tapegrad/tests/support/pictures/shown.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/show/toeplitz.h>

namespace tapegrad::tests {
namespace {

// The number after `name` in the output: in the `column`th column of numbers.
double shown_number(const std::string& out, const std::string& name, int column) {
  const std::size_t at = out.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << name << " in " << out;
  if (at == std::string::npos) return std::nan("");
  std::istringstream numbers(out.substr(at + 1 + name.size()));
  double value = 0;
  for (int i = 0; i <= column; ++i) numbers >> value;
  return value;
}

TEST(ShowExperiments, MaskLeak) {
  const std::string out = expect_shows("mask-leak", {"--length", "12", "--steps", "300"}).text;
  const std::string loss = "loss after the last step", written = "allowed successions in generated texts";
  const std::string moved = "change of other logits by another last token";
  EXPECT_GT(shown_number(out, loss, 0), std::log(4.0) - 0.05);  // the entropy, up to the sample of texts
  EXPECT_LT(shown_number(out, loss, 1), 1);                     // it reads what it should predict
  EXPECT_GT(shown_number(out, written, 0), 0.8);
  EXPECT_LT(shown_number(out, written, 1), 0.6);
  EXPECT_EQ(shown_number(out, moved, 0), 0);
  EXPECT_GT(shown_number(out, moved, 1), 0.5);
  EXPECT_NE(out.find("this one reads the next token."), std::string::npos) << out;
}

TEST(ShowExperiments, OrderBlindness) {
  const std::string out = expect_shows("order-blindness").text;
  EXPECT_NE(out.find("Not distinguished with: none and index."), std::string::npos) << out;
  EXPECT_LT(shown_number(out, "none", 0), 1e-12);
  EXPECT_GT(shown_number(out, "sinusoidal", 0), 0.01);
  EXPECT_GT(shown_number(out, "none, causal", 0), 0.01);
}

// The first two rows and the errors are PyTorch's: clamp, transformers' T5Attention._relative_position_bucket, and
// means over the 256 x 256 pairs that share a number.
TEST(ShowExperiments, RelativePositions) {
  const std::string out = expect_shows("relative-positions", {"--length", "512"}).text;
  expect_parts(out, {"\ntutorial     15   16   17   19   23   27   30   30   30   30   30   30   30\n",
                     "\nt5            0    1    2    4    8    9    9   10   11   12   14   14   15\n",
                     "\ntutorial: 31 of 31 numbers are used; distances of 15 and more share one.\n",
                     "\nt5: 31 of 32 numbers are used; distances of 91 and more share one.\n"});
  const struct {
    const char* name;
    double tutorial, t5;
  } kErrors[] = {{"-|i - j| / 16, as of ALiBi", 3.3561, 1.5935},
                 {"-log(1 + |i - j|)", 0.6473, 0.1830},
                 {"cos(2 pi (i - j) / 16)", 0.6703, 0.6623},
                 {"1 if i - j = 12, else 0", 0, 0.0528},
                 {"1 if i - j = 24, else 0", 0.0593, 0.0560}};
  for (const auto& [name, tutorial, t5] : kErrors) {
    EXPECT_NEAR(shown_number(out, name, 0), tutorial, 6e-5) << name;
    EXPECT_NEAR(shown_number(out, name, 1), t5, 6e-5) << name;
  }
  expect_parts(out, {"\n      32", "\n     512"});
  EXPECT_LT(shown_number(out, "     512", 4), 1e-12);  // FFT against the full product
  EXPECT_LT(shown_number(out, "     512", 1), shown_number(out, "     512", 0));
  EXPECT_EQ(shown_number(out, "bias alone", 0), 0);
  EXPECT_LT(shown_number(out, "bias alone", 1), 1e-13);
  EXPECT_GT(shown_number(out, "bias + q k / sqrt(d)", 0), 1);
  EXPECT_LT(shown_number(out, "(elu(q) + 1) (elu(k) + 1) exp(bias)", 0), 1e-12);
  EXPECT_NE(out.find("0.2500 times the other"), std::string::npos) << out;  // the tutorial's gradient
}

TEST(ShowExperiments, ToeplitzProducts) {
  using namespace tasks;
  Generator generator(5);
  for (const int64_t n : {1, 2, 3, 5, 8, 31, 100}) {
    const Tensor diagonals = randn({2 * n - 1}, kFloat64, &generator), x = randn({n, 3}, kFloat64, &generator);
    const std::vector<double> t = diagonals.to_vector<double>(), v = x.to_vector<double>();
    std::vector<double> full(v.size(), 0);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t c = 0; c < 3; ++c)
          full[static_cast<std::size_t>(3 * i + c)] +=
              t[static_cast<std::size_t>(i - j + n - 1)] * v[static_cast<std::size_t>(3 * j + c)];
    Toeplitz matrix(diagonals);
    EXPECT_LT(largest_difference(matrix.times(x), tensor(full, {n, 3})), 1e-12) << n;
    EXPECT_LT(largest_difference(matmul(matrix.matrix(), x), tensor(full, {n, 3})), 1e-12) << n;
  }
  Toeplitz matrix(randn({9}, kFloat64, &generator));  // 5 rows: transforms of 16 numbers
  const int64_t transform = 4 * 8 * 4;                // four multiplications in each of 8 pairs, four times
  EXPECT_EQ(matrix.multiplications(), transform);
  matrix.times(randn({5, 2}, kFloat64, &generator));
  EXPECT_EQ(matrix.multiplications(), transform + 2 * (2 * transform + 4 * 16 + 5));
  EXPECT_ERROR(Toeplitz(zeros({4}, kFloat64)));
  EXPECT_ERROR(Toeplitz(zeros({3})));
  EXPECT_ERROR(matrix.times(zeros({4, 1}, kFloat64)));
}

TEST(ShowExperiments, Hopfield) {
  const std::string out = expect_shows("hopfield").text;
  EXPECT_NE(out.find("patterns fixed, W = I: the energy never rises."), std::string::npos) << out;
  EXPECT_LT(shown_number(out, "patterns fixed, W = I", 1), shown_number(out, "patterns fixed, W = I", 0));
}

TEST(ShowExperiments, RecurrentLengths) {
  const std::string out = expect_shows("recurrent-lengths", {"--length", "12", "--steps", "3", "--threads", "1"}).text;
  expect_parts(out, {"Write it down again\nlength ", "Write it backwards\n", "\nGRU, attention ",
                     "\nTransformer: below 0.9 at every length."});
}

TEST(ShowExperiments, Depth) {
  const std::string out = expect_shows("depth").text;
  const auto from = [&](const char* stack) {
    const std::size_t at = out.find("\n" + std::string(stack) + "\nlayers ");
    EXPECT_NE(at, std::string::npos) << stack << " in " << out;
    return at == std::string::npos ? std::string() : out.substr(at);
  };
  const std::string pre = from("Pre-LN"), post = from("Post-LN"), alone = from("Attention alone, without residuals");
  EXPECT_EQ(shown_number(pre, "24", 0), 32);  // rank
  EXPECT_EQ(shown_number(post, "24", 0), 1);
  EXPECT_EQ(shown_number(alone, "4", 0), 1);
  EXPECT_LT(shown_number(pre, "24", 1), 0.95);  // similarity
  EXPECT_GT(shown_number(post, "24", 1), 0.99);
  EXPECT_GT(shown_number(pre, "2", 2), shown_number(pre, "24", 2));  // signal to noise
  EXPECT_GT(shown_number(pre, "24", 2), 1);
  EXPECT_LT(shown_number(post, "24", 2), 1);
  EXPECT_GT(shown_number(pre, "24", 4), 1);  // gradient ratio
  EXPECT_LT(shown_number(post, "24", 4), 1);
  EXPECT_NE(out.find("Pre-LN: the rank never falls to 1;"), std::string::npos) << out;
}

TEST(ShowExperiments, HeadRoles) {
  const std::string out = expect_shows("head-roles", {"--steps", "100", "--threads", "1"}).text;
  EXPECT_LT(shown_number(out, "accuracy", 0), 0.1);
  EXPECT_GT(shown_number(out, "accuracy", 4), 0.95);
  expect_parts(out, {"While writing, 0 of 8 heads have a role at first, 8 after training."});
}

}  // namespace
}  // namespace tapegrad::tests
