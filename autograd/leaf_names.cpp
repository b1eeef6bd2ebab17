// Names of leaves by their ids.
#include <pthread.h>
#include <tapegrad/autograd/leaf_names.h>

#include <mutex>
#include <unordered_map>

namespace tapegrad::detail {

namespace {

struct LeafNames {
  std::mutex mutex;
  std::unordered_map<int64_t, std::string> by_number;

  // Never destroyed: a leaf may have static lifetime. Locked during a fork, so that the child finds the mutex unlocked.
  static LeafNames& get() {
    static LeafNames& names = []() -> LeafNames& {
      LeafNames& made = *new LeafNames;
      pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); }, [] { get().mutex.unlock(); });
      return made;
    }();
    return names;
  }
};

[[maybe_unused]] const LeafNames& kMadeAtLoad = LeafNames::get();  // so that no fork interrupts it

}  // namespace

void name_leaf(const TapeIndex& leaf, std::string_view name) {
  LeafNames& names = LeafNames::get();
  const std::lock_guard lock(names.mutex);
  if (name.empty()) {
    names.by_number.erase(leaf.position);
  } else {
    names.by_number[leaf.position] = name;
  }
}

std::string leaf_name(const TapeIndex& leaf) {
  LeafNames& names = LeafNames::get();
  const std::lock_guard lock(names.mutex);
  const auto at = names.by_number.find(leaf.position);
  return at == names.by_number.end() ? std::string() : at->second;
}

}  // namespace tapegrad::detail
