// Runs of `train gpt`: resumption, the best model, early stops, and folders that have other models.
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tests/support/runs/verdict_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/metrics.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// A run that is broken off after three steps, and resumed, ends with the parameters in the file `model`.
void expect_same_end(GPTOptions options, const std::string& model) {
  resolve(options);
  manual_seed(99);  // the run seeds again
  GPTTrainer broken(options);
  for (int i = 0; i < 3; ++i) broken.step();
  const train::Checkpoint saved = broken.checkpoint();
  GPTTrainer resumed(saved);
  while (!resumed.finished()) resumed.step();
  const SafeTensors expected = load_safetensors(model);
  for (const NamedTensor& own : nn::state_dict(resumed->decoder()))
    EXPECT_EQ(own.tensor.to_vector<float>(), expected[own.name].to_vector<float>()) << own.name;
}

class GptRun : public InAFolder {
 protected:
  // Continues the run in a subfolder with these options.
  Ran resume(const std::string& run, const Arguments& more = {}) const {
    return run_command(joined({"train", "gpt", "--resume", "--out", folder / run}, more));
  }
  // Writes a text as a token file.
  void save_tokens(const std::string& name, const std::string& text) const {
    spill(folder / "one.txt", text);
    successful(run_command({"tokenize", "--tokenizer", kCut, "--text", folder / "one.txt", "--save", folder / name}));
  }
};

TEST_F(GptRun, AResumedRunEndsInTheSameBits) {
  train_small_gpt(folder, "whole", {"--accumulate", "2", "--clip-grad", "0.5", "--recompute"});
  GPTOptions options = small_gpt_options(folder);
  options.accumulate = 2, options.clip_grad = 0.5, options.recompute = true;
  expect_same_end(options, folder / "whole/model.safetensors");
  for (const std::string& text : {kGPTText + "The", kGPTText.substr(0, 1200), kGPTText + "\xe2\x98\x83",
                                  std::string("no")}) {  // shorter ones too
    spill(folder / "text.txt", text);
    EXPECT_TEXT(rejected(resume("whole")));
  }
}

// Token files with weights: the same bits for any number of threads and when resumed, another order than that of a
// single file, whose order stays PyTorch's.
TEST_F(GptRun, TrainsOnSeveralTokenFiles) {
  save_tokens("a.tokens", kGPTText);
  save_tokens("b,1.tokens", "One two three, and four: " + kGPTText);
  const std::string text = (folder / "a.tokens") + ":1.5," + (folder / "b") + ",1.tokens", two = folder / "a.tokens";
  const auto run = [&](const std::string& name, const std::string& texts, const Arguments& more = {}) {
    return run_command(small_gpt_run(folder, name, joined({"--text", texts, "--tokenizer", kCut}, more)));
  };
  expect_error(run("x", text), 2, {"[--text] there is no file " + (folder / "b")});
  std::filesystem::rename(folder / "b,1.tokens", folder / "b.tokens");
  const std::string mixed = two + ":1.5," + (folder / "b.tokens");
  const Ran whole = successful(run("whole", mixed, {"--threads", "1"}));
  const std::string model = slurp(folder / "whole/model.safetensors");
  successful(run("threads", mixed, {"--threads", "2"}));
  EXPECT_TRUE(slurp(folder / "threads/model.safetensors") == model);
  successful(run("other", two + ":2," + (folder / "b.tokens")));
  EXPECT_FALSE(slurp(folder / "other/model.safetensors") == model);

  GPTOptions options = small_gpt_options(folder);
  options.text = mixed, options.tokenizer = kCut;
  expect_same_end(options, folder / "whole/model.safetensors");

  // A single file: PyTorch's order unless another one is chosen.
  successful(run("auto", two));
  successful(run("pytorch", two, {"--window-order", "pytorch"}));
  successful(run("permutation", two, {"--window-order", "permutation"}));
  const auto values = [&](const std::string& name) {
    return load_safetensors(folder / (name + "/model.safetensors"))["out_head.weight"].to_vector<float>();
  };
  EXPECT_EQ(values("auto"), values("pytorch"));
  EXPECT_NE(values("auto"), values("permutation"));

  expect_errors("tasks/errors/gpt.txt", "several token files", folder, [&](const Arguments& words) {
    return run("x", words.at(0), {words.begin() + 1, words.end()});
  });
  save_tokens("b.tokens", "Another text. " + kGPTText);
  EXPECT_TEXT(rejected(resume("whole")));
}

TEST_F(GptRun, ADamagedTokenFileIsAnError) {
  const std::string tokens = folder / "a.tokens";
  save_tokens("a.tokens", kGPTText);
  const Arguments verify{"tokenize", "--verify", tokens};
  const Ran good = successful(run_command(verify));
  EXPECT_TRUE(good.out.starts_with(tokens + ": ") && good.out.ends_with(" tokens, undamaged\n")) << good.out;
  const Arguments on_tokens{"--text", tokens, "--tokenizer", kCut, "--max-steps", "2"};
  train_small_gpt(folder, "run", on_tokens);
  std::string bytes = slurp(tokens);
  std::swap(bytes[256], bytes[256 + 2 * 9]);
  ASSERT_NE(bytes, slurp(tokens));
  spill(tokens, bytes);
  const std::vector<std::string> error{"[text] " + tokens +
                                       " is damaged: its ids do not match the checksum in its header"};
  expect_error(run_command(verify), 1, error);
  expect_error(resume("run"), 1, error);
  expect_error(run_command(small_gpt_run(folder, "another", on_tokens)), 1, error);
  expect_error(run_command({"test", "gpt", "--model", folder / "run", "--text", tokens}), 1, error);
  expect_errors("tasks/errors/gpt.txt", "verification of token files", folder);
}

// Products in bfloat16: close to those in float32, the same bits when resumed, and float32 in the model's file.
TEST_F(GptRun, TrainsInBFloat16) {
  train_small_gpt(folder, "whole", {"--dtype", "bfloat16"});
  train_small_gpt(folder, "wide");
  const double narrow = losses_in(folder / "whole").back(), wide = losses_in(folder / "wide").back();
  EXPECT_NE(narrow, wide);
  EXPECT_NEAR(narrow, wide, 0.02);
  EXPECT_NE(slurp(folder / "whole/report.html").find("bfloat16"), std::string::npos);
  EXPECT_EQ(load_safetensors(folder / "whole/model.safetensors").tensors[0].tensor.dtype(), kFloat32);

  GPTOptions options = small_gpt_options(folder);
  options.dtype = kBFloat16;
  expect_same_end(options, folder / "whole/model.safetensors");
  expect_error(resume("whole", {"--dtype", "float32"}), 2, {"[train --resume]", "--dtype bfloat16 (not float32)"});
}

// The last batch of the validation part may be smaller.
TEST_F(GptRun, TheValidationLossDoesNotDependOnTheBatches) {
  const auto loss_with = [&](int64_t batch_size) {
    GPTOptions options = small_gpt_options(folder);
    options.batch_size = batch_size;
    resolve(options);
    GPTTrainer trainer(options);
    return trainer->untrained_losses().validation;
  };
  const double whole = loss_with(8);
  for (const int64_t batch_size : {1, 2, 3, 4, 5}) EXPECT_NEAR(loss_with(batch_size), whole, 1e-6) << batch_size;
}

TEST_F(GptRun, TheSameOptionsResume) {
  const Arguments words{"--stride", "0", "--max-steps", "2"};
  train_small_gpt(folder, "run", words);
  train_small_gpt(folder, "run", joined(words, {"--resume"}));
  for (const char* stride : {"0", "16"}) successful(resume("run", {"--stride", stride}));
  // Options are compared with the run's, not with those of the usual preset, which these do not fit.
  expect_errors("tasks/errors/gpt.txt", "resumption with other options", folder,
                [&](const Arguments& more) { return resume("run", more); });
}

// The folder is locked before its checkpoint is read: the process that is writing it is named, not what was read of it.
TEST_F(GptRun, AResumedRunIsLockedBeforeItIsRead) {
  const train::RunFolder taken(folder / "run");
  spill(folder / "run/checkpoint", "half");
  expect_errors("tasks/errors/runs.txt", "a run that is locked", folder);
}

// Options that are not settings of the run are those of the command that resumes it.
TEST_F(GptRun, AResumedRunHasTheOptionsOfItsCommand) {
  const std::string model = folder / "run/model.safetensors";
  train_small_gpt(folder, "run", {"--max-steps", "2"});
  const auto masks = [&] {
    int64_t count = 0;
    for (const NamedTensor& entry : load_safetensors(model).tensors) count += entry.name.ends_with("att.mask") ? 1 : 0;
    return count;
  };
  EXPECT_EQ(masks(), 0);
  successful(resume("run", {"--with-masks"}));
  successful(run_command({"generate", "gpt", "--model", folder / "run", "--prompt", "The"}));
  EXPECT_EQ(masks(), 1);
}

// A run that breaks in the second of its two epochs keeps the first one's sample.
TEST_F(GptRun, AResumedRunReportsEverySample) {
  train_small_gpt(folder, "whole");
  GPTOptions options = small_gpt_options(folder);
  resolve(options);
  GPTTrainer trainer(options);
  for (int i = 0; i < 10; ++i) {
    trainer.step();
    if (trainer.ended_epoch()) trainer->sample();
  }
  fs::create_directories(folder / "part");
  trainer.checkpoint().save(folder / "part/checkpoint");
  fs::copy_file(folder / "whole/metrics.jsonl", folder / "part/metrics.jsonl");
  successful(resume("part"));
  const auto samples = [&](const char* run) {
    const std::string report = slurp(folder / (std::string(run) + "/report.html"));
    const std::size_t begin = report.find("<h2>Samples</h2>");
    return report.substr(begin, report.find("<h2>Settings</h2>") - begin);
  };
  EXPECT_EQ(samples("part"), samples("whole"));
  expect_parts(samples("part"), {"<th>validation loss</th>", "<tr><td>1</td><td>", "<tr><td>2</td><td>", "The"});
}

TEST_F(GptRun, KeepsTheBestModel) {
  train_small_gpt(folder, "run", {"--keep-best", "--eval-interval", "1", "--lr", "0.05", "--schedule", "constant"});
  const auto steps = train::read_metrics(folder / "run/metrics.jsonl").steps;
  const auto best = std::ranges::min_element(
      steps, {}, [](const train::StepMetrics& step) { return step.validation_loss.value_or(kInf); });
  EXPECT_EQ(load_safetensors(folder / "run/best.safetensors").metadata.at("steps"), std::to_string(best->step));
  successful(run_command({"generate", "gpt", "--model", folder / "run/best.safetensors", "--prompt", "The"}));
}

TEST_F(GptRun, StopsEarly) {
  train_small_gpt(folder, "run",
                  {"--lr", "1e-30", "--schedule", "constant", "--weight-decay", "0", "--eval-interval", "1",
                   "--patience", "2", "--num-epochs", "5", "--drop-rate", "0"});
  EXPECT_LT(lines(slurp(folder / "run/metrics.jsonl")).size(), 12U);
  EXPECT_FALSE(slurp(folder / "run/model.safetensors").empty());
}

TEST_F(GptRun, AnotherModelInHuggingFacesFolderIsKept) {
  const std::string hf = folder / "hf";
  const auto run = [&](const std::string& out, const Arguments& more) {
    return run_command(small_gpt_run(folder, out, joined({"--max-steps", "2"}, more)));
  };
  successful(run("first", {"--save-hugging-face", hf}));
  const std::string model = slurp(hf + "/model.safetensors");
  successful(run("first", {"--save-hugging-face", hf, "--resume"}));
  EXPECT_EQ(slurp(hf + "/model.safetensors"), model);
  const std::vector<std::string> said{"[--save-hugging-face] expected a folder without a model", "model.safetensors"};
  expect_error(run("second", {"--seed", "5", "--save-hugging-face", hf}), 2, said);
  expect_error(run("second", {"--save-hugging-face", folder / "first"}), 2, said);  // a run's
  const Arguments words = small_gpt_run(folder, "second", {"--max-steps", "2", "--save-hugging-face", hf});
  spill(folder / "text.txt", kGPTText + kGPTText);
  expect_error(run_command(words), 2, said);
  EXPECT_FALSE(fs::exists(folder / "second"));
  EXPECT_EQ(slurp(hf + "/model.safetensors"), model);
  for (const char* file : {"config.json", "tokenizer.json", "model.safetensors.index.json"}) {  // shards, a vocabulary
    const std::string other = folder / (std::string("other-") + file);
    fs::create_directory(other);
    spill(other + "/" + file, "{}");
    expect_error(run("second", {"--save-hugging-face", other}), 2, {"[--save-hugging-face]", file});
    EXPECT_EQ(slurp(other + "/" + file), "{}");
  }
}

TEST_F(GptRun, ARunThatDivergesStopsBeforeItPrintsLosses) {
  const Ran ran = run_command(
      small_gpt_run(folder, "run", {"--schedule", "constant", "--lr", "1e30", "--clip-grad", "0", "--no-progress"}));
  EXPECT_EQ(ran.code, 1);
  expect_parts(ran.err, {"not finite (a smaller learning rate may help; trap_nan names the operation)"});
  EXPECT_EQ(ran.out.find("nan"), std::string::npos) << ran.out;
}

TEST_F(GptRun, RunsOfAnotherTaskAreNotContinued) {
  train_small_gpt(folder, "gpt", {"--max-steps", "1"});
  train_tiny(folder, "copy", "copy");
  expect_errors("tasks/errors/runs.txt", "runs of another task", folder);
}

}  // namespace
}  // namespace tapegrad::tasks
