// The training loop: accumulation, clipping, evaluation, early stopping, interruption (its files: checkpoint.cpp).
#include <tapegrad/tests/support/runs/small_loop.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

#include <csignal>

namespace tapegrad::train {
namespace {

using namespace tests;

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

// What a step of two batches of up to ten of twelve numbers, or of one, makes of a model. `terms_of` (size of batch).
struct AfterOneStep {
  explicit AfterOneStep(int64_t accumulate, int64_t batch_size, const std::function<double(int64_t)>& terms_of) {
    manual_seed(3);
    nn::Linear model(1, 1);
    optim::SGD sgd(nn::parameters(model), {.lr = 0.01});
    data::DataLoader<Numbered> loader({12}, {.batch_size = batch_size});
    Loop loop(model, sgd, loader,
              [&](const Tensor& x) {
                const Tensor y = model(x.to(kFloat32).reshape({-1, 1})).reshape({-1});
                const double terms = terms_of(x.numel());
                return BatchLoss{.loss = terms != 0 ? mse_loss(y, 1 - x.to(kFloat32)) : scalar(std::nan("")),
                                 .accuracy = terms != 0 ? mean((x < 5).to(kFloat64)).item() : std::nan(""),
                                 .terms = terms};
              },
              {.accumulate = accumulate});
    step = loop.step();
    epoch = *loop.ended_epoch();
    weight = model.weight->item();
  }
  StepMetrics step;
  EpochMetrics epoch;
  double weight;
};

TEST(Loop, AccumulatedBatchesAreOneLargeBatch) {
  const auto examples = [](int64_t n) { return static_cast<double>(n); };
  const auto alike = [](int64_t) { return 1.0; };
  const AfterOneStep whole(1, 12, examples), parts(2, 10, examples), means(2, 10, alike);
  EXPECT_NEAR(parts.weight, whole.weight, 1e-6);
  EXPECT_NEAR(parts.step.loss, whole.step.loss, 1e-5);
  EXPECT_NEAR(parts.step.accuracy, 5.0 / 12, 1e-12);
  EXPECT_EQ(parts.step.terms, 12);
  EXPECT_GT(std::abs(means.weight - whole.weight), 0.05);  // one that gives no terms
  const AfterOneStep equal(2, 6, examples), default_terms(2, 6, alike);
  EXPECT_EQ(equal.weight, default_terms.weight);
  EXPECT_EQ(equal.step.loss, default_terms.step.loss);
  EXPECT_EQ(equal.step.accuracy, default_terms.step.accuracy);
  EXPECT_EQ(equal.epoch.loss, default_terms.epoch.loss);
  // A batch without terms, such as one of padding alone, takes no part.
  const AfterOneStep first(2, 10, [](int64_t n) { return n == 10 ? 10.0 : 0.0; });
  const AfterOneStep last(2, 10, [](int64_t n) { return n == 10 ? 0.0 : 2.0; });
  EXPECT_NEAR(first.step.accuracy, 0.5, 1e-12);
  EXPECT_NEAR(last.step.accuracy, 0, 1e-12);
  EXPECT_TRUE(std::isfinite(first.step.loss) && std::isfinite(last.step.loss));
  EXPECT_TRUE(std::isfinite(first.weight) && std::isfinite(last.weight) && first.weight != last.weight);
}

TEST(Loop, TermsThatCannotBeMeantAreErrors) {
  const std::pair<double, std::string> wrong[] = {
      {0, "[data_parallel] expected a batch with at least one term, got none in this step (is all of it padding?)"},
      {-2, "[data_parallel] expected a finite number of terms of at least 0, got -2"},
      {std::nan(""), "[data_parallel] expected a finite number of terms of at least 0, got nan"},
  };
  for (const auto& w : wrong)
    for (const int64_t n : {1, 2})
      EXPECT_EQ(error_of([&] { AfterOneStep(n, 12 / n, [&](int64_t) { return w.first; }); }), w.second);
}

// The last step of an epoch may have fewer terms.
TEST(Loop, EpochsAreMeansOverAllTerms) {
  manual_seed(3);
  nn::Linear model(1, 1);
  optim::SGD sgd(nn::parameters(model), {.lr = 0});
  data::DataLoader<Numbered> loader({12}, {.batch_size = 5});
  const auto loss_of = [&](const Tensor& x) {
    const Tensor y = model(zeros({x.numel(), 1})).reshape({-1});
    return BatchLoss{.loss = mean(x.to(kFloat32)) + 0 * mean(y), .terms = static_cast<double>(x.numel())};
  };
  Loop loop(model, sgd, loader, loss_of), resumed(model, sgd, loader, loss_of);
  loop.step();
  resumed.restore(loop.checkpoint());
  Checkpoint older = loop.checkpoint();
  older.fields.erase("epoch.weight");
  older.fields.erase("epoch.unit");
  while (!loop.finished()) loop.step();
  while (!resumed.finished()) resumed.step();
  EXPECT_NEAR(loop.ended_epoch()->loss, 5.5, 1e-6);
  EXPECT_EQ(resumed.ended_epoch()->loss, loop.ended_epoch()->loss);
  Loop upgraded(model, sgd, loader, loss_of);
  upgraded.restore(older);
  while (!upgraded.finished()) upgraded.step();
  EXPECT_NEAR(upgraded.ended_epoch()->loss, (2 + 7 + 0.4 * 10.5) / 2.4, 1e-6);
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
  EXPECT_ERROR(broken.loop.run(files));
  Trained resumed(options);
  resumed.loop.run(files);
  EXPECT_EQ(slurp(folder / "run/model.safetensors"), slurp(folder / "whole/model.safetensors"));
}

TEST(Loop, OptionsThatCannotBeMeantAreErrors) {
  const auto none = [] { return Evaluation{1}; };
  const std::pair<LoopOptions, std::string> wrong[] = {
      {{.epochs = -3}, "[loop] expected epochs >= 0, got -3"},
      {{.max_steps = -1}, "[loop] expected max_steps >= 0, got -1"},
      {{.accumulate = 0}, "[loop] expected accumulate >= 1, got 0"},
      {{.clip_grad_norm = -1}, "[loop] expected clip_grad_norm >= 0 (0: no clipping), got -1"},
      {{.clip_grad_norm = std::nan("")}, "[loop] expected clip_grad_norm >= 0 (0: no clipping), got nan"},
      {{.transforms = {optim::ClipValue{0}}}, "[clip_grad_value] expected a limit > 0, got 0"},
      {{.evaluate_every = 2}, "[loop] evaluate_every is set, but evaluate is not"},
      {{.evaluate = none, .evaluate_every = -1}, "[loop] expected evaluate_every >= 0, got -1"},
      {{.evaluate = none, .patience = 2}, "[loop] patience counts evaluations, but evaluate_every is 0"},
  };
  for (const auto& [options, text] : wrong) {
    EXPECT_EQ(error_of([&, given = &options] { Trained run(*given); }), text);
  }
  EXPECT_EQ(Trained({.epochs = kMax}).loop.total_steps(), kMax);
  EXPECT_EQ(Trained({.accumulate = kMax}).loop.total_steps(), 1);
  data::DataLoader<Numbers> empty(Numbers(), {.batch_size = 64, .drop_last = true});
  nn::Linear model(2, 1);
  optim::SGD sgd(nn::parameters(model), {.lr = 0.1});
  EXPECT_ERROR(Loop(model, sgd, empty, [](const auto&) { return BatchLoss{}; }));
}

TEST(Loop, AProgramsOwnStateCannotReplaceTheLoops) {
  // clang-format off
  const std::pair<std::string, std::function<void(Checkpoint&)>> cases[] = {
      {"steps", [](Checkpoint& out) { out.set("steps", 3); }},
      {"best", [](Checkpoint& out) { out.set("best", 3.0); }},
      {"best_training", [](Checkpoint& out) { out.set("best_training", 3.0); }},
      {"epoch.order_seed", [](Checkpoint& out) { out.set("epoch.order_seed", 3); }},
      {"generator", [](Checkpoint& out) { out.add("generator", Generator(1)); }},
      {"model.ema.w", [](Checkpoint& out) { out.add("model.ema.", {{"w", zeros({1})}}); }},
      {"adam.other.m", [](Checkpoint& out) { out.add("adam.other.", {{"m", zeros({1})}}); }},
  };
  // clang-format on
  for (const auto& [name, save] : cases) {
    Trained run({.save = save});
    EXPECT_ERROR(run.loop.checkpoint());
  }
  double mine = 0;
  Trained run({.save = [](Checkpoint& out) { out.set("mine", 0.5); },
               .load = [&](const Checkpoint& in) { mine = in.get<double>("mine"); }});
  run.loop.restore(run.loop.checkpoint());
  EXPECT_EQ(mine, 0.5);
}

TEST(Loop, ACheckpointThatDoesNotFitChangesNothing) {
  Trained other({.epochs = 2});
  other.loop.step();
  const Checkpoint good = other.loop.checkpoint();
  Checkpoint bad_optimizer = good, bad_generator = good, bad_model = good, bad_position = good, bad_epoch = good;
  bad_optimizer.tensors.push_back({"adam.surprise", zeros({1})});
  bad_generator.bytes.at("generator").clear();
  bad_model.tensors[0].tensor = zeros({7});
  bad_position.set("epoch.batch", 99);
  bad_epoch.set("steps_per_epoch", 5);
  for (const Checkpoint* bad : {&bad_optimizer, &bad_generator, &bad_model, &bad_position, &bad_epoch}) {
    Trained run({.epochs = 2});
    manual_seed(11);
    const std::vector<float> before = run.weights();
    EXPECT_NE(error_of([&] { run.loop.restore(*bad); }), "no error");
    EXPECT_EQ(run.weights(), before);
    EXPECT_EQ(run.loop.steps(), 0);
    EXPECT_EQ(default_generator().random64(), Generator(11).random64());
  }
  Trained run({.epochs = 2});
  run.loop.restore(good);
  EXPECT_EQ(run.weights(), other.weights());
  EXPECT_EQ(run.loop.steps(), 1);
}

TEST(Loop, AStepThatFailedEndsTheTrainingUntilACheckpointIsRestored) {
  Trained run({.epochs = 2, .accumulate = 3});
  run.loop.step();
  const Checkpoint saved = run.loop.checkpoint();
  run.fail_at = run.batches + 2;
  EXPECT_EQ(error_of([&] { run.loop.step(); }), "[test] no batch");
  run.fail_at = 0;
  EXPECT_ERROR(run.loop.step());
  run.loop.restore(saved);
  Trained unbroken({.epochs = 2, .accumulate = 3});
  for (int i = 0; i < 3; ++i) unbroken.loop.step();
  manual_seed(3);
  run.loop.restore(saved);
  run.loop.step();
  run.loop.step();
  EXPECT_EQ(run.weights(), unbroken.weights());
}

struct WithNorm {
  nn::Linear linear{2, 3};
  nn::BatchNorm1d norm{3};
  bool training = true;
  Tensor operator()(const Tensor& x) const { return norm(linear(x)); }
  void visit(auto&& field) {
    field("linear", linear);
    field("norm", norm);
  }
};

TEST(Loop, AnEvaluationThatFailsLeavesTheModelInTraining) {
  WithNorm model;
  optim::SGD sgd(nn::parameters(model), {.lr = 0.1});
  data::DataLoader<Numbers> loader{Numbers(), {.batch_size = 4}};
  const Loop loop(model, sgd, loader, [](const auto&) { return BatchLoss{}; },
                  {.evaluate = []() -> Evaluation { fail("test", "no evaluation"); }, .evaluate_every = 1});
  EXPECT_EQ(error_of([&] { loop.evaluate(); }), "[test] no evaluation");
  EXPECT_TRUE(model.training);
  EXPECT_TRUE(model.norm.training);
}

TEST(Loop, AnEvaluationKeepsModulesInEvalModeThatWereInIt) {
  WithNorm model;
  optim::SGD sgd(nn::parameters(model), {.lr = 0.1});
  data::DataLoader<Numbers> loader{Numbers(), {.batch_size = 4}};
  bool evaluated_in_training = true;
  Loop loop(model, sgd, loader, [&](const auto& batch) { return BatchLoss{mean(square(model(batch.first)))}; },
            {.evaluate =
                 [&] {
                   evaluated_in_training = model.norm.training;
                   return Evaluation{1};
                 },
             .evaluate_every = 1});
  EXPECT_TRUE(model.norm.training);
  loop.step();
  EXPECT_FALSE(evaluated_in_training);
  EXPECT_TRUE(model.norm.training);
  nn::eval(model.norm);  // its statistics are frozen
  const std::vector<float> before = model.norm.running_mean->to_vector<float>();
  for (int i = 0; i < 3; ++i) loop.step();
  EXPECT_FALSE(model.norm.training);
  EXPECT_EQ(model.norm.running_mean->to_vector<float>(), before);
}

TEST(Loop, ARunBeginsAtTheFirstStepOrAtACheckpoint) {
  const TemporaryFolder folder;
  Trained run;
  run.loop.step();
  EXPECT_ERROR(run.loop.run({.folder = folder / "run"}));
  EXPECT_FALSE(fs::exists(folder / "run/previous-1"));
}

TEST(Loop, NumbersThatAreNotFiniteDoNotSpoilTheMetrics) {
  const TemporaryFolder folder;
  {
    MetricsFile file(folder / "metrics.jsonl", 0, 1);
    file.add(StepMetrics{.step = 1, .loss = kInf, .accuracy = kInf, .lr = kInf, .tokens_per_s = kInf});
    file.add(StepMetrics{.step = 2, .loss = -1.7976931348623157e308, .lr = 1e-300, .tokens_per_s = 1e308});
    file.add(EpochMetrics{.epoch = 0, .loss = kInf, .accuracy = -kInf});
  }
  const Metrics read = read_metrics(folder / "metrics.jsonl");
  ASSERT_EQ(read.steps.size(), 2u);
  EXPECT_TRUE(std::isnan(read.steps[0].accuracy));
  EXPECT_EQ(read.steps[1].tokens_per_s, 1e308);
  EXPECT_EQ(read.epochs.size(), 1u);
}

TEST(Interrupts, AreSharedByThreadsAndRespectIgnoredSignals) {
  const auto handler = [](int signal) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    return action.sa_handler;
  };
  const auto before = handler(SIGINT);
  auto first = std::make_unique<CatchInterrupts>(), second = std::make_unique<CatchInterrupts>();
  first.reset();
  EXPECT_NE(handler(SIGINT), before);
  std::raise(SIGINT);
  EXPECT_TRUE(CatchInterrupts::interrupted());
  EXPECT_EQ(handler(SIGTERM), SIG_DFL) << "the next signal, of either kind, ends the process";
  second.reset();
  EXPECT_EQ(handler(SIGINT), before);
  std::signal(SIGINT, SIG_IGN);
  {
    const CatchInterrupts catching;
    std::raise(SIGINT);
    EXPECT_FALSE(CatchInterrupts::interrupted());
    std::raise(SIGTERM);
    EXPECT_TRUE(CatchInterrupts::interrupted());
    EXPECT_EQ(handler(SIGINT), SIG_IGN) << "the other signal does not change that";
  }
  EXPECT_EQ(handler(SIGINT), SIG_IGN);
  std::signal(SIGINT, before);
}

struct Two {
  nn::Parameter u, w;
};

// The loop updates parameters while backward runs, unless it clips: a clip that changes nothing gives the same values.
TEST(Loop, UpdatesAfterOperationsThatReadParameters) {
  static const Op kScaled{"scaled_by_w"};
  for (const int64_t n : {10, 131'071, 131'072, 200'000}) {
    std::vector<float> found[2];
    for (const bool clips : {false, true}) {
      Two model{.u = nn::Parameter(full({n}, 2)), .w = nn::Parameter(full({n}, 3))};
      optim::SGD sgd(nn::parameters(model), {.lr = 1});
      const data::DataLoader loader(Numbers(), {.batch_size = 32});
      const auto loss = [&](const auto&) {
        const Tensor w = model.w.tensor();
        const Tensor y = custom(
            kScaled, {model.u.tensor()}, [w](const Tensor& u) { return u * w; },
            [w](const Tensor& dy) -> Grads { return dy * w; });
        const Tensor z = nn::recompute(y, [&](const Tensor& x) { return x * model.w->detach(); });
        return BatchLoss{.loss = sum(z * model.w)};
      };
      Loop loop(model, sgd, loader, loss, {.epochs = 1, .clip_grad_norm = clips ? 1e9 : 0});
      loop.step();
      found[clips] = {model.u->data<float>()[0], model.w->data<float>()[n - 1]};
    }
    EXPECT_EQ(found[0], (std::vector<float>{2 - 27, 3 - 18})) << n;
    EXPECT_EQ(found[1], found[0]) << n;
  }
}

TEST(Loop, ALossThatIsNotFiniteIsAnErrorBeforeTheUpdate) {
  Trained run({.schedule = optim::Constant{1e30}});
  std::string error = "no error";
  for (int i = 0; i < 8 && error == "no error"; ++i) error = error_of([&] { run.loop.step(); });
  EXPECT_NE(error.find("is not finite (a smaller learning rate may help"), std::string::npos) << error;
}

TEST(Loop, ALossThatIsNotFiniteBeforeAnyUpdateIsNotBlamedOnTheLearningRate) {
  nn::Linear model(2, 1);
  optim::SGD sgd(nn::parameters(model), {.lr = 0.1});
  data::DataLoader<Numbers> loader{Numbers(), {.batch_size = 4}};
  Loop loop(model, sgd, loader, [](const auto&) { return BatchLoss{.loss = scalar(std::nan(""))}; });
  EXPECT_ERROR(loop.step());
}

}  // namespace
}  // namespace tapegrad::train
