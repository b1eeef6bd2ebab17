// Reformer: tokens are hashed by random rotations, sorted, and attend within chunks.
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/attention/detail/attention_core.h>
#include <tapegrad/nn/attention/detail/long_attention.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/reformer.h>

#include <bit>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "reformer_attention";
constexpr std::string_view kBuckets = "lsh_buckets";
constexpr std::string_view kModule = "reformer_self_attention";
constexpr int kMostBits = 5;  // of one hash

bool is_power_of_two(int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); }

// One hash of x [..., T, D]: int64 [..., T].
Tensor one_round(const Tensor& x, int bits, Generator& generator) {
  Tensor bucket;
  for (int rest = bits, parts = (bits + kMostBits - 1) / kMostBits; rest > 0; --parts) {
    const int part = (rest + parts - 1) / parts;  // about equal ones
    const Tensor rotated = matmul(x, randn({x.size(-1), int64_t{1} << (part - 1)}, x.dtype(), &generator));
    const Tensor hash = argmax(cat({rotated, -rotated}, -1), -1);
    bucket = bucket.defined() ? bucket * static_cast<double>(int64_t{1} << part) + hash : hash;
    rest -= part;
  }
  return bucket;
}

// 0: chosen by the length of each input.
int64_t fixed_count(const ReformerConfig& c) {
  if (c.num_buckets > 0) return c.num_buckets;
  return c.causal && c.context_length > 0 ? ReformerSelfAttention::buckets_for(c.context_length, c.chunk_length) : 0;
}

int64_t bucket_count(const ReformerConfig& c, int64_t length) {
  if (!c.causal && length <= c.chunk_length) return 1;
  const int64_t fixed = fixed_count(c);
  return fixed > 0 ? fixed : ReformerSelfAttention::buckets_for(length, c.chunk_length);
}

}  // namespace

Tensor lsh_buckets(const Tensor& x, int64_t count, int64_t rounds, Generator* generator) {
  require_floating(kBuckets, x.dtype());
  require_positive(kBuckets, "rounds", rounds);
  if (x.dim() < 2) fail(kBuckets, fmt::format("expected x [..., T, D], got {}", str(x.shape())));
  if (!is_power_of_two(count)) fail(kBuckets, fmt::format("expected a power of two as count, got {}", count));
  const PauseRecording pause;
  const Tensor values = x.detach();
  const int bits = std::countr_zero(static_cast<uint64_t>(count));
  std::vector<Tensor> hashes;
  for (int64_t round = 0; round < rounds; ++round) {
    hashes.push_back(bits == 0 ? zeros(values.select(-1, 0).shape(), kInt64)
                               : one_round(values, bits, generator ? *generator : default_generator()));
  }
  return stack(hashes);
}

Tensor reformer_attention(const Tensor& query_key, const Tensor& value, const Tensor& buckets,
                          const LshAttentionOptions& options) {
  require_floating(kWhere, {&query_key, &value});
  LshAttentionOptions all = options;
  all.mask = detail::mask_of_keys(kWhere, options.mask);
  return lsh_attention(query_key, normalize(query_key, 2, -1), value, buckets, all);
}

void ReformerConfig::check() const {
  require_positive(kModule, "d_in", d_in);
  require_positive(kModule, "d_out", d_out);
  require_positive(kModule, "num_heads", num_heads);
  require_positive(kModule, "chunk_length", chunk_length);
  require_positive(kModule, "rounds", rounds);
  detail::require_context_length(kModule, context_length);
  if (num_buckets != 0 && !is_power_of_two(num_buckets)) {
    fail(kModule,
         fmt::format("num_buckets must be a power of two, or 0 for one that fits the length, got {}", num_buckets));
  }
  require_divisible(kModule, "d_out", d_out, "num_heads", num_heads);
}

int64_t ReformerSelfAttention::buckets_for(int64_t length, int64_t chunk_length) {
  if (length <= chunk_length) return 1;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((2 * length + chunk_length - 1) / chunk_length)));
}

ReformerSelfAttention::ReformerSelfAttention(const ReformerConfig& c)
    : config(checked(c)),
      W_query_key(c.d_in, c.d_out, c.qkv_bias),
      W_value(c.d_in, c.d_out, c.qkv_bias),
      out_proj(c.d_out, c.d_out) {}

Tensor ReformerSelfAttention::operator()(const Tensor& x, const AttentionPass& pass) const {
  detail::require_sequence(kModule, x, config.d_in);
  detail::require_no_bias(kModule, pass);
  const int64_t tokens = x.size(1), length = tokens + (pass.cache ? pass.cache->length() : 0);
  detail::require_within_context(kModule, length, config.context_length);
  if (pass.cache && !(config.causal && fixed_count(config) > 0)) {
    fail(kModule, "a cache needs causal attention and a fixed number of buckets: set num_buckets or context_length");
  }
  const auto heads = [&](const Linear& projected) { return detail::split_heads(projected(x), config.num_heads); };
  KeysAndValues from{apply_rope(heads(W_query_key), pass.positions), heads(W_value)};
  if (pass.cache) from = pass.cache->append(pass.layer, from);
  const int64_t count = bucket_count(config, length);
  Generator repeated(config.seed);
  const Tensor buckets = lsh_buckets(from.keys, count, count == 1 ? 1 : config.rounds, training ? nullptr : &repeated);
  const LshAttentionOptions options{
      .chunk_length = config.chunk_length, .causal = config.causal, .within_buckets = config.causal, .mask = pass.mask};
  const auto attend = [&](const Tensor& values) {
    return narrow(reformer_attention(from.keys, values, buckets, options), -2, length - tokens, tokens);
  };
  const Tensor y = attend(from.values);
  if (pass.weights) *pass.weights = detail::implied_weights(from.values, attend);
  return out_proj(detail::join_heads(y));
}

}  // namespace tapegrad::nn
