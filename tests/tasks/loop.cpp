// The training loop that programs use: accumulation, clipping, evaluation, early stopping, files, interruption, and
// resumption to the same bits.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/optim/sgd.h>
#include <tapegrad/tasks/data/data_loader.h>
#include <tapegrad/tasks/train/loop.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>

#include <cmath>
#include <csignal>

namespace tapegrad::train {
namespace {

using tests::error_of;
using tests::slurp;
using tests::TemporaryFolder;

struct Numbers {  // x [2] and y = x0 - 2 x1
  int64_t size() const { return 32; }
  std::pair<Tensor, double> operator[](int64_t i) const {
    const double a = std::sin(static_cast<double>(i)), b = std::cos(static_cast<double>(3 * i));
    return {tensor({a, b}).to(kFloat32), a - 2 * b};
  }
};

// A linear model over Numbers, in training.
struct Trained {
  explicit Trained(LoopOptions options = {}, int64_t batch_size = 4)
      : model((manual_seed(3), nn::Linear(2, 1))),
        sgd(nn::parameters(model), {.lr = 0.1}),
        loader(Numbers(), {.batch_size = batch_size, .shuffle = true}),
        loop(
            model, sgd, loader,
            [this](const auto& batch) {
              ++batches;
              return BatchLoss{.loss = mse_loss(model(batch.first).reshape({-1}), batch.second), .tokens = 4};
            },
            std::move(options)) {}
  std::vector<float> weights() const { return model.weight->to_vector<float>(); }

  nn::Linear model;
  optim::SGD sgd;
  data::DataLoader<Numbers> loader;
  int64_t batches = 0;
  Loop loop;
};

TEST(Loop, CountsStepsAndEpochs) {
  Trained run({.epochs = 3, .accumulate = 3});
  EXPECT_EQ(run.loop.steps_per_epoch(), 3);  // of 3, 3 and 2 batches
  EXPECT_EQ(run.loop.total_steps(), 9);
  int64_t epochs = 0;
  while (!run.loop.finished()) {
    run.loop.step();
    epochs += run.loop.ended_epoch() ? 1 : 0;
  }
  EXPECT_EQ(epochs, 3);
  EXPECT_EQ(run.batches, 24);
  EXPECT_EQ(Trained({.epochs = 3, .max_steps = 5}).loop.total_steps(), 5);
}

TEST(Loop, AccumulatedBatchesAreOneLargeBatch) {
  Trained small({.epochs = 2, .accumulate = 2}, 4), large({.epochs = 2}, 8);
  while (!small.loop.finished()) {
    manual_seed(static_cast<uint64_t>(small.loop.steps()));
    const double a = small.loop.step().loss;
    manual_seed(static_cast<uint64_t>(large.loop.steps()));
    EXPECT_NEAR(a, large.loop.step().loss, 1e-5);
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(small.weights()[i], large.weights()[i], 1e-5);
}

TEST(Loop, ClipsAndSchedules) {
  Trained run({.clip_grad_norm = 1e-3, .schedule = optim::LinearWarmup{.lr = 1, .warmup = 4}});
  const std::vector<float> before = run.weights();
  EXPECT_EQ(run.loop.step().lr, 0.25);
  EXPECT_EQ(run.loop.step().lr, 0.5);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_LT(std::abs(run.weights()[i] - before[i]), 1e-3);
}

TEST(Loop, StopsEarly) {
  double loss = 10;
  int64_t evaluations = 0;
  Trained run({.epochs = 100,
               .evaluate = [&] { return ++evaluations, Evaluation{.validation = evaluations < 4 ? --loss : 20}; },
               .evaluate_every = 2,
               .patience = 3});
  while (!run.loop.finished()) run.loop.step();
  EXPECT_EQ(evaluations, 6);  // after steps 1, 3, 5, and three without a lower loss
  EXPECT_EQ(run.loop.steps(), 11);
  EXPECT_EQ(run.loop.best().validation, 7);
}

TEST(Loop, ResumesToTheSameBits) {
  const LoopOptions options{.epochs = 4, .accumulate = 3, .clip_grad_norm = 0.5};
  Trained whole(options);
  while (!whole.loop.finished()) whole.loop.step();
  Trained again(options);
  for (int i = 0; i < 5; ++i) again.loop.step();  // in the middle of the second epoch
  const TemporaryFolder folder;
  again.loop.checkpoint().save(folder / "checkpoint");
  Trained second(options);
  second.loop.restore(Checkpoint::load(folder / "checkpoint"));
  EXPECT_EQ(second.loop.steps(), 5);
  while (!second.loop.finished()) second.loop.step();
  EXPECT_EQ(second.weights(), whole.weights());
}

TEST(Loop, WritesTheFilesOfARun) {
  const TemporaryFolder folder;
  Trained run({.epochs = 2, .evaluate = [] { return Evaluation{.validation = 1}; }, .evaluate_every = 4});
  run.loop.run({.folder = folder / "run",
                .keep_best = true,
                .progress = false,
                .report = {.title = "A line",
                           .settings = {{"width", "2", "of the model"}},
                           .sections = [](const Metrics& m) { return std::to_string(m.steps.size()) + " steps"; }}});
  for (const char* file : {"checkpoint", "model.safetensors", "best.safetensors", "metrics.jsonl", "report.html"})
    EXPECT_TRUE(fs::exists(folder / (std::string("run/") + file))) << file;
  const std::string metrics = slurp(folder / "run/metrics.jsonl"), report = slurp(folder / "run/report.html");
  EXPECT_EQ(metrics.find("accuracy"), std::string::npos);  // not measured
  EXPECT_NE(metrics.find("\"validation_loss\":1"), std::string::npos);
  for (const char* part : {"<h1>A line</h1>", "16 steps", "of the model", "validation loss"})
    EXPECT_NE(report.find(part), std::string::npos) << part;
  EXPECT_EQ(report.find("Accuracy"), std::string::npos);
}

TEST(Loop, ATerminatedRunHasACheckpointAndContinues) {
  const TemporaryFolder folder;
  const LoopOptions options{.epochs = 4};
  Trained whole(options);
  whole.loop.run({.folder = folder / "whole", .progress = false});
  LoopOptions stopping = options;
  int64_t saves = 0;
  stopping.save = [&](Checkpoint&) {
    if (++saves == 2) std::raise(SIGTERM);
  };
  Trained broken(stopping);
  const RunFiles files{.folder = folder / "run", .resume = true, .checkpoint_every = 5, .progress = false};
  EXPECT_EQ(error_of([&] { broken.loop.run(files); }),
            "[train] interrupted after step 10 of 32; the checkpoint in " + (folder / "run") + " continues the run");
  Trained resumed(options);
  resumed.loop.run(files);
  EXPECT_EQ(slurp(folder / "run/model.safetensors"), slurp(folder / "whole/model.safetensors"));
}

TEST(Loop, ALossThatIsNotFiniteIsAnErrorBeforeTheUpdate) {
  Trained run({.schedule = optim::Constant{1e30}});
  std::string error = "no error";
  for (int i = 0; i < 8 && error == "no error"; ++i) error = error_of([&] { run.loop.step(); });
  EXPECT_NE(error.find("is not finite"), std::string::npos) << error;
}

}  // namespace
}  // namespace tapegrad::train
