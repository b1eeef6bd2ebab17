// NumPy's legacy stream.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/random.h>

#include <cmath>
#include <cstring>

namespace tapegrad {
namespace {

constexpr std::size_t kWordBytes = 4 * (Mt19937::kWords + 1);  // of a state: the words and the position of the next

}  // namespace

int64_t NumpyRandom::randint(int64_t low, int64_t high) {
  if (low >= high) fail("NumpyRandom.randint", "expected low < high, got {} and {}", low, high);
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
  if (n < 1) fail("NumpyRandom.choice_index", "expected a list of at least 1 element, got {}", n);
  return randint(0, n);
}

double NumpyRandom::random() {
  const uint32_t high = words_() >> 5, low = words_() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double NumpyRandom::randn() {
  if (second_) {
    const double drawn = *second_;
    second_.reset();
    return drawn;
  }
  double x, y, square;
  do {
    x = 2 * random() - 1;
    y = 2 * random() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * fixed::log(square) / square);
  second_ = factor * x;
  return factor * y;
}

Tensor NumpyRandom::randn(const Shape& shape) {
  const Tensor x = Tensor::empty(shape, kFloat64);
  double* const to = x.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = randn();
  return x;
}

// The words, the position of the next, and half a pair of normal numbers if one is left.
std::vector<std::byte> NumpyRandom::state() const {
  std::vector<std::byte> bytes(kWordBytes + (second_ ? sizeof *second_ : 0));
  std::memcpy(bytes.data(), words_.words, 4 * Mt19937::kWords);
  const int32_t next = words_.next;
  std::memcpy(bytes.data() + 4 * Mt19937::kWords, &next, sizeof next);
  if (second_) std::memcpy(bytes.data() + kWordBytes, &*second_, sizeof *second_);
  return bytes;
}

void NumpyRandom::set_state(const std::vector<std::byte>& bytes) {
  constexpr std::string_view kWhere = "NumpyRandom.set_state";
  constexpr size_t kWithSecond = kWordBytes + sizeof(double);
  require(bytes.size() == kWordBytes || bytes.size() == kWithSecond, kWhere,
          "expected the {} or {} bytes of a state, got {}", kWordBytes, kWithSecond, bytes.size());
  Mt19937 mt(0);
  std::memcpy(mt.words, bytes.data(), 4 * Mt19937::kWords);
  int32_t next;
  std::memcpy(&next, bytes.data() + 4 * Mt19937::kWords, sizeof next);
  mt.next = next;
  require(mt.next >= 0 && mt.next <= Mt19937::kWords, kWhere, "expected a position from 0 to {}, got {}",
          Mt19937::kWords, mt.next);
  if (!mt.is_seeded()) fail(kWhere, "expected a seeded state, got all words zero");
  std::optional<double> second;
  if (bytes.size() == kWithSecond) std::memcpy(&second.emplace(), bytes.data() + kWordBytes, sizeof(double));
  if (second && !std::isfinite(*second)) fail(kWhere, "expected a finite normal number, got {}", *second);
  words_ = mt;
  second_ = second;
}

}  // namespace tapegrad
