// Formulas for scores and rules for masks, given by the user of flex_attention: their loops over blocks of scores,
// which are compiled in the user's program.
#pragma once

#include <tapegrad/autograd/flex_score.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace tapegrad {

namespace flex {

/// Some rows of scores of one head, as a score_mod's loop sees them.
template <class T>
struct Cells {
  /// The head, and the range of queries and keys.
  int64_t batch, head, first_query, rows, first_key, columns;
  T* scores;       // [rows, columns], with `stride` numbers from row to row; replaced
  T* slopes;       // the same for the derivatives, or nullptr
  int64_t stride;  ///< of scores and slopes, in numbers
};

namespace detail {

template <bool kSlopes, class F, class T>
void modify(const F& f, const Cells<T>& c) {
  static_assert(std::is_invocable_v<const F&, Score<T, kSlopes>&, int64_t, int64_t, int64_t, Pack<int64_t>&>,
                "a score_mod takes five arguments: [](auto score, auto b, auto h, auto q, auto k) { return score; }");
  for (int64_t column = 0; column < c.columns; column += kWidth) {
    const int n = static_cast<int>(std::min<int64_t>(kWidth, c.columns - column));
    Pack<int64_t> keys;  // past the last key: the last key again
    for (int i = 0; i < kWidth; ++i) keys.lane[i] = c.first_key + column + std::min(i, n - 1);
    for (int64_t row = 0; row < c.rows; ++row) {
      T* const at = c.scores + row * c.stride + column;
      Score<T, kSlopes> x;
      for (int i = 0; i < kWidth; ++i) x.value[i] = i < n ? at[i] : T{0};
      if constexpr (kSlopes) {
        for (int i = 0; i < kWidth; ++i) x.slope[i] = 1;
      }
      static_assert(
          std::is_same_v<std::decay_t<decltype(f(x, c.batch, c.head, c.first_query, keys))>, Score<T, kSlopes>>,
          "a score_mod returns a score: what it computes from its first argument");
      const Score<T, kSlopes> y = f(x, c.batch, c.head, c.first_query + row, keys);
      std::copy_n(y.value, n, at);
      if constexpr (kSlopes) std::copy_n(y.slope, n, c.slopes + row * c.stride + column);
    }
  }
}

}  // namespace detail
}  // namespace flex

/// A formula score_mod(score, b, h, q, k) -> score, from the scaled score of query q and key k in head h of sequence b.
/// `score` and `k` are kWidth of them at once (flex_score.h), b, h and q are int64_t. It is called on several threads,
/// for masked keys, too, and copied; what it captures by reference must outlive backward.
class ScoreMod {
 public:
  ScoreMod() = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, ScoreMod>) ScoreMod(F f)  // NOLINT: lambdas convert
      : f_(std::make_shared<const F>(std::move(f))), call_float_(&call<F, float>), call_double_(&call<F, double>) {}
  explicit operator bool() const { return f_ != nullptr; }
  void operator()(const flex::Cells<float>& cells) const { call_float_(f_.get(), cells); }
  void operator()(const flex::Cells<double>& cells) const { call_double_(f_.get(), cells); }

 private:
  template <class F, class T>
  static void call(const void* f, const flex::Cells<T>& cells) {
    if (cells.slopes) {
      flex::detail::modify<true>(*static_cast<const F*>(f), cells);
    } else {
      flex::detail::modify<false>(*static_cast<const F*>(f), cells);
    }
  }

  std::shared_ptr<const void> f_;
  void (*call_float_)(const void*, const flex::Cells<float>&) = nullptr;
  void (*call_double_)(const void*, const flex::Cells<double>&) = nullptr;
};

/// A rule mask_mod(b, h, q, k) -> bool: whether query q of head h in sequence b may attend to key k; all are int64_t.
/// Called on several threads, and copied, as a ScoreMod.
class MaskMod {
 public:
  MaskMod() = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, MaskMod>) MaskMod(F f)  // NOLINT: lambdas convert
      : f_(std::make_shared<const F>(std::move(f))), call_(&call<F>) {}
  explicit operator bool() const { return f_ != nullptr; }
  /// Fills allowed [rows, columns] and returns how many are true.
  int64_t operator()(const flex::Cells<bool>& cells) const { return call_(f_.get(), cells); }

 private:
  template <class F>
  static int64_t call(const void* p, const flex::Cells<bool>& c) {
    static_assert(std::is_invocable_v<const F&, int64_t, int64_t, int64_t, int64_t>,
                  "a mask_mod takes four arguments: [](auto b, auto h, auto q, auto k) { return q >= k; }");
    const F& f = *static_cast<const F*>(p);
    int64_t count = 0;
    for (int64_t row = 0; row < c.rows; ++row) {
      bool* const allowed = c.scores + row * c.stride;
      for (int64_t i = 0; i < c.columns; ++i) {
        const auto may_attend = f(c.batch, c.head, c.first_query + row, c.first_key + i);
        static_assert(
            std::is_same_v<decltype(may_attend), const bool> || std::is_same_v<decltype(may_attend), const int>,
            "a mask_mod returns a bool: whether query q may attend to key k");  // int: (q >= k) & (q < n)
        allowed[i] = may_attend != 0;
        count += allowed[i];
      }
    }
    return count;
  }

  std::shared_ptr<const void> f_;
  int64_t (*call_)(const void*, const flex::Cells<bool>&) = nullptr;
};

}  // namespace tapegrad
