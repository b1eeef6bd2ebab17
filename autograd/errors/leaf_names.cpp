// Names of leaves by their ids.
// build: -Os
#include <fmt/format.h>
#include <pthread.h>
#include <tapegrad/autograd/leaf_names.h>

#include <mutex>
#include <unordered_map>

namespace tapegrad::detail {

namespace {

struct Named {
  std::string name, owner;
};

struct LeafNames {
  std::mutex mutex;
  std::unordered_map<int64_t, Named> by_number;

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

[[maybe_unused]] const LeafNames& kLeafNames = LeafNames::get();  // so that no fork interrupts it

Named find(const TapeIndex& leaf) {
  LeafNames& names = LeafNames::get();
  const std::lock_guard lock(names.mutex);
  const auto at = names.by_number.find(leaf.position);
  return at == names.by_number.end() ? Named() : at->second;
}

}  // namespace

constinit thread_local TapeIndex last_leaf;

void name_leaf(const TapeIndex& leaf, std::string_view name, std::string_view owner) {
  LeafNames& names = LeafNames::get();
  const std::lock_guard lock(names.mutex);
  if (name.empty()) {
    names.by_number.erase(leaf.position);
  } else {
    names.by_number[leaf.position] = {std::string(name), std::string(owner)};
  }
}

std::string leaf_name(const TapeIndex& leaf) { return find(leaf).name; }

std::string place_of(const TapeIndex& leaf) {
  const Named found = leaf.tape == 0 ? Named() : find(leaf);
  if (found.name.empty()) return "";
  const std::size_t dot = found.name.rfind('.');
  if (dot == std::string::npos || found.owner.empty()) return fmt::format(" (near {})", found.name);
  // "an LSTM": letters are read one by one where the second is a capital, too
  const bool letters = found.owner.size() > 1 && found.owner[1] >= 'A' && found.owner[1] <= 'Z';
  const std::string_view vowels = letters ? "AEFHILMNORSX" : "AEIOU";
  const bool vowel = vowels.find(found.owner[0]) != std::string_view::npos;
  return fmt::format(" (near {}, {} {})", found.name.substr(0, dot), vowel ? "an" : "a", found.owner);
}

}  // namespace tapegrad::detail
