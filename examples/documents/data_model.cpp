// From a table, and from a folder of images, to a model: docs/data.md.
// arguments: {source}/leaves.csv
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;
namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

// [table model]
// Scales its inputs itself, so that the model's file contains the scale.
struct Net {
  nn::Buffer mean, deviation;
  nn::Linear in{5, 16}, out{16, 1};
  Net(const tg::Tensor& mean, const tg::Tensor& deviation) : mean(mean), deviation(deviation) {}
  tg::Tensor operator()(const tg::Tensor& numbers, const tg::Tensor& kind) const {
    return out(tg::tanh(in(tg::cat({(numbers - mean) / deviation, tg::one_hot(kind, 3).to(tg::kFloat32)}, 1))));
  }
  void visit(auto&& field) {
    field("mean", mean);
    field("deviation", deviation);
    field("in", in);
    field("out", out);
  }
};
// [/table model]

void table(const std::string& file) {
  // [table]
  const tg::data::Csv leaves(file, {tg::data::numbers("length"), tg::data::numbers("width"),
                                    tg::data::numbers("stem", {.missing = 2}), tg::data::classes("kind")});
  const tg::Tensor numbers = leaves.matrix({"length", "width"});                     // [150, 2]
  const tg::Tensor kind = leaves["kind"], target = leaves["stem"].reshape({-1, 1});  // [150] and [150, 1]

  tg::manual_seed(0);
  const tg::Tensor order = tg::randperm(leaves.size());  // three parts: to train, to choose, to report
  const tg::Tensor train = order(tg::range(0, 100)), validation = order(tg::range(100, 125));
  const tg::Tensor test = order(tg::range(125, 150));
  Net net(tg::mean(numbers(train), 0), tg::std(numbers(train), 0));  // of the training rows only

  const tg::data::DataLoader loader(tg::data::TensorDataset(train, target(train)), {.batch_size = 20, .shuffle = true});
  const auto loss_of = [&](const tg::Tensor& rows) {
    return tg::mse_loss(net(numbers(rows), kind(rows)), target(rows));
  };
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  tg::train::Loop loop(net, adam, loader,
                       [&](const auto& batch) { return tg::train::BatchLoss{.loss = loss_of(batch.first)}; },
                       {.epochs = 40,
                        .evaluate = [&] { return tg::train::Evaluation{loss_of(validation).item()}; },
                        .evaluate_every = 20});
  loop.run({.folder = "run", .keep_best = true, .progress = false});
  nn::load_state_dict(net, tg::load_safetensors("run/best.safetensors").tensors);
  std::printf("mean squared error of the test rows: %.2f, of their mean: %.2f\n", loss_of(test).item(),
              tg::var(target(test), {}, false, 0).item());
  // [/table]
}

// [folder]
// ROOT/CLASS/FILE: each folder is a class, as for torchvision's ImageFolder.
struct ImageFolder {
  std::vector<std::string> classes;
  std::vector<std::pair<std::string, int64_t>> files;

  explicit ImageFolder(const fs::path& root) {
    std::set<fs::path> paths;  // sorted: a directory has no order of its own
    for (const auto& entry : fs::recursive_directory_iterator(root))
      if (entry.is_regular_file()) paths.insert(entry.path());
    for (const fs::path& path : paths) {
      const std::string name = path.parent_path().filename();
      if (classes.empty() || classes.back() != name) classes.push_back(name);
      files.emplace_back(path, static_cast<int64_t>(classes.size()) - 1);
    }
  }
  int64_t size() const { return static_cast<int64_t>(files.size()); }
  std::pair<tg::Tensor, int64_t> operator[](int64_t i) const {  // called by the loader's thread
    const auto& [path, label] = files[static_cast<std::size_t>(i)];
    return {tg::data::load_image(path, {.channels = 1}) / 255.0, label};
  }
};
// [/folder]

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
  const ImageFolder images("images");
  tg::manual_seed(0);
  const auto parts = tg::data::random_split(images, std::vector<int64_t>{160, 40});
  const tg::data::DataLoader training(parts[0], {.batch_size = 20, .shuffle = true, .prefetch = 2});
  nn::Sequential net{nn::Conv2d(1, 4, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(4), nn::Flatten(),
                     nn::Linear(64, 2)};
  tg::optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (const auto& [pixels, labels] : training.epoch()) {  // [20, 1, 16, 16] and [20]
      const tg::Tensor mirrored = tg::rand({}).item() < 0.5 ? tg::flip(pixels, {-1}) : pixels;  // augmentation
      tg::Tape tape;
      adam.step(tape.backward(tg::cross_entropy(net(mirrored), labels)));
    }
  }
  nn::eval(net);
  tg::metrics::ConfusionMatrix matrix(images.classes);
  const auto [pixels, labels] = *tg::data::DataLoader(parts[1], {.batch_size = 40}).begin().next();
  const tg::Tensor answers = tg::argmax(net(pixels), 1);
  for (int64_t i = 0; i < 40; ++i) matrix.add(labels(i).item<int64_t>(), answers(i).item<int64_t>());
  std::printf("%s and %s: accuracy %.2f, macro F1 %.2f\n", images.classes[0].c_str(), images.classes[1].c_str(),
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
