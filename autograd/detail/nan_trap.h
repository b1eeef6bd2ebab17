// Tape::trap_nan(): the checks, and the text of the Error.
#pragma once

#include <tapegrad/autograd/op.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace tapegrad::detail {

struct TapeMemory;

/// The named leaf that is nearest to a node, breadth first through its inputs; {} if there is none.
TapeIndex nearest_leaf(const TapeMemory& memory, int64_t position);

/// Error unless all elements of x are finite. `what` says which tensor of the operation at `position` it is:
/// "gradient".
void require_finite(const TapeMemory& memory, const Tensor& x, std::string_view op, int64_t position,
                    std::string_view what);
/// The same for the result of the last node. -inf is accepted if it may come from a mask: where the operation may write
/// it on purpose (OpTraits::selects), or an input is not finite.
void require_finite_result(const TapeMemory& memory, const Op& op, const Tensor& y, std::span<const Input> inputs);

}  // namespace tapegrad::detail
