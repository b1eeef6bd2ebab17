// The operations of the bridge, under tapegrad's names, by family: each file adds its own to calls().
#pragma once
#include "../case.h"

#include <span>

inline std::span<const Tensor> all_of(const Case& c, size_t from = 0) {
  return std::span<const Tensor>(c.x).subspan(from);
}

// A function of one tensor; of two.
inline void one(Calls& on, const char* name, Tensor (*f)(const Tensor&)) {
  on[name] = [f](Case& c) -> TV { return {f(c.x[0])}; };
}
inline void two(Calls& on, const char* name, Tensor (*f)(const Tensor&, const Tensor&)) {
  on[name] = [f](Case& c) -> TV { return {f(c.x[0], c.x[1])}; };
}
