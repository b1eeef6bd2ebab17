// The errors of operations for wrong shapes, axes and types, word for word.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tests/support/near.h>

#include <optional>
#include <utility>

namespace tapegrad::tests {
namespace {

const Tensor kMatrix = zeros({2, 3});  // float32
const Tensor kOtherMatrix = zeros({4, 5});
const Tensor kMatrixIds = zeros({2, 3}, kInt64);
const Tensor kMask = zeros({2, 3}, kBool);
const Tensor kDoubles = zeros({2, 3}, kFloat64);
const Tensor kNumber = scalar(1);

TEST(Errors, AreOneLine) {
  EXPECT_EQ(error_text("config.json", "got \"a\nb\tc\r\x1b[1m\x7f\""),
            "[config.json] got \"a\\nb\\tc\\r\\x1b[1m\\x7f\"");
  EXPECT_EQ(error_text("a\x1b[2J/config.json", "x"), "[a\\x1b[2J/config.json] x");
  EXPECT_EQ(printable("a\n\tb\r\x1b", "\n\t"), "a\n\tb\\r\\x1b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m \xc2\xa0 하늘 \x9b"),
            "\\x9b1m \xc2\xa0 하늘 \x9b");  // U+009B begins a sequence, too
  for (const auto& [text, shown] : {std::pair("a\u202Ab", "a\\u202ab"),
                                    {"\u202e", "\\u202e"},
                                    {"\u2066", "\\u2066"},
                                    {"x\u2069", "x\\u2069"},
                                    {"\u2029\u202f\u2065\u206a", "\u2029\u202f\u2065\u206a"},
                                    {"\xe2\x80", "\xe2\x80"},
                                    {"\xe2\x81\xa9", "\\u2069"}})
    EXPECT_EQ(printable(text), shown);
  EXPECT_EQ(error_text("a\u202ecod.exe", "x"), "[a\\u202ecod.exe] x");
  EXPECT_EQ(error_of([] { fail("here", "one\ntwo"); }), "[here] one\\ntwo");
}

TEST(Errors, OfTensors) {
  // clang-format off
  expect_texts({
      {"[tensor] an empty handle was used (it was never given a value, or was moved from)", [] { Tensor().shape(); }},
      {"[item] expected one element, got shape [2, 3] with 6", [] { kMatrix.item(); }},
      {"[data] expected a tensor of float64, got float32 (convert with to())", [] { kMatrix.data<double>(); }},
      {"[to_vector] expected a tensor of float64, got float32 (convert with to())",
       [] { kMatrix.to_vector<double>(); }},
      {"[to_vector] expected a tensor of bool, got float32 (convert with to())", [] { kMatrix.to_vector<bool>(); }},
      {"[to_vector] expected a tensor of int64, got float32 (convert with to())",
       [] { kMatrix.slice(0, 0, 0).to_vector<int64_t>(); }},
      {"[size] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kMatrix.size(2); }},
      {"[tensor] shape [2, -1] has a negative size", [] { return zeros({2, -1}); }},
      {"[shape] expected at most 8 axes, got 9", [] { return zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); }},
      {"[tensor] shape [1073741824, 1073741824] has more elements than a machine can hold",
       [] { return zeros({1 << 30, 1 << 30}); }},
      {"[tensor] expected 4 values for shape [2, 2], got 3",
       [] { return tensor(std::vector<double>{1, 2, 3}, {2, 2}); }},
      {"[tensor] expected rows of equal length, got 2 and 1 values", [] { return tensor({{1.0, 2.0}, {3.0}}); }},
      {"[arange] from 0 to 1 in steps of 0 never ends", [] { arange(0, 1, 0); }},
      {"[arange] expected whole numbers for int64, got 0 to 1 in steps of 0.1 (give the type: arange(0, 1, 0.1, "
       "kFloat32))",
       [] { arange(0, 1, 0.1); }},
      {"[arange] expected whole numbers for uint8, got 0.5 to 3 in steps of 1 (give the type: arange(0.5, 3, 1, "
       "kFloat32))",
       [] { arange(0.5, 3, 1, kUInt8); }},
      {"[cross_entropy] expected a target with the axes of the input [2, 3] except the last (the classes), got [2, 3] "
       "(of a one-hot target, argmax(target, -1))", [] { cross_entropy(zeros({2, 3}), one_hot(tensor({0, 2}), 3)); }},
      {"[linspace] expected float32 or float64, got int64", [] { linspace(0, 1, 3, kInt64); }},
      {"[tensor] shape [-3] has a negative size", [] { linspace(0, 1, -3); }},
      {"[tensor] shape [-1, -1] has a negative size", [] { eye(-1); }},
  });
  // clang-format on
}

TEST(Errors, OfViews) {
  // clang-format off
  expect_texts({
      {"[reshape] expected a shape with the 6 elements of [2, 3], got [4, 2]", [] { kMatrix.reshape({4, 2}); }},
      {"[reshape] expected sizes of 0 or more, and at most one -1 (the rest), got [-1, -1]",
       [] { kMatrix.reshape({-1, -1}); }},
      {"[reshape] expected a shape with the 6 elements of [2, 3], got [-1, 4]", [] { kMatrix.reshape({-1, 4}); }},
      {"[reshape] expected sizes of 0 or more, and at most one -1 (the rest), got [-2, 3]",
       [] { kMatrix.reshape({-2, 3}); }},
      {"[flatten] expected a first axis before the last one, got 1 and 0 for [2, 3]", [] { kMatrix.flatten(1, 0); }},
      {"[flatten] axis 5 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kMatrix.flatten(0, 5); }},
      {"[transpose] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kMatrix.transpose(0, 2); }},
      {"[transpose] axis 0 given, but a scalar has no axes", [] { kNumber.transpose(0, 1); }},
      {"[permute] expected the 2 axes of [2, 3], got [0]", [] { kMatrix.permute({0}); }},
      {"[permute] expected each axis once, got [0, 0] (axis 0 twice)", [] { kMatrix.permute({0, 0}); }},
      {"[permute] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kMatrix.permute({0, 2}); }},
      {"[slice] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kMatrix.slice(2); }},
      {"[slice] expected a step other than 0, got 0", [] { kMatrix.slice(0, 0, 1, 0); }},
      {"[select] index 2 is out of range for axis 0 of [2, 3]", [] { kMatrix[2]; }},
      {"[select] index -4 is out of range for axis 1 of [2, 3]", [] { kMatrix.select(1, -4); }},
      {"[select] axis 0 given, but a scalar has no axes", [] { kNumber[0]; }},
      {"[expand] [2, 3] cannot be expanded to [2, 4] (only axes of size 1 and new leading axes can grow)",
       [] { kMatrix.expand({2, 4}); }},
      {"[expand] [2, 3] cannot be expanded to [3] (only axes of size 1 and new leading axes can grow)",
       [] { kMatrix.expand({3}); }},
      {"[squeeze] expected axis 0 to have size 1, got 2 in [2, 3]", [] { kMatrix.squeeze(0); }},
      {"[squeeze] axis 5 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kMatrix.squeeze(5); }},
      {"[unsqueeze] axis 4 is out of range for [2, 3] with a new axis", [] { kMatrix.unsqueeze(4); }},
  });
  // clang-format on
}

TEST(Errors, OfElementwiseOperations) {
  expect_texts({
      {"[add] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (expected equal sizes, or 1)",
       [] { kMatrix + kOtherMatrix; }},
      {"[mul] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (expected equal sizes, or 1)",
       [] { kMatrix* kOtherMatrix; }},
      {"[pow] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (expected equal sizes, or 1)",
       [] { pow(kMatrix, kOtherMatrix); }},
      {"[maximum] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (expected equal sizes, or 1)",
       [] { maximum(kMatrix, kOtherMatrix); }},
      {"[eq] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (expected equal sizes, or 1)",
       [] { eq(kMatrix, kOtherMatrix); }},
      {"[tensor] an empty handle was used (it was never given a value, or was moved from)",
       [] { sub(kMatrix, Tensor()); }},
      {"[exp] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { exp(kMatrixIds); }},
      {"[sqrt] expected float32 or float64, got bool of shape [2, 3] (convert with to(kFloat32))", [] { sqrt(kMask); }},
      {"[gelu] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { gelu(kMatrixIds); }},
      {"[relu] expected float32 or float64, got bool of shape [2, 3] (convert with to(kFloat32))", [] { relu(kMask); }},
      {"[sigmoid] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { sigmoid(kMatrixIds); }},
      {"[logical_and] expected the operand to be bool, got float32 of shape [2, 3] (compare it first: x != 0)",
       [] { logical_and(kMatrix, kMask); }},
      {"[logical_not] expected the operand to be bool, got float32 of shape [2, 3] (compare it first: x != 0)",
       [] { logical_not(kMatrix); }},
      {"[clamp] expected a lower bound, an upper bound or both", [] { clamp(kMatrix, std::nullopt, std::nullopt); }},
      {"[where] expected the condition to be bool, got float32 of shape [2, 3] (compare it first: x != 0)",
       [] { where(kMatrix, kMatrix, kMatrix); }},
      {"[where] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (expected equal sizes, or 1)",
       [] { where(kMask, kMatrix, kOtherMatrix); }},
      {"[masked_fill] expected the mask to be bool, got float32 of shape [2, 3] (compare it first: x != 0)",
       [] { masked_fill(kMatrix, kMatrix, 0); }},
      {"[masked_fill] shapes [2, 3] and [4] do not broadcast: axis -1 has 3 against 4 (expected equal sizes, or 1)",
       [] { masked_fill(kMatrix, zeros({4}, kBool), 0); }},
      {"[tril] expected two axes or more, got shape [3]", [] { tril(zeros({3})); }},
      {"[triu] expected two axes or more, got shape []", [] { triu(kNumber); }},
      {"[all] expected the operand to be bool, got float32 of shape [2, 3] (compare it first: x != 0)",
       [] { all(kMatrix); }},
      {"[any] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { any(kMask, 2); }},
  });
}

TEST(Errors, OfReductions) {
  // clang-format off
  expect_texts({
      {"[sum] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { sum(kMatrix, 2); }},
      {"[sum] axis 0 is named twice in [0, 0]", [] { return sum(kMatrix, {0, 0}); }},
      {"[sum] axis -2 is named twice in [0, -2]", [] { return sum(kMatrix, {0, -2}); }},
      {"[sum] axis 0 given, but a scalar has no axes", [] { sum(kNumber, 0); }},
      {"[mean] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { mean(kMatrixIds); }},
      {"[mean] axis -3 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { mean(kMatrix, -3); }},
      {"[var] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { var(kMatrixIds); }},
      {"[std] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { std(kMatrix, 2); }},
      {"[amax] expected at least one element along axes [0], got shape [0, 3]", [] { return amax(zeros({0, 3}), 0); }},
      {"[amin] expected at least one element along axes [], got shape [0]", [] { amin(zeros({0})); }},
      {"[logsumexp] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { logsumexp(kMatrixIds); }},
      {"[cumsum] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { cumsum(kMatrix, 2); }},
      {"[argmax] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { argmax(kMatrix, 2); }},
      {"[argmax] expected at least one element along axis 0, got shape [0]", [] { argmax(zeros({0})); }},
      {"[argmin] expected at least one element along axis 1, got shape [3, 0]",
       [] { return argmin(zeros({3, 0}), 1); }},
      {"[softmax] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { softmax(kMatrixIds); }},
      {"[softmax] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { softmax(kMatrix, 2); }},
      {"[sum_to] expected a shape that [2] broadcasts to, got [2, 3]", [] { sum_to(kMatrix, {2}); }},
      {"[sort] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { sort(kMatrix, 2); }},
      {"[topk] expected k between 0 and 3 for axis -1 of [2, 3], got 4", [] { topk(kMatrix, 4); }},
      {"[topk] expected k between 0 and 3 for axis -1 of [2, 3], got -1", [] { topk(kMatrix, -1); }},
  });
  // clang-format on
}

TEST(Errors, OfProducts) {
  // clang-format off
  expect_texts({
      {"[matmul] inner sizes differ: [2, 3] @ [4, 5] (3 against 4)", [] { matmul(kMatrix, kOtherMatrix); }},
      {"[matmul] inner sizes differ: [2, 3] @ [4, 1] (3 against 4)", [] { matmul(kMatrix, zeros({4})); }},
      {"[matmul] expected operands with at least one axis, got [] @ [2, 3] (use * for scalars)",
       [] { matmul(kNumber, kMatrix); }},
      {"[matmul] expected operands of one type, float32 or float64, got float32 of shape [2, 3] and float64 of shape "
       "[3, 2] (convert with to(kFloat32))",
       [] { matmul(kMatrix, kDoubles.t()); }},
      {"[matmul] expected operands of one type, float32 or float64, got int64 of shape [2, 3] and int64 of shape [3, "
       "2] (convert with to(kFloat32))",
       [] { matmul(kMatrixIds, kMatrixIds.t()); }},
      {"[matmul] shapes [2] and [3] do not broadcast: axis -1 has 2 against 3 (expected equal sizes, or 1)",
       [] { return matmul(zeros({2, 3, 4}), zeros({3, 4, 5})); }},
      {"[linear] expected an input with last axis 5 for weight [4, 5] [out, in], got [2, 3]",
       [] { linear(kMatrix, kOtherMatrix); }},
      {"[linear] expected a bias float32 [4], got float32 [3]",
       [] { return linear(kMatrix, zeros({4, 3}), zeros({3})); }},
      {"[linear] expected a weight [out, in], got [3]", [] { linear(kMatrix, zeros({3})); }},
      {"[linear] expected an input with last axis 3 for weight [2, 3] [out, in], got []",
       [] { linear(kNumber, kMatrix); }},
      {"[linear] expected operands of one type, float32 or float64, got float32 of shape [2, 3] and float64 of shape "
       "[4, 3] (convert with to(kFloat32))", [] { return linear(kMatrix, zeros({4, 3}, kFloat64)); }},
      {"[scaled_dot_product_attention] expected query and key with the same last size, got query [2, 3], key [4, 5], "
       "value "
       "[2, 3] (3 against 5)",
       [] { scaled_dot_product_attention(kMatrix, kOtherMatrix, kMatrix); }},
      {"[scaled_dot_product_attention] expected as many values as keys, got query [2, 3], key [4, 3], value [2, 3] (4 "
       "keys against 2 values)", [] { return scaled_dot_product_attention(kMatrix, zeros({4, 3}), kMatrix); }},
      {"[scaled_dot_product_attention] expected operands of one type, float32 or float64, got float32 of shape [2, 3] "
       "and "
       "float32 of shape [2, 3] and float64 of shape [2, 3] (convert with to(kFloat32))",
       [] { scaled_dot_product_attention(kMatrix, kMatrix, kDoubles); }},
      {"[scaled_dot_product_attention] expected two axes or more for each ([..., T, D]), got query [3], key [2, 3], "
       "value [2, 3]",
       [] { scaled_dot_product_attention(zeros({3}), kMatrix, kMatrix); }},
      {"[scaled_dot_product_attention] shapes [2] and [3] do not broadcast: axis -1 has 2 against 3 (expected equal "
       "sizes, or 1)",
       [] { return scaled_dot_product_attention(zeros({2, 4, 3}), zeros({3, 4, 3}), zeros({3, 4, 3})); }},
      {"[scaled_dot_product_attention] expected a mask that broadcasts to the scores [2, 2], got [2, 3]",
       [] { scaled_dot_product_attention(kMatrix, kMatrix, kMatrix, {.mask = kMask}); }},
      {"[scaled_dot_product_attention] expected a mask of bools (true: may be attended to) or floats (added to the "
       "scores), "
       "got "
       "int64",
       [] { return scaled_dot_product_attention(kMatrix, kMatrix, kMatrix, {.mask = zeros({2, 2}, kInt64)}); }},
      {"[scaled_dot_product_attention] expected dropout in [0, 1], got 1.5",
       [] { scaled_dot_product_attention(kMatrix, kMatrix, kMatrix, {.dropout = 1.5}); }},
      {"[dropout] expected the probability in [0, 1], got -0.1", [] { dropout(kMatrix, -0.1); }},
      {"[dropout] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { dropout(kMatrixIds, 0.5); }},
  });
  // clang-format on
}

TEST(Errors, OfJoiningAndIndexing) {
  // clang-format off
  expect_texts({
      {"[cat] expected at least one tensor, got none", [] { cat(std::vector<Tensor>{}); }},
      {"[cat] expected shapes that are equal except along axis 0, got [2, 3] and [4, 5]",
       [] { return cat({kMatrix, kOtherMatrix}); }},
      {"[cat] expected shapes that are equal except along axis 0, got [2, 3] and [2, 3, 1]",
       [] { return cat({kMatrix, zeros({2, 3, 1})}); }},
      {"[cat] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)",
       [] { return cat({kMatrix, kMatrix}, 2); }},
      {"[cat] axis 0 given, but a scalar has no axes", [] { return cat({kNumber, kNumber}); }},
      {"[stack] expected equal shapes, got [2, 3] and [4, 5]", [] { return stack({kMatrix, kOtherMatrix}); }},
      {"[stack] axis 3 is out of range for [2, 3] with a new axis", [] { return stack({kMatrix, kMatrix}, 3); }},
      {"[stack] expected at least one tensor, got none", [] { stack(std::vector<Tensor>{}); }},
      {"[split] expected pieces of size 1 or more, got 0", [] { split(kMatrix, 0); }},
      {"[split] expected pieces of size 1 or more, got -1", [] { split(kMatrix, -1); }},
      {"[split] expected sizes that add up to axis 0 of [2, 3], got [1, 2]",
       [] { return split(kMatrix, std::vector<int64_t>{1, 2}); }},
      {"[chunk] expected 1 chunk or more, got 0", [] { chunk(kMatrix, 0); }},
      {"[narrow] start 2 and length 2 are out of range for axis 1 of [2, 3]", [] { narrow(kMatrix, 1, 2, 2); }},
      {"[narrow] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { narrow(kMatrix, 2, 0, 1); }},
      {"[flip] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { flip(kMatrix, 2); }},
      {"[flip] axis 0 is named twice in [0, 0]", [] { return flip(kMatrix, {0, 0}); }},
      {"[index_select] 2 at [1] of the indices [2] is out of range for axis 0 of [2, 3]",
       [] { return index_select(kMatrix, 0, tensor({0, 2})); }},
      {"[index_select] -1 at [0] of the indices [1] is out of range for axis 0 of [2, 3]",
       [] { index_select(kMatrix, 0, tensor({-1})); }},
      {"[index_select] expected indices with one axis, got shape [2, 3]", [] { index_select(kMatrix, 0, kMatrix); }},
      {"[index_select] expected indices with one axis, got shape [2, 3]", [] { index_select(kMatrix, 0, kMatrixIds); }},
      {"[index_select] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)",
       [] { index_select(kMatrix, 2, tensor({0})); }},
      {"[gather] 2 at [0, 1] of the indices [1, 3] is out of range for axis 0 of [2, 3]",
       [] { return gather(kMatrix, 0, tensor({{0, 2, 0}})); }},
      {"[gather] expected indices with as many axes as x [2, 3], none of them longer, got shape [1]",
       [] { gather(kMatrix, 0, tensor({0})); }},
      {"[gather] expected indices with as many axes as x [2, 3], none of them longer, got shape [3, 1]",
       [] { return gather(kMatrix, 1, zeros({3, 1}, kInt64)); }},
      {"[scatter_add] 5 at [0, 1] of the indices [1, 3] is out of range for axis 0 of [2, 3]",
       [] { return scatter_add(kMatrix, 0, tensor({{0, 5, 0}}), zeros({1, 3})); }},
      {"[scatter_add] expected indices with as many axes as source [1, 3], none of them longer, got shape [2, 3]",
       [] { return scatter_add(kMatrix, 0, zeros({2, 3}, kInt64), zeros({1, 3})); }},
      {"[scatter_add] expected x and source of one type, got float32 and float64 (convert with source.to(x.dtype()))",
       [] { return scatter_add(kMatrix, 0, zeros({2, 3}, kInt64), kDoubles); }},
      {"[one_hot] 4 at [1] of the indices [2] is out of range for 4 classes",
       [] { return one_hot(tensor({0, 4}), 4); }},
      {"[one_hot] expected int64 indices, got float32 (convert with to(kInt64))", [] { one_hot(kMatrix, 4); }},
      {"[embedding] 2 at [1] of the ids [2] is out of range for a table of 2 rows",
       [] { return embedding(kMatrix, tensor({1, 2})); }},
      {"[embedding] -1 at [0] of the ids [1] is out of range for a table of 2 rows",
       [] { embedding(kMatrix, tensor({-1})); }},
      {"[embedding] expected int64 ids, got float32 (convert with to(kInt64))", [] { embedding(kMatrix, kMatrix); }},
      {"[embedding] expected a weight [rows, columns], got [3]", [] { embedding(zeros({3}), tensor({0})); }},
      {"[embedding] padding row 2 is out of range for a table of 2 rows", [] { embedding(kMatrix, tensor({0}), 2); }},
  });
  // clang-format on
}

TEST(Errors, OfNormsAndLosses) {
  const Tensor targets = tensor({0, 1});
  // clang-format off
  expect_texts({
      {"[layer_norm] expected weight and bias in the shape of the last axes of x [2, 3], got [2]",
       [] { layer_norm(kMatrix, zeros({2}), {}); }},
      {"[layer_norm] expected weight and bias of one shape, got [3] and [2]",
       [] { layer_norm(kMatrix, zeros({3}), zeros({2})); }},
      {"[layer_norm] expected operands of one type, float32 or float64, got int64 of shape [2, 3] (convert with "
       "to(kFloat32))",
       [] { layer_norm(kMatrixIds, {}, {}); }},
      {"[layer_norm] expected x with at least one axis, got a scalar", [] { layer_norm(kNumber, {}, {}); }},
      {"[layer_norm] expected operands of one type, float32 or float64, got float32 of shape [2, 3] and float64 of "
       "shape [3] (convert with to(kFloat32))",
       [] { layer_norm(kMatrix, zeros({3}, kFloat64), {}); }},
      {"[layer_norm_std] expected weight and bias of one shape, got [2] and [3]",
       [] { layer_norm_std(kMatrix, zeros({2}), zeros({3})); }},
      {"[rms_norm] expected weight and bias in the shape of the last axes of x [2, 3], got [4]",
       [] { rms_norm(kMatrix, zeros({4})); }},
      {"[cross_entropy] target 3 at [1] is out of range (classes go from 0 to 2, and -100 is ignored)",
       [=] { return cross_entropy(kMatrix, tensor({0, 3})); }},
      {"[cross_entropy] target -1 at [1] is out of range (classes go from 0 to 2, and -100 is ignored)",
       [=] { return cross_entropy(kMatrix, tensor({0, -1})); }},
      {"[cross_entropy] expected a target with the axes of the input [2, 3] except the last (the classes), got [3]",
       [=] { return cross_entropy(kMatrix, tensor({0, 1, 2})); }},
      {"[cross_entropy] expected int64 class numbers as the target, got bool",
       [=] { cross_entropy(kMatrix, zeros({2}, kBool)); }},
      {"[cross_entropy] expected int64 class numbers, or probabilities of shape [2, 3], got float32 of shape [4, 5]",
       [=] { cross_entropy(kMatrix, kOtherMatrix); }},
      {"[cross_entropy] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [=] { cross_entropy(kMatrixIds, targets); }},
      {"[cross_entropy] expected a target with the axes of the input [] except the last (the classes), got [2]",
       [=] { cross_entropy(kNumber, targets); }},
      {"[cross_entropy] expected label smoothing in [0, 1], got 2",
       [=] { cross_entropy(kMatrix, targets, {.label_smoothing = 2}); }},
      {"[nll_loss] target 3 at [1] is out of range (classes go from 0 to 2, and -100 is ignored)",
       [=] { return nll_loss(kMatrix, tensor({0, 3})); }},
      {"[nll_loss] expected a target with the axes of the input [2, 3] except the last (the classes), got [1]",
       [=] { nll_loss(kMatrix, tensor({0})); }},
      {"[mse_loss] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (expected equal sizes, or 1)",
       [] { mse_loss(kMatrix, kOtherMatrix); }},
      {"[mse_loss] expected float32 or float64, got int64 of shape [2, 3] (convert with to(kFloat32))",
       [] { mse_loss(kMatrixIds, kMatrixIds); }},
      {"[kl_div] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (expected equal sizes, or 1)",
       [] { kl_div(kMatrix, kOtherMatrix); }},
  });
  // clang-format on
}

}  // namespace
}  // namespace tapegrad::tests
