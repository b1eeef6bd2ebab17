// Decoding: greedy, beam search and sampling, stopping, and caches.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/near.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tapegrad {
namespace {

using nlohmann::json;
using nn::Positions;
using tests::error_of;
using Tokens = std::vector<int64_t>;

Tokens row(const Tensor& tokens, int64_t i) { return tokens[i].to_vector<int64_t>(); }

nn::Transformer some_model(uint64_t seed, Positions positions = Positions::learned) {
  manual_seed(seed);
  nn::Transformer model({.vocab_size = 7,
                         .hidden_size = 8,
                         .num_hidden_layers = 2,
                         .num_attention_heads = 2,
                         .intermediate_size = 16,
                         .max_position_embeddings = 9,
                         .positions = positions,
                         .position_options = {.shaw_distance = 2, .t5_buckets = 8, .t5_distance = 12}});
  nn::eval(model);
  return model;
}

// A chain of tokens, from 0: 1 with 0.6, 2 with 0.4. After 1: 1, 2 and 3 with 1/3 each; after 2: 3 with 0.99. 3 is the
// end.
Tensor garden_path(const Tensor& ids) {
  const Tensor table =
      tensor({{1e-9, 0.6, 0.4, 1e-9}, {1e-9, 0.34, 0.33, 0.33}, {1e-9, 0.005, 0.005, 0.99}, {1e-9, 1e-9, 1e-9, 1.0}});
  return log(index_select(table, 0, ids.select(1, -1)));
}

const Tensor kStart = zeros({1, 1}, kInt64);

// --- greedy ---

TEST(Generate, GreedyTakesTheMostLikelyToken) {
  nn::NextTokenFunction model(garden_path);
  const nn::Generated out = nn::generate(model, kStart, {.max_new_tokens = 4});
  EXPECT_EQ(row(out.tokens, 0), (Tokens{1, 1, 1, 1}));
  EXPECT_EQ(out.lengths, (Tokens{4}));
  EXPECT_NEAR(out.scores[0], std::log(0.6 * 0.34 * 0.34 * 0.34), 1e-6);
}

TEST(Generate, GreedyDecodeEqualsStoredTokens) {
  const nn::Transformer model = some_model(1);
  const Tensor src = randint(1, 7, {3, 6}), mask = nn::padding_mask(src);
  const Tensor tokens = nn::greedy_decode(model, src, mask, 5, 2);
  nn::TransformerNext next(model, src, mask);
  EXPECT_EQ(tokens.to_vector<int64_t>(),
            nn::generate(next, full({3, 1}, 2, kInt64), {.max_new_tokens = 5}).tokens.to_vector<int64_t>());
}

// --- stops ---

TEST(Generate, AModelCanBeUsedForSeveralPrompts) {
  manual_seed(4);
  nn::GPTModel gpt(
      {.vocab_size = 41, .context_length = 24, .emb_dim = 16, .n_heads = 2, .n_layers = 2, .drop_rate = 0});
  nn::eval(gpt);
  nn::GPTNext used(gpt);
  for (const int64_t length : {3, 8, 8, 2}) {
    const Tensor prompt = randint(0, 41, {1, length});
    for (const int64_t beams : {1, 3}) {
      const nn::GenerateOptions options{.max_new_tokens = 5, .beams = beams};
      nn::GPTNext fresh(gpt);
      EXPECT_EQ(row(nn::generate(used, prompt, options).tokens, 0),
                row(nn::generate(fresh, prompt, options).tokens, 0));
    }
  }
  const nn::Transformer model = some_model(6);
  const Tensor src = randint(1, 7, {2, 5});
  for (const bool cached : {true, false}) {
    nn::TransformerNext again(model, src, {}, cached);
    for (const int64_t beams : {3, 1, 2}) {
      const nn::GenerateOptions options{.max_new_tokens = 4, .beams = beams};
      nn::TransformerNext fresh(model, src, {}, cached);
      const Tensor prompt = zeros({2, 1}, kInt64);
      EXPECT_EQ(nn::generate(again, prompt, options).tokens.to_vector<int64_t>(),
                nn::generate(fresh, prompt, options).tokens.to_vector<int64_t>());
    }
  }
}

TEST(Generate, StopsByLengthEndTokenAndPredicate) {
  // Counts up from the last token; row 1 starts at 2.
  nn::NextTokenFunction count([](const Tensor& ids) {
    return one_hot(ids.select(1, -1) + tensor({1, 1}), 8).to(kFloat32);
  });
  const Tensor prompt = tensor(Tokens{0, 2}, {2, 1});
  const auto run = [&](const nn::GenerateOptions& options) {
    nn::Generated out = nn::generate(count, prompt, options);
    return std::pair(std::vector<Tokens>{row(out.tokens, 0), row(out.tokens, 1)}, out.lengths);
  };
  using Rows = std::vector<Tokens>;
  EXPECT_EQ(run({.max_new_tokens = 3}), std::pair(Rows({{1, 2, 3}, {3, 4, 5}}), Tokens({3, 3})));
  EXPECT_EQ(run({.max_new_tokens = 5, .end_token = 4}), std::pair(Rows({{1, 2, 3, 4}, {3, 4, 0, 0}}), Tokens({4, 2})));
  EXPECT_EQ(run({.max_new_tokens = 5, .end_token = 4, .pad_token = 6}).first[1], (Tokens{3, 4, 6, 6}));
  std::vector<std::size_t> asked;
  const auto third = [&](std::span<const int64_t> tokens) {
    asked.push_back(tokens.size());
    return tokens.back() == 3;
  };
  EXPECT_EQ(run({.max_new_tokens = 5, .stop = third}), std::pair(Rows({{1, 2, 3}, {3, 0, 0}}), Tokens({3, 1})));
  EXPECT_EQ(asked, (std::vector<std::size_t>{1, 1, 2, 3}));  // never empty
}

TEST(Generate, EmptyTargetsAndStopsAtTheFirstToken) {
  const nn::Transformer model = some_model(2);
  const Tensor src = randint(1, 7, {2, 4});
  EXPECT_EQ(nn::greedy_decode(model, src, {}, 0).shape(), (Shape{2, 0}));
  for (const int64_t beams : {1, 3}) {
    nn::TransformerNext empty(model, src);
    const nn::Generated none = nn::generate(empty, zeros({2, 1}, kInt64), {.max_new_tokens = 0, .beams = beams});
    EXPECT_EQ(none.tokens.shape(), (Shape{2, 0}));
    EXPECT_EQ(none.lengths, (Tokens{0, 0}));
    EXPECT_EQ(none.scores, (std::vector<double>{0, 0}));
    nn::TransformerNext next(model, src);
    const nn::Generated one = nn::generate(next, zeros({2, 1}, kInt64),
                                           {.max_new_tokens = 5, .stop = [](auto) { return true; }, .beams = beams});
    EXPECT_EQ(one.lengths, (Tokens{1, 1}));
    EXPECT_EQ(one.tokens.to_vector<int64_t>(), nn::greedy_decode(model, src, {}, 1).to_vector<int64_t>());
    nn::TransformerNext nobody(model, zeros({0, 4}, kInt64));
    EXPECT_EQ(nn::generate(nobody, zeros({0, 1}, kInt64), {.max_new_tokens = 3, .beams = beams}).tokens.size(0), 0);
  }
}

TEST(Generate, FullyMaskedSourcesHaveNoInfluence) {
  for (const Positions positions : {Positions::learned, Positions::rope, Positions::shaw, Positions::t5}) {
    const nn::Transformer model = some_model(3, positions);
    const Tensor src = tensor({{3, 1, 4}, {0, 0, 0}});
    for (const int64_t beams : {1, 3}) {
      nn::TransformerNext both(model, src, nn::padding_mask(src));
      const nn::Generated out = nn::generate(both, zeros({2, 1}, kInt64), {.max_new_tokens = 6, .beams = beams});
      EXPECT_EQ(out.lengths, (Tokens{6, 6}));
      EXPECT_TRUE(std::isfinite(out.scores[1]));
      // A fully masked source has no influence.
      const Tensor other = tensor({{5, 5, 6}});
      nn::TransformerNext alone(model, other, zeros({1, 1, 1, 3}, kBool));
      const nn::Generated same = nn::generate(alone, kStart, {.max_new_tokens = 6, .beams = beams});
      EXPECT_EQ(row(same.tokens, 0), row(out.tokens, 1));
    }
  }
}

// --- beams ---

TEST(Generate, BeamsFindWhatGreedyMisses) {
  nn::NextTokenFunction model(garden_path);
  const nn::Generated greedy = nn::generate(model, kStart, {.max_new_tokens = 3, .end_token = 3});
  const nn::Generated beams = nn::generate(model, kStart, {.max_new_tokens = 3, .end_token = 3, .beams = 2});
  EXPECT_EQ(row(beams.tokens, 0), (Tokens{2, 3}));
  EXPECT_NEAR(beams.scores[0], std::log(0.4 * 0.99), 1e-6);
  EXPECT_GT(beams.scores[0], greedy.scores[0]);
  // ((5 + 2) / 6)^0.5 divides the log-probability.
  const nn::Generated divided =
      nn::generate(model, kStart, {.max_new_tokens = 3, .end_token = 3, .beams = 2, .length_penalty = 0.5});
  EXPECT_NEAR(divided.scores[0], std::log(0.4 * 0.99) / std::sqrt(7.0 / 6.0), 1e-6);
}

// Compares with all sequences of a small chain: a beam as wide as their number finds the best one.
TEST(Generate, WideBeamsFindTheBestSequence) {
  const nn::Transformer model = some_model(4);
  const Tensor src = randint(1, 7, {1, 5});
  constexpr int64_t kLength = 3;
  double best = -INFINITY;
  Tokens best_tokens;
  for (int64_t code = 0; code < 343; ++code) {
    Tokens tokens{code / 49, code / 7 % 7, code % 7};
    const Tensor given = tensor(Tokens{0, tokens[0], tokens[1]}, {1, 3});
    const Tensor log_probabilities = model(src, given, {}, nn::causal_mask(3));
    double sum = 0;
    std::size_t length = 0;
    while (length < 3) {
      sum += log_probabilities[0][static_cast<int64_t>(length)][tokens[length]].item();
      if (tokens[length++] == 2) break;
    }
    tokens.resize(length);
    if (sum <= best) continue;
    best = sum;
    best_tokens = tokens;
  }
  nn::TransformerNext next(model, src);
  const nn::Generated out = nn::generate(next, kStart, {.max_new_tokens = kLength, .end_token = 2, .beams = 343});
  EXPECT_EQ(row(out.tokens, 0), best_tokens);
  EXPECT_NEAR(out.scores[0], best, 1e-5);
}

TEST(Generate, OneBeamIsGreedyAndWiderOnesNeverScoreLess) {
  int64_t better = 0;
  for (const uint64_t seed : {5, 6, 7}) {
    nn::Transformer model = some_model(seed);
    nn::to(model, kFloat64);
    const Tensor src = randint(1, 7, {12, 6}), mask = nn::padding_mask(src), prompt = zeros({12, 1}, kInt64);
    for (const double penalty : {0.0, 0.8}) {
      const auto search = [&](int64_t beams) {
        nn::TransformerNext next(model, src, mask);
        nn::GenerateOptions options{.max_new_tokens = 8, .end_token = 3, .beams = beams, .length_penalty = penalty};
        return nn::generate(next, prompt, options);
      };
      const auto forced = [&](const Tokens& tokens, int64_t i) {  // the score of a row, all at once
        Tokens given{0};
        given.insert(given.end(), tokens.begin(), tokens.end() - 1);
        const auto length = static_cast<int64_t>(given.size());
        const Tensor y = model(narrow(src, 0, i, 1), tensor(given, {1, length}), {}, nn::causal_mask(length));
        double sum = 0;
        for (std::size_t t = 0; t < tokens.size(); ++t) {
          sum += y[0][static_cast<int64_t>(t)][tokens[t]].item();
        }
        return sum / std::pow((5 + static_cast<double>(tokens.size())) / 6, penalty);
      };
      nn::TransformerNext next(model, src, mask);
      const nn::Generated greedy = nn::generate(next, prompt, {.max_new_tokens = 8, .end_token = 3});
      nn::Generated narrower = search(1);
      EXPECT_EQ(narrower.tokens.to_vector<int64_t>(), greedy.tokens.to_vector<int64_t>());
      for (int64_t beams = 2; beams <= 6; ++beams) {
        const nn::Generated wider = search(beams);
        for (std::size_t i = 0; i < 12; ++i) {
          const double before = narrower.scores[i];
          EXPECT_GE(wider.scores[i], before - 1e-12) << beams << " beams, row " << i;
          better += wider.scores[i] > before + 1e-9 ? 1 : 0;
          Tokens tokens = row(wider.tokens, static_cast<int64_t>(i));
          tokens.resize(static_cast<std::size_t>(wider.lengths[i]));
          EXPECT_NEAR(wider.scores[i], forced(tokens, static_cast<int64_t>(i)), 1e-10);
        }
        narrower = wider;
      }
    }
  }
  EXPECT_GT(better, 0);
}

// --- the cache ---

TEST(Generate, CachedEqualsUncachedForEveryKindOfPositions) {
  for (const Positions positions : {Positions::none, Positions::index, Positions::learned, Positions::sinusoidal,
                                    Positions::rope, Positions::shaw, Positions::t5, Positions::alibi}) {
    SCOPED_TRACE(nn::name(positions));
    for (const DType dtype : {kFloat32, kFloat64}) {
      nn::Transformer model = some_model(8, positions);
      nn::to(model, dtype);
      const Tensor src = tensor({{3, 1, 4, 1, 5}, {2, 6, 0, 0, 0}, {5, 3, 5, 0, 0}});
      const Tensor prompt = tensor({{0, 1}, {0, 2}, {0, 3}});  // two tokens at once, then one by one
      for (const int64_t beams : {1, 4}) {
        nn::TransformerNext cached(model, src, nn::padding_mask(src)),
            uncached(model, src, nn::padding_mask(src), false);
        const nn::GenerateOptions options{.max_new_tokens = 7, .end_token = 6, .beams = beams};
        const nn::Generated a = nn::generate(cached, prompt, options), b = nn::generate(uncached, prompt, options);
        EXPECT_EQ(a.tokens.to_vector<int64_t>(), b.tokens.to_vector<int64_t>());
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_NEAR(a.scores[i], b.scores[i], dtype == kFloat64 ? 1e-12 : 1e-4);
        }
      }
    }
  }
}

TEST(Generate, GptCachedEqualsUncachedForEveryKindOfPositions) {
  for (const Positions positions : {Positions::none, Positions::index, Positions::learned, Positions::sinusoidal,
                                    Positions::rope, Positions::shaw, Positions::t5, Positions::alibi}) {
    SCOPED_TRACE(nn::name(positions));
    const bool ends = positions == Positions::learned;  // after 6 tokens it reads the last 6
    manual_seed(11);
    nn::GPTModel model({.vocab_size = 7,
                        .context_length = ends ? 6 : 2,
                        .emb_dim = 8,
                        .n_heads = 2,
                        .n_layers = 2,
                        .positions = positions,
                        .position_options = {.shaw_distance = 2, .t5_buckets = 8, .t5_distance = 12}});
    EXPECT_EQ(nn::count_parameters(model), model.config.parameter_count());
    nn::to(model, kFloat64);
    nn::eval(model);
    for (const int64_t beams : {1, 3}) {
      nn::GPTNext cached(model), uncached(model, false);
      const Tensor prompt = tensor({{3, 1}, {4, 1}});
      const nn::GenerateOptions options{.max_new_tokens = 9, .end_token = 6, .beams = beams};
      const nn::Generated a = nn::generate(cached, prompt, options), b = nn::generate(uncached, prompt, options);
      EXPECT_EQ(a.tokens.to_vector<int64_t>(), b.tokens.to_vector<int64_t>());
      for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(a.scores[i], b.scores[i], 1e-11);
    }
    // Greedy by hand, all tokens at every step.
    Tensor ids = tensor({{3, 1}});
    for (int n = 0; n < 9; ++n) {
      const Tensor window = ends ? ids.slice(1, -std::min<int64_t>(ids.size(1), 6)) : ids;
      ids = cat({ids, argmax(model(window).select(1, -1), -1, true)}, 1);
    }
    nn::GPTNext next(model);
    EXPECT_EQ(row(nn::generate(next, tensor({{3, 1}}), {.max_new_tokens = 9}).tokens, 0), row(narrow(ids, 1, 2, 9), 0));
  }
}

// --- sampling ---

TEST(Generate, SamplesAreThoseOfTorchsMultinomial) {
  const json runs = json::parse(std::ifstream(std::string(tests::kTestsDir) + "/data/generate.json"));
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
    EXPECT_EQ(row(out.tokens, 0), run["tokens"][0].get<Tokens>());
    EXPECT_EQ(row(out.tokens, 1), run["tokens"][1].get<Tokens>());
  }
}

TEST(Generate, ProbabilitiesOfTopKAndNucleus) {
  const Tensor scores = log(tensor({{0.1, 0.5, 0.15, 0.25}}));
  tests::expect_near(nn::sampling_probabilities(scores, {.temperature = 1}), {0.1, 0.5, 0.15, 0.25});
  tests::expect_near(nn::sampling_probabilities(scores, {.temperature = 0.5}),
                     {0.01 / 0.345, 0.25 / 0.345, 0.0225 / 0.345, 0.0625 / 0.345});
  tests::expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_k = 2}), {0, 2.0 / 3, 0, 1.0 / 3});
  tests::expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_k = 9}), {0.1, 0.5, 0.15, 0.25});
  tests::expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_p = 0.7}), {0, 2.0 / 3, 0, 1.0 / 3});
  tests::expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_p = 0.8}),
                     {0, 0.5 / 0.9, 0.15 / 0.9, 0.25 / 0.9});
  tests::expect_near(nn::sampling_probabilities(scores, {.temperature = 1, .top_p = 1e-9}), {0, 1, 0, 0});
}

// scores / temperature overflows in float32, or the temperature rounds to 0: the limit is the most likely token.
TEST(Generate, ProbabilitiesAtTemperaturesNearZero) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const double temperature : {1e-30, 1e-38, 1e-40, 1e-50, 1e-300, 1e-310, 5e-324}) {
      SCOPED_TRACE(testing::Message() << name(dtype) << ", temperature " << temperature);
      const auto of = [&](const Tensor& scores) {
        return nn::sampling_probabilities(scores.to(dtype), {.temperature = temperature});
      };
      tests::expect_near(of(tensor({{1.0, 50.0, -2.0}, {-3.0, -4.0, -2.0}})), {0, 1, 0, 0, 0, 1});
      tests::expect_near(of(tensor({{-1.0, 0.0, -2.0, 0.0}})), {0, 0.5, 0, 0.5});
      const double nothing = -std::numeric_limits<double>::infinity();
      tests::expect_near(of(tensor({{nothing, 7.0, 5.0}})), {0, 1, 0});
      tests::expect_near(nn::sampling_probabilities(tensor({{1.0, 50.0, -2.0}}).to(dtype),
                                                    {.temperature = temperature, .top_k = 2, .top_p = 0.9}),
                         {0, 1, 0});
    }
  }
}

TEST(Generate, TheGlobalGeneratorAndARowThatEndedDrawAsPyTorch) {
  nn::NextTokenFunction model([](const Tensor& ids) { return zeros({ids.size(0), 3}); });
  manual_seed(9);
  const nn::Generated all = nn::generate(model, zeros({2, 1}, kInt64), {.max_new_tokens = 8, .temperature = 1});
  manual_seed(9);
  const nn::Generated ended =
      nn::generate(model, zeros({2, 1}, kInt64), {.max_new_tokens = 8, .end_token = 2, .temperature = 1});
  for (int64_t i = 0; i < 2; ++i) {
    const auto length = static_cast<std::size_t>(ended.lengths[static_cast<std::size_t>(i)]);
    for (std::size_t t = 0; t < length; ++t) EXPECT_EQ(row(ended.tokens, i)[t], row(all.tokens, i)[t]);
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
    nn::Transformer model = some_model(12);
    nn::to(model, kFloat64);
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
    nn::GPTModel model({.vocab_size = 9, .context_length = 12, .emb_dim = 8, .n_heads = 2, .n_layers = 2});
    nn::to(model, kFloat64);
    nn::eval(model);
    const Tensor prompt = rows(tensor({{3, 1, 4}, {8, 0, 2}, {7, 7, 7}}));
    check({"GPT", prompt, [&](bool cached) { return std::make_unique<nn::GPTNext>(model, cached); },
           [&](const Tensor& tokens) { return tail(model(given(prompt, tokens)), prompt); }});
  }
}

// The number of tokens that are more likely than this one, and the sum of their probabilities.
struct Rank {
  int64_t rank = 0;
  double before = 0;
};
Rank place_of(const std::vector<double>& p, int64_t token) {
  Rank place;
  for (const double other : p) {
    if (other <= p[static_cast<std::size_t>(token)]) continue;
    ++place.rank;
    place.before += other;
  }
  return place;
}

TEST(Generate, SamplesAreWithinTopKAndTheNucleus) {
  struct Setting {
    double temperature;
    int64_t top_k;
    double top_p;
  };
  constexpr Setting kSettings[] = {{1, 3, 1}, {1, 0, 0.6}, {2, 4, 0.8}, {0.5, 0, 0.7}};
  for_both_models([&](const Sampled& model) {
    for (const Setting& c : kSettings) {
      SCOPED_TRACE(testing::Message() << "temperature " << c.temperature << ", top_k " << c.top_k << ", top_p "
                                      << c.top_p);
      const auto within = [&](std::vector<double> p, int64_t token) {
        std::vector<double> largest = p;
        std::ranges::sort(largest, std::greater{});
        if (c.top_k) largest.resize(static_cast<std::size_t>(c.top_k));
        const double sum = std::accumulate(largest.begin(), largest.end(), 0.0);
        const Rank place = place_of(p, token);
        return (!c.top_k || place.rank < c.top_k) && place.before / sum < c.top_p;
      };
      int64_t likeliest = 0, others = 0, outside = 0;
      for (const bool limited : {true, false}) {
        for (uint64_t seed = 0; seed < 8; ++seed) {
          nn::GenerateOptions options{.max_new_tokens = 8, .temperature = c.temperature};
          if (limited) {
            options.top_k = c.top_k;
            options.top_p = c.top_p;
          }
          const Tensor tokens = model.draw(std::move(options), seed).tokens;
          const Tensor p = softmax(model.scores(tokens) / c.temperature);
          for (int64_t i = 0; i < tokens.size(0); ++i) {
            for (int64_t t = 0; t < tokens.size(1); ++t) {
              const std::vector<double> row = p[i][t].to_vector<double>();
              const int64_t token = tokens[i].to_vector<int64_t>()[static_cast<std::size_t>(t)];
              if (limited) {
                EXPECT_TRUE(within(row, token)) << "seed " << seed << ", row " << i << ", token " << t;
                ++(place_of(row, token).rank == 0 ? likeliest : others);
              } else {
                outside += within(row, token) ? 0 : 1;
              }
            }
          }
        }
      }
      EXPECT_GT(likeliest, 0);
      EXPECT_GT(others, 0);   // not greedy
      EXPECT_GT(outside, 0);  // without the limits, such tokens are drawn
    }
  });
}

TEST(Generate, TheSameSeedDrawsTheSameTokensFromTheModel) {
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

TEST(Generate, TemperatureNearZeroIsGreedyForTheModel) {
  for_both_models([](const Sampled& model) {
    const Tokens greedy = model.draw({.max_new_tokens = 8}, 0).tokens.to_vector<int64_t>();
    for (uint64_t seed = 0; seed < 4; ++seed) {
      EXPECT_EQ(model.draw({.max_new_tokens = 8, .temperature = 1e-5}, seed).tokens.to_vector<int64_t>(), greedy);
    }
    EXPECT_NE(model.draw({.max_new_tokens = 8, .temperature = 1}, 0).tokens.to_vector<int64_t>(), greedy);
  });
}

// Two thousand first tokens of one prompt, counted: within four standard deviations of what the model gives.
TEST(Generate, TokensAreDrawnWithTheModelsProbabilities) {
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

// Rows end at the end token or by the predicate; before that, and in the other rows, the draws are the same.
TEST(Generate, SamplesOfTheModelEndAtTheEndTokenAndByThePredicate) {
  using Ends = std::function<bool(std::span<const int64_t>)>;
  for_both_models([](const Sampled& model) {
    const Tensor drawn = model.draw({.max_new_tokens = 8, .temperature = 1.5}, 3).tokens;
    int64_t shortened = 0;
    const auto expect_ends = [&](const nn::Generated& out, int64_t pad, const Ends& ends) {
      const auto longest = static_cast<std::size_t>(*std::ranges::max_element(out.lengths));
      ASSERT_EQ(out.tokens.shape(), (Shape{drawn.size(0), static_cast<int64_t>(longest)}));
      for (int64_t i = 0; i < drawn.size(0); ++i) {
        Tokens tokens = row(drawn, i);
        std::size_t length = 1;
        while (length < tokens.size() && !ends(std::span(tokens).first(length))) ++length;
        shortened += length < tokens.size() ? 1 : 0;
        tokens.resize(length);
        tokens.resize(longest, pad);
        EXPECT_EQ(row(out.tokens, i), tokens) << "row " << i;
        EXPECT_EQ(out.lengths[static_cast<std::size_t>(i)], static_cast<int64_t>(length)) << "row " << i;
      }
    };
    for (int64_t end = 0; end < 7; ++end) {
      expect_ends(model.draw({.max_new_tokens = 8, .end_token = end, .pad_token = 5, .temperature = 1.5}, 3), 5,
                  [&](auto tokens) { return tokens.back() == end; });
    }
    EXPECT_GT(shortened, 3);
    shortened = 0;
    const auto repeats = [](std::span<const int64_t> tokens) { return std::ranges::count(tokens, tokens.back()) > 1; };
    expect_ends(model.draw({.max_new_tokens = 8, .stop = repeats, .temperature = 1.5}, 3), 0, repeats);
    EXPECT_GT(shortened, 1);
  });
}

// --- errors ---

TEST(Generate, Errors) {
  nn::NextTokenFunction model(garden_path);
  const auto of = [&](const nn::GenerateOptions& options) {
    return error_of([&] { nn::generate(model, kStart, options); });
  };
  EXPECT_EQ(of({.max_new_tokens = 1}), "no error");
  EXPECT_EQ(of({.max_new_tokens = -1}), "[generate] max_new_tokens must not be negative, got -1");
  EXPECT_EQ(of({.temperature = -0.5}), "[generate] temperature must be finite and not negative (0: greedy), got -0.5");
  EXPECT_EQ(of({.top_k = -1}), "[generate] top_k must not be negative (0: all tokens), got -1");
  EXPECT_EQ(of({.top_p = 0}), "[generate] top_p must be above 0 and at most 1, got 0");
  EXPECT_EQ(of({.top_p = 1.5}), "[generate] top_p must be above 0 and at most 1, got 1.5");
  EXPECT_EQ(of({.beams = 0}), "[generate] beams must be positive, got 0");
  EXPECT_EQ(of({.temperature = 0.7, .beams = 4}),
            "[generate] beam search needs temperature 0, got 4 beams at temperature 0.7");
  EXPECT_EQ(of({.length_penalty = -1}), "[generate] length_penalty must be finite and not negative, got -1");
  EXPECT_EQ(error_of([&] {
              nn::generate(model, zeros({1, 0}, kInt64), {});
            }),
            "[generate] expected a prompt int64 [B, T] with at least one token, got int64 [1, 0]");
  nn::NextTokenFunction wrong([](const Tensor& ids) { return ids; });
  for (const int64_t beams : {1, 2}) {
    EXPECT_EQ(error_of([&] { nn::generate(wrong, kStart, {.max_new_tokens = 1, .beams = beams}); }),
              "[generate] expected floating logits [1, V] from the model, got int64 [1, 1]");
  }
  const nn::Transformer transformer = some_model(10);
  EXPECT_EQ(error_of([&] {
              nn::greedy_decode(transformer, ones({1, 2}, kInt64), {}, 10);
            }),
            "[greedy_decode] a sequence of length 10 is longer than max_position_embeddings 9");
  EXPECT_EQ(error_of([&] {
              nn::greedy_decode(transformer, ones({1, 2}, kInt64), {}, -1);
            }),
            "[generate] max_new_tokens must not be negative, got -1");
}

}  // namespace
}  // namespace tapegrad
