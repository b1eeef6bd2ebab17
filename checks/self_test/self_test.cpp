// Runs the self-test, and compares its hashes with the published ones.
#include <tapegrad/autograd/io/bits.h>
#include <tapegrad/checks/self_test/self_test.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr PublishedBits kPublished[] = {
#include <tapegrad/checks/self_test/published.inc>
};

std::string_view published_of(std::string_view name) {
  const std::span<const PublishedBits> all = published_bits();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const PublishedBits& entry) { return entry.name == name; });
  return found == all.end() ? std::string_view() : found->bits;
}

}  // namespace

std::span<const PublishedBits> published_bits() { return kPublished; }

std::vector<SelfTestResult> run_self_test(std::span<const Computation> runs,
                                          const std::function<void(const SelfTestResult&)>& done) {
  std::vector<SelfTestResult> results;
  const std::vector<Computation> operations = operation_computations();
  for (const std::span<const Computation> list : {std::span<const Computation>(operations), runs}) {
    for (const Computation& each : list) {
      results.push_back({each.name, bits_of(each.run()), published_of(each.name)});
      done(results.back());
    }
  }
  return results;
}

}  // namespace tapegrad::tasks
