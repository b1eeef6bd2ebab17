// Folders of other programs in the command: what the files next to the weights say is followed, or an error names it.
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::tasks {
namespace {

using json = Json;
using namespace tests;
using TokenIds = std::vector<int64_t>;

// --- the files next to a tokenizer ---

// A vocabulary of a folder: the letters of "hi" with one merge, <|endoftext|>, and a space.
class FilesNextToTokenizers : public testing::Test {
 protected:
  FilesNextToTokenizers() {
    write("vocab.json", json::parse(R"({"h": 0, "i": 1, "hi": 2, "<|endoftext|>": 3, "Ġ": 4, "<pad>": 5})"));
    spill(folder_ / "merges.txt", "#version: 0.2\nh i\n");
  }
  // As a tokenizer.json, which the files next to it then add to.
  void convert() {
    data::save_tokenizer(*load(), folder_.path().string());
    for (const char* name : {"vocab.json", "merges.txt"}) std::filesystem::remove(folder_ / name);
  }
  void write(const char* name, const json& content) { spill(folder_ / name, content.dump()); }
  void remove(const char* name) { std::filesystem::remove(folder_ / name); }
  std::unique_ptr<data::Tokenizer> load() { return data::load_tokenizer(folder_.path().string()); }
  // The error of a file with this content, without "[tokenizer] folder/".
  std::string error(const char* name, const json& content) {
    write(name, content);
    const std::string what = error_of([&] { load(); }), start = "[tokenizer] " + folder_.path().string() + "/";
    remove(name);
    return what.starts_with(start) ? what.substr(start.size()) : what;
  }
  TemporaryFolder folder_;
};

TEST_F(FilesNextToTokenizers, AddedTokensAreMatchedAsAWhole) {
  for (const bool converted : {false, true}) {
    SCOPED_TRACE(converted);
    if (converted) convert();
    write("added_tokens.json", {{"<|im_start|>", 6}, {"<x>", 8}});
    write("special_tokens_map.json", {{"additional_special_tokens", {"<|im_start|>"}}, {"pad_token", "<pad>"}});
    EXPECT_EQ(load()->encode("<|im_start|>hi hi<x><pad><|endoftext|>"), (TokenIds{6, 2, 4, 2, 8, 5, 3}));
    EXPECT_EQ(load()->size(), 9);
    // What is written has them, too.
    const TemporaryFolder other;
    data::save_tokenizer(*load(), other.path().string());
    EXPECT_EQ(data::load_tokenizer(other.path().string())->encode("<|im_start|>hi<x>"), (TokenIds{6, 2, 8}));
    remove("added_tokens.json");
    remove("special_tokens_map.json");
    write("tokenizer_config.json", json::parse(R"({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": false,
        "model_max_length": 64, "eos_token": "<|endoftext|>", "bos_token": {"__type": "AddedToken",
        "content": "<|endoftext|>", "lstrip": false, "normalized": true, "rstrip": false, "single_word": false},
        "additional_special_tokens": ["<|im_start|>"], "mask_token": null, "chat_template": "x",
        "added_tokens_decoder": {"6": {"content": "<|im_start|>", "special": true}, "7": {"content": "hih"}}})"));
    EXPECT_EQ(load()->encode("hihih<|im_start|>hi"), (TokenIds{7, 1, 0, 6, 2}));
    remove("tokenizer_config.json");
    EXPECT_EQ(load()->encode("hi"), (TokenIds{2}));
  }
}

TEST_F(FilesNextToTokenizers, AFileWithoutAddedTokensGetsThem) {
  convert();
  const json whole = json::parse(slurp(folder_ / "tokenizer.json"));
  json rest = json::object();
  for (const auto& [key, value] : whole.items())
    if (key != "added_tokens") rest[key] = value;
  write("tokenizer.json", rest);
  write("added_tokens.json", {{"<|im_start|>", 6}});
  write("special_tokens_map.json", {{"pad_token", "<pad>"}});  // whose id is in the vocabulary
  EXPECT_EQ(load()->encode("hi<pad><|im_start|>hi"), (TokenIds{2, 5, 6, 2}));
}

TEST_F(FilesNextToTokenizers, SettingsThatChangeIdsAreErrors) {
  const auto said = [&](const std::string& line) {  // the name of a file, and what it contains
    const std::size_t blank = line.find(' ');
    return error(line.substr(0, blank).c_str(), json::parse(line.substr(blank)));
  };
  expect_said("tasks/errors/texts.txt", "files next to vocab.json", said);
  for (const bool converted : {false, true}) {
    SCOPED_TRACE(converted);
    if (converted) convert();
    expect_said("tasks/errors/texts.txt", "files next to a tokenizer", said);
    EXPECT_NE(error("added_tokens.json", {{"<pad>", 7}}).find("<pad>"), std::string::npos);
    EXPECT_NE(error("added_tokens.json", {{"<x>", 1}}).find("of another token"), std::string::npos);
    EXPECT_NE(error("added_tokens.json", {{"<x>", 2000000000}}).find("2000000000"), std::string::npos);
  }
  EXPECT_TEXT(error("tokenizer_config.json", {{"add_prefix_space", true}}));
  // The template of the tokenizer.json decides, as in transformers 5.
  EXPECT_TEXT(error("tokenizer_config.json", {{"add_bos_token", true}, {"tokenizer_class", "LlamaTokenizer"}}));
}

TEST_F(FilesNextToTokenizers, UnknownKeysOfATokenizerJsonAreErrors) {
  convert();
  const json good = json::parse(slurp(folder_ / "tokenizer.json"));
  const std::string end =
      "expected only keys whose meaning is known, got \"news\": 3 (remove the key if the result does not depend on it)";
  for (const auto& [pointer, part] : {std::pair{"/news", ""},
                                      {"/model/news", "model: "},
                                      {"/pre_tokenizer/news", "pre_tokenizer: "},
                                      {"/added_tokens/0/news", "added_tokens: "}}) {
    json changed = good;
    at_path(changed, pointer) = 3;
    EXPECT_EQ(error_of([&] { data::parse_tokenizer(changed.dump(), "t.json"); }),
              std::string("[tokenizer] t.json: ") + part + end);
  }
  EXPECT_ERROR(data::parse_tokenizer(
      R"({"added_tokens": [{"id": 1, "content": "<x>"}], "model": {"byte_fallback": true, "vocab": {"a": 0}, "merges": []}})",
      "t.json"));
}

// Ids of Hugging Face's tokenizers: such a token is matched after the normalizer, as its normalised text, and what
// follows it gets no space.
TEST(LlamaFolders, NormalizedTokens) {
  json changed = stored("llama2_tiny/tokenizer.json");
  changed["added_tokens"][1]["normalized"] = true;  // <s>
  const json plain = changed["added_tokens"][2];
  for (const auto& [text, id, normalized] : {std::tuple{"a b", 376, true}, {"<x>", 377, false}}) {
    changed["added_tokens"].push_back(plain);
    changed["added_tokens"].back().update({{"id", id}, {"content", text}, {"normalized", normalized}});
  }
  const auto tokenizer = data::parse_tokenizer(changed.dump(), "t.json");
  EXPECT_EQ(tokenizer->encode("<s>he <s> he<s>"), (TokenIds{1, 296, 293, 1, 315, 296, 293, 63, 307, 65}));
  EXPECT_EQ(tokenizer->encode("a b a b"), (TokenIds{376, 376}));
  EXPECT_EQ(tokenizer->encode("xa b<x>a b<x> a"), (TokenIds{315, 312, 350, 290, 377, 376, 377, 315, 315, 289}));
  EXPECT_EQ(tokenizer->encode("<x><s>"), (TokenIds{377, 1}));
}

TEST(LlamaFolders, CharactersNeedTheirDecoder) {
  json letters = json::parse(data::make_character_tokenizer("ab")->json());
  EXPECT_NO_THROW(data::parse_tokenizer(letters.dump(), "t.json"));
  letters["decoder"] = {{"type", "ByteLevel"}};
  EXPECT_ERROR(data::parse_tokenizer(letters.dump(), "t.json"));
}

TEST(LlamaFolders, PrefixSpaceOfPieces) {
  const TemporaryFolder folder;
  std::filesystem::copy(data_path("llama2_tiny/tokenizer.json"), folder / "tokenizer.json");
  spill(folder / "tokenizer_config.json", R"({"add_prefix_space": true, "legacy": false, "add_bos_token": true,
      "unk_token": "<unk>", "sp_model_kwargs": {}, "tokenizer_class": "LlamaTokenizer", "pad_token": "</s>"})");
  EXPECT_NO_THROW(data::load_tokenizer(folder.path().string()));
  spill(folder / "tokenizer_config.json", R"({"add_prefix_space": false})");
  EXPECT_ERROR(data::load_tokenizer(folder.path().string()));
}

// --- generation and chats ---

TokenIds ids_of(const std::string& model) {
  const Ran ran = successful(
      run_command({"generate", "gpt", "--model", model, "--prompt-ids", "1,2,3", "--ids", "--max-new-tokens", "12"}));
  std::istringstream words(ran.out);
  TokenIds ids;
  for (int64_t id = 0; words >> id;) ids.push_back(id);
  return ids;
}

std::string copied_model(const TemporaryFolder& folder, const std::string& name) {
  std::filesystem::copy(data_path(name), folder / name);
  return folder / name;
}

using ForeignFolders = InAFolder;

TEST_F(ForeignFolders, GenerationStopsAtEveryEnd) {
  for (const std::string name : {"hugging_face_gpt2", "llama3_tiny"}) {
    SCOPED_TRACE(name);
    const std::string model = copied_model(folder, name), generation = model + "/generation_config.json";
    std::filesystem::remove(generation);
    const json config = stored(name + "/config.json");
    const auto with = [&](const json& end) {
      json changed = config;
      changed["eos_token_id"] = end;
      spill(model + "/config.json", changed.dump());
    };
    with(293);
    const TokenIds all = ids_of(model);
    ASSERT_EQ(all.size(), 15U);
    const auto end = std::find(all.begin() + 3, all.end(), all[6]);
    const TokenIds expected(all.begin(), end + 1);
    with({292, all[6]});
    EXPECT_EQ(ids_of(model), expected);
    with(292);
    spill(generation, json{{"eos_token_id", {all[6], 293}}, {"max_length", 4}, {"temperature", 0.6}}.dump());
    EXPECT_EQ(ids_of(model), expected);
    with(all[6]);
    spill(generation, R"({"eos_token_id": 293})");
    EXPECT_EQ(ids_of(model), all);
    spill(generation, R"({"do_sample": true, "transformers_version": "5.24.0"})");
    EXPECT_EQ(ids_of(model), expected);
    for (const char* changing : {R"({"repetition_penalty": 1.1})", R"({"no_repeat_ngram_size": 2})",
                                 R"({"suppress_tokens": [1]})", R"({"sequence_bias": [[[1], 2.0]]})"}) {
      spill(generation, changing);
      EXPECT_TEXT(rejected(run_command({"generate", "gpt", "--model", model, "--prompt-ids", "1", "--ids"})));
    }
  }
}

// What changes generation alone is an Error of the verbs that generate; others read the same folder.
TEST_F(ForeignFolders, SettingsOfGenerationAreErrorsWhereTokensAreGenerated) {
  for (const std::string name : {"hugging_face_gpt2", "llama3_tiny"}) {
    const std::string model = copied_model(folder, name), text = data_path("the_verdict.txt");
    const json config = stored(name + "/config.json");
    const std::vector<Arguments> generating{{"generate", "gpt", "--model", model, "--prompt-ids", "1", "--ids"},
                                            {"chat", model}},
        others{{"test", "gpt", "--model", model, "--text", text, "--max-tokens", "300"},
               {"train", "gpt", "--from", model, "--text", text, "--out", folder / "run", "--max-steps", "1"},
               {"attention", "gpt", "--model", model, "--prompt", "I had", "--out", folder / "maps"}};
    for (const std::string file : {"generation_config.json", "config.json"}) {
      SCOPED_TRACE(name + "/" + file);
      json settings = file == "config.json" ? config : json::object();
      settings["repetition_penalty"] = 1.1;
      spill(model + "/" + file, settings.dump());
      for (const Arguments& call : generating)
        expect_error(run_command(call), 1, {file + "] expected repetition_penalty 1, got 1.1"});
      for (const Arguments& call : others) successful(run_command(call));
      spill(model + "/generation_config.json", "{}");
    }
  }
}

TEST_F(ForeignFolders, ChatTakesTheTemplateNamedDefault) {
  const std::string model = copied_model(folder, "llama3_tiny");
  const CommandLine chat{{"chat", model, "--temperature", "1", "--max-new-tokens", "8"}, {.input = "one\n"}};
  const auto settings = [&](const json& chat_template) {
    spill(model + "/tokenizer_config.json", json{{"chat_template", chat_template}}.dump());
  };
  const std::string right = successful(chat({"--template", "llama3"})).out;
  ASSERT_NE(chat({"--template", "plain"}).out, right);
  const json mark = "{{'<|start_header_id|>'}}", tools = {{"name", "tool_use"}, {"template", "[INST]"}};
  settings(mark);
  EXPECT_EQ(successful(chat()).out, right);
  settings({tools, {{"name", "default"}, {"template", mark}}});
  EXPECT_EQ(successful(chat()).out, right);
  for (const json& other : {json{tools}, json{{"name", "default"}}, json(3), json::array()}) {
    settings(other);
    EXPECT_TEXT(rejected(chat()));
    EXPECT_EQ(successful(chat({"--template", "llama3"})).out, right);
  }
}

TEST_F(ForeignFolders, SavedFoldersKeepTheScalingOfRope) {
  const std::string model = copied_model(folder, "llama3_tiny");
  json config = stored("llama3_tiny/config.json");
  json rope = config["rope_parameters"];
  config.erase("rope_parameters");
  config["rope_theta"] = rope["rope_theta"];
  rope.erase("rope_theta");
  config["rope_scaling"] = rope;  // as transformers 4 wrote it
  spill(model + "/config.json", config.dump());
  EXPECT_EQ(ids_of(model), ids_of(data_path("llama3_tiny")));
  const Ran ran = successful(run_command({"train", "gpt", "--from", model, "--text", data_path("the_verdict.txt"),
                                          "--seq-length", "16", "--num-epochs", "0", "--no-progress", "--out",
                                          folder / "run", "--save-hugging-face", folder / "saved"}));
  const json saved = json::parse(slurp(folder / "saved/config.json"));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    for (const auto& [name, value] : rope.items()) EXPECT_EQ(saved[key][name], value) << key << " " << name;
    EXPECT_EQ(saved[key]["rope_theta"], 500);
  }
  EXPECT_EQ(ids_of(folder / "saved"), ids_of(model));
  EXPECT_EQ(ids_of(folder / "run"), ids_of(model));
}

}  // namespace
}  // namespace tapegrad::tasks
