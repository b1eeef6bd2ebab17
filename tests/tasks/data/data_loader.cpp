// Datasets, samplers, collate functions and the loader: orders, padding, prefetch, positions and errors.
// ctest: threads
#include <tapegrad/tests/support/no_threads.h>
#include <tapegrad/tests/support/sanitized.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

#include <chrono>

namespace tapegrad::data {
namespace {

using namespace tests;
using Ids = std::vector<int64_t>;

// Example i is the number i.
struct Counting {
  int64_t count;
  int64_t size() const { return count; }
  int64_t operator[](int64_t i) const { return i; }
};

// Sentence i has i % 7 + 1 tokens, all of them i; its label is i.
struct Sentences {
  int64_t count;
  int64_t size() const { return count; }
  std::pair<Ids, int64_t> operator[](int64_t i) const { return {Ids(static_cast<std::size_t>(i % 7 + 1), i), i}; }
};

// All batches of an epoch, as lists.
template <class Loader>
std::vector<Ids> batches_of(const Loader& loader, Generator& generator) {
  std::vector<Ids> out;
  auto iteration = loader.begin(generator);
  while (const auto batch = iteration.next()) out.push_back(batch->template to_vector<int64_t>());
  EXPECT_FALSE(iteration.next()) << "it ended before";
  return out;
}

Ids flat(const std::vector<Ids>& batches) {
  Ids out;
  for (const Ids& batch : batches) out.insert(out.end(), batch.begin(), batch.end());
  return out;
}

Ids upto(int64_t n) {
  Ids out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(Datasets, SubsetsAndRandomSplits) {
  const Subset<Counting> subset({10}, {7, 0, 7});
  EXPECT_EQ(subset.size(), 3);
  EXPECT_EQ(subset[2], 7);
  EXPECT_ERROR(Subset<Counting>({10}, {3, 10}));
  EXPECT_ERROR(Subset<Counting>({10}, {-1}));
  Generator generator(3);
  EXPECT_ERROR(random_split(Counting{10}, Ids{7, 4}, generator));
  EXPECT_ERROR(random_split(Counting{10}, Ids{11, -1}, generator));
}

TEST(Samplers, DrawWhatPyTorchDraws) {
  const auto golden = stored("loader.json");
  for (const auto& one : golden["samplers"]) {
    const int64_t size = one["size"], count = one["count"];
    const DataLoader loader(Counting{size},
                            {.batch_size = one["batch_size"],
                             .sampler = one["replacement"] ? with_replacement(size, count) : shuffled(size, count)});
    Generator generator(one["seed"].get<uint64_t>());
    for (const auto& epoch : one["epochs"]) {
      EXPECT_EQ(batches_of(loader, generator), epoch.get<std::vector<Ids>>()) << one["seed"];
    }
    int64_t then = 0;
    generator.randint(&then, 1, 0, 1 << 20);
    EXPECT_EQ(then, one["then"].get<int64_t>()) << one["seed"];
  }
  for (const auto& one : golden["splits"]) {
    Generator generator(one["seed"].get<uint64_t>());
    const auto sizes = one["sizes"].get<Ids>();
    const auto parts =
        random_split(Counting{std::accumulate(sizes.begin(), sizes.end(), int64_t{0})}, sizes, generator);
    for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(parts[i].indices(), one["parts"][i].get<Ids>());
  }
}

TEST(Collate, StacksNumbersTensorsAndTuples) {
  const DataLoader numbers(Counting{5}, {.batch_size = 3});
  Generator generator(0);
  EXPECT_EQ(batches_of(numbers, generator), (std::vector<Ids>{{0, 1, 2}, {3, 4}}));

  using Example = std::tuple<Tensor, double, bool>;
  const std::vector<Example> examples{{ones({2}), 0.5, true}, {zeros({2}), 2.0, false}};
  const auto [x, y, flags] = Stack()(std::span<const Example>(examples));
  EXPECT_EQ(x.shape(), (Shape{2, 2}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 0, 0}));
  EXPECT_EQ(y.dtype(), kFloat32);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0.5, 2}));
  EXPECT_EQ(flags.to_vector<int64_t>(), (Ids{1, 0}));
}

TEST(Collate, PadsSequences) {
  const std::vector<Ids> ids{{1, 2, 3}, {}, {4}};
  const Padded padded = pad(ids, 9);
  EXPECT_EQ(padded.values.shape(), (Shape{3, 3}));
  EXPECT_EQ(padded.values.to_vector<int64_t>(), (Ids{1, 2, 3, 9, 9, 9, 4, 9, 9}));
  EXPECT_EQ(padded.mask.to_vector<bool>(), (std::vector<bool>{1, 1, 1, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(padded.lengths.to_vector<int64_t>(), (Ids{3, 0, 1}));

  const std::vector<Tensor> rows{ones({1, 2}), full({3, 2}, 5).slice(0, 0, 2), zeros({0, 2})};
  const Padded wide = pad(rows, -1);
  EXPECT_EQ(wide.values.shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(wide.values.to_vector<float>(), (std::vector<float>{1, 1, -1, -1, 5, 5, 5, 5, -1, -1, -1, -1}));

  EXPECT_EQ(error_of([] { pad(std::vector<Tensor>{}); }), "[pad] expected at least one sequence");
  EXPECT_ERROR(pad(std::vector<Tensor>{ones({1, 2}), ones({1, 3})}));
  EXPECT_ERROR(pad(std::vector<Tensor>{ones({1}), ones({1}, kInt64)}));
}

TEST(DataLoaders, OrdersAndSizes) {
  Generator generator(11);
  const DataLoader dropping(Counting{10}, {.batch_size = 4, .shuffle = true, .drop_last = true});
  EXPECT_EQ(dropping.size(), 2);
  EXPECT_EQ(flat(batches_of(dropping, generator)).size(), 8u);
  const DataLoader shuffling(Counting{10}, {.batch_size = 4, .shuffle = true});
  const auto first = batches_of(shuffling, generator), second = batches_of(shuffling, generator);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_NE(first, second) << "each epoch has its own order";
  const DataLoader drawing(Counting{10}, {.batch_size = 4, .sampler = with_replacement(10, 9)});
  EXPECT_EQ(drawing.size(), 3);
  EXPECT_EQ(flat(batches_of(drawing, generator)).size(), 9u);
  EXPECT_EQ(DataLoader(Counting{0}, {}).size(), 0);
  EXPECT_EQ(batches_of(DataLoader(Counting{0}, {.shuffle = true, .prefetch = 2}), generator).size(), 0u);

  EXPECT_ERROR(DataLoader(Counting{1}, {.batch_size = 0}));
  EXPECT_ERROR(DataLoader(Counting{1}, {.prefetch = -1}));
  EXPECT_ERROR(DataLoader(Counting{1}, {.shuffle = true, .sampler = sequential(1)}));
  EXPECT_ERROR(DataLoader(Counting{1}, {.sampler = sequential(2)}));
  const auto epoch_of = [](Sampler sampler) {
    return error_of([&] { DataLoader(Counting{3}, {.sampler = std::move(sampler)}).begin().next(); });
  };
  EXPECT_EQ(epoch_of({.size = 2, .order = [](Generator&) { return Ids{0}; }}),
            "[data_loader] expected 2 indices from the sampler, got 1");
  EXPECT_EQ(epoch_of({.size = 1, .order = [](Generator&) { return Ids{3}; }}),
            "[data] expected an index from 0 to 2 (the dataset has 3 examples), got 3");
  EXPECT_ERROR(DataLoader(Counting{3}, {.sampler = Sampler{.size = -3}}));
}

TEST(DataLoaders, AnOrderThatIsWrongIsNeverUsed) {
  int calls = 0;
  const Sampler sampler{.size = 4, .order = [&](Generator&) {
                          ++calls;
                          return calls == 1 ? Ids{3} : calls == 2 ? Ids{0, 1, 2, 99} : Ids{3, 2, 1, 0};
                        }};
  const DataLoader loader(Counting{4}, {.batch_size = 2, .sampler = sampler});
  auto iteration = loader.begin();
  EXPECT_EQ(error_of([&] { iteration.next(); }), "[data_loader] expected 4 indices from the sampler, got 1");
  EXPECT_NE(error_of([&] { iteration.next(); }).find("got 99"), std::string::npos);
  EXPECT_EQ(iteration.next()->to_vector<int64_t>(), (Ids{3, 2}));
  EXPECT_EQ(iteration.next()->to_vector<int64_t>(), (Ids{1, 0}));
}

TEST(DataLoaders, PrefetchChangesNothing) {
  const KeepThreads restore;
  std::vector<std::string> seen;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const int64_t prefetch : {0, 1, 3, 100}) {
      Generator generator(21);
      const DataLoader loader(Sentences{100}, {.batch_size = 8, .shuffle = true, .prefetch = prefetch}, Pad{-1});
      std::string all;
      for (int epoch = 0; epoch < 2; ++epoch) {
        auto iteration = loader.begin(generator);
        while (const auto batch = iteration.next()) {
          all += str(batch->first.values) + str(batch->first.mask) + str(batch->second);
        }
      }
      seen.push_back(all + std::to_string(generator.random64()));
      EXPECT_EQ(seen.back(), seen.front()) << threads << " threads, prefetch " << prefetch;
    }
  }
}

// Example i is computed from a leaf.
struct Computed {
  Tensor w = tensor({0., 1., 2., 3., 4., 5.}).as_leaf();
  int64_t size() const { return 6; }
  Tensor operator[](int64_t i) const { return w * 2 + static_cast<double>(i); }
};

// In a process of its own, which ends with 0 if the batches are those of a thread; then no tape records what makes
// them.
[[noreturn]] void prefetch_without_threads() {
  const bool refused = refuse_threads();
  const DataLoader loader(Counting{19}, {.batch_size = 4, .shuffle = true}),
      ahead(Counting{19}, {.batch_size = 4, .shuffle = true, .prefetch = 3});
  Generator a(5), b(5);
  const bool same = batches_of(ahead, a) == batches_of(loader, b) && a.state() == b.state();
  Tape tape;
  const Tensor batch = *DataLoader(Computed(), {.batch_size = 2, .prefetch = 2}).begin().next();
  std::exit(refused && same && tape.size() == 0 ? 0 : 1);
}

TEST(DataLoadersDeathTest, PrefetchWhereTheSystemMakesNoThread) {
  // The system refuses every new thread, and the process must have one: a sanitizer makes another for itself.
  if (kSanitized) GTEST_SKIP() << "sanitizers make threads of their own";
  if (!can_refuse_threads()) GTEST_SKIP() << "the system has no seccomp filters";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(prefetch_without_threads(), testing::ExitedWithCode(0), "");
}

// Draws from the default generator, as augmentation does.
struct Drawing {
  int64_t size() const { return 40; }
  Tensor operator[](int64_t) const { return randn({3}); }
};

// The numbers do not depend on when the training step draws, nor on where an epoch is continued.
TEST(DataLoaders, DrawsOfADatasetDoNotDependOnTiming) {
  using Numbers = std::vector<float>;
  const auto epoch = [](int64_t prefetch, bool slow, int64_t stop) {
    manual_seed(4);
    const DataLoader loader(Drawing(), {.batch_size = 4, .prefetch = prefetch});
    auto iteration = loader.begin();
    Numbers all;
    for (int64_t i = 0; i < loader.size(); ++i) {
      if (i == stop) iteration = loader.resume(iteration.position());
      if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (const float x : iteration.next()->to_vector<float>()) all.push_back(x);
      all.push_back(static_cast<float>(randn({1}).item()));  // of the training step
    }
    return all;
  };
  const Numbers first = epoch(1, false, -1);
  for (const int64_t prefetch : {1, 2, 5, 100})
    for (const bool slow : {false, true})
      for (const int64_t stop : {-1, 3, 8}) EXPECT_EQ(epoch(prefetch, slow, stop), first) << prefetch << " " << stop;
  EXPECT_EQ(std::set<float>(first.begin(), first.end()).size(), first.size()) << "batches have different numbers";
  const Numbers none = epoch(0, false, -1);  // one stream, as in PyTorch without workers
  manual_seed(4);
  default_generator().random64();
  Numbers expected;
  for (int64_t i = 0; i < 10; ++i) {
    for (int64_t k = 0; k < 4; ++k)
      for (const float x : randn({3}).to_vector<float>()) expected.push_back(x);
    expected.push_back(static_cast<float>(randn({1}).item()));
  }
  EXPECT_EQ(none, expected);
}

TEST(DataLoaders, PrefetchHasALimit) {
  EXPECT_TEXT(error_of([] { DataLoader loader(Counting{4}, {.prefetch = kMax}); }));
  const DataLoader loader(Counting{4}, {.batch_size = 2, .prefetch = 1 << 20});
  Generator generator;
  EXPECT_EQ(flat(batches_of(loader, generator)), upto(4));
}

TEST(DataLoaders, AnEpochContinuesAtAnyPosition) {
  for (const int64_t prefetch : {0, 2}) {
    const DataLoader loader(Counting{23}, {.batch_size = 4, .sampler = by_length(Ids(23, 1), 4), .prefetch = prefetch});
    Generator generator(8);
    const std::vector<Ids> whole = batches_of(loader, generator);
    for (int64_t stop = 0; stop <= loader.size(); ++stop) {
      Generator now(8);
      std::vector<Ids> found;
      LoaderPosition position;
      {
        auto before = loader.begin(now);
        for (int64_t i = 0; i < stop; ++i) found.push_back(before.next()->to_vector<int64_t>());
        position = before.position();
        EXPECT_EQ(position.batch, stop) << "batches made ahead do not count";
      }
      auto after = loader.resume(position, now);
      while (const auto batch = after.next()) found.push_back(batch->to_vector<int64_t>());
      EXPECT_EQ(found, whole) << stop;
      EXPECT_EQ(now.random64(), Generator(generator).random64()) << "nothing is drawn twice";
    }
    EXPECT_ERROR(loader.resume({.batch = 7}));
  }
}

// Fails at one example, twice, and records the threads that it was called on.
struct Failing {
  std::set<std::thread::id>* threads;
  int* failures;
  int64_t size() const { return 10; }
  int64_t operator[](int64_t i) const {
    threads->insert(std::this_thread::get_id());
    if (i == 5 && ++*failures <= 2) fail("dataset", "example 5 is missing");
    return i;
  }
};

TEST(DataLoaders, ErrorsOfADatasetAreRaisedAtTheirBatchWhichIsTriedAgain) {
  for (const int64_t prefetch : {0, 1, 4}) {
    std::set<std::thread::id> threads;
    int failures = 0;
    {
      const DataLoader loader(Failing{&threads, &failures}, {.batch_size = 2, .prefetch = prefetch});
      auto iteration = loader.begin();
      EXPECT_EQ(iteration.next()->to_vector<int64_t>(), (Ids{0, 1}));
      EXPECT_EQ(iteration.next()->to_vector<int64_t>(), (Ids{2, 3}));
      EXPECT_EQ(error_of([&] { iteration.next(); }), "[dataset] example 5 is missing");
      EXPECT_EQ(error_of([&] { iteration.next(); }), "[dataset] example 5 is missing") << "again";
      EXPECT_EQ(iteration.position().batch, 2);
      EXPECT_EQ(iteration.next()->to_vector<int64_t>(), (Ids{4, 5}));
      EXPECT_EQ(iteration.next()->to_vector<int64_t>(), (Ids{6, 7}));
    }
    EXPECT_EQ(threads.contains(std::this_thread::get_id()), prefetch == 0);
    EXPECT_LE(threads.size(), 3u) << "one, and one for each time that it is tried again";
  }
}

TEST(DataLoaders, ALoopOverAnEpochIsNextInARow) {
  for (const int64_t prefetch : {0, 2}) {
    const DataLoader loader(Counting{10}, {.batch_size = 3, .shuffle = true, .prefetch = prefetch});
    using Iteration = decltype(loader.epoch());
    static_assert(std::input_iterator<Iteration::Iterator>);
    static_assert(std::sentinel_for<std::default_sentinel_t, Iteration::Iterator>);
    Generator generator(7), same(7);
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::vector<Ids> found;
      for (const auto& batch : loader.epoch(generator)) found.push_back(batch.to_vector<int64_t>());
      EXPECT_EQ(found, batches_of(loader, same)) << epoch;
    }
    const std::vector<Ids> whole = batches_of(loader, same);
    auto iteration = loader.epoch(generator);
    for (const auto& batch : iteration) {
      EXPECT_EQ(batch.to_vector<int64_t>(), whole[0]);
      EXPECT_EQ(iteration.position().batch, 1) << "after the batch of the body";
      break;
    }
    auto moved = std::move(iteration);
    EXPECT_EQ(moved.next()->to_vector<int64_t>(), whole[1]);
    std::vector<Ids> left;
    for (const auto& batch : moved) left.push_back(batch.to_vector<int64_t>());
    EXPECT_EQ(left, std::vector<Ids>(whole.begin() + 2, whole.end()));
    EXPECT_TRUE(moved.begin() == moved.end());

    const DataLoader empty(Counting{0}, {.shuffle = true, .prefetch = prefetch});
    for (const auto& batch : empty.epoch(generator)) ADD_FAILURE() << str(batch);
    EXPECT_TRUE(batches_of(empty, same).empty());
    EXPECT_EQ(generator.random64(), same.random64()) << "an empty epoch draws as much";

    std::set<std::thread::id> threads;
    int64_t batches = 0;
    int failures = 0;
    const auto loop = [&] {
      const DataLoader failing(Failing{&threads, &failures}, {.batch_size = 2, .prefetch = prefetch});
      for ([[maybe_unused]] const auto& batch : failing.epoch()) ++batches;
    };
    EXPECT_EQ(error_of(loop), "[dataset] example 5 is missing");
    EXPECT_EQ(batches, 2);
  }
}

TEST(DataLoaders, NothingIsRecordedByTheWorker) {
  const DataLoader loader(Computed(), {.batch_size = 2, .prefetch = 1});
  Tape tape;
  auto iteration = loader.begin();
  EXPECT_EQ(iteration.next()->tape_index().tape, 0u);
}

}  // namespace
}  // namespace tapegrad::data
