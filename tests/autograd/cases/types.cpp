// uint8, int32, float16 and bfloat16: values against PyTorch's, products and models, and that no operation takes them
// for another type. (Conversions and promotion: values/types.txt.)
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/kernels/simd/float16.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using Bytes = std::vector<uint8_t>;
using Words = std::vector<int32_t>;

Tensor uint8s(const Bytes& values) { return tensor(values, {static_cast<int64_t>(values.size())}); }
Tensor int32s(const Words& values) { return tensor(values, {static_cast<int64_t>(values.size())}); }

// --- float16 ---

// 65,536 values of type T, or their hash.
template <class T>
uint64_t pattern_hash(const T* values) {
  uint64_t hash = 0;
  for (int i = 0; i < 65536; ++i) hash = hash * 1099511628211U + values[i] + 1;
  return hash;
}

Tensor all_halves() {
  const Tensor x = Tensor::empty({65536}, kFloat16);
  for (int i = 0; i < 65536; ++i) static_cast<uint16_t*>(x.mutable_raw_data())[i] = static_cast<uint16_t>(i);
  return x;
}

TEST(Float16, WidensEveryPatternAsPyTorch) {
  const Tensor x = all_halves(), y = x.to(kFloat32);
  EXPECT_EQ(pattern_hash(static_cast<const uint32_t*>(y.raw_data())), 0x7c6256c39cd20000U);
  for (int i = 0; i < 65536; ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(widen_float16(static_cast<uint16_t>(i))),
              std::bit_cast<uint32_t>(y.data<float>()[i]));
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    if (exponent == 31) continue;
    const double exact = exponent == 0 ? fraction * 0x1p-24 : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(y.data<float>()[i], static_cast<float>(i < 32768 ? exact : -exact)) << i;
  }
}

TEST(Float16, RoundsEveryPatternAsPyTorch) {
  const std::pair<uint32_t, uint64_t> cases[] = {{0, 0x861155f21773ec00U},      {0x0fff, 0x6cda98449a0b8000U},
                                                 {0x1000, 0x6cda98449a0b8000U}, {0x1001, 0x36fceafb48df1c00U},
                                                 {0x2fff, 0xafbe53862bb5c000U}, {0x3000, 0x79e0a63cda895c00U},
                                                 {0xffff, 0x665243174b16dc00U}};
  for (const auto& [low, expected] : cases) {  // the last 16 bits
    const Tensor x = Tensor::empty({65536});
    auto* const bits = static_cast<uint32_t*>(x.mutable_raw_data());
    for (uint32_t i = 0; i < 65536; ++i) bits[i] = i << 16 | low;
    const Tensor y = x.to(kFloat16);
    const auto* const halves = static_cast<const uint16_t*>(y.raw_data());
    EXPECT_EQ(pattern_hash(halves), expected) << low;
    for (int i = 0; i < 65536; ++i) ASSERT_EQ(round_to_float16(x.data<float>()[i]), halves[i]) << i;
  }
}

TEST(Halves, AreStorage) {
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const Tensor half = arange(0, 4, 1, kFloat32).reshape({2, 2}).to(dtype);
    const std::string type(name(dtype));
    expect_parts(error_of([&] { half.as_leaf(); }), {"expected float32 or float64, got " + type});
    const Tensor leaf = ones({1, 2}).as_leaf();
    const Tape tape;
    expect_parts(error_of([&] { linear(leaf, half); }), {"a " + type + " weight cannot be used while a tape records"});
  }
}

// --- bfloat16, the type of weights for generation ---

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

// --- uint8 and int32 ---

TEST(SmallIntegers, AreMadeAndRead) {
  const Tensor x = tensor(Bytes{1, 2, 250, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.dtype(), kUInt8);
  EXPECT_EQ(x.t().contiguous().to_vector<uint8_t>(), (Bytes{1, 4, 2, 5, 250, 6}));
  EXPECT_EQ(x(0, 2).item(), 250);
  EXPECT_EQ(x(0, 2).item<int>(), 250);
  EXPECT_EQ(tensor({1, 2}, kInt32).to_vector<int32_t>(), (Words{1, 2}));
  EXPECT_EQ(zeros_like(x).dtype(), kUInt8);
  EXPECT_EQ(x.data<uint8_t>()[2], 250);
}

TEST(Float16, Promotes) {
  EXPECT_EQ(promoted_type(kFloat16, kBFloat16), kFloat32);
  EXPECT_EQ(promoted_type(kFloat16, kInt64), kFloat16);
}

TEST(SmallIntegers, AreIndices) {
  Generator generator(1);
  const Tensor x = randn({4, 5}, kFloat32, &generator), ids = tensor({3, 0, 3}), narrow = ids.to(kInt32);
  expect_near(x(narrow), x(ids));
  expect_near(index(x, {narrow, narrow}), index(x, {ids, ids}));
  EXPECT_ERROR(x(ids.to(kUInt8)));
}

TEST(SmallIntegers, Errors) {
  const Tensor u = uint8s({200, 100, 3});
  EXPECT_ERROR(tensor({1, 300}, kUInt8));
  EXPECT_ERROR(tensor({1, 1e30}, kInt64));
  EXPECT_ERROR(tensor({0x1p63}, kInt64));
  EXPECT_ERROR(tensor({std::nan("")}, kInt64));
  EXPECT_ERROR(tensor({-kInf}, kInt32));
  EXPECT_ERROR(u.data<int64_t>());
  EXPECT_ERROR(u.as_leaf());
}

TEST(SmallIntegers, LiteralsAtTheEndsOfInt64) {
  EXPECT_EQ(tensor({INT64_MIN, INT64_MAX}, kInt64).to_vector<int64_t>(), (std::vector<int64_t>{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(tensor({-0x1p63, 0x1.fffffffffffffp62, 2.9}, kInt64).to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MIN, INT64_MAX - 1023, 2}));
}

// Every operation of the table, with numbers of each type for storage in place of its floating inputs, either raises an
// Error that names the type, or returns what it does for the same numbers in another type: in int64, or widened.
TEST(StoredTypes, AreNeverMistakenForAnotherType) {
  for (const DType dtype : {kUInt8, kInt32, kFloat16, kBFloat16}) {
    int refused = 0, right = 0;
    for (const tasks::OpSamples& of : tasks::op_samples())
      for (const tasks::OpSample& sample : of.samples) {
        std::vector<Tensor> narrow, wide;
        for (const Tensor& x : sample.inputs) {
          const bool replaced = is_floating(x.dtype());
          narrow.push_back(replaced ? (is_integer(dtype) ? abs(trunc(x)) : x).to(dtype) : x);
          wide.push_back(replaced ? narrow.back().to(is_integer(dtype) ? kInt64 : kFloat32) : x);
        }
        SCOPED_TRACE(of.op + " " + sample.label + " " + std::string(name(dtype)));
        Tensor y, expected;
        const std::string said = error_of([&] { y = sample.f(narrow); });
        const std::string wrong = error_of([&] { expected = sample.f(wide); });
        if (!y.defined()) {  // also where the numbers are wrong, such as a divisor of 0
          ++refused;
          EXPECT_TRUE(said == wrong || said.find(name(dtype)) != std::string::npos) << said;
          continue;
        }
        ++right;
        ASSERT_TRUE(expected.defined()) << wrong;
        expect_near(y, y.dtype() == dtype ? expected.to(dtype) : expected);
      }
    EXPECT_GT(refused, 500);
    EXPECT_GT(right, 100);
  }
}

// --- files ---

TEST(StoredTypes, AreWrittenAndRead) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors", array = folder / "x.npy", archive = folder / "x.npz";
  const Tensor u = tensor(Bytes{1, 200, 3, 255}, {2, 2}), i = int32s({INT32_MIN, 0, INT32_MAX});
  const Tensor half = tensor({0.1, -65504., 6e-8}).to(kFloat16), narrow = tensor({0.1, -7.25, 1e30}).to(kBFloat16);
  save_safetensors(path, {{"u", u.t()}, {"i", i}, {"half", half}, {"narrow", narrow}});
  const SafeTensorsFile file(path);
  EXPECT_EQ(file.find("u")->dtype, "U8");
  EXPECT_EQ(file.find("i")->dtype, "I32");
  EXPECT_EQ(file.find("half")->dtype, "F16");
  EXPECT_EQ(file.find("half")->bytes, 6U);
  EXPECT_EQ(file.find("narrow")->dtype, "BF16");
  EXPECT_EQ(file.find("narrow")->bytes, 6U);
  EXPECT_TRUE(same_bits(file.read(*file.find("u")), u.t()));
  EXPECT_TRUE(same_bits(file.read(*file.find("i")), i));
  EXPECT_TRUE(same_bits(file.read(*file.find("half")), half.to(kFloat32)));
  EXPECT_EQ(file.read(*file.find("narrow")).to_vector<float>(), narrow.to(kFloat32).to_vector<float>());
  for (const Tensor& x : {u, i}) {
    save_npy(array, x);
    EXPECT_TRUE(same_bits(load_npy(array), x));
  }
  save_npz(archive, {{"u", u}, {"half", half}});
  EXPECT_TRUE(same_bits(load_npz(archive, "u"), u));
  EXPECT_TRUE(same_bits(load_npz(archive, "half"), half.to(kFloat32)));
}

}  // namespace
}  // namespace tapegrad::tests
