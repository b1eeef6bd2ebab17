// Weights in int8, products of few rows, and several sequences at once.
#include <gtest/gtest.h>
#include <tapegrad/autograd/detail/weights_once.h>
#include <tapegrad/autograd/int8.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/tests/support/near.h>
#include <tapegrad/tests/support/stored.h>
#include <tapegrad/tests/support/threads.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>

namespace tapegrad {
namespace {

using tests::error_of;

// The int8 of a matrix, [rows, 64 groups].
std::vector<int> int8_of(const Int8Matrix& m) {
  const auto* q = static_cast<const int8_t*>(m.values.raw_data());
  return {q, q + 8 * m.values.numel()};
}

TEST(Int8, MatricesAndProductsAreThoseOfPlainPyTorch) {
  for (const nlohmann::json& expected : tests::stored("int8.json")) {
    const auto columns = expected.at("columns").get<int64_t>();
    Generator draws(expected.at("seed").get<uint64_t>());
    const Tensor w = randn({6, columns}, kFloat32, &draws), x = randn({4, columns}, kFloat32, &draws);
    const Tensor bias = randn({6}, kFloat32, &draws);
    std::fill_n(w.mutable_data<float>() + 2 * columns, 64, 0.0F);
    const Int8Matrix m = quantize_int8(w);
    EXPECT_EQ(int8_of(m), expected.at("q").get<std::vector<int>>());
    tests::expect_close(m.scales, expected.at("scales"), {0, 0}, "scales");
    tests::expect_close(linear(x, m, bias), expected.at("y"), {1e-5, 1e-5}, "y");
    tests::expect_near(linear(x, m, bias), linear(x, dequantize_int8(m, columns), bias));
    tests::expect_near(embedding(m, columns, tensor({{5, 0}, {2, 5}}))[1],
                       dequantize_int8(m, columns).slice(0, 2, 6, 3));
  }
}

// Each row of a product has the same bits alone, among others, and with any number of threads.
TEST(Int8, RowsOfAProductDoNotDependOnOthers) {
  const tests::KeepThreads keep;
  const tapegrad::detail::WeightsOnce once;
  Generator draws(1);
  for (const int64_t in : {5, 64, 776}) {
    const int64_t out = in == 776 ? 300 : 7;
    const Tensor w = randn({out, in}, kFloat32, &draws), bias = randn({out}, kFloat32, &draws);
    const Tensor narrow_w = w.to(kBFloat16), x = randn({16, in}, kFloat32, &draws);
    const Int8Matrix q = quantize_int8(w);
    const std::vector<std::function<Tensor(const Tensor&)>> products{
        [&](const Tensor& a) { return linear(a, w, bias); }, [&](const Tensor& a) { return linear(a, narrow_w, bias); },
        [&](const Tensor& a) { return linear(a, q, bias); }};
    for (const auto& product : products) {
      set_num_threads(1);
      const Tensor all = product(x);
      for (const int64_t rows : {1, 2, 3, 5, 8, 15}) {
        set_num_threads(static_cast<int>(rows % 3) + 1);
        EXPECT_EQ(product(narrow(x, 0, 1, rows)).to_vector<float>(), narrow(all, 0, 1, rows).to_vector<float>());
      }
    }
    tests::expect_near(products[0](x) / std::sqrt(double(in)), (matmul(x, w.t()) + bias) / std::sqrt(double(in)));
    // Many rows: the weight is converted.
    const Tensor many = randn({40, in}, kFloat32, &draws);
    tests::expect_near(linear(many, q, bias) / std::sqrt(double(in)),
                       linear(many, dequantize_int8(q, in), bias) / std::sqrt(double(in)));
  }
}

TEST(Int8, Errors) {
  EXPECT_EQ(error_of([] { quantize_int8(ones({2})); }), "[quantize_int8] expected a float32 matrix, got float32 [2]");
  EXPECT_EQ(error_of([] {
              quantize_int8(ones({2, 2}, kFloat64));
            }),
            "[quantize_int8] expected a float32 matrix, got float64 [2, 2]");
  EXPECT_EQ(error_of([] {
              quantize_int8(ones({2, 2}) * std::numeric_limits<double>::infinity());
            }),
            "[quantize_int8] expected finite numbers, got NaN or infinity (are the weights damaged?)");
  const Int8Matrix m = quantize_int8(ones({3, 70}));
  EXPECT_EQ(
      error_of([&] {
        linear(ones({2, 60}), m);
      }),
      "[linear] expected an int8 matrix with 60 columns: values int64 [rows, 8] and scales float32 [rows, 1], got "
      "int64 [3, 16] and float32 [3, 2]");
  EXPECT_EQ(error_of([&] {
              linear(ones({2, 70}, kFloat64), m);
            }),
            "[linear] expected an input float32 [..., in] with an int8 weight, got float64 [2, 70]");
  EXPECT_EQ(error_of([&] {
              linear(ones({2, 70}), m, ones({2}));
            }),
            "[linear] expected a bias float32 [3], got float32 [2]");
  Tape tape;
  const Tensor x = ones({1, 70}).as_leaf();
  EXPECT_EQ(error_of([&] { linear(x, m); }),
            "[linear] an int8 weight cannot be used while a tape records (use PauseRecording, or float32 weights)");
}

nn::GPTModel small_model(bool tied, nn::Positions positions = nn::Positions::learned) {
  manual_seed(3);
  nn::GPTModel model({.vocab_size = 100,
                      .context_length = 12,
                      .emb_dim = 72,
                      .n_heads = 4,
                      .n_layers = 2,
                      .drop_rate = 0,
                      .tied_head = tied,
                      .positions = positions});
  nn::eval(model);
  return model;
}

TEST(Int8, AModelIsStoredSavedAndLoaded) {
  const std::string path = (std::filesystem::temp_directory_path() / "tapegrad_int8.safetensors").string();
  const Tensor ids = tensor({{5, 17, 99, 0, 3}});
  for (const bool tied : {false, true}) {
    nn::GPTModel model = small_model(tied);
    const Tensor before = model(ids);
    const NamedTensors floating = nn::state_dict(model);
    model.store_in_int8();
    const Tensor after = model(ids);
    const double change = (amax(abs(after - before)) / amax(abs(before))).item();
    EXPECT_GT(change, 1e-5);
    EXPECT_LT(change, 2e-2);
    EXPECT_EQ(nn::clone(model)(ids).to_vector<float>(), after.to_vector<float>());
    EXPECT_TRUE(nn::is_int8(nn::state_dict(model)));
    EXPECT_FALSE(nn::is_int8(floating));
    EXPECT_EQ(error_of([&] { nn::to_hugging_face(model); }), "[hugging_face] expected floating weights, got int8");

    save_safetensors(path, nn::state_dict(model));
    const auto unfilled = [&] {
      const nn::init::Skip skip;
      nn::GPTModel fresh(model.config);
      fresh.store_in_int8();
      nn::eval(fresh);
      return fresh;
    };
    nn::GPTModel loaded = unfilled(), converted = unfilled();
    nn::load_state_dict(loaded, load_safetensors(path).tensors);
    EXPECT_EQ(loaded(ids).to_vector<float>(), after.to_vector<float>());
    nn::load_state_dict(converted, nn::int8_state(floating, converted));
    EXPECT_EQ(converted(ids).to_vector<float>(), after.to_vector<float>());
    nn::GPTModel plain = small_model(tied);
    const std::string said = error_of([&] { nn::load_state_dict(plain, nn::state_dict(model)); });
    EXPECT_NE(said.find("\"tok_emb.weight\" is missing"), std::string::npos) << said;
    EXPECT_NE(said.find("\"tok_emb.weight_int8\" is unexpected"), std::string::npos) << said;

    Tape tape;
    EXPECT_EQ(error_of([&] { model(ids); }),
              "[linear] an int8 weight cannot be used while a tape records (use PauseRecording, or float32 weights)");
  }
  std::remove(path.c_str());
}

// Prompts of different lengths, also longer than the context while they continue, drawn together and alone.
TEST(Int8, SequencesDrawnTogetherAreThoseDrawnAlone) {
  const std::vector<std::vector<int64_t>> prompts{
      {7}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {42, 3, 5}, {42, 3, 5}, {99, 98}};
  for (const nn::Positions positions : {nn::Positions::learned, nn::Positions::rope, nn::Positions::alibi}) {
    nn::GPTModel model = small_model(true, positions);
    for (const bool int8 : {false, true}) {
      if (int8) model.store_in_int8();
      for (const double temperature : {0.0, 1.0}) {
        const nn::GenerateOptions options{
            .max_new_tokens = 8, .end_token = 11, .temperature = temperature, .top_k = 60};
        const nn::Generated all = nn::generate_each(model, prompts, options, 20);
        for (std::size_t i = 0; i < prompts.size(); ++i) {
          SCOPED_TRACE(testing::Message() << nn::name(positions) << int8 << temperature << ", sequence " << i);
          Generator draws(20 + i);
          nn::GenerateOptions own{.max_new_tokens = 8, .end_token = 11, .temperature = temperature, .top_k = 60};
          own.generator = &draws;
          nn::GPTNext next(model);
          const nn::Generated one =
              nn::generate(next, tensor(prompts[i], {1, static_cast<int64_t>(prompts[i].size())}), own);
          EXPECT_EQ(one.lengths[0], all.lengths[i]);
          EXPECT_EQ(narrow(all.tokens[static_cast<int64_t>(i)], 0, 0, all.lengths[i]).to_vector<int64_t>(),
                    one.tokens[0].to_vector<int64_t>());
          EXPECT_EQ(all.scores[i], one.scores[0]);
        }
      }
    }
  }
  const nn::GPTModel model = small_model(true);
  EXPECT_EQ(error_of([&] { nn::generate_each(model, prompts, {.max_new_tokens = 1, .beams = 2}, 0); }),
            "[generate] several sequences at once take one beam, got 2");
  nn::KVCache cache;
  nn::KVCache* const caches[] = {&cache};
  EXPECT_EQ(error_of([&] {
              model.hidden_each(zeros({2, 1}, kInt64), caches);
            }),
            "[gpt] expected ids int64 [1, 1], one for each cache, got int64 [2, 1]");
}

}  // namespace
}  // namespace tapegrad
