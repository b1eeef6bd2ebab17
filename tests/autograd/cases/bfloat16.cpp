// bfloat16, the type of weights for generation: rounding, products and models. (Conversions and storage:
// values/types.txt and types.cpp.)
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/tests/support/testing.h>

#include <cstdio>

namespace tapegrad::tests {
namespace {

TEST(BFloat16, RoundsToNearestEven) {
  const auto rounded = [](uint32_t bits) { return round_to_bfloat16(std::bit_cast<float>(bits)); };
  EXPECT_EQ(rounded(0x3f800000), 0x3f80);
  EXPECT_EQ(rounded(0x3f807fff), 0x3f80);
  EXPECT_EQ(rounded(0x3f808000), 0x3f80);  // half way, even below
  EXPECT_EQ(rounded(0x3f818000), 0x3f82);  // half way, even above
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0xbf818000), 0xbf82);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f80);  // too large: infinity
  EXPECT_EQ(rounded(0x7f800000), 0x7f80);
  EXPECT_EQ(rounded(0xff800000), 0xff80);
  EXPECT_EQ(rounded(0x00000001), 0x0000);
  EXPECT_EQ(rounded(0x80018000), 0x8002);  // denormal
  EXPECT_EQ(rounded(0x7fffffff), 0x7fc0);
  EXPECT_EQ(rounded(0xffc00001), 0x7fc0);
}

TEST(Halves, LinearReadsThemAsWeights) {
  Generator generator(1);
  for (const DType dtype : {kBFloat16, kFloat16})
    for (const int64_t rows : {0, 1, 2, 3, 4, 9, 40})
      for (const auto& [out, in] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {7, 64}, {2500, 77}, {33, 800}}) {
        const Tensor x = randn({rows, in}, kFloat32, &generator), weight = randn({out, in}, kFloat32, &generator);
        const Tensor bias = randn({out}, kFloat32, &generator), half = weight.to(dtype);
        const Tensor expected = linear(x.to(kFloat64), half.to(kFloat64), bias.to(kFloat64));
        const Tensor y = linear(x, half, bias);
        ASSERT_EQ(y.dtype(), kFloat32);
        EXPECT_LT(largest_difference(y.to(kFloat64), expected), 1e-6 + 3e-7 * static_cast<double>(in))
            << rows << " " << out << " " << in;
      }
  const Tensor x = randn({2, 3, 4}, kFloat32, &generator),
               weight = randn({4, 6}, kFloat32, &generator).to(kBFloat16).t();
  expect_near(linear(x, weight), linear(x, weight.to(kFloat32)));  // a view
}

TEST(Halves, HaveNanAndInfinityInViews) {
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const Tensor x = tensor({1.0, kNan, kInf, -kInf}).to(dtype);
    expect_near(isfinite(x.expand({2, 4}).t()[0]), tensor({true, true}));
    EXPECT_TRUE(all_finite(x[0]));
    EXPECT_FALSE(all_finite(x.slice(0, kAll, kAll, -1)));
  }
}

TEST(BFloat16, AModelStoredInItGeneratesNearlyTheSame) {
  for (const bool tied : {false, true}) {
    manual_seed(3);
    nn::GPTModel model({.vocab_size = 100,
                        .context_length = 32,
                        .emb_dim = 32,
                        .n_heads = 4,
                        .n_layers = 2,
                        .drop_rate = 0,
                        .tied_head = tied});
    nn::eval(model);
    const Tensor ids = tensor({5, 17, 99, 0, 3}).reshape({1, 5}), before = model(ids);
    const int64_t count = nn::count_parameters(model);
    nn::store(model, "bfloat16");
    EXPECT_EQ(nn::count_parameters(model), count);
    const Tensor after = model(ids);
    const double change = (amax(abs(after - before)) / amax(abs(before))).item();
    EXPECT_GT(change, 1e-5);  // it did round
    EXPECT_LT(change, 2e-2);
    EXPECT_EQ(nn::state_dict(model)[0].tensor.dtype(), kBFloat16);

    nn::GPTNext cached(model), whole(model, false);
    const nn::GenerateOptions options{.max_new_tokens = 12};
    EXPECT_EQ(nn::generate(cached, ids, options).tokens.to_vector<int64_t>(),
              nn::generate(whole, ids, options).tokens.to_vector<int64_t>());

    nn::GPTModel same = nn::clone(model);  // and a state of float32 is rounded on its way in
    nn::load_state_dict(same, nn::state_dict(model));
    EXPECT_EQ(same(ids).to_vector<float>(), after.to_vector<float>());
  }
}

TEST(BFloat16, OnlyFloatingTypesKeepAParameter) {
  nn::Parameter p(ones({2}));
  EXPECT_NE(error_of([&] { p.convert(kInt64); }).find("cannot be converted to int64"), std::string::npos);
  p.convert(kBFloat16);
  p.set(tensor({1.0, 3.0}));
  EXPECT_EQ(p.tensor().to(kFloat32).to_vector<float>(), (std::vector<float>{1, 3}));
}

}  // namespace
}  // namespace tapegrad::tests
