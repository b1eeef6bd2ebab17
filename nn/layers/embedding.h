// The lookup table of token vectors, and sums over bags of ids.
#pragma once

#include <tapegrad/nn/weight.h>

#include <optional>

namespace tapegrad::nn {

struct EmbeddingOptions {
  std::optional<int64_t> padding = {};  ///< the id whose vector is zero and gets no gradient
  /// A step costs as much as the rows that the batch reads, however large the table is: its gradient is a RowGradient,
  /// and the optimiser updates those rows alone. For SGD without momentum and Adagrad, the parameters are bit-identical
  /// to those of dense gradients. Adam does not decay the moments of other rows, as PyTorch's SparseAdam. Error in the
  /// step for other rules, for weight_decay, momentum and amsgrad, and for several processes. Clipping and sums of
  /// Gradients keep the gradient sparse. It is dense for a table that another operation also uses (a tied output
  /// layer), in recompute(), if backward is recorded or computes gradients per example, and after any other change.
  bool sparse = false;
};

/// ids [...] int64 -> [..., dim]. The table starts as N(0, 1); the row `padding` starts as 0 and gets no gradient.
/// Error for an id outside [0, count).
struct Embedding {
  Embedding(int64_t count, int64_t dim, std::optional<int64_t> padding = {});
  Embedding(int64_t count, int64_t dim, const EmbeddingOptions& options) : Embedding(count, dim, options.padding) {
    sparse = options.sparse;
  }
  Tensor operator()(const Tensor& ids) const { return weight.rows(ids, padding, sparse); }
  std::string describe() const;  ///< the C++ that makes it, for nn::watch
  void visit(auto&& field) { field("weight", weight); }

  Weight weight;                   // [count, dim]
  std::optional<int64_t> padding;  ///< the id whose vector is zero and gets no gradient
  bool sparse = false;             ///< EmbeddingOptions::sparse
};

/// What EmbeddingBag makes of the vectors of a bag.
enum class Bag : uint8_t { sum, mean, max };

struct EmbeddingBagOptions {
  Bag mode = Bag::mean;                     ///< of the vectors of each bag
  std::optional<int64_t> padding_idx = {};  ///< an id that takes no part in its bag, and gets no gradient
  bool include_last_offset = false;         ///< the last offset is the end of the last bag, not the start of another
  bool sparse = false;                      ///< EmbeddingOptions::sparse
};

/// ids in bags -> one vector per bag, [B, dim]: PyTorch's nn.EmbeddingBag. Bags are the rows of ids [B, N], or begin in
/// ids [n] at the offsets [B]. An empty bag gives zeros. The table starts as N(0, 1), the row padding_idx as 0.
struct EmbeddingBag {
  EmbeddingBag(int64_t count, int64_t dim, const EmbeddingBagOptions& options = {});
  /// per_sample_weights, in the shape of ids, multiply the vectors of a sum. Where vectors of different ids are the
  /// largest of a bag, they share the gradient (PyTorch's goes to the first). Error for an id outside [0, count), for
  /// offsets that do not begin with 0, fall or leave the ids, and for weights of a mean or a maximum.
  Tensor operator()(const Tensor& ids, const Tensor& offsets = {}, const Tensor& per_sample_weights = {}) const;
  void visit(auto&& field) { field("weight", weight); }

  Weight weight;                // [count, dim]
  EmbeddingBagOptions options;  ///< as they were given
};

}  // namespace tapegrad::nn
