// Which taps (elements of the kernel) of a convolution read inside its source; the others would multiply zeros.
#pragma once

#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>

#include <algorithm>
#include <cstdint>

namespace tapegrad {

/// Indices [begin, end) of one axis; range_of: piece `index` of an axis of `size` elements, in pieces of `step`.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};
inline Range range_of(int64_t index, int64_t step, int64_t size) {
  return {index * step, std::min(size, (index + 1) * step)};
}

/// The taps i < count whose source element, source(i) in ascending order, is inside an axis of `size` elements. Without
/// `skips`, all taps.
Range inside(bool skips, int64_t count, int64_t size, const auto& source) {
  Range taps{0, count};
  while (skips && taps.begin < taps.end && source(taps.begin) < 0) ++taps.begin;
  while (skips && taps.begin < taps.end && source(taps.end - 1) >= size) --taps.end;
  return taps;
}

/// Neighbouring elements of one class of an axis (ConvPass) that are combined from the same taps.
struct Stretch {
  Range elements, taps;
};

/// Writes the stretches of a class of one axis in `range` to `list`; returns their number. source(i) is the source of
/// tap i for the class's first element.
int64_t list_stretches(const ConvPass& pass, bool skips, int64_t residue, int64_t taps, const Range& range,
                       const auto& source, Stretch* list) {
  int64_t count = 0;
  for (int64_t i = pass.first_of_class(residue, range.begin); i < range.end; i += pass.classes()) {
    const int64_t moved = (i - residue) / pass.classes() * pass.advance();
    const Range now = inside(skips, taps, pass.from(), [&](int64_t tap) { return source(tap) + moved; });
    if (count == 0 || !(list[count - 1].taps == now)) list[count++] = {{i, i}, now};
    list[count - 1].elements.end = i + 1;
  }
  return count;
}

/// The channels of the source that an image reads: of a volume, the channels of the depths inside it.
struct Channels {
  Range depths;    // of the kernel
  int64_t count;   // per group
  int64_t before;  // channels of the lists before it
};

/// The lists of channels that the images read; images with the same depths share a list.
class ChannelLists {
 public:
  ChannelLists(const ConvShape& shape, bool transposed, bool skips)
      : shape_(shape), transposed_(transposed), skips_(skips), lists_(images()) {
    for (int64_t i = 0; i < images(); ++i) {
      const Range depths = depths_of(i);
      if (find(depths) < count_) continue;
      const int64_t count = transposed ? shape.o : shape.c / shape.depth.kernel * depths.size();
      lists_.get()[count_++] = {depths, count, total_};
      total_ += count;
    }
  }

  int64_t count() const { return count_; }
  int64_t total() const { return total_; }  ///< channels of all lists
  const Channels& operator[](int64_t i) const { return lists_.get()[i]; }
  const Channels& of(int64_t image) const { return lists_.get()[find(depths_of(image))]; }
  /// Channel i of a list, among all channels.
  int64_t channel(const Channels& channels, int64_t i) const {
    if (transposed_) return i;
    const int64_t depths = channels.depths.size();
    return i / depths * shape_.depth.kernel + channels.depths.begin + i % depths;
  }

 private:
  int64_t images() const { return transposed_ || !skips_ ? 1 : shape_.depth.out; }
  Range depths_of(int64_t image) const {
    const ConvAxis& depth = shape_.depth;
    if (transposed_) return {0, 1};
    const int64_t first = image % depth.out * depth.stride - depth.padding;
    return inside(skips_, depth.kernel, depth.size, [&](int64_t k) { return first + k * depth.dilation; });
  }
  int64_t find(const Range& depths) const {
    int64_t i = 0;
    while (i < count_ && !(lists_.get()[i].depths == depths)) ++i;
    return i;
  }

  const ConvShape& shape_;
  const bool transposed_, skips_;
  const Scratch<Channels> lists_;
  int64_t count_ = 0, total_ = 0;
};

}  // namespace tapegrad
