// Positions in a Transformer and a GPT: parameters, gradients, bounds, scaling and interpolation.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using nn::Positions;

const std::vector<Positions> kAllPositions = [] {
  std::vector<Positions> kinds;
  for (const std::string_view name : nn::position_names()) kinds.push_back(nn::positions_named(name));
  return kinds;
}();
const nn::PositionOptions kSmallModels(nn::ShawOptions{.distance = 2}, nn::T5Options{.buckets = 8, .distance = 12});

nn::TransformerConfig small(Positions kind) { return small_transformer(11, 6, kind, kSmallModels); }

template <class Model, class Config>
Model seeded(const Config& config) {
  manual_seed(7);
  return exact(Model(config));
}

TEST(Positions, EveryKindMakesATransformer) {
  for (const Positions kind : kAllPositions) {
    SCOPED_TRACE(nn::name(kind));
    manual_seed(5);
    nn::Transformer model(small(kind));
    const Tensor src = randint(1, 11, {2, 6}), tgt = randint(1, 11, {2, 5});
    const nn::Transformer copy = nn::clone(model);
    Tape tape;
    const Tensor y = model(src, tgt, nn::padding_mask(src), nn::causal_mask(5));
    EXPECT_EQ(y.shape(), (Shape{2, 5, 11}));
    const Gradients grads = tape.backward(sum(y * y));
    for (const auto& [name, parameter] : nn::named_parameters(model)) {
      EXPECT_TRUE(grads.contains(parameter)) << name;
      EXPECT_TRUE(all_finite(grads[parameter])) << name;
    }
    nn::eval(model);
    EXPECT_EQ(nn::parameters(copy).size(), nn::parameters(model).size());
  }
}

TEST(Positions, GptRecomputesThemWithEqualGradients) {
  for (const Positions kind : kAllPositions) {
    SCOPED_TRACE(nn::name(kind));
    const auto gradients = [&](bool recompute) {
      manual_seed(6);
      nn::GPTModel model(small_decoder(9, 6, kind, kSmallModels));
      model.recompute_blocks = recompute;
      Tape tape;
      const Tensor y = model(tensor({{1, 4, 2, 8, 5, 7}, {3, 1, 4, 1, 5, 2}}));
      Gradients grads = tape.backward(sum(y * y));
      std::vector<std::vector<float>> out;
      for (const auto& [name, parameter] : nn::named_parameters(model)) {
        out.push_back(grads[parameter].to_vector<float>());
        if (name.find("tok_emb") == std::string::npos) {
          EXPECT_GT(amax(abs(grads[parameter])).item(), 0) << name;
        }
      }
      return out;
    };
    const auto again = gradients(true), kept = gradients(false);
    if (nn::count_parameters(nn::RelativePositions(kind, 2, 4, true, kSmallModels)) == 0) {
      EXPECT_EQ(again, kept);
      continue;
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {  // parameters of all blocks, summed in another order
      for (std::size_t j = 0; j < kept[i].size(); ++j) EXPECT_NEAR(again[i][j], kept[i][j], 1e-5);
    }
  }
}

TEST(Positions, OnlyLearnedPositionsAreBounded) {
  const Tensor src = ones({1, 9}, kInt64), tgt = ones({1, 7}, kInt64);
  for (const Positions kind : kAllPositions) {
    const std::string error = error_of([&] { nn::Transformer(small(kind))(src, tgt); });
    EXPECT_EQ(error, kind == Positions::learned
                         ? "[positions] a sequence of length 9 is longer than max_position_embeddings 6"
                         : "no error")
        << nn::name(kind);
  }
  nn::TransformerConfig config = small(Positions::learned);
  config.position_options = nn::LearnedPositionOptions{.interpolate_to = 9};
  EXPECT_EQ(config.longest_input(), 9);
  EXPECT_EQ(nn::Transformer(config)(src, tgt).shape(), (Shape{1, 7, 11}));
}

// On inputs longer than the trained ones: the outputs are those of a model whose rope_base is ntk_base().
TEST(Positions, NtkScalingReachesEveryAttentionOfATransformer) {
  constexpr double kScale = 3;
  manual_seed(8);
  const Tensor src = randint(1, 11, {2, 18}), tgt = randint(1, 11, {2, 14}), causal = nn::causal_mask(14);
  const auto model_of = [](double base, double scale) {
    nn::TransformerConfig config = small(Positions::rope);
    config.position_options = nn::RopeOptions{.base = base, .ntk_scale = scale};
    return seeded<nn::Transformer>(config);
  };
  const double base = nn::ntk_base(500, kScale, 4);
  const nn::Transformer scaled = model_of(500, kScale), based = model_of(base, 1), plain = model_of(500, 1);
  const Tensor y = scaled(src, tgt, {}, causal);
  EXPECT_EQ(largest_difference(y, based(src, tgt, {}, causal)), 0);
  EXPECT_GT(largest_difference(y, plain(src, tgt, {}, causal)), 1e-3);
}

TEST(Positions, NtkScalingReachesTheAttentionOfAGpt) {
  manual_seed(9);
  const Tensor tokens = randint(0, 11, {2, 20});
  const auto model_of = [](double base, double scale) {
    nn::GPTConfig config = small_decoder(11, 6, Positions::rope, kSmallModels);
    config.position_options = nn::RopeOptions{.base = base, .ntk_scale = scale};
    return seeded<nn::GPTModel>(config);
  };
  const double base = nn::ntk_base(500, 3, 4);
  const nn::GPTModel scaled = model_of(500, 3), based = model_of(base, 1), plain = model_of(500, 1);
  const Tensor y = scaled(tokens);
  EXPECT_EQ(largest_difference(y, based(tokens)), 0);
  EXPECT_GT(largest_difference(y, plain(tokens)), 1e-3);
  nn::KVCache cache;  // also with later tokens alone
  const Tensor begun = scaled(narrow(tokens, 1, 0, 13), &cache), rest = scaled(narrow(tokens, 1, 13, 7), &cache);
  EXPECT_LT(largest_difference(cat({begun, rest}, 1), y), 1e-12);
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
  nn::GPTConfig narrow_gpt = small_decoder(11, 6, Positions::learned, kSmallModels), wide_gpt = narrow_gpt;
  narrow_gpt.position_options = nn::LearnedPositionOptions{.interpolate_to = 9};
  wide_gpt.context_length = 9;
  EXPECT_EQ(narrow_gpt.longest_input(), 9);
  expect_interpolation(seeded<nn::GPTModel>(narrow_gpt), seeded<nn::GPTModel>(wide_gpt),
                       [&](const nn::GPTModel& model) { return model(src); });
  const nn::GPTModel gpt = seeded<nn::GPTModel>(narrow_gpt);
  nn::KVCache cache;  // a token's place does not depend on how many follow
  const Tensor begun = gpt(tapegrad::narrow(src, 1, 0, 4), &cache), rest = gpt(tapegrad::narrow(src, 1, 4, 5), &cache);
  EXPECT_LT(largest_difference(cat({begun, rest}, 1), gpt(src)), 1e-12);
}

TEST(Positions, LearnedParametersKeepTheirNames) {
  nn::Transformer learned(small(Positions::learned)), t5(small(Positions::t5)), shaw(small(Positions::shaw));
  const auto has = [](nn::Transformer& model, std::string_view name) {
    for (const auto& p : nn::named_parameters(model)) {
      if (p.name == name) return true;
    }
    return false;
  };
  EXPECT_TRUE(has(learned, "encoder.embeddings.position_embeddings.weight"));
  EXPECT_TRUE(has(t5, "decoder.relative_positions.weight"));
  EXPECT_TRUE(has(shaw, "decoder.layers.1.self_attn.shaw.keys"));
  EXPECT_FALSE(has(shaw, "decoder.layers.1.cross_attn.shaw.keys"));
}

}  // namespace
}  // namespace tapegrad::tests
