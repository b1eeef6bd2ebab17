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

TEST(TasksPositions, WrongRequests) {
  const TemporaryFolder folder;
  expect_error(run_command(tiny_run("copy", folder / "run", {"--positions", "ropes"}), {.folder = folder.path()}), 2,
               {"[--positions] must be one of none, index, learned, sinusoidal, rope, shaw, t5, alibi, conv, "
                "conv-multiscale, lstm, ode, complex, composite, dynamic, got \"ropes\""});
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
