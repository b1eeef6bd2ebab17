// Collate functions: examples to a batch, by stacking tensors of one shape or padding sequences of different lengths.
#pragma once

#include <tapegrad/autograd/ops.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::data {

/// Sequences of different lengths as one tensor.
struct Padded {
  Tensor values;   ///< [B, T, ...]: each sequence, followed by the padding value up to the longest
  Tensor mask;     ///< bool [B, T]: true where there is a value, false where there is padding
  Tensor lengths;  ///< int64 [B]
};

/// Pads tensors [T_i, ...] of one dtype, which differ only in their first size. Records nothing. Error if other sizes
/// or dtypes differ, and if there is no sequence.
Padded pad(std::span<const Tensor> sequences, double value = 0);
/// The same for token ids.
Padded pad(std::span<const std::vector<int64_t>> sequences, int64_t value = 0);

namespace detail {
Tensor stacked(std::span<const Tensor> examples);
Tensor stacked(std::span<const int64_t> examples);  // int64 [B]
Tensor stacked(std::span<const double> examples);   // float32 [B]

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

// Collates each member of the examples, which are pairs or tuples, by `collate`.
template <class Example, class Collate>
auto collate_members(std::span<const Example> examples, const Collate& collate) {
  const auto member = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    using Member = std::tuple_element_t<I, Example>;
    std::vector<std::conditional_t<std::is_same_v<Member, bool>, int64_t, Member>> column;
    column.reserve(examples.size());
    for (const Example& example : examples) column.push_back(std::get<I>(example));
    return collate(std::span(std::as_const(column)));
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (sizeof...(I) == 2) {
      return std::pair(member(std::integral_constant<std::size_t, I>())...);
    } else {
      return std::tuple(member(std::integral_constant<std::size_t, I>())...);
    }
  }
  (std::make_index_sequence<std::tuple_size_v<Example>>());
}
}  // namespace detail

/// The default collate function. Tensors [...] of one shape become one of [B, ...]; whole numbers become an int64
/// tensor [B], other numbers a float32 one; pairs and tuples become a pair or tuple of batches.
struct Stack {
  template <class Example>
  auto operator()(std::span<const Example> examples) const {
    if constexpr (detail::IsTuple<Example>::value) {
      return detail::collate_members(examples, *this);
    } else if constexpr (std::is_arithmetic_v<Example>) {
      using Wide = std::conditional_t<std::is_integral_v<Example>, int64_t, double>;
      const std::vector<Wide> wide(examples.begin(), examples.end());
      return detail::stacked(std::span<const Wide>(wide));
    } else {
      static_assert(std::is_same_v<Example, Tensor>, "examples of this type need your own collate function");
      return detail::stacked(examples);
    }
  }
};

/// A collate function for sequences of different lengths: tensors [T_i, ...] or vectors of token ids become a Padded;
/// pairs and tuples become a pair or tuple of them. Numbers are collated as by Stack.
struct Pad {
  double value = 0;  ///< that fills shorter examples

  template <class Example>
  auto operator()(std::span<const Example> examples) const {
    if constexpr (detail::IsTuple<Example>::value) {
      return detail::collate_members(examples, *this);
    } else if constexpr (std::is_arithmetic_v<Example>) {
      return Stack()(examples);
    } else if constexpr (std::is_same_v<Example, Tensor>) {
      return pad(examples, value);
    } else {
      return pad(examples, static_cast<int64_t>(value));
    }
  }
};

}  // namespace tapegrad::data
