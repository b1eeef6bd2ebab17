// The command with every kind of positions, and with beams.
#include <gtest/gtest.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/tiny_run.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tapegrad::tasks {
namespace {

using tests::expect_error;
using tests::Ran;
using tests::run_command;
using tests::TemporaryFolder;
using tests::tiny_run;

TEST(TasksPositions, EveryKindTrainsAndAnswersLongerSequencesToo) {
  const TemporaryFolder folder;
  for (const std::string_view positions : nn::kPositionNames) {
    SCOPED_TRACE(positions);
    const std::string out = folder / std::string(positions);
    const Ran trained =
        run_command(tiny_run("copy", out, {"--positions", std::string(positions)}), {.folder = folder.path()});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const std::string model = out + "/model.safetensors";
    for (const char* beams : {"1", "3"}) {
      const Ran tested =
          run_command({"test", "copy", "--model", model, "--count", "40", "--target", "0", "--beams", beams, "--json"},
                      {.folder = folder.path()});
      ASSERT_EQ(tested.code, 0) << tested.err;
      EXPECT_EQ(nlohmann::json::parse(tested.out)["beams"], std::stoi(beams));
    }
    const Ran longer =
        run_command({"test", "copy", "--model", model, "--count", "10", "--target", "0", "--seq-length", "9"},
                    {.folder = folder.path()});
    if (positions == "learned") {
      expect_error(longer, 2, {"[--seq-length] 9 is longer than --max-position-embeddings 4"});
    } else {
      EXPECT_EQ(longer.code, 0) << longer.err;
    }
  }
}

TEST(TasksAttention, EveryFormTrainsAndIsReadBack) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> forms{{"window", "--window", "1", "--global-tokens", "1"},
                                                    {"linformer", "--linformer-rank", "2", "--linformer-per-head"},
                                                    {"performer", "--performer-features", "8"},
                                                    {"reformer", "--reformer-bucket-size", "2"}};
  for (const std::vector<std::string>& form : forms) {
    SCOPED_TRACE(form[0]);
    std::vector<std::string> more{"--positions", "rope", "--attention"};
    more.insert(more.end(), form.begin(), form.end());
    const std::string out = folder / form[0];
    const Ran trained = run_command(tiny_run("copy", out, more), {.folder = folder.path()});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const auto tested = [&](const std::vector<std::string>& options) {
      std::vector<std::string> all{"test", "copy", "--model", out, "--count", "20", "--target", "0"};
      all.insert(all.end(), options.begin(), options.end());
      return run_command(all, {.folder = folder.path()});
    };
    EXPECT_EQ(tested({"--beams", "2"}).code, 0);
    if (form[0] == "linformer") {
      expect_error(tested({"--seq-length", "9"}), 2, {"[--seq-length] 9 is longer than --max-position-embeddings 4"});
    } else {
      EXPECT_EQ(tested({"--seq-length", "9"}).code, 0);
    }
    const Ran drawn =
        run_command({"attention", "copy", "--model", out, "--out", folder / "maps"}, {.folder = folder.path()});
    EXPECT_EQ(drawn.code, 0) << drawn.err;
  }
}

TEST(TasksPositions, WrongRequests) {
  const TemporaryFolder folder;
  expect_error(run_command(tiny_run("copy", folder / "run", {"--positions", "ropes"}), {.folder = folder.path()}), 2,
               {"[--positions] must be one of none, index, learned, sinusoidal, rope, shaw, t5, alibi, got \"ropes\""});
  expect_error(run_command(tiny_run("copy", folder / "run", {"--positions", "rope", "--hidden-size", "6"}),
                           {.folder = folder.path()}),
               2,
               {"[--positions] rope rotates pairs of elements, got heads of size 3 (--hidden-size 6 over "
                "--num-attention-heads 2)"});
  expect_error(run_command({"test", "copy", "--beams", "0"}, {.folder = folder.path()}), 2,
               {"[--beams] must be between 1 and 1000, got 0"});
}

}  // namespace
}  // namespace tapegrad::tasks
