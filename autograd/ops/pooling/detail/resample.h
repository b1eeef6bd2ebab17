// Linear maps of images that act on each axis separately: averages over windows, and interpolation.
#pragma once

#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/pooling/detail/pooling_windows.h>

#include <cstdint>

namespace tapegrad {

/// A linear map of one axis: output o is the sum of the inputs first, first + 1, ..., times their weights, divided by
/// its divisor.
struct AxisMap {
  struct Output {
    int64_t first, count;
    int64_t at;  // of the first weight
  };
  int64_t in = 1, out = 1;
  RegularRun run;
  int64_t same = 0;      // number of leading outputs that have as many inputs as the first
  bool doubled = false;  // output o reads the input o / 2
  Tensor outputs;        // int64 [out, 3]: Output
  Tensor weights;        // one per input of each output; an empty handle: all are 1
  Tensor divisors;       // [out]; an empty handle: all are 1

  const Output& operator[](int64_t o) const { return static_cast<const Output*>(outputs.raw_data())[o]; }
  bool identity() const {
    return in == out && run.begin == 0 && run.end == in && run.count == 1 && !weights.defined() && !divisors.defined();
  }
};

/// A map given the first input and the number of inputs of each output; both ends must not decrease. Without weights
/// and divisors.
AxisMap axis_map(int64_t in, int64_t out, auto first, auto count) {
  AxisMap map;
  map.in = in;
  map.out = out;
  map.run = regular_run(out, first, count);
  map.outputs = Tensor::empty({out, 3}, kInt64);
  AxisMap::Output* const outputs = static_cast<AxisMap::Output*>(map.outputs.mutable_raw_data());
  map.doubled = out == 2 * in;
  int64_t at = 0;
  for (int64_t o = 0; o < out; ++o) {
    outputs[o] = {first(o), count(o), at};
    at += outputs[o].count;
    map.doubled = map.doubled && outputs[o].count == 1 && outputs[o].first == o / 2;
    if (map.same == o && outputs[o].count == outputs[0].count) ++map.same;
  }
  return map;
}

/// The total number of inputs of all outputs, which is the number of weights.
int64_t weight_count(const AxisMap& map);

/// x as planes [h.in, w.in] -> planes [h.out, w.out] in the shape of x, recorded as `op`. Backward is the transposed
/// map, recorded as `op` too.
Tensor resample(const Op& op, const Tensor& x, const Planes& planes, const AxisMap& h, const AxisMap& w);

/// A map for each axis; axes that x does not have are mapped to themselves.
struct ImageMap {
  AxisMap d, h, w;
};
AxisMap identity_map(int64_t size);
/// f(axis) for each axis that x has.
ImageMap map_per_axis(const Planes& planes, auto f) {
  const int axes = planes.axes;
  return {.d = axes == 3 ? f(0) : identity_map(1), .h = axes > 1 ? f(axes - 2) : identity_map(1), .w = f(axes - 1)};
}
/// resample of images; volumes by planes, and along the depths before or after that, whichever needs less memory.
Tensor resample(const Op& op, const Tensor& x, const Planes& planes, const ImageMap& map);

}  // namespace tapegrad
