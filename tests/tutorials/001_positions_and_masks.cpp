// Tutorial 001, section 3: sinusoidal positions, the causal mask and masked scores.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/programs/positions_and_masks.h>

namespace tapegrad {
namespace {

using json = Json;

// tests/data/tutorials.json, written by make_tutorials.py: the results of the tutorial's unseeded code with seed 0.
json results_with_seed_0() { return tests::stored("tutorials.json")["tutorial001"]; }

TEST(Tutorial001_3, SubsequentMaskIsTheCausalMask) {
  EXPECT_EQ(str(tasks::subsequent_mask(5)), str(nn::causal_mask(5).unsqueeze(0)));
}

TEST(Tutorial001_3, MaskedScores) {
  manual_seed(0);
  const Tensor scores = randn({1, 5, 5}), mask = tasks::subsequent_mask(5);
  EXPECT_EQ(str(scores), results_with_seed_0()["scores"].get<std::string>());
  const Tensor masked = masked_fill(scores, mask == 0, -1e9);
  EXPECT_EQ(str(masked), results_with_seed_0()["masked"].get<std::string>());
  // -1e9 masks as well as minus infinity, unless a row is fully masked.
  EXPECT_EQ(softmax(masked).to_vector<float>(), softmax(masked_fill(scores, !mask, -INFINITY)).to_vector<float>());
}

TEST(Tutorial001_3, PositionalEncoding) {
  const json g = results_with_seed_0();
  const int64_t d_model = g["d_model"];
  const tasks::PositionalEncoding encoding(d_model);
  EXPECT_EQ(str(encoding.pe->shape()), str(Shape{5000, 1, d_model}));
  for (const auto& [position, row] : g["pe"].items()) {
    // float32 angles are rounded to 6e-8 of their size, so far positions can differ by that much.
    const int64_t t = std::stoll(position);
    const double room = 1e-6 + 1.2e-7 * static_cast<double>(t);
    const std::vector<float> mine = encoding.pe.tensor()[t][0].to_vector<float>();
    const std::vector<float> ready = nn::sinusoidal_table(t + 1, d_model)[t].to_vector<float>();
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_NEAR(mine[i], row[i].get<double>(), room) << "position " << t << ", dimension " << i;
      EXPECT_NEAR(ready[i], row[i].get<double>(), room) << "position " << t << ", dimension " << i;
    }
  }
}

// Time is the first axis, the batch the second: each sentence of the batch gets the same positions.
TEST(Tutorial001_3, PositionsAreAddedToWordsOfABatch) {
  const tasks::PositionalEncoding encoding(6, 50);
  manual_seed(1);
  const Tensor x = randn({7, 2, 6});
  const Tensor placed = encoding(x);
  EXPECT_EQ(placed.shape(), x.shape());
  const nn::SinusoidalPositions ready(50, 6);  // batch first
  EXPECT_LT(amax(abs(placed - ready(x.transpose(0, 1)).transpose(0, 1))).item(), 1e-6);
}

}  // namespace
}  // namespace tapegrad
