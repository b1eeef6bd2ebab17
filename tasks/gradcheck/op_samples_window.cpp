// Samples of window attention.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/window_attention.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {

void add_window_samples(SampleTable& table) {
  using Options = WindowAttentionOptions;
  constexpr std::string_view kOp = "sliding_window_attention";
  const auto attend = [&](const std::string& label, std::vector<Tensor> inputs, const Options& options) {
    table.add(kOp, label, std::move(inputs), [options](std::span<const Tensor> x) {
      Generator generator(5);
      Options chosen = options;
      if (options.dropout > 0) chosen.generator = &generator;
      return sliding_window_attention(x[0], x[1], x[2], chosen);
    });
  };
  const auto qkv = [](const Shape& batch, int64_t t, int64_t s, int64_t d, int64_t e) {
    const auto shaped = [&](int64_t rows, int64_t columns) {
      Shape shape = batch;
      shape.push_back(rows);
      shape.push_back(columns);
      return shape;
    };
    return std::vector<Tensor>{spread(shaped(t, d)), spread(shaped(s, d), -1.9, 2.1), spread(shaped(s, e), -1, 1.3)};
  };
  const Tensor may_see = tensor({{true, false, true, true, false},
                                 {false, false, false, true, true},
                                 {true, true, false, false, true},
                                 {true, true, true, true, true},
                                 {true, false, true, false, true}});
  for (const bool causal : {false, true}) {
    const std::string suffix = causal ? ", causal" : "";
    const auto add = [&](const std::string& label, std::vector<Tensor> inputs, Options options) {
      options.causal = causal;
      attend(label + suffix, std::move(inputs), options);
    };
    add("[5, 2]", qkv({}, 5, 5, 2, 2), {.window = 1});
    add("heads", qkv({1, 2}, 4, 4, 2, 3), {.window = 1});
    add("the token alone, and a global one", qkv({2}, 3, 3, 2, 2), {.window = 0, .global_tokens = {0}});
    add("dilation", qkv({}, 7, 7, 2, 2), {.window = 1, .dilation = 2});
    add("global tokens", qkv({2}, 5, 5, 2, 2), {.window = 1, .global_tokens = {0, 3}});
    add("dilation and global tokens", qkv({}, 7, 7, 2, 2), {.window = 1, .dilation = 3, .global_tokens = {2}});
    add("last queries", qkv({2}, 2, 6, 2, 2), {.window = 2, .global_tokens = {0, 5}});
    add("mask", qkv({2}, 5, 5, 2, 2), {.window = 1, .global_tokens = {1}, .mask = may_see});
    add("mask of keys", qkv({2}, 4, 5, 2, 2), {.window = 1, .mask = tensor({true, false, false, true, true})});
    add("dropout", qkv({2}, 5, 5, 2, 2), {.window = 1, .global_tokens = {4}, .dropout = 0.4});
    add("scale", qkv({}, 4, 4, 2, 2), {.window = 1, .scale = 0.3});
    add("no batch", qkv({0}, 3, 3, 2, 2), {.window = 1});
    add("no query", qkv({}, 0, 3, 2, 2), {.window = 1});
  }
  attend("layouts", {spread({2, 4}).t(), spread({4, 4}).slice(1, 0, kAll, 2), spread({4, 2}).slice(0, kAll, kAll, -1)},
         {.window = 1});
  attend("expanded", {spread({1, 2}).expand({4, 2}), spread({4, 2}), spread({4, 1}).expand({4, 2})}, {.window = 1});
  attend("broadcast", {spread({2, 1, 4, 2}), spread({3, 4, 2}, -1, 2), spread({4, 2}, -1, 1)},
         {.window = 1, .global_tokens = {2}});
}

}  // namespace tapegrad::tasks
