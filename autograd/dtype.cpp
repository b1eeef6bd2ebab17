// The error for types that an operation does not compute in.
#include <fmt/format.h>
#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/error.h>

namespace tapegrad {

void detail::refuse_to_compute(DType dtype) {
  fail("dtype", fmt::format("cannot compute with {} (convert with to({}){})", name(dtype),
                            is_integer(dtype) ? "kInt64" : "kFloat32",
                            is_half(dtype) ? "; halves are for the weights of linear and embedding" : ""));
}

}  // namespace tapegrad
