// Damaged checkpoints and models of runs, and runs without space for them: nothing else is changed.
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/copy/copy.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

using Damage = InAFolder;

// Every byte of a file that `load` reads counts, and its length: the error names the file in one line.
void expect_all_counts(const std::string& file, const std::function<void()>& load) {
  const std::string good = slurp(file);
  const auto expect_refused = [&](const std::string& bytes, std::size_t at) {
    spill(file, bytes);
    const std::string text = error_of(load);
    EXPECT_TRUE(text.find(file) != text.npos && text.find('\n') == text.npos) << at << ": " << text;
  };
  for (std::size_t i = 0; i < good.size(); i += i < 2000 ? 1 : 97) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    expect_refused(bad, i);
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{47}, good.size() / 2, good.size() - 1})
    expect_refused(good.substr(0, size), size);
  expect_refused(good + "x", good.size());
}

TEST_F(Damage, EveryByteOfACheckpointAndOfAModelCounts) {
  const std::string file = folder / "checkpoint", model = folder / "model.safetensors";
  Trainer trainer(tiny_options("copy"));
  trainer.step();
  trainer.checkpoint().save(file);
  expect_all_counts(file, [&] { train::Checkpoint::load(file); });
  trainer->write_model(model, 0);
  Seq2SeqRecipe trained(CopyTask::kInfo);
  load_model(trained, model);
  EXPECT_EQ(trained.json(), trainer->json());
  expect_all_counts(model, [&] {
    Seq2SeqRecipe damaged(CopyTask::kInfo);
    load_model(damaged, model);
  });
}

TEST_F(Damage, ADamagedCheckpointStopsTheCommandAndNothingElseChanges) {
  const std::string out = folder / "run";
  train_tiny(folder, "copy", "run");
  const std::string model = slurp(out + "/model.safetensors"), metrics = slurp(out + "/metrics.jsonl");
  std::string bad = slurp(out + "/checkpoint");
  bad[bad.size() / 2] ^= 4;
  spill(out + "/checkpoint", bad);
  expect_error(run_command({"train", "copy", "--out", out, "--resume"}), 1,
               {"[safetensors]", "run/checkpoint", "damaged"});
  EXPECT_EQ(slurp(out + "/checkpoint"), bad);
  EXPECT_EQ(slurp(out + "/model.safetensors"), model);
  EXPECT_EQ(slurp(out + "/metrics.jsonl"), metrics);
  spill(out + "/model.safetensors", model.substr(0, model.size() - 5));
  expect_error(run_command({"test", "copy", "--model", out + "/model.safetensors"}), 1,
               {"[safetensors]", "model.safetensors", "truncated"});
}

TEST_F(Damage, WithoutSpaceNothingIsChanged) {
  const std::string out = folder / "run";
  train_tiny(folder, "copy", "run");
  const std::string model = slurp(out + "/model.safetensors"), checkpoint = slurp(out + "/checkpoint");
  expect_error(run_command(tiny_run("copy", out, {"--seed", "2"}), {.folder = folder.path(), .largest_file = 20000}), 1,
               {"[file]", "cannot write", "run"});
  EXPECT_EQ(slurp(out + "/model.safetensors"), model);
  EXPECT_EQ(slurp(out + "/checkpoint"), checkpoint);
  for (const auto& entry : fs::directory_iterator(out))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
}

TEST_F(Damage, AModelThatIsNotFiniteIsNotSaved) {
  const Ran ran = run_command(
      tiny_run("copy", folder / "run", {"--lr", "1e39", "--schedule", "constant", "--checkpoint-every", "1"}));
  expect_error(ran, 1, {"[train] \"", "\" is not finite after step 1, so nothing was saved"});
  for (const char* file : {"run/checkpoint", "run/model.safetensors"}) EXPECT_FALSE(fs::exists(folder / file)) << file;
}

}  // namespace
}  // namespace tapegrad::tasks
