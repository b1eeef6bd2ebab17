// GPT's cache of keys and values: equal results, beams, memory, and errors.
// ctest: products
#include <tapegrad/tests/nn/models/stored_gpt.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using nlohmann::json;
using namespace tests;

TEST(Gpt, CacheFollowsBeamsAndCanBeReset) {
  nn::GPTModel model(golden_config());
  nn::eval(model);
  const Tensor a = tensor({{3, 1, 4}, {2, 6, 5}}), next = tensor({7, 8, 9}).reshape({3, 1});
  nn::KVCache cache;
  model(a, &cache);
  cache.reorder(tensor({1, 1, 0}));
  EXPECT_EQ(cache.batch(), 3);
  const Tensor after = model(next, &cache);
  const Tensor whole = model(tensor({{2, 6, 5, 7}, {2, 6, 5, 8}, {3, 1, 4, 9}}));
  EXPECT_LE(amax(abs(after - narrow(whole, 1, 3, 1))).item(), 1e-5);
  cache.truncate(3);
  EXPECT_TRUE(tests::same_bits(model(next, &cache), after));
  EXPECT_ERROR(cache.truncate(9));
  EXPECT_ERROR(model(tensor({1}).reshape({1, 1}), &cache));
  EXPECT_ERROR(model(tensor({{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}}), &cache));
  EXPECT_EQ(error_of([] { nn::KVCache().reorder(tensor({0})); }), "[kv_cache] an empty cache cannot be reordered");
  Tape tape;
  EXPECT_ERROR(model(next, &cache));
}

// Every way in which keys and values can disagree with what a cache holds.
TEST(Gpt, ACacheRejectsKeysOfAnotherModel) {
  const auto pair = [](const Shape& keys, const Shape& values) { return nn::KeysAndValues{ones(keys), ones(values)}; };
  nn::KVCache cache;
  const auto refused = [&](int64_t layer, const nn::KeysAndValues& added) {
    return error_of([&] { cache.append(layer, added); });
  };
  EXPECT_EQ(refused(5, pair({1, 1, 4, 8}, {1, 1, 4, 8})), "[kv_cache] expected layer 0 next in the first pass, got 5");
  EXPECT_EQ(refused(0, pair({1, 4, 8}, {1, 4, 8})), "[kv_cache] expected keys [B, heads, T, head_dim], got [1, 4, 8]");
  EXPECT_EQ(refused(0, {}), "[kv_cache] expected keys [B, heads, T, head_dim], got none");
  EXPECT_TEXT(refused(0, pair({1, 1, 4, 8}, {1, 1, 70, 8})));
  EXPECT_EQ(cache.batch(), 0);

  cache.append(0, pair({1, 1, 4, 8}, {1, 1, 4, 6}));
  EXPECT_ERROR(cache.advance(5));
  EXPECT_ERROR(cache.advance(-1));
  EXPECT_TEXT(refused(1, pair({2, 1, 4, 8}, {2, 1, 4, 8})));
  cache.advance(4);
  // With one head more, the keys would be written past the end of the cache's memory, over another tensor.
  std::vector<Tensor> others;
  for (int i = 0; i < 64; ++i) others.push_back(zeros({64 * 64}));
  EXPECT_TEXT(refused(0, pair({1, 8, 1, 8}, {1, 8, 1, 6})));
  for (const Tensor& other : others) EXPECT_FALSE(any(other != 0.0));
  EXPECT_TEXT(refused(0, pair({1, 1, 1, 9}, {1, 1, 1, 6})));
  EXPECT_TEXT(refused(0, pair({1, 1, 1, 8}, {1, 1, 1, 8})));
  EXPECT_TEXT(refused(0, {ones({1, 1, 1, 8}), {}}));
  EXPECT_TEXT(refused(1, pair({1, 1, 1, 8}, {1, 1, 1, 6})));
  EXPECT_ERROR(cache.append_history({ones({1, 1, 1, 8}), {}}));
  EXPECT_ERROR(cache.advance(1));
  cache.append(0, pair({1, 1, 1, 8}, {1, 1, 1, 6}));
  cache.advance(1);
  EXPECT_EQ(cache.length(), 5);
}

TEST(Gpt, RowsOfIndependentSequencesNeedTheirOwnCaches) {
  nn::GPTModel model(golden_config());
  nn::eval(model);
  nn::KVCache cache;
  model(tensor({{3, 1, 4}}), &cache);
  const Tensor next = tensor({{7}, {8}});
  EXPECT_ERROR(model.hidden_each(next, std::vector<nn::KVCache*>{&cache, &cache}));
  EXPECT_ERROR(model.hidden_each(next, std::vector<nn::KVCache*>{&cache, nullptr}));
  const nn::MultiHeadSelfAttention attention({.d_in = 8, .d_out = 8, .num_heads = 2, .context_length = 4});
  EXPECT_ERROR(attention(ones({3, 1, 8}), {.each = std::vector<nn::AttentionPass>(2)}));
}

TEST(Gpt, CopiesOfACacheAreIndependentBranches) {
  nn::GPTModel model(golden_config());
  nn::eval(model);
  const auto read = [&](std::initializer_list<Literal> tokens, nn::KVCache* cache) {
    return model(tensor(tokens).reshape({1, -1}), cache).select(1, -1);
  };
  nn::KVCache a;
  read({1, 2, 3}, &a);
  nn::KVCache b = a, shorter = a;
  shorter.truncate(1);
  read({4}, &a);
  read({9}, &b);
  read({6, 7}, &shorter);
  const auto alone = [&](std::initializer_list<Literal> first, std::initializer_list<Literal> second) {
    nn::KVCache fresh;
    read(first, &fresh);
    read(second, &fresh);
    return read({5}, &fresh);
  };
  EXPECT_TRUE(tests::same_bits(read({5}, &a), alone({1, 2, 3}, {4})));
  EXPECT_TRUE(tests::same_bits(read({5}, &b), alone({1, 2, 3}, {9})));
  EXPECT_LE(amax(abs(read({5}, &shorter) - model(tensor({{1, 6, 7, 5}})).select(1, -1))).item(), 1e-5);
}

TEST(Gpt, ACacheWritesInPlaceUnlessItsMemoryIsShared) {
  const auto token = [](double value) {
    return nn::KeysAndValues{full({1, 2, 1, 4}, value), full({1, 2, 1, 4}, -value)};
  };
  nn::KVCache cache;
  const auto append = [&token](nn::KVCache& to, double value) {
    nn::KeysAndValues all = to.append(0, token(value));
    to.advance(1);
    return all;
  };
  const void* const memory = append(cache, 1).keys.raw_data();
  EXPECT_EQ(append(cache, 2).keys.raw_data(), memory);
  nn::KVCache copy = cache;
  const nn::KeysAndValues kept = append(copy, 3);  // the copy is written to, and leaves the memory to the first one
  EXPECT_NE(kept.keys.raw_data(), memory);
  EXPECT_EQ(append(cache, 4).keys.raw_data(), memory);
  copy.truncate(2);
  append(copy, 6);  // tensors that were returned before keep their values
  EXPECT_EQ(kept.keys.select(1, 0).select(-1, 0).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(kept.values.select(1, 1).select(-1, 3).to_vector<float>(), (std::vector<float>{-1, -2, -3}));
  nn::KVCache last = cache;
  cache = {};  // no other cache uses it now
  const void* const adopted = append(last, 7).keys.raw_data();
  EXPECT_EQ(adopted, memory);
}

}  // namespace
}  // namespace tapegrad
