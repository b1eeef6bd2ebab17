// uint8, int32 and float16: values against PyTorch's, and that no operation takes them for another type.
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
    EXPECT_EQ(str(tensor({1.5, 2.0}).to(dtype)), "tensor([1.5000, 2.0000], dtype=" + type + ")");
    expect_parts(error_of([&] { half.as_leaf(); }), {"expected float32 or float64, got " + type});
    const Tensor leaf = ones({1, 2}).as_leaf();
    const Tape tape;
    expect_parts(error_of([&] { linear(leaf, half); }), {"a " + type + " weight cannot be used while a tape records"});
  }
}

// --- uint8 and int32 ---

TEST(SmallIntegers, AreMadeAndRead) {
  const Tensor x = tensor(Bytes{1, 2, 250, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.dtype(), kUInt8);
  EXPECT_EQ(x.t().contiguous().to_vector<uint8_t>(), (Bytes{1, 4, 2, 5, 250, 6}));
  EXPECT_EQ(x(0, 2).item(), 250);
  EXPECT_EQ(x(0, 2).item<int>(), 250);
  EXPECT_EQ(arange(250, 256, 1, kUInt8).to_vector<uint8_t>(), (Bytes{250, 251, 252, 253, 254, 255}));
  EXPECT_EQ(full({2}, -7, kInt32).to_vector<int32_t>(), (Words{-7, -7}));
  EXPECT_EQ(eye(2, kInt32).to_vector<int32_t>(), (Words{1, 0, 0, 1}));
  EXPECT_EQ(tensor({1, 2}, kInt32).to_vector<int32_t>(), (Words{1, 2}));
  EXPECT_EQ(zeros_like(x).dtype(), kUInt8);
  EXPECT_EQ(x.data<uint8_t>()[2], 250);
}

TEST(Float16, Promotes) {
  EXPECT_EQ(promoted_type(kFloat16, kBFloat16), kFloat32);
  EXPECT_EQ(promoted_type(kFloat16, kInt64), kFloat16);
}

TEST(SmallIntegers, Print) {
  EXPECT_EQ(str(uint8s({200, 100, 3})), "tensor([200, 100,   3], dtype=uint8)");
  EXPECT_EQ(str(int32s({1, -2})), "tensor([ 1, -2], dtype=int32)");
  EXPECT_EQ(str(Tensor::empty({0}, kUInt8)), "tensor([], dtype=uint8)");
  EXPECT_EQ(str(scalar(5, kInt32)), "tensor(5, dtype=int32)");
}

TEST(SmallIntegers, AreWrittenAndAdded) {
  const Tensor u = tensor(Bytes{1, 2, 3, 4, 5, 6}, {2, 3});
  const auto bytes = [](const Tensor& x) { return x.contiguous().to_vector<uint8_t>(); };
  Tensor x = u.clone();
  x(0) = 9;
  x(u > 5) += full({1}, 255, kUInt8);
  EXPECT_EQ(bytes(x), (Bytes{9, 9, 9, 4, 5, 5}));
}

TEST(SmallIntegers, AreIndicesAndClasses) {
  Generator generator(1);
  const Tensor x = randn({4, 5}, kFloat32, &generator), ids = tensor({3, 0, 3}), narrow = ids.to(kInt32);
  expect_near(embedding(x, narrow), embedding(x, ids));
  expect_near(index_select(x, 0, narrow), index_select(x, 0, ids));
  expect_near(x(narrow), x(ids));
  expect_near(index(x, {narrow, narrow}), index(x, {ids, ids}));
  expect_near(gather(x[0], 0, narrow), gather(x[0], 0, ids));
  expect_near(one_hot(narrow, 4), one_hot(ids, 4));
  expect_near(bincount(narrow), bincount(ids));
  expect_near(segment_sum(x.slice(0, 0, 3), narrow, 4), segment_sum(x.slice(0, 0, 3), ids, 4));
  const Tensor classes = tensor({0, 4, 2, 2});
  for (const DType dtype : {kUInt8, kInt32}) {
    const Tensor leaf = x.as_leaf();
    const Tape tape;
    const Tensor loss = cross_entropy(leaf, classes.to(dtype));
    expect_near(loss, cross_entropy(x, classes));
    expect_near(nll_loss(x, classes.to(dtype)), nll_loss(x, classes));
    expect_near(multi_margin_loss(x, classes.to(dtype)), multi_margin_loss(x, classes));
    expect_near(linear_cross_entropy(x, x, classes.to(dtype), {.ignore_index = 4}),
                linear_cross_entropy(x, x, classes, {.ignore_index = 4}));
  }
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
