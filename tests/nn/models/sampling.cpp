// Sampling: PyTorch's draws, the limits of top-k and nucleus, and samples of whole models.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using json = Json;
using Tokens = std::vector<int64_t>;

Tokens tokens_of(const Tensor& tokens, int64_t i) { return tokens[i].to_vector<int64_t>(); }

TEST(Sampling, SamplesAreThoseOfTorchsMultinomial) {
  const json runs = stored("generate.json");
  for (const json& run : runs) {
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
    EXPECT_EQ(tokens_of(out.tokens, 0), run["tokens"][0].get<Tokens>());
    EXPECT_EQ(tokens_of(out.tokens, 1), run["tokens"][1].get<Tokens>());
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

// --- sampling from models ---

// A small model with prompts of several rows: how to decode with it, and its scores [B, N, V] of the tokens [B, N] that
// follow the prompt, out of one pass over all of them.
struct Sampled {
  const char* name;
  Tensor prompt;
  std::function<std::unique_ptr<nn::NextTokenLogits>(bool cached)> next;
  std::function<Tensor(const Tensor& tokens)> scores;

  nn::Generated draw(nn::GenerateOptions options, uint64_t seed, bool cached = true) const {
    Generator generator(seed);
    options.generator = &generator;
    return nn::generate(*next(cached), prompt, options);
  }
};

// Samples are drawn from a Transformer and from a GPT. The rows of the prompts differ; with `equal_rows`, that many are
// equal.
void for_both_models(const std::function<void(const Sampled&)>& check, int64_t equal_rows = 0) {
  const auto rows = [&](const Tensor& x) { return equal_rows ? x[0].expand({equal_rows, x.size(1)}).contiguous() : x; };
  const auto tail = [](const Tensor& y, const Tensor& prompt) {
    return narrow(y, 1, prompt.size(1) - 1, y.size(1) - prompt.size(1) + 1);
  };
  const auto given = [](const Tensor& prompt, const Tensor& tokens) {
    return cat({prompt, narrow(tokens, 1, 0, tokens.size(1) - 1)}, 1);
  };
  {
    SCOPED_TRACE("Transformer");
    manual_seed(12);
    const nn::Transformer model = exact(nn::Transformer(small_transformer(7, 9)));
    const Tensor src = rows(tensor({{3, 1, 4, 1, 5}, {2, 6, 5, 3, 0}, {1, 4, 0, 0, 0}})), mask = nn::padding_mask(src);
    const Tensor prompt = zeros({src.size(0), 1}, kInt64);
    check({"Transformer", prompt,
           [&](bool cached) { return std::make_unique<nn::TransformerNext>(model, src, mask, cached); },
           [&](const Tensor& tokens) {
             return tail(model(src, given(prompt, tokens), mask, nn::causal_mask(tokens.size(1))), prompt);
           }});
  }
  {
    SCOPED_TRACE("GPT");
    manual_seed(13);
    const nn::GPTModel model = exact(nn::GPTModel(small_decoder(9, 12)));
    const Tensor prompt = rows(tensor({{3, 1, 4}, {8, 0, 2}, {7, 7, 7}}));
    check({"GPT", prompt, [&](bool cached) { return std::make_unique<nn::GPTNext>(model, cached); },
           [&](const Tensor& tokens) { return tail(model(given(prompt, tokens)), prompt); }});
  }
}
TEST(Sampling, TheSameSeedDrawsTheSameTokensFromTheModel) {
  for_both_models([](const Sampled& model) {
    const auto draw = [&](uint64_t seed, bool cached = true) {
      return model.draw({.max_new_tokens = 8, .temperature = 1.3, .top_k = 5, .top_p = 0.9}, seed, cached);
    };
    const nn::Generated first = draw(4), again = draw(4);
    const Tokens tokens = first.tokens.to_vector<int64_t>();
    EXPECT_EQ(again.tokens.to_vector<int64_t>(), tokens);
    EXPECT_EQ(again.scores, first.scores);
    EXPECT_EQ(draw(4, false).tokens.to_vector<int64_t>(), tokens) << "without a cache";
    EXPECT_NE(draw(5).tokens.to_vector<int64_t>(), tokens);
  });
}

// Two thousand first tokens of one prompt, counted: within four standard deviations of what the model gives.
TEST(Sampling, TokensAreDrawnWithTheModelsProbabilities) {
  constexpr int64_t kRows = 2000;
  for_both_models(
      [](const Sampled& model) {
        for (const double temperature : {0.5, 1.0, 3.0}) {
          const Tensor tokens = model.draw({.max_new_tokens = 1, .temperature = temperature}, 2).tokens;
          const std::vector<double> p = softmax(model.scores(tokens)[0][0] / temperature).to_vector<double>();
          std::vector<double> counts(p.size());
          for (const int64_t token : tokens.to_vector<int64_t>()) ++counts[static_cast<std::size_t>(token)];
          for (std::size_t token = 0; token < p.size(); ++token) {
            const double mean = kRows * p[token];
            EXPECT_NEAR(counts[token], mean, 4 * std::sqrt(mean * (1 - p[token])) + 1)
                << "token " << token << ", temperature " << temperature;
          }
        }
      },
      kRows);
}

}  // namespace
}  // namespace tapegrad::tests
