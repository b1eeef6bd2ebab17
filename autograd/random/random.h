// Random numbers: PyTorch's CPU streams, number for number, and NumPy's legacy stream.
#pragma once

#include <tapegrad/autograd/mersenne_twister.h>
#include <tapegrad/autograd/tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tapegrad {

namespace detail {
class DrawLog;
class HeldGenerator;
}  // namespace detail

/// Which stream samples Bernoulli masks. PyTorch with MKL, on an Intel processor, takes one word as
/// the seed of an MCG31m1 for every mask.
enum class MaskStream : uint8_t { kMt19937, kMcg31m1 };

/// A source of random numbers, bit-identical to PyTorch's CPU generator with the same seed, with
/// every instruction set and any number of threads. Every member is safe to call from several threads (the numbers
/// of one call are consecutive in the stream); the caller is responsible for the order of threads. Fills write n
/// elements to `out`; n <= 0 samples nothing.
class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;  ///< PyTorch's default

  /// Only the low 32 bits of the seed are used.
  explicit Generator(uint64_t seed = kDefaultSeed);
  Generator(const Generator& other);
  Generator& operator=(const Generator& other);

  /// Restarts the stream and discards the cached normal.
  void manual_seed(uint64_t seed);
  /// The seed of the last start, with all 64 bits.
  uint64_t seed() const;

  uint32_t random32();  ///< the next word of the Mersenne Twister, tempered
  /// Two words; the first gives the high half.
  uint64_t random64();

  /// Uniform in [from, to): a float takes 24 bits of one word, a double 53 bits of two. Error unless from <= to.
  void uniform(float* out, int64_t n, double from = 0, double to = 1);
  void uniform(double* out, int64_t n, double from = 0, double to = 1);
  /// Normal, by Box and Muller: for n >= 16 in blocks of 16 (the last 16 are sampled again if n is not a multiple
  /// of 16), for fewer one by one in double, where the second of a pair is cached for the next call. Error if std < 0.
  void normal(float* out, int64_t n, double mean = 0, double std = 1);
  void normal(double* out, int64_t n, double mean = 0, double std = 1);
  /// Exponential of rate lambda. Error unless lambda > 0.
  void exponential(float* out, int64_t n, double lambda = 1);
  void exponential(double* out, int64_t n, double lambda = 1);
  /// Integers in [low, high): one word modulo the range, two where the range needs them. Error unless low < high.
  void randint(int64_t* out, int64_t n, int64_t low, int64_t high);
  /// Integers in [0, 2^63), PyTorch's `random_()`.
  void random63(int64_t* out, int64_t n);
  /// A permutation of 0 .. n-1.
  void randperm(int64_t* out, int64_t n);
  /// keep[i] = 1 with probability p_keep, else 0: one double uniform per element, compared with p_keep (or
  /// `mask_stream`). Error outside [0, 1].
  void keep_mask(uint8_t* keep, int64_t n, double p_keep);
  /// out[i] = 1 with probability p[i], else 0: one uniform of p's type per element. Error if a p is outside [0, 1].
  void bernoulli(uint8_t* out, const float* p, int64_t n);
  void bernoulli(uint8_t* out, const double* p, int64_t n);
  /// Samples `samples` indices from `weights` (any sum). Without replacement: those with the largest weight /
  /// exponential, the largest first; with replacement: a search of the cumulative sums, one double uniform per sample.
  /// Error if a weight is negative or not finite, all are zero, or fewer are positive than are sampled.
  void multinomial(int64_t* out, int64_t samples, const float* weights, int64_t n, bool replacement = false);
  void multinomial(int64_t* out, int64_t samples, const double* weights, int64_t n, bool replacement = false);

  /// The stream of `keep_mask`.
  MaskStream mask_stream() const;
  void set_mask_stream(MaskStream stream);

  /// The complete state, in the layout of `torch.get_rng_state()`: the bytes are interchangeable with PyTorch's. The
  /// last byte, which PyTorch leaves zero, has the mask stream.
  std::vector<std::byte> state() const;
  /// Error, and no change, if the bytes are not the state of a generator.
  void set_state(const std::vector<std::byte>& bytes);

 private:
  friend class detail::DrawLog;
  friend class detail::HeldGenerator;
  friend Generator& default_generator();
  class Hold;
  struct State {
    explicit State(uint64_t start) : seed(start), words(static_cast<uint32_t>(start)) {}
    uint64_t next64();
    double next_double();  // [0, 1)
    double next_normal();

    uint64_t seed;
    Mt19937 words;
    double cached_normal = 0;
    bool has_cached_normal = false;
    MaskStream mask_stream = MaskStream::kMt19937;
    uint64_t version = 0;  // of a DrawLog: equal versions are equal states; 0: unknown
  };
  template <class T>
  void multinomial_of(int64_t* out, int64_t samples, const T* weights, int64_t n, bool replacement);
  State copy_state() const;
  static Generator& make_default();  // held over a fork, so that the child finds it free

  // Set while a DrawLog records or replays on this thread: gives the state to sample from in place of the generator's.
  using Redirect = State& (*)(State&);
  static constinit thread_local Redirect redirect_;

  mutable State state_;
  mutable std::atomic_flag held_;
};

// One thread at a time in a generator, or in what takes its place while a DrawLog is replayed.
class Generator::Hold : NonCopyable {
 public:
  static constexpr uint64_t kLow53 = (uint64_t{1} << 53) - 1;

  explicit Hold(const Generator& g) : flag_(g.held_), state_(&g.state_) {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true, std::memory_order_relaxed);
    if (!redirect_) {
      state_->version = 0;
      return;
    }
    try {
      state_ = &redirect_(g.state_);
    } catch (...) {
      release();
      throw;
    }
  }
  ~Hold() { release(); }
  State* operator->() const { return state_; }
  State& operator*() const { return *state_; }

 private:
  void release() {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }
  std::atomic_flag& flag_;
  State* state_;
};

inline uint64_t Generator::State::next64() {
  const uint64_t first = words();
  return first << 32 | words();
}

inline double Generator::State::next_double() { return static_cast<double>(next64() & Hold::kLow53) * 0x1p-53; }

namespace detail {

/// As long as it lives, other threads wait for the generator; its thread must not use the generator in another way. All
/// numbers are one entry of a DrawLog.
class HeldGenerator {
 public:
  explicit HeldGenerator(const Generator& generator) : hold_(generator) {}  ///< waits until it is free
  double uniform() { return hold_->next_double(); }  ///< in [0, 1), as Generator::uniform of one double
  double normal() { return hold_->next_normal(); }   ///< as Generator::normal of one double

 private:
  Generator::Hold hold_;
};

}  // namespace detail

/// The generator used if none is given: one for the whole process, initially seeded with kDefaultSeed.
Generator& default_generator();

/// Seeds the default generator.
void manual_seed(uint64_t seed);

// ---- Tensors of random numbers; nullptr means the default generator ----

/// Uniform in [0, 1). float32 or float64; Error for another dtype, here and below.
Tensor rand(const Shape& shape, DType dtype = kFloat32, Generator* generator = nullptr);
/// Standard normal.
Tensor randn(const Shape& shape, DType dtype = kFloat32, Generator* generator = nullptr);
/// Uniform in [from, to).
Tensor uniform(const Shape& shape, double from, double to, DType dtype = kFloat32, Generator* generator = nullptr);
/// Normal with this mean and standard deviation.
Tensor normal(const Shape& shape, double mean, double std, DType dtype = kFloat32, Generator* generator = nullptr);
/// Uniform in [0, 1), and standard normal, in the shape and type of x. Error unless x is float32 or float64.
Tensor rand_like(const Tensor& x, Generator* generator = nullptr);
Tensor randn_like(const Tensor& x, Generator* generator = nullptr);
/// Exponentially distributed with this rate (lambda). Error unless rate > 0.
Tensor exponential(const Shape& shape, double rate = 1, DType dtype = kFloat32, Generator* generator = nullptr);
/// Gumbel-distributed with location 0 and scale 1, as -log of an exponential number: the numbers of
/// torch.nn.functional.gumbel_softmax (to one unit in the last place), not those of torch.distributions.Gumbel.
Tensor gumbel(const Shape& shape, DType dtype = kFloat32, Generator* generator = nullptr);
/// Normal with this mean and standard deviation, truncated to [low, high], as in torch.nn.init.trunc_normal_ of PyTorch
/// 2.15: elements outside are sampled again. If at most 0.3 of the probability lies inside, each element is instead
/// the inverse distribution function of one uniform number. Error unless std > 0 and low < high.
Tensor truncated_normal(const Shape& shape, double mean = 0, double std = 1, double low = -2, double high = 2,
                        DType dtype = kFloat32, Generator* generator = nullptr);
/// softmax((logits + gumbel) / tau) along an axis: samples near the corners of the simplex. With `hard`, the nearest
/// corner (one-hot), with the gradient of the soft sample (straight-through). Error unless tau > 0. Jang, Gu, Poole
/// 2016.
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int64_t axis = -1,
                      Generator* generator = nullptr);
/// Integers in [low, high), int64.
Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator* generator = nullptr);
/// A permutation of 0 .. n-1, int64 [n].
Tensor randperm(int64_t n, Generator* generator = nullptr);
/// 1 with probability p, else 0, in p's shape and type.
Tensor bernoulli(const Tensor& p, Generator* generator = nullptr);
/// weights [n] or [rows, n], floating -> indices [samples] or [rows, samples], int64 (see Generator::multinomial).
Tensor multinomial(const Tensor& weights, int64_t samples, bool replacement = false, Generator* generator = nullptr);

/// NumPy's legacy stream: `np.random.seed` and the functions that it seeds. Not thread-safe.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed) : words_(seed) {}
  void seed(uint32_t seed) { *this = NumpyRandom(seed); }

  /// An integer in [low, high), as np.random.randint(low, high). Error unless low < high.
  int64_t randint(int64_t low, int64_t high);
  /// The index of the element that np.random.choice takes from a list of n. Error unless n > 0.
  int64_t choice_index(int64_t n);
  /// A double in [0, 1), as np.random.random().
  double random();
  /// A number of the standard normal distribution, as np.random.randn() samples each of its elements: in pairs, by the
  /// polar method (Marsaglia, Bray 1964). Its logarithm may differ from NumPy's in the last place.
  double randn();
  /// Standard normal numbers of this shape, float64, as np.random.randn(*shape).
  Tensor randn(const Shape& shape);

  /// Everything that an exact continuation needs; set_state: Error, and no change, if the bytes are not a state.
  std::vector<std::byte> state() const;
  void set_state(const std::vector<std::byte>& bytes);

 private:
  Mt19937 words_;
  std::optional<double> second_;  // of a pair of normal numbers
};

}  // namespace tapegrad
