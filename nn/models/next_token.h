// The interface that decoding needs from a model: the logits of the next token.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <utility>

namespace tapegrad::nn {

/// The interface of a model for decoding. It may cache the tokens that it has read.
class NextTokenLogits {
 public:
  virtual ~NextTokenLogits() = default;
  /// Forgets what was read, since a new prompt follows. generate() begins with it.
  virtual void restart() {}
  /// ids [B, T] int64, T >= 1: all tokens so far -> logits or log-probabilities of the next one, [B, V]. From the
  /// second call on, ids are those of the previous call (or the rows that reorder() chose of them) and one more token
  /// per row.
  virtual Tensor logits(const Tensor& ids) = 0;
  /// Row i continues from row rows[i]; rows [B'] int64, where B' may differ from B. For beam search.
  virtual void reorder(const Tensor& rows) = 0;
};

/// A function from ids to logits as a model without a cache: NextTokenFunction next([&](const Tensor& ids) { ... });
template <class F>
class NextTokenFunction final : public NextTokenLogits {
 public:
  explicit NextTokenFunction(F f) : f_(std::move(f)) {}
  Tensor logits(const Tensor& ids) override { return f_(ids); }
  void reorder(const Tensor&) override {}

 private:
  F f_;
};

}  // namespace tapegrad::nn
