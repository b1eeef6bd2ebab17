// GPT in the command: training, generation, tests, Hugging Face's folders, and wrong requests.
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/metrics.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

using GptCommand = InAFolder;

TEST_F(GptCommand, TrainsGeneratesAndTests) {
  const Ran ran = train_small_gpt(folder, "run");
  const std::vector<std::string> printed = lines(ran.out);
  ASSERT_GE(printed.size(), 4U);
  EXPECT_EQ(printed[0].substr(0, 36), "Ep 1 (Step 000000): Train loss " + printed[0].substr(31, 5));
  EXPECT_NE(printed[0].find(", Val loss "), std::string::npos);
  for (const std::string& line : printed) EXPECT_TRUE(line.starts_with("Ep ") || line.starts_with("The")) << line;
  EXPECT_NE(slurp(folder / "run/report.html").find("</html>"), std::string::npos);
  const auto first = json_lines(folder / "run/metrics.jsonl")[0];
  EXPECT_EQ(first["step"], 1);
  for (const char* key : {"loss", "accuracy", "lr", "tokens_per_s", "train_loss", "validation_loss"})
    EXPECT_TRUE(first.contains(key)) << key;

  const std::string model = folder / "run/model.safetensors";
  const CommandLine generate{{"generate", "gpt", "--prompt", "The", "--model"}};
  const Ran said = successful(generate({model, "--max-new-tokens", "12"}));
  EXPECT_TRUE(said.out.starts_with("The"));
  EXPECT_EQ(generate({folder / "run", "--max-new-tokens", "12"}).out, said.out);
  const Ran ids =
      successful(run_command({"generate", "gpt", "--model", model, "--prompt-ids", "3,4", "--ids", "--max-new-tokens",
                              "5", "--temperature", "0.8", "--top-k", "5", "--top-p", "0.9", "--seed", "7"}));
  EXPECT_TRUE(ids.out.starts_with("3 4 "));
  EXPECT_EQ(std::count(ids.out.begin(), ids.out.end(), ' '), 6);
  successful(generate({model, "--beams", "2"}));

  const CommandLine test{{"test", "gpt", "--model", model, "--text", folder / "text.txt", "--json"}};
  const auto json = Json::parse(successful(test()).out);
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(json["loss"].get<double>()), 1e-9);
  EXPECT_EQ(json["tokens"].get<int64_t>(),  // every token but the first
            static_cast<int64_t>(load_gpt(model).tokenizer->encode(kGPTText).size()) - 1);
  EXPECT_GT(json["tokens_per_s"].get<double>(), 0);

  std::string bad = slurp(model);
  bad[bad.size() / 2] ^= 1;  // one bit of one weight
  spill(folder / "bad.safetensors", bad);
  expect_error(generate({folder / "bad.safetensors"}), 1,
               {"[safetensors]", "bad.safetensors", "damaged: the checksum of tensor"});

  const auto change = [&](const char* type) {  // of the loss
    const auto changed = Json::parse(successful(test({"--dtype", type})).out);
    return std::abs(changed["loss"].get<double>() - json["loss"].get<double>());
  };
  const double rounded = change("bfloat16"), of_bytes = change("int8"), coarse = change("int4");
  EXPECT_GT(rounded, 0);
  EXPECT_LT(rounded, 0.01 * json["loss"].get<double>());
  EXPECT_GT(of_bytes, 0);
  EXPECT_LT(of_bytes, 0.01);
  EXPECT_GT(coarse, of_bytes);
  EXPECT_LT(coarse, 0.1);
  for (const std::string& type : weight_format_names())
    EXPECT_TRUE(successful(generate({model, "--dtype", type})).out.starts_with("The"));
  // Files of quantised models: they have one type, and are not trained.
  for (const auto& [type, other] : {std::pair<std::string, std::string>{"int8", "bfloat16"}, {"int4", "int8"}}) {
    const TrainedGPT quantised = load_gpt(model, {.dtype = type});
    const std::string file = folder / (type + ".safetensors"), weights = "has " + type + " weights, ";
    save_gpt(file, quantised.model, small_gpt_options(folder), *quantised.tokenizer, 0);
    EXPECT_EQ(generate({file, "--dtype", "float32"}).out, generate({model, "--dtype", type}).out);
    expect_error(generate({file, "--dtype", other}), 2, {"[--dtype]", weights + "not " + other});
    expect_error(run_command({"train", "gpt", "--from", file, "--text", folder / "text.txt", "--out", folder / "none"}),
                 2, {"[--from]", weights + "which cannot be trained"});
  }
}

TEST_F(GptCommand, PositionsThatDoNotFitAreErrors) {
  GPTOptions odd = gpt_options("tiny");
  odd.positions = "rope", odd.gpt().emb_dim = 6, odd.gpt().n_heads = 2;
  EXPECT_ERROR(resolve(odd));
}

TEST_F(GptCommand, TrainsWithFormsOfAttention) {
  const std::vector<std::vector<std::string>> forms{
      {"window", "--window", "3"},
      {"performer", "--performer-features", "8", "--performer-redraw", "1"},
      {"reformer", "--reformer-bucket-size", "4", "--reformer-rounds", "1"}};
  for (const std::vector<std::string>& form : forms) {
    SCOPED_TRACE(form[0]);
    train_small_gpt(folder, form[0], joined({"--max-steps", "2", "--attention"}, form));
    const TrainedGPT loaded = load_gpt(folder / form[0]);
    EXPECT_EQ(loaded.model.as<nn::GPTModel>()->config.attention.name(), form[0]);
    const Ran said = successful(run_command({"generate", "gpt", "--model", folder / form[0], "--prompt", "The",
                                             "--max-new-tokens", "4", "--temperature", "0"}));
    EXPECT_TRUE(said.out.starts_with("The"));
  }
  const TrainedGPT near = load_gpt(folder / "window");
  EXPECT_EQ(near.model.as<nn::GPTModel>()->config.attention.as<nn::WindowAttention>()->window, 3);
}

// One long line: samples begin with its first characters, none of which is cut.
TEST_F(GptCommand, ALongLineIsNotCutWithinACharacter) {
  GPTOptions options = small_gpt_options(folder);
  options.start_context.clear();
  for (const char* start : {"", "a", "aa", "aaa"}) {
    std::string text = start;
    for (int i = 0; i < 400; ++i) text += "가나다… ";
    spill(options.text, text);
    resolve(options);
    const GPTData data = load_gpt_data(options);
    EXPECT_EQ(data.tokenizer->decode(data.start), std::string(data::split_characters(text, 12.5 / (5 * 400)).first))
        << start;
  }
}

TEST_F(GptCommand, HuggingFacesFoldersAreWrittenAndRead) {
  train_small_gpt(folder, "run",
                  {"--save-hugging-face", folder / "hf", "--qkv-bias", "--tied-head", "--max-steps", "2"});
  const TrainedGPT ours = load_gpt(folder / "run"), theirs = load_gpt(folder / "hf");
  EXPECT_TRUE(theirs.model.as<nn::GPTModel>()->config.tied_head);
  tests::expect_same(nn::state_dict(ours.model), nn::state_dict(theirs.model));
  const CommandLine generate{{"generate", "gpt", "--prompt", "The", "--max-new-tokens", "6", "--model"}};
  EXPECT_EQ(generate({folder / "run"}).out, generate({folder / "hf"}).out);
}

TEST_F(GptCommand, NoamReachesTheMetricsAndTheReport) {
  train_small_gpt(folder, "run", {"--schedule", "noam", "--warmup", "6", "--factor", "0.5"});
  const auto steps = train::read_metrics(folder / "run/metrics.jsonl").steps;
  EXPECT_GT(steps.size(), 6U);
  for (const train::StepMetrics& m : steps) {
    const auto step = static_cast<double>(m.step);
    EXPECT_NEAR(m.lr, 0.5 / std::sqrt(16.0) * std::min(1 / std::sqrt(step), step * std::pow(6, -1.5)), 1e-9);
  }
  EXPECT_NE(slurp(folder / "run/report.html").find("Learning rate (noam)"), std::string::npos);
  GPTOptions asked = gpt_options("book");
  asked.schedule = "noam";
  EXPECT_EQ(with_preset(asked, {"schedule"}).warmup, 4000);
  EXPECT_TEXT(rejected(run_command({"train", "gpt", "--resume", "--out", folder / "run", "--factor", "1"})));
}

TEST_F(GptCommand, GeneratesATextIfNoneIsGiven) {
  const Ran ran = successful(run_command(
      {"train", "gpt", "--out", folder / "run", "--max-steps", "1", "--sample-tokens", "0", "--eval-batches", "1"}));
  EXPECT_NE(ran.err.find("no --text was given"), std::string::npos) << ran.err;
  expect_narrow(ran.err);
  // A step has no more batches than an epoch.
  const Ran all =
      successful(run_command({"train", "gpt", "--out", folder / "all", "--num-epochs", "1", "--accumulate", "10000",
                              "--sample-tokens", "0", "--eval-batches", "1", "--emb-dim", "4", "--n-layers", "1"}));
  EXPECT_NE(all.err.find("1 epoch of 1 step, "), std::string::npos) << all.err;
  EXPECT_EQ(all.err.find("160000 windows"), std::string::npos) << all.err;
}

TEST_F(GptCommand, RejectsWrongRequests) {
  spill(folder / "short.txt", "too short");
  expect_errors("tasks/errors/gpt.txt", "train", folder);
  EXPECT_FALSE(fs::exists(folder / "run"));
  train_small_gpt(folder, "good", {"--max-steps", "1"});
  spill(folder / "cat.txt", "The cat");
  expect_errors("tasks/errors/gpt.txt", "generate and test", folder);

  // A configuration that does not fit the tensors, and an incomplete download.
  const std::string hf = folder / "hf";
  train_small_gpt(folder, "again", {"--max-steps", "1", "--save-hugging-face", hf});
  const std::string config = slurp(hf + "/config.json");
  const auto said = [&] { return run_command({"generate", "gpt", "--model", hf, "--prompt", "x"}); };
  const auto with = [&](const Json& members) {
    auto changed = Json::parse(config);
    changed.update(members);
    spill(hf + "/config.json", changed.dump());
    const Ran ran = said();
    spill(hf + "/config.json", config);
    return ran;
  };
  expect_errors("tasks/errors/gpt.txt", "configurations that do not fit", folder,
                [&](const Arguments& members) { return with(Json::parse(members.at(0))); });
  EXPECT_NE(slurp(hf + "/tokenizer_config.json").find("PreTrainedTokenizerFast"), std::string::npos);

  // A tokenizer that does not fit is an error before anything is printed; with ids in and out it is not needed.
  const std::string tokenizer = slurp(hf + "/tokenizer.json");
  spill(hf + "/tokenizer.json", "{}");
  expect_error(said(), 1, {"tokenizer.json", "has no \"model\""});
  successful(run_command({"generate", "gpt", "--model", hf, "--prompt-ids", "1", "--ids"}));
  spill(hf + "/tokenizer.json", tokenizer);
  const std::string weights = slurp(hf + "/model.safetensors");
  SafeTensors damaged = load_safetensors(hf);
  for (NamedTensor& t : damaged.tensors) t.tensor = t.tensor * std::nan("");
  save_safetensors(hf + "/model.safetensors", damaged.tensors);
  expect_errors("tasks/errors/gpt.txt", "weights of NaN", folder);
  spill(hf + "/model.safetensors", weights.substr(0, weights.size() / 2));
  expect_error(said(), 1, {"[safetensors]", "truncated"});
}

}  // namespace
}  // namespace tapegrad::tasks
