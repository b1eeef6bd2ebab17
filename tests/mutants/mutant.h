// The switches in the mutated copy of a source file (sites.py), which is compiled alone and loaded before the library.
//
// mutant<17>(value) is the value, unless a mutant of site 17 is switched on: then it is another value. Which mutants a
// site has depends on the type of its value, which the first use of the site notes in tapegrad_reached.
#pragma once

#include <tapegrad/autograd/ops.h>

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

// What a runner sets and reads: site * 8 + kind of the mutant that is on, or one of these; and the type of each site.
extern "C" {
__attribute__((visibility("default"))) int tapegrad_mutant =
    std::getenv("MUTANT") ? std::atoi(std::getenv("MUTANT")) : -1;
__attribute__((visibility("default"))) unsigned char tapegrad_reached[8192];
__attribute__((visibility("default"))) int tapegrad_changed;  // whether a mutant has made a value another one
}

namespace tapegrad::mutants {

// Programs that know nothing of switches: what they reached goes to a file.
struct WritesReached {
  ~WritesReached() {
    const char* const path = std::getenv("MUTANTS_REACHED");
    std::FILE* const file = path ? std::fopen(path, "wb") : nullptr;
    if (!file) return;
    std::fwrite(tapegrad_reached, 1, sizeof(tapegrad_reached), file);
    std::fclose(file);
  }
};
inline const WritesReached kWritesReached;

inline constexpr int kEverySite = -2;  // the control that must be found: all floating values are wrong

// Codes of types; runner.cpp and mutants.py have the number of their mutants, and their names.
enum Type : unsigned char { kOther, kTensor, kInteger, kTruth, kFloating, kSigned, kBools, kIntegers, kTensors };

// A vector of a kernel, or a symbol of a fused program.
template <class T>
concept Signed = std::is_class_v<T> && !std::same_as<T, Tensor> && requires(const T& v) {
  { -v } -> std::convertible_to<T>;
  { v + v } -> std::convertible_to<T>;
};
template <class T>
concept Gradients = std::is_class_v<T> && requires(T& v) {
  { v[0] } -> std::same_as<Tensor&>;
  v.size();
};

template <class T>
constexpr Type type_of() {
  if constexpr (std::same_as<T, bool>) return kTruth;
  if constexpr (std::integral<T>) return kInteger;
  if constexpr (std::floating_point<T>) return kFloating;
  if constexpr (Signed<T>) return kSigned;
  if constexpr (Gradients<T>) return kTensors;
  return std::same_as<T, Tensor> ? kTensor : kOther;
}

// Whether a tensor has elements, and one of them is not 0: then every mutant of it is another tensor.
inline bool has_values(const Tensor& x) {
  if (!is_floating(x.dtype())) return x.numel() > 0;
  const Tensor all = x.detach().to(kFloat64).contiguous();
  for (int64_t i = 0; i < all.numel(); ++i) {
    if (all.data<double>()[i] != 0) return true;
  }
  return false;
}

inline Tensor changed(const Tensor& x, int kind) {
  if (!x.defined()) return x;
  if (x.dtype() == kBool) return logical_not(x);
  if (!is_floating(x.dtype())) return x.numel() > 0 && x.dim() > 0 ? roll(x, 1, -1) : x;
  const bool square = x.dim() >= 2 && x.size(-1) == x.size(-2);
  if (kind == 0) return -x;
  if (kind == 1) return x * 1.001;
  if (kind == 2) return x * 0;
  return square ? x.transpose(-1, -2) : x * 1.5;
}

template <class T>
T changed_number(const T& v, int kind) {
  if constexpr (std::same_as<T, bool>) return !v;
  if constexpr (std::floating_point<T>) return v == 0 ? T(1) : kind == 0 ? T(v * T(1.001)) : -v;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) return kind == 0 ? T(v + 1) : T(v - 1);
  if constexpr (Signed<T>) return kind == 0 ? T(-v) : T(v + v);
  return v;
}

template <class T>
T changed_tensors(T v, int kind) {
  if (v.size() > 0 && kind == 0 && v[0].defined() && is_floating(v[0].dtype())) v[0] = -v[0];
  if (v.size() > 1 && kind == 1) std::swap(v[0], v[1]);
  return v;
}

// A value by itself; of what has no mutants, the reference.
template <int N, class T>
constexpr decltype(auto) mutant(T&& v) {
  using Value = std::remove_cvref_t<T>;
  constexpr Type kType = type_of<Value>();
  if constexpr (kType == kOther) {
    return static_cast<T&&>(v);
  } else {
    if (std::is_constant_evaluated()) return Value(static_cast<T&&>(v));
    unsigned char type = kType;
    if constexpr (kType == kTensor) {
      type = !v.defined() ? kOther : is_floating(v.dtype()) ? kTensor : v.dtype() == kBool ? kBools : kIntegers;
    }
    if (type != kOther && (tapegrad_reached[N] == 0 || tapegrad_reached[N] > type)) tapegrad_reached[N] = type;
    const bool on = tapegrad_mutant >= 0 && tapegrad_mutant / 8 == N;
    const bool every = tapegrad_mutant == kEverySite && (type == kTensor || type == kFloating || type == kSigned);
    if (!on && !every) return Value(static_cast<T&&>(v));
    const int kind = every ? 1 : tapegrad_mutant % 8;
    if constexpr (kType == kTensor) {
      if (!tapegrad_changed && v.defined()) tapegrad_changed = has_values(v);
      return changed(v, kind);
    }
    tapegrad_changed = 1;
    if constexpr (kType == kTensors) return changed_tensors(Value(v), kind);
    if constexpr (kType != kTensor && kType != kTensors) return Value(changed_number(v, kind));
  }
}

}  // namespace tapegrad::mutants
