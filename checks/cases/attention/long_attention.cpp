// Cases of what attention for long inputs is made of, and of attention with a formula for the scores.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

LshAttentionOptions lsh_options(const Inputs& x, const json& args) {
  return {.chunk_length = integer(args, "chunk", 64),
          .causal = args.value("causal", false),
          .within_buckets = args.value("within", false),
          .mask = named(x, args, "mask"),
          .scale = number(args, "scale")};
}

void add_long_calls(CaseTable& t) {
  t.call("causal_product", [](const Inputs& x, const json& args) -> Outputs {
    const auto level = [&](const char* name) {  // a constant
      const Tensor given = named(x, args, name);
      return given.defined() ? given.detach() : given;
    };
    return {causal_product(x[0], x[1], x[2], args.value("reverse", false),
                           {.earlier = level("earlier"), .later = level("later")})};
  });
  t.call("lsh_attention",
         [](auto& x, auto& args) { return lsh_attention(x[0], x[1], x[2], x[3], lsh_options(x, args)); });
  t.call("reformer_attention",
         [](auto& x, auto& args) { return nn::reformer_attention(x[0], x[1], x[2], lsh_options(x, args)); });
  t.call("performer_attention", [](auto& x, auto& args) {
    return nn::performer_attention(x[0], x[1], x[2], x[3],
                                   {.mask = named(x, args, "mask"), .causal = args.value("causal", false)});
  });
  t.call("linformer_attention", [](auto& x, auto& args) {
    return nn::linformer_attention(x[0], x[1], x[2], x[3], x[4], {.mask = named(x, args, "mask")});
  });
}

void add_causal_products(CaseTable& t) {
  for (const bool reverse : {false, true}) {
    const std::string way = reverse ? ", reverse" : "";
    const auto add = [&](const std::string& label, const Tensor& a, const Tensor& b, const Tensor& c,
                         const GradcheckOptions& options = {}) {
      t.add("causal_product", label + way, {a, b, c}, {{"reverse", reverse}}, options);
    };
    add("[3, 2]", spread({3, 2}), spread({3, 2}, -1, 1.2), spread({3, 4}, -1, 1.5));
    t.add("causal_product", "levels" + way, {spread({3, 2}), spread({3, 2}, -1, 1.2), spread({3, 4})},
          [reverse](auto x) {
            const CausalLevels levels{.earlier = tensor({-1.0, 0.5, -2.0}).to(kFloat64),
                                      .later = tensor({-0.5, 0.5, 1.0}).to(kFloat64)};
            return causal_product(x[0], x[1], x[2], reverse, levels);
          });
    add("one row", spread({1, 2}), spread({1, 2}, -1, 1.2), spread({1, 1}, -1, 1.5));
    add("two blocks", spread({66, 1}), spread({66, 1}, -1, 1.2), spread({66, 1}, -1, 1.5));
    add("broadcast", spread({2, 1, 3, 2}), spread({2, 3, 2}, -1, 1.2), spread({3, 2}, -1, 1.5));
    add("transposed", spread({2, 2, 3}).t(), spread({2, 2, 3}, -1, 1.2).t(), spread({2, 1, 3}, -1, 1.5).t());
    add("empty", spread({0, 2}), spread({0, 2}), spread({0, 3}));
    add("no features", spread({3, 0}), spread({3, 0}), spread({3, 2}), {.zero_gradient = true});
  }
  t.rule(FORMULA(causal_product(a.t[0].reshape({-1, 2}), a.t[0].reshape({-1, 2}), a.t[0].reshape({-1, 2}))),
         "({t0}.reshape(-1, 2) @ {t0}.reshape(-1, 2).T).tril() @ {t0}.reshape(-1, 2)", sized(6, kMostElements, 2));
}

void add_lsh(CaseTable& t) {
  const auto add = [&](std::string_view label, const Shape& shape, const Tensor& buckets, json args,
                       const Tensor& mask = {}, bool turned = false, const GradcheckOptions& check = {}) {
    const auto laid = [&](const Tensor& x) { return turned ? x.t().contiguous().t() : x; };
    std::vector<Tensor> inputs{laid(spread(shape)), laid(spread(shape, -1.5, 1.2)), laid(spread(shape, -1, 1.5)),
                               buckets};
    args["names"] = {"query", "key", "value", "buckets", "mask"};
    if (mask.defined()) inputs.push_back(mask);
    t.add("lsh_attention", label, std::move(inputs), args, check);
  };
  const Tensor one = tensor({{1, 0, 1, 0, 1}}), two = tensor({{1, 0, 1, 0, 1}, {0, 0, 1, 1, 2}});
  const Tensor mask = tensor({true, true, false, true, true});
  for (const bool causal : {false, true}) {
    const std::string way = causal ? ", causal" : "";
    add("one chunk" + way, {5, 2}, one, {{"causal", causal}});
    add("two rounds" + way, {5, 2}, two, {{"chunk", 2}, {"causal", causal}});
    add("masked" + way, {5, 2}, two, {{"chunk", 2}, {"causal", causal}}, mask);
  }
  add("within buckets", {5, 2}, two, {{"chunk", 2}, {"causal", true}, {"within", true}});
  add("a chunk per token, scaled", {5, 2}, two, {{"chunk", 1}, {"scale", 0.3}});
  add("heads", {2, 2, 3, 2}, tensor({{{{0, 1, 0}, {1, 0, 0}}, {{2, 1, 0}, {1, 1, 1}}}}), {{"chunk", 2}});
  add("transposed", {1, 5, 2}, two.unsqueeze(1), {{"chunk", 2}}, {}, true);
  add("all masked", {2, 2}, tensor({{0, 0}}), kNone, tensor({false, false}), false, {.zero_gradient = true});
  add("no tokens", {0, 2}, zeros({1, 0}, kInt64), kNone);
}

// The formulas and masks that golden values name.
ScoreMod score_mod_named(const std::string& wanted) {
  const auto slopes = [](auto h) { return 0.5 / static_cast<double>(1 + h); };
  if (wanted == "soft cap") return [](auto score, auto, auto, auto, auto) { return 2 * tanh(score / 2); };
  if (wanted == "linear bias") {
    return [slopes](auto score, auto, auto h, auto q, auto k) { return score - slopes(h) * abs(q - k); };
  }
  if (wanted == "of all") {  // every function
    return [](auto score, auto b, auto h, auto q, auto k) {
      const auto rest = min(sigmoid(score), 0.6) - max(exp(-score) / 9, b) + log(score * score + 1.5) * (1 + h);
      return where(k % 2 == 0 && k <= q, rest, sqrt(score * score + 0.3) + abs(score - 0.1));
    };
  }
  return {};
}

MaskMod mask_mod_named(const std::string& wanted) {
  if (wanted == "causal") return [](auto, auto, auto q, auto k) { return q >= k; };
  if (wanted == "window") return [](auto, auto, auto q, auto k) { return q - k <= 2 && k - q <= 2; };
  if (wanted == "documents") return [](auto b, auto, auto q, auto k) { return q / (3 + b) == k / (3 + b) && q >= k; };
  if (wanted == "heads") return [](auto, auto h, auto q, auto k) { return q > h && (k + q) % 3 != h; };
  return {};
}

void add_flex(CaseTable& t) {
  t.call("flex_attention", [](auto& x, auto& args) {
    return flex_attention(x[0], x[1], x[2],
                          {.score_mod = score_mod_named(args.value("score", "")),
                           .mask_mod = mask_mod_named(args.value("mask", "")),
                           .scale = number(args, "scale"),
                           .enable_gqa = args.contains("grouped")});
  });
  const auto add = [&](const std::string& label, std::vector<Tensor> inputs, const json& args) {
    t.add("flex_attention", label, std::move(inputs), args);
  };
  const auto qkv = queries_keys_values;
  add("plain", qkv({2, 2}, 3, 4, 2, 3), kNone);
  for (const char* score : {"soft cap", "linear bias", "of all"}) {
    for (const char* mask : {"", "causal", "window", "documents", "heads"}) {
      add(std::string(score) + ", " + mask, qkv({1, 2}, 5, 5, 2, 2), {{"score", score}, {"mask", mask}});
    }
  }
  add("scale", qkv({1, 1}, 3, 3, 2, 2), {{"scale", 0.3}, {"score", "soft cap"}});
  add("grouped", {spread({2, 4, 3, 2}), spread({2, 2, 3, 2}, -1, 2), spread({2, 2, 3, 2})},
      {{"grouped", true}, {"score", "linear bias"}, {"mask", "causal"}});
  const auto heads = [](const Tensor& x) { return x.reshape({2, 3, 2, 2}).transpose(1, 2); };
  add("transposed", {heads(spread({2, 3, 4})), heads(spread({2, 3, 4}, -1, 1)), spread({2, 2, 2, 3}).t()},
      {{"score", "soft cap"}});
  add("expanded",
      {spread({1, 1, 3, 2}).expand({2, 2, 3, 2}), spread({2, 2, 3, 2}), spread({2, 2, 3, 1}).expand({2, 2, 3, 2})},
      {{"score", "of all"}});
  add("no query", qkv({1, 1}, 0, 3, 2, 2), kNone);
  add("no batch", qkv({0, 1}, 3, 3, 2, 2), kNone);
  if (!t.large()) return;
  const Shape shape{2, 3, 301, 33};
  for (const char* score : {"", "of all"}) {
    for (const char* mask : {"", "causal", "window", "documents"}) {
      t.add_large("flex_attention", {numbers(shape), numbers(shape, -1, 2), numbers(shape)},
                  {{"score", score}, {"mask", mask}});
    }
  }
}

}  // namespace

void add_long_attention_cases(CaseTable& t) {
  add_long_calls(t);
  add_causal_products(t);
  add_lsh(t);
  add_flex(t);
  if (!t.large()) return;
  const Shape shape{3, 4, 201, 33};
  for (const bool other : {false, true}) {
    t.add_large("causal_product", {numbers(shape), numbers(shape, -1, 2), numbers(shape)}, {{"reverse", other}});
    t.add_large("lsh_attention", {numbers(shape), numbers(shape, -1, 2), numbers(shape), ids({2, 3, 4, 201}, 20)},
                {{"chunk", 16}, {"causal", other}});
  }
}

}  // namespace tapegrad::tasks
