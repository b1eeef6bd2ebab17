// Folders from strangers: archives keep links, and nothing is written through one that is in the folder of a run or at
// the name of a default output. Reading through links, and writing through one that the user names, is as before.
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/sanitized.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::tasks {
namespace {

namespace fs = std::filesystem;
using namespace tests;

// Expects that the command rejects a link at `name` of the folder RUN, to a file that stays as it is and to none, which
// is not created. What was there is back afterwards.
void expect_not_followed(const TemporaryFolder& folder, const std::string& name, const Arguments& words) {
  SCOPED_TRACE(name + " " + testing::PrintToString(words));
  const fs::path path = folder.path() / "run" / name, aside = folder.path() / "aside";
  const bool there = fs::exists(path);
  if (there) fs::rename(path, aside);
  const fs::path up = name.find('/') == name.npos ? ".." : "../..";
  for (const char* victim : {"victim", "none"}) {
    spill(folder / "victim", "precious\n");
    fs::create_directories(path.parent_path());
    fs::create_symlink(up / victim, path);
    const Ran ran = run_command(words, folder);
    EXPECT_TRUE(ran.code == 1 || ran.code == 2) << ran.code << ran.err;
    const std::string said =
        path.string() + ": expected a regular file or none there, got a link to " + (up / victim).string();
    expect_parts(ran.err, {said, "--out"});
    EXPECT_EQ(slurp(folder / "victim"), "precious\n");
    EXPECT_FALSE(fs::exists(folder.path() / "none"));
    EXPECT_TRUE(fs::is_symlink(path));
    fs::remove(path);
  }
  if (there) fs::rename(aside, path);
}

using LinksInAFolder = InAFolder;

TEST_F(LinksInAFolder, PagesAreNotWrittenThroughThem) {
  const std::string run = folder / "run";
  train_small_gpt(folder, "run", {"--max-steps", "2", "--no-progress"});
  for (const auto& [name, call] : pairs_of_lines("tasks/errors/files.txt", "links"))
    expect_not_followed(folder, name, words_of(call, folder));
  // Hugging Face's cache has links to the files of a model.
  fs::create_directory(folder / "cache");
  for (const char* name : {"model.safetensors", "checkpoint", "metrics.jsonl"})
    fs::create_symlink(fs::path("../run") / name, folder / "cache/" + name);
  fs::create_directory_symlink("cache", folder / "named");  // the folder that is named may be a link, too
  successful(run_command({"attention", "gpt", "--model", folder / "named", "--prompt", "The"}));
  EXPECT_TRUE(fs::is_regular_file(folder / "cache/attention.html"));
  // A file that is named is followed.
  fs::create_symlink("run/graph.dot", folder / "graph");
  successful(run_command({"graph", "gpt", "--model", folder / "cache", "--out", folder / "graph"}));
  EXPECT_TRUE(fs::is_symlink(folder / "graph") && fs::is_regular_file(run + "/graph.dot"));
}

TEST_F(LinksInAFolder, AResumedRunDoesNotWriteThroughThem) {
  const std::string run = folder / "run";
  const Arguments made = small_gpt_run(folder, "run", {"--max-steps", "2", "--no-progress", "--tensorboard"});
  successful(run_command(made));
  const Arguments resumed{"train", "gpt", "--resume", "--out", run, "--no-progress", "--tensorboard"};
  for (const char* name : {"metrics.jsonl", "events.out.tfevents", "model.safetensors", "best.safetensors",
                           "trace.json", "report.html", "adapter"})
    expect_not_followed(folder, name, resumed);
  fs::create_directory(folder / "elsewhere");
  fs::create_directory_symlink("../elsewhere", run + "/adapter");
  expect_parts(run_command(resumed).err,
               {"run/adapter: expected a regular file or none there, got a link to ../elsewhere"});
  fs::remove(run + "/adapter");
  // A checkpoint is read through a link, and then not written through it.
  fs::rename(run + "/checkpoint", folder / "state");
  fs::create_symlink("../state", run + "/checkpoint");
  const std::string state = slurp(folder / "state");
  expect_parts(run_command(resumed).err,
               {"run/checkpoint: expected a regular file or none there, got a link to ../state"});
  EXPECT_TRUE(slurp(folder / "state") == state);
  // The folder of --save-hugging-face.
  fs::create_directory(folder / "hf");
  fs::create_symlink("../none", folder / "hf/config.json");
  const Arguments other = small_gpt_run(folder, "other", {"--max-steps", "2", "--no-progress"});
  const Ran saved = run_command(joined(other, {"--save-hugging-face", folder / "hf"}));
  EXPECT_EQ(saved.code, 2);
  expect_parts(saved.err, {"hf/config.json: expected a regular file or none there, got a link to ../none"});
  EXPECT_FALSE(fs::exists(folder / "none"));
  // A new run moves links away instead of writing to what they name.
  spill(folder / "victim", "precious\n");
  fs::remove(run + "/metrics.jsonl");
  fs::create_symlink("../victim", run + "/metrics.jsonl");
  fs::create_symlink("nowhere", run + "/previous-1");
  successful(run_command(made));
  EXPECT_EQ(slurp(folder / "victim"), "precious\n");
  EXPECT_TRUE(fs::is_symlink(run + "/previous-2/metrics.jsonl") && fs::is_regular_file(run + "/metrics.jsonl"));
}

// Files of several names are copied or replaced before they change: what a resumed run cuts stays in the other name.
TEST_F(LinksInAFolder, HardLinksAreNotWrittenTo) {
  const Arguments run = tiny_run("copy", folder / "run", {"--tensorboard"});
  successful(run_command(run, folder));
  std::map<std::string, std::string> before;
  for (const std::string name : {"metrics.jsonl", "events.out.tfevents", "model.safetensors", "report.html"}) {
    const std::string file = folder / ("run/" + name);
    spill(file, before[name] = slurp(file) + "{}\n");
    fs::create_hard_link(file, folder / name);
  }
  successful(run_command(joined(run, {"--resume"}), folder));
  for (const auto& [name, text] : before) {
    EXPECT_TRUE(slurp(folder / name) == text) << name;
    EXPECT_TRUE(slurp(folder / ("run/" + name)) != text) << name;
  }
}

// A run that has no step yet cuts no file that is none of its own.
TEST(FilesInAFolder, OnlyMetricsAreCut) {
  const TemporaryFolder folder;
  const std::string file = folder / "metrics.jsonl";
  const auto cut = [&](const std::string& text) {
    spill(file, text);
    const std::string said = error_of([&] { train::MetricsFile(file, 0, 10); });
    EXPECT_EQ(slurp(file), said == "no error" ? "" : text) << text;
    return said;
  };
  EXPECT_EQ(cut("1\n2\n"), "[metrics] " + file + ", line 1: expected the object of a step or an epoch");
  EXPECT_EQ(cut("{\"key\":1}\n"), "[metrics] " + file + ", line 1: expected the object of a step or an epoch");
  EXPECT_EQ(cut("precious"),
            "[metrics] " + file + ": expected the lines of a run (without this file, the run begins a new one)");
  for (const char* text : {"", "{", "{\"step\":1,\"lo", "{\"step\":1,\"loss\":2}\nwhatever", "{\"epoch\":0}\n"})
    EXPECT_EQ(cut(text), "no error") << text;
}

TEST(Pages, RunNoScriptsButTheirOwn) {
  constexpr std::string_view kPolicy = "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:",
                             kScripts = "script-src 'unsafe-inline'";
  const std::string plain = drawing::page("a", "b"), active = drawing::page("a", "b", {.scripts = true});
  for (const std::string& page : {plain, active}) EXPECT_LT(page.find(kPolicy), page.find("<style>")) << page;
  EXPECT_EQ(plain.find(kScripts), plain.npos);
  EXPECT_NE(plain.find("script-src 'sha256-"), plain.npos);
  EXPECT_NE(active.find(kScripts), active.npos);
  EXPECT_EQ(drawing::json_in_script(R"(["</script><!--<b"])"), R"(["\u003c/script>\u003c!--\u003cb"])");
  const TemporaryFolder folder;
  const std::string run = trained(folder, "copy");
  successful(run_command({"plot", run, "--out", run}));
  successful(run_command({"attention", "copy", "--model", run}));
  successful(run_command({"explain", "step", "--model", run}));
  successful(run_command({"show", "padding-mask", "--out", run}));
  successful(run_command({"tutorial", "004", "31", "--out", run}, folder));
  int scripts = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    if (entry.path().extension() != ".html") continue;
    const std::string page = slurp(entry.path());
    EXPECT_NE(page.find(kPolicy), page.npos) << entry.path();
    EXPECT_EQ(without_save(page).find("<script") != page.npos, page.find(kScripts) != page.npos) << entry.path();
    scripts += page.find(kScripts) != page.npos;
  }
  EXPECT_GE(scripts, 2);
}

// The command and tapegrad_train read files of others. Skipped in sanitized builds, which are not hardened, and without
// readelf (binutils), which a machine that only runs the tests may lack.
TEST(Build, IsHardened) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers find more";
  for (const char* name : {"tapegrad", "libtapegrad_train.so"}) {
    const std::string file = std::string(kBinaryDir) + "/" + name;
    if (!fs::exists(file)) continue;  // a build without shared libraries
    const Ran read = run_program({"readelf", "-dlsW", file});
    if (read.code != 0) GTEST_SKIP() << "readelf is not installed";
    expect_parts(read.out, {"BIND_NOW", "GNU_RELRO", "__stack_chk_fail"});
  }
}

}  // namespace
}  // namespace tapegrad::tasks
