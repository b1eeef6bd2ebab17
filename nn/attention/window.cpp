// Window attention: keys near the query, and global tokens.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/window_attention.h>
#include <tapegrad/nn/attention/detail/form.h>
#include <tapegrad/nn/window.h>

#include <algorithm>

namespace tapegrad::nn {

namespace {

// The weights, for pictures: those of full attention with a mask.
Tensor window_weights(const AttentionInputs& in, const Tensor& mask) {
  const PauseRecording pause;
  const int64_t heads = in.queries.size(1);
  const Tensor keys = detail::shared_heads(in.from.keys, heads), values = detail::shared_heads(in.from.values, heads);
  return attention_with_weights(in.queries, keys, values, {.mask = detail::restrict_mask(in.pass.mask, mask)}).second;
}

class Window final : public CopiedForm<Window> {
 public:
  explicit Window(const WindowAttention& options) : options_(options) {}

  Tensor attend(const AttentionInputs& in) const override {
    const Tensor& q = in.queries;
    const int64_t keys = in.from.keys.size(2), group = q.size(1) / in.from.keys.size(1);
    WindowAttentionOptions options{.window = options_.window,
                                   .dilation = options_.dilation,
                                   .causal = in.causal,
                                   .mask = in.pass.mask,
                                   .dropout = in.dropout.p,
                                   .training = in.dropout.training};
    for (int64_t t = 0; t < std::min(options_.global_tokens, keys); ++t) options.global_tokens.push_back(t);
    const auto near = [&] { return window_mask(q.size(2), keys, options_, in.causal); };
    if (in.pass.weights) *in.pass.weights = window_weights(in, near());
    if (in.pass.seen) *in.pass.seen = detail::restrict_mask(*in.pass.seen, near());
    if (group == 1) return sliding_window_attention(q, in.from.keys, in.from.values, options);
    // Query heads that share a head of keys become an axis over which the keys broadcast.
    const auto grouped = [&](const Tensor& x) {
      const bool one = x.size(1) == 1;
      return x.reshape({x.size(0), one ? 1 : x.size(1) / group, one ? 1 : group, x.size(2), x.size(3)});
    };
    if (options.mask.defined() && options.mask.dim() == 4) options.mask = grouped(options.mask);
    const Tensor k = in.from.keys.unsqueeze(2), v = in.from.values.unsqueeze(2);
    return sliding_window_attention(grouped(q), k, v, options).flatten(1, 2);
  }

 private:
  WindowAttention options_;
};

}  // namespace

AttentionTraits WindowAttention::traits() const {
  return {.name = "window",
          .help = "only keys near the query",
          .grouped = true,
          .keys_per_query = 2 * window + 1 + global_tokens};
}

void WindowAttention::list(Fields& f) {
  f.add("window", "window: keys that a query attends to on each side", window, kNotNegative);
  f.add("dilation", "window: distance between two of these keys", dilation, kPositive);
  f.add("global_tokens", "window: the first N tokens attend to all tokens, and all tokens attend to them",
        global_tokens, kNotNegative);
}

std::unique_ptr<AttentionForm> WindowAttention::make(const AttentionSizes&) const {
  return std::make_unique<Window>(*this);
}

Tensor window_mask(int64_t queries, int64_t keys, const WindowAttention& options, bool causal) {
  const Tensor mask = Tensor::empty({queries, keys}, kBool);
  bool* cell = mask.mutable_data<bool>();
  for (int64_t t = keys - queries; t < keys; ++t) {
    for (int64_t s = 0; s < keys; ++s) {
      const int64_t distance = s < t ? t - s : s - t;
      const bool in_window = distance % options.dilation == 0 && distance / options.dilation <= options.window;
      const bool is_global = s < options.global_tokens || t < options.global_tokens;
      *cell++ = (in_window || is_global) && (!causal || s <= t);
    }
  }
  return mask;
}

template AttentionChoice default_form<WindowAttention>();

}  // namespace tapegrad::nn
