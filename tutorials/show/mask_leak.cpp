// The topic mask-leak: one model is trained with the causal mask, one without it. In a language of known entropy, a
// loss below the entropy proves that a model reads the tokens that it should predict.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/loop.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks {
namespace mask_leak {
namespace {

constexpr int64_t kTokens = 16, kSuccessors = 4, kBatch = 16;
constexpr int64_t kTexts = 64;    // of an evaluation
constexpr int kEvaluations = 16;  // of a run, besides the one before the first step

// A language in which each token has kSuccessors equally likely successors: no model that reads only earlier tokens
// can have a mean loss below log(kSuccessors).
struct Grammar {
  explicit Grammar(Generator& generator) : successors(zeros({kTokens, kSuccessors}, kInt64)) {
    int64_t* const to = successors.mutable_data<int64_t>();
    for (int64_t token = 0; token < kTokens; ++token) {
      const Tensor order = randperm(kTokens, &generator);
      std::copy_n(order.data<int64_t>(), kSuccessors, to + token * kSuccessors);
    }
  }
  // `count` texts of `length` tokens, [count, length].
  Tensor draw(int64_t count, int64_t length, Generator& generator) const {
    Tensor text = randint(0, kTokens, {count, length}, &generator);
    const Tensor choices = randint(0, kSuccessors, {count, length}, &generator);
    int64_t* const ids = text.mutable_data<int64_t>();
    for (int64_t i = 0; i < count * length; ++i) {
      if (i % length == 0) continue;
      ids[i] = successors.data<int64_t>()[ids[i - 1] * kSuccessors + choices.data<int64_t>()[i]];
    }
    return text;
  }
  // The share of the successions in texts [B, T] that the language allows.
  double allowed(const Tensor& text) const {
    const int64_t last = text.size(1) - 1;
    const Tensor possible = embedding(successors, narrow(text, 1, 0, last));  // [B, T - 1, successors]
    return mean(any(eq(possible, narrow(text, 1, 1, last).unsqueeze(-1)), -1).to(kFloat64)).item();
  }
  Tensor successors;  // [tokens, successors] int64
};

struct Model {
  // ids [B, T] -> logits [B, T, V].
  Tensor operator()(const Tensor& ids) const { return logits(ids, masked); }
  Tensor logits(const Tensor& ids, bool mask) const {
    return head(encoder(ids, mask ? nn::causal_mask(ids.size(1)) : Tensor()));
  }
  nn::TransformerEncoder encoder;
  bool masked;
  nn::Linear head{64, kTokens};
};

// What a model achieves: the loss on new texts, as it was trained and when later tokens are hidden, and the share of
// allowed successions in the texts that it writes.
struct Scores {
  double loss, hidden_loss, allowed;
};

struct Run {
  std::vector<double> steps, losses, allowed;
  Scores last;
  double moved;  // the largest change of a logit at other positions when the last token of a text changes
  std::string sample;
};

double loss_of(const Tensor& logits, const Tensor& text) {
  const int64_t last = text.size(1) - 1;
  return cross_entropy(narrow(logits, 1, 0, last), narrow(text, 1, 1, last)).item();
}

Tensor written_by(const Model& model, const Tensor& prompt, int64_t length, Generator& generator) {
  nn::NextTokenFunction next([&](const Tensor& ids) { return model(ids).select(1, -1); });
  const nn::GenerateOptions options{.max_new_tokens = length - 1, .temperature = 1, .generator = &generator};
  return cat({prompt, nn::generate(next, prompt, options).tokens}, 1);
}

Scores scores_of(Model& model, const Grammar& language, int64_t length, uint64_t seed) {
  const PauseRecording pause;
  const nn::EvalMode eval(model);
  Generator generator(seed);
  const Tensor text = language.draw(kTexts, length, generator);
  const Tensor written = written_by(model, narrow(text, 1, 0, 1), length, generator);
  return {loss_of(model(text), text), loss_of(model.logits(text, true), text), language.allowed(written)};
}

double moved_by_the_last_token(const Model& model, const Tensor& text) {
  const PauseRecording pause;
  const int64_t last = text.size(1) - 1;
  const Tensor other = cat({narrow(text, 1, 0, last), remainder(narrow(text, 1, last, 1) + 1, kTokens)}, 1);
  return amax(abs(narrow(model(other) - model(text), 1, 0, last))).item();
}

Run train(bool masked, const Grammar& language, int64_t length, int64_t steps, uint64_t seed) {
  manual_seed(seed);
  Model model{nn::TransformerEncoder({.vocab_size = kTokens,
                                      .hidden_size = 64,
                                      .num_hidden_layers = 2,
                                      .num_attention_heads = 4,
                                      .intermediate_size = 256,
                                      .dropout_prob = 0,
                                      .hidden_dropout_prob = 0,
                                      .attention_probs_dropout_prob = 0,
                                      .max_position_embeddings = length}),
              masked};
  optim::Adam adam(nn::parameters(model), {.lr = 1e-3});
  Generator texts(seed + 1);
  train::StepCount source(steps);
  const auto loss = [&](int64_t) {
    const Tensor text = language.draw(kBatch, length, texts);
    return train::BatchLoss{.loss =
                                cross_entropy(narrow(model(text), 1, 0, length - 1), narrow(text, 1, 1, length - 1))};
  };
  train::Loop loop(model, adam, source, loss, {.clip_grad_norm = 1});
  Run run{};
  for (int64_t step = 0, due = 0; step <= steps; ++step) {
    if (step > 0) loop.step();
    if (step < due && step < steps) continue;
    due += std::max<int64_t>(1, steps / kEvaluations);
    run.last = scores_of(model, language, length, seed + 2);
    run.steps.push_back(static_cast<double>(step));
    run.losses.push_back(run.last.loss);
    run.allowed.push_back(run.last.allowed);
  }
  nn::eval(model);
  Generator generator(seed + 3);
  const Tensor text = language.draw(1, length, generator);
  run.moved = moved_by_the_last_token(model, text);
  const Tensor written = written_by(model, narrow(text, 1, 0, 1), std::min<int64_t>(length, 12), generator);
  for (int64_t i = 0; i < written.size(1); ++i) {
    const bool fits = i == 0 || language.allowed(narrow(written, 1, i - 1, 2)) == 1;
    run.sample += fmt::format("{}{}{}", i == 0 ? "" : " ", fits ? "" : "!", written.data<int64_t>()[i]);
  }
  return run;
}

// What the numbers say about the model without the mask.
std::string verdict(const Run& masked, const Run& open, double entropy) {
  std::string out;
  if (open.last.loss < entropy) {
    out += said(
        "Without the mask the loss is {:.3f} below the entropy of the language, which no\n"
        "model can do that reads earlier tokens only: this one reads the next token.\n",
        entropy - open.last.loss);
  } else {
    out += said(
        "Without the mask the loss is not below the entropy of the language: the model\nhas not (yet) learned to "
        "read the next token.\n");
  }
  const double chance = static_cast<double>(kSuccessors) / kTokens;
  out += told("mask-leak-1", open.last.hidden_loss,
              open.last.hidden_loss > std::log(kTokens) ? said("more") : said("not more"),
              std::log(static_cast<double>(kTokens)), 100 * open.last.allowed, 100 * masked.last.allowed, 100 * chance);
  return out;
}

drawing::LineChart chart_of(std::string_view title, std::string_view label, const Run& masked, const Run& open,
                            std::vector<double> Run::*values, double line, std::string_view name) {
  drawing::LineChart chart{
      .title = std::string(title), .x_label = said("step"), .y_label = std::string(label), .y_low = 0};
  chart.y_high = values == &Run::allowed ? 1 : 0;
  chart.series = {{.name = said("causal mask"), .x = masked.steps, .y = masked.*values},
                  {.name = said("no mask"), .x = open.steps, .y = open.*values},
                  {.name = std::string(name),
                   .x = {masked.steps.front(), masked.steps.back()},
                   .y = {line, line},
                   .mark = drawing::Series::Mark::dashes}};
  return chart;
}

}  // namespace
}  // namespace mask_leak

Exhibit show_mask_leak(const ShowRequest& request) {
  using namespace mask_leak;
  const int64_t length = request.length.value_or(32), steps = request.steps.value_or(400);
  const uint64_t seed = request.seed.value_or(0);
  Generator generator(seed);
  const Grammar language(generator);
  const Run masked = train(true, language, length, steps, seed), open = train(false, language, length, steps, seed);
  const double entropy = std::log(static_cast<double>(kSuccessors));

  Exhibit exhibit{
      .title = said("Training without the causal mask (8.2.5)"),
      .text = told("mask-leak-2", kTokens, kSuccessors, kSuccessors, entropy, length, steps, kBatch, kTexts),
      .columns = 1};
  Table table({-46, 12});
  table.row("", said("causal mask"), said("no mask"));
  const auto row = [&](std::string_view name, double a, double b) {
    table.row(name, drawing::fixed(a, 4), drawing::fixed(b, 4));
  };
  row(said("loss before the first step"), masked.losses.front(), open.losses.front());
  row(said("loss after the last step"), masked.last.loss, open.last.loss);
  row(said("the same when later tokens are hidden"), masked.last.hidden_loss, open.last.hidden_loss);
  row(said("allowed successions in generated texts"), masked.last.allowed, open.last.allowed);
  row(said("change of other logits by another last token"), masked.moved, open.moved);
  exhibit.text += table;
  exhibit.text += said(
      "\nGenerated (! precedes a token that cannot follow its predecessor):\n"
      "  causal mask: {}\n  no mask:     {}\n\n{}",
      masked.sample, open.sample, verdict(masked, open, entropy));
  exhibit.drawings = {draw(chart_of(said("Loss on new texts"), said("loss"), masked, open, &Run::losses, entropy,
                                    said("entropy of the language"))),
                      draw(chart_of(said("Generated texts: share of allowed successions"), said("share"), masked, open,
                                    &Run::allowed, static_cast<double>(kSuccessors) / kTokens, said("by chance")))};
  return exhibit;
}

}  // namespace tapegrad::tasks
