// Samples of what attention for long inputs is made of.
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/reversible.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

using X = std::span<const Tensor>;

void add_causal_products(SampleTable& table) {
  for (const bool reverse : {false, true}) {
    const std::string_view way = reverse ? ", reverse" : "";
    const auto add = [&](std::string label, const Tensor& a, const Tensor& b, const Tensor& c,
                         const GradcheckOptions& options = {}) {
      table.add(
          "causal_product", label.append(way), {a, b, c},
          [reverse](X x) { return causal_product(x[0], x[1], x[2], reverse); }, options);
    };
    add("[3, 2]", spread({3, 2}), spread({3, 2}, -1, 1.2), spread({3, 4}, -1, 1.5));
    table.add("causal_product", std::string("levels").append(way),
              {spread({3, 2}), spread({3, 2}, -1, 1.2), spread({3, 4})}, [reverse](X x) {
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
}

void add_lsh(SampleTable& table) {
  const auto add = [&](std::string_view label, const Shape& shape, const LshAttentionOptions& options,
                       const Tensor& buckets, bool turned = false, const GradcheckOptions& check = {}) {
    const auto laid = [&](const Tensor& x) { return turned ? x.t().contiguous().t() : x; };
    table.add(
        "lsh_attention", label,
        {laid(spread(shape)), laid(spread(shape, -1.5, 1.2)), laid(spread(shape, -1, 1.5)), buckets},
        [options](X x) { return lsh_attention(x[0], x[1], x[2], x[3], options); }, check);
  };
  const Tensor one = tensor({{1, 0, 1, 0, 1}}), two = tensor({{1, 0, 1, 0, 1}, {0, 0, 1, 1, 2}});
  const Tensor mask = tensor({true, true, false, true, true});
  for (const bool causal : {false, true}) {
    add(causal ? "one chunk, causal" : "one chunk", {5, 2}, {.causal = causal}, one);
    add(causal ? "two rounds, causal" : "two rounds", {5, 2}, {.chunk_length = 2, .causal = causal}, two);
    add(causal ? "masked, causal" : "masked", {5, 2}, {.chunk_length = 2, .causal = causal, .mask = mask}, two);
  }
  add("within buckets", {5, 2}, {.chunk_length = 2, .causal = true, .within_buckets = true}, two);
  add("a chunk per token, scaled", {5, 2}, {.chunk_length = 1, .scale = 0.3}, two);
  add("heads", {2, 2, 3, 2}, {.chunk_length = 2}, tensor({{{{0, 1, 0}, {1, 0, 0}}, {{2, 1, 0}, {1, 1, 1}}}}));
  add("transposed", {1, 5, 2}, {.chunk_length = 2}, two.unsqueeze(1), true);
  add("all masked", {2, 2}, {.mask = tensor({false, false})}, tensor({{0, 0}}), false, {.zero_gradient = true});
  add("no tokens", {0, 2}, {}, zeros({1, 0}, kInt64));
}

void add_reversible(SampleTable& table) {
  const auto layers = [](const Tensor& w) {
    std::vector<nn::ReversibleFunctions> all;
    for (int i = 0; i < 2; ++i) {
      all.push_back(
          {[w](const Tensor& x) { return tanh(matmul(x, w)); }, [w](const Tensor& x) { return sin(x) * sum(w); }});
    }
    return all;
  };
  table.add("reversible", "two layers", {spread({2, 2}), spread({2, 2}, -1, 1.3), spread({2, 2}, -0.9, 1)}, [=](X x) {
    const nn::Halves y = nn::reversible({x[0], x[1]}, layers(x[2]));
    return cat({y.first, y.second});
  });
  table.add("reversible", "both halves are one", {spread({2, 2}), spread({2, 2}, -0.9, 1)}, [=](X x) {
    const nn::Halves y = nn::reversible({x[0], x[0]}, layers(x[1]));
    return y.first * y.second;
  });
}

}  // namespace

void add_long_attention_samples(SampleTable& table) {
  add_causal_products(table);
  add_lsh(table);
  add_reversible(table);
}

}  // namespace tapegrad::tasks
