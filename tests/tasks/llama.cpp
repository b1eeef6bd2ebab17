// Folders of Llamas in the command: tokenizers, generation, tests, chats, and folders that are damaged or mixed.
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/runs/verdict_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/tokenizer_files.h>

namespace tapegrad::tasks {
namespace {

using json = Json;
using namespace tests;

// Written by tests/data/make_llama.py with transformers.
constexpr const char* kFolders[] = {"llama2_tiny", "llama3_tiny"};

std::string text_of_ids(const std::vector<int64_t>& ids, const char* between) {
  return fmt::format("{}", fmt::join(ids, between));
}

// A copy of a folder, to be changed.
std::string copied(const TemporaryFolder& folder, const std::string& name, const std::string& to) {
  std::filesystem::copy(data_path(name), folder / to);
  return folder / to;
}

TEST(LlamaTokenizers, EncodeAndDecodeAsHuggingFaces) {
  for (const std::string name : kFolders) {
    const auto tokenizer = data::load_tokenizer(data_path(name));
    for (const json& expected : stored(name + "/expected.json")["texts"]) {
      const auto text = expected["text"].get<std::string>();
      SCOPED_TRACE(name + ": " + text);
      std::vector<int64_t> ids = tokenizer->encode(text);
      ASSERT_TRUE(tokenizer->begin_of_text().has_value());
      ids.insert(ids.begin(), *tokenizer->begin_of_text());  // which Hugging Face's adds
      EXPECT_EQ(ids, expected["ids"].get<std::vector<int64_t>>());
      EXPECT_EQ(tokenizer->decode(ids), expected["decoded"].get<std::string>());
    }
    EXPECT_EQ(tokenizer->cut("one two, three", 1), std::string_view::npos);  // texts are encoded whole
    EXPECT_EQ(json::parse(tokenizer->json()), stored(name + "/tokenizer.json"));
  }
}

TEST(LlamaTokenizers, RejectWhatTheyDoNotSupport) {
  expect_said("tasks/errors/texts.txt", "changes of a Llama's tokenizer.json", [](const std::string& change) {
    std::istringstream words(change);
    std::string folder, pointer;
    words >> folder >> pointer;
    json changed = stored(folder + "/tokenizer.json");
    at_path(changed, pointer) = json::parse(change.substr(change.find(' ', change.find(' ') + 1)));
    return error_of([&] { data::parse_tokenizer(changed.dump(), "t.json"); });
  });
  json fewer = stored("llama2_tiny/tokenizer.json");
  fewer["model"]["vocab"].erase("<0x41>");
  EXPECT_ERROR(data::parse_tokenizer(fewer.dump(), "t.json"));
}

// A tokenizer of pieces with the pre-tokenizer of other versions of transformers.
json with_metaspace(const char* prepend_scheme) {
  json changed = stored("llama2_tiny/tokenizer.json");
  changed["normalizer"] = nullptr;
  changed["pre_tokenizer"] = {
      {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", prepend_scheme}, {"split", false}};
  return changed;
}

// What comes back from ids, and the texts that do not: those that pieces.h names.
TEST(LlamaTokenizers, RoundTrips) {
  const auto again = [](const data::Tokenizer& tokenizer, const std::string& text) {
    return tokenizer.decode(tokenizer.encode(text));
  };
  const auto each = data::load_tokenizer(data_path("llama2_tiny"));
  const auto first = data::parse_tokenizer(with_metaspace("first").dump(), "first");
  const auto llama3 = data::load_tokenizer(data_path("llama3_tiny"));
  for (const char* text : {"", "a b", "a  b", "\n",
                           "a\xff"
                           "b",
                           "하늘", "a</s>"}) {
    for (const data::Tokenizer* tokenizer : {each.get(), first.get(), llama3.get()})
      EXPECT_EQ(again(*tokenizer, text), text);
  }
  for (const char* text : {" ", "  a", "a<s>b", "a\u2581b"}) EXPECT_EQ(again(*llama3, text), text);
  EXPECT_EQ(again(*each, " a"), " a");
  EXPECT_EQ(again(*each, "a<s>b"), "a<s> b");
  EXPECT_EQ(again(*each, "a\u2581b"), "a b");
  EXPECT_EQ(again(*first, "  a"), " a");
  EXPECT_EQ(again(*first, "a<s>b"), "a<s>b");
}

// The spaces at the start of pieces, with the other forms of Hugging Face's files.
TEST(LlamaTokenizers, Metaspace) {
  const auto legacy = data::load_tokenizer(data_path("llama2_tiny"));
  const auto first = data::parse_tokenizer(with_metaspace("first").dump(), "first");
  EXPECT_EQ(first->encode("one two"), legacy->encode("one two"));
  EXPECT_EQ(first->encode(" one"), legacy->encode("one"));
  EXPECT_NE(first->encode("one</s>two"), legacy->encode("one</s>two"));
  json changed = with_metaspace("never");
  expect_parts(error_of([&] { data::parse_tokenizer(changed.dump(), "t.json"); }), {"expected the decoder Replace"});
  json& decoders = changed["decoder"]["decoders"];  // the last strips
  decoders = json::array({decoders[0], decoders[1], decoders[2]});
  EXPECT_EQ(data::parse_tokenizer(changed.dump(), "never")->encode(" one"), legacy->encode("one"));
  EXPECT_ERROR(data::parse_tokenizer(with_metaspace("always").dump(), "t.json"));
}

TEST(LlamaCommand, GeneratesTransformersTokensAndTests) {
  for (const std::string name : kFolders) {
    SCOPED_TRACE(name);
    const json data = stored(name + "/expected.json");
    const std::string folder = data_path(name);
    const auto start = data["start"].get<std::vector<int64_t>>(), greedy = data["greedy"].get<std::vector<int64_t>>();
    const CommandLine generate{{"generate", "gpt", "--model", folder}};
    const Ran ids = successful(generate({"--prompt-ids", text_of_ids(start, ","), "--ids", "--max-new-tokens", "24"}));
    // Up to the token that ends a text, if there is one.
    const TrainedGPT trained = load_gpt(folder);
    auto end = std::find_if(greedy.begin(), greedy.end(), [&](int64_t id) { return trained.is_end(id); });
    if (end != greedy.end()) ++end;
    EXPECT_EQ(ids.out, text_of_ids(start, " ") + " " + text_of_ids({greedy.begin(), end}, " ") + "\n");
    const Ran text = successful(generate({"--prompt", "Hello, I", "--max-new-tokens", "4"}));
    EXPECT_TRUE(text.out.starts_with("Hello, I")) << text.out;
    for (const std::string& type : weight_format_names()) {
      EXPECT_EQ(generate({"--prompt", "Hello", "--max-new-tokens", "4", "--dtype", type}).code, 0);
    }
  }
  const Ran tested = successful(run_command(
      {"test", "gpt", "--model", data_path("llama3_tiny"), "--text", kVerdict, "--max-tokens", "300", "--json"}));
  EXPECT_EQ(json::parse(tested.out)["tokens"], 299);
  const TemporaryFolder out;
  successful(run_command(
      {"attention", "gpt", "--model", data_path("llama2_tiny"), "--prompt", "one", "--quiet", "--out", out / "maps"}));
}

TEST(LlamaCommand, WritesFoldersThatItReads) {
  const TemporaryFolder folder;
  for (const std::string name : kFolders) {
    const TrainedGPT trained = load_gpt(data_path(name));
    ASSERT_NE(trained.model.as<nn::LlamaModel>(), nullptr);
    save_hugging_face(folder / name, trained.model, *trained.tokenizer, trained.ends, "run");
    const TrainedGPT again = load_gpt(folder / name);
    EXPECT_EQ(again.ends, trained.ends);
    expect_same(nn::state_dict(trained.model), nn::state_dict(again.model));
  }
}

TEST(LlamaCommand, RejectsDamagedAndMixedFolders) {
  const TemporaryFolder folder;
  const std::string shard = copied(folder, "llama3_tiny", "shard");
  std::filesystem::remove(shard + "/model-00002-of-00002.safetensors");
  const std::string mixed = copied(folder, "llama2_tiny", "mixed");
  spill(mixed + "/config.json", slurp(data_path("llama3_tiny/config.json")));
  const std::string changed = copied(folder, "llama2_tiny", "changed");
  const json config = stored("llama2_tiny/config.json");
  expect_errors("tasks/errors/runs.txt", "a Llama's configuration", folder, [&](const Arguments& members) {
    json other = config;
    other.update(json::parse(members.at(0)));
    spill(changed + "/config.json", other.dump());
    return run_command({"generate", "gpt", "--model", changed, "--prompt", "x"});
  });
  const std::string cut = copied(folder, "llama2_tiny", "cut");
  const std::string weights = slurp(cut + "/model.safetensors");
  spill(cut + "/model.safetensors", weights.substr(0, weights.size() / 2));
  expect_errors("tasks/errors/runs.txt", "damaged and mixed Llamas", folder);
}

Ran chat(const std::string& folder, const std::string& input, const Arguments& more = {}) {
  return run_command(joined({"chat", folder, "--temperature", "0"}, more), {.input = input});
}

// --- training ---

Arguments llama_run(const std::string& out, const Arguments& more) {
  return joined({"train", "gpt", "--out", out, "--from", data_path("llama3_tiny"), "--text", kVerdict,
                 // six short steps
                 "--seq-length", "16", "--batch-size", "4", "--lr", "0.01", "--sample-tokens", "0", "--eval-batches",
                 "1", "--no-progress", "--max-steps", "6"},
                more);
}

using LlamaTraining = InAFolder;

// As PyTorch's AdamW trains transformers' model without dropout (make_llama.py).
TEST_F(LlamaTraining, FirstLossesAreThoseOfTransformers) {
  for (const char* name : kFolders) expect_losses_of_transformers(name, folder / name);
}

TEST_F(LlamaTraining, StartsFromAFolderAndResumes) {
  const Arguments freeze{"--freeze", "model.embed_tokens.*", "--checkpoint-every", "3"};
  const Ran whole =
      successful(run_command(llama_run(folder / "whole", joined(freeze, {"--save-hugging-face", folder / "hf"}))));
  const double loss = tested_loss({"--model", folder / "whole"});
  EXPECT_LT(loss, tested_loss({"--model", data_path("llama3_tiny")}));
  EXPECT_NEAR(tested_loss({"--model", folder / "hf"}), loss, 1e-6);
  EXPECT_NEAR(tested_loss({"--model", folder / "whole", "--dtype", "int8"}), loss, 0.3);
  const TrainedGPT trained = load_gpt(folder / "whole");
  EXPECT_NE(trained.model.as<nn::LlamaModel>(), nullptr);
  EXPECT_EQ(trained.ends, load_gpt(data_path("llama3_tiny")).ends);
  EXPECT_EQ(load_gpt(folder / "hf").ends, trained.ends);
  EXPECT_EQ(chat(folder / "whole", "one\n", {"--max-new-tokens", "3"}).code, 0);
  // A finished run is read without the folder that it started from.
  const std::string base = copied(folder, "llama3_tiny", "base");
  Arguments words = llama_run(folder / "again", freeze);
  *std::find(words.begin(), words.end(), data_path("llama3_tiny")) = base;
  *std::find(words.begin(), words.end(), "6") = "3";
  successful(run_command(words));
  std::filesystem::remove_all(base);
  successful(run_command({"train", "gpt", "--out", folder / "again", "--resume"}));
}

TEST_F(LlamaTraining, AdaptersAreThoseOfPeft) {
  successful(run_command(llama_run(folder / "run", {"--lora-rank", "2"})));
  const SafeTensors file = load_safetensors(folder / "run/adapter/adapter_model.safetensors");
  EXPECT_EQ(file.tensors.size(), 8U);  // A and B of q_proj and v_proj in two layers
  EXPECT_EQ(file["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"].shape(), Shape({2, 16}));
  const double loss = tested_loss({"--model", folder / "run"});
  EXPECT_EQ(tested_loss({"--model", data_path("llama3_tiny"), "--adapter", folder / "run/adapter"}), loss);
  const Ran merged = successful(run_command(llama_run(folder / "merged", {"--lora-rank", "2", "--lora-merge"})));
  EXPECT_NEAR(tested_loss({"--model", folder / "merged"}), loss, 1e-5);
}

TEST_F(LlamaTraining, WrongOptionsAreRejectedByName) {
  const std::string out = folder / "out";
  expect_errors("tasks/errors/runs.txt", "a Llama", folder,
                [&](const Arguments& more) { return run_command(llama_run(out, more)); });
  EXPECT_FALSE(std::filesystem::exists(out));
}

// --- chats ---

TEST(Chat, HelpHasItsArgument) {
  const Ran ran = successful(run_command({"chat", "--help"}));
  expect_parts(ran.out, {"\nUsage: tapegrad chat [RUN_OR_FOLDER] [options]\n\nArguments:\n  RUN_OR_FOLDER   ",
                         "\n\nOptions:\n  -h,--help"});
}

TEST(Chat, AnswersTheLinesOfAPipe) {
  const std::string folder = data_path("llama3_tiny");
  const Arguments form{"--template", "{message}{answer}", "--max-new-tokens", "6"};
  const Ran one = chat(folder, "one\n", form), two = chat(folder, "one\n\ntwo", form);
  ASSERT_EQ(one.code, 0) << one.err;
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(one.err, "");
  EXPECT_FALSE(one.out.empty());
  EXPECT_TRUE(two.out.starts_with(one.out)) << two.out;
  EXPECT_GT(two.out.size(), one.out.size());
  EXPECT_EQ(chat(folder, "one\n/reset\none\n", form).out, one.out + one.out);
  EXPECT_EQ(chat(folder, "").out, "");
  successful(chat(folder, "one\n", {"--dtype", "int8", "--max-new-tokens", "6"}));
}

TEST(Chat, ContinuesWithWhatWasSaid) {
  const std::string folder = data_path("llama2_tiny");
  const Arguments form{"--template", "{message} {answer}"};
  const Ran all = successful(chat(folder, "one\ntwo\n", joined(form, {"--max-new-tokens", "3"})));
  const TrainedGPT trained = load_gpt(folder);
  const auto reply = [&](std::vector<int64_t>& ids) {
    std::vector<int64_t> found;
    for (int i = 0; i < 3; ++i) {
      const auto length = static_cast<int64_t>(ids.size());
      const auto id = argmax((*trained.model)(tensor(ids, {1, length})).select(1, -1), -1).item<int64_t>();
      ids.push_back(id);
      found.push_back(id);
      if (trained.is_end(id)) break;
    }
    if (trained.is_end(found.back())) found.pop_back();
    data::TextStream stream(*trained.tokenizer);
    std::string text;
    for (const int64_t id : found) text += stream.push(id);
    return text + stream.finish() + "\n";
  };
  std::vector<int64_t> ids{*trained.tokenizer->begin_of_text()};
  std::string expected;
  for (const char* message : {"one ", "two "}) {
    for (const int64_t id : trained.tokenizer->encode(message)) ids.push_back(id);
    expected += reply(ids);
  }
  EXPECT_EQ(all.out, expected);
}

TEST(Chat, ForgetsTheFirstMessagesWhenTheContextIsFull) {
  std::string input;
  for (int i = 0; i < 12; ++i) input += "tell me more\n";
  const Ran ran =
      successful(chat(data_path("llama2_tiny"), input, {"--template", "{message}{answer}", "--max-new-tokens", "6"}));
  EXPECT_NE(ran.err.find("(the context of 64 tokens is full: the first "), std::string::npos) << ran.err;
  EXPECT_GE(lines(ran.out).size(), 12U);
  const Ran longer = chat(data_path("llama2_tiny"), std::string(200, 'x') + "\none\n");
  EXPECT_NE(longer.err.find(" tokens, the model's context 64: it is left out)"), std::string::npos) << longer.err;
  EXPECT_EQ(longer.code, 0);
}

TEST(Chat, TakesTheTemplateOfTheFolder) {
  const TemporaryFolder folder;
  const std::string named = copied(folder, "llama3_tiny", "named");
  spill(named + "/chat_template.jinja", "{% for m in messages %}<|start_header_id|>{{ m.role }}{% endfor %}");
  EXPECT_EQ(chat(named, "one\n").out, chat(data_path("llama3_tiny"), "one\n", {"--template", "llama3"}).out);
  EXPECT_EQ(chat(named, "one\n", {"--system", "Be brief."}).code, 0);
  spill(named + "/chat_template.jinja", "{{ messages }}");
  expect_errors("tasks/errors/runs.txt", "chat", folder);
}

}  // namespace
}  // namespace tapegrad::tasks
