// Topics of `tapegrad show` that train models: their tables have what they are about, and their pictures no faults.
#include <gtest/gtest.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/svg_check.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace tapegrad::tests {
namespace {

// Runs the topic, and looks at all that it writes.
void expect_drawn(const std::string& topic, const Arguments& more) {
  const TemporaryFolder folder;
  const Ran ran = run_command(joined({"show", topic, "--out", folder / "p"}, more));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  expect_narrow(ran.out.substr(0, ran.out.rfind("Pictures: ")));
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

TEST(ShowExperiments, MaskLeak) {
  expect_drawn("mask-leak", {"--length", "4", "--steps", "2", "--seed", "3", "--threads", "1"});
  const TemporaryFolder folder;
  const Ran ran = run_command({"show", "mask-leak", "--length", "12", "--steps", "300", "--out", folder / "p"});
  ASSERT_EQ(ran.code, 0) << ran.err;
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

TEST(ShowExperiments, OrderBlindness) {
  expect_drawn("order-blindness", {"--dim", "8", "--seed", "3"});
  const TemporaryFolder folder;
  const Ran ran = run_command({"show", "order-blindness", "--out", folder / "p"});
  EXPECT_NE(ran.out.find("Not told apart with: none and index."), std::string::npos) << ran.out;
  EXPECT_LT(shown_number(ran.out, "none", 0), 1e-12);
  EXPECT_GT(shown_number(ran.out, "sinusoidal", 0), 0.01);
  EXPECT_GT(shown_number(ran.out, "none, causal", 0), 0.01);
}

TEST(ShowExperiments, Hopfield) {
  expect_drawn("hopfield", {"--length", "2", "--dim", "2", "--seed", "3"});
  const TemporaryFolder folder;
  const Ran ran = run_command({"show", "hopfield", "--out", folder / "p"});
  EXPECT_NE(ran.out.find("patterns fixed, W = I: the energy never rises."), std::string::npos) << ran.out;
  EXPECT_LT(shown_number(ran.out, "patterns fixed, W = I", 1), shown_number(ran.out, "patterns fixed, W = I", 0));
}

TEST(ShowExperiments, RecurrentLengths) {
  const Arguments small{"--length", "12", "--steps", "3", "--threads", "1"};
  expect_drawn("recurrent-lengths", small);
  const TemporaryFolder folder;
  const Ran ran = run_command(joined({"show", "recurrent-lengths", "--out", folder / "p"}, small));
  for (const char* words : {"Write it down again\nlength ", "Write it backwards\n", "\nGRU, attention ",
                            "\nTransformer: below 0.9 at every length."}) {
    EXPECT_NE(ran.out.find(words), std::string::npos) << words << " in " << ran.out;
  }
}

TEST(ShowExperiments, Depth) {
  expect_drawn("depth", {"--length", "2", "--dim", "8", "--seed", "3"});
  const TemporaryFolder folder;
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

TEST(ShowExperiments, HeadRoles) {
  expect_drawn("head-roles", {"--length", "4", "--steps", "3", "--seed", "3", "--threads", "1"});
  const TemporaryFolder folder;
  const Ran ran = run_command({"show", "head-roles", "--steps", "100", "--threads", "1", "--out", folder / "p"});
  EXPECT_LT(shown_number(ran.out, "accuracy", 0), 0.1);
  EXPECT_GT(shown_number(ran.out, "accuracy", 4), 0.95);
  EXPECT_NE(ran.out.find("While writing, 0 of 8 heads have a role at first, 8 after training."), std::string::npos)
      << ran.out;
}

}  // namespace
}  // namespace tapegrad::tests
