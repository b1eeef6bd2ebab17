// Training that starts from others' weights: `train gpt --from`, `--freeze`, LoRA and PEFT adapters.
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/runs/verdict_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// A random GPT-2 of transformers: width 16, 2 layers, context 32, a vocabulary of 290 padded to 296.
const std::string kHuggingFace = data_path("hugging_face_gpt2");

Json config_of(const std::string& model) {
  return Json::parse(load_safetensors(model + "/model.safetensors").metadata.at("config"));
}

std::map<std::string, std::vector<float>> values_of(const nn::AnyDecoder& model) {
  std::map<std::string, std::vector<float>> values;
  for (const NamedTensor& t : nn::state_dict(model)) values[t.name] = t.tensor.to_vector<float>();
  return values;
}

using GptFrom = InAFolder;

TEST_F(GptFrom, FirstLossesAreThoseOfTransformers) {
  expect_losses_of_transformers("hugging_face_gpt2", folder / "run");
  const Json config = config_of(folder / "run");
  EXPECT_EQ(config["from"], kHuggingFace);
  EXPECT_EQ(config["vocab_size"], 296);
  EXPECT_EQ(config["context_length"], 32);
  successful(run_command({"generate", "gpt", "--model", folder / "run", "--prompt", "I had", "--temperature", "1"}));
}

// A trainer as `train gpt --from` makes it.
struct Started {
  TrainedGPT start;
  GPTOptions options;
  std::unique_ptr<GPTTrainer> trainer;
};
Started started(const std::string& from, const std::function<void(GPTOptions&)>& change, Given given) {
  GPTOptions asked = gpt_options("gpt2");
  asked.from = from;
  asked.text = kVerdict;
  asked.seq_length = 24;
  asked.batch_size = 8;
  asked.max_steps = 6;
  asked.gpt().drop_rate = 0.1;
  change(asked);
  for (const char* name : {"from", "text", "seq-length", "batch-size", "max-steps", "drop-rate"})
    given.emplace_back(name);
  Started s{load_start(asked, given), {}, nullptr};
  s.trainer = std::make_unique<GPTTrainer>(given, asked);
  s.options = (*s.trainer)->options();
  return s;
}

// The values after six steps, three of them after a checkpoint.
std::map<std::string, std::vector<float>> resumed_values(GPTTrainer& broken) {
  for (int i = 0; i < 3; ++i) broken.step();
  const train::Checkpoint saved = broken.checkpoint();
  GPTTrainer again(saved);
  while (!again.finished()) again.step();
  return values_of(again->decoder());
}

TEST_F(GptFrom, FreezesAndResumes) {
  const auto freeze = [](GPTOptions& o) { o.freeze = {"tok_emb.*", "trf_blocks.0.*", "norm?.scale"}; };
  const Started whole = started(kHuggingFace, freeze, {"freeze"});
  EXPECT_EQ(whole.options.lr, 5e-5);
  while (!whole.trainer->finished()) whole.trainer->step();
  const auto first = values_of(whole.start.model), last = values_of((*whole.trainer)->decoder());
  for (const auto& [name, values] : last) {
    const bool frozen = name.starts_with("tok_emb.") || name.starts_with("trf_blocks.0.") ||
                        name.ends_with("norm1.scale") || name.ends_with("norm2.scale");
    EXPECT_EQ(values == first.at(name), frozen) << name;
  }
  EXPECT_TRUE(resumed_values(*started(kHuggingFace, freeze, {"freeze"}).trainer) == last);
}

TEST_F(GptFrom, AResumedRunNeedsNothingButItsFolder) {
  std::filesystem::copy(kHuggingFace, folder / "base");
  const Arguments words = verdict_run(folder / "run", {"--from", folder / "base", "--freeze", "pos_emb.*", "--freeze",
                                                       "final_norm.*", "--max-steps", "2"});
  successful(run_command(words));
  EXPECT_EQ(config_of(folder / "run")["freeze"], (Arguments{"pos_emb.*", "final_norm.*"}));
  std::filesystem::remove_all(folder / "base");
  successful(run_command(joined(words, {"--resume"})));
  expect_errors("tasks/errors/gpt_from.txt", "resumption", folder);
}

TEST_F(GptFrom, ARunOfOursIsContinuedAsANewRun) {
  train_small_gpt(folder, "base", {"--max-steps", "3", "--positions", "rope"});
  const Arguments same{"train",           "gpt", "--from", folder / "base", "--text", folder / "text.txt",
                       "--sample-tokens", "0"};
  const Ran none = successful(run_command(joined(same, {"--num-epochs", "0", "--out", folder / "same"})));
  EXPECT_EQ(values_of(load_gpt(folder / "same").model), values_of(load_gpt(folder / "base").model));
  expect_errors("tasks/errors/gpt_from.txt", "contradictions", folder, [&](const Arguments& words) {
    return run_command(joined(joined(same, words), {"--out", folder / "none"}));
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
  const Ran fits = successful(run_command(joined(same, {"--max-steps", "1", "--out", folder / "fits", "--emb-dim", "16",
                                                        "--positions", "rope", "--drop-rate", "0.2", "--recompute"})));
  EXPECT_EQ(config_of(folder / "fits")["drop_rate"], 0.2);
}

TEST_F(GptFrom, DamagedAndMixedFoldersAreRejectedByName) {
  const std::string hf = folder / "hf";
  std::filesystem::copy(kHuggingFace, hf);
  const auto train = [&](const Arguments& more) { return run_command(verdict_run(folder / "out", more)); };
  const auto from = [&](const std::string& what) { return train({"--from", what, "--max-steps", "1"}); };
  const auto with = [&](const std::string& file, const std::string& bytes) {
    const std::string before = slurp(hf + "/" + file);
    spill(hf + "/" + file, bytes);
    const Ran ran = from(hf);
    spill(hf + "/" + file, before);
    return ran;
  };
  const std::string config = slurp(hf + "/config.json"), weights = slurp(hf + "/model.safetensors"),
                    tokenizer = slurp(hf + "/tokenizer.json");
  expect_errors("tasks/errors/gpt_from.txt", "weights of another configuration", folder, [&](const Arguments& members) {
    auto changed = Json::parse(config);
    changed.update(Json::parse(members.at(0)));
    return with("config.json", changed.dump());
  });
  expect_error(with("config.json", config.substr(0, 40)), 1, {hf + "/config.json", "is not complete JSON"});
  // Damaged weights, and a shard that is missing.
  EXPECT_TEXT(rejected(with("model.safetensors", weights.substr(0, weights.size() - 100))));
  std::filesystem::rename(hf + "/model.safetensors", hf + "/model-00001-of-00002.safetensors");
  spill(hf + "/model.safetensors.index.json",
        R"({"weight_map": {"transformer.wte.weight": "model-00001-of-00002.safetensors",)"
        R"( "transformer.wpe.weight": "model-00002-of-00002.safetensors"}})");
  EXPECT_TEXT(rejected(from(hf)));
  std::filesystem::remove(hf + "/model.safetensors.index.json");
  expect_error(from(hf), 1, {hf});
  std::filesystem::rename(hf + "/model-00001-of-00002.safetensors", hf + "/model.safetensors");
  // A tokenizer with another vocabulary.
  for (const auto& [name, size] : {std::pair{"char", "0"}, {"bpe", "290"}})
    successful(
        run_command({"tokenize", "--train", name, "--vocab-size", size, "--text", kVerdict, "--out", folder / name}));
  EXPECT_TEXT(rejected(with("tokenizer.json", slurp(folder / "char/tokenizer.json"))));
  expect_errors("tasks/errors/gpt_from.txt", "tokenizers and folders", folder, train);
  std::filesystem::remove(hf + "/tokenizer.json");
  expect_errors("tasks/errors/gpt_from.txt", "no tokenizer", folder, train);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(GptFrom, WrongOptionsAreRejectedByName) {
  const std::string out = folder / "out";
  expect_errors("tasks/errors/gpt_from.txt", "options", folder,
                [&](const Arguments& more) { return run_command(verdict_run(out, more)); });
  train_small_gpt(folder, "ours", {"--max-steps", "1"});
  expect_errors("tasks/errors/gpt_from.txt", "complete requests", folder);
  EXPECT_FALSE(std::filesystem::exists(out));
}

// --- LoRA ---

Tensor last_two_logits(const nn::AnyDecoder& model, const Json& expected) {
  const Tensor logits = (*model)(ids(expected["ids"]));
  return narrow(logits, 1, logits.size(1) - 2, 2);
}

TEST(GptLora, PeftsAdapterGivesPeftsLogits) {
  const TemporaryFolder folder;
  const Json expected = stored("hugging_face_gpt2/adapter.json");
  const std::string adapter = kHuggingFace + "/adapter";
  const Room room{1e-5, 1e-5};
  expect_close(last_two_logits(load_gpt(kHuggingFace).model, expected), expected["without_adapter"], room,
               "without the adapter");
  TrainedGPT adapted = load_gpt(kHuggingFace, {.adapter = adapter});
  expect_close(last_two_logits(adapted.model, expected), expected["last_two_logits"], room, "with the adapter");
  GPTOptions options = adapted.options;
  options.from = "hugging_face_gpt2";
  save_gpt_adapter(folder / "again", adapted.model, options);
  const SafeTensors ours = load_safetensors(folder / "again/adapter_model.safetensors"),
                    theirs = load_safetensors(adapter + "/adapter_model.safetensors");
  ASSERT_EQ(ours.tensors.size(), theirs.tensors.size());
  for (const NamedTensor& t : theirs.tensors)
    EXPECT_EQ(ours[t.name].to_vector<float>(), t.tensor.to_vector<float>()) << t.name;
  const auto a = Json::parse(slurp(folder / "again/adapter_config.json"));
  auto b = Json::parse(slurp(adapter + "/adapter_config.json"));
  auto targets = b["target_modules"].get<std::vector<std::string>>();
  std::ranges::sort(targets);
  b["target_modules"] = targets;
  for (const auto& [key, value] : a.items()) EXPECT_EQ(value, b[key]) << key;
  nn::merge_lora(adapted.model);
  expect_close(last_two_logits(adapted.model, expected), expected["last_two_logits"], room, "merged");
}

TEST(GptLora, TrainsAdaptersThatOtherVerbsRead) {
  const TemporaryFolder folder;
  const Arguments lora{"--from", kHuggingFace,     "--lora-rank", "4",          "--lora-alpha", "8", "--lr",
                       "0.03",   "--lora-targets", "c_attn",      "mlp.c_proj", "--max-steps",  "8", "--lora-dropout",
                       "0.1"};
  const Ran ran = successful(run_command(verdict_run(folder / "run", lora)));
  // 2 layers of 4 x 16 + 48 x 4 for c_attn and 4 x 64 + 16 x 4 for mlp.c_proj.
  EXPECT_NE(ran.err.find(" (1152 are trained)"), std::string::npos) << ran.err;
  const Ran merged = successful(run_command(
      verdict_run(folder / "merged", joined(lora, {"--lora-merge", "--save-hugging-face", folder / "hf"}))));
  EXPECT_EQ(losses_in(folder / "run"), losses_in(folder / "merged"));
  EXPECT_TRUE(nn::has_lora(load_gpt(folder / "run").model));
  EXPECT_FALSE(nn::has_lora(load_gpt(folder / "merged").model));

  const double expected = tested_loss({"--model", folder / "run"});
  EXPECT_LT(expected, tested_loss({"--model", kHuggingFace}) - 0.01);
  EXPECT_EQ(tested_loss({"--model", kHuggingFace, "--adapter", folder / "run/adapter"}), expected);
  EXPECT_NEAR(tested_loss({"--model", folder / "merged"}), expected, 1e-5);
  EXPECT_NEAR(tested_loss({"--model", folder / "hf"}), expected, 1e-5);
  EXPECT_NEAR(tested_loss({"--model", folder / "run", "--dtype", "int8"}), expected, 0.02);
  EXPECT_NEAR(tested_loss({"--model", folder / "run", "--dtype", "bfloat16"}), expected, 0.02);
  const Arguments say{"generate", "gpt", "--prompt", "I had", "--max-new-tokens", "8"};
  const Ran said = successful(run_command(joined(say, {"--model", folder / "run"})));
  EXPECT_EQ(run_command(joined(say, {"--model", kHuggingFace, "--adapter", folder / "run/adapter"})).out, said.out);
  successful(run_command({"attention", "gpt", "--prompt", "I had", "--quiet", "--model", folder / "run"}));

  // Both continue: the run with its update merged, and the base with the adapter.
  for (const Arguments& from :
       {Arguments{"--from", folder / "run"}, Arguments{"--from", kHuggingFace, "--adapter", folder / "run/adapter"}}) {
    const Ran next = successful(run_command(verdict_run(folder / "next", joined(from, {"--num-epochs", "0"}))));
    EXPECT_NEAR(tested_loss({"--model", folder / "next"}), expected, 1e-5);
  }
  // An earlier run's adapter is moved aside with the other files.
  successful(run_command(verdict_run(folder / "run", {"--from", kHuggingFace, "--num-epochs", "0"})));
  EXPECT_FALSE(std::filesystem::exists(folder / "run/adapter"));
  EXPECT_TRUE(std::filesystem::exists(folder / "run/previous-1/adapter/adapter_model.safetensors"));
}

TEST(GptLora, AResumedRunEndsInTheSameBits) {
  const auto with_target = [](const char* target) {
    const auto lora = [&](GPTOptions& o) {
      o.lora_rank = 2, o.lora_dropout = 0.1, o.lora_targets = {"c_attn", target, "c_fc"};
    };
    return started(kHuggingFace, lora, {"lora-rank", "lora-dropout", "lora-targets"});
  };
  EXPECT_THROW(with_target("W_out*"), BadRequest);
  const Started whole = with_target("out_*");
  EXPECT_EQ(whole.options.lr, 2e-4);
  while (!whole.trainer->finished()) whole.trainer->step();
  const auto last = values_of((*whole.trainer)->decoder());
  EXPECT_TRUE(resumed_values(*with_target("out_*").trainer) == last);
}

}  // namespace
}  // namespace tapegrad::tasks
