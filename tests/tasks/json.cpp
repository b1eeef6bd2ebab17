// JSON from files: every reader bounds its depth and size, and rejects what is too deep in one line instead of a crash.
#include <gtest/gtest.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/drawing/svg.h>
#include <tapegrad/tasks/train/metrics.h>
#include <tapegrad/tasks/train/report.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>

#include <filesystem>
#include <string>

namespace tapegrad::train {
namespace {

using namespace tests;

const std::string kDeep = std::string(200'000, '[') + std::string(200'000, ']');
const std::string kSaid = "is nested deeper than 64 levels";

void expect_says(const std::string& error, const std::string& where) {
  EXPECT_TRUE(error.starts_with(where)) << error;
  EXPECT_NE(error.find(kSaid), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(Json, DepthIsThatOfBracketsOutsideStrings) {
  EXPECT_EQ(json::depth_of(R"({"a":[1,{"b":2}],"c[{":"\"[[","d":[]})"), 3);
  EXPECT_EQ(json::depth_of("3"), 0);
  const auto refuse = [](const std::string& why) { fail("here", why); };
  EXPECT_EQ(json::parse(R"([[1]])", refuse, 2).dump(), "[[1]]");
  EXPECT_EQ(error_of([&] { json::parse(R"([[1]])", refuse, 1); }), "[here] is nested deeper than 1 levels");
  EXPECT_EQ(error_of([&] { json::parse("[1", refuse); }),
            "[here] is not complete JSON: it ends after 2 bytes (was its download interrupted?)");
  EXPECT_EQ(error_of([&] { json::parse("[x]", refuse); }), "[here] is not JSON (at byte 1)");
  EXPECT_EQ(error_of([&] { json::parse("1e999", refuse); }), "[here] holds a number that is too large");
}

// A parser alone keeps the last of two values with one key.
TEST(Json, EveryReaderRejectsAKeyThatOccursTwice) {
  const auto refuse = [](const std::string& why) { fail("here", why); };
  EXPECT_EQ(json::parse(R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})", refuse).size(), 2U);
  EXPECT_EQ(error_of([&] { json::parse(R"({"a":1,"b":2,"a":1})", refuse); }), "[here] has the key \"a\" twice");
  EXPECT_EQ(error_of([&] { json::parse(R"([{"x":{"c":1,"\u0063":2}}])", refuse); }), "[here] has the key \"c\" twice");
  EXPECT_EQ(error_of([] { nn::gpt_config_of_hugging_face(R"({"n_embd":8,"n_embd":9})", "c.json"); }),
            "[c.json] has the key \"n_embd\" twice");
  EXPECT_EQ(error_of([] { data::parse_tokenizer(R"({"model":{"vocab":{"a":0,"b":1,"a":2}}})", "t.json"); }),
            "[tokenizer] t.json: has the key \"a\" twice");
  const TemporaryFolder folder;
  spill(folder / "vocab.json", R"({"a":0,"b":1,"a":2})");
  spill(folder / "merges.txt", "a b\n");
  EXPECT_EQ(error_of([&] { data::load_tokenizer(folder.path()); }),
            "[tokenizer] " + (folder / "vocab.json") + ": has the key \"a\" twice");
}

TEST(Json, EveryReaderBoundsTheDepth) {
  const TemporaryFolder folder;
  expect_says(error_of([] { nn::gpt_config_of_hugging_face(R"({"n_embd":)" + kDeep + "}", "config.json"); }),
              "[config.json]");
  expect_says(error_of([] { data::parse_tokenizer(R"({"model":)" + kDeep + "}", "tokenizer.json"); }),
              "[tokenizer] tokenizer.json");
  const std::string metrics = folder / "metrics.jsonl";
  spill(metrics, "{\"step\":1}\n{\"step\":" + kDeep + "}\n");
  expect_says(error_of([&] { read_metrics(metrics); }), "[metrics] " + metrics + ", line 2");
  const std::string index = folder / "model.safetensors.index.json";
  spill(index, R"({"weight_map":)" + kDeep + "}");
  expect_says(error_of([&] { load_safetensors(index); }), "[safetensors] " + index);
  for (const char* name : {"vocab", "merges"}) spill(folder / (std::string(name) + ".json"), kDeep);
  spill(folder / "merges.txt", "");
  expect_says(error_of([&] { data::load_tokenizer(folder.path()); }), "[tokenizer] ");
}

TEST(Json, ADeepConfigurationIsAnErrorOfTheCommand) {
  const TemporaryFolder folder;
  spill(folder / "config.json", R"({"model_type":"gpt2","vocab_size":)" + kDeep + "}");
  expect_error(run_command({"generate", "gpt", "--model", folder.path(), "--prompt", "x"}), 1, {"config.json", kSaid});
  for (const char* task : {"copy", "gpt"}) {  // the options in a model's metadata
    const std::string file = folder / task;
    save_safetensors(file, {{"x", ones({1})}}, {{"task", task}, {"config", R"({"task":)" + kDeep + "}"}},
                     {.checksums = true});
    Arguments words{"test", task, "--model", file};
    if (std::string(task) == "gpt") words.insert(words.end(), {"--text", folder / "config.json"});
    expect_error(run_command(words), 1, {file, kSaid});
  }
}

TEST(Json, AStringThatIsNotUtf8IsWrittenAsBytes) {
  const nlohmann::json value{{"a", "caf\xc3\xa9"}, {"b", {1, "\xff/x"}}};
  EXPECT_EQ(json::text_of(value), "{\"a\":\"caf\xc3\xa9\",\"b\":[1,{\"bytes\":[255,47,120]}]}");
  const TemporaryFolder folder;
  const std::string odd = folder / "\xff";
  std::filesystem::copy_file(std::string(tests::kTestsDir) + "/data/version_0_1/copy.safetensors", odd);
  const tests::Ran ran = run_command({"test", "copy", "--model", odd, "--count", "2", "--json"});
  EXPECT_EQ(ran.code, 1) << ran.err;
  const auto found = nlohmann::json::parse(ran.out);
  EXPECT_EQ(found["model"]["bytes"].size(), odd.size());
  EXPECT_EQ(found["model"]["bytes"].back(), 255);
}

TEST(Report, IsUtf8WhateverAPathHas) {
  EXPECT_EQ(drawing::escape_markup("a\xff<\xea\xb0\x80\xea\xb0"), "a\xef\xbf\xbd&lt;\xea\xb0\x80\xef\xbf\xbd");
  EXPECT_EQ(drawing::escape_markup("a\x01\t\n\x7f"), "a\xef\xbf\xbd\t\n\xef\xbf\xbd");  // which XML does not have
  const std::string html = report_html({.title = "\xff", .settings = {{"--text", "caf\xe9.txt", "\xfe"}}}, {}, 1, 1);
  EXPECT_EQ(data::valid_utf8(html), html);
}

}  // namespace
}  // namespace tapegrad::train
