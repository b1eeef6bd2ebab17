// The standard streams of every verb: full, closed, without a reader, under a launcher, and on a terminal.
#include <fcntl.h>
#include <tapegrad/command/verbs.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>
#include <unistd.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// A call of a verb that ends in a second or two.
struct Call {
  Arguments words;
  RunSetting setting;  // its folder and what it reads
};

class CommandOutput : public InAFolder {
 protected:
  // Looks at a call of each verb, those of verbs.txt. Names of verbs without an entry are a failure.
  void for_every_verb(const std::function<void(const Call&)>& look) const {
    spill(folder / "text.txt", "aaaa");
    successful(run_command({"tokenize", "--train", "char", "--out", folder / "tok", "--text", folder / "text.txt"}));
    train_tiny(folder, "copy", "run");
    train_small_gpt(folder, "gpt", {"--max-steps", "2"});
    std::set<std::string> called, known;
    for (const Verb& verb : verbs()) known.insert(verb.name);
    for (const auto& [line, input] : pairs_of_lines("tasks/command/verbs.txt")) {
      SCOPED_TRACE(line);
      const Call call{words_of(line, folder), {.folder = folder.path(), .input = input}};
      called.insert(call.words.front());
      look(call);
    }
    EXPECT_EQ(called, known);
  }
};

TEST_F(CommandOutput, ThatCannotBeWrittenIsAnError) {
  spill(folder / "text.txt", std::string(200'000, 'a'));
  successful(run_command({"tokenize", "--train", "char", "--out", folder / "tok", "--text", folder / "text.txt"}));
  const Arguments encode{"tokenize", "--tokenizer", folder / "tok", "--text", folder / "text.txt"},
      one{"tokenize", "--tokenizer", folder / "tok"}, version{"--version"}, help{"train", "copy", "--help"},
      show{"show", "padding-mask", "--out", folder / "show"}, run = tiny_run("copy", folder / "run");
  for (const Arguments& words : {encode, one, version, help, show, run}) {
    SCOPED_TRACE(testing::PrintToString(words));
    for (const char* output : {"/dev/full", "closed"}) {
      const Ran ran = run_command(words, {.folder = folder.path(), .input = "a", .output = output});
      EXPECT_EQ(ran.code, 1);
      expect_parts(ran.err, {"[output] ", "standard output"});
    }
  }
  EXPECT_TEXT(rejected(run_command(encode, {.output = "/dev/full"})));
  EXPECT_TEXT(rejected(run_command(encode, {.output = "closed"})));
  // The disk fills up in the middle.
  EXPECT_TEXT(rejected(run_command(encode, {.largest_file = 40'000, .output = folder / "ids.txt"})));
  EXPECT_EQ(run_command({"tran"}, {.errors = "/dev/full"}).code, 2);
  EXPECT_EQ(run_command({"tran"}, {.errors = "closed"}).code, 2);
  const Arguments gpt{"train", "gpt",       "--out", folder / "gpt",   "--max-steps",
                      "1",     "--emb-dim", "8",     "--eval-batches", "1"};
  successful(run_command(gpt, {.folder = folder.path(), .errors = "closed"}));
  EXPECT_FALSE(slurp(folder / "gpt/report.html").empty());
}

// A launcher such as mpirun or srun also starts jobs that know nothing of each other: each prints its results. Only
// processes that train together leave that to the first one.
TEST_F(CommandOutput, OfEveryVerbUnderALauncher) {
  for_every_verb([&](const Call& call) {
    for (const char* variable : {"OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=1", "PMI_RANK=1"}) {
      const bool together = call.words[0] == "train";  // processes that wait for each other: only the help is tested
      RunSetting setting = call.setting;
      setting.environment = {variable};
      const Ran ran = successful(run_command(together ? Arguments{"train", "copy", "--help"} : call.words, setting));
      EXPECT_EQ(ran.out.empty(), together) << ran.out;
    }
  });
  // Errors are those of a process alone, without delay and rank.
  EXPECT_EQ(run_command({"tokenize"}, {.environment = {"PMIX_RANK=3"}}).err, run_command({"tokenize"}).err);
  expect_error(run_command({"train", "copy", "--lr", "-1"}, {.environment = {"PMIX_RANK=3"}}), 2, {"rank 3: [--lr]"});
}

// Nobody reads the output: no signal ends the command. Its exit code is 1, and a pager that is quit needs no message.
TEST_F(CommandOutput, OfEveryVerbToAPipeWithoutAReader) {
  for_every_verb([&](const Call& call) {
    RunSetting setting = call.setting;
    setting.output = "no reader";
    const Ran ran = run_command(call.words, setting);
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.err.find("[output] ") != std::string::npos, call.words[0] == "train") << ran.err;
  });
  EXPECT_EQ(run_command({"--version"}, {.output = "no reader", .errors = "no reader"}).code, 1);
  EXPECT_EQ(run_command({"tran"}, {.output = "no reader", .errors = "no reader"}).code, 2);
}

TEST_F(CommandOutput, ATrainingRunOutlivesItsReader) {
  const auto whole = [&](const std::string& run) {
    for (const char* name : {"model.safetensors", "checkpoint", "metrics.jsonl", "report.html"})
      EXPECT_FALSE(slurp(folder / (run + "/" + name)).empty()) << run << "/" << name;
    return slurp(folder / (run + "/model.safetensors"));
  };
  const auto words = [&](const std::string& task, const std::string& run) {
    return task == "gpt" ? small_gpt_run(folder, run, {"--untrained-losses"}) : tiny_run(task, folder / run);
  };
  for (const std::string task : {"copy", "gpt"}) {
    successful(run_command(words(task, task), folder));
    for (const char* errors : {"", "no reader"}) {  // | head, 2>&1 | head
      const std::string run = task + (*errors == 0 ? "1" : "2");
      const RunSetting setting{.folder = folder.path(), .output = "no reader", .errors = errors};
      EXPECT_EQ(run_command(words(task, run), setting).code, 1);
      EXPECT_TRUE(whole(run) == whole(task)) << run;
    }
  }
  // The reader leaves in the middle.
  std::string line;
  for (const std::string& word : words("gpt", "read")) line += "'" + word + "' ";
  const Ran ran = run_program(
      {"bash", "-c", "'" + std::string(kCommand) + "' " + line + "| head -1; exit ${PIPESTATUS[0]}"}, folder);
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  EXPECT_TRUE(whole("read") == whole("gpt"));
}

// A closed standard error takes messages alone; a closed standard input is an error if it is read.
TEST_F(CommandOutput, OfEveryVerbWithClosedStreams) {
  for_every_verb([&](const Call& call) {
    RunSetting setting = call.setting;
    for (const char* errors : {"closed", "no reader", "/dev/full"}) {
      setting.errors = errors;
      EXPECT_FALSE(successful(run_command(call.words, setting)).out.empty());
    }
    setting.errors = "";
    setting.output = "closed";
    EXPECT_EQ(run_command(call.words, setting).code, 1);
    const Ran ran = run_command(call.words, {.folder = folder.path(), .closed_input = true});
    if (call.setting.input.empty()) {
      EXPECT_EQ(ran.code, 0) << ran.err;
    } else {
      expect_error(ran, 1, {"standard input: Bad file descriptor"});
    }
  });
}

// Names of folders, prompts and generated text cannot steer a terminal: it shows control characters as \x1b. A file
// gets generated text as it is.
TEST_F(CommandOutput, CannotSteerATerminal) {
  const std::string bad = folder / "a\x1b[2Jb\rc", shown = "a\\x1b[2Jb\\rc";
  const auto expect_shown = [&](const std::string& text) {
    EXPECT_NE(text.find(shown), std::string::npos) << text;
    EXPECT_EQ(text.find_first_of("\x1b\r"), std::string::npos);
  };
  const auto out_of = [&](const Arguments& words) {
    const Ran ran = successful(run_command(words, folder));
    return ran.out;
  };
  expect_shown(out_of(tiny_run("copy", bad)));
  expect_shown(out_of({"test", "copy", "--model", bad, "--count", "5", "--target", "0"}));
  expect_shown(out_of({"attention", "copy", "--model", bad, "--quiet"}));
  expect_shown(out_of({"show", "padding-mask", "--quiet", "--out", bad}));
  expect_shown(out_of({"data", "sample", "--out", bad}));
  expect_shown(run_command({"test", "copy", "--model", folder / ("none/" + bad.substr(bad.rfind('/') + 1))}).err);

  const std::string text = "x\x1b[2J\by";
  spill(folder / "text.txt", std::string(40, 'z') + text);
  const Arguments train =
      small_gpt_run(folder, "gpt", {"--num-epochs", "1", "--tokenizer", "bytes", "--start-context", text});
  successful(run_command(
      {"tokenize", "--train", "bpe", "--vocab-size", "257", "--text", folder / "text.txt", "--out", folder / "bytes"}));
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
  successful(run_command(generate, {.output = ::ptsname(terminal)}));
  std::string printed(4096, '\0');
  printed.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(terminal, printed.data(), printed.size()))));
  EXPECT_TRUE(printed.starts_with("x\\x1b[2J\\x08y")) << testing::PrintToString(printed);
  ::close(held);
  ::close(terminal);
}

}  // namespace
}  // namespace tapegrad::tasks
