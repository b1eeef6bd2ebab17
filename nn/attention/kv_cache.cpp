// Keys and values of the tokens that a model has read.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/kv_cache.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kKVCache = "kv_cache";
constexpr int64_t kFirstCapacity = 64;
constexpr int kAxes = 4;
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

// An Error unless `fresh` [B, heads, T, head_dim] has the heads and the width of `held`; both may be empty handles.
void require_like(std::string_view what, const Tensor& held, const Tensor& fresh) {
  const bool both = held.defined() && fresh.defined();
  if (both ? held.size(1) == fresh.size(1) && held.size(3) == fresh.size(3) : held.defined() == fresh.defined()) return;
  const auto text = [](const Tensor& x) {
    return x.defined() ? fmt::format("{} heads of {}", x.size(1), x.size(3)) : std::string("none");
  };
  fail(kKVCache, "expected {} as in the cache ({}), got {} (is the cache of another model?)", what, text(held),
       text(fresh));
}

// An Error unless keys and values, which may be left out, have their four axes and are of the same tokens.
void require_pair(const KeysAndValues& fresh) {
  const auto& [keys, values] = fresh;
  if (!keys.defined() || keys.dim() != kAxes) {
    fail(kKVCache, "expected keys [B, heads, T, head_dim], got {}", keys.defined() ? str(keys.shape()) : "none");
  }
  if (!values.defined()) return;
  if (values.dim() != kAxes || values.size(0) != keys.size(0) || values.size(1) != keys.size(1) ||
      values.size(kTokens) != keys.size(kTokens) || values.dtype() != keys.dtype()) {
    fail(kKVCache, "expected values {} [{}, {}, {}, head_dim] for keys {}, got {} {}", keys.dtype(), keys.size(0),
         keys.size(1), keys.size(kTokens), keys.shape(), values.dtype(), values.shape());
  }
}

}  // namespace

int64_t KVCache::batch() const { return layers_.empty() ? 0 : layers_.front().all.keys.size(0); }

KeysAndValues KVCache::append(std::size_t layer, const KeysAndValues& fresh) {
  if (layer < layers_.size()) return append_to(layers_[layer], fresh);
  require(length_ <= 0, kKVCache, "expected a layer below {}, as in the cache, got {} (is the cache of another model?)",
          layers_.size(), layer);
  require(layer <= layers_.size(), kKVCache, "expected layer {} next in the first pass, got {}", layers_.size(), layer);
  Held held;
  const KeysAndValues all = append_to(held, fresh);
  layers_.push_back(std::move(held));  // not before it holds keys
  return all;
}

KeysAndValues KVCache::append_history(const KeysAndValues& fresh) { return append_to(history_, fresh); }

KeysAndValues KVCache::append_to(Held& held, const KeysAndValues& fresh) const {
  if (Tape::current()) fail(kKVCache, "a cache cannot be used while a tape records (use PauseRecording)");
  require_pair(fresh);
  auto& [keys, values] = held.all;
  const Tensor& other = layers_.empty() ? history_.all.keys : layers_.front().all.keys;
  const Tensor& first = keys.defined() ? keys : other;
  if (first.defined() && (first.size(0) != fresh.keys.size(0) || first.dtype() != fresh.keys.dtype())) {
    fail(kKVCache, "expected {} sequences of {} as in the cache, got {} of {}", first.size(0), first.dtype(),
         fresh.keys.size(0), fresh.keys.dtype());
  }
  if (length_ > 0 || keys.defined()) {
    require_like("keys", keys, fresh.keys);
    require_like("values", values, fresh.values);
  }
  const Tensor all_keys = appended(keys, length_, fresh.keys);
  const Tensor all_values = fresh.values.defined() ? appended(values, length_, fresh.values) : Tensor();
  held.written = length_ + fresh.keys.size(kTokens);
  return {all_keys, all_values};
}

void KVCache::advance(int64_t tokens) {
  int64_t written = std::numeric_limits<int64_t>::max();
  for (const Held& layer : layers_) written = std::min(written, layer.written);
  if (history_.all.keys.defined()) written = std::min(written, history_.written);
  require(tokens >= 0 && tokens <= written - length_, kKVCache,
          "expected 0 to {} tokens, those that all layers have appended, got {}", written - length_, tokens);
  length_ += tokens;
}

void KVCache::reorder(const Tensor& rows) {
  const PauseRecording pause;
  if (layers_.empty()) fail(kKVCache, "an empty cache cannot be reordered");
  const auto chosen = [&](const Tensor& held) {
    if (!held.defined()) return held;
    const Tensor taken = index_select(narrow(held, kTokens, 0, length_), 0, rows);
    return with_capacity(taken, length_, taken.shape(), taken.dtype(), held.size(kTokens));
  };
  const auto choose = [&](Held& held) { held = {{chosen(held.all.keys), chosen(held.all.values)}, length_}; };
  for (Held& layer : layers_) choose(layer);
  choose(history_);
}

void KVCache::truncate(int64_t length) {
  require(length >= 0 && length <= length_, kKVCache, "expected a length from 0 to {}, the tokens in the cache, got {}",
          length_, length);
  length_ = length;
  for (Held& layer : layers_) layer.written = length;
  history_.written = length;
}

}  // namespace tapegrad::nn
