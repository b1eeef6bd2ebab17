// Samples of attention and of positions.
#include <fmt/format.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/checks/modules/module_table.h>
#include <tapegrad/tapegrad.h>

#include <algorithm>
#include <variant>

namespace tapegrad::tasks {
namespace {

using X = std::span<const Tensor>;

void add_attention(ModuleTable& table) {
  const auto make = [] { return nn::MultiHeadAttention(4, 2, 0.2); };
  table.add("MultiHeadAttention", "self", {spread({2, 3, 4})}, make,
            [](auto& module, X x) { return module(x[0], x[0], x[0]); });
  table.add("MultiHeadAttention", "cross", {spread({1, 2, 4}), spread({1, 3, 4}, -1, 1)}, make,
            [](auto& module, X x) { return module(x[0], x[1], x[1]); });
  table.add("MultiHeadAttention", "causal", {spread({1, 3, 4})}, make,
            [](auto& module, X x) { return module(x[0], x[0], x[0], nn::causal_mask(3)); });
  table.add(
      "MultiHeadAttention", "four heads over two of keys", {spread({1, 2, 4}), spread({1, 3, 4}, -1, 1)},
      [] { return nn::MultiHeadAttention(4, 4, 0.2, nn::Positions::none, {}, 2); },
      [](auto& module, X x) { return module(x[0], x[1], x[1]); });
  table.add("MultiHeadSelfAttention", "two heads over one of keys", {spread({2, 3, 3})}, [] {
    return nn::MultiHeadSelfAttention(
        {.d_in = 3, .d_out = 4, .num_heads = 2, .positions = nn::Positions::shaw, .num_kv_heads = 1});
  });
  table.add("MultiHeadAttention", "padding", {spread({2, 3, 4}), tensor({{1, 2, 0}, {3, 1, 2}})}, make,
            [](auto& module, X x) { return module(x[0], x[0], x[0], nn::padding_mask(x[1])); });
  table.add("MultiHeadSelfAttention", "causal", {spread({1, 3, 3})},
            [] { return nn::MultiHeadSelfAttention({.d_in = 3, .d_out = 4, .num_heads = 2, .dropout = 0.2}); });
  table.add("MultiHeadSelfAttention", "window, two heads over one of keys", {spread({1, 5, 3})}, [] {
    return nn::MultiHeadSelfAttention({.d_in = 3,
                                       .d_out = 4,
                                       .num_heads = 2,
                                       .dropout = 0.2,
                                       .num_kv_heads = 1,
                                       .attention = nn::WindowAttention{.window = 1, .global_tokens = 1}});
  });
  table.add(
      "MultiHeadSelfAttention", "padding, with biases", {spread({2, 3, 3}), tensor({{1, 2, 0}, {3, 1, 2}})},
      [] {
        return nn::MultiHeadSelfAttention({.d_in = 3, .d_out = 2, .num_heads = 1, .qkv_bias = true, .causal = false});
      },
      [](auto& module, X x) { return module(x[0], nn::padding_mask(x[1])); });
}

void add_torch_attention(ModuleTable& table) {
  table.add(
      "MultiheadAttention", "self, padding", {spread({3, 2, 4})},
      [] { return nn::MultiheadAttention(4, 2, {.dropout = 0.2}); },
      [](auto& module, X x) {
        return module(x[0], x[0], x[0], {.key_padding_mask = tensor({{0, 0, 1}, {0, 0, 0}}) > 0.0});
      });
  table.add(
      "MultiheadAttention", "keys and values of other widths, two more keys",
      {spread({1, 2, 4}), spread({1, 3, 3}, -1, 1), spread({1, 3, 2})},
      [] {
        return nn::MultiheadAttention(
            4, 2, {.add_bias_kv = true, .add_zero_attn = true, .kdim = 3, .vdim = 2, .batch_first = true});
      },
      [](auto& module, X x) { return module(x[0], x[1], x[2]); });
  table.add(
      "MultiheadAttention", "memory", {spread({2, 4}), spread({3, 4}, -1, 1)},
      [] { return nn::MultiheadAttention(4, 1, {.bias = false}); },
      [](auto& module, X x) { return module(x[0], x[1], x[1]); });
}

void add_additive_attention(ModuleTable& table) {
  const auto make = [] { return nn::AdditiveAttention(3, 2, 4); };
  table.add("AdditiveAttention", "three queries, four keys", {spread({2, 3, 3}), spread({2, 4, 2}, -1, 1)}, make,
            [](auto& module, X x) { return module(x[0], x[1]); });
  table.add("AdditiveAttention", "padding, own values",
            {spread({2, 1, 3}), spread({2, 3, 2}, -1, 1), spread({2, 3, 1}), tensor({{1, 2, 0}, {3, 1, 2}})}, make,
            [](auto& module, X x) {
              return module.attend(x[0], module.project(x[1], x[2]), nn::padding_mask(x[3]).squeeze(1));
            });
}

void add_long_attention(ModuleTable& table) {
  const auto padded = [](auto& module, X x) { return module(x[0], nn::padding_mask(x[1])); };
  const std::vector<Tensor> with_padding{spread({2, 4, 3}), tensor({{1, 2, 3, 0}, {3, 1, 2, 1}})};
  table.add("LinformerSelfAttention", "shared projection", {spread({2, 3, 3})}, [] {
    return nn::LinformerSelfAttention(
        {.d_in = 3, .d_out = 4, .num_heads = 2, .context_length = 4, .projected = 2, .dropout = 0.2});
  });
  table.add(
      "LinformerSelfAttention", "projections per head, padding", with_padding,
      [] {
        return nn::LinformerSelfAttention({.d_in = 3,
                                           .d_out = 2,
                                           .num_heads = 2,
                                           .context_length = 4,
                                           .projected = 2,
                                           .share_kv = false,
                                           .share_heads = false});
      },
      padded);
  for (const bool causal : {false, true}) {
    const char* const label = causal ? "causal, padding" : "padding";
    table.add(
        "PerformerSelfAttention", label, with_padding,
        [=] {
          return nn::PerformerSelfAttention(
              {.d_in = 3, .d_out = 4, .num_heads = 2, .num_features = 3, .causal = causal});
        },
        padded);
    table.add(
        "ReformerSelfAttention", label, with_padding,
        [=] {
          return nn::ReformerSelfAttention(
              {.d_in = 3, .d_out = 4, .num_heads = 2, .chunk_length = 1, .num_buckets = 2, .causal = causal});
        },
        padded);
  }
}

void add_reversible(ModuleTable& table) {
  const auto block = [] {
    return nn::ReversibleBlock<nn::FeedForward, nn::Linear>(nn::FeedForward(2, 3, 0.1, nn::Activation::tanh),
                                                            nn::Linear(2, 2));
  };
  table.add("ReversibleBlock", "forward and back", {spread({2, 2}), spread({2, 2}, -1, 1.3)}, block,
            [](auto& module, X x) {
              const nn::Halves y = module.inverse({x[0], x[1]});
              return sin(y.first) * y.second;
            });
  table.add("ReversibleStack", "stored activations", {spread({2, 2})}, [=] {
    nn::ReversibleStack<nn::FeedForward, nn::Linear> stack;
    stack.layers.push_back(block());
    stack.layers.push_back(block());
    stack.store_activations = true;
    return stack;
  });
}

// Every form in the module of attention, with sizes for short inputs.
void add_forms(ModuleTable& table) {
  const std::vector<Tensor> with_padding{spread({2, 4, 3}), tensor({{1, 2, 3, 0}, {3, 1, 2, 1}})};
  for (nn::AttentionChoice form : nn::attention_forms()) {
    for (const nn::Field& field : nn::fields_of(form)) {
      if (const auto* size = std::get_if<int64_t*>(&field.value)) **size = std::min<int64_t>(**size, 2);
    }
    for (const bool causal : {false, true}) {
      if (causal && !form.traits().not_causal.empty()) continue;
      table.add(
          "MultiHeadAttention", fmt::format("{}{}, padding", form.name(), causal ? ", causal" : ""), with_padding,
          [=] {
            return nn::MultiHeadAttention({.d_in = 3,
                                           .d_out = 4,
                                           .num_heads = 1,
                                           .context_length = 4,
                                           .dropout = 0.2,
                                           .qkv_bias = true,
                                           .causal = causal,
                                           .attention = form},
                                          nn::kAttentionNames);
          },
          [](auto& module, X x) { return module(x[0], x[0], x[0], nn::padding_mask(x[1])); });
    }
  }
}

// Positions inside attention: gradients flow through what is added to the scores.
struct PositionedAttention {
  nn::MultiHeadAttention attention;
  nn::RelativePositions relative;
  Tensor operator()(const Tensor& x) const {  // [B, T, C]
    const nn::PositionBias terms = relative(x.size(1), x.size(1), 0, x.dtype());
    return attention(x, x, x, {.mask = nn::causal_mask(x.size(1)), .positions = &terms});
  }
};

const nn::PositionOptions kLearned = nn::CompositePositionOptions{.added = "learned"};

// Positions that are added to x, with what they read of it.
void add_added_positions(ModuleTable& table) {
  const auto table_of = [](auto& module, X x) { return x[0] * module(3, 1); };
  const auto masked = [](auto& module, X x) { return sin(module(x[0], 0, nn::padding_mask(x[1]).reshape({2, 3, 1}))); };
  const Tensor ids = tensor({{3, 1, 2}, {4, 1, 0}}), x = spread({2, 3, 4});
  for (const bool causal : {false, true}) {
    const char* const label = causal ? "causal" : "both directions";
    table.add("ConvPositions", label, {x}, [=] { return nn::ConvPositions(4, 3, causal); });
    table.add("MultiscaleConvPositions", label, {x}, [=] { return nn::MultiscaleConvPositions(4, causal); });
    table.add("DynamicPositions", label, {x}, [=] { return nn::DynamicPositions(4, 3, causal); });
  }
  table.add("LstmPositions", "[2, 3, 4]", {x}, [] { return nn::LstmPositions(4, 2); });
  table.add(
      "ComplexPositions", "three positions", {spread({3, 4})}, [] { return nn::ComplexPositions(4); }, table_of);
  for (const nn::OdeSolver solver : {nn::OdeSolver::rk4, nn::OdeSolver::dopri5}) {
    for (const bool adjoint : {false, true}) {
      const nn::OdePositionOptions options{
          .size = 2, .solver = {.solver = solver, .steps = 16, .tolerance = 1e-13, .adjoint = adjoint}};
      // backward takes the steps that dopri5 chooses by the weights as constants
      const double atol = solver == nn::OdeSolver::dopri5 && !adjoint ? 1e-10 : 0;
      table.add(
          "OdePositions",
          fmt::format("{}{}", nn::kOdeSolverNames[static_cast<int>(solver)], adjoint ? ", adjoint" : ""),
          {spread({2, 2})}, [=] { return nn::OdePositions(2, options); },
          [](auto& module, X x) { return x[0] * module(2, 1); }, atol);
    }
  }
  for (const nn::PositionKind* kind : nn::position_kinds()) {
    const nn::Positions positions = kind->positions();
    if (nn::added_kind(positions, kLearned) == nn::Positions::none) continue;
    table.add(
        "AddedPositions", kind->name, {x, ids}, [=] { return nn::AddedPositions(positions, 3, 4, kLearned); }, masked);
  }
}

void add_positions(ModuleTable& table) {
  nn::PositionOptions options(nn::ShawOptions{.distance = 1}, nn::T5Options{.buckets = 4, .distance = 4});
  const auto scores = [](auto& module, X x) { return module.scores(x[0], 3, 1); };
  table.add(
      "ShawPositions", "scores", {spread({1, 2, 2, 2})}, [] { return nn::ShawPositions(1, 2); }, scores);
  table.add(
      "ShawPositions", "scores and values", {spread({1, 2, 2, 2}), spread({1, 2, 2, 3})},
      [] { return nn::ShawPositions(1, 2, true); },
      [](auto& module, X x) { return sum(exp(module.scores(x[0], 3, 1))) * module.weighted_values(x[1], 1); });
  table.add(
      "T5Bias", "three queries", {spread({1, 2, 3, 3})}, [] { return nn::T5Bias(4, 4, 2, true); },
      [](auto& module, X x) { return sin(x[0] + module(3, 3)); });
  table.add(
      "RelativePositions", "t5", {spread({1, 2, 2, 3})},
      [=] { return nn::RelativePositions(nn::Positions::t5, 2, 2, true, options); },
      [](auto& module, X x) { return sin(x[0] + module(2, 3, 1, kFloat64).bias); });
  const auto add = [&table](const std::string& label, nn::Positions kind, const nn::PositionOptions& of) {
    table.add("MultiHeadAttention", label, {spread({1, 3, 4})}, [=] {
      return PositionedAttention{{4, 2, 0.2, kind, of}, {kind, 2, 2, true, of}};
    });
  };
  for (const std::string_view kind : nn::relative_position_names()) {
    add(std::string(kind), nn::positions_named(kind), options);
  }
  options.of<nn::ShawOptions>().values = true;
  add("shaw with values", nn::Positions::shaw, options);
  for (const std::string_view kind : nn::relative_position_names()) {
    options.of<nn::CompositePositionOptions>().relative = kind;
    add(fmt::format("composite with {}", kind), nn::Positions::composite, options);
  }
}

}  // namespace

void add_attention_samples(ModuleTable& table) {
  add_attention(table);
  add_torch_attention(table);
  add_additive_attention(table);
  add_long_attention(table);
  add_reversible(table);
  add_forms(table);
  add_added_positions(table);
  add_positions(table);
}

}  // namespace tapegrad::tasks
