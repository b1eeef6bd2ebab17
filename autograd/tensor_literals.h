// Tensors written out in a program: tensor({1., 2.}) and tensor({{1, 2}, {3, 4}}).
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <initializer_list>
#include <type_traits>

namespace tapegrad {

/// One axis. Floating literals become float32, integers int64 and bools bool, unless `dtype` says otherwise.
Tensor tensor(std::initializer_list<double> values, DType dtype = kFloat32);
Tensor tensor(std::initializer_list<float> values, DType dtype = kFloat32);
Tensor tensor(std::initializer_list<int> values, DType dtype = kInt64);
Tensor tensor(std::initializer_list<bool> values, DType dtype = kBool);

template <class T>
concept Literal =
    std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, int> || std::is_same_v<T, bool>;
template <Literal T>
inline constexpr DType kLiteralType = std::is_same_v<T, bool>  ? kBool
                                      : std::is_same_v<T, int> ? kInt64
                                                               : kFloat32;
/// Two axes, one inner list per row; Error if the rows differ in length. (A template, because clang finds overloads on
/// nested lists ambiguous.)
template <Literal T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, DType dtype = kLiteralType<T>);

}  // namespace tapegrad
