// The number of threads, as it was before a test, and results that do not depend on it.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/tests/support/near.h>

#include <vector>

namespace tapegrad::tests {

// While one is alive, a test may call set_num_threads(): the end restores the number.
struct KeepThreads {
  int before = num_threads();
  ~KeepThreads() { set_num_threads(before); }
};

// Expects the same bits of the tensors that f returns, with 1, 2, 3 and 7 threads.
template <class F>
void expect_same_bits_with_threads(F f) {
  const KeepThreads keep;
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    const std::vector<Tensor> now = f();
    if (first.empty()) first = now;
    ASSERT_EQ(now.size(), first.size());
    for (std::size_t i = 0; i < now.size(); ++i)
      EXPECT_TRUE(same_bits(now[i], first[i])) << "result " << i << " with " << threads << " threads";
  }
}

}  // namespace tapegrad::tests
