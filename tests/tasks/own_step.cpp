// A training loop whose step is the program's own: several models and optimisers, named figures, exact resumption.
#include <tapegrad/tests/support/runs/small_loop.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::train {
namespace {

using namespace tests;

struct PlayersMaker {
  nn::Linear layer{2, 2};
  nn::Dropout dropout{0.2};
  Tensor operator()(const Tensor& x) const { return dropout(layer(x)); }
};

// A generator and a critic, each with an optimiser; an average of the generator; noise of its own.
struct Players {
  explicit Players(LoopOptions options = {})
      : loop((parts_of(), parts), loader, [this](const auto& batch) { return step(batch); },
             with_average(std::move(options))) {}

  Parts& parts_of() {
    return parts.add("generator", maker)
        .add("critic", critic)
        .add("generator_adam", adam, [](int64_t step) { return 0.01 / static_cast<double>(step); })
        .add("critic_sgd", sgd)
        .add("average", average)
        .add("noise", noise);
  }
  LoopOptions with_average(LoopOptions options) {
    options.after_step = [this](int64_t) { average.update(); };
    return options;
  }
  StepResult step(const std::pair<Tensor, Tensor>& batch) {
    const Tensor z = randn(batch.first.shape(), kFloat32, &noise);
    double of_critic = 0;
    {
      Tape tape;
      const Tensor loss = mean(critic(maker(z).detach())) - mean(critic(batch.first)) + 0.1 * mean(square(critic(z)));
      of_critic = loss.item();
      sgd.step(tape.backward(loss, {.only = nn_leaves(critic)}));
    }
    Tape tape;
    const Tensor loss = -mean(critic(maker(z)));
    adam.step(tape.backward(loss, {.only = nn_leaves(maker)}));
    return {.loss = loss.item(), .figures = {{"critic loss", of_critic}, {"step size", adam.lr()}}, .tokens = 4};
  }
  template <class Model>
  static std::vector<Tensor> nn_leaves(Model& model) {
    std::vector<Tensor> leaves;
    for (const NamedTensor& p : nn::parameters(model)) leaves.push_back(p.tensor);
    return leaves;
  }
  std::string bits() const { return bits_of(loop.checkpoint().tensors); }

  PlayersMaker maker = (manual_seed(5), PlayersMaker());
  nn::Linear critic{2, 1};
  optim::Adam adam{nn::parameters(maker), {.lr = 0.01}};
  optim::SGD sgd{nn::parameters(critic), {.lr = 0.05, .momentum = 0.5}};
  optim::ExponentialAverage average{nn::parameters(maker), {.decay = 0.9}};
  Generator noise{7};
  data::DataLoader<Numbers> loader{Numbers(), {.batch_size = 4, .shuffle = true}};
  Parts parts;
  Loop loop;
};

TEST(OwnStep, ResumesToTheSameBits) {
  Players whole({.epochs = 2});
  while (!whole.loop.finished()) whole.loop.step();
  const std::string expected = whole.bits();
  Players first({.epochs = 2});  // seeds the default generator again
  for (int i = 0; i < 5; ++i) first.loop.step();
  const Checkpoint saved = first.loop.checkpoint();
  Players second({.epochs = 2});
  manual_seed(99);
  second.loop.restore(saved);
  EXPECT_EQ(second.bits(), bits_of(saved.tensors));
  while (!second.loop.finished()) second.loop.step();
  EXPECT_EQ(second.bits(), expected);
  EXPECT_EQ(second.average.updates(), 16);
}

TEST(OwnStep, ACheckpointHasThePartsUnderTheirNames) {
  Players players;
  players.loop.step();
  const Checkpoint saved = players.loop.checkpoint();
  EXPECT_EQ(saved.with_prefix("model.generator.").size(), 2u);
  EXPECT_EQ(saved.with_prefix("model.critic.").size(), 2u);
  EXPECT_GT(saved.with_prefix("generator_adam.").size(), 4u);
  EXPECT_GT(saved.with_prefix("critic_sgd.").size(), 2u);
  EXPECT_GT(saved.with_prefix("average.").size(), 2u);
  Checkpoint damaged = saved;
  std::erase_if(damaged.tensors, [](const NamedTensor& t) { return t.name.starts_with("average."); });
  Players other;
  const std::string before = other.bits();
  EXPECT_NE(error_of([&] { other.loop.restore(damaged); }), "no error");
  EXPECT_EQ(other.bits(), before);
}

TEST(OwnStep, ARunHasACurveForEachFigure) {
  const TemporaryFolder folder;
  Players players({.epochs = 1});
  players.loop.run({.folder = folder / "run", .progress = false, .messages = stderr});
  const Metrics metrics = read_metrics(folder / "run/metrics.jsonl");
  ASSERT_EQ(metrics.steps.size(), 8u);
  ASSERT_EQ(metrics.steps[3].figures.size(), 2u);
  EXPECT_EQ(metrics.steps[3].figures[0].name, "critic loss");
  EXPECT_EQ(metrics.steps[3].figures[1].value, 0.01 / 4);
  expect_parts(slurp(folder / "run/report.html"), {"critic loss", "step size"});
}

// The parts of a loop whose step does not look at them.
struct OneModel {
  nn::Linear model{1, 1};
  optim::SGD sgd{nn::parameters(model), {.lr = 0.1}};
  Parts parts = std::move(Parts().add("net", model).add("sgd", sgd));
};

TEST(OwnStep, AFigureOfLaterStepsHasACurve) {
  OneModel of;
  StepCount source(4);
  Loop loop(of.parts, source, [](int64_t step) -> StepResult {
    return {.loss = 1, .figures = {{step % 2 == 0 ? "of the critic" : "of the generator", 0.5}}};
  });
  const TemporaryFolder folder;
  loop.run({.folder = folder / "run", .progress = false, .messages = stderr});
  expect_parts(slurp(folder / "run/report.html"), {"of the critic", "of the generator"});
}

TEST(OwnStep, StepsWithoutData) {
  OneModel of;
  StepCount source(3);
  std::vector<int64_t> seen;
  Loop loop(of.parts, source,
            [&](int64_t step) -> StepResult { return {.loss = static_cast<double>(seen.emplace_back(step))}; },
            {.epochs = 2});
  while (!loop.finished()) loop.step();
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

// Batches that cannot be copied.
struct OwnedNumbers {
  StepCount count{2};
  std::unique_ptr<int64_t> next() { return std::make_unique<int64_t>(count.next()); }
  int64_t size() const { return count.size(); }
  void save(Checkpoint& out) const { count.save(out); }
  void load(const Checkpoint& in) { count.load(in); }
};

TEST(OwnStep, BatchesAreMovedIntoTheStep) {
  OneModel of;
  OwnedNumbers source;
  Loop loop(of.parts, source,
            [](std::unique_ptr<int64_t> batch) -> StepResult { return {.loss = static_cast<double>(*batch) + 5}; });
  EXPECT_EQ(loop.step().loss, 5);
  EXPECT_EQ(loop.step().loss, 6);
}

TEST(OwnStep, Errors) {
  nn::Linear model(1, 1);
  optim::SGD sgd(nn::parameters(model), {.lr = 0.1});
  Generator generator(1);
  StepCount source(3);
  const auto loop_of = [&](Parts& parts, LoopOptions options) {
    return Loop(
        parts, source, [](int64_t) -> StepResult { return {}; }, std::move(options));
  };
  Parts parts, without, forgotten;
  parts.add("net", model).add("sgd", sgd);
  without.add("net", model);
  nn::Linear other(1, 1);
  forgotten.add("net", other).add("sgd", sgd);
  loop_of(forgotten, {.save = [](Checkpoint&) {}});  // which may save the model
  EXPECT_ERROR(parts.add("a.b", model));
  EXPECT_ERROR(parts.add("net", sgd));
  EXPECT_ERROR(parts.add("model", sgd));
  EXPECT_ERROR(parts.add("generator", generator));
  EXPECT_ERROR(parts.add("other", generator, [](int64_t) { return 0.1; }));
  EXPECT_ERROR(loop_of(without, {}));
  EXPECT_ERROR(loop_of(forgotten, {}));
  EXPECT_TEXT(error_of([&] {
    const auto twice = [](int64_t) -> StepResult { return {.figures = {{"a", 1}, {"a", 2}}}; };
    Loop(parts, source, twice).step();
  }));
  EXPECT_ERROR(loop_of(parts, {.accumulate = 2}));
  EXPECT_ERROR(loop_of(parts, {.clip_grad_norm = 1}));
  EXPECT_ERROR(loop_of(parts, {.transforms = {optim::ClipValue{1}}}));
  EXPECT_TEXT(error_of([&] {
    const TemporaryFolder folder;
    loop_of(parts, {}).run({.folder = folder / "run", .progress = false, .trap_nan = true, .messages = stderr});
  }));
}

TEST(Loop, LossesThatALoopCannotUseAreErrors) {
  nn::Linear model(2, 1);
  optim::SGD sgd(nn::parameters(model), {.lr = 0.1});
  const data::DataLoader<Numbers> loader(Numbers(), {.batch_size = 4});
  const auto loss = [&](const auto& batch, Reduction reduction) {
    return mse_loss(model(batch.first).reshape({-1}), batch.second, reduction);
  };
  train::Loop of_elements(model, sgd, loader, [&](const auto& batch) {
    return train::BatchLoss{.loss = loss(batch, Reduction::none), .tokens = 4};
  });
  EXPECT_ERROR(of_elements.step());
  train::Loop updating(model, sgd, loader, [&](const auto& batch) {
    Tape tape;
    sgd.step(tape.backward(loss(batch, Reduction::mean)));
    return train::BatchLoss{.loss = scalar(1)};
  });
  EXPECT_ERROR(updating.step());
}

TEST(Loop, TheNextLossIsThatOfTheNextStepAndUpdatesNothing) {
  Trained stepped;
  const double loss = stepped.loop.step().loss;
  Trained looked;  // draws the same numbers again
  const Checkpoint start = looked.loop.checkpoint();
  const std::vector<float> weights = looked.weights();
  {
    Tape tape;
    const BatchLoss found = looked.loop.next_loss(tape);
    EXPECT_EQ(found.loss.item(), loss);
    EXPECT_EQ(found.tokens, 4);
    EXPECT_GE(tape.position_of(found.loss), 0);
  }
  EXPECT_EQ(looked.weights(), weights);
  EXPECT_EQ(looked.loop.steps(), 0);
  EXPECT_NE(error_of([&] { looked.loop.step(); }).find("an earlier step of this loop failed"), std::string::npos);
  looked.loop.restore(start);
  EXPECT_EQ(looked.loop.step().step, 1);
  EXPECT_EQ(looked.weights(), stepped.weights());
  Trained repeated;
  const std::function<Tensor()> again = repeated.loop.loss_of_next_batch();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(again().item(), loss);
  Players players;
  Tape tape;
  EXPECT_ERROR(players.loop.next_loss(tape));
  EXPECT_ERROR(players.loop.loss_of_next_batch());
}

}  // namespace
}  // namespace tapegrad::train
