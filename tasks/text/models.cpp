// The forward passes of the text models.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/window.h>
#include <tapegrad/tasks/text/models.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::tasks {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// Matrices as nn::Transformer starts them.
template <class Model>
void start_matrices(Model& model) {
  for (auto& [name, parameter] : nn::named_parameters(model))
    if (parameter->dim() > 1) nn::init::xavier_uniform(parameter);
}

nn::TransformerConfig token_encoder(const TextModelConfig& config) {
  const bool cut = config.encoder == TextEncoderKind::hierarchy;
  nn::TransformerConfig of = config.transformer(cut ? config.segment : config.context, config.num_hidden_layers);
  if (config.encoder == TextEncoderKind::window) {
    of.attention = nn::WindowAttention{.window = config.window};
  }
  return of;
}

// bool [B, T] -> what attention takes, [B, 1, 1, T].
Tensor keys_of(const Tensor& mask) { return mask.reshape({mask.size(0), 1, 1, mask.size(1)}); }

nn::Optional<nn::Linear> linear_if(bool there, int64_t in, int64_t out) {
  nn::Optional<nn::Linear> made;
  if (there) made.emplace(in, out);
  return made;
}

}  // namespace

nn::TransformerConfig TextModelConfig::transformer(int64_t positions, int64_t layers) const {
  nn::TransformerConfig config;
  config.vocab_size = vocab_size;
  config.hidden_size = hidden_size;
  config.num_hidden_layers = layers;
  config.num_attention_heads = num_attention_heads;
  config.intermediate_size = intermediate_size;
  config.max_position_embeddings = positions;
  config.dropout_prob = config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout;
  return config;
}

Tensor masked_mean(const Tensor& x, const Tensor& mask) {
  const Tensor weights = mask.to(x.dtype()).unsqueeze(-1);  // [..., T, 1]
  return sum(x * weights, {-2}) / maximum(sum(weights, {-2}), 1.0);
}

// --- classifier ---

SegmentEncoder::SegmentEncoder(const TextModelConfig& config)
    : positions((config.context + config.segment - 1) / config.segment, config.hidden_size),
      layers(nn::repeat<nn::TransformerEncoderLayer>(config.segment_layers, config.transformer(1, 1))),
      norm(config.hidden_size) {}

Tensor SegmentEncoder::operator()(const Tensor& x, const Tensor& mask) const {
  Tensor y = x + positions(x.size(1));
  const Tensor keys = keys_of(mask);
  for (const nn::TransformerEncoderLayer& layer : layers) y = layer(y, {.mask = keys});
  return norm(y);
}

TextClassifier::TextClassifier(const TextModelConfig& config)
    : config(config), tokens(token_encoder(config)), head(config.hidden_size, config.classes), dropout(config.dropout) {
  if (config.encoder == TextEncoderKind::hierarchy) segments.emplace(config);
  start_matrices(*this);
}

Tensor TextClassifier::encode(const Tensor& ids) const {
  const int64_t b = ids.size(0), l = config.segment;
  if (!segments) {
    const Tensor mask = ids != 0.0;
    return masked_mean(tokens(ids, keys_of(mask)), mask);
  }
  const int64_t n = (ids.size(1) + l - 1) / l;
  const Tensor cut = pad(ids, {0, n * l - ids.size(1)}).reshape({b * n, l});  // [B N, L]
  const Tensor mask = cut != 0.0;
  const Tensor vectors = masked_mean(tokens(cut, keys_of(mask)), mask).reshape({b, n, config.hidden_size});
  const Tensor filled = any(mask, 1).reshape({b, n});
  return masked_mean((*segments)(vectors, filled), filled);
}

Tensor TextClassifier::operator()(const Tensor& ids) const { return head(dropout(encode(ids))); }

// --- summariser ---

Tensor mix_with_copies(const Tensor& vocabulary, const Tensor& weights, const Tensor& gate, const Tensor& source) {
  const int64_t b = weights.size(0), u = weights.size(1), t = weights.size(2);
  const Tensor at = source.reshape({b, 1, t}).expand({b, u, t});
  return scatter_add(gate * vocabulary, -1, at, (1.0 - gate) * weights);
}

Summarizer::Summarizer(const TextModelConfig& config)
    : transformer(config.transformer(std::max(config.context, config.summary_context), config.num_hidden_layers)),
      query(linear_if(!config.no_copy, config.hidden_size, config.hidden_size)),
      key(linear_if(!config.no_copy, config.hidden_size, config.hidden_size)),
      gate(linear_if(!config.no_copy, 2 * config.hidden_size, 1)) {}

Tensor Summarizer::predict(const Tensor& hidden, const Tensor& memory, const Tensor& source) const {
  if (!gate) return transformer.predict(hidden);
  const double scale = 1 / std::sqrt(static_cast<double>(hidden.size(-1)));
  const Tensor scores = matmul((*query)(hidden), (*key)(memory).transpose(-1, -2)) * scale;  // [B, U, T]
  const Tensor padding = (source == 0.0).reshape({source.size(0), 1, source.size(1)});
  const Tensor weights = softmax(masked_fill(scores, padding, kHidden));
  const Tensor found = matmul(weights, memory);  // [B, U, C]
  const Tensor share = sigmoid((*gate)(cat({hidden, found}, -1)));
  constexpr double kLeast = 1e-10;  // the logarithm of a probability that underflows is finite
  return log(mix_with_copies(softmax(transformer.generator(hidden)), weights, share, source) + kLeast);
}

Tensor Summarizer::operator()(const Tensor& source, const Tensor& target) const {
  const Tensor mask = nn::padding_mask(source);
  const Tensor memory = transformer.encode(source, mask);
  return predict(transformer.decode(memory, mask, target, nn::causal_mask(target.size(1))), memory, source);
}

SummarizerNext::SummarizerNext(const Summarizer& model, const Tensor& source) : model_(model), source_(source) {
  const PauseRecording pause;
  memory_ = model.transformer.encode(source, nn::padding_mask(source));
  restart();
}

void SummarizerNext::restart() {
  const PauseRecording pause;
  rows_source_ = source_;
  rows_memory_ = memory_;
  cache_ = model_.transformer.decoder.begin(memory_, nn::padding_mask(source_));
}

Tensor SummarizerNext::logits(const Tensor& ids) {
  const PauseRecording pause;
  const int64_t read = cache_.target.length();
  const Tensor hidden = model_.transformer.decoder.step(narrow(ids, 1, read, ids.size(1) - read), cache_);
  return model_.predict(narrow(hidden, 1, hidden.size(1) - 1, 1), rows_memory_, rows_source_).select(1, 0);
}

void SummarizerNext::reorder(const Tensor& rows) {
  const PauseRecording pause;
  rows_source_ = index_select(rows_source_, 0, rows);
  rows_memory_ = index_select(rows_memory_, 0, rows);
  cache_.reorder(rows);
}

// --- answers ---

AnswerFinder::AnswerFinder(const TextModelConfig& config) : tokens(token_encoder(config)), head(config.hidden_size, 2) {
  start_matrices(*this);
}

Tensor AnswerFinder::operator()(const Tensor& ids, const Tensor& answerable) const {
  const Tensor scores = head(tokens(ids, nn::padding_mask(ids))).transpose(1, 2);  // [B, 2, T]
  return masked_fill(scores, logical_not(answerable).unsqueeze(1), kHidden);
}

std::pair<int64_t, int64_t> best_span(const Tensor& logits, int64_t longest) {
  const std::vector<float> scores = logits.contiguous().to_vector<float>();
  const int64_t length = logits.size(1);
  std::pair<int64_t, int64_t> best{0, 0};
  float most = -std::numeric_limits<float>::infinity();
  for (int64_t first = 0; first < length; ++first)
    for (int64_t last = first; last < std::min(length, first + longest); ++last) {
      const float score = scores[static_cast<std::size_t>(first)] + scores[static_cast<std::size_t>(length + last)];
      if (score > most) most = score, best = {first, last};
    }
  return best;
}

}  // namespace tapegrad::tasks
