// Sampling: PyTorch's draws, and the limits of top-k and nucleus.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(Sampling, SamplesAreThoseOfTorchsMultinomial) {
  for (const Json& run : stored("generate.json")) {
    SCOPED_TRACE(run.dump().substr(0, 80));
    const int64_t vocabulary = run["vocabulary"];
    nn::NextTokenFunction model([&](const Tensor& ids) {  // ((37 i + 101 step) mod 1021 - 510) / 128
      std::vector<double> values;
      for (int64_t i = 0; i < 2 * vocabulary; ++i) {
        values.push_back(static_cast<double>((37 * i + 101 * (ids.size(1) - 1)) % 1021 - 510) / 128);
      }
      return tensor(values, {2, vocabulary}).to(kFloat32);
    });
    Generator generator(run["seed"].get<uint64_t>());
    const nn::Generated out = nn::generate(model, zeros({2, 1}, kInt64),
                                           {.max_new_tokens = 24,
                                            .temperature = run["temperature"],
                                            .top_k = run.value("top_k", 0),
                                            .top_p = run.value("top_p", 1.0),
                                            .generator = &generator});
    EXPECT_TRUE(equal(out.tokens, ids(run["tokens"])));
  }
}

TEST(Sampling, ProbabilitiesOfTopKAndNucleus) {
  const Tensor scores = log(tensor({{0.1, 0.5, 0.15, 0.25}}));
  expect_near(nn::sampling_probabilities(scores, {.temperature = 1}), {0.1, 0.5, 0.15, 0.25});
  expect_near(nn::sampling_probabilities(scores, {.temperature = 0.5}),
              {0.01 / 0.345, 0.25 / 0.345, 0.0225 / 0.345, 0.0625 / 0.345});
  expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_k = 2}), {0, 2.0 / 3, 0, 1.0 / 3});
  expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_k = 9}), {0.1, 0.5, 0.15, 0.25});
  expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_p = 0.7}), {0, 2.0 / 3, 0, 1.0 / 3});
  expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_p = 0.8}),
              {0, 0.5 / 0.9, 0.15 / 0.9, 0.25 / 0.9});
  expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_p = 1e-9}), {0, 1, 0, 0});
}

// scores / temperature overflows in float32, or the temperature rounds to 0: the limit is the most likely token.
TEST(Sampling, ProbabilitiesAtTemperaturesNearZero) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const double temperature : {1e-30, 1e-38, 1e-40, 1e-50, 1e-300, 1e-310, 5e-324}) {
      SCOPED_TRACE(testing::Message() << name(dtype) << ", temperature " << temperature);
      const auto of = [&](const Tensor& scores) {
        return nn::sampling_probabilities(scores.to(dtype), {.temperature = temperature});
      };
      expect_near(of(tensor({{1.0, 50.0, -2.0}, {-3.0, -4.0, -2.0}})), {0, 1, 0, 0, 0, 1});
      expect_near(of(tensor({{-1.0, 0.0, -2.0, 0.0}})), {0, 0.5, 0, 0.5});
      expect_near(of(tensor({{-kInf, 7.0, 5.0}})), {0, 1, 0});
      expect_near(nn::sampling_probabilities(tensor({{1.0, 50.0, -2.0}}).to(dtype),
                                             {.temperature = temperature, .top_k = 2, .top_p = 0.9}),
                  {0, 1, 0});
    }
  }
}

}  // namespace
}  // namespace tapegrad::tests
