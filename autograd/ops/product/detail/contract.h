// Sums of products of tensors with labelled axes: the implementation of einsum and tensordot.
#pragma once

#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tensor.h>

#include <string_view>

namespace tapegrad {

/// One label per axis, between 0 and 63; axes with the same label share one summation index.
using Labels = Dims;

struct Term {
  Tensor x;
  Labels labels;
};

/// The product of all terms, summed over every label that is not in `output` -> the axes of `output`, in its order. A
/// label has the same size in all terms, or size 1, which broadcasts. Twice in one term it means the diagonal; its
/// sizes there are equal. Each output label occurs in a term, and once in `output`. float32, float64 or int64. Made of
/// recorded operations: views, sums, products of pairs. Error "[where] ..." if an intermediate result would have more
/// than kMaxRank axes.
Tensor contract(std::string_view where, PoolVector<Term> terms, const Labels& output);

}  // namespace tapegrad
