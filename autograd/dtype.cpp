// Names of the element types.
#include <fmt/format.h>
#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/error.h>

namespace tapegrad {

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "bool";
    case DType::int64: return "int64";
    case DType::bfloat16: return "bfloat16";
    case DType::float32: return "float32";
    case DType::float64: return "float64";
  }
  return "?";
}

void detail::refuse_to_compute(DType dtype) {
  fail("dtype", fmt::format("cannot compute with {} (use to(kFloat32){})", name(dtype),
                            dtype == kBFloat16 ? "; bfloat16 is for the weights of linear and embedding" : ""));
}

}  // namespace tapegrad
