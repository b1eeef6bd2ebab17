// Classifies handwritten digits with a multi-layer perceptron, a convolutional network, and a small vision Transformer.
//
//   digits OUT [mlp|cnn|vit|all] [SEED] [--data FILE]   writes one folder per model into OUT: the files of the run,
//                                                       and digits.svg with the model's answers to unseen digits;
//                                                       default: all 0
#include "digits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tg = tapegrad;
namespace nn = tapegrad::nn;

nn::AnyModule make_mlp() {
  return nn::Sequential{nn::Flatten(),        nn::Linear(64, 128), nn::ReLU(),       nn::Dropout(0.2),
                        nn::Linear(128, 128), nn::ReLU(),          nn::Dropout(0.2), nn::Linear(128, 10)};
}

nn::AnyModule make_cnn() {
  return nn::Sequential{nn::Conv2d(1, 16, 3, {.padding = 1}),
                        nn::BatchNorm2d(16),
                        nn::ReLU(),
                        nn::Conv2d(16, 32, 3, {.padding = 1}),
                        nn::BatchNorm2d(32),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Conv2d(32, 64, 3, {.padding = 1}),
                        nn::BatchNorm2d(64),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Flatten(),
                        nn::Dropout(0.2),
                        nn::Linear(64 * 2 * 2, 10)};
}

// A vision Transformer (Dosovitskiy et al. 2021): the image as a sequence of patches of 2 x 2 pixels.
struct Block {
  int64_t dim;
  nn::LayerNorm norm1{dim}, norm2{dim};
  nn::MultiHeadAttention attention{dim, 4};
  nn::Linear up{dim, 2 * dim}, down{2 * dim, dim};
  nn::Dropout dropout{0.1};
  tg::Tensor operator()(const tg::Tensor& x) const {
    const tg::Tensor h = norm1(x), y = x + dropout(attention(h, h, h));
    return y + dropout(down(tg::gelu(up(norm2(y)))));
  }
};

struct VisionTransformer {
  nn::Conv2d patches{1, 48, 2, {.stride = 2}};
  nn::Parameter positions{0.5 * tg::randn({16, 48})};
  nn::List<Block> blocks = nn::repeat<Block>(3, 48);
  nn::LayerNorm norm{48};
  nn::Linear head{48, 10};
  tg::Tensor operator()(const tg::Tensor& images) const {
    tg::Tensor x = patches(images).flatten(2).transpose(1, 2) + positions;  // [B, 16, 48]
    for (const Block& block : blocks) x = block(x);
    return head(tg::mean(norm(x), 1));
  }
};

struct Kind {
  std::string name;
  nn::AnyModule (*make)();
  int64_t epochs;
  double lr, target;  // target: accuracy on unseen digits
};
const Kind kKinds[] = {{"mlp", make_mlp, 40, 3e-3, 0.96},
                       {"cnn", make_cnn, 15, 3e-3, 0.98},
                       {"vit", [] { return nn::AnyModule(VisionTransformer()); }, 30, 2e-3, 0.96}};

// The confusion matrix, and the first 96 digits above their answers; wrong answers are marked.
tg::drawing::Drawing picture(const tg::Tensor& images, const tg::Tensor& labels, const tg::Tensor& answers) {
  const auto right = labels.to_vector<int64_t>(), said = answers.to_vector<int64_t>();
  tg::drawing::Images digits{.title = "Unseen digits and the model's answers", .columns = 24};
  digits.images = tg::narrow(images, 0, 0, std::min<int64_t>(images.size(0), 96));
  tg::drawing::Heatmap confusion{.title = "Answers", .row_axis = "digit", .column_axis = "answer"};
  std::vector<int> count(100), of(10);
  for (std::size_t i = 0; i < right.size(); ++i) {
    ++count[static_cast<std::size_t>(10 * right[i] + said[i])], ++of[static_cast<std::size_t>(right[i])];
    if (static_cast<int64_t>(i) >= digits.images.size(0)) continue;
    digits.marked.push_back(said[i] != right[i]);
    digits.captions.push_back(std::to_string(said[i]));
  }
  for (std::size_t i = 0; i < 10; ++i) {
    confusion.row_labels.push_back(std::to_string(i)), confusion.column_labels.push_back(std::to_string(i));
    for (std::size_t j = 0; j < 10; ++j) {
      confusion.values.push_back(static_cast<float>(count[10 * i + j]) / static_cast<float>(std::max(of[i], 1)));
      confusion.texts.push_back(count[10 * i + j] > 0 ? std::to_string(count[10 * i + j]) : "");
    }
  }
  return tg::drawing::grid({draw(confusion), draw(digits)}, 1);
}

bool run(const Kind& kind, const Digits& digits, const std::string& folder, uint64_t seed) {
  tg::manual_seed(seed);
  const auto parts = split(digits);
  const tg::data::DataLoader training(parts[0], {.batch_size = 32, .shuffle = true});
  const auto [images, labels] = all_of(parts[1]);
  nn::AnyModule net = kind.make();
  tg::optim::AdamW adam(nn::parameters(net), {.lr = kind.lr});

  const auto loss_of = [&](const auto& batch) -> tg::train::BatchLoss {
    const auto& [x, y] = batch;
    const tg::Tensor logits = net(x);
    return {.loss = tg::cross_entropy(logits, y),
            .accuracy = tg::mean((tg::argmax(logits, -1) == y).to(tg::kFloat32)).item(),
            .tokens = x.size(0),
            .terms = static_cast<double>(x.size(0))};
  };
  const int64_t steps = kind.epochs * training.size();
  tg::train::Loop loop(net, adam, training, loss_of,
                       {.epochs = kind.epochs,
                        .clip_grad_norm = 1,
                        .schedule = tg::optim::WarmupCosine{.lr = kind.lr, .warmup = steps / 10, .total = steps}});
  loop.run({.folder = folder, .checkpoint_every = training.size(), .report = {.unit = "images"}});

  nn::eval(net);
  const tg::Tensor answers = tg::argmax(net(images), -1);
  const double accuracy = tg::mean((answers == labels).to(tg::kFloat64)).item();
  tg::train::replace_file(folder + "/digits.svg", tg::drawing::svg_file(picture(images, labels, answers)));
  std::printf("%s: accuracy %.2f %% on %lld unseen digits (target: %.1f %%), %s/digits.svg\n\n", kind.name.c_str(),
              100 * accuracy, static_cast<long long>(labels.numel()), 100 * kind.target, folder.c_str());
  return accuracy >= kind.target;
}

int main(int argc, char** argv) {
  const std::string file = data_option(argc, argv, kDigitsFile);
  if (argc < 2) return std::fprintf(stderr, "usage: digits OUT [mlp|cnn|vit|all] [SEED] [--data FILE]\n"), 2;
  const std::string chosen = argc > 2 ? argv[2] : "all";
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  const Digits digits(file);
  bool ran = false, reached = true;
  for (const Kind& kind : kKinds) {
    if (chosen != "all" && chosen != kind.name) continue;
    reached = run(kind, digits, std::string(argv[1]) + "/" + kind.name, seed) && reached;
    ran = true;
  }
  return ran && reached ? 0 : 1;
}
