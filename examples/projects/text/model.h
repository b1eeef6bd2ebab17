// Your text, your model, and its training: what main.cpp and test.cpp share.
#pragma once

#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <memory>
#include <string>
#include <vector>

namespace tg = tapegrad;
namespace data = tg::data;

inline const char* const kText = "text.txt";  // your text
constexpr int64_t kContext = 32;              // the characters from which the model predicts the next one

// A GPT whose tokens are characters, and its tokenizer. (data::train_byte_pairs makes tokens of several characters.)
struct Model {
  std::unique_ptr<data::Tokenizer> tokenizer;
  tg::nn::GPTModel gpt{{.vocab_size = tokenizer->size(),
                        .context_length = kContext,
                        .emb_dim = 48,
                        .n_heads = 4,
                        .n_layers = 2,
                        .drop_rate = 0}};
};

inline Model load(const std::string& folder) {
  Model model{data::load_tokenizer(folder)};
  tg::nn::load_state_dict(model.gpt, tg::load_safetensors(folder + "/model.safetensors").tensors);
  tg::nn::eval(model.gpt);
  return model;
}

// Continues a prompt: with temperature 0 by the most likely character, above it by sampling.
inline std::string continuation(Model& model, const std::string& prompt, int64_t length, double temperature = 0) {
  const std::vector<int64_t> ids = model.tokenizer->encode(prompt);
  tg::nn::GPTNext next(model.gpt);
  const tg::nn::Generated text = tg::nn::generate(next, tg::tensor(ids, {1, static_cast<int64_t>(ids.size())}),
                                                  {.max_new_tokens = length, .temperature = temperature});
  return data::valid_utf8(model.tokenizer->decode(text.tokens.to_vector<int64_t>()));
}

struct Trained {
  Model model;
  double loss;  // of the held-out end of the text, per character; guessing has log(vocabulary)
};

// Trains on the first 90 % of the text, and writes model.safetensors, tokenizer.json, report.html and more.
inline Trained train(const std::string& folder, bool resume = false) {
  tg::manual_seed(0);
  const std::string text = tg::train::read_file(kText);
  Trained out{.model = {data::make_character_tokenizer(text)}, .loss = 0};
  Model& model = out.model;
  const auto [begin, end] = data::split_characters(text, 0.9);
  const data::Tokens seen(model.tokenizer->encode(begin)), unseen(model.tokenizer->encode(end));
  const data::TextLoader batches({seen, kContext, 4}, {.batch_size = 16, .shuffle = true});
  const data::TextLoader validation({unseen, kContext, kContext}, {.batch_size = 64});

  const auto loss_of = [&](const data::TextBatch& batch) -> tg::train::BatchLoss {
    const int64_t characters = batch.targets.numel();
    return {.loss = tg::cross_entropy(model.gpt(batch.inputs), batch.targets),
            .tokens = characters,
            .terms = static_cast<double>(characters)};
  };
  constexpr int64_t kEpochs = 6;
  tg::optim::AdamW adam(tg::nn::parameters(model.gpt));
  tg::train::Loop loop(
      model.gpt, adam, batches, loss_of,
      {.epochs = kEpochs,
       .clip_grad_norm = 1,
       .schedule = tg::optim::WarmupCosine{.lr = 0.01, .warmup = 20, .total = kEpochs * batches.size()},
       .evaluate = [&] { return tg::train::Evaluation{loss_of(*validation.begin().next()).loss.item()}; },
       .evaluate_every = batches.size()});
  data::save_tokenizer(*model.tokenizer, folder);
  loop.run({.folder = folder, .resume = resume, .report = {.unit = "characters"}});
  tg::nn::eval(model.gpt);
  out.loss = loop.best().validation;
  return out;
}
