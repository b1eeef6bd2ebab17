// Your table, your model, and its training: what main.cpp and test.cpp share.
#pragma once

#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <string>
#include <vector>

namespace tg = tapegrad;
namespace data = tg::data;

// The columns of your CSV file: those that are inputs, and the one that the model predicts.
inline const char* const kTable = "table.csv";
inline const std::vector<data::Column> kColumns{data::numbers("height"), data::numbers("rain", {.missing = 50}),
                                                data::classes("soil"), data::classes("plant")};
inline const std::vector<std::string> kInputs{"height", "rain", "soil"};
inline const char* const kTarget = "plant";

struct Net {
  int64_t inputs, classes;
  tg::nn::Linear in{inputs, 32}, hidden{32, 32}, out{32, classes};
  tg::Tensor operator()(const tg::Tensor& x) const { return out(tg::relu(hidden(tg::relu(in(x))))); }
};

// A model, and what its inputs mean: how numbers are scaled, and the names of classes. One file contains both.
struct Model {
  data::Features features;
  Net net{features.size(), static_cast<int64_t>(features.classes().size())};
};

inline Model load(const std::string& path) {
  const tg::SafeTensors saved = tg::load_safetensors(path);
  Model model{data::Features(saved.metadata)};
  tg::nn::load_state_dict(model.net, saved.tensors);
  return model;
}

// The class of each row of a table.
inline std::vector<int64_t> predict(const Model& model, const data::Table& table) {
  return tg::argmax(model.net(model.features(table)), -1).to_vector<int64_t>();
}

struct Trained {
  Model model;
  data::Table unseen;  // the rows that training did not use
};

// Trains on 80 % of the rows, and writes model.safetensors, report.html and more into the folder.
inline Trained train(const std::string& folder, bool resume = false) {
  tg::manual_seed(0);
  const data::Csv table(kTable, kColumns);
  const auto [training, unseen] = table.split(0.8);
  Trained out{.model = {data::Features(training, kInputs, kTarget)}, .unseen = unseen};
  const Model& model = out.model;
  const data::DataLoader batches(training.dataset(model.features), {.batch_size = 16, .shuffle = true});
  const data::DataLoader validation(unseen.dataset(model.features), {.batch_size = unseen.size()});

  const auto loss_of = [&](const auto& batch) -> tg::train::BatchLoss {
    const auto& [inputs, plants] = batch;
    const tg::Tensor logits = model.net(inputs);
    return {.loss = tg::cross_entropy(logits, plants),  // a number as the target: tg::mse_loss, and a net of 1 output
            .accuracy = tg::mean((tg::argmax(logits, -1) == plants).to(tg::kFloat32)).item(),
            .tokens = inputs.size(0),
            .terms = static_cast<double>(inputs.size(0))};
  };
  constexpr int64_t kEpochs = 60;
  tg::optim::AdamW adam(tg::nn::parameters(model.net));
  tg::train::Loop loop(
      out.model.net, adam, batches, loss_of,
      {.epochs = kEpochs,
       .schedule = tg::optim::WarmupCosine{.lr = 0.01, .warmup = 20, .total = kEpochs * batches.size()},
       .evaluate = [&] { return tg::train::Evaluation{loss_of(*validation.begin().next()).loss.item()}; },
       .evaluate_every = batches.size()});
  tg::train::RunFiles files{.folder = folder, .resume = resume, .report = {.unit = "rows"}};
  files.save_model = [&](const std::string& path) {
    tg::save_safetensors(path, tg::nn::state_dict(model.net), model.features.metadata());
  };
  loop.run(files);
  return out;
}
