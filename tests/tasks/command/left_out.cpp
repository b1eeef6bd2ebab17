// A command with the verbs of training runs only (TAPEGRAD_VERBS=train), as tasks/run.sh builds it first.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;
using LeftOut = InAFolder;

Ran run_verbs_of_training(const Arguments& arguments, const RunSetting& setting = {}) {
  return run_program(joined({std::string(kBinaryDir) + "/tapegrad_train_verbs"}, arguments), setting);
}

const std::string kHowTo =
    "expected a build with every verb, got one with the verbs of training runs (cmake --preset release "
    "-D TAPEGRAD_VERBS=all && cmake --build --preset release --target tapegrad_command)";

TEST_F(LeftOut, VerbsSayHowToBuildThem) {
  for (const Arguments& call : {Arguments{"tutorial", "003", "8.2.5", "--lang", "en"},
                                {"exercise", "004-31", "--skeleton"},
                                {"show", "causal-mask", "--out", "figures"},
                                {"explain", "copy"},
                                {"compare", "positions", "--kinds", "none,rope"},
                                {"gradcheck", "--op", "softmax"}}) {
    const Ran ran = run_verbs_of_training(call, folder);
    expect_error(ran, 1, {"[" + call[0] + "] " + kHowTo});
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(run_verbs_of_training({"help", call[0]}, folder).code, 0) << call[0];
  }
  expect_error(run_verbs_of_training({"info", "--self-test"}, folder), 1, {"[self-test] " + kHowTo});
}

TEST_F(LeftOut, TheHelpHasAllVerbs) {
  EXPECT_EQ(successful(run_verbs_of_training({"--help"})).out, successful(run_command({"--help"})).out);
}

// What tasks/run.sh runs, and what it proposes at its end, work with what it builds: with fewer steps, and any
// accuracy.
TEST_F(LeftOut, CommandsOfTheFirstRunWork) {
  successful(run_verbs_of_training({"train", "copy", "--seed", "0", "--out", "out/copy", "--max-steps", "2"}, folder));
  successful(run_verbs_of_training({"test", "copy", "--target", "0"}, folder));
  successful(run_verbs_of_training({"attention", "copy"}, folder));
  spill(folder / "README.md", slurp(std::filesystem::path(kSourceDir) / "README.md"));
  int commands = 0;
  const std::string begin = "  build/release/tapegrad ";
  for (const std::string& line : lines(slurp(std::filesystem::path(kSourceDir) / "tasks/run.sh"))) {
    if (!line.starts_with(begin)) continue;
    Arguments words;
    std::istringstream in(line.substr(begin.size(), line.find('#') - begin.size()));
    for (std::string word; in >> word;) words.push_back(word == "$run" ? "out/copy" : word);
    if (words[0] == "train") words.insert(words.end(), {"--max-steps", "2"});
    successful(run_verbs_of_training(words, folder));
    ++commands;
  }
  EXPECT_EQ(commands, 3);
  for (const char* file : {"report.html", "metrics.jsonl", "attention.svg"})
    EXPECT_NE(slurp(std::filesystem::path(folder / "out/copy") / file), "") << file;
}

}  // namespace
}  // namespace tapegrad::tasks
