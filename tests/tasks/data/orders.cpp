// Orders of examples: samplers, permutations without a list, mixtures, windows of several texts.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/internal/permutation.h>
#include <tapegrad/train/data/windows.h>

namespace tapegrad::data {
namespace {

using tests::error_of;
using Ids = std::vector<int64_t>;

Ids order_of(const Sampler& sampler, uint64_t seed) {
  Generator generator(seed);
  return sampler.order(generator);
}

TEST(Samplers, CheckTheirSizes) {
  EXPECT_EQ(error_of([] { shuffled(0, 3); }), "[shuffled] expected size >= 1, got 0");
  EXPECT_EQ(error_of([] { sequential(-1); }), "[sequential] expected size >= 0, got -1");
  EXPECT_EQ(error_of([] { with_replacement(0, 3); }), "[with_replacement] expected size >= 1, got 0");
  EXPECT_EQ(error_of([] { by_length({1, 2}, 0); }), "[by_length] expected batch_size >= 1, got 0");
}

// Padding that batches of an order need, in tokens.
int64_t padding_of(const Ids& order, const Ids& lengths, int64_t batch_size) {
  int64_t padding = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += static_cast<std::size_t>(batch_size)) {
    int64_t longest = 0, sum = 0, count = 0;
    for (std::size_t i = begin; i < std::min(order.size(), begin + static_cast<std::size_t>(batch_size));
         ++i, ++count) {
      const int64_t length = lengths[static_cast<std::size_t>(order[i])];
      longest = std::max(longest, length);
      sum += length;
    }
    padding += longest * count - sum;
  }
  return padding;
}

TEST(Samplers, ByLengthNeedsLittlePaddingAndVisitsEverything) {
  Generator generator(1);
  Ids lengths(1003);
  generator.randint(lengths.data(), 1003, 1, 50);
  const Sampler sampler = by_length(lengths, 8, 10);
  const Ids order = order_of(sampler, 4), other = order_of(sampler, 5);
  Ids sorted = order;
  std::sort(sorted.begin(), sorted.end());
  Ids all(1003);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  EXPECT_NE(order, other);
  EXPECT_LT(5 * padding_of(order, lengths, 8), padding_of(order_of(shuffled(1003), 4), lengths, 8));
  // Batches come in a random order: their lengths do not only grow.
  Ids firsts;
  for (std::size_t i = 0; i < order.size(); i += 8) firsts.push_back(lengths[static_cast<std::size_t>(order[i])]);
  EXPECT_FALSE(std::is_sorted(firsts.begin(), firsts.begin() + 10));
  EXPECT_EQ(order_of(by_length({}, 8), 1), Ids{});
  EXPECT_EQ(order_of(by_length({3}, 8, INT64_MAX), 1), Ids{0});
}

Ids values(const Permutation& permutation) {
  Ids out(static_cast<std::size_t>(permutation.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = permutation(static_cast<int64_t>(i));
  return out;
}

TEST(Permutation, HasEachNumberOnce) {
  for (int64_t size : {0, 1, 2, 3, 4, 5, 10, 17, 100, 255, 256, 257, 1000, 99'991}) {
    Ids found = values(Permutation(size, static_cast<uint64_t>(size)));
    std::sort(found.begin(), found.end());
    Ids all(found.size());
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(found, all) << size;
  }
  const Permutation large(int64_t{1} << 62, 3);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 2000; ++i) seen.insert(large(i << 50 | i));
  EXPECT_EQ(seen.size(), 2000U);
  EXPECT_EQ(error_of([] { Permutation(-1, 0); }), "[permutation] expected size in [0, 4611686018427387904], got -1");
}

// Runs are resumed by later versions: an order never changes.
TEST(Permutation, StaysTheSame) {
  EXPECT_EQ(values(Permutation(10, 123)), (Ids{6, 7, 8, 2, 9, 1, 3, 0, 4, 5}));
  const Permutation large(5'000'000'000, 7);
  EXPECT_EQ((Ids{large(0), large(1), large(4'999'999'999)}), (Ids{3713034223, 3321670963, 4773065221}));
}

// Over many seeds, each value is as frequent at each position, each pair of values at the first two, and each order of
// four: chi-square below its mean and five standard deviations.
TEST(Permutation, IsUniform) {
  constexpr int kSeeds = 20'000;
  constexpr int64_t kSize = 12;
  std::map<std::pair<int64_t, int64_t>, int> at, firsts;
  std::map<Ids, int> orders;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Permutation permutation(kSize, static_cast<uint64_t>(seed));
    for (int64_t i = 0; i < kSize; ++i) ++at[{i, permutation(i)}];
    ++firsts[{permutation(0), permutation(1)}];
    ++orders[values(Permutation(4, static_cast<uint64_t>(seed)))];
  }
  const auto expect_even = [](const auto& counts, std::size_t cells, double total) {
    EXPECT_EQ(counts.size(), cells);
    const double each = total / static_cast<double>(cells);
    double chi = 0;
    for (const auto& [cell, count] : counts) chi += (count - each) * (count - each) / each;
    const auto degrees = static_cast<double>(cells - 1);
    EXPECT_LT(chi, degrees + 5 * std::sqrt(2 * degrees));
  };
  expect_even(at, 144, 12.0 * kSeeds);
  expect_even(firsts, 132, kSeeds);
  expect_even(orders, 24, kSeeds);
  // Neighbours of a long one are not related.
  const Permutation longer(1'000'003, 5);
  double sum = 0;
  for (int64_t i = 0; i < 100'000; ++i)
    sum += (static_cast<double>(longer(i)) / 1'000'003 - 0.5) * (static_cast<double>(longer(i + 1)) / 1'000'003 - 0.5);
  EXPECT_LT(std::abs(sum / 100'000 * 12), 5 / std::sqrt(100'000.0));
}

Ids drawn(const Sampler& sampler, uint64_t seed) {
  Ids out;
  const auto index_at = sampler.index_at(seed);
  for (int64_t i = 0; i < sampler.size; ++i) out.push_back(index_at(i));
  return out;
}

TEST(Sampler, MixturesHaveTheirWeights) {
  const Sampler sampler = mixed({10, 20, 8}, {2.3, 0.25, 1});
  ASSERT_EQ(sampler.size, 23 + 5 + 8);
  std::set<std::set<int64_t>> thirds, quarters;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::map<int64_t, int> times;
    for (const int64_t i : drawn(sampler, seed)) ++times[i];
    std::set<int64_t> third, quarter;
    for (const auto& [i, count] : times) {
      ASSERT_TRUE(i >= 0 && i < 38);
      if (i < 10) {
        ASSERT_TRUE(count == 2 || count == 3);
        if (count == 3) third.insert(i);
      } else {
        ASSERT_EQ(count, 1);
        if (i < 30) quarter.insert(i);
      }
    }
    ASSERT_EQ(times.size(), 10U + 5 + 8);
    ASSERT_EQ(third.size(), 3U);
    thirds.insert(third), quarters.insert(quarter);
  }
  EXPECT_GT(thirds.size(), 20U);
  EXPECT_GT(quarters.size(), 25U);
  EXPECT_EQ(error_of([] { mixed({3, 4}, {1}); }), "[mixed] expected a weight for each part, got 1 for 2");
  EXPECT_ERROR(mixed({3}, {0}));
  EXPECT_ERROR(mixed({3}, {0.1}));
  EXPECT_EQ(error_of([] { mixed({0}, {1}); }), "[mixed] expected the size of a part >= 1, got 0");
  EXPECT_EQ(error_of([] { permuted(-1); }), "[permuted] expected size >= 0, got -1");
}

Tokens counting(int64_t first, int64_t n) {
  Ids ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), first);
  return Tokens(std::move(ids));
}

TEST(Windows, OfSeveralTextsReachIntoNoOther) {
  const Windows windows({counting(0, 10), counting(100, 5), counting(200, 9)}, 4, 2);
  EXPECT_EQ(windows.sizes(), (Ids{3, 1, 3}));
  EXPECT_EQ(windows.size(), 7);
  const std::vector<int64_t> all{0, 1, 2, 3, 4, 5, 6};
  const TextBatch batch = windows.batch(all);
  EXPECT_EQ(batch.inputs.select(1, 0).contiguous().to_vector<int64_t>(), (Ids{0, 2, 4, 100, 200, 202, 204}));
  EXPECT_EQ((batch.inputs + 1).to_vector<int64_t>(), batch.targets.to_vector<int64_t>());
  EXPECT_EQ(windows[1].inputs.to_vector<int64_t>(), (Ids{2, 3, 4, 5}));
  EXPECT_EQ(windows[1].targets.shape(), Shape{4});
  EXPECT_ERROR(Windows(std::vector<Tokens>{}, 4, 2));
}

TEST(TextLoader, MixturesAreResumed) {
  const Windows windows({counting(0, 100), counting(1000, 50)}, 4, 1);
  const auto loader = [&](int64_t prefetch) {
    return TextLoader(
        windows,
        {.batch_size = 8, .drop_last = true, .sampler = mixed(windows.sizes(), {0.5, 3}), .prefetch = prefetch});
  };
  const TextLoader plain = loader(0), ahead = loader(3);
  const auto rest = [](TextLoader::Iteration iteration) {
    std::vector<Ids> found;
    while (const auto batch = iteration.next()) found.push_back(batch->inputs.to_vector<int64_t>());
    return found;
  };
  Generator generator(5);
  const std::vector<Ids> whole = rest(plain.begin(generator));
  EXPECT_EQ(static_cast<int64_t>(whole.size()), plain.size());
  EXPECT_NE(rest(plain.begin(generator)), whole) << "another epoch";
  for (int64_t stop = 0; stop <= plain.size(); ++stop) {
    Generator first(5);
    TextLoader::Iteration before = ahead.begin(first);
    for (int64_t i = 0; i < stop; ++i) before.next();
    const std::vector<Ids> after = rest((stop % 2 ? plain : ahead).resume(before.position(), first));
    EXPECT_EQ(after, std::vector<Ids>(whole.begin() + stop, whole.end()));
  }
  // Billions of windows, without memory for their order.
  const Sampler billions = permuted(3'000'000'000);
  EXPECT_LT(billions.index_at(1)(2'999'999'999), 3'000'000'000);
}

}  // namespace
}  // namespace tapegrad::data
