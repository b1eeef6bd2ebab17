// In which order gradients are summed, and who computes, sums and updates what.
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/distributed/detail/buckets.h>
#include <tapegrad/distributed/detail/tree.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::distributed {
namespace {

using namespace tests;

TEST(Tree, DependsOnTheNumberOfTermsAlone) {
  using detail::Terms;
  for (int64_t n = 1; n <= 24; ++n) {
    std::map<int, double> sums;
    for (const int size : {1, 2, 3, 4, 6, 8}) {
      std::vector<std::pair<Terms, double>> known;
      const auto value = [](int64_t i) { return std::sin(static_cast<double>(i)) * 1e3; };
      std::vector<std::unique_ptr<double>> memory;
      const auto add = [](double* a, const double* b) { return *a += *b, a; };
      const auto leaf = [&](const Terms& node) -> double* {
        if (node.size() > 1) return nullptr;
        return memory.emplace_back(std::make_unique<double>(value(node.begin))).get();
      };
      int64_t terms = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Terms own = detail::terms_of(rank, size, n);
        std::vector<Terms> nodes;
        detail::add_nodes({0, n}, own, nodes);
        for (const Terms& node : nodes) {
          EXPECT_TRUE(detail::is_node({0, n}, node));
          known.emplace_back(node, *detail::fold<double*>(node, leaf, add));
          terms += node.size();
        }
        if ((size & (size - 1)) == 0 && n % size == 0) {
          EXPECT_EQ(nodes.size(), 1u);
        }
      }
      EXPECT_EQ(terms, n);
      const auto given = [&](const Terms& node) -> double* {
        for (auto& [terms_known, sum] : known)
          if (terms_known == node) return &sum;
        return nullptr;
      };
      sums[size] = *detail::fold<double*>({0, n}, given, add);
    }
    for (const auto& [size, sum] : sums) EXPECT_EQ(sum, sums[1]) << n << " terms, " << size << " processes";
  }
}

TEST(Tree, ValuesAtOnce) {
  using detail::values_at_once;
  for (int64_t power = 0; power < 8; ++power) EXPECT_EQ(values_at_once(int64_t{1} << power, 1), power + 1);
  for (const auto& [terms, processes, values] :
       {std::tuple{8, 2, 3}, {8, 4, 2}, {10'000, 10'000, 1}, {3, 1, 2}, {7, 1, 3}})
    EXPECT_EQ(values_at_once(terms, processes), values);
  EXPECT_EQ(values_at_once(6, 3), 2);  // the second process has terms 2 and 3, of two nodes
}

// The memory of the gradients of a step is what values_at_once says.
TEST(Tree, ValuesAtOnceAreThoseOfAStep) {
  const nn::Linear model(512, 512);
  optim::SGD sgd(nn::parameters(model), {});
  const auto taken = [&](int64_t accumulate) {
    DataParallel parallel(World::alone(), sgd, {.accumulate = accumulate});
    pool::reset_peak();
    const int64_t before = pool::peak();
    parallel.step([&](int64_t) { return mean(model(ones({1, 512}))); });
    return static_cast<double>(pool::peak() - before);
  };
  const double one = (taken(1), taken(1));
  // The sanitizer must see each allocation, so the pool is off, and there is no peak to measure.
  if (pool::stats().reserved == 0) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
  for (const int64_t accumulate : {1, 2, 3, 4, 5, 7, 8, 11, 16})
    EXPECT_NEAR(taken(accumulate) / one, static_cast<double>(detail::values_at_once(accumulate, 1)), 0.1) << accumulate;
}

TEST(Buckets, HaveEveryElementOnce) {
  NamedTensors parameters{{"a", zeros({100'000})}, {"b", zeros({7})}, {"c", zeros({300, 300})}, {"d", zeros({0})}};
  for (const bool cut : {true, false})
    for (const int size : {1, 2, 3, 8}) {
      std::vector<int64_t> found(parameters.size()), load(static_cast<std::size_t>(size));
      for (const detail::Bucket& bucket : detail::make_buckets(parameters, size, 1 << 20, cut)) {
        int64_t at = 0;
        for (int position = 0; position < size; ++position) {
          const detail::Terms elements = bucket.elements({position, position + 1});
          EXPECT_TRUE(elements.size() == 0 || elements.begin == at);
          for (const detail::Piece& piece : bucket.of({position, position + 1})) {
            EXPECT_EQ(piece.at, at);
            EXPECT_EQ(piece.begin % detail::kBlock, 0);
            EXPECT_TRUE(cut || piece.size() == parameters[piece.parameter].tensor.numel());
            found[piece.parameter] += piece.size();
            at += piece.size();
          }
          load[static_cast<std::size_t>(position)] += elements.size();
        }
        EXPECT_EQ(at, bucket.total);
      }
      for (std::size_t p = 0; p < parameters.size(); ++p) EXPECT_EQ(found[p], parameters[p].tensor.numel());
      EXPECT_TRUE(!cut || size != 2 || std::abs(load[0] - load[1]) < 2 * detail::kBlock);
    }
}

}  // namespace
}  // namespace tapegrad::distributed
