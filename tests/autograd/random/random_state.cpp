// States of random streams: they continue exactly, and invalid ones are rejected.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using tests::error_of;

TEST(Random, AStateContinuesExactly) {
  for (const int words : {0, 1, 623, 624, 625, 1000}) {
    Generator g(5);
    for (int i = 0; i < words; ++i) g.random32();
    double normal;
    g.normal(&normal, 1);  // leaves a cached normal
    g.set_mask_stream(MaskStream::kMcg31m1);
    Generator h(99);
    h.set_state(g.state());
    EXPECT_EQ(h.state(), g.state());
    EXPECT_EQ(h.seed(), 5u);
    EXPECT_EQ(h.mask_stream(), MaskStream::kMcg31m1);
    Generator copy = g;
    for (int i = 0; i < 1300; ++i) {
      double a, b, c;
      g.normal(&a, 1);
      h.normal(&b, 1);
      copy.normal(&c, 1);
      ASSERT_EQ(a, b);
      ASSERT_EQ(a, c);
      ASSERT_EQ(g.random32(), h.random32());
      copy.random32();
    }
  }
}

TEST(Random, ABadStateIsRejectedAndChangesNothing) {
  Generator g(5);
  const auto good = g.state();
  const auto refused = [&](size_t offset, std::vector<unsigned char> bytes) {
    auto bad = good;
    std::memcpy(bad.data() + offset, bytes.data(), bytes.size());
    const std::string text = error_of([&] { g.set_state(bad); });
    EXPECT_EQ(g.state(), good);
    return text;
  };
  EXPECT_ERROR(g.set_state({}));
  EXPECT_EQ(refused(12, {0}), "[Generator.set_state] expected a seeded flag of 1, got 0");
  EXPECT_TEXT(refused(16, {9}));
  EXPECT_TEXT(refused(17, {9}));
  EXPECT_EQ(refused(24 + 8 * 3 + 4, {0, 0, 0, 1}).substr(0, 67),
            "[Generator.set_state] expected words of 32 bits, got word 3 = 72057");
  EXPECT_TEXT(refused(24, std::vector<unsigned char>(8 * 624)));
  EXPECT_TEXT(refused(5040, {2}));
  EXPECT_TEXT(refused(5024, {0, 0, 0, 0, 0, 0, 0xf0, 0x7f}));
  EXPECT_TEXT(refused(5052, {1}));
  EXPECT_EQ(refused(5055, {2}), "[Generator.set_state] expected mask stream 0 or 1, got 2");
  NumpyRandom n(1);
  EXPECT_ERROR(n.set_state(good));
}

TEST(Random, EveryAlteredByteOfAStateIsReadOrRejected) {
  Generator g(5);
  double normal;
  g.normal(&normal, 1);
  const auto good = g.state();
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      auto bad = good;
      bad[i] ^= static_cast<std::byte>(flip);
      Generator h(1);
      try {
        h.set_state(bad);
      } catch (const Error&) {
      }
      for (int k = 0; k < 4; ++k) h.random64();
    }
  }
}

}  // namespace
}  // namespace tapegrad
