// Checkpoints of any program, the files of training runs, and those of older versions; the order of a run.
#include <tapegrad/tasks/run/train.h>
#include <tapegrad/tests/support/runs/small_loop.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>
#include <tapegrad/train/files/internal/checked_file.h>

namespace tapegrad::train {
namespace {

using namespace tests;

struct Own {
  nn::Linear first{3, 5}, second{5, 2};
};

using CheckpointFile = InAFolder;

TEST_F(CheckpointFile, StoresModelOptimiserGeneratorAndFields) {
  const std::string path = folder / "checkpoint";
  Own model;
  optim::Adam adam(nn::parameters(model), {.lr = 0.1});
  const auto step = [&](Own& m, optim::Adam& a, Generator& g) {
    Tape tape;
    const Tensor loss = sum(m.second(relu(m.first(randn({4, 3}, kFloat32, &g)))));
    a.step(tape.backward(loss));
    return loss.item();
  };
  Generator draws(5);
  step(model, adam, draws);

  Checkpoint out;
  out.add("model.", nn::state_dict(model));
  out.add("adam.", adam.state());
  out.add("draws", draws);
  out.set("step", 1);
  out.set("third", 1.0 / 3);
  out.set("largest", std::numeric_limits<uint64_t>::max());
  out.set("infinite", -kInf);
  out.set("name", "caf\xc3\xa9 \"\n");
  EXPECT_ERROR(out.set("text", std::string("a\xff")));
  out.save(path);
  const double expected = step(model, adam, draws);

  Own other;
  optim::Adam other_adam(nn::parameters(other), {.lr = 0.1});
  Generator other_draws(9);
  const Checkpoint in = Checkpoint::load(path);
  nn::load_state_dict(other, in.with_prefix("model."));
  other_adam.load_state(in.with_prefix("adam."));
  in.restore("draws", other_draws);
  EXPECT_EQ(step(other, other_adam, other_draws), expected);
  EXPECT_EQ(in.get<int64_t>("step"), 1);
  EXPECT_EQ(in.get<double>("third"), 1.0 / 3);
  EXPECT_EQ(in.get<uint64_t>("largest"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(in.get<double>("infinite"), -kInf);
  EXPECT_EQ(in.get<std::string>("name"), "caf\xc3\xa9 \"\n");
  EXPECT_TRUE(in.has("step") && !in.has("steps"));
  EXPECT_EQ(in.fields, out.fields);
  EXPECT_EQ(error_of([&] { in.get<int64_t>("steps"); }), "[checkpoint] it has no field \"steps\"");
  EXPECT_ERROR(in.get<int64_t>("third"));
  EXPECT_ERROR(in.get<int64_t>("largest"));
  EXPECT_EQ(error_of([&] { in.bytes_named("other"); }), "[checkpoint] it has no bytes named \"other\"");
}

TEST_F(CheckpointFile, IsASafetensorsFile) {
  const std::string path = folder / "checkpoint";
  Checkpoint out;
  out.add("w.", {{"a", tensor({1.0, 2.0})}});
  out.bytes["draws"] = {std::byte{1}, std::byte{200}};
  out.set("step", 7);
  out.save(path);
  const std::string file = slurp(path);
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  const auto header = Json::parse(file.substr(8, length));
  EXPECT_EQ(header["__metadata__"]["kind"], "tapegrad checkpoint");
  EXPECT_EQ(header["__metadata__"]["step"], "7");
  EXPECT_EQ(header["draws"], Json::parse(R"({"data_offsets":[8,10],"dtype":"U8","shape":[2]})"));
  EXPECT_EQ(header["w.a"], Json::parse(R"({"data_offsets":[0,8],"dtype":"F32","shape":[2]})"));
  EXPECT_EQ(file.substr(8 + length), std::string("\0\0\x80\x3f\0\0\0\x40\x01\xc8", 10));
}

TEST_F(CheckpointFile, OtherFilesAreNotCheckpoints) {
  const std::string path = folder / "checkpoint";
  const std::string not_one = "[checkpoint] " + path + ": not a checkpoint of tapegrad, or damaged in its header";
  save_safetensors(path, {{"x", ones({1})}}, {{"kind", "tapegrad checkpoint"}});
  EXPECT_EQ(error_of([&] { Checkpoint::load(path); }), not_one) << "without checksums";
  save_safetensors(path, {{"x", ones({1})}}, {}, {.checksums = true});
  EXPECT_EQ(error_of([&] { Checkpoint::load(path); }), not_one) << "a model";
  Checkpoint out;
  out.set("kind", "mine");
  EXPECT_EQ(error_of([&] { out.save(path); }), "[checkpoint] expected another name for a field, got \"kind\"");
}

// ---- Files of tapegrad 0.1.0, as its release build wrote them ----

const std::string kOld = tests::data_path("version_0_1/");

TEST(Version01, ItsModelsAreRead) {
  const TemporaryFolder folder;
  for (const auto& [task, token_accuracy] :  // that version 0.1.0 printed for them
       {std::pair{"copy", 0.04}, {"addition", 0.09}, {"parser", 0.012}}) {
    const Ran ran =
        run_command({"test", task, "--model", kOld + task + ".safetensors", "--count", "50", "--json"}, folder);
    ASSERT_EQ(ran.code, 1) << ran.err;
    const auto json = Json::parse(ran.out);
    EXPECT_NEAR(json["token_accuracy"].get<double>(), token_accuracy, 0.0005) << task;
  }
  const Ran text = successful(run_command(
      {"generate", "gpt", "--model", kOld + "gpt.safetensors", "--prompt", "two plus", "--max-new-tokens", "10"}));
  EXPECT_EQ(text.out, "two plus w wew..zp\n");
}

TEST(Version01, ItsCheckpointsAreRejectedByName) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "run");
  spill(folder / "run/checkpoint", slurp(kOld + "gpt.checkpoint"));
  EXPECT_TEXT(rejected(run_command({"train", "gpt", "--resume", "--out", folder / "run"}, folder)));
}

using FilesOfARun = InAFolder;

TEST_F(FilesOfARun, WritesTheFilesOfARun) {
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
  expect_parts(report, {"<h1>A line</h1>", "16 steps", "of the model", "validation loss"});
  EXPECT_EQ(report.find("Accuracy"), std::string::npos);
  const std::string bits = bits_of(nn::state_dict(run.model));
  EXPECT_TRUE(metrics.ends_with("\n{\"bits\":\"" + bits + "\"}\n")) << metrics;
  expect_parts(report, {"<b>" + bits + "</b><span>fingerprint (same fingerprint = same model)</span>"});
  EXPECT_EQ(bits_of(load_safetensors(folder / "run/model.safetensors").tensors), bits);
}

// Also of a run that has ended before; with more steps, the line is that of the new end.
TEST_F(FilesOfARun, EveryRunEndsWithItsBits) {
  const std::string metrics = folder / "run/metrics.jsonl";
  std::vector<std::string> bits;
  for (const int64_t epochs : {1, 1, 2}) {
    Trained run({.epochs = epochs});
    const std::string printed = folder / "printed.txt";
    std::FILE* out = std::fopen(printed.c_str(), "w");
    run.loop.run({.folder = folder / "run", .resume = true, .progress = false, .messages = out});
    std::fclose(out);
    bits.push_back(bits_of(nn::state_dict(run.model)));
    EXPECT_TRUE(slurp(printed).ends_with(
        "/report.html\nFingerprint of the model (same fingerprint = same model):\nbits " + bits.back() + "\n"))
        << slurp(printed);
    EXPECT_EQ(read_metrics(metrics).bits, bits.back());
    const std::string text = slurp(metrics);
    EXPECT_EQ(text.find("\"bits\""), text.rfind("\"bits\""));
  }
  EXPECT_EQ(bits[0], bits[1]);
  EXPECT_NE(bits[1], bits[2]);
}

// w is NaN after the first update: the gradient of sqrt at 0, times 0.
struct BecomesNaN {
  nn::Parameter w{ones({2})};
  nn::Buffer counts{zeros({1})};
  void visit(auto&& field) { field("w", w), field("counts", counts); }
};

TEST_F(FilesOfARun, WhatAnUpdateHasSpoiledIsNotSaved) {
  for (const bool last : {false, true, false, true}) {
    const bool by_gradient = fs::exists(folder / (last ? "last" : "middle"));
    BecomesNaN model;
    double loss = 0;
    optim::SGD sgd(nn::parameters(model), {.lr = 1e-3});
    data::DataLoader<Numbered> loader({last ? 3 : 9}, {.batch_size = 1});
    Loop loop(model, sgd, loader,
              [&](const Tensor& i) {
                const Tensor w = model.w.tensor(), sum_of = sum(w);
                return BatchLoss{by_gradient && i.item() == 2 ? sum_of + sum(sqrt(w * 0.0)) : sum_of};
              },
              {.evaluate = [&] { return Evaluation{--loss}; },
               .evaluate_every = 1,
               .after_step =
                   [&](int64_t step) {
                     if (!by_gradient && step == 3) model.w.set(full({2}, NAN));
                   }});
    const std::string run = folder / (last ? "last" : "middle") + (by_gradient ? "2" : "");
    EXPECT_ERROR(loop.run({.folder = run, .checkpoint_every = last ? 2 : 1, .keep_best = true, .progress = false}));
    EXPECT_FALSE(fs::exists(run + "/model.safetensors"));
    const Checkpoint kept = Checkpoint::load(run + "/checkpoint");
    EXPECT_EQ(kept.get<int64_t>("steps"), 2);
    for (const NamedTensor& entry : kept.with_prefix(kModelPrefix)) EXPECT_TRUE(all_finite(entry.tensor)) << entry.name;
    for (const NamedTensor& entry : load_checked(run + "/best.safetensors").tensors)
      EXPECT_TRUE(all_finite(entry.tensor)) << entry.name;
  }
}

TEST_F(FilesOfARun, ABufferOfNaNIsNotSavedButOneOfInfinitiesIs) {
  const auto run_with = [&](double value) {
    BecomesNaN model;
    model.counts.set(full({1}, value));
    optim::SGD sgd(nn::parameters(model), {.lr = 1e-3});
    data::DataLoader<Numbered> loader({1}, {});
    Loop loop(model, sgd, loader, [&](const Tensor&) { return BatchLoss{sum(model.w.tensor())}; });
    return error_of([&] { loop.run({.folder = folder / "run", .progress = false}); });
  };
  EXPECT_EQ(run_with(-kInf), "no error");
  EXPECT_TEXT(run_with(std::nan("")));
}

TEST_F(FilesOfARun, ARunWithoutItsMetricsContinues) {
  const auto run_to = [&](int64_t steps, const std::string& name) {
    Trained run({.epochs = 5, .max_steps = steps});
    run.loop.run({.folder = folder / name, .resume = true, .checkpoint_every = 5, .progress = false});
    return run.weights();
  };
  const std::vector<float> whole = run_to(40, "whole");
  run_to(20, "run");
  fs::remove(folder / "run/metrics.jsonl");
  run_to(30, "run");
  EXPECT_EQ(read_metrics(folder / "run/metrics.jsonl").steps.front().step, 21);
  EXPECT_EQ(run_to(40, "run"), whole);  // again, with the new file
  const Metrics metrics = read_metrics(folder / "run/metrics.jsonl");
  EXPECT_EQ(metrics.steps.size(), 20u);
  EXPECT_EQ(metrics.epochs.front().epoch, 2);
  EXPECT_NE(slurp(folder / "run/report.html").find("<b>40</b><span>steps</span>"), std::string::npos);
  const std::string lines = slurp(folder / "run/metrics.jsonl");
  replace_file(folder / "run/metrics.jsonl", lines.substr(0, lines.find("{\"step\":25")));
  EXPECT_ERROR(run_to(50, "run"));
}

TEST_F(FilesOfARun, ARunWhoseFolderIsMovedStaysInIt) {
  const LoopOptions options{.epochs = 4};
  Trained whole(options);
  whole.loop.run({.folder = folder / "whole", .progress = false});
  for (const bool another : {false, true}) {  // another run in its place
    const std::string place = folder / (another ? "a" : "b"), moved = place + "-moved";
    LoopOptions moving = options;
    int64_t saves = 0;
    moving.save = [&](Checkpoint&) {
      if (++saves != 2) return;
      fs::rename(place, moved);
      if (!another) return;
      const RunFolder other(place);
      replace_file(place + "/checkpoint", "of the other run");
    };
    Trained run(moving);
    run.loop.run({.folder = place, .checkpoint_every = 5, .keep_best = true, .progress = false});
    for (const char* file : {"/checkpoint", "/model.safetensors", "/metrics.jsonl", "/report.html"})
      EXPECT_TRUE(fs::exists(moved + file)) << file;
    EXPECT_EQ(slurp(moved + "/model.safetensors"), slurp(folder / "whole/model.safetensors"));
    EXPECT_EQ(Checkpoint::load(moved + "/checkpoint").get<int64_t>("steps"), 32);
    EXPECT_EQ(fs::exists(place), another);
    if (!another) continue;
    EXPECT_EQ(slurp(place + "/checkpoint"), "of the other run");
    EXPECT_EQ(std::distance(fs::directory_iterator(place), fs::directory_iterator()), 1);
  }
}

TEST_F(FilesOfARun, ARunWhoseFolderIsReplacedWritesNothingIntoTheOtherOne) {
  const std::string place = folder / "run";
  Trained run({.save = [&](Checkpoint&) {
    fs::remove_all(place);
    const RunFolder other(place);
  }});
  EXPECT_ERROR(run.loop.run({.folder = place, .checkpoint_every = 5, .progress = false}));
  EXPECT_TRUE(fs::is_empty(place));
}

// The smallest kind of run: a line through Numbers. It notes what is called, and whether the folder was there.
class LineRecipe final : public tasks::Recipe {
 public:
  LineRecipe(std::vector<std::string>& calls, std::string out, std::string fails)
      : calls_(calls), out_(std::move(out)), fails_(std::move(fails)) {
    settings_.lr = 0.1;
    settings_.batch_size = 4;
  }
  std::string_view name() const override { return "line"; }
  void list(nn::Fields& fields) override { settings_.list(fields); }
  tasks::TrainingSettings& training() override { return settings_; }
  void adapt(const tasks::Given&) override { note("adapt"); }
  void resolve() override { note("resolve"); }
  void open(const Checkpoint* saved) override {
    note(saved != nullptr ? "open saved" : "open");
    loader_.emplace(tests::Numbers(), data::LoaderOptions{.batch_size = settings_.batch_size, .shuffle = true});
  }
  double bytes(int64_t) override { return note("bytes"), 1; }
  void make() override { note("make"), model_.emplace(2, 1); }
  nn::AnyModel model() override { return nn::AnyModel(*model_); }
  void prepare(const tasks::RunRequest&, const distributed::World&) override { note("prepare"); }
  optim::Schedule schedule(int64_t steps) override { return settings_.schedule_of(2, steps); }
  int64_t batches_per_epoch() const override { return loader_->size(); }
  std::unique_ptr<Loop> loop(optim::Optimizer& optimizer, LoopOptions options) override {
    note("loop");
    const auto loss = [this](const auto& batch) {
      return BatchLoss{.loss = mse_loss((*model_)(batch.first).reshape({-1}), batch.second)};
    };
    return std::make_unique<Loop>(*model_, optimizer, *loader_, loss, std::move(options));
  }
  std::string announcement(const Loop&) override { return note("announcement"), ""; }
  ReportText report() override { return note("report"), ReportText(); }
  void finish() override { note("finish"); }

 private:
  void note(const std::string& call) {
    calls_.push_back(std::filesystem::exists(out_) ? call + " /" : call);
    if (call == fails_) tasks::bad_request("--line", "no " + call);
  }

  std::vector<std::string>& calls_;
  std::string out_, fails_;
  tasks::TrainingSettings settings_;
  std::optional<data::DataLoader<tests::Numbers>> loader_;
  std::optional<nn::Linear> model_;
};

TEST(Recipe, IsCalledInOneOrderAndRejectsBeforeTheFolderIsMade) {
  const TemporaryFolder folder;
  std::vector<std::string> calls;
  const std::string out = folder / "run";
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());  // where the last run is noted
  const auto run = [&](const std::string& fails, bool resume = false) {
    calls.clear();
    const tasks::MakeRecipe make = [&] { return std::make_unique<LineRecipe>(calls, out, fails); };
    tasks::RunRequest request;
    request.out = out, request.resume = resume, request.no_progress = true;
    return tasks::train(make, make(), request, {});
  };
  const std::vector<std::string> all{"adapt", "resolve", "open", "bytes", "make", "loop", "prepare"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(error_of([&] { run(all[i]); }), "[--line] no " + all[i]);
    EXPECT_EQ(calls, std::vector<std::string>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i + 1)));
  }
  EXPECT_EQ(run(""), 0);
  std::vector<std::string> whole = all;
  for (const char* call : {"announcement /", "report /", "finish /"}) whole.emplace_back(call);
  EXPECT_EQ(calls, whole);
  const std::string model = slurp(out + "/model.safetensors");
  EXPECT_EQ(run("", true), 0);
  for (const char* call : {"resolve /", "open saved /", "make /"})
    EXPECT_NE(std::find(calls.begin(), calls.end(), call), calls.end()) << call;
  EXPECT_EQ(std::find(calls.begin(), calls.end(), "adapt /"), calls.end());
  fs::current_path(before);
  EXPECT_EQ(slurp(out + "/model.safetensors"), model);
}

}  // namespace
}  // namespace tapegrad::train
