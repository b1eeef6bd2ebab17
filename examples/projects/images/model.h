// Your images, your model, and its training: what main.cpp and test.cpp share.
#pragma once

#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <sstream>
#include <string>
#include <vector>

namespace tg = tapegrad;
namespace data = tg::data;

// Your images: one subfolder per class. Grey images have 1 channel, colours 3.
inline const char* const kImages = "images";
constexpr int64_t kChannels = 1, kSide = 12;  // the side is a multiple of 4
inline const data::ImageFolderOptions kReading{
    .channels = kChannels, .height = kSide, .width = kSide, .transform = [](const tg::Tensor& image) {
      return image / 255;
    }};

struct Net {
  int64_t classes;
  tg::nn::Conv2d first{kChannels, 16, 3, {.padding = 1}}, second{16, 32, 3, {.padding = 1}};
  tg::nn::Linear out{32 * (kSide / 4) * (kSide / 4), classes};
  tg::Tensor operator()(const tg::Tensor& images) const {  // [B, C, H, W] -> [B, classes]
    const tg::Tensor half = tg::max_pool2d(tg::relu(first(images)), {2});
    return out(tg::max_pool2d(tg::relu(second(half)), {2}).flatten(1));
  }
};

// A model and the names of its classes. One file contains both.
struct Model {
  std::vector<std::string> classes;
  Net net{static_cast<int64_t>(classes.size())};
};

inline void save(const Model& model, const std::string& path) {
  std::string lines;
  for (const std::string& name : model.classes) lines += name + "\n";
  tg::save_safetensors(path, tg::nn::state_dict(model.net), {{"classes", lines}});
}

inline Model load(const std::string& path) {
  const tg::SafeTensors saved = tg::load_safetensors(path);
  std::vector<std::string> classes;
  std::istringstream lines(saved.metadata.at("classes"));
  for (std::string name; std::getline(lines, name);) classes.push_back(name);
  Model model{classes};
  tg::nn::load_state_dict(model.net, saved.tensors);
  return model;
}

// The class of each image [B, C, H, W].
inline std::vector<int64_t> predict(const Model& model, const tg::Tensor& images) {
  return tg::argmax(model.net(images), -1).to_vector<int64_t>();
}

struct Trained {
  Model model;
  tg::Tensor images, labels;  // that training did not use
};

// Trains on 80 % of the images, and writes model.safetensors, report.html and more into the folder.
inline Trained train(const std::string& folder, bool resume = false) {
  tg::manual_seed(0);
  const data::ImageFolder images(kImages, kReading);
  const int64_t count = images.size() * 4 / 5;
  const auto parts = data::random_split(images, std::vector<int64_t>{count, images.size() - count});
  const data::DataLoader batches(parts[0], {.batch_size = 16, .shuffle = true, .prefetch = 2});
  const data::DataLoader validation(parts[1], {.batch_size = parts[1].size()});
  const auto unseen = *validation.begin().next();
  Trained out{.model = {images.classes()}, .images = unseen.first, .labels = unseen.second};
  const Model& model = out.model;

  const auto loss_of = [&](const auto& batch) -> tg::train::BatchLoss {
    const auto& [inputs, labels] = batch;
    const tg::Tensor logits = model.net(inputs);
    return {.loss = tg::cross_entropy(logits, labels),
            .accuracy = tg::mean((tg::argmax(logits, -1) == labels).to(tg::kFloat32)).item(),
            .tokens = inputs.size(0),
            .terms = static_cast<double>(inputs.size(0))};
  };
  constexpr int64_t kEpochs = 20;
  tg::optim::AdamW adam(tg::nn::parameters(model.net));
  tg::train::Loop loop(out.model.net, adam, batches, loss_of,
                       {.epochs = kEpochs,
                        .schedule = tg::optim::WarmupCosine{.lr = 0.01, .warmup = 5, .total = kEpochs * batches.size()},
                        .evaluate = [&] { return tg::train::Evaluation{loss_of(unseen).loss.item()}; },
                        .evaluate_every = batches.size()});
  tg::train::RunFiles files{.folder = folder, .resume = resume, .report = {.unit = "images"}};
  files.save_model = [&](const std::string& path) { save(model, path); };
  loop.run(files);
  return out;
}
