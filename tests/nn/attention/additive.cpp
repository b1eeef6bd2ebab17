// Additive attention: PyTorch's values and gradients, masks, projected keys, and errors.
// ctest: families products
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

void expect_pytorch(const nlohmann::json& entry, DType dtype, Room room) {
  const std::string name = entry["name"].get<std::string>() + (dtype == kFloat32 ? ", float32" : ", float64");
  nn::AdditiveAttention attention(3, 5, 6);
  nn::to(attention, dtype);
  set_weights(attention);
  const auto leaf = [dtype](const Tensor& x) { return x.to(dtype).as_leaf(); };
  const Tensor queries = leaf(filled({2, 3, 3}, 3) * 3), keys = leaf(filled({2, 4, 5}, 4) * 3);
  const Tensor values = entry["grads"].contains("values") ? leaf(filled({2, 4, 2}, 5)) : Tensor();
  Tensor mask, weights;
  if (name.starts_with("bool mask")) mask = nn::padding_mask(tensor({{1, 1, 1, 0}, {1, 0, 1, 1}})).squeeze(1);
  if (name.starts_with("added mask")) mask = (filled({3, 4}, 6) * 4).to(dtype);
  Tape tape;
  const Tensor y = attention.attend(queries, attention.project(keys, values), mask, &weights);
  expect_close(weights, entry["weights"], room, name + ", weights");
  expect_close(y, entry["result"], room, name + ", result");
  const Gradients grads = tape.backward(sum(y.reshape({-1}) * linspace(0.5, 1.5, y.numel(), y.dtype())));
  expect_close_gradients(attention, grads, entry["grads"], room);
  expect_close(grads[queries], entry["grads"]["queries"], room, name + ", queries");
  expect_close(grads[keys], entry["grads"]["keys"], room, name + ", keys");
  if (values.defined()) expect_close(grads[values], entry["grads"]["values"], room, name + ", values");
}

TEST(AdditiveAttention, EqualsPyTorch) {
  for (const nlohmann::json& entry : stored("additive.json")) {
    expect_pytorch(entry, kFloat32, {1e-5, 2e-6});
    expect_pytorch(entry, kFloat64, {1e-8, 1e-9});
  }
}

TEST(AdditiveAttention, AFullyMaskedRowIsZero) {
  manual_seed(1);
  const nn::AdditiveAttention attention(2, 3, 4);
  const Tensor query = randn({1, 2, 2}).as_leaf(), keys = randn({1, 3, 3});
  Tensor weights;
  Tape tape;
  const Tensor y = attention(query, keys, tensor({0, 0, 0}) > 0.0, &weights);
  EXPECT_EQ(amax(abs(y)).item(), 0);
  EXPECT_EQ(amax(abs(weights)).item(), 0);
  EXPECT_EQ(amax(abs(tape.backward(sum(y))[query])).item(), 0);
}

TEST(AdditiveAttention, HiddenNanHasNoInfluence) {
  manual_seed(3);
  const nn::AdditiveAttention attention(2, 3, 4);
  const Tensor query = randn({1, 2, 2}).as_leaf(), keys = randn({1, 3, 3}), last = (arange(3) == 2).unsqueeze(1);
  const auto run = [&](double value, const Tensor& mask) {
    const Tensor given = where(last, full({3}, value), keys).as_leaf();
    Tape tape;
    const Tensor y = attention(query, given, mask);
    const Gradients grads = tape.backward(sum(y * y));
    return std::vector<Tensor>{y.detach(), grads[query], narrow(grads[given], 1, 0, 2)};
  };
  const Tensor bools = tensor({1, 1, 0}) > 0.0, added = where(bools, zeros({3}), -kInf);
  for (const Tensor& mask : {bools, added}) {
    const std::vector<Tensor> expected = run(0, mask), found = run(kNan, mask);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_LE(largest_difference(found[i], expected[i]), 1e-6) << i;
  }
  EXPECT_TRUE(all(isnan(run(kNan, tensor({1, 0, 1}) > 0.0)[0])));
}

TEST(AdditiveAttention, OneKeyAndNoQueries) {
  manual_seed(2);
  const nn::AdditiveAttention attention(2, 3, 4);
  const Tensor keys = randn({2, 1, 3});
  expect_near(attention(randn({2, 3, 2}), keys), keys.expand({2, 3, 3}));
  EXPECT_EQ(attention(zeros({2, 0, 2}), keys).shape(), (Shape{2, 0, 3}));
}

TEST(AdditiveAttention, StridedInputsEqualContiguousOnes) {
  manual_seed(3);
  const nn::AdditiveAttention attention(2, 3, 4);
  const Tensor query = randn({5, 2, 2}).transpose(0, 1), keys = randn({2, 3, 4}).transpose(1, 2);
  expect_near(attention(query, keys), attention(query.contiguous(), keys.contiguous()));
}

TEST(AdditiveAttention, Errors) {
  const nn::AdditiveAttention attention(2, 3, 4);
  const auto error = [](auto f) { return error_of(f); };
  const Tensor query = zeros({1, 2, 2}), keys = zeros({1, 5, 3});
  EXPECT_EQ(error([] { nn::AdditiveAttention(0, 3, 4); }), "[additive_attention] expected query_size > 0, got 0");
  EXPECT_EQ(error([] { nn::AdditiveAttention(2, -1, 4); }), "[additive_attention] expected key_size > 0, got -1");
  EXPECT_EQ(error([] { nn::AdditiveAttention(2, 3, 0); }), "[additive_attention] expected hidden_size > 0, got 0");
  EXPECT_EQ(error([&] { attention(keys, keys); }), "[additive_attention] expected query [B, T, 2], got [1, 5, 3]");
  EXPECT_EQ(error([&] { attention(query, query); }), "[additive_attention] expected keys [B, S, 3], got [1, 2, 2]");
  EXPECT_TEXT(error([&] { attention(query, zeros({2, 5, 3})); }));
  EXPECT_TEXT(error([&] { attention.project(keys, zeros({1, 4, 2})); }));
  EXPECT_TEXT(error([&] { attention(query, keys, zeros({4})); }));
}

}  // namespace
}  // namespace tapegrad::tests
