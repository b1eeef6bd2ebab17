// expected: 004-31: wrong. weights, row 1, column 1: expected 1.0000, got 0.1921
#include <tapegrad/tapegrad.h>

// Cell 30 alone: rows no longer sum to 1.
inline tapegrad::Tensor masked_and_renormalised(const tapegrad::Tensor& weights) { return tapegrad::tril(weights); }
