// The random streams against PyTorch's and NumPy's, number for number. States of random streams: they
// continue exactly, and invalid ones are rejected.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using json = Json;

// tests/data/random.json, made by make_random.py in the same folder.
const json& vectors() {
  static const json data = stored("random.json");
  return data;
}

std::string fnv(const void* data, size_t size) {
  uint64_t value = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i) value = (value ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string state_hash(const Generator& g) {
  const auto bytes = g.state();
  return fnv(bytes.data(), bytes.size());
}

template <class T>
void expect_equal(const json& call, const std::vector<T>& x) {
  for (size_t i = 0; i < call["head"].size(); ++i)
    EXPECT_EQ(call["head"][i].get<T>(), x[i]) << call << " element " << i;
  EXPECT_EQ(call["hash"], fnv(x.data(), x.size() * sizeof(T))) << call;
}

template <class T>
void repeat_floating(Generator& g, const json& call) {
  const std::string name = call["call"];
  std::vector<T> x(call["n"].get<size_t>());
  const int64_t n = static_cast<int64_t>(x.size());
  if (name == "uniform") g.uniform(x.data(), n, call["a"], call["b"]);
  if (name == "normal") g.normal(x.data(), n, call["a"], call["b"]);
  if (name == "exponential") g.exponential(x.data(), n, call["a"]);
  expect_equal(call, x);
}

template <class T>
void repeat_weighted(Generator& g, const json& call) {
  const int64_t n = call["n"];
  std::vector<T> weights(call.value("weights", call["n"].get<size_t>()));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<T>((i + 1) % 7);
  if (call["call"] == "bernoulli") {
    for (T& w : weights) w /= 7;
    std::vector<uint8_t> x(static_cast<size_t>(n));
    g.bernoulli(x.data(), weights.data(), n);
    expect_equal(call, x);
  } else {
    std::vector<int64_t> x(static_cast<size_t>(n));
    g.multinomial(x.data(), n, weights.data(), static_cast<int64_t>(weights.size()), call["a"].get<bool>());
    expect_equal(call, x);
  }
}

void repeat(Generator& g, const json& call) {
  const std::string name = call["call"];
  const int64_t n = call["n"];
  const bool is_float = call.value("type", "") == "float32";
  if (name == "multinomial" || name == "bernoulli") {
    is_float ? repeat_weighted<float>(g, call) : repeat_weighted<double>(g, call);
  } else if (name == "keep_mask") {
    std::vector<uint8_t> x(static_cast<size_t>(n));
    g.keep_mask(x.data(), n, call["a"]);
    expect_equal(call, x);
  } else if (call.contains("type")) {
    is_float ? repeat_floating<float>(g, call) : repeat_floating<double>(g, call);
  } else {
    std::vector<int64_t> x(static_cast<size_t>(n));
    if (name == "randint") g.randint(x.data(), n, call["a"], call["b"]);
    if (name == "random63") g.random63(x.data(), n);
    if (name == "randperm") g.randperm(x.data(), n);
    expect_equal(call, x);
  }
}

TEST(Random, EveryCallDrawsWhatPyTorchDraws) {
  for (const json& stream : vectors()["streams"]) {
    Generator g(stream["seed"].get<uint64_t>());
    for (const json& call : stream["calls"]) repeat(g, call);
    EXPECT_EQ(stream["state"], state_hash(g)) << "seed " << stream["seed"];
  }
}

TEST(Random, SeedsAreTruncatedTo32Bits) {
  Generator a((uint64_t{1} << 40) + 7), b(7);
  EXPECT_EQ(a.seed(), (uint64_t{1} << 40) + 7);
  for (int i = 0; i < 700; ++i) ASSERT_EQ(a.random32(), b.random32());
  EXPECT_EQ(Generator().seed(), Generator::kDefaultSeed);
}

TEST(Random, TheFirstWordOfAPairIsTheHighHalf) {
  Generator a(3), b(3);
  const uint64_t first = a.random32();
  EXPECT_EQ(b.random64(), first << 32 | a.random32());
}

TEST(Random, SeedingDropsTheCachedNormal) {
  Generator g(11);
  double first, again;
  g.normal(&first, 1);
  g.manual_seed(11);
  g.normal(&again, 1);
  EXPECT_EQ(first, again);
}

TEST(Random, TheDefaultGenerator) {
  manual_seed(42);
  Generator copy = default_generator();
  EXPECT_EQ(copy.random64(), default_generator().random64());
  manual_seed(Generator::kDefaultSeed);
  EXPECT_EQ(Generator().random32(), default_generator().random32());
}

TEST(Random, ACallDrawsTheSameWithAnyNumberOfThreads) {
  constexpr int kThreads = 4, kDraws = 20000;
  Generator shared(1), alone(1);
  std::vector<std::vector<uint64_t>> drawn(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : drawn)
    threads.emplace_back([&shared, &mine] {
      for (int i = 0; i < kDraws; ++i) mine.push_back(shared.random64());
    });
  for (std::thread& thread : threads) thread.join();
  std::multiset<uint64_t> all, expected;
  for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
  for (int i = 0; i < kThreads * kDraws; ++i) expected.insert(alone.random64());
  EXPECT_EQ(all, expected);
}

// ---- The other streams ----

// The masks that viRngBernoulli of Intel's MKL draws from an MCG31m1 seeded with the first two words of seed 123.
TEST(Random, TheMcg31StreamTakesOneWordPerMask) {
  Generator g(123);
  g.set_mask_stream(MaskStream::kMcg31m1);
  const std::pair<double, std::string> masks[] = {{0.5, "111111010000001010110001100001010000"},
                                                  {0.9, "111101101011111111010111111111111111"}};
  for (const auto& [p, expected] : masks) {
    uint8_t keep[36];
    g.keep_mask(keep, 36, p);
    std::string drawn;
    for (const uint8_t k : keep) drawn += static_cast<char>('0' + k);
    EXPECT_EQ(drawn, expected);
  }
  Generator words(123);
  words.random64();
  EXPECT_EQ(g.random32(), words.random32());
  g.manual_seed(1);
  EXPECT_EQ(g.mask_stream(), MaskStream::kMcg31m1);
}

TEST(Random, NumpysLegacyStream) {
  for (const json& stream : vectors()["numpy"]) {
    NumpyRandom random(stream["seed"].get<uint32_t>());
    for (const json& row : stream["randint"])
      for (const json& value : row[2]) EXPECT_EQ(random.randint(row[0], row[1]), value.get<int64_t>()) << row;
    for (const json& value : stream["random"]) EXPECT_EQ(random.random(), value.get<double>());
    NumpyRandom copy(0);
    copy.set_state(random.state());
    for (const json& value : stream["choice"]) {
      EXPECT_EQ(random.choice_index(4), value.get<int64_t>());
      EXPECT_EQ(copy.choice_index(4), value.get<int64_t>());
    }
  }
}

// The numbers of np.random.seed(42); np.random.randn(4), and of random() and randn() after them.
TEST(Random, NumpysNormalNumbers) {
  NumpyRandom random(42), copy(0);
  const auto expect = [](double drawn, double numpys) { EXPECT_NEAR(drawn, numpys, 4e-16 * std::abs(numpys)); };
  expect(random.randn(), 0.4967141530112327);
  copy.set_state(random.state());  // with the second half of a pair
  expect(random.randn(), -0.13826430117118466);
  expect(copy.randn(), -0.13826430117118466);
  const Tensor rest = random.randn({2});
  expect(rest[0].item(), 0.6476885381006925);
  expect(rest[1].item(), 1.5230298564080254);
  EXPECT_EQ(random.random(), 0.15601864044243652);
  expect(random.randn(), 0.2790412922001377);
  random.seed(42);  // forgets the second half, too
  expect(random.randn(), 0.4967141530112327);
}

// ---- Tensors ----

TEST(RandomTensors, DrawTheSameAsFills) {
  Generator a(8), b(8);
  const auto expect = [](const Tensor& drawn, const auto& filled, const Shape& shape) {
    EXPECT_TRUE(same_bits(drawn, tensor(filled, shape))) << drawn;
  };
  std::vector<double> x(60);
  std::vector<float> f(60);
  b.uniform(f.data(), 60);
  expect(rand({3, 4, 5}, kFloat32, &a), f, {3, 4, 5});
  b.normal(f.data(), 60);
  expect(randn({60}, kFloat32, &a), f, {60});
  b.uniform(x.data(), 60, -1, 2);
  expect(uniform({6, 10}, -1, 2, kFloat64, &a), x, {6, 10});
  b.normal(x.data(), 60, 3, 0.5);
  expect(normal({60}, 3, 0.5, kFloat64, &a), x, {60});
  std::vector<int64_t> k(60);
  b.randint(k.data(), 60, 1, 20);
  expect(randint(1, 20, {4, 15}, &a), k, {4, 15});
  b.randperm(k.data(), 60);
  expect(randperm(60, &a), k, {60});
  std::vector<uint8_t> kept(60);
  std::fill(f.begin(), f.end(), 0.25f);
  b.bernoulli(kept.data(), f.data(), 60);
  expect(bernoulli(full({60}, 0.25), &a), std::vector<float>(kept.begin(), kept.end()), {60});
  b.multinomial(k.data(), 4, f.data(), 30);
  b.multinomial(k.data() + 4, 4, f.data(), 30);
  k.resize(8);
  expect(multinomial(full({2, 30}, 0.25), 4, false, &a), k, {2, 4});
  EXPECT_EQ(a.state(), b.state());
  EXPECT_EQ(rand({0, 3}).numel(), 0);
}

// What is computed from draws equals PyTorch's up to rounding. PyTorch's inverse error function is as exact as erf in
// the type of the result: the difference is at most a rounding of erf, divided by its slope.
TEST(RandomTensors, DeriveWhatPyTorchDerives) {
  for (const json& stream : vectors()["derived"]) {
    Generator g(stream["seed"].get<uint64_t>());
    for (const json& call : stream["calls"]) {
      const bool single = call["type"] == "float32", is_gumbel = call["call"] == "gumbel";
      const DType dtype = single ? kFloat32 : kFloat64;
      const double epsilon = single ? 0x1p-23 : 0x1p-52;
      const std::vector<double> theirs = call["values"];
      const Shape shape{static_cast<int64_t>(theirs.size())};
      const double mean = call.value("mean", 0.0), std = call.value("std", 1.0);
      const Tensor drawn = is_gumbel ? gumbel(shape, dtype, &g)
                                     : truncated_normal(shape, mean, std, call["low"], call["high"], dtype, &g);
      const std::vector<double> ours = drawn.to(kFloat64).to_vector<double>();
      for (std::size_t i = 0; i < ours.size(); ++i) {
        const double z = (theirs[i] - mean) / std;
        const double room = is_gumbel ? 0 : std::abs(mean) + 1.25 * std * std::exp(z * z / 2);
        EXPECT_NEAR(ours[i], theirs[i], epsilon * (std::abs(theirs[i]) + room)) << call["call"] << " element " << i;
      }
    }
    EXPECT_EQ(stream["state"], state_hash(g));
  }
}

// A row is computed on vectors, a single number is not.
TEST(Random, ExponentialNumbersOfARowAreSingleOnes) {
  Generator row(9), one(9);
  std::vector<float> x(100'003), y(x.size());
  row.exponential(x.data(), static_cast<int64_t>(x.size()), 2.5);
  for (float& number : y) one.exponential(&number, 1, 2.5);
  EXPECT_EQ(x, y);
  EXPECT_EQ(row.random64(), one.random64());
}

TEST(RandomTensors, TakeShapeAndTypeOfAnother) {
  Generator a(3), b(3);
  const Tensor x = zeros({2, 3}, kFloat64).t();
  EXPECT_TRUE(same_bits(rand_like(x, &a), rand({3, 2}, kFloat64, &b)));
  EXPECT_TRUE(same_bits(randn_like(x, &a), randn({3, 2}, kFloat64, &b)));
  EXPECT_TRUE(same_bits(full_like(x, 7), full({3, 2}, 7, kFloat64)));
  EXPECT_EQ(full_like(zeros({2}, kInt64), 7).dtype(), kInt64);
  std::vector<float> e(20);
  b.exponential(e.data(), 20, 2.5);
  EXPECT_EQ(exponential({4, 5}, 2.5, kFloat32, &a).to_vector<float>(), e);
  EXPECT_EQ(truncated_normal({0, 2}).numel(), 0);
}

TEST(RandomTensors, BadArguments) {
  const Tensor ids = zeros({2}, kInt64);
  EXPECT_EQ(error_of([&] { rand_like(ids); }), "[rand_like] expected float32 or float64, got int64");
  EXPECT_EQ(error_of([&] { randn_like(ids); }), "[randn_like] expected float32 or float64, got int64");
  EXPECT_EQ(error_of([] { exponential({2}, 0); }), "[exponential] expected a positive rate, got 0");
  EXPECT_EQ(error_of([] { gumbel({2}, kInt64); }), "[gumbel] expected float32 or float64, got int64");
  EXPECT_ERROR(truncated_normal({2}, 0, 0));
  EXPECT_EQ(error_of([] { truncated_normal({2}, 0, 1, 2, 2); }), "[truncated_normal] expected low < high, got 2 and 2");
  EXPECT_ERROR(truncated_normal({2}, 0, 1, -2, 2, kInt64));
  EXPECT_EQ(error_of([] { gumbel_softmax(zeros({2}), 0); }), "[gumbel_softmax] expected a positive temperature, got 0");
  EXPECT_ERROR(gumbel_softmax(zeros({2}), 1, false, 1));
  EXPECT_ERROR(gumbel_softmax(ids));
  EXPECT_EQ(error_of([] { rand({2}, kInt64); }), "[rand] expected float32 or float64, got int64");
  EXPECT_EQ(error_of([] { bernoulli(ones({2}, kInt64)); }), "[bernoulli] expected float32 or float64, got int64");
  EXPECT_ERROR(multinomial(ones({2, 2, 2}), 1));
  EXPECT_EQ(error_of([] { randint(2, 2, {3}); }), "[randint] expected low < high, got 2 and 2");
  EXPECT_EQ(error_of([] { randperm(-1); }), "[randperm] expected a length of 0 or more, got -1");
}

// ---- Errors and nothing to draw ----

TEST(Random, BadArguments) {
  Generator g(1);
  float x[4];
  int64_t k[4];
  uint8_t b[4];
  const std::string before = state_hash(g);
  EXPECT_EQ(error_of([&] { g.uniform(x, 4, 1, 0); }), "[uniform] expected finite bounds with from <= to, got 1 and 0");
  EXPECT_NE(error_of([&] { g.uniform(x, 4, 0, kInf); }), "no error");
  EXPECT_NE(error_of([&] { g.uniform(x, 4, 0, kNan); }), "no error");
  EXPECT_NE(error_of([&] { g.uniform(x, 4, -3e38, 3e38); }), "no error");
  EXPECT_EQ(error_of([&] { g.normal(x, 4, 0, -1); }), "[normal] expected a standard deviation of 0 or more, got -1");
  EXPECT_NE(error_of([&] { g.normal(x, 4, 0, kNan); }), "no error");
  EXPECT_EQ(error_of([&] { g.exponential(x, 4, 0); }), "[exponential] expected a positive rate, got 0");
  EXPECT_EQ(error_of([&] { g.randint(k, 4, 3, 3); }), "[randint] expected low < high, got 3 and 3");
  EXPECT_EQ(error_of([&] { g.randperm(k, -1); }), "[randperm] expected a length of 0 or more, got -1");
  EXPECT_EQ(error_of([&] { g.keep_mask(b, 4, 1.5); }), "[bernoulli] expected the probability in [0, 1], got 1.5");
  EXPECT_NE(error_of([&] { g.keep_mask(b, 4, kNan); }), "no error");
  const float negative[2] = {1, -1}, zero[2] = {0, 0}, one[2] = {0, 2};
  EXPECT_ERROR(g.multinomial(k, 1, negative, 2));
  EXPECT_ERROR(g.multinomial(k, 1, zero, 2));
  EXPECT_ERROR(g.multinomial(k, 2, one, 2));
  EXPECT_ERROR(g.multinomial(k, 3, zero, 2, true));
  EXPECT_EQ(error_of([&] { g.multinomial(k, 0, one, 2); }), "[multinomial] expected at least 1 sample, got 0");
  EXPECT_EQ(error_of([] { NumpyRandom(1).randint(2, 2); }), "[NumpyRandom.randint] expected low < high, got 2 and 2");
  EXPECT_ERROR(NumpyRandom(1).choice_index(0));
  EXPECT_EQ(before, state_hash(g));
}

TEST(Random, EmptyFillsDrawNothing) {
  Generator g(1);
  const std::string before = state_hash(g);
  g.uniform(static_cast<float*>(nullptr), 0);
  g.normal(static_cast<float*>(nullptr), 0);
  g.normal(static_cast<double*>(nullptr), 0);
  g.randint(nullptr, 0, 0, 5);
  g.randperm(nullptr, 0);
  g.keep_mask(nullptr, 0, 0.5);
  g.set_mask_stream(MaskStream::kMcg31m1);
  g.keep_mask(nullptr, 0, 0.5);
  g.set_mask_stream(MaskStream::kMt19937);
  EXPECT_EQ(before, state_hash(g));
}

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
  EXPECT_TEXT(refused(24 + 8 * 3 + 4, {0, 0, 0, 1}).substr(0, 67));
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
  for (size_t i = 0; i < good.size(); ++i)
    for (const int flip : {0x01, 0x80, 0xff}) {
      auto bad = good;
      bad[i] ^= static_cast<std::byte>(flip);
      Generator h(1);
      error_of([&] { h.set_state(bad); });
      for (int k = 0; k < 4; ++k) h.random64();
    }
}

}  // namespace
}  // namespace tapegrad::tests
