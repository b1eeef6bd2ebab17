// Trains an LSTM and a GPT of about equal size on a text, character by character, and compares them.
//
//   characters OUT [SEED] [--data TEXT]   writes the files of both runs into OUT, and both loss curves as
//                                         characters.svg
//
// TEXT is a file. The default is the_verdict.txt, a story by Edith Wharton; the target applies to this text.
#include "data_option.h"

#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace tg = tapegrad;
namespace nn = tapegrad::nn;

constexpr int64_t kContext = 64, kEpochs = 8, kEvery = 20;
constexpr double kTarget = 2;  // nats per character of the held-out end of the text, for both models

struct CharacterLSTM {
  int64_t characters;
  nn::Embedding embedding{characters, 64};
  nn::LSTM lstm{64, 168, {.batch_first = true}};
  nn::Dropout dropout{0.2};
  nn::Linear head{168, characters};
  tg::Tensor operator()(const tg::Tensor& ids) const {  // [B, T] -> logits [B, T, V]
    return head(dropout(lstm(embedding(ids)).output));
  }
};

struct Text {
  std::unique_ptr<tg::data::Tokenizer> tokenizer;
  tg::data::TextLoader training, validation;
};

Text read(const std::string& path) {
  const std::string text = tg::train::read_file(path);
  auto tokenizer = tg::data::make_character_tokenizer(text);
  const auto [begin, end] = tg::data::split_characters(text, 0.9);
  const tg::data::Tokens seen(tokenizer->encode(begin)), unseen(tokenizer->encode(end));
  return {std::move(tokenizer),
          tg::data::TextLoader({seen, kContext, kContext / 4}, {.batch_size = 32, .shuffle = true, .drop_last = true}),
          tg::data::TextLoader({unseen, kContext, kContext}, {.batch_size = 64})};
}

// Trains a model, prints a sample, and returns the curves of its training and validation losses. `next` wraps the model
// for generation.
std::vector<tg::drawing::Series> train(const std::string& name, auto& model, const Text& text, double lr,
                                       const std::string& folder, const auto& next) {
  tg::optim::AdamW adam(nn::parameters(model), {.lr = lr, .weight_decay = 0.1});
  const auto loss_of = [&](const tg::data::TextBatch& batch) -> tg::train::BatchLoss {
    const int64_t count = batch.targets.numel();
    return {.loss = tg::cross_entropy(model(batch.inputs), batch.targets),
            .tokens = count,
            .terms = static_cast<double>(count)};
  };
  const auto evaluate = [&]() -> tg::train::Evaluation {
    double sum = 0;
    int64_t characters = 0;
    auto batches = text.validation.begin();
    while (const auto batch = batches.next()) {
      const tg::train::BatchLoss loss = loss_of(*batch);
      sum += loss.loss.item() * static_cast<double>(loss.tokens), characters += loss.tokens;
    }
    return {.validation = sum / static_cast<double>(characters)};
  };
  const int64_t steps = kEpochs * text.training.size();
  tg::train::Loop loop(model, adam, text.training, loss_of,
                       {.epochs = kEpochs,
                        .clip_grad_norm = 1,
                        .schedule = tg::optim::WarmupCosine{.lr = lr, .warmup = steps / 20, .total = steps},
                        .evaluate = evaluate,
                        .evaluate_every = kEvery});
  loop.run({.folder = folder,
            .announcement = name + ": " + std::to_string(nn::count_parameters(model)) + " parameters",
            .report = {.unit = "characters"}});

  tg::drawing::Series training{.name = name + ", training", .faint = true}, validation{.name = name + ", held out"};
  for (const tg::train::StepMetrics& step : tg::train::read_metrics(folder + "/metrics.jsonl").steps) {
    training.add(static_cast<double>(step.step), step.loss);
    if (!step.validation_loss) continue;
    validation.add(static_cast<double>(step.step), *step.validation_loss);
  }

  nn::eval(model);
  const std::vector<int64_t> prompt = text.tokenizer->encode("I had ");
  auto decoder = next(model);
  const nn::Generated sample = nn::generate(decoder, tg::tensor(prompt, {1, static_cast<int64_t>(prompt.size())}),
                                            {.max_new_tokens = 200, .temperature = 0.7});
  std::printf("%s: %.3f nats per held-out character. Sample:\nI had %s\n\n", name.c_str(), loop.best().validation,
              tg::data::valid_utf8(text.tokenizer->decode(sample.tokens.to_vector<int64_t>())).c_str());
  return {training, validation};
}

int main(int argc, char** argv) {
  const std::string file = data_option(argc, argv, "the_verdict.txt");
  if (argc < 2) return std::fprintf(stderr, "usage: characters OUT [SEED] [--data TEXT]\n"), 2;
  const std::string out = argv[1];
  const Text text = read(file);
  tg::manual_seed(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);

  CharacterLSTM lstm{text.tokenizer->size()};
  const auto of_lstm = train("LSTM", lstm, text, 5e-3, out + "/lstm", [](const CharacterLSTM& model) {
    return nn::NextTokenFunction([&model](const tg::Tensor& ids) { return model(ids).select(1, -1); });
  });
  nn::GPTModel gpt({.vocab_size = text.tokenizer->size(),
                    .context_length = kContext,
                    .emb_dim = 80,
                    .n_heads = 4,
                    .n_layers = 2,
                    .drop_rate = 0,
                    .positions = nn::Positions::rope});
  const auto of_gpt =
      train("GPT", gpt, text, 8e-3, out + "/gpt", [](const nn::GPTModel& model) { return nn::GPTNext(model); });

  tg::drawing::LineChart chart{.title = "Loss per character", .x_label = "step", .y_label = "nats"};
  for (const auto& curves : {of_lstm, of_gpt}) chart.series.insert(chart.series.end(), curves.begin(), curves.end());
  tg::train::replace_file(out + "/characters.svg", tg::drawing::svg_file(draw(chart)));
  const double lstm_best = std::ranges::min(of_lstm[1].y), gpt_best = std::ranges::min(of_gpt[1].y);
  std::printf("LSTM %.3f, GPT %.3f (target: below %.1f), %s/characters.svg\n", lstm_best, gpt_best, kTarget,
              out.c_str());
  return lstm_best < kTarget && gpt_best < kTarget ? 0 : 1;
}
