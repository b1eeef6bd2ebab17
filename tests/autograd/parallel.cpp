// parallel_for: every element once, errors reach the caller, and the number of threads.
// ctest: threads
// build: alone
#include <tapegrad/tests/support/no_threads.h>
#include <tapegrad/tests/support/sanitized.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(Parallel, EveryElementOnceForAnyNumberOfThreads) {
  const KeepThreads restore;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_EQ(num_threads(), threads);
    for (int64_t n : {0, 1, 6, 7, 8, 1000}) {
      std::vector<int> hits(n);
      parallel_for(n, 7, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % 7, 0);
        EXPECT_EQ(end, std::min<int64_t>(begin + 7, n));
        for (int64_t i = begin; i < end; ++i) ++hits[i];
        parallel_for(10, 1, [&](int64_t, int64_t) {});  // from inside a piece: in place
      });
      for (int hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST(Parallel, TheNumberOfThreadsDoesNotChangeInsideALoop) {
  const KeepThreads restore;
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    std::string error = "no error";
    try {
      parallel_for(4, 1, [](int64_t i, int64_t) {
        if (i == 0) set_num_threads(3);
      });
    } catch (const Error& e) {
      error = e.what();
    }
    EXPECT_EQ(error, "[set_num_threads] cannot be called inside a parallel_for (the loop would wait for itself)");
    EXPECT_EQ(num_threads(), threads);
  }
}

TEST(Parallel, ErrorsReachTheCaller) {
  const KeepThreads restore;
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    EXPECT_THROW(parallel_for(100, 1,
                              [](int64_t begin, int64_t) {
                                if (begin == 50) throw Error("fifty");
                              }),
                 Error);
    std::atomic<int> hits{0};
    parallel_for(100, 1, [&](int64_t, int64_t) { ++hits; });
    EXPECT_EQ(hits, 100);
  }
  EXPECT_THROW(set_num_threads(0), Error);
}

int64_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// In a process of its own, which ends with 0.
[[noreturn]] void train_without_threads() {
  const bool none = threads_of_this_process() == 1;  // the library is loaded
  const bool refused = refuse_threads();
  set_num_threads(7);
  const Tensor w = full({300, 300}, 0.01).as_leaf();
  optim::SGD sgd({{"w", w}}, {.lr = 1});
  for (int step = 0; step < 3; ++step) {
    std::atomic<int> hits{0};
    parallel_for(100, 1, [&](int64_t, int64_t) { ++hits; });
    Tape tape;
    sgd.step(tape, sum(matmul(w, w)));
    if (hits != 100 || num_threads() != 7) std::exit(2);
  }
  std::exit(none && refused && threads_of_this_process() == 1 ? 0 : 1);
}

TEST(ParallelDeathTest, OneThreadDoesWhereTheSystemMakesNoOther) {
  // The system refuses every new thread, and the process must have one: a sanitizer makes another for itself.
  if (kSanitized) GTEST_SKIP() << "sanitizers make threads of their own";
  if (!can_refuse_threads()) GTEST_SKIP() << "the system has no seccomp filters";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(train_without_threads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tapegrad::tests
