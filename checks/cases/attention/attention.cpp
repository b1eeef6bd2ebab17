// Cases of attention with all keys, and within a window.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

using Options = AttentionOptions;
using WindowOptions = WindowAttentionOptions;

// The same draws at each call, if there is dropout.
Tensor attend(std::span<const Tensor> x, Options options, uint64_t seed = 5) {
  Generator generator(seed);
  if (options.dropout > 0) options.generator = &generator;
  return scaled_dot_product_attention(x[0], x[1], x[2], options);
}
Tensor attend(std::span<const Tensor> x, WindowOptions options, uint64_t seed = 5) {
  Generator generator(seed);
  if (options.dropout > 0) options.generator = &generator;
  return sliding_window_attention(x[0], x[1], x[2], options);
}

void add_dot_products(CaseTable& t) {
  const auto options_of = [](const Inputs& x, const json& args) {
    return Options{.mask = input(x, 3),
                   .causal = args.contains("causal"),
                   .dropout = args.value("dropout", 0.0),
                   .scale = number(args, "scale")};
  };
  constexpr const char* kOp = "scaled_dot_product_attention";
  t.call(kOp, [=](const Inputs& x, const json& args) -> Outputs { return {attend(x, options_of(x, args))}; });
  t.call(
      "attention_with_weights",
      [=](const Inputs& x, const json& args) {
        return outputs(attention_with_weights(x[0], x[1], x[2], options_of(x, args)));
      },
      kOp);
  const auto qkv = queries_keys_values;
  const auto with = [](std::vector<Tensor> inputs, const Tensor& mask) {
    inputs.push_back(mask);
    return inputs;
  };
  const json causal{{"causal", true}};
  t.add(kOp, "[3, 2]", qkv({}, 3, 3, 2, 2));
  // From 64 queries and 257 keys on, attention is computed by blocks.
  t.add_check(kOp, "by blocks", qkv({}, 64, 257, 1, 1),
              [](auto x) { return scaled_dot_product_attention(x[0], x[1], x[2]); }, {.order = 1});
  t.add_check(kOp, "by blocks, causal", qkv({}, 66, 258, 1, 1),
              [](auto x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true}); }, {.order = 1});
  t.add(kOp, "[2, 3, 2]", qkv({2}, 3, 3, 2, 2));
  t.add(kOp, "cross", qkv({2}, 2, 3, 2, 3));
  t.add(kOp, "heads", qkv({1, 2}, 2, 3, 2, 2));
  t.add(kOp, "scale", qkv({}, 3, 3, 2, 2), {{"scale", 0.3}});
  t.add(kOp, "causal", qkv({2}, 3, 3, 2, 2), causal);
  t.add(kOp, "one query", qkv({2}, 1, 3, 3, 2));
  t.add(kOp, "no batch", qkv({0}, 2, 2, 2, 2));
  t.add(kOp, "no query", qkv({}, 0, 3, 2, 2));
  const Tensor may_see = tensor({{true, false, true}, {false, false, false}, {true, true, true}});
  t.add(kOp, "boolean mask, the second query sees nothing", with(qkv({}, 3, 3, 2, 2), may_see));
  t.add(kOp, "boolean mask of keys", with(qkv({2, 1}, 2, 3, 2, 2), tensor({true, true, false}).reshape({1, 1, 1, 3})));
  t.add(kOp, "boolean mask, causal", with(qkv({2}, 3, 3, 2, 2), may_see), causal);
  t.add(kOp, "additive mask", with(qkv({2}, 3, 3, 2, 2), spread({3, 3})));
  t.add(kOp, "additive mask of keys", with(qkv({2}, 2, 3, 2, 2), spread({3})));
  const auto heads = [](const Tensor& x) { return x.reshape({2, 3, 2, 2}).transpose(1, 2); };
  t.add(kOp, "heads of one tensor", {spread({2, 3, 4}), spread({2, 3, 4}, -1, 1)},
        [heads](auto x) { return scaled_dot_product_attention(heads(x[0]), heads(x[1]), heads(x[0] + x[1])); });
  t.add(kOp, "layouts",
        {spread({2, 3}).t(), spread({3, 4}).slice(1, 0, kAll, 2), spread({3, 2}).slice(0, kAll, kAll, -1)});
  t.add(kOp, "expanded", {spread({1, 2}).expand({2, 2}), spread({2, 2}), spread({2, 1}).expand({2, 2})});
  t.add(kOp, "dropout", qkv({2}, 3, 3, 2, 2), [](auto x) { return attend(x, Options{.dropout = 0.4}); });
  t.add("attention_with_weights", "and the weights", qkv({2}, 3, 3, 2, 2));
}

// Of random programs, and of the comparison of threads.
void add_drawn_dot_products(CaseTable& t) {
  const DrawRule filled_matrix = operand([](const Tensor& x) { return x.dim() == 2 && x.numel() > 0; });
  t.rule(FORMULA(scaled_dot_product_attention(a.t[0], a.t[1], a.t[1])),
         "torch.softmax({t0} @ {t1}.transpose(-1, -2) / {t0}.size(-1) ** 0.5, -1) @ {t1}",
         and_operand(filled_matrix, [](const Tensor& q, const Tensor& k) {
           return k.dim() == 2 && k.numel() > 0 && k.size(-1) == q.size(-1);
         }));
  if (!t.large()) return;
  for (const Shape& shape : {Shape{4, 6, 65, 32}, Shape{2, 700, 16}}) {  // few keys and many
    for (bool causal : {false, true}) {
      t.add_large("scaled_dot_product_attention", {numbers(shape), numbers(shape, -1, 2), numbers(shape)},
                  [causal](auto v) { return attend(v, Options{.causal = causal, .dropout = 0.1}, 1); });
    }
  }
}

void add_window_attention(CaseTable& t) {
  constexpr const char* kOp = "sliding_window_attention";
  t.call(kOp, [](const Inputs& x, const json& args) -> Outputs {
    return {attend(x, WindowOptions{.window = args.at("window").get<int64_t>(),
                                    .dilation = integer(args, "dilation", 1),
                                    .causal = args.value("causal", false),
                                    .global_tokens = args.value("global_tokens", std::vector<int64_t>()),
                                    .mask = input(x, 3),
                                    .dropout = args.value("dropout", 0.0),
                                    .scale = number(args, "scale")})};
  });
  const auto qkv = queries_keys_values;
  const Tensor may_see = tensor({{true, false, true, true, false},
                                 {false, false, false, true, true},
                                 {true, true, false, false, true},
                                 {true, true, true, true, true},
                                 {true, false, true, false, true}});
  for (const bool causal : {false, true}) {
    const auto add = [&](const std::string& label, std::vector<Tensor> inputs, json args, const Tensor& mask = {}) {
      if (mask.defined()) inputs.push_back(mask);
      args["causal"] = causal;
      t.add(kOp, label + (causal ? ", causal" : ""), std::move(inputs), args);
    };
    add("[5, 2]", qkv({}, 5, 5, 2, 2), {{"window", 1}});
    add("heads", qkv({1, 2}, 4, 4, 2, 3), {{"window", 1}});
    add("the token alone, and a global one", qkv({2}, 3, 3, 2, 2), {{"window", 0}, {"global_tokens", {0}}});
    add("dilation", qkv({}, 7, 7, 2, 2), {{"window", 1}, {"dilation", 2}});
    add("global tokens", qkv({2}, 5, 5, 2, 2), {{"window", 1}, {"global_tokens", {0, 3}}});
    add("dilation and global tokens", qkv({}, 7, 7, 2, 2), {{"window", 1}, {"dilation", 3}, {"global_tokens", {2}}});
    add("last queries", qkv({2}, 2, 6, 2, 2), {{"window", 2}, {"global_tokens", {0, 5}}});
    add("mask", qkv({2}, 5, 5, 2, 2), {{"window", 1}, {"global_tokens", {1}}}, may_see);
    add("mask of keys", qkv({2}, 4, 5, 2, 2), {{"window", 1}}, tensor({true, false, false, true, true}));
    add("dropout", qkv({2}, 5, 5, 2, 2), {{"window", 1}, {"global_tokens", {4}}, {"dropout", 0.4}});
    add("scale", qkv({}, 4, 4, 2, 2), {{"window", 1}, {"scale", 0.3}});
    add("no batch", qkv({0}, 3, 3, 2, 2), {{"window", 1}});
    add("no query", qkv({}, 0, 3, 2, 2), {{"window", 1}});
  }
  t.add(kOp, "layouts",
        {spread({2, 4}).t(), spread({4, 4}).slice(1, 0, kAll, 2), spread({4, 2}).slice(0, kAll, kAll, -1)},
        {{"window", 1}});
  t.add(kOp, "expanded", {spread({1, 2}).expand({4, 2}), spread({4, 2}), spread({4, 1}).expand({4, 2})},
        {{"window", 1}});
  t.add(kOp, "broadcast", {spread({2, 1, 4, 2}), spread({3, 4, 2}, -1, 2), spread({4, 2}, -1, 1)},
        {{"window", 1}, {"global_tokens", {2}}});
}

void add_more_window_attention(CaseTable& t) {
  // Over rows of two elements.
  t.rule(FORMULA(sliding_window_attention(a.t[0].reshape({-1, 2}), a.t[0].reshape({-1, 2}), a.t[0].reshape({-1, 2}),
                                          {.window = 1})),
         "F.scaled_dot_product_attention(*[{t0}.reshape(-1, 2)] * 3, attn_mask=(torch.arange({t0}.numel() // 2)[:, "
         "None] - torch.arange({t0}.numel() // 2)).abs() <= 1)",
         sized(6, kMostElements, 2));
  if (!t.large()) return;
  const Shape shape{2, 3, 1500, 16};
  for (int64_t dilation : {1, 2}) {
    t.add_large("sliding_window_attention", {numbers(shape), numbers(shape, -1, 2), numbers(shape)},
                [dilation](auto v) {
                  return attend(v,
                                WindowOptions{.window = 20,
                                              .dilation = dilation,
                                              .causal = dilation == 1,
                                              .global_tokens = {0, 700},
                                              .dropout = 0.1},
                                1);
                });
  }
}

}  // namespace

void add_attention_cases(CaseTable& table) {
  add_dot_products(table);
  add_drawn_dot_products(table);
  add_window_attention(table);
  add_more_window_attention(table);
}

}  // namespace tapegrad::tasks
