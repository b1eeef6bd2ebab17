// The forms of attention that a model can choose.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/position_kind.h>

#include <algorithm>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "attention_choice";

}  // namespace

std::string_view name(AttentionKind kind) { return kAttentionNames[static_cast<std::size_t>(kind)]; }

AttentionKind attention_named(std::string_view name) {
  const auto* at = std::find(std::begin(kAttentionNames), std::end(kAttentionNames), name);
  if (at == std::end(kAttentionNames)) {
    fail(kWhere, fmt::format("expected one of {}, got \"{}\"", fmt::join(kAttentionNames, ", "), name));
  }
  return static_cast<AttentionKind>(at - std::begin(kAttentionNames));
}

void AttentionChoice::check() const {
  if (window < 0) fail(kWhere, fmt::format("window must not be negative, got {}", window));
  require_positive(kWhere, "dilation", dilation);
  if (global_tokens < 0) fail(kWhere, fmt::format("global_tokens must not be negative, got {}", global_tokens));
  require_positive(kWhere, "linformer_rank", linformer_rank);
  if (length < 0) {
    fail(kWhere, fmt::format("length must be positive, or 0 for that of the model, got {}", length));
  }
  if (performer_features < 0) {
    fail(kWhere, fmt::format("performer_features must be positive, or 0 for D log D, got {}", performer_features));
  }
  require_positive(kWhere, "reformer_bucket_size", reformer_bucket_size);
  if (reformer_buckets < 0 || (reformer_buckets & (reformer_buckets - 1)) != 0) {
    fail(kWhere, fmt::format("reformer_buckets must be a power of two, or 0 for one that fits the length, got {}",
                             reformer_buckets));
  }
  require_positive(kWhere, "reformer_rounds", reformer_rounds);
}

void AttentionChoice::check(Positions positions, bool causal, bool grouped) const {
  check();
  if (kind == AttentionKind::linformer && causal) {
    fail(kWhere, "linformer attention cannot be causal: each projected key mixes all positions");
  }
  if (is_module() && grouped) {
    fail(kWhere, fmt::format("expected as many key heads as query heads for {} attention", nn::name(kind)));
  }
  if (kind != AttentionKind::full && kind_of(positions).adds_to_scores()) {
    fail(kWhere, fmt::format("{} positions add to the score of every pair, which only full attention has, got {}",
                             nn::name(positions), nn::name(kind)));
  }
}

Tensor window_mask(int64_t queries, int64_t keys, const AttentionChoice& choice, bool causal) {
  const Tensor mask = Tensor::empty({queries, keys}, kBool);
  bool* cell = mask.mutable_data<bool>();
  for (int64_t t = keys - queries; t < keys; ++t) {
    for (int64_t s = 0; s < keys; ++s) {
      const int64_t distance = s < t ? t - s : s - t;
      const bool in_window = distance % choice.dilation == 0 && distance / choice.dilation <= choice.window;
      const bool is_global = s < choice.global_tokens || t < choice.global_tokens;
      *cell++ = (in_window || is_global) && (!causal || s <= t);
    }
  }
  return mask;
}

}  // namespace tapegrad::nn
