// Names of the element types.
#include <tapegrad/autograd/dtype.h>

namespace tapegrad {

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "bool";
    case DType::int64: return "int64";
    case DType::float32: return "float32";
    case DType::float64: return "float64";
  }
  return "?";
}

}  // namespace tapegrad
