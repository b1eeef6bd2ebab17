// Decoding: greedy and beam search, stopping, and caches. Sampling: sampling.cpp.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using nn::Positions;
using Tokens = std::vector<int64_t>;

Tokens row(const Tensor& tokens, int64_t i) { return tokens[i].to_vector<int64_t>(); }

nn::Transformer some_model(uint64_t seed, Positions positions = Positions::learned) {
  manual_seed(seed);
  return evaluated(nn::Transformer(small_transformer(7, 9, positions)));
}

// A chain of tokens, from 0: 1 with 0.6, 2 with 0.4. After 1: 1, 2 and 3 with 1/3 each; after 2: 3 with 0.99. 3 is the
// end.
Tensor garden_path(const Tensor& ids) {
  const Tensor table =
      tensor({{1e-9, 0.6, 0.4, 1e-9}, {1e-9, 0.34, 0.33, 0.33}, {1e-9, 0.005, 0.005, 0.99}, {1e-9, 1e-9, 1e-9, 1.0}});
  return log(index_select(table, 0, ids.select(1, -1)));
}

const Tensor kStart = zeros({1, 1}, kInt64);

// From prompts of zeros.
nn::Generated generated(const nn::Transformer& model, const Tensor& src, const Tensor& mask,
                        const nn::GenerateOptions& options, bool cached = true) {
  nn::TransformerNext next(model, src, mask, cached);
  return nn::generate(next, zeros({src.size(0), 1}, kInt64), options);
}

// --- greedy ---

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
  const nn::GPTModel gpt = evaluated(nn::GPTModel(small_decoder(41, 24)));
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
      EXPECT_TRUE(equal(nn::generate(again, zeros({2, 1}, kInt64), options).tokens,
                        generated(model, src, {}, options, cached).tokens));
    }
  }
}

TEST(Generate, StopsByLengthEndTokenAndPredicate) {
  // Counts up from the last token; row 1 starts at 2.
  nn::NextTokenFunction count([](auto& ids) { return one_hot(ids.select(1, -1) + tensor({1, 1}), 8).to(kFloat32); });
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
    const nn::Generated none = generated(model, src, {}, {.max_new_tokens = 0, .beams = beams});
    EXPECT_EQ(none.tokens.shape(), (Shape{2, 0}));
    EXPECT_EQ(none.lengths, (Tokens{0, 0}));
    EXPECT_EQ(none.scores, (std::vector<double>{0, 0}));
    const nn::Generated one =
        generated(model, src, {}, {.max_new_tokens = 5, .stop = [](auto) { return true; }, .beams = beams});
    EXPECT_EQ(one.lengths, (Tokens{1, 1}));
    EXPECT_TRUE(equal(one.tokens, nn::greedy_decode(model, src, {}, 1)));
    const Tensor nobody = zeros({0, 4}, kInt64);
    EXPECT_EQ(generated(model, nobody, {}, {.max_new_tokens = 3, .beams = beams}).tokens.size(0), 0);
  }
}

TEST(Generate, FullyMaskedSourcesHaveNoInfluence) {
  for (const Positions positions : {Positions::learned, Positions::rope, Positions::shaw, Positions::t5}) {
    const nn::Transformer model = some_model(3, positions);
    const Tensor src = tensor({{3, 1, 4}, {0, 0, 0}});
    for (const int64_t beams : {1, 3}) {
      const nn::GenerateOptions options{.max_new_tokens = 6, .beams = beams};
      const nn::Generated out = generated(model, src, nn::padding_mask(src), options);
      EXPECT_EQ(out.lengths, (Tokens{6, 6}));
      EXPECT_TRUE(std::isfinite(out.scores[1]));
      // A fully masked source has no influence.
      const nn::Generated same = generated(model, tensor({{5, 5, 6}}), zeros({1, 1, 1, 3}, kBool), options);
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
  const nn::Generated out = generated(model, src, {}, {.max_new_tokens = 3, .end_token = 2, .beams = 343});
  EXPECT_EQ(row(out.tokens, 0), best_tokens);
  EXPECT_NEAR(out.scores[0], best, 1e-5);
}

TEST(Generate, OneBeamIsGreedyAndWiderOnesNeverScoreLess) {
  int64_t better = 0;
  for (const uint64_t seed : {5, 6, 7}) {
    nn::Transformer model = some_model(seed);
    nn::to(model, kFloat64);
    const Tensor src = randint(1, 7, {12, 6}), mask = nn::padding_mask(src);
    for (const double penalty : {0.0, 0.8}) {
      const auto search = [&](int64_t beams) {
        return generated(model, src, mask,
                         {.max_new_tokens = 8, .end_token = 3, .beams = beams, .length_penalty = penalty});
      };
      const auto forced = [&](auto& tokens, int64_t i) {  // the score of a row, all at once
        Tokens given{0};
        given.insert(given.end(), tokens.begin(), tokens.end() - 1);
        const auto length = static_cast<int64_t>(given.size());
        const Tensor y = model(narrow(src, 0, i, 1), tensor(given, {1, length}), {}, nn::causal_mask(length));
        double sum = 0;
        for (std::size_t t = 0; t < tokens.size(); ++t) sum += y[0][static_cast<int64_t>(t)][tokens[t]].item();
        return sum / std::pow((5 + static_cast<double>(tokens.size())) / 6, penalty);
      };
      nn::Generated narrower = search(1);
      EXPECT_TRUE(equal(narrower.tokens, generated(model, src, mask, {.max_new_tokens = 8, .end_token = 3}).tokens));
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
  for (const std::string_view kind : nn::position_names()) {
    SCOPED_TRACE(kind);
    for (const DType dtype : {kFloat32, kFloat64}) {
      nn::Transformer model = some_model(8, nn::positions_named(kind));
      nn::to(model, dtype);
      const Tensor src = tensor({{3, 1, 4, 1, 5}, {2, 6, 0, 0, 0}, {5, 3, 5, 0, 0}});
      const Tensor prompt = tensor({{0, 1}, {0, 2}, {0, 3}});  // two tokens at once, then one by one
      for (const int64_t beams : {1, 4}) {
        nn::TransformerNext cached(model, src, nn::padding_mask(src)),
            uncached(model, src, nn::padding_mask(src), false);
        const nn::GenerateOptions options{.max_new_tokens = 7, .end_token = 6, .beams = beams};
        const nn::Generated a = nn::generate(cached, prompt, options), b = nn::generate(uncached, prompt, options);
        EXPECT_TRUE(equal(a.tokens, b.tokens));
        for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(a.scores[i], b.scores[i], dtype == kFloat64 ? 1e-12 : 1e-4);
      }
    }
  }
}

TEST(Generate, AGptReadsTheLastTokensOfItsContext) {
  manual_seed(11);
  const nn::GPTModel model = exact(nn::GPTModel(small_decoder(7, 6)));
  Tensor ids = tensor({{3, 1}, {4, 1}});  // greedy by hand, all tokens at every step
  for (int n = 0; n < 9; ++n) {
    const Tensor window = ids.slice(1, -std::min<int64_t>(ids.size(1), 6));
    ids = cat({ids, argmax(model(window).select(1, -1), -1, true)}, 1);
  }
  const auto tokens = [&](bool cached, int64_t beams) {
    nn::GPTNext next(model, cached);
    return nn::generate(next, tensor({{3, 1}, {4, 1}}), {.max_new_tokens = 9, .beams = beams}).tokens;
  };
  for (const bool cached : {true, false}) EXPECT_TRUE(equal(tokens(cached, 1), narrow(ids, 1, 2, 9)));
  EXPECT_TRUE(equal(tokens(true, 3), tokens(false, 3)));
}

// --- errors ---

TEST(Generate, Errors) {
  nn::NextTokenFunction model(garden_path);
  EXPECT_NO_THROW(nn::generate(model, kStart, {.max_new_tokens = 1}));
  EXPECT_ERROR(nn::generate(model, kStart, {.max_new_tokens = -1}));
  EXPECT_ERROR(nn::generate(model, kStart, {.temperature = -0.5}));
  EXPECT_ERROR(nn::generate(model, kStart, {.top_k = -1}));
  EXPECT_ERROR(nn::generate(model, kStart, {.top_p = 0}));
  EXPECT_ERROR(nn::generate(model, kStart, {.top_p = 1.5}));
  EXPECT_ERROR(nn::generate(model, kStart, {.beams = 0}));
  EXPECT_ERROR(nn::generate(model, kStart, {.temperature = 0.7, .beams = 4}));
  EXPECT_ERROR(nn::generate(model, kStart, {.length_penalty = -1}));
  EXPECT_ERROR(nn::generate(model, zeros({1, 0}, kInt64), {}));
  nn::NextTokenFunction wrong([](auto& ids) { return ids; });
  for (const int64_t beams : {1, 2}) EXPECT_ERROR(nn::generate(wrong, kStart, {.max_new_tokens = 1, .beams = beams}));
  const nn::Transformer transformer = some_model(10);
  EXPECT_ERROR(nn::greedy_decode(transformer, ones({1, 2}, kInt64), {}, 10));
  EXPECT_ERROR(nn::greedy_decode(transformer, ones({1, 2}, kInt64), {}, -1));
}

}  // namespace
}  // namespace tapegrad::tests
