// The operations of the bridge, under tapegrad's names, by family: each file adds its own to calls().
#pragma once
#include "../case.h"

#include <span>

inline std::span<const Tensor> all_of(const Case& c, size_t from = 0) {
  return std::span<const Tensor>(c.x).subspan(from);
}
