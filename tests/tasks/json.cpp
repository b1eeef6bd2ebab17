// JSON from files: every reader bounds its depth and size, and rejects what is too deep in one line instead of a crash.
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

#include <cmath>
#include <ctime>
#include <limits>

namespace tapegrad::train {
namespace {

using namespace tests;

const std::string kDeep = std::string(200'000, '[') + std::string(200'000, ']');
const std::string kSaid = "is nested deeper than 64 levels";

// The JSON of a text; errors begin with "[here] ".
Json parsed(std::string_view text, int deepest = json::kMaxDepth) {
  return json::parse(
      text, [](const std::string& why) { fail("here", why); }, deepest);
}

// What reads JSON: `read` gets the content of a file, and `where` begins its errors.
struct JsonReader {
  std::string where;
  std::function<void(const std::string& content)> read;
};

class JsonFiles : public InAFolder {
 protected:
  JsonReader reader_of(const std::string& where, const char* name,
                       const std::function<void(const std::string& path)>& read) const {
    const std::string path = folder / name;
    return {where + path, [=](const std::string& content) {
              spill(path, content);
              read(path);
            }};
  }
  std::vector<JsonReader> readers() const {
    spill(folder / "merges.txt", "a b\n");
    const std::string layer = "base_model.model.x.lora_";  // an adapter's configuration is read with its weights
    save_safetensors(folder / "adapter_model.safetensors",
                     {{layer + "A.weight", ones({1, 2})}, {layer + "B.weight", ones({2, 1})}});
    return {{"[config.json]", [](const std::string& text) { nn::gpt_config_of_hugging_face(text, "config.json"); }},
            {"[tokenizer] t.json", [](const std::string& text) { data::parse_tokenizer(text, "t.json"); }},
            reader_of("[tokenizer] ", "vocab.json", [&](const std::string&) { data::load_tokenizer(folder.path()); }),
            reader_of("[safetensors] ", "model.safetensors.index.json", [](auto& path) { load_safetensors(path); }),
            reader_of("[json_lines] ", "table.jsonl", [](auto& path) { data::JsonLines(path, {data::numbers("x")}); }),
            reader_of("[metrics] ", "metrics.jsonl", [](auto& path) { read_metrics(path); }),
            reader_of("[adapter] ", "adapter_config.json", [&](const std::string&) {
              nn::Linear model(2, 2);
              nn::load_adapter(model, folder.path());
            })};
  }
};

TEST_F(JsonFiles, DepthIsThatOfBracketsOutsideStrings) {
  EXPECT_EQ(json::depth_of(R"({"a":[1,{"b":2}],"c[{":"\"[[","d":[]})"), 3);
  EXPECT_EQ(json::depth_of("3"), 0);
  EXPECT_EQ(parsed("[[1]]", 2).dump(), "[[1]]");
  EXPECT_EQ(error_of([] { parsed("[[1]]", 1); }), "[here] is nested deeper than 1 levels");
  EXPECT_ERROR(parsed("[1"));
  EXPECT_EQ(error_of([] { parsed("[x]"); }), "[here] is not JSON (at byte 1)");
  EXPECT_EQ(error_of([] { parsed("1e999"); }), "[here] holds a number that is too large");
}

// Few members are searched one by one, more than eight by a table.
TEST_F(JsonFiles, MembersAreFoundInOrderHoweverMany) {
  for (const int64_t count : {1, 8, 9, 20}) {
    Json json;
    for (int64_t i = 0; i < count; ++i) json["k" + std::to_string(i)] = i;
    const Json copy = json;
    EXPECT_EQ(Json::parse(json.dump()), json);
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(copy.at("k" + std::to_string(i)), i);
    EXPECT_TRUE(json.erase("k0"));
    EXPECT_FALSE(json.erase("k0"));
    EXPECT_EQ(json.size(), static_cast<std::size_t>(count - 1));
    for (int64_t i = 1; i < count; ++i) EXPECT_EQ(json.items()[i - 1].value, json["k" + std::to_string(i)]);
    EXPECT_FALSE(copy == json);
    EXPECT_THROW(json.begin(), JsonError);
    EXPECT_THROW(copy.at("none"), JsonError);
  }
}

TEST_F(JsonFiles, NumbersBeyondInt64AreErrors) {
  EXPECT_EQ(Json(-0x1p63).get<int64_t>(), std::numeric_limits<int64_t>::min());
  for (const double x : {0x1p63, 1e300, std::nan("")}) EXPECT_THROW(Json(x).get<int64_t>(), JsonError) << x;
}

// A parser alone keeps the last of two values with one key.
TEST_F(JsonFiles, EveryReaderRejectsAKeyThatOccursTwice) {
  EXPECT_EQ(parsed(R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})").size(), 2U);
  EXPECT_EQ(error_of([] { parsed(R"({"a":1,"b":2,"a":1})"); }), "[here] has the key \"a\" twice");
  EXPECT_EQ(error_of([] { parsed(R"([{"x":{"c":1,"\u0063":2}}])"); }), "[here] has the key \"c\" twice");
  for (const JsonReader& reader : readers())
    expect_parts(error_of([&] { reader.read("{\"a\":0,\"b\":1,\"a\":2}\n"); }),
                 {reader.where, "has the key \"a\" twice"});
}

std::string empty_objects(int count) {
  std::string text = "[{}";
  for (int i = 1; i < count; ++i) text += ",{}";
  return text + "]";
}

// Ten times as many objects take about ten times as long; nlohmann's callback parser would take a hundred times.
TEST_F(JsonFiles, ParsingTakesLinearTime) {
  const auto seconds = [](int count) {
    const std::string text = empty_objects(count);
    double best = 1e9;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::clock_t start = std::clock();
      EXPECT_EQ(parsed(text).size(), static_cast<std::size_t>(count));
      best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const double few = seconds(100'000), many = seconds(1'000'000);
  EXPECT_LT(many, 40 * few) << few << " s for 100,000 objects, " << many << " s for 1,000,000";
}

// Each of these would take more than ten minutes.
TEST_F(JsonFiles, EveryReaderTakesLinearTime) {
  const std::string many = empty_objects(200'000);
  const std::clock_t start = std::clock();
  for (const JsonReader& reader : readers())  // of lines: without an error
    error_of([&] { reader.read(R"({"x":1,"step":1,"loss":1,"unused":)" + many + "}\n"); });
  const std::string file = folder / "model.safetensors";
  const std::string header = R"({"a":{"dtype":"F32","shape":)" + many + R"(,"data_offsets":[0,4]}})";
  const uint64_t length = header.size();
  spill(file, std::string(reinterpret_cast<const char*>(&length), 8) + header + "1234");
  EXPECT_ERROR(load_safetensors(file));
  EXPECT_LT(static_cast<double>(std::clock() - start), 20.0 * CLOCKS_PER_SEC);  // sanitizers: slow
}

TEST_F(JsonFiles, UsualMistakesAreNamed) {
  const auto why = [](const std::string& text) { return error_of([&] { parsed(text); }).substr(7); };
  expect_said("tasks/errors/texts.txt", "json", why);
  EXPECT_EQ(why("[\"a\tb\"]"), "has the control character 0x09 in a string (at byte 3; JSON writes it as \\u0009)");
  EXPECT_EQ(why("{}\xEF\xBB\xBF{}"), "has a byte order mark inside (at byte 2; were two files joined?)");
  EXPECT_TEXT(why("{\"t\":\"caf\xe9\"}"));
  EXPECT_EQ(why("[\"\x80\"]"), "is not UTF-8: byte 2 is 0x80 (if it is Latin-1: iconv -f ISO-8859-1 -t UTF-8)");
  EXPECT_EQ(why("[\"\xe2\x82\"]"), "is not UTF-8: byte 2 is 0xE2 (if it is Latin-1: iconv -f ISO-8859-1 -t UTF-8)");
  EXPECT_EQ(parsed(R"(["\ud83d\ude00"])")[0], "\U0001F600");
  for (const std::string text :
       {"UTF-8", "surrogate", "control character U+0001", "invalid string"}) {  // are no reasons
    const std::string at = std::to_string(2 + text.size());
    EXPECT_EQ(why("[\"" + text + "\t\"]"),
              "has the control character 0x09 in a string (at byte " + at + "; JSON writes it as \\u0009)");
    EXPECT_EQ(why("[\"" + text + "\", nan]"),
              "has nan, which is not a number of JSON (at byte " + std::to_string(text.size() + 6) + "; write null)");
  }
  EXPECT_EQ(why(std::string("{}\0 {}", 6)), "has a NUL byte (expected a text in UTF-8; is it UTF-16, or damaged?)");
  EXPECT_EQ(parsed("\xEF\xBB\xBF[1]").size(), 1u);
}

// ---- Files of another kind ----

const std::string kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, '0') + "\nsize 548105171\n";
const std::string kLfs = "a Git LFS pointer (run `git lfs pull` in its repository, or download the file again)";

std::string zip_start(const std::string& name) {
  std::string bytes = "PK\3\4" + std::string(26, '\0') + name + std::string(100, '\7');
  bytes[26] = static_cast<char>(name.size());
  return bytes;
}

TEST(ForeignFiles, AreRecognisedByTheirFirstBytes) {
  std::vector<std::pair<std::string, std::string>> files{
      {kPointer, kLfs},
      {std::string(257, 'x') + "ustar\x20\x20\0", "a tar archive (extract it first: tar xf)"},
      {std::string(257, 'x') + "ustar is a word", ""},
      {zip_start("archive/data.pkl"),
       "a file of torch.save (in Python: safetensors.torch.save_file(torch.load(FILE, weights_only=True), NAME))"},
      {zip_start("x.npy"), "an archive of NumPy arrays (.npz)"},
      {zip_start("a.txt"), "a ZIP archive (unzip it first)"}};
  for (const auto& [text, kind] : pairs_of_lines("tasks/errors/texts.txt", "first bytes of a file")) {
    std::string start;  // a string of JSON, whose characters are bytes
    const std::string characters = Json::parse(text);
    for (std::string_view rest = characters; !rest.empty();) {
      const data::Character c = data::first_character(rest);
      start += static_cast<char>(c.code);
      rest.remove_prefix(static_cast<std::size_t>(c.bytes));
    }
    files.emplace_back(start, kind);
  }
  for (const auto& [start, kind] : files) {
    EXPECT_EQ(foreign_kind(start), kind) << start;
    for (std::size_t size = 0; size < start.size(); ++size)  // a file may end anywhere
      EXPECT_NO_THROW(foreign_kind(start.substr(0, size))) << start << " of " << size;
  }
}

TEST_F(JsonFiles, EveryReaderNamesForeignFiles) {
  for (const JsonReader& reader : readers())
    expect_parts(error_of([&] { reader.read(kPointer); }), {reader.where, "is not JSON, but " + kLfs});
  const auto put = [&](const std::string& name, const std::string& content) {
    spill(folder / name, content);
    return folder / name;
  };
  const std::string weights = put("model.safetensors", kPointer);
  EXPECT_ERROR(load_safetensors(weights));
  EXPECT_ERROR(data::Csv(weights, {data::numbers("x")}));
  put("vocab.json", R"({"a":0})"), put("merges.txt", kPointer);
  EXPECT_ERROR(data::load_tokenizer(folder.path()));
  std::filesystem::remove(folder / "adapter_model.safetensors");
  put("adapter_model.bin", "x");
  nn::Linear model(2, 2);
  EXPECT_ERROR(nn::load_adapter(model, folder.path()));
  put("config.json", kPointer);
  EXPECT_TEXT(rejected(run_command({"generate", "gpt", "--model", folder.path(), "--prompt", "x"})));
}

// Any bytes are a text; but not these, which were meant to become one.
TEST(ForeignFiles, AreErrorsWhereAnyTextIsExpected) {
  const TemporaryFolder folder;
  const std::string text = folder / "text.txt", tokens = folder / "tokens.safetensors";
  const std::string said = text + ": expected a text, got " + kLfs;
  const std::string gpt2 = data_path("hugging_face_gpt2");
  spill(text, kPointer);
  expect_errors("tasks/errors/files.txt", "a pointer in the place of a text", folder);
  EXPECT_TEXT(rejected(run_command({"tokenize", "--tokenizer", gpt2}, {.input = kPointer})));
  EXPECT_EQ(error_of([&] { data::write_token_file(*data::load_tokenizer(gpt2), text, tokens); }), "[file] " + said);
  EXPECT_EQ(error_of([&] { data::train_byte_pairs_on_file(text, 300); }), "[file] " + said);
  EXPECT_FALSE(std::filesystem::exists(tokens));
  spill(text, "<html>\n");  // a text, too
  successful(run_command({"tokenize", "--tokenizer", gpt2, "--text", text}));
  for (const char* start : {"<!doctype html>", "<?xml version", "{\"a\": 1}", "", "x"})
    EXPECT_EQ(foreign_to_text(start), "");
  EXPECT_EQ(foreign_to_text("\x1f\x8b\x08"), foreign_kind("\x1f\x8b\x08"));
}

TEST_F(JsonFiles, EveryReaderBoundsTheDepth) {
  for (const JsonReader& reader : readers()) {
    const std::string error = error_of([&] { reader.read("{\"a\":" + kDeep + "}\n"); });
    expect_parts(error, {reader.where, kSaid});
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST_F(JsonFiles, ADeepConfigurationIsAnErrorOfTheCommand) {
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

TEST_F(JsonFiles, AStringThatIsNotUtf8IsWrittenAsBytes) {
  const Json value{{"a", "caf\xc3\xa9"}, {"b", {1, "\xff/x"}}};
  EXPECT_EQ(json::text_of(value), "{\"a\":\"caf\xc3\xa9\",\"b\":[1,{\"bytes\":[255,47,120]}]}");
  const std::string odd = folder / "\xff";
  std::filesystem::copy_file(data_path("version_0_1/copy.safetensors"), odd);
  const tests::Ran ran = run_command({"test", "copy", "--model", odd, "--count", "2", "--json"});
  EXPECT_EQ(ran.code, 1) << ran.err;
  const auto found = Json::parse(ran.out);
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
