// The passes through a causal language model, and its next token.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/inference.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/decoder.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/recompute.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn {

namespace {

void require_length(const Decoder& model, int64_t tokens) {
  require(tokens <= model.longest_input(), model.names().model, "{} tokens are more than the {} {}", tokens,
          model.names().limit, model.longest_input());
}

}  // namespace

// --- passes ---

Tensor Decoder::hidden(const Tensor& ids, KVCache* cache, AttentionMaps* maps) const {
  if (ids.dim() != 2 || ids.dtype() != kInt64) fail_ids(names().model, "[B, T]", ids);
  const int64_t start = cache ? cache->length() : 0, tokens = ids.size(1);
  require_length(*this, start + tokens);
  Tensor x = placed(embed(ids), start, cache);
  const PositionBias bias = positions(tokens, start, x.dtype());
  for (std::size_t i = 0; i < blocks(); ++i) {
    AttentionPass pass{.cache = cache, .layer = i, .positions = &bias};
    if (maps) {
      maps->add(fmt::format(fmt::runtime(names().map), i));
      maps->receive(maps->size() - 1, pass);
    }
    if (recompute_blocks && !cache && !maps && needs_grad(x)) {
      const auto again = [this, i, tokens](const Tensor& in) {
        const PositionBias same = positions(tokens, 0, in.dtype());
        return block(i, in, {.positions = &same});
      };
      x = recompute(x, again, Reads::inputs);
    } else {
      x = block(i, x, pass);
    }
  }
  if (cache) cache->advance(tokens);
  return last_norm(x);
}

Tensor Decoder::hidden_each(const Tensor& ids, std::span<KVCache* const> caches) const {
  const auto count = static_cast<int64_t>(caches.size());
  if (ids.dtype() != kInt64 || !(ids.shape() == Shape{count, 1})) {
    fail_ids(names().model, fmt::format("[{}, 1], one for each cache", count), ids);
  }
  const Tensor tokens = embed(ids);  // [B, 1, C]
  std::vector<Tensor> rows;
  std::vector<PositionBias> biases;
  AttentionPass pass;
  biases.reserve(caches.size());
  for (int64_t b = 0; b < count; ++b) {
    KVCache* const cache = caches[static_cast<std::size_t>(b)];
    const auto earlier = caches.first(static_cast<std::size_t>(b));
    if (!cache || std::find(earlier.begin(), earlier.end(), cache) != earlier.end()) {
      fail(names().model, "expected a separate cache for each row, got {} for row {}",
           cache ? "the cache of an earlier row" : "none", b);
    }
    const int64_t start = cache->length();
    require_length(*this, start + 1);
    rows.push_back(placed(narrow(tokens, 0, b, 1), start, cache));
    biases.push_back(positions(1, start, rows.back().dtype()));
    pass.each.push_back({.cache = cache, .positions = &biases.back()});
  }
  Tensor x = cat(rows, 0);
  for (std::size_t i = 0; i < blocks(); ++i) {
    for (AttentionPass& each : pass.each) each.layer = i;
    x = block(i, x, pass);
  }
  for (KVCache* cache : caches) cache->advance(1);
  return last_norm(x);
}

Tensor Decoder::operator()(const Tensor& ids, KVCache* cache, AttentionMaps* maps) const {
  return head(hidden(ids, cache, maps));
}

// --- the head ---

LanguageHead::LanguageHead(int64_t vocab_size, int64_t width, bool tied) : vocab_size(vocab_size), width(width) {
  if (tied) return;
  weight = Parameter(init::blank({vocab_size, width}));
  init::kaiming_uniform(weight, std::sqrt(5.0));
}

std::string LanguageHead::describe() const {
  return fmt::format("nn::LanguageHead({}, {}, {})", vocab_size, width, !weight.exists());
}

// --- decoding ---

Tensor DecoderNext::logits(const Tensor& ids) {
  const InferenceMode inference;
  const int64_t longest = model_.longest_input(), read = cache_.length(), length = ids.size(1);
  const bool continues = cached_ && length <= longest;
  const Tensor given = continues ? narrow(ids, 1, read, length - read) : ids.slice(1, -std::min(length, longest));
  return model_.head(model_.hidden(given, continues ? &cache_ : nullptr).select(1, -1));
}

void DecoderNext::reorder(const Tensor& rows) {
  if (cache_.length() > 0) cache_.reorder(rows);
}

}  // namespace tapegrad::nn
