// The command line: help at every level, suggestions for mistyped words, numbers of base 10, and standard streams.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// The entries of a help text under Verbs, Tasks or Topics, and their descriptions.
std::vector<std::pair<std::string, std::string>> listed(const std::string& help) {
  std::vector<std::pair<std::string, std::string>> found;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) {
      inside = line == "Verbs:" || line == "Tasks:" || line == "Topics:" || line == "Sources:" || line == "Shells:";
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

std::vector<std::string_view> names_of_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  return names;
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
  // verbs; topics of show; what compare compares; explain step; shells; train and graph
  int texts = 1 + 19 + 18 + 1 + 2 + 1 + 3;
  for (const Kind& kind : kinds()) texts += 2 + static_cast<int>(kind.verbs.size());
  EXPECT_EQ(walk_help({}), texts);
}

TEST(CommandHelp, WithoutArgumentsItIsPrinted) {
  const Ran ran = run_command({});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, run_command({"--help"}).out);
  EXPECT_EQ(ran.out, run_command({"help"}).out);
  EXPECT_EQ(ran.err, "");
}

TEST(CommandHelp, ShowsDefaultsAndChoices) {
  const std::string help = run_command({"generate", "gpt", "--help"}).out;
  EXPECT_NE(help.find("--max-new-tokens N"), std::string::npos);
  EXPECT_NE(help.find("(default: 50)"), std::string::npos);
  EXPECT_NE(help.find("--dtype {float32,bfloat16,float16,int8,int4}"), std::string::npos);
  EXPECT_EQ(help.find("N=50"), std::string::npos);
  const std::string gpt = one_line(run_command({"train", "gpt", "--help"}).out);
  for (const char* part : {"(default: out/gpt)", "(default: 1; 0: no clipping)", "(default: 50; 0: no sample)",
                           "(default: 0, which means the value of --context-length)"})
    EXPECT_NE(gpt.find(part), std::string::npos) << part;
}

TEST(CommandHelp, TheManPageHasEveryTaskAndOption) {
  const std::string page = successful(run_command({"manual"})).out;
  EXPECT_TRUE(page.starts_with(".TH TAPEGRAD 1 ")) << page.substr(0, 100);
  for (const Kind& kind : kinds())
    EXPECT_NE(page.find(fmt::format(".SS tapegrad train {}\n", kind.name)), std::string::npos) << kind.name;
  for (const char* part : {".SS tapegrad show ", "\\fB\\-\\-max\\-new\\-tokens\\fR \\fIN\\fR\n", "(default: 50)",
                           "\nTAPEGRAD_PRODUCTS chooses", "Exit status: 0 success"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

TEST(CommandHelp, CompletionScriptsKnowTasksOptionsAndChoices) {
  // What bash offers at the end of a line.
  const auto offered = [](const std::string& line) {
    const std::string script = run_command({"completion", "bash"}).out + "\nCOMP_WORDS=(" + line +
                               ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_tapegrad\necho \"${COMPREPLY[*]}\"\n";
    return one_line(successful(run_program({"bash"}, {.input = script})).out);
  };
  EXPECT_EQ(offered("tapegrad tr"), "train");
  EXPECT_EQ(offered("tapegrad train co"), "copy");
  EXPECT_EQ(offered("tapegrad help train co"), "copy");
  EXPECT_EQ(offered("tapegrad completion ''"), "bash zsh fish --help");
  EXPECT_EQ(offered("tapegrad train copy --max-st"), "--max-steps");
  EXPECT_EQ(offered("tapegrad train copy --seed 3 --max-st"), "--max-steps");
  EXPECT_EQ(offered("tapegrad train copy --seed ''"), "");
  EXPECT_EQ(offered("tapegrad generate gpt --dtype bf"), "bfloat16");
  for (const char* const shell : {"zsh", "fish"}) {
    const std::string script = successful(run_command({"completion", shell})).out;
    for (const char* part : {"train copy", "max-new-tokens", "bfloat16"})
      EXPECT_NE(script.find(part), std::string::npos) << shell << ": " << part;
  }
  expect_error(run_command({"completion", "tcsh"}), 2, {"unknown shell \"tcsh\"", "bash, zsh, fish"});
}

TEST(CommandWords, MistypedOnesGetSuggestions) {
  const std::vector<std::pair<Arguments, Arguments>> cases{
      {{"tran"}, {"[tapegrad] unknown verb \"tran\" (did you mean train?); choose from train, test, "}},
      {{"help", "tran"}, {"unknown verb \"tran\""}},
      {{"help", "--no-such-option"}, {"[tapegrad help] unknown option --no-such-option"}},
      {{"tr\nain"}, {"unknown verb \"tr\\nain\" (did you mean train?)"}},
      {{"train"},
       {fmt::format("[tapegrad train] expected a task: {} (see tapegrad train --help)",
                    fmt::join(names_of_kinds(), ", "))}},
      {{"train", "--seed", "3"}, {"[tapegrad train] expected a task"}},
      {{"train", "copi"},
       {"[tapegrad train] unknown task \"copi\" (did you mean copy?); choose from copy, addition, "}},
      {{"train", "copy", "--hidden-sizee", "3", "--sed=4", "more", "-q"},
       {"[tapegrad train copy] unknown option --hidden-sizee (did you mean --hidden-size?); unknown option --sed (did "
        "you mean --seed?); unexpected argument \"more\"; unknown option -q (see tapegrad train copy --help)"}},
      {{"train", "gpt", "--learning-rate", "3", "--epochs=1", "--num_layers", "2"},
       {"unknown option --learning-rate (did you mean --lr?); unknown option --epochs (did you mean --num-epochs?); "
        "unknown option --num_layers (did you mean --n-layers?)"}},
      {{"train", "copy", "gpt"}, {"[tapegrad train copy] unexpected argument \"gpt\""}},
      {{"info", "copy"}, {"[tapegrad info] unexpected argument \"copy\""}},
      {{"train", "copy", "--seed"}, {"[--seed] expected a value, got none"}},
      {{"train", "copy", "--seed", "1", "--lr", "1", "--seed", "2"},
       {"[--seed] expected one value, got 2 (the option was given more than once)"}},
      {{"generate", "gpt", "--prompt", "a", "--prompt=b", "--prompt", "c"}, {"[--prompt] expected one value, got 3"}},
      {{"generate", "gpt", "--dtype", "bfloat"},
       {"[--dtype] must be one of float32, bfloat16, float16, int8, int4, got \"bfloat\" (did you mean bfloat16"}},
  };
  for (const auto& [arguments, words] : cases) {
    const Ran ran = run_command(arguments);
    expect_error(ran, 2, words);
    EXPECT_EQ(ran.out, "");
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

TEST(CommandNumbers, AreOfBaseTen) {
  const TemporaryFolder folder;
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
  const auto wrong = [&](const char* length, const char* seed, const std::string& word) {
    expect_error(explain(length, seed), 2, {word});
  };
  for (const char* seed : {" -5", " 5", "5 ", "0x10", "0b1", "1e3", "--5", "-", "5.", "5,000", ""})
    wrong("8", seed, std::string("[--seed] expected a whole number, got \"") + seed + "\"");
  for (const char* length : {"0x8", " 8", "8 ", "8.0", "+-8"})
    wrong(length, "1", std::string("[--seq-length] expected a whole number, got \"") + length + "\"");
  wrong("8", "-5", "[--seed] must not be negative, got -5");
  wrong("8", "18446744073709551616", "[--seed] must fit into 64 bits, got 18446744073709551616");
  wrong("9223372036854775808", "1", "[--seq-length] must fit into 64 bits, got 9223372036854775808");
  for (const char* lr : {"0x1p-3", " 0.1", "0.1 ", "1e-3x", "", "ten"})
    expect_error(run_command({"train", "copy", "--out", folder / "run", "--lr", lr}), 2,
                 {std::string("[--lr] expected a number, got \"") + lr + "\""});
  expect_error(run_command({"train", "copy", "--out", folder / "run", "--lr", "1e999"}), 2,
               {"[--lr] must fit into a d"});
  expect_error(run_command({"info", "--threads", "0"}), 2, {"[--threads] must be between 1 and 1024, got 0"});
  expect_error(run_command({"gradcheck", "--op", "add", "--module", "Linear"}), 2,
               {"[--module] expected no --op, got both"});
  expect_error(run_command({"explain", "parser", "--expression", ""}), 2, {"[--expression]"});
  expect_error(run_command({"info", "--threads", "4294967297"}), 2, {"[--threads] must be between 1 and 1024"});
}

// A full disk, and a closed standard output: nothing that was printed is lost with the exit code 0.
TEST(CommandOutput, ThatCannotBeWrittenIsAnError) {
  const TemporaryFolder folder;
  tests::spill(folder / "text.txt", std::string(200'000, 'a'));
  ASSERT_EQ(run_command({"tokenize", "--train", "char", "--out", folder / "tok", "--text", folder / "text.txt"}).code,
            0);
  const Arguments encode{"tokenize", "--tokenizer", folder / "tok", "--text", folder / "text.txt"},
      one{"tokenize", "--tokenizer", folder / "tok"}, version{"--version"}, help{"train", "copy", "--help"},
      show{"show", "padding-mask", "--out", folder / "show"}, run = tests::tiny_run("copy", folder / "run");
  for (const Arguments& words : {encode, one, version, help, show, run}) {
    SCOPED_TRACE(testing::PrintToString(words));
    for (const char* output : {"/dev/full", "closed"}) {
      const Ran ran = run_command(words, {.folder = folder.path(), .input = "a", .output = output});
      EXPECT_EQ(ran.code, 1);
      EXPECT_NE(ran.err.find("[output] "), std::string::npos) << ran.err;
      EXPECT_NE(ran.err.find("standard output"), std::string::npos) << ran.err;
    }
  }
  expect_error(run_command(encode, {.output = "/dev/full"}), 1,
               {"[output] cannot write to standard output: No space left on device"});
  expect_error(run_command(encode, {.output = "closed"}), 1,
               {"[output] cannot write to standard output: Bad file descriptor"});
  // The disk fills up in the middle.
  expect_error(run_command(encode, {.largest_file = 40'000, .output = folder / "ids.txt"}), 1,
               {"[output] cannot write to standard output: File too large"});
  EXPECT_EQ(run_command({"tran"}, {.errors = "/dev/full"}).code, 2);
  EXPECT_EQ(run_command({"tran"}, {.errors = "closed"}).code, 2);
  const Arguments gpt{"train", "gpt",       "--out", folder / "gpt",   "--max-steps",
                      "1",     "--emb-dim", "8",     "--eval-batches", "1"};
  EXPECT_EQ(run_command(gpt, {.folder = folder.path(), .errors = "closed"}).code, 0);
  EXPECT_FALSE(tests::slurp(folder / "gpt/report.html").empty());
}

// A call of each verb that ends in a second or two, after prepare(). Names of verbs without an entry are a failure.
struct Call {
  Arguments words;
  std::string input = {};
};
std::vector<Call> calls_of_all_verbs(const TemporaryFolder& folder) {
  std::vector<Call> calls{{tests::tiny_run("copy", folder / "trained")},
                          {{"test", "copy", "--model", folder / "run", "--count", "5", "--target", "0"}},
                          {{"data", "sample", "--out", folder / "data"}},
                          {{"generate", "gpt", "--model", folder / "gpt", "--prompt", "The", "--max-new-tokens", "3"}},
                          {{"chat", folder / "gpt", "--max-new-tokens", "3"}, "The\n"},
                          {{"explain", "copy"}},
                          {{"attention", "copy", "--model", folder / "run", "--out", folder / "maps"}},
                          {{"graph", "copy", "--model", folder / "run"}},
                          {{"show", "padding-mask", "--out", folder / "show"}},
                          {{"compare", "text", "--seconds", "0.01", "--count", "5", "--out", folder / "compared"}},
                          {{"tokenize", "--tokenizer", folder / "tok"}, "aaa"},
                          {{"tutorial", "003", "8.2.5", "--out", folder / "pages"}},
                          {{"plot", folder / "run"}},
                          {{"exercise"}},
                          {{"gradcheck", "--op", "exp"}},
                          {{"info", "--json"}},
                          {{"completion", "bash"}},
                          {{"manual"}},
                          {{"help", "train", "copy"}}};
  std::set<std::string> called, verbs;
  for (const Call& call : calls) called.insert(call.words.front());
  for (const auto& [name, text] : listed(run_command({}).out)) verbs.insert(name);
  EXPECT_EQ(called, verbs);
  return calls;
}

void prepare(const TemporaryFolder& folder) {
  tests::spill(folder / "text.txt", "aaaa");
  ASSERT_EQ(run_command({"tokenize", "--train", "char", "--out", folder / "tok", "--text", folder / "text.txt"}).code,
            0);
  ASSERT_EQ(run_command(tests::tiny_run("copy", folder / "run"), folder).code, 0);
  successful(run_command(tests::small_gpt_run(folder, "gpt", {"--max-steps", "2"}), folder));
}

// A launcher such as mpirun or srun also starts jobs that know nothing of each other: each prints its results. Only
// processes that train together leave that to the first one.
TEST(CommandOutput, OfEveryVerbUnderALauncher) {
  const TemporaryFolder folder;
  prepare(folder);
  for (const Call& call : calls_of_all_verbs(folder)) {
    SCOPED_TRACE(testing::PrintToString(call.words));
    for (const char* variable : {"OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=1", "PMI_RANK=1"}) {
      const bool together = call.words[0] == "train";  // processes that wait for each other: only the help is tested
      const Ran ran =
          successful(run_command(together ? Arguments{"train", "copy", "--help"} : call.words,
                                 {.folder = folder.path(), .input = call.input, .environment = {variable}}));
      EXPECT_EQ(ran.out.empty(), together) << ran.out;
    }
  }
  // Errors are those of a process alone, without delay and rank.
  EXPECT_EQ(run_command({"tokenize"}, {.environment = {"PMIX_RANK=3"}}).err, run_command({"tokenize"}).err);
  expect_error(run_command({"train", "copy", "--lr", "-1"}, {.environment = {"PMIX_RANK=3"}}), 2, {"rank 3: [--lr]"});
}

// Nobody reads the output: no signal ends the command. Its exit code is 1, and a pager that is quit needs no message.
TEST(CommandOutput, OfEveryVerbToAPipeWithoutAReader) {
  const TemporaryFolder folder;
  prepare(folder);
  for (const Call& call : calls_of_all_verbs(folder)) {
    SCOPED_TRACE(testing::PrintToString(call.words));
    const Ran ran = run_command(call.words, {.folder = folder.path(), .input = call.input, .output = "no reader"});
    EXPECT_EQ(ran.code, 1);
    if (call.words[0] == "train") {
      EXPECT_NE(ran.err.find("[output] "), std::string::npos) << ran.err;
    } else {
      EXPECT_EQ(ran.err.find("[output] "), std::string::npos) << ran.err;
    }
  }
  EXPECT_EQ(run_command({"--version"}, {.output = "no reader", .errors = "no reader"}).code, 1);
  EXPECT_EQ(run_command({"tran"}, {.output = "no reader", .errors = "no reader"}).code, 2);
}

// A training run whose output nobody reads any more ends as usual, with all of its files.
TEST(CommandOutput, ATrainingRunOutlivesItsReader) {
  const TemporaryFolder folder;
  const auto whole = [&](const std::string& run) {
    for (const char* name : {"model.safetensors", "checkpoint", "metrics.jsonl", "report.html"})
      EXPECT_FALSE(tests::slurp(folder / (run + "/" + name)).empty()) << run << "/" << name;
    return tests::slurp(folder / (run + "/model.safetensors"));
  };
  const auto copy = [&](const std::string& run) { return tests::tiny_run("copy", folder / run); };
  const auto gpt = [&](const std::string& run) { return tests::small_gpt_run(folder, run, {"--untrained-losses"}); };
  ASSERT_EQ(run_command(copy("copy"), folder).code, 0);
  ASSERT_EQ(run_command(gpt("gpt"), folder).code, 0);
  for (const char* errors : {"", "no reader"}) {  // | head, 2>&1 | head
    const std::string kind = *errors == 0 ? "1" : "2";
    EXPECT_EQ(run_command(copy("copy" + kind), {.folder = folder.path(), .output = "no reader", .errors = errors}).code,
              1);
    EXPECT_EQ(run_command(gpt("gpt" + kind), {.folder = folder.path(), .output = "no reader", .errors = errors}).code,
              1);
    EXPECT_TRUE(whole("copy" + kind) == whole("copy"));
    EXPECT_TRUE(whole("gpt" + kind) == whole("gpt"));
  }
  // The reader leaves in the middle.
  std::string line;
  for (const std::string& word : gpt("read")) line += "'" + word + "' ";
  const Ran ran = tests::run_program(
      {"bash", "-c", "'" + std::string(tests::kCommand) + "' " + line + "| head -1; exit ${PIPESTATUS[0]}"}, folder);
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  EXPECT_TRUE(whole("read") == whole("gpt"));
}

// A closed standard error takes messages alone; a closed standard input is an error if it is read.
TEST(CommandOutput, OfEveryVerbWithClosedStreams) {
  const TemporaryFolder folder;
  prepare(folder);
  for (const Call& call : calls_of_all_verbs(folder)) {
    SCOPED_TRACE(testing::PrintToString(call.words));
    for (const char* errors : {"closed", "no reader", "/dev/full"}) {
      const Ran ran = run_command(call.words, {.folder = folder.path(), .input = call.input, .errors = errors});
      EXPECT_EQ(ran.code, 0) << errors;
      EXPECT_FALSE(ran.out.empty());
    }
    EXPECT_EQ(run_command(call.words, {.folder = folder.path(), .input = call.input, .output = "closed"}).code, 1);
    const Ran ran = run_command(call.words, {.folder = folder.path(), .closed_input = true});
    if (call.input.empty()) {
      EXPECT_EQ(ran.code, 0) << ran.err;
    } else {
      expect_error(ran, 1, {"standard input: Bad file descriptor"});
    }
  }
}

// Names of folders, prompts and generated text cannot steer a terminal: it shows control characters as \x1b. A file
// gets generated text as it is.
TEST(CommandOutput, CannotSteerATerminal) {
  const TemporaryFolder folder;
  const std::string bad = folder / "a\x1b[2Jb\rc", shown = "a\\x1b[2Jb\\rc";
  const auto expect_shown = [&](const std::string& text) {
    EXPECT_NE(text.find(shown), std::string::npos) << text;
    EXPECT_EQ(text.find_first_of("\x1b\r"), std::string::npos);
  };
  const auto out_of = [&](const Arguments& words) {
    const Ran ran = successful(run_command(words, folder));
    return ran.out;
  };
  expect_shown(out_of(tests::tiny_run("copy", bad)));
  expect_shown(out_of({"test", "copy", "--model", bad, "--count", "5", "--target", "0"}));
  expect_shown(out_of({"attention", "copy", "--model", bad, "--quiet"}));
  expect_shown(out_of({"show", "padding-mask", "--quiet", "--out", bad}));
  expect_shown(out_of({"data", "sample", "--out", bad}));
  expect_shown(run_command({"test", "copy", "--model", folder / ("none/" + bad.substr(bad.rfind('/') + 1))}).err);

  const std::string text = "x\x1b[2J\by";
  tests::spill(folder / "text.txt", std::string(40, 'z') + text);
  const Arguments train =
      tests::small_gpt_run(folder, "gpt", {"--num-epochs", "1", "--tokenizer", "bytes", "--start-context", text});
  ASSERT_EQ(run_command({"tokenize", "--train", "bpe", "--vocab-size", "257", "--text", folder / "text.txt", "--out",
                         folder / "bytes"})
                .code,
            0);
  const Ran trained = successful(run_command(train, folder));
  EXPECT_NE(trained.out.find("x\\x1b[2J\\x08y"), std::string::npos) << trained.out;
  EXPECT_EQ(trained.out.find('\x1b'), std::string::npos);
  const std::string attention = out_of({"attention", "gpt", "--model", folder / "gpt", "--prompt", text});
  EXPECT_NE(attention.find("Text: x\\x1b[2J\\x08y\n"), std::string::npos) << attention;
  EXPECT_EQ(attention.find('\x1b'), std::string::npos);

  const Arguments generate{"generate", "gpt", "--model", folder / "gpt", "--prompt", text, "--max-new-tokens", "1"};
  EXPECT_TRUE(out_of(generate).starts_with(text));
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  const int held = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);  // keeps what was written
  EXPECT_EQ(run_command(generate, {.output = ::ptsname(terminal)}).code, 0);
  std::string printed(4096, '\0');
  printed.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(terminal, printed.data(), printed.size()))));
  EXPECT_TRUE(printed.starts_with("x\\x1b[2J\\x08y")) << testing::PrintToString(printed);
  ::close(held);
  ::close(terminal);
}

TEST(CommandWords, TwoDashesAreNeitherVerbNorTask) {
  expect_error(run_command({"--", "train", "copy"}), 2,
               {"[tapegrad] expected a verb, got \"--\" (see tapegrad --help)"});
  expect_error(run_command({"--"}), 2, {"[tapegrad] expected a verb, got \"--\""});
  expect_error(run_command({"help", "--"}), 2, {"[tapegrad] expected a verb, got \"--\""});
  expect_error(run_command({"train", "--", "copy"}), 2, {"[tapegrad train] expected a task, got \"--\""});
  expect_error(run_command({"show", "--"}), 2, {"[tapegrad show] expected a topic, got \"--\""});
  expect_error(run_command({"train", "gpt", "--", "--max-steps", "1"}), 2,
               {"[tapegrad train gpt] --max-steps comes after \"--\", which ends the options"});
  expect_error(run_command({"train", "copy", "--", "x"}), 2, {"unexpected argument \"x\""});
  EXPECT_EQ(run_command({"explain", "copy", "--"}).code, 0);
}

}  // namespace
}  // namespace tapegrad::tasks
