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
constexpr int64_t kFirstCapacity = 64;
constexpr int kTokens = 2;  // the axis of positions

// Writes `from` [B, heads, T, head_dim] to the positions start .. start + T - 1 of `to`, whose memory nobody else
// holds.
void write(const Tensor& to, int64_t start, const Tensor& from) {
  const Tensor rows = from.strides()[-1] == 1 ? from : from.contiguous();
  const int64_t item = item_size(to.dtype()), head_dim = to.size(3);
  std::byte* const out = static_cast<std::byte*>(to.mutable_raw_data());
  const std::byte* const in = static_cast<const std::byte*>(rows.raw_data());
  for (int64_t b = 0; b < rows.size(0); ++b) {
    for (int64_t h = 0; h < rows.size(1); ++h) {
      for (int64_t t = 0; t < rows.size(kTokens); ++t) {
        const int64_t from_element = b * rows.strides()[0] + h * rows.strides()[1] + t * rows.strides()[2];
        const int64_t to_element = ((b * to.size(1) + h) * to.size(kTokens) + start + t) * head_dim;
        std::memcpy(out + to_element * item, in + from_element * item, static_cast<std::size_t>(head_dim * item));
      }
    }
  }
}

// New memory for `capacity` positions that begins with the first `length` of `held`.
Tensor with_capacity(const Tensor& held, int64_t length, const Shape& shape, DType dtype, int64_t capacity) {
  const Tensor fresh = Tensor::empty({shape[0], shape[1], capacity, shape[3]}, dtype);
  if (length > 0) write(fresh, 0, narrow(held, kTokens, 0, length));
  return fresh;
}

// `held` with the values of `fresh` from position `length` on. Written in place where `held` has room and no other
// handle: a copied cache or a view that is still in use keeps the old memory. Returns a view of all positions.
Tensor appended(Tensor& held, int64_t length, const Tensor& fresh) {
  const int64_t needed = length + fresh.size(kTokens);
  const bool fits = held.defined() && held.size(kTokens) >= needed;
  if (!fits || !held.unique()) {
    const int64_t capacity = fits ? held.size(kTokens) : std::max(kFirstCapacity, 2 * needed);
    held = with_capacity(held, length, fresh.shape(), fresh.dtype(), capacity);
  }
  write(held, length, fresh.detach());
  return narrow(held, kTokens, 0, needed);
}

}  // namespace

int64_t KVCache::batch() const { return layers_.empty() ? 0 : layers_.front().keys.size(0); }

KeysAndValues KVCache::append(std::size_t layer, const KeysAndValues& fresh) {
  if (layer == layers_.size()) layers_.emplace_back();
  return append_to(layers_.at(layer), fresh);
}

KeysAndValues KVCache::append_history(const KeysAndValues& fresh) { return append_to(history_, fresh); }

KeysAndValues KVCache::append_to(KeysAndValues& held, const KeysAndValues& fresh) const {
  if (Tape::current()) fail(kWhere, "a cache cannot be used while a tape records (use PauseRecording)");
  auto& [keys, values] = held;
  if (keys.defined() && (keys.size(0) != fresh.keys.size(0) || keys.dtype() != fresh.keys.dtype())) {
    fail(kWhere, fmt::format("expected {} sequences of {} as in the cache, got {} of {}", keys.size(0),
                             name(keys.dtype()), fresh.keys.size(0), name(fresh.keys.dtype())));
  }
  return {appended(keys, length_, fresh.keys),
          fresh.values.defined() ? appended(values, length_, fresh.values) : Tensor()};
}

void KVCache::reorder(const Tensor& rows) {
  const PauseRecording pause;
  if (layers_.empty()) fail(kWhere, "an empty cache cannot be reordered");
  const auto chosen = [&](const Tensor& held) {
    if (!held.defined()) return held;
    const Tensor taken = index_select(narrow(held, kTokens, 0, length_), 0, rows);
    return with_capacity(taken, length_, taken.shape(), taken.dtype(), held.size(kTokens));
  };
  for (KeysAndValues& layer : layers_) layer = {chosen(layer.keys), chosen(layer.values)};
  history_ = {chosen(history_.keys), chosen(history_.values)};
}

void KVCache::truncate(int64_t length) {
  if (length < 0 || length > length_) {
    fail(kWhere, fmt::format("expected a length from 0 to {}, the tokens in the cache, got {}", length_, length));
  }
  length_ = length;
}

}  // namespace tapegrad::nn
