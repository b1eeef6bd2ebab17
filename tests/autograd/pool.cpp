// The memory pool: blocks are reused for other sizes, and it works after a fork.
// ctest: unsanitized
#include <sys/resource.h>
#include <sys/wait.h>
#include <tapegrad/tests/support/testing.h>
#include <unistd.h>

namespace tapegrad::tests {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

// Exit code of f in a child process, which has `seconds` of time; -1 if a signal ended it.
int in_child(unsigned seconds, auto f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    int code = 3;
    try {
      code = f();
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Pool, HoldsNoMoreThanTwiceWhatWasInUse) {
  const int64_t before = pool::stats().reserved;
  int64_t most = 0;
  for (double megabytes = 1; megabytes < 100; megabytes *= 1.05) {
    Tensor::empty({static_cast<int64_t>(megabytes * (1 << 18))});
    most = std::max(most, pool::stats().reserved - before);
  }
  EXPECT_LE(most, 250 * kMegabyte);
}

TEST(Pool, RoundsLargeBlocksByAThirtySecondAtMost) {
  Tensor::empty({1});
  // The sanitizer must see each allocation, so the pool is off, and there are no blocks to measure.
  if (pool::stats().reserved == 0) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
  for (const Shape& shape : {Shape{768, 768}, {3072, 768}, {50257, 768}, {131, 1000}, {512, 50257}, {17, 4101}}) {
    pool::reset_peak();
    const int64_t before = pool::peak();
    const Tensor x = Tensor::empty(shape);
    const int64_t bytes = 4 * x.numel(), taken = pool::peak() - before;
    EXPECT_GE(taken, bytes) << x.numel();
    EXPECT_LE(taken, bytes + bytes / 32 + 4096) << x.numel();
  }
}

TEST(Pool, SplitsLargeBlocks) {
  Tensor::empty({int64_t{16} << 20});  // 64 MB, free again
  const int64_t calls = pool::stats().system_calls;
  std::vector<Tensor> parts;
  for (int i = 0; i < 10; ++i) parts.push_back(Tensor::empty({(int64_t{1} + i % 3) << 18}));  // 1 to 3 MB
  EXPECT_EQ(pool::stats().system_calls, calls);
  parts.clear();
  Tensor::empty({int64_t{16} << 20});  // the parts are one block again
  EXPECT_EQ(pool::stats().system_calls, calls);
}

// Blocks of ever new sizes, with smaller ones between them that live longer: when they need new memory, what goes back
// must not leave pieces that nothing can merge with. (If the largest free block went back, the last 10,000 steps would
// request memory several hundred times.)
TEST(Pool, DoesNotFragmentUnderChangingSizes) {
  Tensor::empty({1});
  if (pool::stats().reserved == 0) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
  std::mt19937 draw(1);
  const auto block = [&](unsigned least, unsigned most) {
    return Tensor::empty({static_cast<int64_t>(least + draw() % (most - least + 1)) * 256});  // KiB
  };
  std::vector<Tensor> longer;
  int64_t before = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (step == 10'000) before = pool::stats().system_calls;
    std::vector<Tensor> of_step;
    for (unsigned count = 1 + draw() % 3; count > 0; --count) {
      of_step.push_back(block(100, 8000));
      if (draw() % 2 == 0) longer.push_back(block(100, 500));
    }
    while (longer.size() > 6) longer.erase(longer.begin() + static_cast<std::ptrdiff_t>(draw() % longer.size()));
  }
  EXPECT_LE(pool::stats().system_calls - before, 10);
}

TEST(Pool, ReleasesBlocksWhenTheSystemHasNoMemory) {
  EXPECT_EQ(in_child(60,
                     [] {
                       const rlimit limit{1LL << 30, 1LL << 30};
                       setrlimit(RLIMIT_AS, &limit);
                       for (double megabytes = 1; megabytes < 256; megabytes *= 1.05)
                         Tensor::empty({static_cast<int64_t>(megabytes * (1 << 18))});
                       return 0;
                     }),
            0);
}

TEST(Pool, KeepsBlocksApart) {
  std::mt19937 draw(1);
  struct Held {
    Tensor x;
    int mark;
  };
  std::vector<Held> held;
  for (int round = 0; round < 3000; ++round) {
    if (held.size() > 20 || (!held.empty() && draw() % 3 == 0)) {
      const std::size_t i = draw() % held.size();
      const auto* bytes = static_cast<const unsigned char*>(held[i].x.raw_data());
      const auto size = static_cast<std::size_t>(4 * held[i].x.numel());
      ASSERT_EQ(bytes[0], held[i].mark);
      ASSERT_EQ(bytes[size - 1], held[i].mark);
      ASSERT_EQ(std::memcmp(bytes, bytes + 1, size - 1), 0) << "overwritten";
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const Tensor x = Tensor::empty({static_cast<int64_t>(1 + draw() % (1u << (4 + draw() % 15)))});
    const int mark = static_cast<int>(draw() % 256);
    std::memset(x.mutable_raw_data(), mark, static_cast<std::size_t>(4 * x.numel()));
    held.push_back({x, mark});
  }
}

// Another thread may hold the pool's lock, a loop or the list of tapes at the moment of the fork.
TEST(Pool, IsUsableInAChildProcess) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      Tape tape;
      Tensor::empty({int64_t{1} << 20});
      rand({100});
      parallel_for(4, 1, [](int64_t, int64_t) {});
    }
  });
  int failed = 0;
  for (int i = 0; i < 300 && failed == 0; ++i)
    failed += in_child(20, [] {
                Tape tape;
                const Tensor x = ones({300, 300}).as_leaf();
                rand({3});
                set_num_threads(2);
                return tape.backward(sum(x * x))[x].to_vector<float>()[0] == 2 ? 0 : 1;
              }) != 0;
  stop = true;
  other.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace tapegrad::tests
