// The self-test of `info`: a fixed list of computations and the hashes of their results, which are the same on every
// machine.
#pragma once

#include <tapegrad/checks/computations.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

struct PublishedBits {
  std::string_view name, bits;
};
/// bits_of(run()) of every computation, by name, in published.inc, which publish.sh writes.
std::span<const PublishedBits> published_bits();

struct SelfTestResult {
  std::string name, bits;
  std::string_view published;  ///< empty: there are none of that name
  bool ok() const { return bits == published; }
};
/// Runs all operations, so that the first one that differs says where to look, and then `runs`. Calls `done` after
/// each.
std::vector<SelfTestResult> run_self_test(std::span<const Computation> runs,
                                          const std::function<void(const SelfTestResult&)>& done);

}  // namespace tapegrad::tasks
