// The models of the text tasks: a classifier, a summariser that can copy, and one that finds answers.
//
// Letters: B texts, T tokens of a text, N segments, L tokens of a segment, U tokens of a summary, C width, V
// vocabulary.
#pragma once

#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/transformer.h>

#include <cstdint>
#include <string_view>

namespace tapegrad::tasks {

/// How a text becomes vectors.
///   flat       full attention over the text, which is cut at the context
///   window     the same with attention to `window` tokens on each side
///   hierarchy  an encoder in each segment, and an encoder over the segments' vectors. Pappagari et al. 2019; Yang et
///              al. 2016 (with recurrent layers)
enum class TextEncoderKind { flat, window, hierarchy };
inline constexpr std::string_view kTextEncoderNames[] = {"flat", "window", "hierarchy"};

/// Sizes of all three models. Token 0 is padding.
struct TextModelConfig {
  int64_t vocab_size = 0, classes = 0;
  int64_t hidden_size = 64, num_hidden_layers = 2, num_attention_heads = 4, intermediate_size = 128;
  double dropout = 0.1;
  int64_t context = 256;         ///< tokens of a text
  int64_t summary_context = 48;  ///< tokens of a summary
  TextEncoderKind encoder = TextEncoderKind::hierarchy;
  int64_t window = 32;
  int64_t segment = 32;        ///< hierarchy: tokens of a segment
  int64_t segment_layers = 1;  ///< hierarchy: layers over the segments' vectors
  bool no_copy = false;        ///< the summariser generates all words from the vocabulary

  /// Of the encoder of tokens, and for a summariser of the decoder.
  nn::TransformerConfig transformer(int64_t positions, int64_t layers) const;
};

/// The mean of x [..., T, C] over the tokens that `mask`, bool [..., T], has; zeros where it has none. -> [..., C].
Tensor masked_mean(const Tensor& x, const Tensor& mask);

/// The encoder over the vectors of segments: learned positions and layers as in nn::TransformerEncoder.
struct SegmentEncoder {
  explicit SegmentEncoder(const TextModelConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& mask) const;  ///< [B, N, C], bool [B, N] -> [B, N, C]
  void visit(auto&& field) {
    field("positions", positions);
    field("layers", layers);
    field("norm", norm);
  }

  nn::LearnedPositions positions;
  nn::List<nn::TransformerEncoderLayer> layers;
  nn::LayerNormStd norm;
};

struct TextClassifier {
  explicit TextClassifier(const TextModelConfig& config);
  Tensor encode(const Tensor& ids) const;      ///< ids [B, T] -> one vector per text [B, C]
  Tensor operator()(const Tensor& ids) const;  ///< -> logits [B, classes]
  void visit(auto&& field) {
    field("tokens", tokens);
    field("segments", segments);
    field("head", head);
    field("dropout", dropout);
  }

  TextModelConfig config;
  nn::TransformerEncoder tokens;
  nn::Optional<SegmentEncoder> segments;  // hierarchy only
  nn::Linear head;
  nn::Dropout dropout;
};

/// gate vocabulary + (1 - gate) copied, where `copied` has each position's weight at the position's token: the mixture
/// of a pointer-generator. See, Liu, Manning 2017, equation 9. vocabulary [B, U, V] and weights [B, U, T],
/// probabilities; gate [B, U, 1]; source [B, T] -> [B, U, V].
Tensor mix_with_copies(const Tensor& vocabulary, const Tensor& weights, const Tensor& gate, const Tensor& source);

/// An encoder-decoder Transformer whose next token comes from the vocabulary or is copied from the text.
struct Summarizer {
  explicit Summarizer(const TextModelConfig& config);
  /// Decoder output [B, U, C], memory [B, T, C] and ids [B, T] of the text -> log-probabilities [B, U, V].
  Tensor predict(const Tensor& hidden, const Tensor& memory, const Tensor& source) const;
  /// source [B, T], target [B, U], the tokens so far -> log-probabilities of the next ones [B, U, V].
  Tensor operator()(const Tensor& source, const Tensor& target) const;
  void visit(auto&& field) {
    field("transformer", transformer);
    field("query", query);
    field("key", key);
    field("gate", gate);
  }

  nn::Transformer transformer;
  nn::Optional<nn::Linear> query, key, gate;  // of the copies; none: words of the vocabulary only
};

/// A summariser in decoding: each text is encoded once, each token decoded once.
class SummarizerNext final : public nn::NextTokenLogits {
 public:
  SummarizerNext(const Summarizer& model, const Tensor& source);
  void restart() override;
  Tensor logits(const Tensor& ids) override;
  void reorder(const Tensor& rows) override;

 private:
  const Summarizer& model_;
  Tensor source_, memory_;            // [B, T], [B, T, C]
  Tensor rows_source_, rows_memory_;  // the same, in the order of the rows
  nn::DecoderCache cache_;
};

/// Finds the part of a text that answers a question: scores each token as the first and as the last one of the answer.
/// Devlin et al. 2019, section 4.2.
struct AnswerFinder {
  explicit AnswerFinder(const TextModelConfig& config);
  /// ids [B, T], question and text; `answerable`, bool [B, T], the tokens of the text -> logits [B, 2, T], -inf where a
  /// token is not answerable.
  Tensor operator()(const Tensor& ids, const Tensor& answerable) const;
  void visit(auto&& field) {
    field("tokens", tokens);
    field("head", head);
  }

  nn::TransformerEncoder tokens;
  nn::Linear head;
};

/// Logits [2, T] of first and last tokens -> the best pair (first <= last < first + longest) by the sum of both.
std::pair<int64_t, int64_t> best_span(const Tensor& logits, int64_t longest);

}  // namespace tapegrad::tasks
