// From a table, and from a folder of images, to a model: docs/data.md.
// arguments: {source}/leaves.csv
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace fs = std::filesystem;
namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

// [table model]
struct Net {
  int64_t inputs;
  nn::Linear in{inputs, 16}, out{16, 1};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(tg::tanh(in(x))).squeeze(1); }
};
// [/table model]

void table(const std::string& file) {
  // [table]
  const tg::data::Csv leaves(file, {tg::data::numbers("length"), tg::data::numbers("width"),
                                    tg::data::numbers("stem", {.missing = 2}), tg::data::classes("kind")});
  tg::manual_seed(0);
  const auto [known, test] = leaves.split(0.8);  // random rows
  const auto parts = known.split(0.8);           // to train, and to choose the best model
  const tg::data::Features features(parts.first, {"length", "width", "kind"}, "stem");
  Net net{features.size()};  // 5 inputs: two numbers, and three classes of trees

  const tg::data::DataLoader batches(parts.first.dataset(features), {.batch_size = 16, .shuffle = true});
  const auto loss_on = [&](const tg::data::Table& rows) {
    return tg::mse_loss(net(features(rows)), features.target_of(rows)).item();
  };
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  tg::train::Loop loop(
      net, adam, batches,
      [&](const auto& batch) { return tg::train::BatchLoss{.loss = tg::mse_loss(net(batch.first), batch.second)}; },
      {.epochs = 40, .evaluate = [&] { return tg::train::Evaluation{loss_on(parts.second)}; }, .evaluate_every = 20});
  tg::train::RunFiles files{.folder = "run", .keep_best = true, .progress = false};
  files.save_model = [&](const std::string& path) {  // the model and its features in one file
    tg::save_safetensors(path, nn::state_dict(net), features.metadata());
  };
  loop.run(files);
  // [/table]

  // [table again]
  const tg::SafeTensors best = tg::load_safetensors("run/best.safetensors");
  const tg::data::Features same(best.metadata);  // in another program, for other files: Csv("new.csv", same.inputs())
  nn::load_state_dict(net, best.tensors);
  std::printf("mean squared error of the test rows: %.2f, of their mean: %.2f\n", loss_on(test),
              tg::var(same.target_of(test), {}, false, 0).item());
  // [/table again]
}

// Stripes, across or along, with noise.
void write_images() {
  tg::manual_seed(0);
  for (int i = 0; i < 200; ++i) {
    const std::string folder = i % 2 == 0 ? "images/across" : "images/along";
    fs::create_directories(folder);
    const tg::Tensor wave = 90 * tg::sin(tg::arange(16, tg::kFloat32) * (1 + 0.01 * i)).reshape({16, 1});
    const tg::Tensor image = 128 + (i % 2 == 0 ? wave : wave.t()) + 30 * tg::clamp(tg::randn({16, 16}), -1, 1);
    tg::data::save_image(folder + "/" + std::to_string(i) + ".png", image);
  }
}

void images() {
  // [images]
  const tg::data::ImageFolder images(
      "images", {.channels = 1, .height = 16, .width = 16, .transform = [](const tg::Tensor& image) {
                   return (tg::rand({}).item() < 0.5 ? tg::flip(image, {-1}) : image) / 255.0;  // augmentation
                 }});
  tg::manual_seed(0);
  const auto parts = tg::data::random_split(images, std::vector<int64_t>{160, 40});
  const tg::data::DataLoader training(parts[0], {.batch_size = 20, .shuffle = true, .prefetch = 2});
  nn::Sequential net{nn::Conv2d(1, 4, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(4), nn::Flatten(),
                     nn::Linear(64, 2)};
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (const auto& [pixels, labels] : training.epoch()) {  // [20, 1, 16, 16] and [20]
      tg::Tape tape;
      adam.step(tape.backward(tg::cross_entropy(net(pixels), labels)));
    }
  }
  nn::eval(net);
  tg::metrics::ConfusionMatrix matrix(images.classes());
  const auto [pixels, labels] = *tg::data::DataLoader(parts[1], {.batch_size = 40}).begin().next();
  const tg::Tensor answers = tg::argmax(net(pixels), 1);
  for (int64_t i = 0; i < 40; ++i) matrix.add(labels(i).item<int64_t>(), answers(i).item<int64_t>());
  std::printf("%s and %s: accuracy %.2f, macro F1 %.2f\n", images.classes()[0].c_str(), images.classes()[1].c_str(),
              matrix.accuracy(), matrix.macro_f1());
  tg::train::replace_file("confusion.svg", tg::drawing::svg_file(draw(matrix, "Unseen images")));
  // [/images]
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: data_model leaves.csv\n"), 2;
  table(argv[1]);
  std::fflush(stdout);
  write_images();
  images();
}
