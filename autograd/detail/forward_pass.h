// Forward mode, for jvp and batch_jacobian: tangents that are computed together with their tensors and freed with them.
//
// Forward passes and tapes nest in layers. While a forward pass is in scope, the result of each recorded operation gets
// its tangent at once, from the backward that record() is given. That backward is then dropped, or kept by the tape
// among the layers: the one that encloses the pass, or one with OuterTensors::tangents that began in it. Tangents are
// computed in the layers outside their pass, so that these layers can differentiate them.
#pragma once

#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tape.h>

#include <cstdint>
#include <vector>

namespace tapegrad::detail {

/// The tangents of one forward pass, sorted by the TapeIndex of their tensors.
struct Tangents {
  explicit Tangents(bool may_refuse) : may_refuse(may_refuse) {}
  struct Entry {
    TapeIndex of;
    Tensor tangent;
  };
  std::vector<Entry> entries;  // not in the pool: a fork locks the pool before the list of passes
  int64_t numbered = 0;        // tensors on no tape that this pass has numbered
  const bool may_refuse;
  bool refused = false;
  const Tape* pass = nullptr;
  const Tape* inner = nullptr;  // while tangents are computed: the layer that is innermost otherwise
  Tangents* next = nullptr;     // in the list of all passes
};

/// A forward pass of this thread, from its construction to its destruction. Passes may nest.
class ForwardPass : NonCopyable {
 public:
  /// With Refusal::noted, an operation whose backward cannot be differentiated does not throw: its result has no
  /// tangent, and refused() returns true.
  enum class Refusal { error, noted };
  explicit ForwardPass(Refusal refusal = Refusal::error);
  ~ForwardPass();

  /// x with the tangent v, which has its shape and type.
  Tensor variable(const Tensor& x, const Tensor& v) const;
  /// The tangent of y, zeros if y does not depend on the variables.
  Tensor tangent(const Tensor& y) const;
  /// y without its tangent in this pass, for use outside of it.
  Tensor result(const Tensor& y) const;
  bool refused() const { return tangents_.refused; }

 private:
  Tangents tangents_;
  const Tape tape_;
};

}  // namespace tapegrad::detail
