// What the command writes to a terminal only: colours, and the line that says that it is at work.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// The command in a terminal, which gets output and errors.
Ran on_terminal(const Arguments& words, const TemporaryFolder& folder, const Arguments& environment) {
  std::string line = "'" + std::string(kCommand) + "'";
  for (const std::string& word : words) line += " '" + word + "'";
  return run_program({"script", "-qec", line, "/dev/null"}, {.folder = folder.path(), .environment = environment});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using InATerminal = InAFolder;

TEST_F(InATerminal, HasColoursUnlessItOrTheUserHasNone) {
  const auto out = [&](const Arguments& words, const Arguments& environment) {
    const Ran ran = successful(on_terminal(words, folder, environment));
    return ran.out;
  };
  for (const Arguments& with : {Arguments{"TERM=xterm", "NO_COLOR="}, {"TERM=screen", "NO_COLOR="}}) {
    EXPECT_TRUE(has(out({"explain", "copy"}, with), "\x1b[1m=== Copy task: the data ===\x1b[0m"));
    EXPECT_TRUE(has(out({"gradcheck", "--op", "exp"}, with), "  \x1b[32mok\x1b[0m  "));
    EXPECT_TRUE(has(out({"gradcheck", "--help"}, with), "\x1b[1mUsage\x1b[0m: tapegrad gradcheck"));
  }
  for (const Arguments& without :
       {Arguments{"TERM=xterm", "NO_COLOR=1"}, {"TERM=dumb", "NO_COLOR="}, {"TERM=xterm", "NO_COLOR=", "PMI_RANK=0"}}) {
    for (const Arguments& words : {Arguments{"explain", "copy"}, {"gradcheck", "--op", "exp"}, {"gradcheck", "--help"}})
      EXPECT_FALSE(has(out(words, without), "\x1b[0m")) << words[0];  // which ends every colour
  }
}

TEST_F(InATerminal, NoColoursInFilesAndPipes) {
  const Arguments colours{"TERM=xterm", "NO_COLOR="};
  for (const Arguments& words : {Arguments{"explain", "copy"},
                                 {"gradcheck", "--op", "exp"},
                                 {"help", "train", "copy"},
                                 {"tutorial", "003", "8.2.5"}}) {
    const Ran piped = successful(run_command(words, {.folder = folder.path(), .environment = colours}));
    EXPECT_FALSE(has(piped.out + piped.err, "\x1b")) << words[0];
    successful(run_command(words, {.folder = folder.path(), .output = folder / "printed", .environment = colours}));
    EXPECT_EQ(slurp(folder / "printed"), piped.out);
  }
}

// An exercise whose compiler takes three seconds.
TEST_F(InATerminal, ShowsThatTheCommandIsAtWork) {
  spill(folder / "slow", "#!/bin/sh\nsleep 3.5\nexit 1\n");
  spill(folder / "mine.cpp", "");
  std::filesystem::permissions(folder / "slow", std::filesystem::perms::owner_all);
  const Arguments words{"exercise", "004-31", "mine.cpp", "--compiler", folder / "slow"};
  const Ran shown = on_terminal(words, folder, {"TERM=xterm"});
  EXPECT_NE(shown.code, 0);
  EXPECT_TRUE(has(shown.out, "\r\x1b[Kexercise 004-31: ")) << shown.out;
  const std::size_t last = shown.out.rfind("\r\x1b[K");  // the line is gone when the error is printed
  EXPECT_LT(last, shown.out.find('[', last + 4));
  EXPECT_FALSE(has(shown.out.substr(last), "004-31: ")) << shown.out;
  for (const Ran& ran : {on_terminal(words, folder, {"TERM=dumb"}), run_command(words, folder)})
    EXPECT_FALSE(has(ran.out + ran.err, "\r\x1b[K")) << ran.out;
}

}  // namespace
}  // namespace tapegrad::tasks
