// Texts larger than memory: cuts that keep the ids, token files from several threads, samples to train tokenizers on,
// permutations without a list, and mixtures of token files.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/tasks/data/byte_pair_train.h>
#include <tapegrad/tasks/data/characters.h>
#include <tapegrad/tasks/data/permutation.h>
#include <tapegrad/tasks/data/split.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/data/windows.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>
#include <tapegrad/tests/support/threads.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

namespace tapegrad::data {
namespace {

namespace fs = std::filesystem;
using tests::error_of;
using tests::TemporaryFolder;
using Ids = std::vector<int64_t>;

const std::string kCut = (fs::path(tests::kTestsDir) / "data/gpt2_cut").string();

// GPT-2's cut vocabulary with more special tokens, which have white space, overlap or repeat themselves.
std::unique_ptr<Tokenizer> with_special_tokens() {
  nlohmann::json json = nlohmann::json::parse(load_tokenizer(kCut)->json());
  int64_t id = load_tokenizer(kCut)->size();
  for (const char* content : {"x\ny", " <a\nb> ", "\n\n\n", "aa", "aaa", "가 나", "  <pad>", "'s!"}) {
    json["added_tokens"].push_back({{"id", id++},
                                    {"content", content},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  return parse_tokenizer(json.dump(), "x");
}

// Text of pieces at which words end in every way: white space of all lengths and widths, contractions, numbers, scripts
// without spaces, bytes that are not UTF-8, special tokens and parts of them.
std::string random_text(std::mt19937& random, int pieces) {
  static const std::string kPieces[] = {"a",
                                        "b",
                                        "aa",
                                        "the",
                                        " the",
                                        "don't",
                                        "'",
                                        "'s",
                                        "'r",
                                        "re",
                                        "''",
                                        "'ll",
                                        "s",
                                        "1",
                                        "23",
                                        " 4",
                                        ".",
                                        ",",
                                        "!?",
                                        " ",
                                        "  ",
                                        "     ",
                                        "\n",
                                        "\n\n",
                                        "\n\n\n\n",
                                        "\r\n",
                                        "\t",
                                        " \n ",
                                        "\u00a0",
                                        "\u3000",
                                        "\u3000\u3000",
                                        "\u2028",
                                        "가",
                                        "나다",
                                        "가 나",
                                        "中文",
                                        "é",
                                        "e\u0301",
                                        "🙂",
                                        "٣",
                                        "½",
                                        "\xff",
                                        "\xe3\x80",
                                        "\xe3",
                                        "\x80",
                                        "\xf0\x9f",
                                        "\xc3",
                                        "<|endoftext|>",
                                        "<|endo",
                                        "text|>",
                                        "x\ny",
                                        "x\n",
                                        "y",
                                        " <a\nb> ",
                                        " <a",
                                        "aaa",
                                        "'s!",
                                        "  <pad>",
                                        "<pad>"};
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
        ASSERT_EQ(both, whole) << "cut at " << at << " of "
                               << nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
        around.insert(text.substr(at - 1, 2));
      }
    }
  }
  EXPECT_GT(around.size(), 150U);
  for (const char* between : {"e ", "a\n", "\n\n", "  ", "a1", "1a", "a.", ".a", "s'", "'1", "' "})
    EXPECT_TRUE(around.contains(between)) << between;
  EXPECT_FALSE(around.contains("'s"));
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

TEST(TokenFile, SameBytesForAnyThreadsAndPieces) {
  const TemporaryFolder folder;
  const tests::KeepThreads keep;
  std::mt19937 random(2);
  const std::string text = random_text(random, 20'000) + std::string(3000, ' ') + std::string(3000, 'a') + "the end";
  tests::spill(folder / "text.txt", text);
  const auto tokenizer = with_special_tokens();
  const Ids ids = tokenizer->encode(text);
  std::string first;
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    for (const std::size_t piece : {100, 1000, 1 << 18}) {
      ASSERT_EQ(write_token_file(*tokenizer, folder / "text.txt", folder / "a.tokens", {.piece = piece}),
                static_cast<int64_t>(ids.size()));
      const std::string bytes = tests::slurp(folder / "a.tokens");
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
  tests::spill(folder / "older.tokens", older);
  EXPECT_EQ(Tokens::open(folder / "older.tokens").checksum(), file.checksum());
  EXPECT_EQ(Tokens::open(folder / "older.tokens").largest(), file.largest());
  std::string wrong = first;
  wrong.replace(wrong.find(name) + name.size() + 3, 2, "x!");
  tests::spill(folder / "wrong.tokens", wrong);
  EXPECT_NE(error_of([&] {
              Tokens::open(folder / "wrong.tokens");
            }).find("is not a token file: expected a number as \"ids_checksum\" of its metadata, got \"x!"),
            std::string::npos);
}

TEST(TokenFile, ErrorsNameThePlaceInTheWholeText) {
  const TemporaryFolder folder;
  const tests::KeepThreads keep;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "abab ba\n";
  text[30'003] = 'x', text[30'900] = 'y';
  tests::spill(folder / "text.txt", text);
  tests::spill(folder / "a.tokens", "old");
  for (const int threads : {1, 2, 7}) {
    set_num_threads(threads);
    EXPECT_EQ(error_of([&] {
                write_token_file(*make_character_tokenizer("ab \n"), folder / "text.txt", folder / "a.tokens",
                                 {.piece = 100});
              }),
              "[tokenizer] the character \"x\" (U+0078) at byte 30003 of the text is not among the 4 tokens of the "
              "vocabulary");
  }
  std::vector<uint64_t> seen;
  EXPECT_EQ(error_of([&] {
              write_token_file(*make_character_tokenizer("abxy \n"), folder / "text.txt", folder / "a.tokens",
                               {.piece = 100, .progress = [&](uint64_t done, uint64_t all) {
                                  EXPECT_EQ(all, text.size());
                                  seen.push_back(done);
                                  if (done > 20'000) fail("here", "enough");
                                }});
            }),
            "[here] enough");
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()) && seen.size() > 1);
  EXPECT_EQ(tests::slurp(folder / "a.tokens"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2) << "a temporary file stayed";
}

// A disk that is full, and a process that is killed, leave the old file; the next run removes what was left.
TEST(TokenFile, FullDisksAndKillsLoseNothing) {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  std::string text = random_text(random, 20'000);
  while (text.size() < 30'000'000) text += text;
  tests::spill(folder / "text.txt", text);
  const std::string saved = folder / "a.tokens";
  tests::spill(saved, "old");
  const tests::Arguments arguments{"tokenize", "--tokenizer", kCut, "--text", folder / "text.txt", "--save", saved};
  tests::expect_error(tests::run_command(arguments, {.largest_file = 1'000'000}), 1,
                      {"[file] cannot write " + saved, "File too large"});
  EXPECT_EQ(tests::slurp(saved), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2) << "a temporary file stayed";
  EXPECT_EQ(tests::run_command(arguments, {.kill_after_seconds = 0.3}).code, -9);
  EXPECT_EQ(tests::slurp(saved), "old");
  const tests::Ran ran = tests::run_command(tests::joined(arguments, {"--threads", "2"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, fmt::format("{}: {} tokens\n", saved, Tokens::open(saved).size()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2) << "a temporary file stayed";
}

// ---- Tokenizers trained on files and samples ----

TEST(TrainOnFile, EqualsTrainingOnTheText) {
  const TemporaryFolder folder;
  const tests::KeepThreads keep;
  std::mt19937 random(4);
  std::string text;
  for (int i = 0; i < 8000; ++i) text += random_text(random, 5) + (i % 100 == 0 ? std::string("<|endoftext|>") : "\n");
  tests::spill(folder / "text.txt", text);
  const std::string expected = train_byte_pairs(text, 400)->json();
  for (const int threads : {1, 2, 7}) {
    set_num_threads(threads);
    EXPECT_EQ(train_byte_pairs_on_file(folder / "text.txt", 400)->json(), expected);
    EXPECT_EQ(train_byte_pairs_on_file(folder / "text.txt", 400, {.bytes = text.size(), .seed = 9})->json(), expected);
  }
}

TEST(TrainOnFile, SamplesAreDrawnByTheSeed) {
  const TemporaryFolder folder;
  const tests::KeepThreads keep;
  // Each block of 64 KiB has a letter pair of its own, so that the tokens tell which blocks were drawn.
  std::string text;
  for (char block = 'a'; block <= 'z'; ++block) {
    const std::string word = fmt::format(" {}{}", block, static_cast<char>(block - 'a' + 'A'));
    const std::size_t end = text.size() + (1 << 16);
    while (text.size() + word.size() <= end) text += word;
    text.resize(end, ' ');
  }
  tests::spill(folder / "text.txt", text);
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
  EXPECT_EQ(error_of([&] { train_byte_pairs_on_file(folder / "none", 300); }),
            "[file] cannot read " + (folder / "none") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { train_byte_pairs_on_file(folder / "text.txt", 9); }),
            "[tokenizer] vocab_size must be between 257 (all bytes and <|endoftext|>) and 1048576, got 9");
}

// ---- Orders without a list ----

Ids values(const Permutation& permutation) {
  Ids out(static_cast<std::size_t>(permutation.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = permutation(static_cast<int64_t>(i));
  return out;
}

TEST(Permutation, HasEachNumberOnce) {
  for (int64_t size : {0, 1, 2, 3, 4, 5, 10, 17, 100, 255, 256, 257, 1000, 99'991}) {
    Ids found = values(Permutation(size, static_cast<uint64_t>(size)));
    std::sort(found.begin(), found.end());
    Ids all(found.size());
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(found, all) << size;
  }
  const Permutation large(int64_t{1} << 62, 3);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 2000; ++i) seen.insert(large(i << 50 | i));
  EXPECT_EQ(seen.size(), 2000U);
  EXPECT_EQ(error_of([] { Permutation(-1, 0); }),
            "[permutation] size must be between 0 and 4611686018427387904, got -1");
}

// Runs are resumed by later versions: an order is for ever.
TEST(Permutation, StaysTheSame) {
  EXPECT_EQ(values(Permutation(10, 123)), (Ids{6, 7, 8, 2, 9, 1, 3, 0, 4, 5}));
  const Permutation large(5'000'000'000, 7);
  EXPECT_EQ((Ids{large(0), large(1), large(4'999'999'999)}), (Ids{3713034223, 3321670963, 4773065221}));
}

// Over many seeds, each value is as frequent at each position, each pair of values at the first two, and each order of
// four: chi-square below its mean and five standard deviations.
TEST(Permutation, IsUniform) {
  constexpr int kSeeds = 20'000;
  constexpr int64_t kSize = 12;
  std::map<std::pair<int64_t, int64_t>, int> at, firsts;
  std::map<Ids, int> orders;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Permutation permutation(kSize, static_cast<uint64_t>(seed));
    for (int64_t i = 0; i < kSize; ++i) ++at[{i, permutation(i)}];
    ++firsts[{permutation(0), permutation(1)}];
    ++orders[values(Permutation(4, static_cast<uint64_t>(seed)))];
  }
  const auto expect_even = [](const auto& counts, std::size_t cells, double total) {
    EXPECT_EQ(counts.size(), cells);
    const double each = total / static_cast<double>(cells);
    double chi = 0;
    for (const auto& [cell, count] : counts) chi += (count - each) * (count - each) / each;
    const auto degrees = static_cast<double>(cells - 1);
    EXPECT_LT(chi, degrees + 5 * std::sqrt(2 * degrees));
  };
  expect_even(at, 144, 12.0 * kSeeds);
  expect_even(firsts, 132, kSeeds);
  expect_even(orders, 24, kSeeds);
  // Neighbours of a long one are not related.
  const Permutation longer(1'000'003, 5);
  double sum = 0;
  for (int64_t i = 0; i < 100'000; ++i)
    sum += (static_cast<double>(longer(i)) / 1'000'003 - 0.5) * (static_cast<double>(longer(i + 1)) / 1'000'003 - 0.5);
  EXPECT_LT(std::abs(sum / 100'000 * 12), 5 / std::sqrt(100'000.0));
}

Ids drawn(const Sampler& sampler, uint64_t seed) {
  Ids out;
  const auto index_at = sampler.index_at(seed);
  for (int64_t i = 0; i < sampler.size; ++i) out.push_back(index_at(i));
  return out;
}

TEST(Sampler, MixturesHaveTheirWeights) {
  const Sampler sampler = mixed({10, 20, 8}, {2.3, 0.25, 1});
  ASSERT_EQ(sampler.size, 23 + 5 + 8);
  std::set<std::set<int64_t>> thirds, quarters;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::map<int64_t, int> times;
    for (const int64_t i : drawn(sampler, seed)) ++times[i];
    std::set<int64_t> third, quarter;
    for (const auto& [i, count] : times) {
      ASSERT_TRUE(i >= 0 && i < 38);
      if (i < 10) {
        ASSERT_TRUE(count == 2 || count == 3);
        if (count == 3) third.insert(i);
      } else {
        ASSERT_EQ(count, 1);
        if (i < 30) quarter.insert(i);
      }
    }
    ASSERT_EQ(times.size(), 10U + 5 + 8);
    ASSERT_EQ(third.size(), 3U);
    thirds.insert(third), quarters.insert(quarter);
  }
  EXPECT_GT(thirds.size(), 20U);
  EXPECT_GT(quarters.size(), 25U);
  EXPECT_EQ(error_of([] { mixed({3, 4}, {1}); }), "[mixed] expected a weight for each part, got 1 for 2");
  EXPECT_EQ(error_of([] { mixed({3}, {0}); }),
            "[mixed] expected a weight that gives an epoch of 1 to 2^62 indices, got 0 for a part of 3");
  EXPECT_EQ(error_of([] { mixed({3}, {0.1}); }),
            "[mixed] expected a weight that gives an epoch of 1 to 2^62 indices, got 0.1 for a part of 3");
  EXPECT_EQ(error_of([] { mixed({0}, {1}); }), "[mixed] the size of a part must be at least 1, got 0");
  EXPECT_EQ(error_of([] { permuted(-1); }), "[permuted] size must be at least 0, got -1");
}

Tokens counting(int64_t first, int64_t n) {
  Ids ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), first);
  return Tokens(std::move(ids));
}

TEST(Windows, OfSeveralTextsReachIntoNoOther) {
  const Windows windows({counting(0, 10), counting(100, 5), counting(200, 9)}, 4, 2);
  EXPECT_EQ(windows.sizes(), (Ids{3, 1, 3}));
  EXPECT_EQ(windows.size(), 7);
  const std::vector<int64_t> all{0, 1, 2, 3, 4, 5, 6};
  const TextBatch batch = windows.batch(all);
  EXPECT_EQ(batch.inputs.select(1, 0).contiguous().to_vector<int64_t>(), (Ids{0, 2, 4, 100, 200, 202, 204}));
  EXPECT_EQ((batch.inputs + 1).to_vector<int64_t>(), batch.targets.to_vector<int64_t>());
  EXPECT_EQ(error_of([] { Windows(std::vector<Tokens>{}, 4, 2); }),
            "[text] expected one or more sequences of tokens, got none");
}

// A mixture's epoch continues from any position, with and without prefetch, without a list.
TEST(TextLoader, MixturesAreResumed) {
  const Windows windows({counting(0, 100), counting(1000, 50)}, 4, 1);
  const auto loader = [&](int64_t prefetch) {
    return TextLoader(
        windows,
        {.batch_size = 8, .drop_last = true, .sampler = mixed(windows.sizes(), {0.5, 3}), .prefetch = prefetch});
  };
  const TextLoader plain = loader(0), ahead = loader(3);
  const auto rest = [](TextLoader::Iteration iteration) {
    std::vector<Ids> found;
    while (const auto batch = iteration.next()) found.push_back(batch->inputs.to_vector<int64_t>());
    return found;
  };
  Generator generator(5);
  const std::vector<Ids> whole = rest(plain.begin(generator));
  EXPECT_EQ(static_cast<int64_t>(whole.size()), plain.size());
  EXPECT_NE(rest(plain.begin(generator)), whole) << "another epoch";
  for (int64_t stop = 0; stop <= plain.size(); ++stop) {
    Generator first(5);
    TextLoader::Iteration before = ahead.begin(first);
    for (int64_t i = 0; i < stop; ++i) before.next();
    const std::vector<Ids> after = rest((stop % 2 ? plain : ahead).resume(before.position(), first));
    EXPECT_EQ(after, std::vector<Ids>(whole.begin() + stop, whole.end()));
  }
  // Billions of windows, without memory for their order.
  const Sampler billions = permuted(3'000'000'000);
  EXPECT_LT(billions.index_at(1)(2'999'999'999), 3'000'000'000);
}

}  // namespace
}  // namespace tapegrad::data
