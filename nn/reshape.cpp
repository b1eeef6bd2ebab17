// Changes of shape as modules.
#include <fmt/format.h>
#include <tapegrad/nn/reshape.h>

#include <algorithm>

namespace tapegrad::nn {

Tensor Unflatten::operator()(const Tensor& x) const {
  const int at = normal_axis("unflatten", axis, x.shape());
  const int64_t size = x.shape()[at], open = std::count(sizes.begin(), sizes.end(), -1);
  const int64_t known = open == 1 ? -sizes.numel() : sizes.numel();  // without the -1
  const bool fits = open == 0 ? known == size : open == 1 && (known == 0 ? size == 0 : size % known == 0);
  if (!fits) {
    fail("unflatten",
         fmt::format("expected sizes whose product is {}, the size of axis {}, got {}", size, axis, str(sizes)));
  }
  Shape shape;
  for (int i = 0; i < x.dim(); ++i) {
    if (i != at) {
      shape.push_back(x.shape()[i]);
      continue;
    }
    for (const int64_t part : sizes) shape.push_back(part >= 0 ? part : known == 0 ? 0 : size / known);
  }
  return x.reshape(shape);
}

}  // namespace tapegrad::nn
