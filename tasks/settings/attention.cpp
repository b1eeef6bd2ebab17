// Declares and checks the settings of a model's attention.
#include <tapegrad/tasks/settings/attention.h>

#include <algorithm>

namespace tapegrad::tasks {

void AttentionSettings::list(Fields& f) {
  const bool near = kind == "window", mixes = kind == "linformer", draws = kind == "performer";
  const bool hashes = kind == "reformer";
  f.add({.name = "attention",
         .help = "form of self-attention; window: only keys near the query; linformer: projected keys (encoder only); "
                 "performer: random features; reformer: keys with similar hashes",
         .choices = nn::kAttentionNames},
        kind);
  f.add({"window", "window: keys that a query attends to on each side", Group::model, kCountOrNone}, window, near);
  f.add({"dilation", "window: distance between two of these keys", Group::model, kCount}, dilation, near);
  f.add({"global-tokens", "window: the first N tokens attend to all tokens, and all tokens attend to them",
         Group::model, kCountOrNone},
        global_tokens, near);
  f.add({"linformer-rank", "linformer: number of projected keys", Group::model, kCount}, linformer_rank, mixes);
  f.add({"linformer-per-head", "linformer: separate projections for each head", Group::model}, linformer_per_head,
        mixes);
  f.add({.name = "performer-features",
         .help = "performer: number of random features",
         .limits = kCountOrNone,
         .special = "0: D log D for heads of size D"},
        performer_features, draws);
  f.add({.name = "performer-redraw",
         .help = "performer: redraw the features every N steps",
         .limits = kCountOrNone,
         .special = "0: never"},
        performer_redraw, draws);
  f.add({"reformer-bucket-size", "reformer: tokens per chunk, which attend to each other", Group::model, kCount},
        reformer_bucket_size, hashes);
  f.add({.name = "reformer-buckets",
         .help = "reformer: number of buckets, a power of two",
         .limits = kCountOrNone,
         .special = "0: chosen by the length"},
        reformer_buckets, hashes);
  f.add({"reformer-rounds", "reformer: rounds of hashing", Group::model, {.least = 1, .most = 64}}, reformer_rounds,
        hashes);
}

nn::AttentionChoice AttentionSettings::choice() const {
  return {.kind = nn::attention_named(kind),
          .window = window,
          .dilation = dilation,
          .global_tokens = global_tokens,
          .linformer_rank = linformer_rank,
          .linformer_per_head = linformer_per_head,
          .performer_features = performer_features,
          .reformer_bucket_size = reformer_bucket_size,
          .reformer_buckets = reformer_buckets,
          .reformer_rounds = reformer_rounds};
}

void AttentionSettings::check(nn::Positions positions, bool causal) const {
  as_bad_request("--attention", [&] { choice().check(positions, causal); });
}

int64_t AttentionSettings::keys_per_query(int64_t length) const {
  if (kind == "window") return std::min(length, 2 * window + 1 + global_tokens);
  if (kind == "linformer") return std::min(length, linformer_rank);
  if (kind == "reformer") return std::min(length, 2 * reformer_bucket_size * reformer_rounds);
  return kind == "performer" && performer_features > 0 ? std::min(length, performer_features) : length;
}

}  // namespace tapegrad::tasks
