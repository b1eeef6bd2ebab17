// `mpirun -n R tapegrad train`: the model files of one process, byte for byte; errors, kills and resumption.
#include <tapegrad/distributed/world.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/ranks.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/checkpoint.h>

namespace tapegrad::tests {
namespace {

Ran train_together(int processes, const Arguments& arguments) {
  return run_ranks(processes, joined({kCommand}, arguments));
}

// What a step decides; how fast it was may differ.
std::string decided(const std::string& folder) {
  return Pattern(",\"tokens_per_s\":[0-9.e+]*").replaced(slurp(folder + "/metrics.jsonl"), "");
}

void expect_same_run(const std::string& a, const std::string& b) {
  EXPECT_FALSE(slurp(a + "/model.safetensors").empty());
  EXPECT_TRUE(slurp(a + "/model.safetensors") == slurp(b + "/model.safetensors"));
  EXPECT_EQ(decided(a), decided(b));
}

// A program whose loop has no World trains in each process: the first one says so.
TEST(Launched, LoopsWithoutAWorldSaySo) {
  const auto note = [](const char* rank, const char* size) {
    ::setenv("PMI_RANK", rank, 1);
    ::setenv("PMI_SIZE", size, 1);
    distributed::World::note_separate_runs();
    distributed::World::note_separate_runs();  // once
    std::_Exit(0);
  };
  const char* const said = "note: a launcher started 2 processes, and each of them trains alone .a distributed::World";
  EXPECT_EXIT(note("0", "2"), testing::ExitedWithCode(0), said);
  EXPECT_EXIT(note("1", "2"), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(note("0", "1"), testing::ExitedWithCode(0), "^$");
}

using TrainTogether = InAFolder;

TEST_F(TrainTogether, CopyHasTheBitsOfOneProcess) {
  SKIP_WITHOUT_MPIRUN();
  const auto run_in = [&](const char* name, int processes) {
    const RunSetting here{.folder = folder.path() / name};
    std::filesystem::create_directory(here.folder);
    const Arguments run = tiny_run("copy", "out", {"--accumulate", "4", "--threads", "1", "--num-epochs", "1"});
    return successful(processes == 1 ? run_command(run, here) : run_ranks(processes, joined({kCommand}, run), here));
  };
  const Ran one = run_in("one", 1), four = run_in("four", 4);
  expect_same_run(folder / "one/out", folder / "four/out");
  EXPECT_EQ(four.out, one.out);  // the first process prints, and its last batch is that of one process
}

TEST_F(TrainTogether, GPTHasTheBitsOfOneProcess) {
  SKIP_WITHOUT_MPIRUN();
  const Arguments more{"--accumulate", "4", "--clip-grad", "0.5", "--clip-value", "0.01", "--batch-size", "2"};
  const Ran one = successful(run_command(small_gpt_run(folder, "one", joined(more, {"--threads", "3"}))));
  const Ran four = successful(train_together(4, small_gpt_run(folder, "four", joined(more, {"--threads", "1"}))));
  expect_same_run(folder / "one", folder / "four");
  EXPECT_EQ(one.out, four.out);
  // The checkpoint is that of one process, but for its files, and commands read it.
  EXPECT_FALSE(is_there(folder / "one/checkpoint-shards"));
  const auto saved = [&](const char* run) {
    train::Checkpoint in = train::Checkpoint::load(folder / run + "/checkpoint");
    std::ranges::sort(in.tensors, {}, &NamedTensor::name);
    return in;
  };
  const train::Checkpoint alone = saved("one"), together = saved("four");
  const std::string start = fmt::format("step-{}-rank-", alone.get<int64_t>("steps"));
  std::size_t shards = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "four/checkpoint-shards"))
    shards += entry.path().filename().string().starts_with(start) ? 1 : 100;
  EXPECT_EQ(shards, 4U);
  expect_same(alone.tensors, together.tensors);
  EXPECT_EQ(alone.fields, together.fields);
  EXPECT_EQ(alone.bytes, together.bytes);
  EXPECT_EQ(successful(run_command({"graph", "gpt", "--model", folder / "four"})).out,
            successful(run_command({"graph", "gpt", "--model", folder / "one"})).out);
}

// Evaluations are divided among the processes, too.
TEST_F(TrainTogether, TextTasksHaveTheBitsOfOneProcess) {
  SKIP_WITHOUT_MPIRUN();
  for (const char* task : {"classify", "summarize", "answer"}) {
    const auto run = [&](const char* out) {
      return words_of(
          fmt::format("train {} --vocab-size 400 --hidden-size 16 --num-attention-heads 2 --intermediate-size "
                      "16 --batch-size 7 --accumulate 3 --max-steps 4 --eval-interval 2 --eval-examples 19 "
                      "--threads 1 --no-progress --out {{folder}}/{}-{}",
                      task, task, out),
          folder);
    };
    successful(run_command(run("one")));
    successful(train_together(3, run("three")));
    const std::string name = folder / task;
    expect_same_run(name + "-one", name + "-three");
    expect_parts(decided(name + "-one"), {"\"validation_loss\":"});
  }
}

// On machines that do not share a folder, the first process writes the whole checkpoint.
TEST_F(TrainTogether, WithoutASharedFolderTheFirstProcessWrites) {
  SKIP_WITHOUT_MPIRUN();
  std::filesystem::create_directory(folder / "other");
  const std::string program =
      "cd '" + folder.path().string() + "'; [ $OMPI_COMM_WORLD_RANK = 0 ] || cd other; exec \"$@\"";
  Arguments run = small_gpt_run(folder, "run", {"--accumulate", "2", "--max-steps", "4", "--no-progress"});
  std::replace(run.begin(), run.end(), std::string(folder / "run"), std::string("run"));
  const Ran ran = successful(run_ranks(2, joined({"sh", "-c", program, "sh", kCommand}, run)));
  expect_parts(ran.err, {"note: run is not the same folder in every process: the first one writes the whole "
                         "checkpoints\n"});
  EXPECT_EQ(train::Checkpoint::open(folder / "run/checkpoint").shards, nullptr);
  EXPECT_FALSE(is_there(folder / "run/checkpoint-shards"));
}

// The optimiser has the updates only; everything else is frozen.
TEST_F(TrainTogether, LowRankUpdatesHaveTheBitsOfOneProcess) {
  SKIP_WITHOUT_MPIRUN();
  const Ran base = successful(run_command(small_gpt_run(folder, "base", {"--max-steps", "1"})));
  const auto tuned = [&](const std::string& out) {
    return words_of(
        "train gpt --from {folder}/base --text {folder}/text.txt --sample-tokens 0 --lora-rank 2 "
        "--lora-dropout 0.1 --accumulate 2 --max-steps 3 --threads 1 --out {folder}/" +
            out,
        folder);
  };
  successful(run_command(tuned("one")));
  successful(train_together(2, tuned("two")));
  expect_same_run(folder / "one", folder / "two");
  const std::string adapter = slurp(folder / "one/adapter/adapter_model.safetensors");
  EXPECT_FALSE(adapter.empty());
  EXPECT_TRUE(adapter == slurp(folder / "two/adapter/adapter_model.safetensors"));
}

TEST_F(TrainTogether, Errors) {
  SKIP_WITHOUT_MPIRUN();
  const Ran ran = train_together(2, small_gpt_run(folder, "run", {"--accumulate", "3"}));
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(lines(ran.err).front(), "[--accumulate] expected a multiple of the number of processes, 2, got 3");
  EXPECT_EQ(ran.err.find("rank 1:"), std::string::npos) << ran.err;
}

// A launcher also starts jobs that know nothing of each other: each prints its results.
TEST(Launched, VerbsThatWorkAloneAllPrint) {
  SKIP_WITHOUT_MPIRUN();
  const TemporaryFolder folder;
  spill(folder / "text.txt", "abc");
  successful(run_command({"tokenize", "--train", "char", "--text", folder / "text.txt", "--out", folder / "tok"}));
  const Ran ran =
      successful(run_ranks(2, {kCommand, "tokenize", "--tokenizer", folder / "tok", "--text", folder / "text.txt"}));
  EXPECT_EQ(ran.out, "0 1 2\n0 1 2\n");
}

TEST_F(TrainTogether, TheErrorOfAnotherProcessHasItsRank) {
  SKIP_WITHOUT_MPIRUN();
  const char* other = "[ $OMPI_COMM_WORLD_RANK = 0 ] || set -- \"$@\" --text missing.txt; exec \"$@\"";
  const Arguments run = joined({kCommand}, small_gpt_run(folder, "run", {"--accumulate", "2"}));
  const Ran ran = run_ranks(2, joined({"sh", "-c", other, "sh"}, run));
  EXPECT_EQ(ran.code, 2);
  expect_parts(ran.err, {"rank 1: [--text]"});
}

TEST_F(TrainTogether, AKilledProcessEndsTheRunWhichContinues) {
  SKIP_WITHOUT_MPIRUN();
  prepare_mpirun();
  const std::string kills = long_tests_are_wanted() ? "50" : "1";
  const Ran ran = successful(run_program({std::string(kTestsDir) + "/kill_ranks.sh", kills, kCommand}));
}

}  // namespace
}  // namespace tapegrad::tests
