// The command line: help at every level, suggestions for mistyped words, and numbers of base 10.
#include <tapegrad/command/verbs.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/explain/explain.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// Whether a line of help is the heading of verbs, tasks or topics.
bool lists_parts(const std::string& line) {
  const auto is_group = [&](const Verb& verb) { return line == fmt::format("{}:", verb.group); };
  return line == "Tasks:" || line == "Topics:" || line == "Sources:" || line == "Shells:" ||
         std::any_of(verbs().begin(), verbs().end(), is_group);
}

// The entries of a help text under such headings, and their descriptions.
std::vector<std::pair<std::string, std::string>> listed(const std::string& help) {
  std::vector<std::pair<std::string, std::string>> found;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) {
      inside = lists_parts(line);
      continue;
    }
    if (!inside || line.size() < 3 || line[2] == ' ') continue;
    const auto end = line.find(' ', 2), text = std::min(line.find_first_not_of(' ', end), line.size());
    found.emplace_back(line.substr(2, end - 2), line.substr(text));
  }
  return found;
}

// The words of a text, without its line breaks.
std::string one_line(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Checks the help of these words and of all entries in it, in 80 columns; returns their number.
int walk_help(const Arguments& words) {
  const Ran ran = run_command(joined(words, {"--help"}));
  SCOPED_TRACE(testing::PrintToString(words));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_NE(ran.out.find("Usage: tapegrad"), std::string::npos) << ran.out;
  expect_narrow(ran.out);
  if (words != Arguments{"help"}) {
    EXPECT_EQ(run_command(joined({"help"}, words)).out, ran.out);
  }
  int count = 1;
  std::string summary;
  for (const auto& [name, text] : listed(ran.out)) {
    EXPECT_GT(text.size(), 10U) << name;
    EXPECT_NE(text, summary) << name << " has the summary of the word before it";
    summary = text;
    count += walk_help(joined(words, {name}));
  }
  return count;
}

TEST(CommandHelp, EveryVerbTaskAndTopic) {
  // verbs; topics of show; what compare compares; explain step; shells; attention and explain (below);
  // train and graph
  int texts = 1 + 21 + 18 + 1 + 2 + 1 + 3;
  texts += static_cast<int>(all_tasks().size() + 1 + essays().size());  // attention, also of gpt; explain
  for (const Kind& kind : kinds()) texts += 2 + static_cast<int>(kind.verbs.size());
  EXPECT_EQ(walk_help({}), texts);
}

TEST(CommandHelp, WithoutArgumentsItIsPrinted) {
  const Ran ran = successful(run_command({}));
  EXPECT_EQ(ran.out, run_command({"--help"}).out);
  EXPECT_EQ(ran.out, run_command({"help"}).out);
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(run_command({"--version"}).out.starts_with("tapegrad "));
  successful(run_command({"explain", "copy", "--"}));  // two dashes end the options
}

TEST(CommandHelp, ShowsDefaultsAndChoices) {
  const std::string help = run_command({"generate", "gpt", "--help"}).out;
  expect_parts(help, {"--max-new-tokens N", "(default: 50)", "--dtype {float32,bfloat16,float16,int8,int4}"});
  EXPECT_EQ(help.find("N=50"), std::string::npos);
  const std::string gpt = one_line(run_command({"train", "gpt", "--help"}).out);
  expect_parts(gpt, {"(default: out/gpt)", "(default: 1; 0: no clipping)", "(default: 50; 0: no sample)",
                     "(default: 0, which means the value of --context-length)"});
}

TEST(CommandHelp, TheManPageHasEveryTaskAndOption) {
  const std::string page = successful(run_command({"manual"})).out;
  EXPECT_TRUE(page.starts_with(".TH TAPEGRAD 1 ")) << page.substr(0, 100);
  for (const Kind& kind : kinds())
    EXPECT_NE(page.find(fmt::format(".SS tapegrad train {}\n", kind.name)), std::string::npos) << kind.name;
  expect_parts(page, {".SS tapegrad show ", "\\fB\\-\\-max\\-new\\-tokens\\fR \\fIN\\fR\n", "(default: 50)",
                      "\n.PP\nTAPEGRAD_PRODUCTS chooses", "Exit status: 0 success", "\n.EX\ntapegrad train copy\n"});
}

TEST(CommandHelp, CompletionScriptsKnowTasksOptionsAndChoices) {
  // What bash offers at the end of a line.
  const auto offered = [](const std::string& line) {
    const std::string script = run_command({"completion", "bash"}).out + "\nCOMP_WORDS=(" + line +
                               ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_tapegrad\necho \"${COMPREPLY[*]}\"\n";
    return one_line(successful(run_program({"bash"}, {.input = script})).out);
  };
  expect_said("tasks/errors/texts.txt", "what bash offers", offered);
  for (const char* const shell : {"zsh", "fish"}) {
    expect_parts(successful(run_command({"completion", shell})).out, {"train copy", "max-new-tokens", "bfloat16"});
  }
}

TEST(CommandWords, Nearest) {
  const std::vector<std::string> known{"train", "test", "tokenize", "--hidden-size", "--hidden-dim"};
  using Words = std::vector<std::string>;
  EXPECT_EQ(nearest("train", known), Words{"train"});
  EXPECT_EQ(nearest("tset", known), Words{"test"});  // an exchange is one edit
  EXPECT_EQ(nearest("tsta", known), Words());        // two edits of four letters
  EXPECT_EQ(nearest("tes", known), Words{"test"});
  EXPECT_EQ(nearest("token", known), Words{"tokenize"});
  EXPECT_EQ(nearest("--hidden", known), (Words{"--hidden-dim", "--hidden-size"}));  // the closest first
  EXPECT_EQ(nearest("chess", known), Words());
  EXPECT_EQ(did_you_mean("chess", known), "");
}

// Of each line in requests/; no file is made.
TEST(CommandErrors, AreOneLine) {
  const TemporaryFolder folder;
  const auto in_english = [&](const Arguments& words) {
    return run_command(words, {.folder = folder.path(), .environment = {"LC_ALL=C"}});
  };
  for (const auto& entry : fs::directory_iterator(std::string(kTestsDir) + "/tasks/command/requests")) {
    SCOPED_TRACE(entry.path());
    expect_errors("tasks/command/requests/" + entry.path().filename().string(), "", folder, in_english);
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
}

// A section that no test names would test nothing.
TEST(CommandErrors, EverySectionIsNamedByATest) {
  std::string sources;
  for (const auto& entry : fs::recursive_directory_iterator(kTestsDir))
    if (entry.path().extension() == ".cpp") sources += slurp(entry.path());
  for (const auto& entry : fs::directory_iterator(std::string(kTestsDir) + "/tasks/errors"))
    for (const std::string& line : lines(slurp(entry.path())))
      EXPECT_TRUE(!line.starts_with("== ") || sources.find('"' + line.substr(3) + '"') != std::string::npos) << line;
}

TEST(CommandNumbers, AreOfBaseTen) {
  const auto explain = [&](const std::string& length, const std::string& seed) {
    return run_command({"explain", "copy", "--seq-length", length, "--seed", seed});
  };
  EXPECT_EQ(explain("08", "010").code, 0);
  EXPECT_EQ(explain("08", "010").out, explain("8", "10").out);
  EXPECT_EQ(explain("+8", "+0010").out, explain("8", "10").out);
  EXPECT_NE(explain("8", "10").out, explain("8", "8").out);
  EXPECT_EQ(explain("8", "18446744073709551615").code, 0);
  EXPECT_EQ(explain("8", "00018446744073709551615").code, 0);
  EXPECT_EQ(explain("3", "000").out, explain("3", "0").out);
  expect_parts(explain("3", "0").out, {"Sequence length: 3"});
}

}  // namespace
}  // namespace tapegrad::tasks
