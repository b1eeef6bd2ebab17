// The members of a plain struct and their names, so that a module without
// constructor, base class and private members needs no visit:
//
//   struct Mlp {
//     nn::Linear up{8, 32}, down{32, 8};
//     Tensor operator()(const Tensor& x) const { return down(gelu(up(x))); }
//   };
//
// How: a struct of n members is one that n values initialise, and n + 1 don't;
// a structured binding refers to the members; the compiler writes the name of a
// member into the name of a function whose template argument is the member's
// address.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tapegrad::nn::detail {

// Whether T(lvalue) compiles. That of a std::unique_ptr does not, and that of a std::vector of modules only claims to.
template <class T>
constexpr bool copies() {
  if constexpr (!std::is_constructible_v<T, T&>) {
    return false;
  } else if constexpr (requires { typename T::mapped_type; }) {
    return std::is_copy_constructible_v<typename T::mapped_type> && copies<typename T::mapped_type>();
  } else if constexpr (requires { typename T::value_type; }) {
    if constexpr (std::is_same_v<typename T::value_type, T>) return true;
    return std::is_copy_constructible_v<typename T::value_type> && copies<typename T::value_type>();
  } else {
    return true;
  }
}

// Converts to a member of any type, in expressions that are not evaluated.
struct AnyMember {
  template <class T>
  requires(copies<T>()) operator T&() const;
  template <class T>
  operator T&&() const;
};

template <class T, std::size_t... i>
constexpr bool initialised_by(std::index_sequence<i...>) {
  return requires { T{(static_cast<void>(i), AnyMember())...}; };
}

inline constexpr std::size_t kMostMembers = 32;

// The members of an aggregate: T{n values} compiles from its last member without a default to its last one.
template <class T, std::size_t n = 0, bool found = false>
constexpr std::size_t count_members() {
  if constexpr (n <= kMostMembers && initialised_by<T>(std::make_index_sequence<n>())) {
    return count_members<T, n + 1, true>();
  } else if constexpr (found || n > kMostMembers) {
    return found ? n - 1 : 0;
  } else {
    return count_members<T, n + 1>();
  }
}

// Whether T{a, .., {inner..}, b, ..} compiles, with as many values before and after the inner list.
template <class T, std::size_t... before, std::size_t... inner, std::size_t... after>
constexpr bool initialised_by_list(std::index_sequence<before...>, std::index_sequence<inner...>,
                                   std::index_sequence<after...>) {
  return requires {
    T{(static_cast<void>(before), AnyMember())...,
      {(static_cast<void>(inner), AnyMember())...},
      (static_cast<void>(after), AnyMember())...};
  };
}

// Whether T{i values, {inner values}, after values} compiles.
template <class T, std::size_t i, std::size_t inner, std::size_t after>
constexpr bool takes_list_at() {
  return initialised_by_list<T>(std::make_index_sequence<i>(), std::make_index_sequence<inner>(),
                                std::make_index_sequence<after>());
}

// Whether value i of the n values that initialise T begins a C array of two elements or more. A list is one member, so
// in place of an array it leaves fewer values for the others. (An empty list does for what has a default.)
template <class T, std::size_t i, std::size_t n>
constexpr bool begins_array() {
  constexpr std::size_t others = n - 1 - i;
  if constexpr (takes_list_at<T, i, 0, others>()) {
    return false;
  } else if constexpr (takes_list_at<T, i, 2, others>()) {  // not for types that have a default, as containers do
    return false;
  } else {
    return []<std::size_t... fewer>(std::index_sequence<fewer...>) {
      return ((takes_list_at<T, i, 0, fewer>() || takes_list_at<T, i, 2, fewer>()) || ...);
    }
    (std::make_index_sequence<others>());
  }
}

// Whether a member is a C array. Each of its elements takes a value, so the members cannot be counted.
template <class T>
constexpr bool has_array() {
  constexpr std::size_t n = count_members<T>();
  return []<std::size_t... i>(std::index_sequence<i...>) { return (begins_array<T, i, n>() || ...); }
  (std::make_index_sequence<n>());
}

// Converts to a base class of T only.
template <class T>
struct AnyBase {
  template <class Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T> && copies<Base>()) operator Base&() const;
  template <class Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>) operator Base&&() const;
};

// Whether the members of a struct can be known: it has no constructor, base class, private member or C array, and at
// most kMostMembers. (Members that are bit-fields or anonymous unions are rejected by the compiler: write a
// constructor.)
template <class T>
constexpr bool has_known_members() {
  if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T> || std::is_empty_v<T>) {
    return false;
  } else if constexpr (requires { T{AnyBase<T>()}; } ||
                       initialised_by<T>(std::make_index_sequence<kMostMembers + 1>())) {
    return false;
  } else {
    return count_members<T>() > 0 && !has_array<T>();
  }
}

// with_members<n>(t, f) calls f(member, member, ...) with all n members. (An
// error of the compiler in one of these lines: the struct has a base class, or
// a member that others cannot be converted to. Write a visit for it.)
#define TAPEGRAD_MEMBERS(count, ...)                                        \
  template <std::size_t n, class T, class F>                                \
  requires(n == count) constexpr decltype(auto) with_members(T& t, F&& f) { \
    auto& [__VA_ARGS__] = t;                                                \
    return f(__VA_ARGS__);                                                  \
  }
// clang-format off
TAPEGRAD_MEMBERS(1, m1)
TAPEGRAD_MEMBERS(2, m1, m2)
TAPEGRAD_MEMBERS(3, m1, m2, m3)
TAPEGRAD_MEMBERS(4, m1, m2, m3, m4)
TAPEGRAD_MEMBERS(5, m1, m2, m3, m4, m5)
TAPEGRAD_MEMBERS(6, m1, m2, m3, m4, m5, m6)
TAPEGRAD_MEMBERS(7, m1, m2, m3, m4, m5, m6, m7)
TAPEGRAD_MEMBERS(8, m1, m2, m3, m4, m5, m6, m7, m8)
TAPEGRAD_MEMBERS(9, m1, m2, m3, m4, m5, m6, m7, m8, m9)
TAPEGRAD_MEMBERS(10, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10)
TAPEGRAD_MEMBERS(11, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11)
TAPEGRAD_MEMBERS(12, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12)
TAPEGRAD_MEMBERS(13, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13)
TAPEGRAD_MEMBERS(14, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14)
TAPEGRAD_MEMBERS(15, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15)
TAPEGRAD_MEMBERS(16, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16)
TAPEGRAD_MEMBERS(17, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17)
TAPEGRAD_MEMBERS(18, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18)
TAPEGRAD_MEMBERS(19, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19)
TAPEGRAD_MEMBERS(20, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20)
TAPEGRAD_MEMBERS(21, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21)
TAPEGRAD_MEMBERS(22, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22)
TAPEGRAD_MEMBERS(23, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23)
TAPEGRAD_MEMBERS(24, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24)
TAPEGRAD_MEMBERS(25, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25)
TAPEGRAD_MEMBERS(26, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26)
TAPEGRAD_MEMBERS(27, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27)
TAPEGRAD_MEMBERS(28, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28)
TAPEGRAD_MEMBERS(29, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29)
TAPEGRAD_MEMBERS(30, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30)
TAPEGRAD_MEMBERS(31, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31)
TAPEGRAD_MEMBERS(32, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32)
// clang-format on
#undef TAPEGRAD_MEMBERS

// Exists as an address alone.
template <class T>
struct Imagined {
  T value;
};
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
extern const Imagined<T> imagined;

template <std::size_t n>
struct Addresses {
  const void* of[n];
};
struct AddressesOf {
  constexpr auto operator()(const auto&... members) const { return Addresses<sizeof...(members)>{{&members...}}; }
};
struct Address {
  const void* of;
};

// "... = {Address{((const void*)(& imagined<Mlp>.Imagined<Mlp>::value.Mlp::up))}, Address{..}}; ..." by GCC,
// "[addresses = <{&imagined.value.up}, {..}>]" by Clang.
template <Address... addresses>
consteval std::string_view signature_with_names() {
  return __PRETTY_FUNCTION__;
}

template <class T, std::size_t... i>
consteval std::string_view signature_of_members(std::index_sequence<i...>) {
  constexpr auto addresses = with_members<sizeof...(i)>(imagined<T>.value, AddressesOf());
  return signature_with_names<Address{addresses.of[i]}...>();
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

// The names in a signature.
void find_names(std::string_view signature, std::span<std::string_view> names);
template <std::size_t n>
struct MemberNames {
  explicit MemberNames(std::string_view signature) { find_names(signature, of); }
  std::string_view of[n];
};

// Calls f(name, member) for each member in order.
template <class T, class F>
void for_each_member(T& t, F&& f) {
  constexpr std::size_t n = count_members<T>();
  if constexpr (n > 0) {
    static const MemberNames<n> names(signature_of_members<T>(std::make_index_sequence<n>()));
    with_members<n>(t, [&](auto&... members) {
      const std::string_view* name = names.of;
      (f(*name++, members), ...);
    });
  }
}

}  // namespace tapegrad::nn::detail
