// The command leads on: examples at the end of each help, which work, verbs in groups, and what a run says at its end.
#include <tapegrad/command/verbs.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// The lines below "Examples:", which must be the last ones.
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> lines = tests::lines(help);
  lines.erase(lines.begin(), std::find(lines.begin(), lines.end(), "Examples:"));
  if (!lines.empty()) lines.erase(lines.begin());
  for (std::string& line : lines) {
    EXPECT_TRUE(line.starts_with("  tapegrad ")) << line;
    line.erase(0, 2);
  }
  return lines;
}

// The same work in less time: options that a test adds to calls that begin so.
constexpr std::pair<std::string_view, std::string_view> kShorter[] = {
    {"tapegrad train", " --max-steps 2"},
    {"tapegrad test copy", " --target 0"},
    {"tapegrad compare positions", " --steps 2 --count 5 --seeds 1 --tasks addition"},
    {"tapegrad compare text", " --seconds 0.01 --count 5"},
    {"tapegrad info --self-test", " --help"},  // self_test.cpp runs it
};

// A line as its reader types it, with `tapegrad` in PATH.
Ran typed(std::string line, const TemporaryFolder& folder) {
  for (const auto& [begin, options] : kShorter)
    if (line.starts_with(begin)) line += options;
  const std::string path = fs::path(kCommand).parent_path();
  return run_program({"bash", "-c", fmt::format("set -o pipefail; PATH='{}':$PATH; {}", path, line)},
                     {.folder = folder.path(), .input = "Once\n"});
}

TEST(CommandExamples, EndTheHelpOfEachVerbAndWork) {
  const TemporaryFolder folder;
  std::string book;
  for (int i = 0; i < 300; ++i) book += fmt::format("Once upon a time there were {} tapes.\n", i);
  spill(folder / "book.txt", book);
  const bool has_man = has_program("man");
  for (const Verb& verb : verbs()) {
    const Ran help = successful(run_command({verb.name, "--help"}));
    const std::vector<std::string> examples = examples_in(help.out);
    EXPECT_EQ(examples.size(), 2u) << help.out;
    for (const std::string& line : examples) {
      EXPECT_TRUE(line.starts_with(fmt::format("tapegrad {}", verb.name))) << line;
      if (line.find("| man ") != std::string::npos && !has_man) continue;
      const Ran ran = typed(line, folder);
      EXPECT_EQ(ran.code, 0) << line << "\n" << ran.out << ran.err;
    }
  }
}

TEST(CommandExamples, OfATaskAreThoseThatNameIt) {
  EXPECT_EQ(examples_in(run_command({"train", "gpt", "--help"}).out),
            std::vector<std::string>{"tapegrad train gpt --text book.txt --out out/book"});
  EXPECT_TRUE(examples_in(run_command({"train", "parser", "--help"}).out).empty());
}

TEST(CommandExamples, TheFirstScreenHasGroupsAndABeginning) {
  const std::string help = run_command({}).out;
  std::size_t at = 0;
  for (const char* part :
       {"Deep learning on CPUs in C++20, reproducible", "\nTrain and use:\n  train ", "\nLook inside:\n  attention ",
        "\nLearn:\n  tutorial ", "\nTools:\n  gradcheck ", "\nBegin with:\n  tapegrad train copy\n"}) {
    const std::size_t found = help.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\n" << help;
    at = found;
  }
}

// The commands below "Next:", without their remarks, by the name of an installed command.
std::vector<std::string> next_in(const std::string& text) {
  std::vector<std::string> lines = tests::lines(text);
  lines.erase(lines.begin(), std::find(lines.begin(), lines.end(), "Next:"));
  if (!lines.empty()) lines.erase(lines.begin());
  for (std::string& line : lines) {
    line = Pattern("^  | *  # .*").replaced(line, "");
    if (line.starts_with(kCommand)) line.replace(0, std::string_view(kCommand).size(), "tapegrad");
  }
  return lines;
}

TEST(CommandNext, ARunEndsWithItsFingerprintAndThreeCommands) {
  const TemporaryFolder folder;
  const Ran copy = successful(run_command(tiny_run("copy", "out/first"), folder));
  const Pattern end(
      "\nReport: out/first/report.html\nFingerprint of the model \\(same fingerprint = same model\\):\n"
      "bits( [0-9a-f]{4}){4}\n\nNext:\n");
  EXPECT_TRUE(end.found(copy.out)) << copy.out;
  EXPECT_TEXT(next_in(copy.out));
  const std::string report = slurp(folder / "out/first/report.html");
  for (const char* const call : {"test copy", "attention copy", "explain copy"})  // of the report, too
    EXPECT_TRUE(Pattern(std::string("<code>[^<]*tapegrad ") + call + "</code>").found(report)) << call;
  const Ran gpt = successful(run_command(small_gpt_run(folder, "gpt", {"--max-steps", "2"}), folder));
  const Ran text = successful(run_command({"train", "classify", "--max-steps", "2", "--out", "a b"}, folder));
  EXPECT_TRUE(next_in(gpt.out).empty());  // standard output has results only
  EXPECT_EQ(next_in(text.out).at(1), "tapegrad plot 'a b'");
  for (const std::string& printed : {copy.out, gpt.err, text.out}) {
    const std::vector<std::string> next = next_in(printed);
    ASSERT_GE(next.size(), 3U) << printed;
    for (const std::string& line : next) {
      if (line.starts_with("xdg-open ")) continue;
      const Ran ran = typed(line, folder);
      EXPECT_EQ(ran.code, 0) << line << "\n" << ran.err;
    }
  }
  const Ran quiet = successful(run_command(tiny_run("copy", "out/quiet", {"--no-progress"}), folder));
  EXPECT_TRUE(Pattern("\nbits( [0-9a-f]{4}){4}\n$").found(quiet.out)) << quiet.out;
  EXPECT_EQ(quiet.out.find("Epoch"), std::string::npos) << quiet.out;
}

TEST(CommandNext, WordsOfAShell) {
  EXPECT_EQ(shell_word("out/copy-1.2"), "out/copy-1.2");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's $x"), R"('it'\''s $x')");
}

}  // namespace
}  // namespace tapegrad::tasks
