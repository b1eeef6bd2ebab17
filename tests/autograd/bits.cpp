// The hash of tensors.
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

std::string hash_of(const Tensor& x) { return bits_of({{"x", x}}); }

// As documented, written out by hand.
TEST(Bits, IsXxh3OfNamesTypesShapesAndValues) {
  const auto add = [](uint64_t hash, const void* data, std::size_t size) {
    return checksum({static_cast<const std::byte*>(data), size}, hash);
  };
  const auto text = [&](uint64_t hash, const std::string& s) { return add(hash, s.data(), s.size()); };
  const float a[] = {1, -2.5f, 3};
  const int64_t b[] = {7};
  uint64_t hash = add(text(0, "a float32 [3, 1]"), a, sizeof a);
  hash = add(text(hash, "b int64 []"), b, sizeof b);
  hash = add(text(hash, "c bool [0]"), nullptr, 0);
  std::string expected;
  for (int i = 60; i >= 0; i -= 4) {
    expected += "0123456789abcdef"[hash >> i & 15];
    if (i % 16 == 0 && i > 0) expected += ' ';
  }
  const NamedTensors tensors = {{"a", tensor({1.0, -2.5, 3.0}, kFloat32).reshape({3, 1})},
                                {"b", tensor(std::vector<int64_t>{7}, {})},
                                {"c", full({0}, 0, kBool)}};
  EXPECT_EQ(bits_of(tensors), expected);
  EXPECT_EQ(bits_of({tensors[2], tensors[0], tensors[1]}), expected) << "the order of the list is not hashed";
  EXPECT_EQ(bits_of({}), "0000 0000 0000 0000");
}

// Nothing about a tensor is left out, and nothing else matters.
TEST(Bits, FindsEveryDifference) {
  const Tensor x = tensor({0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, kFloat32).reshape({2, 3});
  std::set<std::string> seen = {bits_of({}),
                                hash_of(x),
                                bits_of({{"y", x}}),
                                hash_of(x.reshape({3, 2})),
                                hash_of(x.to(kFloat64)),
                                hash_of(x.to(kBFloat16)),
                                hash_of(x.t()),
                                hash_of(-x),
                                bits_of({{"x", x}, {"y", x}}),
                                bits_of({{"x", x}, {"x", x}})};
  EXPECT_EQ(seen.size(), 10U);
  std::vector<float> values = x.to_vector<float>();
  for (float& value : values) {
    for (int bit = 0; bit < 32; ++bit) {
      uint32_t word = 0;
      std::memcpy(&word, &value, 4);
      word ^= 1U << bit;
      const float kept = value;
      std::memcpy(&value, &word, 4);
      EXPECT_TRUE(seen.insert(hash_of(tensor(values, {2, 3}))).second) << bit;
      value = kept;
    }
  }
  EXPECT_EQ(hash_of(x.t()), hash_of(x.t().contiguous()));
  EXPECT_EQ(hash_of(x.slice(0, 1)), hash_of(tensor({3.0, 4.0, 5.0}, kFloat32).reshape({1, 3})));
  EXPECT_EQ(tests::error_of([] { bits_of({{"x", Tensor()}}); }).substr(0, 8), "[tensor]");
}

}  // namespace
}  // namespace tapegrad
