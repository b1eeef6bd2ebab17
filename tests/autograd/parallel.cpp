// parallel_for: every element once, errors reach the caller, and the number of threads.
#include <gtest/gtest.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/tests/support/threads.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace tapegrad {
namespace {

TEST(Parallel, EveryElementOnceForAnyNumberOfThreads) {
  const tests::KeepThreads restore;
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
  const tests::KeepThreads restore;
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
  const tests::KeepThreads restore;
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

}  // namespace
}  // namespace tapegrad
