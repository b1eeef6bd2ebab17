// What several pages share: the sentence of tutorial 004, small Transformers, and data for widgets.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/nn/attention_pass.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/tutorials/page.h>
#include <tapegrad/tutorials/programs/given.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::tutorial {

/// "Your journey starts with one step": six words. given::journey() are their vectors.
const std::vector<std::string>& journey_words();

/// Cells 16 to 24: three matrices drawn with seed 123, and what they make of the words.
struct JourneyRoles {
  JourneyRoles();
  Tensor w_query, w_key, w_value;  ///< [3, 2]
  Tensor queries, keys, values;    ///< [6, 2]
};

/// The scores [6, 6] of cells 28 to 36, not scaled: queries and keys come from linear layers, seed 789.
Tensor journey_scores();

/// The sizes of a Transformer; one dropout probability for all places.
nn::TransformerConfig sizes_of_model(int64_t vocab, int64_t hidden, int64_t layers, int64_t heads, int64_t inner,
                                     int64_t length, double dropout = 0);

/// Finite numbers as JSON, nested as the tensor's axes are, with up to four digits after the point; and texts.
std::string json_of(const Tensor& x);
std::string json_of(const std::vector<std::string>& texts);
/// The text in the language of the page, in quotes.
std::string json_of(const Text& text);

/// Data of the widget "formula": an input has a slider, and a result a formula in JSON, as ["*", 2, "n"].
struct FormulaInput {
  std::string_view key;
  Text name;
  double min, max, step, value;
  bool power = false;  ///< 2 to the power of the slider
};
struct FormulaResult {
  Text name;
  std::string_view formula;
};
std::string json_of(const std::vector<FormulaInput>& inputs, const std::vector<FormulaResult>& results, int digits = 0);

/// Data of the widget "mask": scores [T, T], and what may be attended to, [T, T], or [T] for all alike.
std::string json_of_mask(const std::vector<std::string>& tokens, const Tensor& scores, const Tensor& allowed);

/// Data of the widget "attention": all heads of one attention, weights [heads, rows, columns].
std::string json_of_heads(const Tensor& weights, const Text& group, const std::vector<std::string>& rows,
                          const std::vector<std::string>& columns);
/// The same for all attentions of a Transformer, of the first sequence.
std::string json_of_heads(const nn::AttentionMaps& maps, const std::vector<std::string>& source,
                          const std::vector<std::string>& target);

}  // namespace tapegrad::tasks::tutorial
