// Tokenizers against Hugging Face's and tiktoken on texts that are hard to split, and their files, valid and invalid.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

#include <ctime>

namespace tapegrad::tasks {
namespace {

namespace fs = std::filesystem;
using namespace tests;
using Ids = std::vector<int64_t>;

const Json& tokenizer_golden() {
  static const Json json = stored("tokenizer.json");
  return json;
}

std::string text_of(const Json& one) {
  return one.contains("hex") ? bytes_of_digits(one["hex"]) : one["text"].get<std::string>();
}

void expect_golden(const data::Tokenizer& tokenizer) {
  ASSERT_EQ(tokenizer.size(), 1257);
  EXPECT_EQ(tokenizer.end_of_text(), 1256);
  for (const Json& one : tokenizer_golden()["cases"]) {
    const std::string text = text_of(one);
    const Ids ids = tokenizer.encode(text);
    EXPECT_EQ(ids, one["ids"].get<Ids>()) << one.dump();
    EXPECT_EQ(tokenizer.decode(ids), text) << one.dump();
  }
}

// ---- Values ----

TEST(BytePairs, HardTextsEqualTheReference) {
  expect_golden(*data::load_tokenizer(kCut));
  EXPECT_GT(tokenizer_golden()["cases"].size(), 390u);
}

TEST(BytePairs, EveryKindOfFileGivesTheSameTokenizer) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "two");
  spill(folder / "two/vocab.json", slurp(kCut + "/encoder.json"));
  std::string merges;  // with the line ends of Windows
  for (const char c : slurp(kCut + "/vocab.bpe")) {
    if (c == '\n') merges.push_back('\r');
    merges.push_back(c);
  }
  spill(folder / "two/merges.txt", merges);
  expect_golden(*data::load_tokenizer(folder / "two"));

  expect_golden(*data::load_tokenizer(kCut + "/hugging_face.json"));  // merges as lists of two
  fs::create_directory(folder / "hub");
  spill(folder / "hub/tokenizer.json", slurp(kCut + "/hugging_face.json"));
  expect_golden(*data::load_tokenizer(folder / "hub"));

  data::save_tokenizer(*data::load_tokenizer(kCut), folder / "ours");
  expect_golden(*data::load_tokenizer(folder / "ours"));
  EXPECT_TRUE(data::has_tokenizer(folder / "ours"));
  EXPECT_FALSE(data::has_tokenizer(folder.path().string()));
}

TEST(BytePairs, ALongWordIsFast) {
  const auto tokenizer = data::load_tokenizer(kCut);
  std::mt19937 draw(1);
  std::string letters(1 << 20, 'a'), mixed = letters;
  for (char& c : mixed) c = static_cast<char>('a' + draw() % 26);
  for (const std::string& text : {letters, mixed, std::string(1 << 20, ' '), std::string(1 << 20, '\xff')}) {
    const std::clock_t start = std::clock();
    const Ids ids = tokenizer->encode(text);
    EXPECT_LT(static_cast<double>(std::clock() - start), 5.0 * CLOCKS_PER_SEC);  // sanitizers: slow
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
}

TEST(BytePairs, AllBytesAndAllPairsOfBytesRoundTrip) {
  const auto tokenizer = data::load_tokenizer(kCut);
  std::string all;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) all.append({static_cast<char>(a), static_cast<char>(b)});
  }
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(all)), all);
}

TEST(BytePairs, TrainingEqualsHuggingFaces) {
  const Json& training = tokenizer_golden()["training"];
  const auto tokenizer = data::train_byte_pairs(training["text"].get<std::string>(), training["vocab_size"]);
  EXPECT_EQ(tokenizer->size(), 400);
  EXPECT_EQ(tokenizer->end_of_text(), 399);
  EXPECT_EQ(Json::parse(tokenizer->json())["model"]["merges"], training["merges"]);
  const std::string text = training["text"];
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(BytePairs, TrainingEndsWhenNoPairOccursTwice) {
  EXPECT_EQ(data::train_byte_pairs("abcd", 1000)->size(), 257);
  EXPECT_EQ(data::train_byte_pairs("", 300)->size(), 257);
  EXPECT_EQ(data::train_byte_pairs("ab ab", 1000)->size(), 258) << "\"ab\" twice, \" ab\" once";
  EXPECT_ERROR(data::train_byte_pairs("ab", 256));
}

TEST(BytePairs, TwoMergesMayGiveTheSameToken) {
  // "ab" + "c" and "a" + "bc" both make "abc".
  const std::string text = "abc abc abc bc bc bcbc abcd abd abdab ab";
  const auto tokenizer = data::train_byte_pairs(text, 270);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(data::parse_tokenizer(tokenizer->json(), "again")->encode(text), tokenizer->encode(text));
}

// ---- Characters ----

TEST(Characters, OneTokenPerCharacter) {
  const std::string text = "가나, 가🙂\n";
  const auto tokenizer = data::make_character_tokenizer(text);
  EXPECT_EQ(tokenizer->size(), 6);  // newline, space, comma, two syllables, the face
  EXPECT_EQ(tokenizer->encode(text), (Ids{3, 4, 2, 1, 3, 5, 0}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(tokenizer->end_of_text(), std::nullopt);
  EXPECT_ERROR(tokenizer->encode("가나다"));
  EXPECT_ERROR(tokenizer->encode("가\xff"));
  EXPECT_EQ(error_of([&] { tokenizer->bytes(6); }), "[tokenizer] there is no token 6 (ids are 0 to 5)");
}

TEST(Characters, BytesThatBelongToNoCharacterAreKept) {
  std::string text = "a\xff\xe2\x82z\xc3\xa9\xe2\x82";
  text.push_back('\0');
  const auto made = data::make_character_tokenizer(text);
  EXPECT_EQ(made->size(), 7);  // NUL a z e-acute, then 82 e2 ff
  const auto tokenizer = data::parse_tokenizer(made->json(), "again");
  EXPECT_EQ(tokenizer->encode(text), (Ids{1, 6, 5, 4, 2, 3, 5, 4, 0}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(tokenizer->json(), made->json());
}

TEST(Characters, AByteIsNotTheCharacterOfItsName) {
  const auto tokenizer = data::parse_tokenizer(
      R"({"model":{"byte_fallback":true,"vocab":{"A":0,"<0x41>":1,"<0xEA>":2,"<0xB0>":3,"<0x80>":4,"B":5},"merges":[]}})",
      "x");
  EXPECT_EQ(tokenizer->encode("AB가"), (Ids{0, 5, 2, 3, 4})) << "a character that is not there falls back to its bytes";
  EXPECT_EQ(tokenizer->decode(Ids{1, 0, 2, 3, 4}), "AA가");
}

// ---- Streaming ----

TEST(Streaming, CharactersAreNeverSplit) {
  const auto tokenizer = data::load_tokenizer(kCut);
  const std::string text = "한국어 문장은 🙂 글자가 깨지지 않습니다. 日本語 naïve e\u0301";
  data::TextStream stream(*tokenizer);
  std::string shown;
  int empty = 0;
  for (const int64_t id : tokenizer->encode(text)) {
    const std::string piece = stream.push(id);
    EXPECT_EQ(piece, data::valid_utf8(piece));
    EXPECT_EQ(piece.find("\ufffd"), std::string::npos);
    empty += piece.empty();
    shown += piece;
  }
  EXPECT_GT(empty, 10) << "this vocabulary splits Korean characters";
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(shown, text);
}

TEST(Streaming, EndsInTheSameTextAsDecodingAtOnce) {
  const auto tokenizer = data::load_tokenizer(kCut);
  for (const Json& one : tokenizer_golden()["cases"]) {
    const std::string text = text_of(one);
    data::TextStream stream(*tokenizer);
    std::string shown;
    for (const int64_t id : tokenizer->encode(text)) shown += stream.push(id);
    EXPECT_EQ(shown + stream.finish(), one.contains("hex") ? one["replaced"].get<std::string>() : text) << one.dump();
    EXPECT_EQ(data::valid_utf8(text), one.contains("hex") ? one["replaced"].get<std::string>() : text);
  }
}

TEST(Utf8, CountsAndSplitsByCharacters) {
  EXPECT_EQ(data::count_characters(""), 0);
  EXPECT_EQ(data::count_characters("a가🙂e\u0301"), 5);
  EXPECT_EQ(data::count_characters("\xff\xe2\x82\xe2\x82\xac"), 3);
  const auto [first, second] = data::split_characters("가나다라마바사아자차", 0.95);
  EXPECT_EQ(first, "가나다라마바사아자");
  EXPECT_EQ(second, "차");
  EXPECT_EQ(data::split_characters("abc", 0).first, "");
  EXPECT_EQ(data::split_characters("abc", 1).second, "");
  EXPECT_EQ(error_of([] { data::split_characters("abc", 1.5); }), "[text] expected the share in [0, 1], got 1.5");
  for (uint32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 61) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const std::string text = data::utf8(code);
    const data::Character c = data::first_character(text);
    EXPECT_TRUE(c.valid && c.code == code && static_cast<std::size_t>(c.bytes) == text.size()) << code;
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      EXPECT_TRUE(data::first_character(std::string_view(text).substr(0, cut)).cut) << code;
    }
  }
  EXPECT_EQ(data::utf8(0xd800), "\ufffd");
  EXPECT_EQ(data::utf8(0x110000), "\ufffd");
}

// ---- Invalid files ----

class BrokenFiles : public testing::Test {
 protected:
  std::string two(const std::string& vocabulary, const std::string& merges) {
    spill(folder_ / "encoder.json", vocabulary);
    spill(folder_ / "vocab.bpe", merges);
    return said();
  }
  std::string json(const std::string& text) {
    spill(folder_ / "tokenizer.json", text);
    return said();
  }
  // The error of load_tokenizer, without "[tokenizer] folder/".
  std::string said() {
    std::string message = error_of([&] { data::load_tokenizer(folder_.path().string()); });
    const std::string start = "[tokenizer] " + folder_.path().string();
    EXPECT_TRUE(message == "no error" || message.starts_with(start)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message == "no error" ? message : message.substr(start.size() + 1);
  }
  TemporaryFolder folder_;
};

const std::string kThree = R"({"a":0,"b":1,"ab":2})";

TEST_F(BrokenFiles, Missing) {
  EXPECT_EQ(error_of([] { data::load_tokenizer("/nowhere"); }), "[tokenizer] there is no file or folder /nowhere");
  EXPECT_TEXT(said());
  spill(folder_ / "vocab.json", kThree);
  EXPECT_EQ(said(), "has vocab.json but no merges.txt");
  fs::remove(folder_ / "vocab.json");
  spill(folder_ / "vocab.bpe", "");
  EXPECT_EQ(said(), "has vocab.bpe but no encoder.json");
}

TEST_F(BrokenFiles, Vocabulary) {
  EXPECT_EQ(two(kThree, "a b\n"), "no error");
  expect_said("tasks/errors/texts.txt", "vocabularies", [&](const std::string& text) { return two(text, ""); });
  EXPECT_EQ(two(R"({"a":0,"b":0})", "a b\n"), "encoder.json: the tokens \"a\" and \"b\" have the same id 0");
}

TEST_F(BrokenFiles, Merges) {
  expect_said("tasks/errors/texts.txt", "merges", [&](const std::string& text) { return two(kThree, text); });
  EXPECT_TEXT(two(R"({"a":0,"b":1,"ab":2,"abc":3})", "a b\nab c\n"));
  const std::string whole = slurp(kCut + "/vocab.bpe");
  expect_parts(two(slurp(kCut + "/encoder.json"), whole.substr(0, whole.size() / 2)),
               {"(was its download interrupted?)"});
  EXPECT_TEXT(two(R"({"a":0,"b":1,"ab":2,"ba":3})", "#version: 0.2\na b\n"));
}

TEST_F(BrokenFiles, TokensWithoutAMergeAreSpecial) {
  ASSERT_EQ(two(R"({"a":0,"b":1,"<pad>":2,"<pad><pad>":4})", ""), "no error");
  const auto tokenizer = data::load_tokenizer(folder_.path().string());
  EXPECT_EQ(tokenizer->encode("a<pad>b<pad><pad>a"), (Ids{0, 2, 1, 4, 0})) << "the longest one counts";
  EXPECT_EQ(tokenizer->size(), 5);
  EXPECT_EQ(error_of([&] { tokenizer->bytes(3); }), "[tokenizer] there is no token 3 (ids are 0 to 4)");
  EXPECT_ERROR(tokenizer->encode("c"));
}

TEST_F(BrokenFiles, TokenizerJson) {
  const std::string good = slurp(kCut + "/hugging_face.json");
  EXPECT_EQ(json(good), "no error");
  EXPECT_NE(json(good.substr(0, good.size() / 2)).find("was its download interrupted?"), std::string::npos);
  // The same in the form of other versions of Hugging Face's library.
  auto empty = Json::parse(good);
  empty["model"]["dropout"] = nullptr;
  empty["model"]["continuing_subword_prefix"] = empty["model"]["end_of_word_suffix"] = "";
  EXPECT_EQ(json(empty.dump()), "no error");
  const auto after = [&](const char* processor) {
    auto changed = Json::parse(good);
    changed["post_processor"] = Json::parse(processor);
    return json(changed.dump());
  };
  EXPECT_TEXT(after(
      R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[], "special_tokens":{}})"));
  EXPECT_TEXT(after(
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}, {"Sequence":{"id":"A","type_id":0}}],"special_tokens":{"x":{"id":"x","ids":[1],"tokens":["x"]}}})"));
  EXPECT_EQ(json("[]"), "tokenizer.json: has no \"model\" (is this a tokenizer.json?)");
  expect_said("tasks/errors/texts.txt", "changes of a tokenizer.json", [&](const std::string& change) {
    const std::size_t arrow = change.find(" => ");
    return json(replaced(good, change.substr(0, arrow), change.substr(arrow + 4)));
  });
  EXPECT_TEXT(json(R"({"model":{"byte_fallback":true,"vocab":{"ab":0}}})"));
  EXPECT_TEXT(json("{\"model\":" + std::string(100000, '[') + std::string(100000, ']') + "}"));
}

// ---- The command ----

Ran run(const Arguments& more, const std::string& input = "") {
  return run_command(joined({"tokenize"}, more), {.input = input});
}

TEST(TokenizeCommand, RoundTrips) {
  int tried = 0;
  for (const Json& one : tokenizer_golden()["cases"]) {
    if (one["ids"].size() < (one.contains("hex") ? 22 : 80)) continue;  // a few of the longest
    const std::string text = text_of(one);
    const Ran to = successful(run({"--tokenizer", kCut}, text));
    EXPECT_EQ(to.out, fmt::format("{}\n", fmt::join(one["ids"].get<Ids>(), " ")));
    EXPECT_EQ(run({"--tokenizer", kCut, "--decode"}, to.out).out, text);
    ++tried;
  }
  EXPECT_GT(tried, 5);
  EXPECT_EQ(run({"--tokenizer", kCut}).out, "\n");
  EXPECT_EQ(run({"--tokenizer", kCut, "--decode"}, "[72, 101,\t108]\n").out,
            run({"--tokenizer", kCut, "--decode"}, "72 101 108").out);
  for (const auto& [ids, what] : {std::pair{"1 2 x3", "\"x3\" as word 3"}, {"1257", "\"1257\" as word 1"}}) {
    const Ran ran = run({"--tokenizer", kCut, "--decode"}, ids);
    EXPECT_EQ(ran.err, std::string("[tokenize] expected token ids from 0 to 1256, got ") + what + "\n");
    EXPECT_EQ(std::pair(ran.code, ran.out), std::pair(2, std::string()));
  }
}

TEST(TokenizeCommand, TrainsTokenizersAndWritesTokenFiles) {
  const TemporaryFolder folder;
  const std::string text = "가나다라 가나다 가나 가나.\nThe text, the text!\n";
  spill(folder / "text.txt", text);
  Ran ran = run({"--train", "bpe", "--vocab-size", "262", "--out", folder / "bpe"}, text);
  EXPECT_EQ(ran.out, (folder / "bpe/tokenizer.json") + ": 262 tokens\n") << ran.err;
  EXPECT_EQ(data::load_tokenizer(folder / "bpe")->encode(text), data::train_byte_pairs(text, 262)->encode(text));
  ran = run({"--train", "char", "--out", folder / "char", "--text", folder / "text.txt"});
  EXPECT_EQ(ran.out, (folder / "char/tokenizer.json") + ": 14 tokens\n") << ran.err;
  ran = run_command(
      {"tokenize", "--tokenizer", folder / "char", "--text", folder / "text.txt", "--save", folder / "text.tokens"});
  EXPECT_EQ(ran.out, (folder / "text.tokens") + ": 36 tokens\n") << ran.err;
}

}  // namespace
}  // namespace tapegrad::tasks
