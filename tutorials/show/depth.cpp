// The topic depth (8.2.3, deep dives 4.1 and 6.2; 8.4): what becomes of the tokens and of the gradient in deep stacks
// of random layers: Pre-LN, Post-LN, and attention alone.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::tasks {
namespace depth {
namespace {

using drawing::fixed;

constexpr int64_t kDepths[] = {2, 4, 8, 12, 16, 24};  // of the tables
constexpr int64_t kDeepest = 24, kHeads = 4;
constexpr double kTolerance = 0.01;  // singular values below this share of the largest count as 0
constexpr double kNoise = 0.1;       // standard deviation of the noise; that of the tokens is 1
constexpr double kRounding = 1e-24;  // ratios of signal to noise below this one are those of rounding
constexpr double kTutorialRank = 0.1, kTutorialDecay = -0.2;

struct Stack {
  std::string name;
  bool post_norm, alone;  // attention alone: no residuals, norms or feed-forward blocks
};

nn::TransformerEncoder encoder_of(const Stack& stack, int64_t dim, uint64_t seed) {
  manual_seed(seed);
  nn::TransformerEncoder encoder({.vocab_size = 1,
                                  .hidden_size = dim,
                                  .num_hidden_layers = kDeepest,
                                  .num_attention_heads = kHeads,
                                  .intermediate_size = 4 * dim,
                                  .positions = nn::Positions::none,
                                  .post_norm = stack.post_norm});
  for (const nn::NamedParameter& p : nn::named_parameters(encoder.layers))
    if (p.parameter->dim() > 1) nn::init::xavier_uniform(p.parameter);
  nn::to(encoder, kFloat64);
  nn::eval(encoder);
  return encoder;
}

Tensor through(const nn::TransformerEncoderLayer& layer, bool alone, const Tensor& x, Tensor* weights = nullptr) {
  const nn::AttentionPass pass{.weights = weights};
  return alone ? layer.attention(x, x, x, pass) : layer(x, pass);
}

// What is measured after each layer, and the gradients of a stack of that many layers.
struct Measured {
  std::vector<double> layers, rank, similarity, signal, weights_rank;
  std::vector<double> depths, gradient;  // kDepths
  double signal_before = 0;              // of the input
};

// The number of singular values above the tolerance, a mean over the matrices in x [..., M, N].
double rank_of(const Tensor& x) {
  const Tensor values = svdvals(x);
  const Tensor counted = gt(values, amax(values, {-1}, true) * kTolerance);
  return sum(counted.to(kFloat64)).item() / static_cast<double>(values.numel() / values.size(-1));
}

// Mean square of what distinguishes the tokens of x, over that of the change by the noise.
double signal_to_noise(const Tensor& x, const Tensor& noisy) {
  return mean(square(x - mean(x, {1}, true))).item() / mean(square(noisy - x)).item();
}

double norm_of(const Gradients& grads, nn::TransformerEncoderLayer& layer) {
  double squares = 0;
  for (const nn::NamedParameter& p : nn::named_parameters(layer))
    if (const Tensor* const grad = grads.find(p.parameter)) squares += sum(square(*grad)).item();
  return std::sqrt(squares);
}

// The norm of the gradient of the first of `count` layers, over that of the last one; the loss is a random linear
// function of the normalised result.
double gradient_ratio(nn::TransformerEncoder& encoder, bool alone, const Tensor& x, const Tensor& slope,
                      int64_t count) {
  Tape tape;
  Tensor y = x;
  for (int64_t i = 0; i < count; ++i) y = through(encoder.layers[static_cast<std::size_t>(i)], alone, y);
  const Gradients grads = tape.backward(mean(encoder.norm(y) * slope));
  return norm_of(grads, encoder.layers[0]) / norm_of(grads, encoder.layers[static_cast<std::size_t>(count - 1)]);
}

Measured measure(const Stack& stack, int64_t length, int64_t dim, uint64_t seed) {
  nn::TransformerEncoder encoder = encoder_of(stack, dim, seed);
  Generator generator(seed + 1);
  const Shape shape{1, length, dim};
  const Tensor start = randn(shape, kFloat64, &generator), slope = randn(shape, kFloat64, &generator);
  Tensor x = start, noisy = start + kNoise * randn(shape, kFloat64, &generator);
  Measured out;
  out.signal_before = signal_to_noise(x, noisy);
  for (int64_t i = 0; i < kDeepest; ++i) {
    const nn::TransformerEncoderLayer& layer = encoder.layers[static_cast<std::size_t>(i)];
    Tensor weights;  // [1, H, T, T]
    x = through(layer, stack.alone, x, &weights);
    noisy = through(layer, stack.alone, noisy);
    out.layers.push_back(static_cast<double>(i + 1));
    out.rank.push_back(rank_of(x));
    out.similarity.push_back(likeness(x));
    out.signal.push_back(signal_to_noise(x, noisy));
    out.weights_rank.push_back(rank_of(weights));
  }
  for (const int64_t count : kDepths) {
    out.depths.push_back(static_cast<double>(count));
    out.gradient.push_back(gradient_ratio(encoder, stack.alone, start, slope, count));
  }
  return out;
}

Table table_of(const Measured& m) {
  Table out({-8, 6, 12, 18, 17, 18});
  out.row(said("layers"), said("rank"), said("similarity"), said("signal to noise"), said("weights' rank"),
          said("gradient ratio"));
  for (std::size_t i = 0; i < m.depths.size(); ++i) {
    const auto at = static_cast<std::size_t>(m.depths[i]) - 1;
    out.row(m.depths[i], fixed(m.rank[at], 0), fixed(m.similarity[at], 4), fmt::format("{:.2g}", m.signal[at]),
            fixed(m.weights_rank[at], 1), fmt::format("{:.3g}", m.gradient[i]));
  }
  return out;
}

// The number of layers up to which the signal is more than rounding, and the mean change of the logarithm of its ratio
// to the noise in these layers.
std::pair<std::size_t, double> decay_of(const Measured& m) {
  std::size_t count = 1;
  while (count < m.signal.size() && m.signal[count] > kRounding) ++count;
  return {count, std::log(m.signal[count - 1] / m.signal_before) / static_cast<double>(count)};
}

// What the numbers say.
std::string verdict(const Stack& stack, const Measured& m, int64_t length) {
  std::string out = stack.name + ": ";
  std::size_t collapsed = 0;
  while (collapsed < m.rank.size() && m.rank[collapsed] > 1) ++collapsed;
  out += collapsed < m.rank.size()
             ? said("the token matrix has rank 1 after layer {} (similarity {:.4f})", collapsed + 1,
                    m.similarity[collapsed])
             : said("the rank never falls to 1; it is {:.0f} after {} layers", m.rank.back(), kDeepest);
  const double share = m.weights_rank.back() / static_cast<double>(length);
  out +=
      share <= kTutorialRank
          ? said(". The attention weights of layer {} have a rank of {:.2f} n: the tutorial's {} n is not exceeded. ",
                 kDeepest, share, kTutorialRank)
          : said(". The attention weights of layer {} have a rank of {:.2f} n: the tutorial's {} n is exceeded. ",
                 kDeepest, share, kTutorialRank);
  const auto decay = decay_of(m);
  out +=
      said("From layer to layer the ratio of signal to noise is multiplied by e^{:.2f} (the tutorial: e^{}){}. ",
           decay.second, kTutorialDecay,
           decay.first < m.signal.size() ? said("; after layer {} only rounding is left", decay.first) : std::string());
  out += said("The gradient of the first of {} layers is {:.2g} times the gradient of the last one.\n", kDeepest,
              m.gradient.back());
  return drawing::wrapped(out);
}

}  // namespace
}  // namespace depth

Exhibit show_depth(const ShowRequest& request) {
  using namespace depth;
  const int64_t length = request.length.value_or(32), dim = request.dim.value_or(64);
  require(dim % 8 == 0, "--dim", fmt::format("expected a multiple of 8, got {}", dim));
  Exhibit exhibit{.title = said("Tokens and gradients in deep stacks of random layers (8.2.3, 8.4)"),
                  .text = told("depth-1", length, dim, kHeads, 4 * dim, kTolerance, kNoise),
                  .columns = 1};
  drawing::LineChart rank{
      .title = said("Rank of the tokens"), .x_label = said("layer"), .y_label = said("rank"), .y_low = 0};
  drawing::LineChart similarity{.title = said("Similarity of the tokens"),
                                .x_label = said("layer"),
                                .y_label = said("mean cosine"),
                                .y_low = -0.1,
                                .y_high = 1};
  drawing::LineChart signal{
      .title = said("Signal to noise"), .x_label = said("layer"), .y_label = said("ratio of variances"), .log_y = true};
  drawing::LineChart gradient{.title = said("Gradient of the first layer over the last layer's"),
                              .x_label = said("layers of the stack"),
                              .y_label = said("ratio of norms"),
                              .log_y = true};
  std::string verdicts;
  for (const Stack& stack : {Stack{"Pre-LN", false, false}, Stack{"Post-LN", true, false},
                             Stack{said("Attention alone, without residuals"), false, true}}) {
    const Measured m = measure(stack, length, dim, request.seed.value_or(0));
    exhibit.text += stack.name + "\n";
    exhibit.text += table_of(m);
    exhibit.text += "\n";
    verdicts += verdict(stack, m, length) + "\n";
    rank.series.push_back({.name = stack.name, .x = m.layers, .y = m.rank});
    similarity.series.push_back({.name = stack.name, .x = m.layers, .y = m.similarity});
    signal.series.push_back({.name = stack.name, .x = m.layers, .y = m.signal});
    gradient.series.push_back({.name = stack.name, .x = m.depths, .y = m.gradient});
  }
  rank.y_high = static_cast<double>(std::min(length, dim));
  exhibit.text += verdicts;
  exhibit.drawings = {draw(rank), draw(similarity), draw(signal), draw(gradient)};
  return exhibit;
}

}  // namespace tapegrad::tasks
