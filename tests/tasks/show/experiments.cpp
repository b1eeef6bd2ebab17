// Topics of `tapegrad show` that train models: their tables have what they are about, and their pictures no faults.
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/show/toeplitz.h>

namespace tapegrad::tests {
namespace {

// Runs the topic, and looks at all that it writes.
void expect_drawn(const std::string& topic, const Arguments& more) {
  const TemporaryFolder folder;
  const Ran ran = successful(run_command(joined({"show", topic, "--out", folder / "p"}, more)));
  EXPECT_EQ(ran.err, "");
  expect_narrow(ran.out.substr(0, ran.out.rfind("Plots: ")));
  EXPECT_EQ(faults_of_svg(slurp(folder / ("p/" + topic + ".svg"))), std::vector<std::string>());
  EXPECT_EQ(faults_of_page(slurp(folder / ("p/" + topic + ".html"))), std::vector<std::string>());
}

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

using ShowExperiments = InAFolder;

TEST_F(ShowExperiments, MaskLeak) {
  expect_drawn("mask-leak", {"--length", "4", "--steps", "2", "--seed", "3", "--threads", "1"});
  const Ran ran =
      successful(run_command({"show", "mask-leak", "--length", "12", "--steps", "300", "--out", folder / "p"}));
  const std::string loss = "loss after the last step", written = "allowed successions in generated texts";
  const std::string moved = "change of other logits by another last token";
  EXPECT_GT(shown_number(ran.out, loss, 0), std::log(4.0) - 0.05);  // the entropy, up to the sample of texts
  EXPECT_LT(shown_number(ran.out, loss, 1), 1);                     // it reads what it should predict
  EXPECT_GT(shown_number(ran.out, written, 0), 0.8);
  EXPECT_LT(shown_number(ran.out, written, 1), 0.6);
  EXPECT_EQ(shown_number(ran.out, moved, 0), 0);
  EXPECT_GT(shown_number(ran.out, moved, 1), 0.5);
  EXPECT_NE(ran.out.find("this one reads the next token."), std::string::npos) << ran.out;
}

TEST_F(ShowExperiments, OrderBlindness) {
  expect_drawn("order-blindness", {"--dim", "8", "--seed", "3"});
  const Ran ran = run_command({"show", "order-blindness", "--out", folder / "p"});
  EXPECT_NE(ran.out.find("Not distinguished with: none and index."), std::string::npos) << ran.out;
  EXPECT_LT(shown_number(ran.out, "none", 0), 1e-12);
  EXPECT_GT(shown_number(ran.out, "sinusoidal", 0), 0.01);
  EXPECT_GT(shown_number(ran.out, "none, causal", 0), 0.01);
}

// The first two rows and the errors are PyTorch's: clamp, transformers' T5Attention._relative_position_bucket, and
// means over the 256 x 256 pairs that share a number.
TEST_F(ShowExperiments, RelativePositions) {
  expect_drawn("relative-positions", {"--length", "64", "--dim", "1", "--seed", "3"});
  const Ran ran = run_command({"show", "relative-positions", "--length", "512", "--out", folder / "p"});
  expect_parts(ran.out, {"\ntutorial     15   16   17   19   23   27   30   30   30   30   30   30   30\n",
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
    EXPECT_NEAR(shown_number(ran.out, name, 0), tutorial, 6e-5) << name;
    EXPECT_NEAR(shown_number(ran.out, name, 1), t5, 6e-5) << name;
  }
  expect_parts(ran.out, {"\n      32", "\n     512"});
  EXPECT_LT(shown_number(ran.out, "     512", 4), 1e-12);  // FFT against the full product
  EXPECT_LT(shown_number(ran.out, "     512", 1), shown_number(ran.out, "     512", 0));
  EXPECT_EQ(shown_number(ran.out, "bias alone", 0), 0);
  EXPECT_LT(shown_number(ran.out, "bias alone", 1), 1e-13);
  EXPECT_GT(shown_number(ran.out, "bias + q k / sqrt(d)", 0), 1);
  EXPECT_LT(shown_number(ran.out, "(elu(q) + 1) (elu(k) + 1) exp(bias)", 0), 1e-12);
  EXPECT_NE(ran.out.find("0.2500 times the other"), std::string::npos) << ran.out;  // the tutorial's gradient
}

TEST_F(ShowExperiments, ToeplitzProducts) {
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

TEST_F(ShowExperiments, Hopfield) {
  expect_drawn("hopfield", {"--length", "2", "--dim", "2", "--seed", "3"});
  const Ran ran = run_command({"show", "hopfield", "--out", folder / "p"});
  EXPECT_NE(ran.out.find("patterns fixed, W = I: the energy never rises."), std::string::npos) << ran.out;
  EXPECT_LT(shown_number(ran.out, "patterns fixed, W = I", 1), shown_number(ran.out, "patterns fixed, W = I", 0));
}

TEST_F(ShowExperiments, RecurrentLengths) {
  const Arguments small{"--length", "12", "--steps", "3", "--threads", "1"};
  expect_drawn("recurrent-lengths", small);
  const Ran ran = run_command(joined({"show", "recurrent-lengths", "--out", folder / "p"}, small));
  expect_parts(ran.out, {"Write it down again\nlength ", "Write it backwards\n", "\nGRU, attention ",
                         "\nTransformer: below 0.9 at every length."});
}

TEST_F(ShowExperiments, Depth) {
  expect_drawn("depth", {"--length", "2", "--dim", "8", "--seed", "3"});
  const Ran ran = run_command({"show", "depth", "--out", folder / "p"});
  const auto from = [&](const char* stack) {
    const std::size_t at = ran.out.find("\n" + std::string(stack) + "\nlayers ");
    EXPECT_NE(at, std::string::npos) << stack << " in " << ran.out;
    return at == std::string::npos ? std::string() : ran.out.substr(at);
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
  EXPECT_NE(ran.out.find("Pre-LN: the rank never falls to 1;"), std::string::npos) << ran.out;
}

TEST_F(ShowExperiments, HeadRoles) {
  expect_drawn("head-roles", {"--length", "4", "--steps", "3", "--seed", "3", "--threads", "1"});
  const Ran ran = run_command({"show", "head-roles", "--steps", "100", "--threads", "1", "--out", folder / "p"});
  EXPECT_LT(shown_number(ran.out, "accuracy", 0), 0.1);
  EXPECT_GT(shown_number(ran.out, "accuracy", 4), 0.95);
  expect_parts(ran.out, {"While writing, 0 of 8 heads have a role at first, 8 after training."});
}

}  // namespace
}  // namespace tapegrad::tests
