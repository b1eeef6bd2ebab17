// Sums of products of tensors whose axes have labels: what einsum and tensordot are made of.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <string_view>

namespace tapegrad {

/// A label per axis, between 0 and 63; axes of one label are one index of the sum.
using Labels = Dims;

struct Term {
  Tensor x;
  Labels labels;
};

/// The product of all terms, summed over every label that `output` does not name -> the axes of `output`, in its order.
/// A label has one size in all terms, or 1, which broadcasts; twice in one term it means the diagonal, and its sizes
/// there are equal. Each output label occurs in a term, once in `output`. float32, float64 or int64. Made of recorded
/// operations: views, sums, products of pairs. Error of `where` for more than kMaxRank axes on the way.
Tensor contract(std::string_view where, PoolVector<Term> terms, const Labels& output);

}  // namespace tapegrad
