// GPT in the command: training, generation, tests, Hugging Face's folders, and wrong requests.
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/utf8.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

TEST(GptCommand, TrainsGeneratesAndTests) {
  const TemporaryFolder folder;
  const Ran ran = successful(run_command(small_gpt_run(folder, "run")));
  const std::vector<std::string> printed = lines(ran.out);
  ASSERT_GE(printed.size(), 4U);
  EXPECT_EQ(printed[0].substr(0, 36), "Ep 1 (Step 000000): Train loss " + printed[0].substr(31, 5));
  EXPECT_NE(printed[0].find(", Val loss "), std::string::npos);
  for (const std::string& line : printed) EXPECT_TRUE(line.starts_with("Ep ") || line.starts_with("The")) << line;
  EXPECT_NE(slurp(folder / "run/report.html").find("</html>"), std::string::npos);
  const auto first = nlohmann::json::parse(lines(slurp(folder / "run/metrics.jsonl"))[0]);
  EXPECT_EQ(first["step"], 1);
  for (const char* key : {"loss", "accuracy", "lr", "tokens_per_s", "train_loss", "validation_loss"})
    EXPECT_TRUE(first.contains(key)) << key;

  const std::string model = folder / "run/model.safetensors";
  const Ran said =
      successful(run_command({"generate", "gpt", "--model", model, "--prompt", "The", "--max-new-tokens", "12"}));
  EXPECT_TRUE(said.out.starts_with("The"));
  EXPECT_EQ(
      run_command({"generate", "gpt", "--model", folder / "run", "--prompt", "The", "--max-new-tokens", "12"}).out,
      said.out);
  const Ran ids =
      successful(run_command({"generate", "gpt", "--model", model, "--prompt-ids", "3,4", "--ids", "--max-new-tokens",
                              "5", "--temperature", "0.8", "--top-k", "5", "--top-p", "0.9", "--seed", "7"}));
  EXPECT_TRUE(ids.out.starts_with("3 4 "));
  EXPECT_EQ(std::count(ids.out.begin(), ids.out.end(), ' '), 6);
  EXPECT_EQ(run_command({"generate", "gpt", "--model", model, "--prompt", "The", "--beams", "2"}).code, 0);

  const Ran tested =
      successful(run_command({"test", "gpt", "--model", model, "--text", folder / "text.txt", "--json"}));
  const auto json = nlohmann::json::parse(tested.out);
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(json["loss"].get<double>()), 1e-9);
  EXPECT_EQ(json["tokens"].get<int64_t>(),  // every token but the first
            static_cast<int64_t>(load_gpt(model).tokenizer->encode(kGPTText).size()) - 1);
  EXPECT_GT(json["tokens_per_s"].get<double>(), 0);

  std::string bad = slurp(model);
  bad[bad.size() / 2] ^= 1;  // one bit of one weight
  spill(folder / "bad.safetensors", bad);
  expect_error(run_command({"generate", "gpt", "--model", folder / "bad.safetensors", "--prompt", "The"}), 1,
               {"[safetensors]", "bad.safetensors", "damaged: the checksum of tensor"});

  const auto change = [&](const char* type) {  // of the loss
    const Ran ran = successful(
        run_command({"test", "gpt", "--model", model, "--text", folder / "text.txt", "--json", "--dtype", type}));
    return std::abs(nlohmann::json::parse(ran.out)["loss"].get<double>() - json["loss"].get<double>());
  };
  const double rounded = change("bfloat16"), of_bytes = change("int8"), coarse = change("int4");
  EXPECT_GT(rounded, 0);
  EXPECT_LT(rounded, 0.01 * json["loss"].get<double>());
  EXPECT_GT(of_bytes, 0);
  EXPECT_LT(of_bytes, 0.01);
  EXPECT_GT(coarse, of_bytes);
  EXPECT_LT(coarse, 0.1);
  for (const std::string& type : weight_format_names()) {
    const Ran brief =
        successful(run_command({"generate", "gpt", "--model", model, "--prompt", "The", "--dtype", type}));
    EXPECT_TRUE(brief.out.starts_with("The"));
  }
  // Files of quantised models: they have one type, and are not trained.
  const auto generated = [&](const std::string& file, const std::string& type) {
    return run_command({"generate", "gpt", "--model", file, "--prompt", "The", "--dtype", type});
  };
  for (const auto& [type, other] : {std::pair<std::string, std::string>{"int8", "bfloat16"}, {"int4", "int8"}}) {
    const TrainedGPT quantised = load_gpt(model, {.dtype = type});
    const std::string file = folder / (type + ".safetensors"), weights = "has " + type + " weights, ";
    save_gpt(file, quantised.model, small_gpt_options(folder), *quantised.tokenizer, 0);
    EXPECT_EQ(generated(file, "float32").out, generated(model, type).out);
    expect_error(generated(file, other), 2, {"[--dtype]", weights + "not " + other});
    expect_error(run_command({"train", "gpt", "--from", file, "--text", folder / "text.txt", "--out", folder / "none"}),
                 2, {"[--from]", weights + "which cannot be trained"});
  }
}

TEST(GptCommand, TrainsWithEveryKindOfPositions) {
  const TemporaryFolder folder;
  for (const std::string_view name : nn::position_names()) {
    const std::string kind(name);
    SCOPED_TRACE(kind);
    successful(run_command(small_gpt_run(folder, kind, {"--positions", kind, "--max-steps", "2"})));
    const Ran said = successful(run_command({"generate", "gpt", "--model", folder / kind, "--prompt", "The",
                                             "--max-new-tokens", "4", "--temperature", "0"}));
    EXPECT_TRUE(said.out.starts_with("The"));
  }
  expect_error(run_command(small_gpt_run(folder, "wrong", {"--positions", "ropes"})), 2,
               {"[--positions] expected one of none, index, learned, sinusoidal"});
  expect_error(
      run_command(small_gpt_run(folder, "foreign", {"--positions", "t5", "--save-hugging-face", folder / "hf"})), 2,
      {"[--save-hugging-face] GPT-2's positions are learned"});
  GPTOptions odd = gpt_options("tiny");
  odd.positions = "rope", odd.gpt().emb_dim = 6, odd.gpt().n_heads = 2;
  EXPECT_EQ(error_of([&] { resolve(odd); }),
            "[--positions] expected heads of an even size for rope, got 3 (--emb-dim 6 over --n-heads 2)");
}

TEST(GptCommand, TrainsWithFormsOfAttention) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> forms{
      {"window", "--window", "3"},
      {"performer", "--performer-features", "8", "--performer-redraw", "1"},
      {"reformer", "--reformer-bucket-size", "4", "--reformer-rounds", "1"}};
  for (const std::vector<std::string>& form : forms) {
    SCOPED_TRACE(form[0]);
    std::vector<std::string> more{"--max-steps", "2", "--attention"};
    more.insert(more.end(), form.begin(), form.end());
    successful(run_command(small_gpt_run(folder, form[0], more)));
    const TrainedGPT loaded = load_gpt(folder / form[0]);
    EXPECT_EQ(loaded.model.as<nn::GPTModel>()->config.attention.name(), form[0]);
    const Ran said = successful(run_command({"generate", "gpt", "--model", folder / form[0], "--prompt", "The",
                                             "--max-new-tokens", "4", "--temperature", "0"}));
    EXPECT_TRUE(said.out.starts_with("The"));
  }
  const TrainedGPT near = load_gpt(folder / "window");
  EXPECT_EQ(near.model.as<nn::GPTModel>()->config.attention.as<nn::WindowAttention>()->window, 3);
  expect_error(
      run_command(small_gpt_run(folder, "foreign", {"--attention", "window", "--save-hugging-face", folder / "hf"})), 2,
      {"[--save-hugging-face] expected full attention, as GPT-2 has, got window"});
  expect_error(run_command(small_gpt_run(folder, "foreign", {"--attention", "linformer"})), 2,
               {"[--attention] linformer attention cannot be causal: each projected key mixes all positions"});
}

// One long line: samples begin with its first characters, none of which is cut.
TEST(GptCommand, ALongLineIsNotCutWithinACharacter) {
  const TemporaryFolder folder;
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

TEST(GptCommand, HuggingFacesFoldersAreWrittenAndRead) {
  const TemporaryFolder folder;
  successful(run_command(small_gpt_run(
      folder, "run", {"--save-hugging-face", folder / "hf", "--qkv-bias", "--tied-head", "--max-steps", "2"})));
  const TrainedGPT ours = load_gpt(folder / "run"), theirs = load_gpt(folder / "hf");
  EXPECT_TRUE(theirs.model.as<nn::GPTModel>()->config.tied_head);
  tests::expect_same(nn::state_dict(ours.model), nn::state_dict(theirs.model));
  const Arguments tail{"--prompt", "The", "--max-new-tokens", "6"};
  EXPECT_EQ(run_command(joined({"generate", "gpt", "--model", folder / "run"}, tail)).out,
            run_command(joined({"generate", "gpt", "--model", folder / "hf"}, tail)).out);
}

TEST(GptCommand, NoamReachesTheMetricsAndTheReport) {
  const TemporaryFolder folder;
  successful(run_command(small_gpt_run(folder, "run", {"--schedule", "noam", "--warmup", "6", "--factor", "0.5"})));
  int64_t steps = 0;
  for (const std::string& line : lines(slurp(folder / "run/metrics.jsonl"))) {
    const auto json = nlohmann::json::parse(line);
    if (!json.contains("step")) continue;
    const double step = json["step"];
    EXPECT_NEAR(json["lr"].get<double>(),
                0.5 / std::sqrt(16.0) * std::min(1 / std::sqrt(step), step * std::pow(6, -1.5)), 1e-9);
    ++steps;
  }
  EXPECT_GT(steps, 6);
  EXPECT_NE(slurp(folder / "run/report.html").find("Learning rate (noam)"), std::string::npos);
  GPTOptions asked = gpt_options("book");
  asked.schedule = "noam";
  EXPECT_EQ(with_preset(asked, {"schedule"}).warmup, 4000);
  expect_error(run_command({"train", "gpt", "--resume", "--out", folder / "run", "--factor", "1"}), 2,
               {"[train --resume]", "--factor 0.5 (not 1)"});
}

TEST(GptCommand, GeneratesATextIfNoneIsGiven) {
  const TemporaryFolder folder;
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

TEST(GptCommand, RejectsWrongRequests) {
  const TemporaryFolder folder;
  spill(folder / "short.txt", "too short");
  const std::string out = folder / "run";
  const auto train = [&](const Arguments& more) { return run_command(joined({"train", "gpt", "--out", out}, more)); };
  expect_error(train({"--text", folder / "short.txt"}), 2,
               {"[--text]", "the training split has 8 tokens", "a window of --context-length 64 takes 65"});
  expect_error(train({"--text", folder / "none.txt"}), 2, {"[--text]", "there is no file"});
  expect_error(train({"--tokenizer", folder / "none"}), 2, {"[--tokenizer]"});
  expect_error(train({"--preset", "book"}), 2, {"[--tokenizer]", "vocab.bpe and encoder.json"});
  expect_error(train({"--preset", "gpt5"}), 2, {"[--preset]", "gpt2-xl"});
  expect_error(train({"--emb-dim", "30"}), 2, {"[--emb-dim]", "30 is not divisible by --n-heads 4"});
  expect_error(train({"--n-layers", "10000000"}), 2,
               {"[train] a model with batches of these sizes takes about", " GB, this machine has "});
  expect_error(train({"--emb-dim", "10000000", "--n-heads", "1"}), 2, {"[train] a model with batches of these sizes"});
  expect_error(train({"--drop-rate", "1"}), 2, {"[--drop-rate]"});
  expect_error(train({"--batch-size", "5000"}), 2,
               {"[--batch-size] a batch of 5000 windows does not fit: the training split has "});
  expect_error(train({"--schedule", "cosine"}), 2, {"[--schedule]", "constant, noam, warmup-cosine"});
  expect_error(train({"--schedule", "noam", "--warmup", "0"}), 2,
               {"[--warmup] expected at least 1 with --schedule noam, got 0"});
  expect_error(train({"--factor", "0"}), 2, {"[--factor] expected a number > 0, got 0"});
  expect_error(train({"--depth", "2"}), 2, {"--depth is an option of the task parser, not of gpt"});
  expect_error(train({"--hidden-size", "8"}), 2, {"--hidden-size is an option of the tasks copy, addition, parser, "});
  expect_error(train({"--seed", "99999999999999999999"}), 2,
               {"[--seed] expected a number of 64 bits, got 99999999999999999999"});
  expect_error(train({"--tokenizer", ""}), 2, {"[--tokenizer] expected a name, got an empty text"});
  expect_error(train({"--text", folder.path()}), 2, {"[--text] expected a file, got the folder "});
  expect_error(train({"--text", "/dev/null"}), 2,
               {"[--text] expected a regular file, got the device or pipe /dev/null"});
  expect_error(train({"--text", ""}), 2, {"[--text] expected a name, got an empty text"});
  expect_error(train({"--save-hugging-face", "/proc/hf"}), 2, {"[--save-hugging-face]", "/proc/hf"});
  expect_error(train({"--save-hugging-face", folder / "short.txt"}), 2, {"[--save-hugging-face]", "short.txt"});
  expect_error(train({"--save-hugging-face", out}), 2, {"[--save-hugging-face]", "is also --out"});
  EXPECT_FALSE(fs::exists(out));

  ASSERT_EQ(run_command(small_gpt_run(folder, "good", {"--max-steps", "1"})).code, 0);
  const std::string good = folder / "good";
  const auto generate = [&](const Arguments& more) {
    return run_command(joined({"generate", "gpt", "--model", good}, more));
  };
  expect_error(generate({"--prompt", "The cat sat on the mat"}), 2,
               {"[--prompt] expected at most 16 tokens", "got 22"});
  expect_error(generate({"--prompt", ""}), 2, {"[--prompt]"});
  expect_error(generate({"--prompt", "The", "--beams", "0"}), 2, {"[--beams] expected a number in [1, 1000], got 0"});
  expect_error(generate({"--prompt", "The", "--prompt-ids", "1"}), 2,
               {"[--prompt-ids] expected no --prompt, got both"});
  expect_error(generate({"--prompt-ids", "1", "--prompt-file", "p.txt"}), 2,
               {"[--prompt-file] expected no --prompt-ids, got both"});
  expect_error(generate({"--prompt", "The", "--length-penalty", "high"}), 2,
               {"[--length-penalty] expected a number, got \"high\""});
  expect_error(generate({"--prompt", "The", "--beams", "100000"}), 2,
               {"[--beams] expected a number in [1, 1000], got 100000"});
  expect_error(generate({"--prompt", "The", "--dtype", "float8"}), 2, {"--dtype", "float8", "bfloat16"});
  expect_error(generate({"--prompt-ids", "1,x"}), 2, {"[--prompt-ids]"});
  expect_error(generate({"--prompt-ids", "9999"}), 2, {"[--prompt-ids]", "expected token ids from 0 to "});
  expect_error(generate({"--prompt-ids", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}), 2,
               {"[--prompt-ids] expected at most 16 tokens", "got 17"});
  expect_error(generate({"--prompt", "ZZZ"}), 2, {"[tokenizer]", "\"Z\" (U+005A) at byte 0"});
  expect_error(generate({"--prompt", "The", "--top-p", "0"}), 2, {"[--top-p]"});
  expect_error(generate({"--prompt", "The", "--beams", "2", "--temperature", "1"}), 2, {"[--beams]"});
  expect_error(run_command({"generate", "gpt", "--model", folder / "none", "--prompt", "x"}), 2, {"[--model]"});
  spill(folder / "cat.txt", "The cat");
  expect_error(run_command({"test", "gpt", "--model", good, "--text", folder / "cat.txt"}), 2,
               {"[--text] expected at least 17 tokens", "got 7 in "});
  expect_error(run_command({"test", "gpt", "--model", good, "--text", folder / "short.txt"}), 2,
               {"[tokenizer]", "\"r\" (U+0072)"});
  expect_error(run_command({"test", "gpt", "--model", good}), 2, {"[--text]", "expected a file, got none"});
  expect_error(run_command({"generate", "copy"}), 2, {"unknown task \"copy\"; choose from gpt"});

  // A configuration that does not fit the tensors, and an incomplete download.
  const std::string hf = folder / "hf";
  ASSERT_EQ(run_command(small_gpt_run(folder, "again", {"--max-steps", "1", "--save-hugging-face", hf})).code, 0);
  const std::string config = slurp(hf + "/config.json");
  const auto said = [&] { return run_command({"generate", "gpt", "--model", hf, "--prompt", "x"}); };
  const auto with = [&](const nlohmann::json& members) {
    auto changed = nlohmann::json::parse(config);
    changed.update(members);
    spill(hf + "/config.json", changed.dump());
    const Ran ran = said();
    spill(hf + "/config.json", config);
    return ran;
  };
  expect_error(with({{"n_embd", 32}}), 1, {"tok_emb.weight", "expected"});
  expect_error(with({{"model_type", "mistral"}}), 1, {"mistral", "expected the model_type gpt2 or llama"});
  expect_error(with({{"n_embd", 16.5}}), 1, {"expected n_embd to be a whole number", "16.5"});
  expect_error(with({{"n_embd", 1048576}}), 2, {hf + ": a model of its sizes takes about", " GB, this machine has "});
  expect_error(with({{"n_embd", 1}, {"n_head", 1}, {"n_layer", 100000000}}), 1,  // small layers, but many
               {"config.json] expected n_layer <= ", "the number of tensors in its weights, got 100000000"});
  EXPECT_NE(slurp(hf + "/tokenizer_config.json").find("PreTrainedTokenizerFast"), std::string::npos);

  // A tokenizer that does not fit is an error before anything is printed; with ids in and out it is not needed.
  const std::string tokenizer = slurp(hf + "/tokenizer.json");
  spill(hf + "/tokenizer.json", "{}");
  expect_error(said(), 1, {"tokenizer.json", "has no \"model\""});
  EXPECT_EQ(run_command({"generate", "gpt", "--model", hf, "--prompt-ids", "1", "--ids"}).code, 0);
  spill(hf + "/tokenizer.json", tokenizer);
  expect_error(with({{"vocab_size", 3}}), 1, {"its tokenizer has", "vocabulary 3"});
  expect_error(run_command({"test", "gpt", "--model", hf, "--text", hf + "/model.safetensors"}), 1,
               {"is not a token file"});

  const std::string weights = slurp(hf + "/model.safetensors");
  SafeTensors damaged = load_safetensors(hf);
  for (NamedTensor& t : damaged.tensors) t.tensor = t.tensor * std::nan("");
  save_safetensors(hf + "/model.safetensors", damaged.tensors);
  const Arguments continued{"generate", "gpt", "--model", hf, "--prompt-ids", "1", "--ids"};
  for (const Arguments& sampled : {Arguments{},
                                   {"--temperature", "1"},
                                   {"--temperature", "1", "--top-p", "0.5"},
                                   {"--temperature", "0.5", "--top-k", "1"}})
    expect_error(run_command(joined(continued, sampled)), 1,
                 {"[generate] the model's logits contain NaN (are its weights damaged?)"});
  expect_error(run_command({"test", "gpt", "--model", hf, "--text", folder / "text.txt"}), 1,
               {"[test]", "is not finite"});
  spill(hf + "/model.safetensors", weights.substr(0, weights.size() / 2));
  expect_error(said(), 1, {"[safetensors]", "truncated"});
}

}  // namespace
}  // namespace tapegrad::tasks
