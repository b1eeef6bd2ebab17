// Keys and values of the tokens that a model has read.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/kv_cache.h>

#include <algorithm>
#include <cstring>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "kv_cache";
constexpr int64_t kFirstRoom = 64;
constexpr int kTokens = 2;  // the axis of positions

// Writes `from` [B, heads, T, head_dim] over the positions start .. start + T - 1 of `to`, which this cache owns.
void put(const Tensor& to, int64_t start, const Tensor& from) {
  const Tensor rows = from.strides()[-1] == 1 ? from : from.contiguous();
  const int64_t item = item_size(to.dtype()), head_dim = to.size(3);
  std::byte* const out = static_cast<std::byte*>(to.mutable_raw_data());
  const std::byte* const in = static_cast<const std::byte*>(rows.raw_data());
  for (int64_t b = 0; b < rows.size(0); ++b) {
    for (int64_t h = 0; h < rows.size(1); ++h) {
      for (int64_t t = 0; t < rows.size(kTokens); ++t) {
        const int64_t read = b * rows.strides()[0] + h * rows.strides()[1] + t * rows.strides()[2];
        const int64_t write = ((b * to.size(1) + h) * to.size(kTokens) + start + t) * head_dim;
        std::memcpy(out + write * item, in + read * item, static_cast<std::size_t>(head_dim * item));
      }
    }
  }
}

// A fresh place for `room` positions that begins with the first `length` of `held`.
Tensor with_room(const Tensor& held, int64_t length, const Shape& shape, DType dtype, int64_t room) {
  const Tensor fresh = Tensor::empty({shape[0], shape[1], room, shape[3]}, dtype);
  if (length > 0) put(fresh, 0, narrow(held, kTokens, 0, length));
  return fresh;
}

}  // namespace

int64_t KVCache::batch() const { return layers_.empty() ? 0 : layers_.front().keys.size(0); }

KVCache::Layer KVCache::append(std::size_t layer, const Tensor& keys, const Tensor& values) {
  if (Tape::current()) fail(kWhere, "a cache is for generation, and a tape records (use PauseRecording)");
  const int64_t tokens = keys.size(kTokens), needed = length_ + tokens;
  if (layer == layers_.size()) layers_.emplace_back();
  Layer& own = layers_.at(layer);
  if (own.keys.defined() && (own.keys.size(0) != keys.size(0) || own.keys.dtype() != keys.dtype())) {
    fail(kWhere, fmt::format("it holds {} sequences of {}, {} of {} were given to go on with", own.keys.size(0),
                             name(own.keys.dtype()), keys.size(0), name(keys.dtype())));
  }
  if (!own.keys.defined() || own.keys.size(kTokens) < needed) {
    const int64_t room = std::max(kFirstRoom, 2 * needed);
    own = {with_room(own.keys, length_, keys.shape(), keys.dtype(), room),
           with_room(own.values, length_, values.shape(), values.dtype(), room)};
  }
  put(own.keys, length_, keys.detach());
  put(own.values, length_, values.detach());
  return {narrow(own.keys, kTokens, 0, needed), narrow(own.values, kTokens, 0, needed)};
}

void KVCache::reorder(const Tensor& rows) {
  const PauseRecording pause;
  if (layers_.empty()) fail(kWhere, "it holds nothing that could be reordered");
  for (Layer& layer : layers_) {
    const auto chosen = [&](const Tensor& held) {
      const int64_t room = held.size(kTokens);
      const Tensor taken = index_select(narrow(held, kTokens, 0, length_), 0, rows);
      return with_room(taken, length_, taken.shape(), taken.dtype(), room);
    };
    layer = {chosen(layer.keys), chosen(layer.values)};
  }
}

void KVCache::truncate(int64_t length) {
  if (length < 0 || length > length_) {
    fail(kWhere, fmt::format("it holds {} tokens and cannot be cut to {}", length_, length));
  }
  length_ = length;
}

}  // namespace tapegrad::nn
