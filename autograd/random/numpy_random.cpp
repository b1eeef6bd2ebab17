// NumPy's legacy stream.
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/random.h>

#include <fmt/format.h>

#include <cstring>

namespace tapegrad {

int64_t NumpyRandom::randint(int64_t low, int64_t high) {
  if (low >= high) fail("NumpyRandom.randint", fmt::format("expected low < high, got {} and {}", low, high));
  const uint64_t last = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) - 1;
  if (last == 0) return low;
  uint64_t mask = last;  // the smallest 2^k - 1 that covers it
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  uint64_t draw;
  do {
    draw = words_();
    if (last >> 32 != 0) draw = draw << 32 | words_();
    draw &= mask;
  } while (draw > last);
  return static_cast<int64_t>(draw + static_cast<uint64_t>(low));
}

int64_t NumpyRandom::choice_index(int64_t n) {
  if (n < 1) fail("NumpyRandom.choice_index", fmt::format("expected a list of at least 1 element, got {}", n));
  return randint(0, n);
}

double NumpyRandom::random() {
  const uint32_t high = words_() >> 5, low = words_() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

std::vector<std::byte> NumpyRandom::state() const {
  std::vector<std::byte> bytes(4 * (Mt19937::kWords + 1));
  std::memcpy(bytes.data(), words_.words, 4 * Mt19937::kWords);
  const int32_t next = words_.next;
  std::memcpy(bytes.data() + 4 * Mt19937::kWords, &next, sizeof next);
  return bytes;
}

void NumpyRandom::set_state(const std::vector<std::byte>& bytes) {
  constexpr std::string_view kWhere = "NumpyRandom.set_state";
  constexpr size_t kSize = 4 * (Mt19937::kWords + 1);
  if (bytes.size() != kSize) fail(kWhere, fmt::format("expected the {} bytes of a state, got {}", kSize, bytes.size()));
  Mt19937 mt(0);
  std::memcpy(mt.words, bytes.data(), 4 * Mt19937::kWords);
  int32_t next;
  std::memcpy(&next, bytes.data() + 4 * Mt19937::kWords, sizeof next);
  mt.next = next;
  if (mt.next < 0 || mt.next > Mt19937::kWords) {
    fail(kWhere, fmt::format("expected a position from 0 to {}, got {}", Mt19937::kWords, mt.next));
  }
  if (!mt.is_seeded()) fail(kWhere, "expected a seeded state, got all words zero");
  words_ = mt;
}

}  // namespace tapegrad
