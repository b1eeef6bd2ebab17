// Errors whose text is formatted, and checks that throw them.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/scalar.h>
#include <tapegrad/autograd/shape.h>

#include <string_view>

/// Shapes, numbers and types are formatted as str() and name() write them.
template <>
struct fmt::formatter<tapegrad::Dims> : formatter<string_view> {
  auto format(const tapegrad::Dims& dims, auto& context) const {
    return formatter<string_view>::format(tapegrad::str(dims), context);
  }
};
template <>
struct fmt::formatter<tapegrad::Axes> : formatter<tapegrad::Dims> {};
template <>
struct fmt::formatter<tapegrad::Scalar> : formatter<string_view> {
  auto format(const tapegrad::Scalar& number, auto& context) const {
    return formatter<string_view>::format(tapegrad::str(number), context);
  }
};
template <>
struct fmt::formatter<tapegrad::DType> : formatter<string_view> {
  auto format(tapegrad::DType dtype, auto& context) const {
    return formatter<string_view>::format(tapegrad::name(dtype), context);
  }
};

namespace tapegrad {

/// Error "[where] message", formatted with the values. `where` is a name, or an operation.
template <class Where, class... T>
requires(sizeof...(T) > 0)
    [[noreturn, gnu::cold]] void fail(const Where& where, fmt::format_string<T...> message, const T&... values) {
  const std::string text = fmt::vformat(message, fmt::make_format_args(values...));
  if constexpr (requires { where.fail(text); }) {
    where.fail(text);
  } else {
    fail(std::string_view(where), text);
  }
}

/// The same Error, unless `holds`.
template <class Where, class... T>
requires(sizeof...(T) > 0) void require(bool holds, const Where& where, fmt::format_string<T...> message,
                                        const T&... values) {
  if (!holds) [[unlikely]]
    fail(where, message, values...);
}
template <class Where>
void require(bool holds, const Where& where, std::string_view message) {
  if (!holds) [[unlikely]]
    fail(where, "{}", message);
}

}  // namespace tapegrad
