// What a score_mod computes with: some scores of one query at once, positions of keys, and tables of constants.
//
// A score_mod is written as if these were numbers; where it depends on a condition, it uses where():
//
//   const auto soft_cap = [](auto score, auto b, auto h, auto q, auto k) { return 20 * tanh(score / 20); };
//   const auto slope = [slopes](auto score, auto, auto h, auto q, auto k) {
//     return where(k <= q, score - slopes(h) * (q - k), score);
//   };
//
// The language is that of fuse (fuse.h): a formula of the score alone can be given to either. Functions, found by their
// arguments: abs, sqrt, exp, log, tanh, sigmoid, min, max, where; of positions: abs, min, max and %.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tapegrad::flex {

/// How many scores of a query a score_mod is called with at a time.
inline constexpr int kWidth = 16;

/// kWidth numbers: of int64_t (positions), double, or bool. Integers with integers stay integers.
template <class E>
struct Pack {
  using Element = E;  ///< type of a lane
  E lane[kWidth];     ///< one number per key
};

namespace detail {
template <class T, bool kSlopes>
struct Slopes {};
template <class T>
struct Slopes<T, true> {
  T slope[kWidth];
};
}  // namespace detail

/// kWidth scores of float or double, and in backward, the derivative of each by the score that the score_mod was given.
template <class T, bool kSlopes>
struct Score : detail::Slopes<T, kSlopes> {
  T value[kWidth];  ///< one score per key
};

// --- what may be combined: numbers, packs and scores ---

namespace detail {

template <class X>
struct Traits {
  static constexpr bool is_pack = false, is_score = false;
  using Element = X;
};
template <class E>
struct Traits<Pack<E>> {
  static constexpr bool is_pack = true, is_score = false;
  using Element = E;
};
template <class T, bool kSlopes>
struct Traits<Score<T, kSlopes>> {
  static constexpr bool is_pack = false, is_score = true;
  using Element = T;
};

template <class X>
inline constexpr bool kIsScore = Traits<X>::is_score;
template <class X>
inline constexpr bool kIsPack = Traits<X>::is_pack;
template <class X>
inline constexpr bool kIsNumber = std::is_arithmetic_v<X>;
template <class... X>
concept Operands = ((kIsScore<X> || kIsPack<X> || kIsNumber<X>)&&...) && ((kIsScore<X> || kIsPack<X>) || ...);

/// Lane i as a number.
template <class X>
auto at(const X& x, int i) {
  if constexpr (kIsScore<X>) {
    return x.value[i];
  } else if constexpr (kIsPack<X>) {
    return x.lane[i];
  } else {
    return x;
  }
}
auto slope_at(const auto& x, int i) { return x.slope[i]; }

/// The score type among operands, or void.
template <class... X>
struct ScoreOf {
  using Type = void;
};
template <class X, class... Rest>
struct ScoreOf<X, Rest...> {
  using Type = std::conditional_t<kIsScore<X>, X, typename ScoreOf<Rest...>::Type>;
};
template <class S>
inline constexpr bool kHasSlopes = false;
template <class T>
inline constexpr bool kHasSlopes<Score<T, true>> = true;

template <class... X>
inline constexpr bool kAllIntegers = (std::is_integral_v<typename Traits<X>::Element> && ...);

/// The pack f(lanes of x...), in int64_t or double.
template <class F, class... X>
auto pack_of(F f, const X&... x) {
  using E = std::conditional_t<kAllIntegers<X...>, int64_t, double>;
  Pack<E> y;
  for (int i = 0; i < kWidth; ++i) y.lane[i] = f(static_cast<E>(at(x, i))...);
  return y;
}

/// f(a, b) and its slope fa(a, b) da + fb(a, b) db.
template <class A, class B, class F, class Fa, class Fb>
auto combined(const A& a, const B& b, F f, Fa fa, Fb fb) {
  using S = typename ScoreOf<A, B>::Type;
  if constexpr (std::is_void_v<S>) {
    return pack_of(f, a, b);
  } else {
    using T = typename Traits<S>::Element;
    S y;
    for (int i = 0; i < kWidth; ++i) y.value[i] = f(static_cast<T>(at(a, i)), static_cast<T>(at(b, i)));
    if constexpr (kHasSlopes<S>) {
      for (int i = 0; i < kWidth; ++i) {
        const T u = static_cast<T>(at(a, i)), v = static_cast<T>(at(b, i));
        if constexpr (kIsScore<A> && kIsScore<B>) {
          y.slope[i] = fa(u, v) * a.slope[i] + fb(u, v) * b.slope[i];
        } else if constexpr (kIsScore<A>) {
          y.slope[i] = fa(u, v) * a.slope[i];
        } else {
          y.slope[i] = fb(u, v) * b.slope[i];
        }
      }
    }
    return y;
  }
}

/// f(x), computed for all lanes at once, and its slope by derivative(x, y).
template <class X, class F, class D>
auto function(const X& x, F f, D derivative) {
  if constexpr (kIsScore<X>) {
    using T = typename Traits<X>::Element;
    X y;
    f(x.value, y.value);
    if constexpr (kHasSlopes<X>) {
      for (int i = 0; i < kWidth; ++i) y.slope[i] = derivative(T{x.value[i]}, T{y.value[i]}) * x.slope[i];
    }
    return y;
  } else {
    Pack<double> wide, y;
    for (int i = 0; i < kWidth; ++i) wide.lane[i] = static_cast<double>(x.lane[i]);
    f(wide.lane, y.lane);
    return y;
  }
}

template <class A, class B, class F>
Pack<bool> compared(const A& a, const B& b, F f) {
  Pack<bool> y;
  using S = typename ScoreOf<A, B>::Type;
  using E = std::conditional_t<!std::is_void_v<S>, typename Traits<S>::Element,
                               std::conditional_t<kAllIntegers<A, B>, int64_t, double>>;
  for (int i = 0; i < kWidth; ++i) y.lane[i] = f(static_cast<E>(at(a, i)), static_cast<E>(at(b, i)));
  return y;
}

// The library's functions of kWidth numbers (flex_functions.cpp): bit-identical on every machine.
void exp_of(const float* x, float* y);
void exp_of(const double* x, double* y);
void log_of(const float* x, float* y);
void log_of(const double* x, double* y);
void tanh_of(const float* x, float* y);
void tanh_of(const double* x, double* y);

}  // namespace detail

// --- arithmetic ---

/// Lane by lane, with the derivatives; numbers apply to every lane.
template <class A, detail::Operands<A> B>
auto operator+(const A& a, const B& b) {
  const auto one = [](auto u, auto) { return decltype(u){1}; };
  return detail::combined(
      a, b, [](auto u, auto v) { return u + v; }, one, one);
}
template <class A, detail::Operands<A> B>
auto operator-(const A& a, const B& b) {
  return detail::combined(
      a, b, [](auto u, auto v) { return u - v; }, [](auto u, auto) { return decltype(u){1}; },
      [](auto u, auto) { return decltype(u){-1}; });
}
template <class A, detail::Operands<A> B>
auto operator*(const A& a, const B& b) {
  return detail::combined(
      a, b, [](auto u, auto v) { return u * v; }, [](auto, auto v) { return v; }, [](auto u, auto) { return u; });
}
/// Of integers: rounded towards 0, as in C++.
template <class A, detail::Operands<A> B>
auto operator/(const A& a, const B& b) {
  return detail::combined(
      a, b, [](auto u, auto v) { return u / v; }, [](auto, auto v) { return 1 / v; },
      [](auto u, auto v) { return -u / (v * v); });
}
template <class A, class B>
requires detail::Operands<A, B> && detail::kAllIntegers<A, B>
auto operator%(const A& a, const B& b) {
  return detail::pack_of([](int64_t u, int64_t v) { return u % v; }, a, b);
}
auto operator-(const detail::Operands auto& a) { return 0 - a; }
template <class A, detail::Operands<A> B>
A& operator+=(A& a, const B& b) {
  return a = a + b;
}
template <class A, detail::Operands<A> B>
A& operator-=(A& a, const B& b) {
  return a = a - b;
}
template <class A, detail::Operands<A> B>
A& operator*=(A& a, const B& b) {
  return a = a * b;
}
template <class A, detail::Operands<A> B>
A& operator/=(A& a, const B& b) {
  return a = a / b;
}

// --- comparisons and choices ---

/// Lane by lane; of scores, their values are compared.
template <class A, detail::Operands<A> B>
Pack<bool> operator<(const A& a, const B& b) {
  return detail::compared(a, b, [](auto u, auto v) { return u < v; });
}
template <class A, detail::Operands<A> B>
Pack<bool> operator<=(const A& a, const B& b) {
  return detail::compared(a, b, [](auto u, auto v) { return u <= v; });
}
template <class A, detail::Operands<A> B>
Pack<bool> operator>(const A& a, const B& b) {
  return detail::compared(a, b, [](auto u, auto v) { return u > v; });
}
template <class A, detail::Operands<A> B>
Pack<bool> operator>=(const A& a, const B& b) {
  return detail::compared(a, b, [](auto u, auto v) { return u >= v; });
}
template <class A, detail::Operands<A> B>
Pack<bool> operator==(const A& a, const B& b) {
  return detail::compared(a, b, [](auto u, auto v) { return u == v; });
}
template <class A, detail::Operands<A> B>
Pack<bool> operator!=(const A& a, const B& b) {
  return detail::compared(a, b, [](auto u, auto v) { return u != v; });
}
template <class A, class B>
concept Truths = detail::Operands<A, B> && std::is_same_v < typename detail::Traits<A>::Element,
bool > &&std::is_same_v<typename detail::Traits<B>::Element, bool>;
/// Both operands are evaluated.
template <class A, class B>
requires Truths<A, B> Pack<bool>
operator&&(const A& a, const B& b) {
  Pack<bool> y;
  for (int i = 0; i < kWidth; ++i) y.lane[i] = detail::at(a, i) && detail::at(b, i);
  return y;
}
template <class A, class B>
requires Truths<A, B> Pack<bool>
operator||(const A& a, const B& b) {
  Pack<bool> y;
  for (int i = 0; i < kWidth; ++i) y.lane[i] = detail::at(a, i) || detail::at(b, i);
  return y;
}
inline Pack<bool> operator!(const Pack<bool>& a) {
  Pack<bool> y;
  for (int i = 0; i < kWidth; ++i) y.lane[i] = !a.lane[i];
  return y;
}

/// a where the condition (bool, or one per lane) is true, b elsewhere, with the derivative of the chosen one. Both are
/// evaluated.
template <class C, class A, class B>
requires detail::Operands<C, A, B> && std::is_same_v < typename detail::Traits<C>::Element,
bool > auto where(const C& condition, const A& a, const B& b) {
  using S = typename detail::ScoreOf<A, B>::Type;
  if constexpr (std::is_void_v<S>) {
    using E = std::conditional_t<detail::kAllIntegers<A, B>, int64_t, double>;
    Pack<E> y;
    for (int i = 0; i < kWidth; ++i)
      y.lane[i] = detail::at(condition, i) ? static_cast<E>(detail::at(a, i)) : static_cast<E>(detail::at(b, i));
    return y;
  } else {
    using T = typename detail::Traits<S>::Element;
    S y;
    for (int i = 0; i < kWidth; ++i) {
      const bool first = detail::at(condition, i);
      y.value[i] = first ? static_cast<T>(detail::at(a, i)) : static_cast<T>(detail::at(b, i));
      if constexpr (detail::kHasSlopes<S>) {
        T da{0}, db{0};
        if constexpr (detail::kIsScore<A>) da = a.slope[i];
        if constexpr (detail::kIsScore<B>) db = b.slope[i];
        y.slope[i] = first ? da : db;
      }
    }
    return y;
  }
}
/// The smaller and the larger one; a, and its derivative, where they are equal.
template <class A, detail::Operands<A> B>
auto min(const A& a, const B& b) {
  return where(b < a, b, a);
}
template <class A, detail::Operands<A> B>
auto max(const A& a, const B& b) {
  return where(b > a, b, a);
}

// --- functions ---

/// Slope 0 at 0.
template <detail::Operands X>
auto abs(const X& x) {
  if constexpr (detail::kIsPack<X>) {
    return detail::pack_of([](auto v) { return v < 0 ? -v : v; }, x);
  } else {
    return detail::function(
        x,
        [](const auto* from, auto* to) {
          for (int i = 0; i < kWidth; ++i) to[i] = std::abs(from[i]);
        },
        [](auto v, auto) { return static_cast<decltype(v)>((v > 0) - (v < 0)); });
  }
}
auto sqrt(const detail::Operands auto& x) {
  return detail::function(
      x,
      [](const auto* from, auto* to) {
        for (int i = 0; i < kWidth; ++i) to[i] = std::sqrt(from[i]);
      },
      [](auto, auto y) { return decltype(y){1} / (2 * y); });
}
auto exp(const detail::Operands auto& x) {
  return detail::function(
      x, [](const auto* from, auto* to) { detail::exp_of(from, to); }, [](auto, auto y) { return y; });
}
auto log(const detail::Operands auto& x) {
  return detail::function(
      x, [](const auto* from, auto* to) { detail::log_of(from, to); }, [](auto v, auto) { return 1 / v; });
}
auto tanh(const detail::Operands auto& x) {
  return detail::function(
      x, [](const auto* from, auto* to) { detail::tanh_of(from, to); }, [](auto, auto y) { return 1 - y * y; });
}
auto sigmoid(const detail::Operands auto& x) {
  return detail::function(
      x,
      [](const auto* from, auto* to) {
        for (int i = 0; i < kWidth; ++i) to[i] = -from[i];
        detail::exp_of(to, to);
        for (int i = 0; i < kWidth; ++i) to[i] = 1 / (1 + to[i]);
      },
      [](auto, auto y) { return y * (1 - y); });
}

// --- constants by index ---

/// The elements of a tensor as constants for a score_mod or mask_mod: slopes(h), bias(h, q - k), document(b, q). An
/// index may be a number or positions of keys; the result is then a number or one per key. The table keeps the values
/// that the tensor has when it is made.
template <class E>
class Table {
 public:
  /// Error unless x is of type E, which is float, double or int64_t, and for a tensor that requires a gradient:
  /// detach() it. No gradient is computed for tables.
  Table(const Tensor& x);  // NOLINT: a tensor converts

  /// Error for an index out of range, and unless there is one index per axis.
  template <class... Index>
  auto operator()(const Index&... index) const {
    if (sizeof...(Index) != static_cast<std::size_t>(values_.dim())) fail_count(sizeof...(Index));
    using Result = std::conditional_t<std::is_integral_v<E>, int64_t, double>;
    if constexpr ((detail::kIsPack<Index> || ...)) {
      Pack<Result> y;
      for (int i = 0; i < kWidth; ++i) y.lane[i] = static_cast<Result>(element(detail::at(index, i)...));
      return y;
    } else {
      return static_cast<Result>(element(index...));
    }
  }

 private:
  template <class... Index>
  E element(const Index&... index) const {
    static_assert((std::is_integral_v<Index> && ...), "expected integers as indices of a Table");
    int64_t place = 0;
    int axis = 0;
    ((place = place * size(axis, index) + static_cast<int64_t>(index), ++axis), ...);
    return data_[place];
  }
  // The size of an axis.
  int64_t size(int axis, int64_t index) const {
    const int64_t n = values_.shape()[axis];
    if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(n)) fail_index(axis, index);
    return n;
  }
  [[noreturn]] void fail_count(std::size_t given) const;
  [[noreturn]] void fail_index(int axis, int64_t index) const;

  Tensor values_;  // contiguous
  const E* data_;
};

}  // namespace tapegrad::flex
