// Reformer: tokens are hashed by random rotations, sorted, and attend within chunks.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/attention/detail/form.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/reformer.h>

#include <bit>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kReformer = "reformer_attention";
constexpr std::string_view kBuckets = "lsh_buckets";
constexpr std::string_view kReformerModule = "reformer_self_attention";
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

class Reformer final : public CopiedForm<Reformer> {
 public:
  // If causal, the number of buckets must not depend on the input's length, so that earlier tokens keep their buckets.
  Reformer(const ReformerAttention& options, const AttentionSizes& sizes) : options_(options), causal_(sizes.causal) {
    if (options.buckets > 0 || !sizes.causal || sizes.length == 0) return;
    options_.buckets = ReformerSelfAttention::buckets_for(sizes.length, options.bucket_size);
  }

  Tensor attend(const AttentionInputs& in) const override {
    const Tensor &keys = in.from.keys, &values = in.from.values;
    const int64_t length = keys.size(2), tokens = in.queries.size(2), count = bucket_count(length);
    Generator repeated(options_.seed);
    const Tensor buckets =
        lsh_buckets(keys, count, count == 1 ? 1 : options_.rounds, in.dropout.training ? nullptr : &repeated);
    const LshAttentionOptions options{
        .chunk_length = options_.bucket_size, .causal = causal_, .within_buckets = causal_, .mask = in.pass.mask};
    const auto attend_by = [&](const Tensor& of_keys, const Tensor& of) {
      return narrow(reformer_attention(of_keys, of, buckets, options), -2, length - tokens, tokens);
    };
    const auto attend = [&](const Tensor& of) { return attend_by(keys, of); };
    const Tensor y = attend(values);
    if (in.pass.weights) *in.pass.weights = detail::implied_weights(values, attend);
    if (in.pass.seen) {  // without products, all keys of a chunk have weights that are alike
      const Tensor none = zeros(keys.shape(), keys.dtype());
      *in.pass.seen = detail::implied_weights(values, [&](const Tensor& of) { return attend_by(none, of); }) > 0.0;
    }
    return y;
  }
  std::string_view no_cache() const override {
    if (causal_ && options_.buckets > 0) return {};
    return "expected causal attention with a fixed number of buckets (set num_buckets or context_length)";
  }

 private:
  int64_t bucket_count(int64_t length) const {
    if (!causal_ && length <= options_.bucket_size) return 1;
    return options_.buckets > 0 ? options_.buckets : ReformerSelfAttention::buckets_for(length, options_.bucket_size);
  }

  ReformerAttention options_;
  bool causal_;
};

}  // namespace

Tensor lsh_buckets(const Tensor& x, int64_t count, int64_t rounds, Generator* generator) {
  require_floating(kBuckets, x.dtype());
  require_positive(kBuckets, "rounds", rounds);
  if (x.dim() < 2) fail(kBuckets, "expected x [..., T, D], got {}", x.shape());
  if (!is_power_of_two(count)) fail(kBuckets, "expected a power of two as count, got {}", count);
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
  require_floating(kReformer, {&query_key, &value});
  LshAttentionOptions all = options;
  all.mask = detail::mask_of_keys(kReformer, options.mask);
  Tensor of_tokens = query_key;
  if (all.mask.defined() && !all_finite(query_key)) {  // a hidden token is a query, too: its NaN is 0
    const Tensor hidden = logical_not(all.mask).t(), broken = logical_not(isfinite(query_key.detach()));
    of_tokens = masked_fill(query_key, logical_and(hidden, broken), 0);
  }
  return lsh_attention(of_tokens, normalize(of_tokens, 2, -1), value, buckets, all);
}

AttentionTraits ReformerAttention::traits() const {
  return {.name = "reformer",
          .help = "keys with similar hashes",
          .nested = true,
          .shared_keys = true,
          .keys_per_query = 2 * bucket_size * rounds};
}

void ReformerAttention::list(Fields& f) {
  f.add("reformer_bucket_size", "reformer: tokens per chunk, which attend to each other", bucket_size, kPositive);
  f.add("reformer_buckets", "reformer: number of buckets, a power of two", buckets, kNotNegative).special =
      "0: chosen by the length";
  f.add("reformer_rounds", "reformer: rounds of hashing", rounds, {.least = 1, .most = 64});
}

void ReformerAttention::check() const {
  require(buckets == 0 || is_power_of_two(buckets), "attention_choice",
          "expected reformer_buckets to be a power of two, or 0 for one that fits the length, got {}", buckets);
}

std::unique_ptr<AttentionForm> ReformerAttention::make(const AttentionSizes& sizes) const {
  return std::make_unique<Reformer>(*this, sizes);
}

namespace {

SelfAttentionConfig config_of(const ReformerConfig& c) {
  return detail::self_attention(
      c,
      ReformerAttention{.bucket_size = c.chunk_length, .buckets = c.num_buckets, .rounds = c.rounds, .seed = c.seed});
}

}  // namespace

void ReformerConfig::check() const {
  require_positive(kReformerModule, "chunk_length", chunk_length);
  require_positive(kReformerModule, "rounds", rounds);
  require(num_buckets == 0 || is_power_of_two(num_buckets), kReformerModule,
          "expected num_buckets to be a power of two, or 0 for one that fits the length, got {}", num_buckets);
  config_of(*this).check(kReformerModule);
}

int64_t ReformerSelfAttention::buckets_for(int64_t length, int64_t chunk_length) {
  if (length <= chunk_length) return 1;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((2 * length + chunk_length - 1) / chunk_length)));
}

ReformerSelfAttention::ReformerSelfAttention(const ReformerConfig& c)
    : MultiHeadAttention(config_of(checked(c)), Alone{kReformerModule}) {}

template AttentionChoice default_form<ReformerAttention>();

}  // namespace tapegrad::nn
