// A Conformer (Gulati et al. 2020) that recognises words of two tones. A word has two syllables; each is low or
// high, and rises or falls: sixteen words, which the program makes itself, with random pitch, tempo, pause and noise.
// A few frames show which syllable it is (convolution); all frames show which syllable came first (attention).
//
//   tones OUT [SEED]     writes the run's files and tones.svg into OUT; default seed: 0
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace tg = tapegrad;
namespace nn = tapegrad::nn;

constexpr int64_t kSamples = 2048, kRate = 4000;         // half a second
constexpr int64_t kFrame = 128, kHop = 64, kBands = 24;  // 31 frames of 32 ms; bands of 31 Hz
constexpr int64_t kFrames = (kSamples - kFrame) / kHop + 1, kWords = 16;
constexpr int64_t kEpochs = 15;
constexpr double kTarget = 0.95;

// The sound of a word: two glides with a pause between them, in noise.
std::vector<float> sound_of(int64_t word, tg::Generator& draw) {
  std::vector<double> u(6);
  draw.uniform(u.data(), 6);
  std::vector<float> sound(kSamples);
  draw.normal(sound.data(), kSamples, 0, 0.3);
  const double base = 200 + 80 * u[0], loud = 0.6 + 0.6 * u[1], pause = 0.03 + 0.05 * u[2];
  const double length = 0.13 + 0.04 * u[3];  // of a syllable, in seconds
  double start = 0.02 + (0.5 - 2 * length - pause - 0.04) * u[4], phase = 2 * std::numbers::pi * u[5];
  for (const int64_t syllable : {word / 4, word % 4}) {  // bit 1: high; bit 0: rises
    const double from = base * (syllable / 2 == 1 ? 1.8 : 1), glide = syllable % 2 == 1 ? 0.35 : -0.35;
    const auto first = static_cast<int64_t>(start * kRate), count = static_cast<int64_t>(length * kRate);
    for (int64_t i = 0; i < count && first + i < kSamples; ++i) {
      const double t = static_cast<double>(i) / static_cast<double>(count);
      phase += 2 * std::numbers::pi * from * (1 + glide * (t - 0.5)) / kRate;
      sound[static_cast<std::size_t>(first + i)] +=
          static_cast<float>(loud * std::sin(std::numbers::pi * t) * std::sin(phase));
    }
    start += length + pause;
  }
  return sound;
}

// The logarithm of the power of each band in each frame: [N, samples] -> [N, frames, bands].
tg::Tensor spectrogram(const tg::Tensor& sounds) {
  const tg::Tensor time = tg::arange(0, kFrame, 1, tg::kFloat32).unsqueeze(1);
  const tg::Tensor angle = time * tg::arange(0, kBands, 1, tg::kFloat32) * (2 * std::numbers::pi / kFrame);
  const tg::Tensor window = tg::square(tg::sin(time * (std::numbers::pi / kFrame)));  // Hann's
  std::vector<tg::Tensor> frames;
  for (int64_t i = 0; i < kFrames; ++i) frames.push_back(tg::narrow(sounds, 1, i * kHop, kFrame));
  const tg::Tensor cut = tg::stack(frames, 1);  // [N, frames, kFrame]
  const tg::Tensor power =
      tg::square(tg::matmul(cut, window * tg::cos(angle))) + tg::square(tg::matmul(cut, window * tg::sin(angle)));
  return tg::log(power + 1e-3) / 4.0;
}

struct Words {
  tg::Tensor features, labels;  // [N, frames, bands], [N]
  Words(int64_t count, tg::Generator& draw) {
    labels = tg::randint(0, kWords, {count}, &draw);
    std::vector<float> sounds;
    for (const int64_t word : labels.to_vector<int64_t>()) {
      const std::vector<float> one = sound_of(word, draw);
      sounds.insert(sounds.end(), one.begin(), one.end());
    }
    features = spectrogram(tg::tensor(sounds, {count, kSamples}));
  }
  int64_t size() const { return labels.numel(); }
  std::pair<tg::Tensor, int64_t> operator[](int64_t i) const { return {features[i], labels[i].item<int64_t>()}; }
};

struct FeedForward {
  int64_t dim;
  nn::LayerNorm norm{dim};
  nn::Linear up{dim, 4 * dim}, down{4 * dim, dim};
  nn::Dropout dropout{0.1};
  tg::Tensor operator()(const tg::Tensor& x) const { return dropout(down(dropout(tg::silu(up(norm(x)))))); }
};

// Gated pointwise convolution, depthwise convolution over nearby frames, pointwise convolution.
struct Convolution {
  int64_t dim;
  nn::LayerNorm norm{dim};
  nn::Conv1d gate{dim, 2 * dim, 1}, depthwise{dim, dim, 7, {.padding = 3, .groups = dim}}, out{dim, dim, 1};
  nn::BatchNorm1d batch_norm{dim};
  nn::Dropout dropout{0.1};
  tg::Tensor operator()(const tg::Tensor& x) const {  // [B, T, C] -> the same
    const tg::Tensor gated = tg::glu(gate(norm(x).transpose(1, 2)), 1);
    return dropout(out(tg::silu(batch_norm(depthwise(gated)))).transpose(1, 2));
  }
};

// Half a feed-forward block, attention over all frames with relative positions, convolution, half a feed-forward block.
struct ConformerBlock {
  int64_t dim;
  FeedForward first{dim}, second{dim};
  nn::LayerNorm before{dim}, after{dim};
  nn::MultiHeadAttention attention{dim, 4, 0.1, nn::Positions::shaw};
  Convolution convolution{dim};
  nn::Dropout dropout{0.1};
  tg::Tensor operator()(const tg::Tensor& x) const {
    tg::Tensor y = x + first(x) / 2.0;
    const tg::Tensor n = before(y);
    y = y + dropout(attention(n, n, n));
    y = y + convolution(y);
    return after(y + second(y) / 2.0);
  }
  void visit(auto&& field) {
    field("first", first);
    field("before", before);
    field("attention", attention);
    field("convolution", convolution);
    field("second", second);
    field("after", after);
    field("dropout", dropout);
  }
};

struct Conformer {
  nn::Linear in{kBands, 32};
  nn::List<ConformerBlock> blocks = nn::repeat<ConformerBlock>(2, 32);
  nn::Linear head{32, kWords};
  tg::Tensor operator()(const tg::Tensor& x) const {  // [B, frames, bands] -> [B, words]
    tg::Tensor y = in(x);
    for (const ConformerBlock& block : blocks) y = block(y);
    return head(tg::mean(y, {1}));
  }
};

std::string name_of(int64_t word) {  // "low up, high down"
  const auto syllable = [](int64_t s) {
    return std::string(s / 2 == 1 ? "high " : "low ") + (s % 2 == 1 ? "up" : "down");
  };
  return syllable(word / 4) + ", " + syllable(word % 4);
}

// Four spectrograms with their words, and the confusion matrix.
tg::drawing::Drawing picture(const Words& words, const std::vector<int64_t>& answers) {
  const std::vector<int64_t> labels = words.labels.to_vector<int64_t>();
  std::vector<tg::drawing::Drawing> parts;
  for (std::size_t i = 0; i < 4; ++i) {
    const tg::Tensor x = tg::flip(words.features[static_cast<int64_t>(i)].t(), {0});  // high bands on top
    const double low = tg::amin(x).item(), high = tg::amax(x).item();
    tg::drawing::Heatmap map{.title = name_of(labels[i]), .row_axis = "band", .column_axis = "frame"};
    for (int64_t b = kBands - 1; b >= 0; --b) map.row_labels.push_back(std::to_string(b));
    for (int64_t f = 0; f < kFrames; ++f) map.column_labels.push_back(std::to_string(f));
    map.values = ((x - low) / (high - low)).contiguous().to_vector<float>();
    map.cell_width = map.cell_height = 8;
    parts.push_back(draw(map));
  }
  tg::drawing::Heatmap confusion{.title = "Answers to unseen sounds", .row_axis = "word", .column_axis = "answer"};
  std::vector<float> count(kWords * kWords), of(kWords);
  for (std::size_t i = 0; i < labels.size(); ++i)
    ++count[static_cast<std::size_t>(labels[i] * kWords + answers[i])], ++of[static_cast<std::size_t>(labels[i])];
  for (int64_t w = 0; w < kWords; ++w) {
    confusion.row_labels.push_back(name_of(w)), confusion.column_labels.push_back(std::to_string(w));
    for (int64_t a = 0; a < kWords; ++a)
      confusion.values.push_back(count[static_cast<std::size_t>(w * kWords + a)] /
                                 std::max(1.F, of[static_cast<std::size_t>(w)]));
  }
  return tg::drawing::grid({tg::drawing::grid(parts, 2), draw(confusion)}, 1);
}

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: tones OUT [SEED]\n"), 2;
  const std::string out = argv[1];
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  tg::manual_seed(seed);
  tg::Generator draw(seed + 1);
  const Words seen(2000, draw), unseen(500, draw);
  const tg::data::DataLoader training(seen, {.batch_size = 32, .shuffle = true});
  Conformer model;
  tg::optim::AdamW adam(nn::parameters(model), {.lr = 2e-3});
  const int64_t steps = kEpochs * training.size();
  tg::train::Loop loop(model, adam, training,
                       [&](const auto& batch) {
                         const auto& [x, y] = batch;
                         const tg::Tensor logits = model(x);
                         return tg::train::BatchLoss{
                             .loss = tg::cross_entropy(logits, y),
                             .accuracy = tg::mean((tg::argmax(logits, -1) == y).to(tg::kFloat32)).item(),
                             .tokens = x.size(0),
                             .terms = static_cast<double>(x.size(0))};
                       },
                       {.epochs = kEpochs,
                        .clip_grad_norm = 1,
                        .schedule = tg::optim::WarmupCosine{.lr = 2e-3, .warmup = steps / 10, .total = steps}});
  loop.run({.folder = out, .checkpoint_every = steps, .report = {.title = "Words of tones", .unit = "sounds"}});

  nn::eval(model);
  const tg::Tensor answers = tg::argmax(model(unseen.features), -1);
  const double accuracy = tg::mean((answers == unseen.labels).to(tg::kFloat64)).item();
  tg::train::replace_file(out + "/tones.svg", tg::drawing::svg_file(picture(unseen, answers.to_vector<int64_t>())));
  std::printf("Conformer: accuracy %.2f %% on %lld unseen sounds of %lld words (target: %.1f %%), %s/tones.svg\n",
              100 * accuracy, static_cast<long long>(unseen.size()), static_cast<long long>(kWords), 100 * kTarget,
              out.c_str());
  return accuracy >= kTarget ? 0 : 1;
}
