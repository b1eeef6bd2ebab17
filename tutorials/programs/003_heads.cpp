// Tutorial 003, section 8.2.6, as a program: what a "head" was and is. A backbone with one head, several heads on one
// backbone, heads of attention, and heads on a Transformer.
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <iostream>
#include <string>
#include <vector>

namespace tg = tapegrad;
namespace nn = tapegrad::nn;

namespace {

void print(const std::string& name, const tg::Tensor& x) {
  std::cout << "  " << name << std::string(22 - name.size(), ' ') << tg::str(x.shape()) << "\n";
}

// [simple]
// 1. The head is the last layer: features in, classes out.
struct SimpleModel {
  nn::Sequential<nn::Linear, nn::ReLU, nn::Linear, nn::ReLU> backbone{nn::Linear(784, 128), nn::ReLU(),
                                                                      nn::Linear(128, 64), nn::ReLU()};
  nn::Linear head;
  explicit SimpleModel(int64_t classes) : head(64, classes) {}
  tg::Tensor operator()(const tg::Tensor& x) const { return head(backbone(x)); }
  void visit(auto&& field) {
    field("backbone", backbone);
    field("head", head);
  }
};

// [/simple]
// Two convolutions around which the input is added, as in a ResNet (He et al. 2016).
struct Residual {
  nn::Conv2d first, second;
  explicit Residual(int64_t channels)
      : first(channels, channels, 3, {.padding = 1}), second(channels, channels, 3, {.padding = 1}) {}
  tg::Tensor operator()(const tg::Tensor& x) const { return tg::relu(x + second(tg::relu(first(x)))); }
  void visit(auto&& field) {
    field("first", first);
    field("second", second);
  }
};

// [tasks]
// 2. Several heads branch off one backbone: what is in the image, and where (a box). The tutorial's backbone, ResNet50,
// gives 2048 features; this one is a small ResNet that gives 32.
struct MultiTaskModel {
  nn::Conv2d stem{3, 32, 3, {.stride = 2, .padding = 1}};
  nn::List<Residual> blocks = nn::repeat<Residual>(2, 32);
  nn::Linear classification_head, bbox_head{32, 4};
  explicit MultiTaskModel(int64_t classes) : classification_head(32, classes) {}

  tg::Tensor features(const tg::Tensor& images) const {  // [B, 3, H, W] -> [B, 32]
    tg::Tensor x = tg::relu(stem(images));
    for (const Residual& block : blocks) x = block(x);
    return tg::mean(x, {2, 3});
  }
  void visit(auto&& field) {
    field("stem", stem);
    field("blocks", blocks);
    field("classification_head", classification_head);
    field("bbox_head", bbox_head);
  }
};
// [/tasks]

// [attention_heads]
// 3. Heads inside: each attends on its own, and their results are put side by side.
struct AttentionHead {
  nn::Linear query, key, value;
  AttentionHead(int64_t width, int64_t size) : query(width, size), key(width, size), value(width, size) {}
  tg::Tensor operator()(const tg::Tensor& x) const {
    const double scale = std::sqrt(static_cast<double>(query.weight.outputs()));
    return tg::matmul(tg::softmax(tg::matmul(query(x), key(x).transpose(-2, -1)) / scale), value(x));
  }
  void visit(auto&& field) {
    field("query", query);
    field("key", key);
    field("value", value);
  }
};

struct MultiHeadAttention {
  nn::List<AttentionHead> heads;
  MultiHeadAttention(int64_t num_heads, int64_t width)
      : heads(nn::repeat<AttentionHead>(num_heads, width, width / num_heads)) {}
  tg::Tensor operator()(const tg::Tensor& x) const {
    std::vector<tg::Tensor> contexts;
    for (const AttentionHead& head : heads) contexts.push_back(head(x));
    return tg::cat(contexts, -1);
  }
  void visit(auto&& field) { field("heads", heads); }
};
// [/attention_heads]

}  // namespace

int main() {
  tg::manual_seed(0);
  std::cout << "1. One head on a backbone\n";
  const SimpleModel simple(10);
  const tg::Tensor digits = tg::randn({2, 784});
  print("x", digits);
  print("features", simple.backbone(digits));
  print("output", simple(digits));

  std::cout << "2. Several heads on one backbone\n";
  MultiTaskModel model(20);
  const tg::Tensor images = tg::randn({2, 3, 16, 16});
  const tg::Tensor classes = tg::tensor({3, 17}), boxes = tg::rand({2, 4});
  tg::optim::Adam adam(nn::parameters(model), {.lr = 1e-2});
  double first = 0, last = 0;
  for (int step = 0; step < 100; ++step) {  // both heads train the backbone
    tg::Tape tape;
    const tg::Tensor x = model.features(images);
    const tg::Tensor loss =
        tg::cross_entropy(model.classification_head(x), classes) + tg::mse_loss(model.bbox_head(x), boxes);
    if (step == 0) first = loss.item();
    last = loss.item();
    adam.step(tape.backward(loss));
  }
  const tg::Tensor x = model.features(images);
  print("images", images);
  print("features", x);
  print("class_output", model.classification_head(x));
  print("bbox_output", model.bbox_head(x));
  std::cout << "  the sum of both losses falls below a half: " << std::boolalpha << (last < first / 2) << "\n";

  std::cout << "3. Heads of attention: modules of their own, inside\n";
  // [attention]
  const nn::MultiHeadAttention attention(64, 4);
  const tg::Tensor words = tg::randn({2, 5, 64});
  tg::Tensor weights;
  nn::AttentionVectors vectors;
  print("x", words);
  print("output", attention(words, words, words, {.weights = &weights, .vectors = &vectors}));
  print("weights by head", weights);
  print("queries by head", vectors.queries);
  // [/attention]
  print("heads side by side", MultiHeadAttention(4, 64)(words));

  std::cout << "4. Heads on a Transformer: one per task\n";
  const nn::TransformerEncoder encoder({.vocab_size = 50,
                                        .hidden_size = 64,
                                        .num_hidden_layers = 2,
                                        .num_attention_heads = 4,
                                        .intermediate_size = 128});
  // [transformer]
  const nn::Linear masked_words(64, 50), next_sentence(64, 2);
  const tg::Tensor hidden = encoder(tg::tensor({{1, 7, 9, 4}, {1, 3, 8, 0}}));
  print("hidden", hidden);
  print("masked words", masked_words(hidden));
  print("next sentence", next_sentence(hidden.select(1, 0)));
  const nn::Conv2d patches(3, 64, 4, {.stride = 4});  // the patch embedding of a vision Transformer
  print("patches of images", patches(images).flatten(2).transpose(1, 2));
  // [/transformer]
}
