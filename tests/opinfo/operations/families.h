// The operations of the bridge, under tapegrad's names, by family: each file adds its own to calls().
#pragma once
#include "../case.h"

#include <span>

inline std::span<const Tensor> all_of(const Case& c, size_t from = 0) {
  return std::span<const Tensor>(c.x).subspan(from);
}
inline TV pair(const tg::Sorted& s) { return {s.values, s.indices}; }
inline TV pair(const tg::MaxPooled& s) { return {s.values, s.indices}; }
inline Tensor flag(bool b) { return tg::full({}, b, tg::kBool); }
inline tg::Rounding rounding(const Case& c) {
  return c.s("rounding") == "floor" ? tg::Rounding::floor : tg::Rounding::trunc;
}

// A function of one tensor; of two; of a tensor and the number `other`, "NAME_s"; of the number and a tensor,
// "NAME_rs"; a reduction of axes.
inline void one(Calls& on, const char* name, Tensor (*f)(const Tensor&)) {
  on[name] = [f](Case& c) -> TV { return {f(c.x[0])}; };
}
inline void two(Calls& on, const char* name, Tensor (*f)(const Tensor&, const Tensor&)) {
  on[name] = [f](Case& c) -> TV { return {f(c.x[0], c.x[1])}; };
}
inline void with_number(Calls& on, const std::string& name, Tensor (*f)(const Tensor&, tg::Scalar)) {
  on[name + "_s"] = [f](Case& c) -> TV { return {f(c.x[0], c.d("other"))}; };
}
inline void number_first(Calls& on, const std::string& name, Tensor (*f)(tg::Scalar, const Tensor&)) {
  on[name + "_rs"] = [f](Case& c) -> TV { return {f(c.d("other"), c.x[0])}; };
}
inline void of_axes(Calls& on, const char* name, Tensor (*f)(const Tensor&, const tg::Axes&, tg::Flag)) {
  on[name] = [f](Case& c) -> TV { return {f(c.x[0], c.axes(), c.b("keepdim"))}; };
}
