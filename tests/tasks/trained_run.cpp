// Runs of the command in programs: train::load_run makes the models that the command's own verbs load.
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/files/internal/checked_file.h>
#include <tapegrad/train/trained_run.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

using TrainedRuns = InAFolder;

// `generate gpt` with the seed 3, and the same by the program, greedily and sampled.
void expect_same_text(const std::string& run, const std::string& prompt) {
  const train::TrainedRun trained = train::load_run(run);
  EXPECT_EQ(trained.task(), "gpt");
  for (const std::string temperature : {"0", "0.9"}) {
    const Ran ran = successful(run_command({"generate", "gpt", "--model", run, "--prompt", prompt, "--max-new-tokens",
                                            "12", "--temperature", temperature, "--seed", "3"}));
    manual_seed(3);
    const std::string text = trained.generate(prompt, {.max_new_tokens = 12, .temperature = std::stod(temperature)});
    EXPECT_EQ(data::valid_utf8(prompt + text) + "\n", ran.out) << run << " " << temperature;
  }
}

TEST_F(TrainedRuns, GenerateWhatTheCommandGenerates) {
  expect_same_text(trained(folder, "gpt"), "The cat");
  const std::string run = folder / "rope";
  train_small_gpt(folder, "rope",
                  {"--max-steps", "2", "--no-progress", "--positions", "rope", "--ntk-scale", "2", "--attention",
                   "window", "--window", "3", "--with-masks"});
  expect_same_text(run, "나는");
  const std::string lora = folder / "lora";
  successful(run_command({"train", "gpt", "--from", run, "--text", folder / "text.txt", "--lora-rank", "2",
                          "--lora-targets", "W_query", "--max-steps", "2", "--no-progress", "--out", lora}));
  expect_same_text(lora, "The mat");
  const std::string llama = folder / "llama", base = data_path("llama2_tiny");
  spill(folder / "words.txt", [] {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "one two three four. ";
    return text;
  }());
  successful(run_command({"train", "gpt", "--from", base, "--text", folder / "words.txt", "--seq-length", "16",
                          "--max-steps", "2", "--no-progress", "--out", llama}));
  expect_same_text(llama, "one two");
}

TEST_F(TrainedRuns, EndATextWhereItsTokensOrTheProgramEndIt) {
  const train::TrainedRun run = train::load_run(trained(folder, "gpt"));
  std::vector<std::size_t> lengths;
  const std::string all = run.generate("The", {.max_new_tokens = 8});
  const std::string some =
      run.generate("The", {.max_new_tokens = 8, .stop = [&](std::span<const int64_t> row) { return row.size() == 3; }});
  EXPECT_EQ(run.encode(some).size(), 3U);
  EXPECT_TRUE(all.starts_with(some));
  const int64_t second = run.encode(all)[1];
  EXPECT_TRUE(all.starts_with(run.generate("The", {.max_new_tokens = 8, .end_token = second})));
  EXPECT_ERROR(run.generate("", {.max_new_tokens = 8}));
  EXPECT_ERROR(run.transformer());
}

TEST_F(TrainedRuns, AnswerAsTheCommandAnswers) {
  const std::vector<Arguments> runs{{"copy", "--positions", "sinusoidal"},
                                    {"copy", "--attention", "performer", "--norm", "post"},
                                    {"addition"},
                                    {"addition", "--tutorial-masks"},
                                    {"parser"}};
  for (const Arguments& arguments : runs) {
    const std::string& task = arguments[0];
    const std::string path = trained(folder, task, {arguments.begin() + 1, arguments.end()});
    Seq2SeqRecipe expected(task_named(task));
    load_model(expected, path + "/model.safetensors");
    Generator generator(1);
    const Batch batch = expected.task().draw(20, generator);
    const train::TrainedRun run = train::load_run(path);
    EXPECT_EQ(run.task(), task);
    EXPECT_EQ(run.answers(batch.source, batch.target.size(1)).to_vector<int64_t>(),
              decode(expected.task(), expected.transformer(), batch.source, batch.target.size(1)).to_vector<int64_t>());
    std::filesystem::remove_all(path);
  }
}

// Each of the errors of a folder that has no such model.
TEST_F(TrainedRuns, OtherFoldersAreRejected) {
  std::filesystem::current_path(folder.path());
  EXPECT_ERROR(train::load_run("nothing"));
  for (const char* name : {"empty", "hugging_face"}) std::filesystem::create_directory(name);
  EXPECT_ERROR(train::load_run("empty"));
  spill("hugging_face/config.json", "{}");
  EXPECT_ERROR(train::load_run("hugging_face"));

  const Tensor weight = ones({2});
  const auto save = [&](const std::string& to, const std::map<std::string, std::string>& text) {
    train::save_checked(to, {{"weight", weight}}, text);
  };
  save("program", {});
  EXPECT_ERROR(train::load_run("program"));
  save("classify", {{"config", R"({"task":"classify"})"}});
  EXPECT_ERROR(train::load_run("classify"));
  save("gpt", {{"config", R"({"task":"gpt"})"}});
  EXPECT_ERROR(train::load_run("gpt"));

  const std::string file = trained(folder, "copy") + "/model.safetensors", good = slurp(file);
  EXPECT_ERROR(train::load_run("copy").tokenizer());
  for (std::size_t i = 0; i < good.size(); i += i < 1200 ? 7 : 997) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    spill(file, bad);
    EXPECT_THROW(train::load_run("copy"), Error) << "byte " << i;
  }
  const SafeTensors model = [&] {
    spill(file, good);
    return train::load_checked(file);
  }();
  const auto change = [&](const std::string& to, const std::string& from, const std::string& by) {
    std::map<std::string, std::string> text = model.metadata;
    text.erase("checksum");
    text["config"] = replaced(text["config"], from, by);
    train::save_checked(to, model.tensors, text);
  };
  change("newer", "\"version\":2", "\"version\":3");
  EXPECT_ERROR(train::load_run("newer"));
  change("layers", "\"num_hidden_layers\":1", "\"num_hidden_layers\":1000000");
  EXPECT_ERROR(train::load_run("layers"));
  change("word", "\"hidden_size\":8", "\"hidden_size\":\"8\"");
  EXPECT_ERROR(train::load_run("word"));
  change("odd", "\"hidden_size\":8", "\"hidden_size\":9");
  EXPECT_ERROR(train::load_run("odd"));
}

}  // namespace
}  // namespace tapegrad::tasks
