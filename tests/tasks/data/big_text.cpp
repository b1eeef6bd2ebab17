// Texts larger than memory: cuts that keep the ids, token files from several threads, samples to train tokenizers on.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>
#include <tapegrad/train/data/detail/special_tokens.h>
#include <tapegrad/train/data/internal/permutation.h>

#include <ctime>

namespace tapegrad::data {
namespace {

using namespace tests;
namespace fs = std::filesystem;
using Ids = std::vector<int64_t>;

// More special tokens, which have white space, overlap or repeat themselves.
std::unique_ptr<Tokenizer> with_special_tokens() {
  const std::unique_ptr<Tokenizer> cut = load_tokenizer(kCut);
  Json json = Json::parse(cut->json());
  int64_t id = cut->size();
  for (const char* content : {"x\ny", " <a\nb> ", "\n\n\n", "aa", "aaa", "가 나", "  <pad>", "'s!"})
    json["added_tokens"].push_back({{"id", id++}, {"content", content}});
  return parse_tokenizer(json.dump(), "x");
}

// Text of pieces at which words end in every way: white space of all lengths and widths, contractions, numbers, scripts
// without spaces, bytes that are not UTF-8, special tokens and parts of them.
std::string random_text(std::mt19937& random, int pieces) {
  static const std::string kPieces[] = {
      // words and numbers
      "a", "b", "aa", "the", " the", "don't", "'", "'s", "'r", "re", "''", "'ll", "s", "1", "23", " 4", ".", ",", "!?",
      // white space
      " ", "  ", "     ", "\n", "\n\n", "\n\n\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u3000\u3000", "\u2028",
      // other scripts
      "가", "나다", "가 나", "中文", "é", "e\u0301", "🙂", "٣", "½",
      // not UTF-8
      "\xff", "\xe3\x80", "\xe3", "\x80", "\xf0\x9f", "\xc3",
      // special tokens and their parts
      "<|endoftext|>", "<|endo", "text|>", "x\ny", "x\n", "y", " <a\nb> ", " <a", "aaa", "'s!", "  <pad>", "<pad>"};
  std::string text;
  for (int i = 0; i < pieces; ++i) {
    text += kPieces[random() % std::size(kPieces)];
    if (random() % 40 == 0) text += std::string(random() % 70, " \na\t"[random() % 4]);
  }
  return text;
}

// Wherever cut() allows it, in the whole or in a part of the text that begins at a cut, the ids of both parts are those
// of the whole.
TEST(Cut, KeepsTheIds) {
  std::mt19937 random(1);
  std::set<std::string> around;  // what was cut between
  for (const auto& tokenizer : {load_tokenizer(kCut), with_special_tokens()}) {
    for (int round = 0; round < 1000; ++round) {
      const std::string text = random_text(random, 40);
      const std::string_view view = text;
      const Ids whole = tokenizer->encode(text);
      std::set<std::size_t> cuts;
      for (std::size_t from = 0; from < text.size();) {
        const std::size_t at = tokenizer->cut(view, from);
        if (at == std::string::npos) break;
        ASSERT_GE(at, std::max<std::size_t>(from, 1));
        cuts.insert(at);
        from = at + 1;
      }
      const std::vector<std::size_t> begins(cuts.begin(), cuts.end());
      for (int part = 0; part < 30 && !begins.empty(); ++part) {
        const std::size_t begin = begins[random() % begins.size()], size = random() % 60;
        const std::size_t at = tokenizer->cut(view.substr(begin, size), random() % 20);
        if (at != std::string::npos) cuts.insert(begin + at);
      }
      for (const std::size_t at : cuts) {
        Ids both = tokenizer->encode(view.substr(0, at));
        const Ids second = tokenizer->encode(view.substr(at));
        both.insert(both.end(), second.begin(), second.end());
        ASSERT_EQ(both, whole) << "cut at " << at << " of " << Json(text).dump(-1, true, Json::BadUtf8::replace);
        around.insert(text.substr(at - 1, 2));
      }
    }
  }
  EXPECT_GT(around.size(), 150U);
  for (const char* between : {"e ", "a\n", "\n\n", "  ", "a1", "1a", "a.", ".a", "s'", "'1", "' "})
    EXPECT_TRUE(around.contains(between)) << between;
  EXPECT_FALSE(around.contains("'s"));
}

// The leftmost special token, of these the longest: against a search for each of them at each place.
TEST(SpecialTokens, AreFoundAsByPlainSearch) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto word = [&](std::size_t most) {
      std::string text(1 + random() % most, 'a');
      for (char& c : text) c = "ab "[random() % 3];
      return text;
    };
    std::vector<std::string> tokens(1 + random() % 6);
    for (std::string& token : tokens) token = word(4);
    const detail::SpecialTokens special(tokens);
    const std::string text = word(40);
    std::vector<std::string> expected, found;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t best = tokens.size();
      for (std::size_t i = 0; i < tokens.size(); ++i)
        if (text.compare(at, tokens[i].size(), tokens[i]) == 0 &&
            (best == tokens.size() || tokens[i].size() > tokens[best].size()))
          best = i;
      if (best == tokens.size()) {
        ++at;
        continue;
      }
      expected.insert(expected.end(), {text.substr(begin, at - begin), std::to_string(best)});
      begin = at += tokens[best].size();
    }
    if (begin < text.size()) expected.push_back(text.substr(begin));
    special.for_each_part(
        text, [&](std::string_view part, std::size_t) { found.emplace_back(part); },
        [&](std::size_t i) { found.push_back(std::to_string(i)); });
    ASSERT_EQ(found, expected) << text;
    const std::size_t at = random() % text.size();
    bool near = false;
    for (const std::string& token : tokens)
      for (std::size_t from = at - std::min(at, token.size() - 1); from <= std::min(text.size(), at + 4); ++from)
        near = near || token.starts_with(text.substr(from, token.size()));
    ASSERT_EQ(special.is_near(text, at), near) << text << " at " << at;
  }
}

// Searching for one after the other would compare 3,000 tokens of 1,500 bytes at each of 200,000 places.
TEST(SpecialTokens, TakeLinearTime) {
  Json json = Json::parse(load_tokenizer(kCut)->json());
  for (int i = 1; i <= 3000; ++i)
    json["added_tokens"].push_back(
        {{"id", 1256 + i}, {"content", std::string(static_cast<std::size_t>(i), 'a') + "#"}});
  const std::string text = json.dump(), letters(200'000, 'a'), words = letters + " " + letters;
  const std::clock_t start = std::clock();
  const auto tokenizer = parse_tokenizer(text, "x");
  EXPECT_EQ(tokenizer->encode(letters + "#").back(), 1256 + 3000);
  EXPECT_EQ(tokenizer->cut(words, 1000), letters.size());
  EXPECT_LT(static_cast<double>(std::clock() - start), 10.0 * CLOCKS_PER_SEC);  // sanitizers: slow
  json["added_tokens"].push_back({{"id", 4257}, {"content", std::string(10'000'000, 'c')}});
  EXPECT_ERROR(parse_tokenizer(json.dump(), "x"));
}

TEST(Cut, IsFoundInTextWithoutEndsOfLines) {
  const auto tokenizer = load_tokenizer(kCut);
  EXPECT_EQ(tokenizer->cut("The text goes on", 0), 3U);
  EXPECT_EQ(tokenizer->cut("The text goes on", 4), 8U);
  EXPECT_EQ(tokenizer->cut("가나다 라마", 1), 9U);
  EXPECT_EQ(tokenizer->cut("中文。中文", 1), 6U);
  EXPECT_EQ(tokenizer->cut("{\"a\":1}          ", 4), 5U);
  EXPECT_EQ(tokenizer->cut("a" + std::string(1000, ' ') + "b and c", 2), 1000U);
  EXPECT_EQ(tokenizer->cut("a" + std::string(1000, ' '), 2), std::string::npos);
  EXPECT_EQ(tokenizer->cut("wordword", 2), std::string::npos);
  EXPECT_EQ(tokenizer->cut("", 0), std::string::npos);
  EXPECT_EQ(make_character_tokenizer("가")->cut("가가", 1), 3U);
}

// ---- Token files ----

using TokenFile = InAFolder;

TEST_F(TokenFile, SameBytesForAnyThreadsAndPieces) {
  const KeepThreads keep;
  std::mt19937 random(2);
  const std::string text = random_text(random, 20'000) + std::string(3000, ' ') + std::string(3000, 'a') + "the end";
  spill(folder / "text.txt", text);
  const auto tokenizer = with_special_tokens();
  const Ids ids = tokenizer->encode(text);
  std::string first;
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    for (const std::size_t piece : {1, 7, 100, 1000, 1 << 18}) {
      ASSERT_EQ(write_token_file(*tokenizer, folder / "text.txt", folder / "a.tokens", {.piece = piece}),
                static_cast<int64_t>(ids.size()));
      const std::string bytes = slurp(folder / "a.tokens");
      if (first.empty()) first = bytes;
      ASSERT_TRUE(bytes == first) << threads << " threads, pieces of " << piece;
    }
  }
  EXPECT_EQ(load_safetensors(folder / "a.tokens")["tokens"].to_vector<int64_t>(), ids);
  // The header has what a pass over the ids finds.
  const Tokens file = Tokens::open(folder / "a.tokens"), memory(ids);
  EXPECT_EQ(file.largest(), memory.largest());
  EXPECT_EQ(file.checksum(), memory.checksum());
  EXPECT_EQ(file.slice(0, 100).checksum(), memory.slice(0, 100).checksum());
  EXPECT_NE(file.checksum(), file.slice(1, file.size()).checksum());
  // Files of earlier versions have no such header.
  const std::string name = "ids_checksum";
  std::string older = first;
  older.replace(older.find(name), name.size(), "ids_checksun");
  older.replace(older.find("largest_id"), 10, "largest_ie");
  spill(folder / "older.tokens", older);
  EXPECT_EQ(Tokens::open(folder / "older.tokens").checksum(), file.checksum());
  EXPECT_EQ(Tokens::open(folder / "older.tokens").largest(), file.largest());
  std::string wrong = first;
  wrong.replace(wrong.find(name) + name.size() + 3, 2, "x!");
  spill(folder / "wrong.tokens", wrong);
  expect_parts(error_of([&] { Tokens::open(folder / "wrong.tokens"); }),
               {"is not a token file: expected a number as \"ids_checksum\" of its metadata, got \"x!"});
}

TEST_F(TokenFile, ErrorsNameThePlaceInTheWholeText) {
  const KeepThreads keep;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "abab ba\n";
  text[30'003] = 'x', text[30'900] = 'y';
  spill(folder / "text.txt", text);
  spill(folder / "a.tokens", "old");
  for (const int threads : {1, 2, 7}) {
    set_num_threads(threads);
    EXPECT_ERROR(
        write_token_file(*make_character_tokenizer("ab \n"), folder / "text.txt", folder / "a.tokens", {.piece = 100}));
  }
  std::vector<uint64_t> seen;
  EXPECT_ERROR(write_token_file(*make_character_tokenizer("abxy \n"), folder / "text.txt", folder / "a.tokens",
                                {.piece = 100, .progress = [&](uint64_t done, uint64_t all) {
                                   EXPECT_EQ(all, text.size());
                                   seen.push_back(done);
                                   if (done > 20'000) fail("here", "enough");
                                 }}));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()) && seen.size() > 1);
  EXPECT_EQ(slurp(folder / "a.tokens"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2) << "a temporary file stayed";
}

TEST_F(TokenFile, FullDisksAndKillsLoseNothing) {
  std::mt19937 random(3);
  std::string text = random_text(random, 20'000);
  while (text.size() < 30'000'000) text += text;
  spill(folder / "text.txt", text);
  const std::string saved = folder / "a.tokens";
  spill(saved, "old");
  const Arguments arguments{"tokenize", "--tokenizer", kCut, "--text", folder / "text.txt", "--save", saved};
  EXPECT_TEXT(rejected(run_command(arguments, {.largest_file = 1'000'000})));
  EXPECT_EQ(slurp(saved), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2) << "a temporary file stayed";
  EXPECT_EQ(run_command(arguments, {.kill_after_seconds = 0.3}).code, -9);
  EXPECT_EQ(slurp(saved), "old");
  const Ran ran = successful(run_command(joined(arguments, {"--threads", "2"})));
  EXPECT_EQ(ran.out, fmt::format("{}: {} tokens\n", saved, Tokens::open(saved).size()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2) << "a temporary file stayed";
}

// ---- Tokenizers trained on files and samples ----

TEST(TrainOnFile, EqualsTrainingOnTheText) {
  const TemporaryFolder folder;
  const KeepThreads keep;
  std::mt19937 random(4);
  std::string text;
  for (int i = 0; i < 8000; ++i) text += random_text(random, 5) + (i % 100 == 0 ? std::string("<|endoftext|>") : "\n");
  spill(folder / "text.txt", text);
  const std::string expected = train_byte_pairs(text, 400)->json();
  for (const int threads : {1, 2, 7}) {
    set_num_threads(threads);
    EXPECT_EQ(train_byte_pairs_on_file(folder / "text.txt", 400)->json(), expected);
    EXPECT_EQ(train_byte_pairs_on_file(folder / "text.txt", 400, {.bytes = text.size(), .seed = 9})->json(), expected);
  }
}

TEST(TrainOnFile, SamplesAreDrawnByTheSeed) {
  const TemporaryFolder folder;
  const KeepThreads keep;
  // Each block of 64 KiB has a letter pair of its own, so that the tokens show which blocks were drawn.
  std::string text;
  for (char block = 'a'; block <= 'z'; ++block) {
    const std::string word = fmt::format(" {}{}", block, static_cast<char>(block - 'a' + 'A'));
    const std::size_t end = text.size() + (1 << 16);
    while (text.size() + word.size() <= end) text += word;
    text.resize(end, ' ');
  }
  spill(folder / "text.txt", text);
  const auto blocks = [&](uint64_t bytes, uint64_t seed) {
    const auto tokenizer = train_byte_pairs_on_file(folder / "text.txt", 1000, {.bytes = bytes, .seed = seed});
    std::string found;
    for (char block = 'a'; block <= 'z'; ++block)
      if (tokenizer->encode(fmt::format("{}{}", block, static_cast<char>(block - 'a' + 'A'))).size() == 1)
        found += block;
    return found;
  };
  const std::string drawn = blocks(5 << 16, 1);
  EXPECT_EQ(drawn.size(), 5U);
  EXPECT_EQ(blocks((5 << 16) - 100, 1), drawn) << "whole blocks";
  EXPECT_NE(blocks(5 << 16, 2), drawn);
  EXPECT_EQ(blocks(0, 1).size(), 26U);
  set_num_threads(7);
  EXPECT_EQ(blocks(5 << 16, 1), drawn);
  EXPECT_ERROR(train_byte_pairs_on_file(folder / "none", 300));
  EXPECT_ERROR(train_byte_pairs_on_file(folder / "text.txt", 9));
}

}  // namespace
}  // namespace tapegrad::data
