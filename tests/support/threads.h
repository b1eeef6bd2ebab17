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

// Expects that results(), a list of tensors, has the same bits with any number of threads.
void expect_same_with_any_threads(const auto& results) {
  const KeepThreads keep;
  const auto with = [&](int threads) {
    set_num_threads(threads);
    return results();
  };
  expect_same_results(with, {1, 2, 3, 7});
}

}  // namespace tapegrad::tests
