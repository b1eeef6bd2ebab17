// Positions in a Transformer and a GPT: parameters, gradients, bounds, scaling and interpolation.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using nn::Positions;

nn::TransformerConfig small(Positions kind) { return small_transformer(11, 6, kind); }

template <class Model, class Config>
Model seeded(const Config& config) {
  manual_seed(7);
  return exact(Model(config));
}

TEST(Positions, EveryKindMakesATransformer) {
  for (const nn::PositionKind* kind : nn::position_kinds()) {
    SCOPED_TRACE(kind->name);
    manual_seed(5);
    nn::Transformer model(small(kind->positions()));
    const Tensor src = randint(1, 11, {2, 6}), tgt = randint(1, 11, {2, 5});
    const auto loss = [&] {
      const Tensor y = model(src, tgt, nn::padding_mask(src), nn::causal_mask(5));
      EXPECT_EQ(y.shape(), (Shape{2, 5, 11}));
      return sum(y * y);
    };
    for (const Tensor& x : loss_and_gradients(model, loss)) EXPECT_TRUE(all_finite(x));
  }
}

TEST(Positions, GptRecomputesThemWithEqualGradients) {
  for (const nn::PositionKind* kind : nn::position_kinds()) {
    SCOPED_TRACE(kind->name);
    const auto results = [&](bool recompute) {
      manual_seed(6);
      nn::GPTModel model(small_decoder(9, 6, kind->positions()));
      model.recompute_blocks = recompute;
      const Tensor ids = tensor({{1, 4, 2, 8, 5, 7}, {3, 1, 4, 1, 5, 2}});
      return loss_and_gradients(model, [&] { return sum(square(model(ids))); });
    };
    // Gradients of parameters that all blocks use are summed in another order.
    const bool shared = nn::count_parameters(nn::RelativePositions(kind->positions(), 2, 4, true, kSmallDistances)) > 0;
    const auto again = results(true), kept = results(false);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_GT(amax(abs(kept[i])).item(), 0) << i;
      EXPECT_LE(largest_difference(again[i], kept[i]), shared ? 1e-5 : 0) << i;
    }
  }
}

TEST(Positions, OnlyLearnedPositionsAreBounded) {
  const Tensor src = ones({1, 9}, kInt64), tgt = ones({1, 7}, kInt64);
  for (const nn::PositionKind* kind : nn::position_kinds()) {
    const std::string error = error_of([&] { nn::Transformer(small(kind->positions()))(src, tgt); });
    EXPECT_EQ(error, kind->positions() == Positions::learned
                         ? "[positions] a sequence of length 9 is longer than max_position_embeddings 6"
                         : "no error")
        << kind->name;
  }
  nn::TransformerConfig config = small(Positions::learned);
  config.position_options = nn::LearnedPositionOptions{.interpolate_to = 9};
  EXPECT_EQ(config.longest_input(), 9);
  EXPECT_EQ(nn::Transformer(config)(src, tgt).shape(), (Shape{1, 7, 11}));
}

// The outputs are those of a model whose rope_base is ntk_base().
template <class Model, class Config>
void expect_ntk_scaling(Config config, const std::function<Tensor(const Model&)>& run) {
  const auto outputs = [&](double base, double scale) {
    config.position_options = nn::RopeOptions{.base = base, .ntk_scale = scale};
    return run(seeded<Model>(config));
  };
  const Tensor y = outputs(500, 3);
  EXPECT_EQ(largest_difference(y, outputs(nn::ntk_base(500, 3, 4), 1)), 0);
  EXPECT_GT(largest_difference(y, outputs(500, 1)), 1e-3);
}

// The logits, and the same of a GPT that reads the first `begun` tokens and then the others.
Tensor logits_from_a_cache(const nn::GPTModel& gpt, const Tensor& tokens, int64_t begun) {
  const Tensor y = gpt(tokens);
  nn::KVCache cache;
  const Tensor first = gpt(narrow(tokens, 1, 0, begun), &cache), rest = gpt(tokens.slice(1, begun), &cache);
  EXPECT_LT(largest_difference(cat({first, rest}, 1), y), 1e-12);
  return y;
}

TEST(Positions, NtkScalingReachesEveryAttention) {  // on inputs longer than the trained ones
  manual_seed(8);
  const Tensor src = randint(1, 11, {2, 18}), tgt = randint(1, 11, {2, 14}), causal = nn::causal_mask(14);
  expect_ntk_scaling<nn::Transformer>(small(Positions::rope), [&](auto& model) { return model(src, tgt, {}, causal); });
  expect_ntk_scaling<nn::GPTModel>(small_decoder(11, 6, Positions::rope),
                                   [&](auto& model) { return logits_from_a_cache(model, src, 13); });
}

// [wide, rows]: position i of `wide` is at row i rows / wide, between two rows of the table, or at the last one.
Tensor squeeze(int64_t wide, int64_t rows) {
  std::vector<double> shares(static_cast<std::size_t>(wide * rows));
  for (int64_t i = 0; i < wide; ++i) {
    const int64_t low = i * rows / wide, high = std::min(low + 1, rows - 1);
    const double place = static_cast<double>(i * rows) / static_cast<double>(wide) - static_cast<double>(low);
    shares[static_cast<std::size_t>(i * rows + low)] += 1 - place;
    shares[static_cast<std::size_t>(i * rows + high)] += place;
  }
  return tensor(shares, {wide, rows});
}

// `wide` has a row for each of 9 positions. With the rows that 6 rows of `narrow` are squeezed to, both give the same,
// and the gradients of the 9 make those of the 6.
template <class Model, class Run>
void expect_interpolation(Model narrow, Model wide, const Run& run) {
  const Tensor shares = squeeze(9, 6);
  const auto theirs = nn::named_parameters(wide), ours = nn::named_parameters(narrow);
  ASSERT_EQ(ours.size(), theirs.size());
  const auto is_table = [](const nn::NamedParameter& p) {
    return p.name == "pos_emb.weight" || p.name.ends_with("position_embeddings.weight");
  };
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Tensor value = ours[i].parameter.tensor();
    theirs[i].parameter.set(is_table(ours[i]) ? matmul(shares, value) : value);
  }
  Tape tape;
  const Tensor y = run(narrow), expected = run(wide);
  EXPECT_LT(largest_difference(y, expected), 1e-12);
  const Gradients grads = tape.backward(sum(y * y) + sum(expected * expected));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Tensor dx = grads[theirs[i].parameter];
    EXPECT_LT(largest_difference(grads[ours[i].parameter], is_table(ours[i]) ? matmul(shares.t(), dx) : dx), 1e-9)
        << ours[i].name;
  }
}

TEST(Positions, InterpolatedOnesInATransformerAndAGpt) {
  manual_seed(10);
  const Tensor src = randint(1, 11, {2, 9}), tgt = randint(1, 11, {2, 7});
  nn::TransformerConfig narrow = small(Positions::learned), wide = narrow;
  narrow.position_options = nn::LearnedPositionOptions{.interpolate_to = 9};
  wide.max_position_embeddings = 9;
  expect_interpolation(seeded<nn::Transformer>(narrow), seeded<nn::Transformer>(wide),
                       [&](const nn::Transformer& model) { return model(src, tgt, {}, nn::causal_mask(7)); });
  nn::GPTConfig narrow_gpt = small_decoder(11, 6, Positions::learned), wide_gpt = narrow_gpt;
  narrow_gpt.position_options = nn::LearnedPositionOptions{.interpolate_to = 9};
  wide_gpt.context_length = 9;
  EXPECT_EQ(narrow_gpt.longest_input(), 9);
  expect_interpolation(seeded<nn::GPTModel>(narrow_gpt), seeded<nn::GPTModel>(wide_gpt),
                       [&](const nn::GPTModel& model) { return model(src); });
  logits_from_a_cache(seeded<nn::GPTModel>(narrow_gpt), src, 4);  // a token's place does not depend on what follows
}

TEST(Positions, LearnedParametersKeepTheirNames) {
  const auto has = [](Positions kind, const std::string& name) {
    const nn::Transformer model(small(kind));
    return std::ranges::count(names_of(model), name) == 1;
  };
  EXPECT_TRUE(has(Positions::learned, "encoder.embeddings.position_embeddings.weight"));
  EXPECT_TRUE(has(Positions::t5, "decoder.relative_positions.weight"));
  EXPECT_TRUE(has(Positions::shaw, "decoder.layers.1.self_attn.shaw.keys"));
  EXPECT_FALSE(has(Positions::shaw, "decoder.layers.1.cross_attn.shaw.keys"));
}

}  // namespace
}  // namespace tapegrad::tests
