// Windows, batches and token files: PyTorch's order number for number, and invalid files.
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;
namespace fs = std::filesystem;
using Ids = std::vector<int64_t>;

// A task's batch and a text's batch are two types, which one file can use.
static_assert(!std::is_same_v<tasks::Tokens, data::Tokens>);

data::Tokens counting(int64_t n) {
  Ids ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return data::Tokens(std::move(ids));
}

data::TextLoader loader_of(const Json& one) {
  return data::TextLoader(data::Windows(counting(one["tokens"]), one["length"], one["stride"]),
                          {.batch_size = one["batch_size"], .shuffle = one["shuffle"], .drop_last = one["drop_last"]});
}

// The first token of each window, which in `counting` is its position.
Ids firsts(const data::TextBatch& batch) { return batch.inputs.select(1, 0).contiguous().to_vector<int64_t>(); }

const Json& text_golden() {
  static const Json json = stored("text.json");
  return json;
}

TEST(TextLoader, BatchesComeInPyTorchsOrder) {
  for (const Json& one : text_golden()) {
    const data::TextLoader loader = loader_of(one);
    EXPECT_EQ(loader.size(), one["size"].get<int64_t>()) << one.dump();
    Generator generator(one["seed"].get<uint64_t>());
    for (const Json& expected : one["iterations"]) {
      data::TextLoader::Iteration iteration = loader.begin(generator);
      std::vector<Ids> found;
      for (data::TextBatch batch; iteration.next(batch);) {
        found.push_back(firsts(batch));
        EXPECT_EQ(batch.inputs.shape(), (Shape{batch.inputs.size(0), one["length"].get<int64_t>()}));
        EXPECT_EQ((batch.inputs + 1).to_vector<int64_t>(), batch.targets.to_vector<int64_t>());
      }
      EXPECT_EQ(found, expected.get<std::vector<Ids>>()) << one["seed"];
    }
    int64_t then = 0;
    generator.randint(&then, 1, 0, 1 << 20);
    EXPECT_EQ(then, one["then"].get<int64_t>()) << "the generator has drawn more or less than PyTorch's";
  }
}

TEST(TextLoader, InvalidWindows) {
  EXPECT_ERROR(data::Windows(counting(5), 256, 256));
  EXPECT_ERROR(data::Windows(counting(256), 256, 256));
  EXPECT_EQ(data::Windows(counting(257), 256, 256).size(), 1);
  EXPECT_EQ(data::Windows(counting(512), 256, 256).size(), 1);
  EXPECT_EQ(data::Windows(counting(513), 256, 256).size(), 2);
  EXPECT_EQ(data::Windows(counting(10), 4, 1).size(), 6);
  EXPECT_ERROR(data::Windows(counting(9), 0, 1));
  EXPECT_ERROR(data::Windows(counting(9), 2, -1));
  EXPECT_ERROR(data::TextLoader(data::Windows(counting(9), 2, 1), {.batch_size = 0}));
  Ids x(4);
  EXPECT_ERROR(data::Windows(counting(9), 4, 1).copy(5, x.data(), x.data()));
}

TEST(Tokens, PiecesOfASequence) {
  const data::Tokens tokens = counting(10), middle = tokens.slice(2, 7);
  EXPECT_EQ(middle.size(), 5);
  EXPECT_EQ(middle[0], 2);
  EXPECT_EQ(middle.largest(), 6);
  EXPECT_EQ(tokens.slice(10, 10).largest(), -1);
  EXPECT_EQ(error_of([&] { middle[5]; }), "[text] expected tokens within 0 to 5, got 5 to 6");
  EXPECT_EQ(error_of([&] { tokens.slice(4, 11); }), "[text] expected tokens within 0 to 10, got 4 to 11");
}

using TokenFile = InAFolder;

TEST_F(TokenFile, HasTheTextsTokensAndIsMapped) {
  const auto tokenizer = data::load_tokenizer(kCut);
  const std::string text = "The text  \n가나다\u3000\n \n the end.\n";  // big_text.cpp writes hard ones
  spill(folder / "text.txt", text);
  const Ids ids = tokenizer->encode(text);
  EXPECT_EQ(data::write_token_file(*tokenizer, folder / "text.txt", folder / "a.tokens"),
            static_cast<int64_t>(ids.size()));
  EXPECT_EQ(load_safetensors(folder / "a.tokens")["tokens"].to_vector<int64_t>(), ids);
  EXPECT_TRUE(data::is_safetensors_file(folder / "a.tokens"));
  EXPECT_FALSE(data::is_safetensors_file(folder / "text.txt"));
  const data::Tokens tokens = data::Tokens::open(folder / "a.tokens");
  ASSERT_EQ(tokens.size(), static_cast<int64_t>(ids.size()));
  Ids back(ids.size());
  tokens.copy(0, tokens.size(), back.data());
  EXPECT_EQ(back, ids);
  EXPECT_EQ(tokens.slice(5, 9)[1], ids[6]);
  EXPECT_EQ(fs::file_size(folder / "a.tokens"), 256 + 2 * ids.size());
}

TEST_F(TokenFile, LargeVocabulariesTakeFourBytes) {
  std::string json = R"({"model":{"byte_fallback":true,"vocab":{"a":0,"b":70000}}})";
  const auto tokenizer = data::parse_tokenizer(json, "x");
  spill(folder / "text.txt", "abba");
  data::write_token_file(*tokenizer, folder / "text.txt", folder / "a.tokens");
  const data::Tokens tokens = data::Tokens::open(folder / "a.tokens");
  EXPECT_EQ(tokens[1], 70000);
  EXPECT_EQ(tokens.largest(), 70000);
  EXPECT_EQ(fs::file_size(folder / "a.tokens"), 256 + 16u);
}

TEST_F(TokenFile, InvalidFiles) {
  const std::string path = folder / "x.tokens";
  save_safetensors(path, {{"tokens", ones({3})}});
  EXPECT_ERROR(data::Tokens::open(path));
  const auto tokenizer = data::make_character_tokenizer("ab");
  spill(folder / "text.txt", "abab");
  data::write_token_file(*tokenizer, folder / "text.txt", path);
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_ERROR(data::Tokens::open(path));
  const std::string text = slurp(folder / "text.txt");
  expect_parts(error_of([&] { data::write_token_file(*tokenizer, folder / "text.txt", folder / "./text.txt"); }),
               {"is the text itself"});
  EXPECT_EQ(slurp(folder / "text.txt"), text);
  EXPECT_ERROR(data::write_token_file(*tokenizer, folder / "missing", path));
  spill(folder / "empty.txt", "");
  EXPECT_EQ(data::write_token_file(*tokenizer, folder / "empty.txt", path), 0);
  EXPECT_EQ(data::Tokens::open(path).size(), 0);
}

TEST_F(TokenFile, DamagedIdsAreFound) {
  const std::string path = folder / "x.tokens", text = folder / "text.txt";
  std::string letters;
  while (letters.size() < 70'000) letters += "abcab";  // more ids than one sum has
  spill(text, letters);
  data::write_token_file(*data::make_character_tokenizer("abc"), text, path);
  data::Tokens::open(path).verify();
  const std::string whole = slurp(path);
  const std::string error =
      "[text] " + path +
      " is damaged: its ids do not match the checksum in its header (write it again: tapegrad tokenize --save)";
  const auto damaged = [&](std::size_t at, char byte) {
    std::string bytes = whole;
    bytes[at] = byte;
    spill(path, bytes);
    return path;
  };
  for (const std::size_t at : {std::size_t{256}, std::size_t{256 + 2 * 66'000}, whole.size() - 2}) {
    const data::Tokens tokens = data::Tokens::open(damaged(at, whole[at] == 1 ? 2 : 1));
    EXPECT_EQ(error_of([&] { tokens.verify(); }), error) << at;
    EXPECT_EQ(error_of([&] { tokens.slice(0, 1).verify(); }), error) << "of the whole file";
  }
  const std::size_t largest = whole.find("largest_id") + std::string_view("largest_id\":\"").size();
  EXPECT_EQ(error_of([&] { data::Tokens::open(damaged(largest, '9')).verify(); }), error);
  // A file of an earlier version has no sums.
  std::string older = whole;
  older.replace(older.find("ids_checksum"), 12, "ids_checksun");
  older.replace(older.find("largest_id"), 10, "largest_ie");
  older.back() = 1;
  spill(path, older);
  data::Tokens::open(path).verify();
  counting(3).verify();
}

TEST_F(TokenFile, ThatShrinksWhileItIsOpenIsAnError) {
  const std::string path = folder / "x.tokens";
  spill(folder / "text.txt", std::string(100'000, 'a'));
  data::write_token_file(*data::make_character_tokenizer("a"), folder / "text.txt", path);
  const data::Tokens tokens = data::Tokens::open(path);
  EXPECT_EQ(tokens[99'999], 0);
  fs::resize_file(path, 256 + 2 * 50'000);
  EXPECT_EQ(tokens[49'999], 0);
  EXPECT_EQ(error_of([&] { tokens[50'000]; }), "[text] " + path + " has become shorter since it was opened");
  EXPECT_ERROR(tokens.slice(1, 99'999).largest());
}

TEST(ShippedFile, IsFoundFromAnyFolder) {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const std::string digits = data::shipped_file("digits.txt");
  EXPECT_TRUE(fs::path(digits).is_absolute());
  EXPECT_EQ(fs::file_size(digits), fs::file_size(fs::path(kSourceDir) / "examples/digits.txt"));
  fs::current_path(before);
  EXPECT_ERROR(data::shipped_file("letters.txt"));
}

}  // namespace
}  // namespace tapegrad::tasks
