// Generators: which words of the stream a call takes. Float64 normal numbers use the C library, as PyTorch does.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/thread_draws.h>
#include <tapegrad/autograd/kernels/simd/random_kernels.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/random.h>

#include <pthread.h>
#include <tapegrad/autograd/internal/fail.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

namespace tapegrad {

namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

// Passes the next n words to use(words, count, done), block by block, before tempering.
void draw_words(Mt19937& mt, int64_t n, const auto& use) {
  for (int64_t done = 0; done < n;) {
    if (mt.next == Mt19937::kWords) mt.refill();
    const int64_t count = std::min<int64_t>(n - done, Mt19937::kWords - mt.next);
    use(mt.words + mt.next, count, done);
    mt.next += static_cast<int>(count);
    done += count;
  }
}

void fill_uniform(Mt19937& mt, float* out, int64_t n, float from, float to) {
  draw_words(mt, n, [&](const uint32_t* words, int64_t count, int64_t done) {
    detail::mt_uniform(words, count, from, to - from, out + done);
  });
}

// Bernoulli by the multiplicative congruential generator MCG31m1 (L'Ecuyer 1999): x <- 1132489760 x mod 2^31 - 1.
// MKL compares in single precision.
void mcg31_mask(uint32_t seed, uint8_t* keep, int64_t n, double p_keep) {
  constexpr uint64_t kModulus = 0x7fffffff, kFactor = 1132489760;
  uint64_t x = seed % kModulus;
  if (x == 0) x = 1;
  for (int64_t i = 0; i < n; ++i) {
    keep[i] = static_cast<float>(static_cast<double>(x) / kModulus) < static_cast<float>(p_keep);
    x = x * kFactor % kModulus;
  }
}

// A field of a state's bytes; little-endian, like the machine.
template <class T>
void put(std::vector<std::byte>& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}
template <class T>
T get(const std::vector<std::byte>& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

constinit thread_local Generator::Redirect Generator::redirect_ = nullptr;

double Generator::State::next_normal() {
  if (has_cached_normal) {
    has_cached_normal = false;
    return cached_normal;
  }
  const double u1 = next_double(), u2 = next_double();
  const double radius = std::sqrt(-2.0 * std::log(1 - u2)), theta = kTwoPi * u1;
  cached_normal = radius * std::sin(theta);
  has_cached_normal = true;
  return radius * std::cos(theta);
}

Generator::Generator(uint64_t seed) : state_(seed) {}

Generator::Generator(const Generator& other) : state_(other.copy_state()) {}

Generator& Generator::operator=(const Generator& other) {
  const State state = other.copy_state();
  const Hold hold(*this);
  *hold = state;
  return *this;
}

Generator::State Generator::copy_state() const {
  const Hold hold(*this);
  return *hold;
}

void Generator::manual_seed(uint64_t seed) {
  const Hold hold(*this);
  const MaskStream stream = hold->mask_stream;
  *hold = State(seed);
  hold->mask_stream = stream;
}

uint64_t Generator::seed() const {
  const Hold hold(*this);
  return hold->seed;
}

uint32_t Generator::random32() {
  const Hold hold(*this);
  return hold->words();
}

uint64_t Generator::random64() {
  const Hold hold(*this);
  return hold->next64();
}

namespace {

template <class T>
void check_uniform(double from, double to) {
  const T low = static_cast<T>(from), high = static_cast<T>(to);
  require(low <= high && std::isfinite(high - low), "uniform", "expected finite bounds with from <= to, got {} and {}",
          from, to);
}

void check_normal(double std) {
  if (!(std >= 0)) fail("normal", "expected a standard deviation of 0 or more, got {}", std);
}

void check_exponential(double lambda) {
  if (!(lambda > 0)) fail("exponential", "expected a positive rate, got {}", lambda);
}

void check_probability(double p) { require_probability("bernoulli", "the probability", p); }

}  // namespace

void Generator::uniform(float* out, int64_t n, double from, double to) {
  check_uniform<float>(from, to);
  const Hold hold(*this);
  fill_uniform(hold->words, out, n, static_cast<float>(from), static_cast<float>(to));
}

void Generator::uniform(double* out, int64_t n, double from, double to) {
  check_uniform<double>(from, to);
  const Hold hold(*this);
  for (int64_t i = 0; i < n; ++i) out[i] = std::fma(hold->next_double(), to - from, from);
}

void Generator::normal(float* out, int64_t n, double mean, double std) {
  check_normal(std);
  const Hold hold(*this);
  if (n < 16) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(std::fma(hold->next_normal(), std, mean));
    return;
  }
  const float m = static_cast<float>(mean), s = static_cast<float>(std);
  fill_uniform(hold->words, out, n, 0, 1);
  detail::box_muller(out, n / 16, m, s);
  if (n % 16 != 0) {
    fill_uniform(hold->words, out + n - 16, 16, 0, 1);
    detail::box_muller(out + n - 16, 1, m, s);
  }
}

void Generator::normal(double* out, int64_t n, double mean, double std) {
  check_normal(std);
  const Hold hold(*this);
  if (n < 16) {
    for (int64_t i = 0; i < n; ++i) out[i] = std::fma(hold->next_normal(), std, mean);
    return;
  }
  const auto draw = [&](double* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) x[i] = hold->next_double();
  };
  const auto block = [&](double* x) {
    for (int j = 0; j < 8; ++j) {
      const double radius = std::sqrt(-2 * std::log(1 - x[j])), theta = kTwoPi * x[j + 8];
      x[j] = std::fma(radius * std::cos(theta), std, mean);
      x[j + 8] = std::fma(radius * std::sin(theta), std, mean);
    }
  };
  draw(out, n);
  for (int64_t i = 0; i + 16 <= n; i += 16) block(out + i);
  if (n % 16 != 0) {
    draw(out + n - 16, 16);
    block(out + n - 16);
  }
}

void Generator::exponential(float* out, int64_t n, double lambda) {
  check_exponential(lambda);
  constexpr int64_t kPiece = 256;
  double u[kPiece];
  const Hold hold(*this);
  for (int64_t done = 0; done < n; done += kPiece) {
    const int64_t count = std::min(kPiece, n - done);
    for (int64_t i = 0; i < count; ++i) u[i] = hold->next_double();
    detail::exponential_numbers(u, count, -1 / lambda, out + done);
  }
}

void Generator::exponential(double* out, int64_t n, double lambda) {
  check_exponential(lambda);
  const Hold hold(*this);
  for (int64_t i = 0; i < n; ++i) out[i] = -1 / lambda * std::log(1 - hold->next_double());
}

void Generator::randint(int64_t* out, int64_t n, int64_t low, int64_t high) {
  if (low >= high) fail("randint", "expected low < high, got {} and {}", low, high);
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const bool wide = range >> 32 != 0;
  const Hold hold(*this);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t r = wide ? hold->next64() : hold->words();
    out[i] = static_cast<int64_t>(r % range + static_cast<uint64_t>(low));
  }
}

void Generator::random63(int64_t* out, int64_t n) {
  const Hold hold(*this);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(hold->next64() & ~(uint64_t{1} << 63));
}

void Generator::randperm(int64_t* out, int64_t n) {
  if (n < 0) fail("randperm", "expected a length of 0 or more, got {}", n);
  const Hold hold(*this);
  std::iota(out, out + n, int64_t{0});
  for (int64_t i = 0; i + 1 < n; ++i) std::swap(out[i], out[i + hold->words() % (n - i)]);
}

void Generator::keep_mask(uint8_t* keep, int64_t n, double p_keep) {
  check_probability(p_keep);
  const Hold hold(*this);
  if (n <= 0) return;
  if (hold->mask_stream == MaskStream::kMcg31m1) {
    mcg31_mask(hold->words(), keep, n, p_keep);
    return;
  }
  // u < p for u = k 2^-53 exactly where k < p 2^53.
  const uint64_t threshold = static_cast<uint64_t>(std::ceil(p_keep * 0x1p53));
  Mt19937& mt = hold->words;
  while (n > 0) {
    if (Mt19937::kWords - mt.next < 2) {  // a pair that lies across two blocks, or just before one
      *keep++ = (hold->next64() & Hold::kLow53) < threshold;
      --n;
    }
    const int64_t pairs = std::min<int64_t>(n, (Mt19937::kWords - mt.next) / 2);
    detail::mt_keep(mt.words + mt.next, pairs, threshold, keep);
    mt.next += static_cast<int>(2 * pairs);
    keep += pairs;
    n -= pairs;
  }
}

void Generator::bernoulli(uint8_t* out, const float* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i) check_probability(p[i]);
  const Hold hold(*this);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(hold->words() & 0xffffffu) * 0x1p-24f < p[i];
}

void Generator::bernoulli(uint8_t* out, const double* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i) check_probability(p[i]);
  const Hold hold(*this);
  for (int64_t i = 0; i < n; ++i) out[i] = hold->next_double() < p[i];
}

template <class T>
void Generator::multinomial_of(int64_t* out, int64_t samples, const T* weights, int64_t n, bool replacement) {
  int64_t positive = 0;
  for (int64_t i = 0; i < n; ++i) {
    require(weights[i] >= 0 && std::isfinite(weights[i]), "multinomial",
            "expected finite weights of 0 or more, got {} at index {}", weights[i], i);
    positive += weights[i] > 0;
  }
  if (samples < 1) fail("multinomial", "expected at least 1 sample, got {}", samples);
  const int64_t needed = replacement ? 1 : samples;
  require(positive >= needed, "multinomial", "expected at least {2} positive weights to sample {3}{4}, got {0} of {1}",
          positive, n, needed, samples, replacement ? "" : " without replacement");
  std::vector<T> x(static_cast<size_t>(n));
  if (!replacement) {
    exponential(x.data(), n);
    for (int64_t i = 0; i < n; ++i) x[i] = weights[i] > 0 ? weights[i] / x[i] : -1;
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::partial_sort(order.begin(), order.begin() + samples, order.end(),
                      [&](int64_t a, int64_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; });
    std::copy_n(order.begin(), samples, out);
    return;
  }
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) x[i] = sum += weights[i];
  if (!std::isfinite(sum)) fail("multinomial", "the sum of the weights is too large for their type");
  for (T& c : x) c /= sum;
  x.back() = 1;
  const Hold hold(*this);
  for (int64_t i = 0; i < samples; ++i) {
    const double u = hold->next_double();
    out[i] = std::lower_bound(x.begin(), x.end(), u) - x.begin();
  }
}

void Generator::multinomial(int64_t* out, int64_t samples, const float* weights, int64_t n, bool replacement) {
  multinomial_of(out, samples, weights, n, replacement);
}

void Generator::multinomial(int64_t* out, int64_t samples, const double* weights, int64_t n, bool replacement) {
  multinomial_of(out, samples, weights, n, replacement);
}

MaskStream Generator::mask_stream() const {
  const Hold hold(*this);
  return hold->mask_stream;
}

void Generator::set_mask_stream(MaskStream stream) {
  const Hold hold(*this);
  hold->mask_stream = stream;
}

// ---- Generator: state as bytes ----

namespace {
// Offsets in PyTorch's layout: seed u64, left i32, seeded i32, next u64, 624 words as u64, three normals as double
// (the second is the cached one), its flag i32, a float normal and its flag, padding.
constexpr size_t kSeedAt = 0, kLeftAt = 8, kSeededAt = 12, kNextAt = 16, kWordsAt = 24;
constexpr size_t kNormalAt = kWordsAt + 8 * Mt19937::kWords + 8, kHasNormalAt = kNormalAt + 16;
constexpr size_t kHasFloatNormalAt = kHasNormalAt + 12, kMaskStreamAt = 5055, kStateSize = 5056;
static_assert(kHasFloatNormalAt == 5052);
}  // namespace

std::vector<std::byte> Generator::state() const {
  const State s = copy_state();
  std::vector<std::byte> bytes(kStateSize);
  // PyTorch distinguishes a generator that was just seeded (next 0) from one at the end of a block (next 624).
  const bool fresh = s.words.next == Mt19937::kWords && s.words.words[0] == static_cast<uint32_t>(s.seed);
  put(bytes, kSeedAt, s.seed);
  put<int32_t>(bytes, kLeftAt, Mt19937::kWords + 1 - s.words.next);
  put<int32_t>(bytes, kSeededAt, 1);
  put<uint64_t>(bytes, kNextAt, fresh ? 0 : static_cast<uint64_t>(s.words.next));
  for (size_t i = 0; i < Mt19937::kWords; ++i) put<uint64_t>(bytes, kWordsAt + 8 * i, s.words.words[i]);
  if (s.has_cached_normal) put(bytes, kNormalAt, s.cached_normal);
  put<int32_t>(bytes, kHasNormalAt, s.has_cached_normal);
  put(bytes, kMaskStreamAt, s.mask_stream);
  return bytes;
}

void Generator::set_state(const std::vector<std::byte>& bytes) {
  constexpr std::string_view kWhere = "Generator.set_state";
  require(bytes.size() == kStateSize, kWhere, "expected the {} bytes of a generator's state, got {}", kStateSize,
          bytes.size());
  State s(get<uint64_t>(bytes, kSeedAt));
  const int32_t left = get<int32_t>(bytes, kLeftAt), seeded = get<int32_t>(bytes, kSeededAt);
  const uint64_t next = get<uint64_t>(bytes, kNextAt);
  if (seeded != 1) fail(kWhere, "expected a seeded flag of 1, got {}", seeded);
  const bool fresh = left == 1 && next == 0;
  if (!fresh && (next > Mt19937::kWords || left != Mt19937::kWords + 1 - static_cast<int32_t>(next))) {
    fail(kWhere, "expected a position up to 624 with 625 - position left, got {} with {} left", next, left);
  }
  s.words.next = fresh ? Mt19937::kWords : static_cast<int>(next);
  for (size_t i = 0; i < Mt19937::kWords; ++i) {
    const uint64_t word = get<uint64_t>(bytes, kWordsAt + 8 * i);
    if (word >> 32 != 0) fail(kWhere, "expected words of 32 bits, got word {} = {}", i, word);
    s.words.words[i] = static_cast<uint32_t>(word);
  }
  if (!s.words.is_seeded()) fail(kWhere, "expected a seeded state, got all words zero");
  const int32_t has_normal = get<int32_t>(bytes, kHasNormalAt);
  s.cached_normal = get<double>(bytes, kNormalAt);
  s.has_cached_normal = has_normal == 1;
  if ((has_normal != 0 && has_normal != 1) || !std::isfinite(s.cached_normal)) {
    fail(kWhere, "expected a finite cached normal with flag 0 or 1, got {} with flag {}", s.cached_normal, has_normal);
  }
  require(get<uint8_t>(bytes, kHasFloatNormalAt) == 0, kWhere,
          "expected no cached float normal, which these streams never have");
  const uint8_t stream = get<uint8_t>(bytes, kMaskStreamAt);
  if (stream > static_cast<uint8_t>(MaskStream::kMcg31m1)) fail(kWhere, "expected mask stream 0 or 1, got {}", stream);
  s.mask_stream = static_cast<MaskStream>(stream);
  const Hold hold(*this);
  *hold = s;
}

Generator& Generator::make_default() {
  static Generator& generator = *new Generator;
  static std::optional<Hold> held;
  pool::stats();  // the pool's own handlers are registered first: its lock is taken inside ours
  pthread_atfork([] { held.emplace(generator); }, [] { held.reset(); }, [] { held.reset(); });
  return generator;
}

Generator& default_generator() {
  static Generator& generator = Generator::make_default();
  Generator* const own = ThreadDraws::current();
  return own ? *own : generator;
}

namespace {
// Made when the library is loaded: a fork while a thread makes it would leave the child waiting for that thread.
[[maybe_unused]] const Generator& kDefaultGenerator = default_generator();
}  // namespace

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace tapegrad
