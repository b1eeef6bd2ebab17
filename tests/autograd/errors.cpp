// What operations say about wrong shapes, axes and types: every text, word by word.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tests/support/near.h>

#include <functional>

namespace tapegrad::tests {
namespace {

struct WrongCall {
  const char* text;
  std::function<void()> call;
};

const Tensor kX = zeros({2, 3});  // float32
const Tensor kY = zeros({4, 5});
const Tensor kIds = zeros({2, 3}, kInt64);
const Tensor kMask = zeros({2, 3}, kBool);
const Tensor kDoubles = zeros({2, 3}, kFloat64);
const Tensor kNumber = scalar(1);

void expect_texts(const std::vector<WrongCall>& calls) {
  for (const WrongCall& wrong : calls) EXPECT_EQ(error_of(wrong.call), wrong.text);
}

TEST(Errors, OfTensors) {
  expect_texts({
      {"[tensor] an empty handle was used (it was never given a value, or was moved from)", [] { Tensor().shape(); }},
      {"[item] a tensor of shape [2, 3] has 6 elements, not one", [] { kX.item(); }},
      {"[data] the tensor holds float32, but float64 was asked for", [] { kX.data<double>(); }},
      {"[size] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kX.size(2); }},
      {"[tensor] shape [2, -1] has a negative size",
       [] {
         zeros({2, -1});
       }},
      {"[shape] 9 axes given, at most 8 are possible",
       [] {
         zeros({1, 1, 1, 1, 1, 1, 1, 1, 1});
       }},
      {"[tensor] shape [1073741824, 1073741824] has more elements than a machine can hold",
       [] {
         zeros({1 << 30, 1 << 30});
       }},
      {"[tensor] 3 values were given for shape [2, 2], which has 4",
       [] {
         tensor(std::vector<double>{1, 2, 3}, {2, 2});
       }},
      {"[tensor] rows of 2 and of 1 values were given, all must be as long",
       [] {
         tensor({{1.0, 2.0}, {3.0}});
       }},
      {"[arange] from 0 to 1 in steps of 0 never ends", [] { arange(0, 1, 0); }},
      {"[linspace] makes float32 or float64, not int64", [] { linspace(0, 1, 3, kInt64); }},
      {"[tensor] shape [-3] has a negative size", [] { linspace(0, 1, -3); }},
      {"[tensor] shape [-1, -1] has a negative size", [] { eye(-1); }},
  });
}

TEST(Errors, OfViews) {
  expect_texts({
      {"[reshape] [2, 3] has 6 elements, which do not fill [4, 2]",
       [] {
         kX.reshape({4, 2});
       }},
      {"[reshape] [-1, -1] is no shape (sizes are 0 or more, and -1 once for the rest)",
       [] {
         kX.reshape({-1, -1});
       }},
      {"[reshape] [2, 3] has 6 elements, which do not fill [-1, 4]",
       [] {
         kX.reshape({-1, 4});
       }},
      {"[reshape] [-2, 3] is no shape (sizes are 0 or more, and -1 once for the rest)",
       [] {
         kX.reshape({-2, 3});
       }},
      {"[flatten] axis 1 stands behind axis 0 in [2, 3]", [] { kX.flatten(1, 0); }},
      {"[flatten] axis 5 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kX.flatten(0, 5); }},
      {"[transpose] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kX.transpose(0, 2); }},
      {"[transpose] axis 0 given, but a scalar has no axes", [] { kNumber.transpose(0, 1); }},
      {"[permute] [0] names 1 axes, [2, 3] has 2", [] { kX.permute({0}); }},
      {"[permute] [0, 0] names axis 0 twice",
       [] {
         kX.permute({0, 0});
       }},
      {"[permute] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)",
       [] {
         kX.permute({0, 2});
       }},
      {"[slice] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kX.slice(2); }},
      {"[slice] the step must not be zero", [] { kX.slice(0, 0, 1, 0); }},
      {"[select] index 2 is out of range for axis 0 of [2, 3]", [] { kX[2]; }},
      {"[select] index -4 is out of range for axis 1 of [2, 3]", [] { kX.select(1, -4); }},
      {"[select] axis 0 given, but a scalar has no axes", [] { kNumber[0]; }},
      {"[expand] [2, 3] does not expand to [2, 4] (only axes of size 1 and new leading ones grow)",
       [] {
         kX.expand({2, 4});
       }},
      {"[expand] [2, 3] does not expand to [3] (only axes of size 1 and new leading ones grow)",
       [] { kX.expand({3}); }},
      {"[squeeze] axis 0 of [2, 3] has size 2, not 1", [] { kX.squeeze(0); }},
      {"[squeeze] axis 5 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { kX.squeeze(5); }},
      {"[unsqueeze] axis 4 is out of range for [2, 3] with one axis more", [] { kX.unsqueeze(4); }},
  });
}

TEST(Errors, OfElementwiseOperations) {
  expect_texts({
      {"[add] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or 1)",
       [] { kX + kY; }},
      {"[mul] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or 1)",
       [] { kX* kY; }},
      {"[pow] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or 1)",
       [] { pow(kX, kY); }},
      {"[maximum] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or 1)",
       [] { maximum(kX, kY); }},
      {"[eq] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or 1)",
       [] { eq(kX, kY); }},
      {"[tensor] an empty handle was used (it was never given a value, or was moved from)", [] { sub(kX, Tensor()); }},
      {"[exp] needs float32 or float64, int64 of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { exp(kIds); }},
      {"[sqrt] needs float32 or float64, bool of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { sqrt(kMask); }},
      {"[gelu] needs float32 or float64, int64 of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { gelu(kIds); }},
      {"[relu] needs float32 or float64, bool of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { relu(kMask); }},
      {"[sigmoid] needs float32 or float64, int64 of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { sigmoid(kIds); }},
      {"[logical_and] needs bool, float32 of shape [2, 3] was given (compare it first: x != 0)",
       [] { logical_and(kX, kMask); }},
      {"[logical_not] needs bool, float32 of shape [2, 3] was given (compare it first: x != 0)",
       [] { logical_not(kX); }},
      {"[clamp] needs a lower bound, an upper bound or both", [] { clamp(kX, {}, {}); }},
      {"[where] the condition must be bool, float32 of shape [2, 3] was given (compare it first: x != 0)",
       [] { where(kX, kX, kX); }},
      {"[where] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or 1)",
       [] { where(kMask, kX, kY); }},
      {"[masked_fill] the mask must be bool, float32 of shape [2, 3] was given (compare it first: x != 0)",
       [] { masked_fill(kX, kX, 0); }},
      {"[masked_fill] a mask of shape [4] does not broadcast to [2, 3]", [] { masked_fill(kX, zeros({4}, kBool), 0); }},
      {"[masked_fill] a mask of shape [2, 3] does not broadcast to []", [] { masked_fill(kNumber, kMask, 0); }},
      {"[tril] needs two axes or more, x has shape [3]", [] { tril(zeros({3})); }},
      {"[triu] needs two axes or more, x has shape []", [] { triu(kNumber); }},
      {"[all] needs bool, float32 of shape [2, 3] was given (compare it first: x != 0)", [] { all(kX); }},
      {"[any] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { any(kMask, 2); }},
  });
}

TEST(Errors, OfReductions) {
  expect_texts({
      {"[sum] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { sum(kX, 2); }},
      {"[sum] axis 0 is named twice in [0, 0]",
       [] {
         sum(kX, {0, 0});
       }},
      {"[sum] axis -2 is named twice in [0, -2]",
       [] {
         sum(kX, {0, -2});
       }},
      {"[sum] axis 0 given, but a scalar has no axes", [] { sum(kNumber, 0); }},
      {"[mean] needs float32 or float64, int64 of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { mean(kIds); }},
      {"[mean] axis -3 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { mean(kX, -3); }},
      {"[var] needs float32 or float64, int64 of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { var(kIds); }},
      {"[std] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { std(kX, 2); }},
      {"[amax] [0, 3] has no elements over axes [0], and nothing has no extreme",
       [] {
         amax(zeros({0, 3}), 0);
       }},
      {"[amin] [0] has no elements over axes [], and nothing has no extreme", [] { amin(zeros({0})); }},
      {"[logsumexp] needs float32 or float64, int64 of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { logsumexp(kIds); }},
      {"[cumsum] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { cumsum(kX, 2); }},
      {"[argmax] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { argmax(kX, 2); }},
      {"[argmax] axis 0 of [0] has no elements, and nothing has no extreme", [] { argmax(zeros({0})); }},
      {"[argmin] axis 1 of [3, 0] has no elements, and nothing has no extreme",
       [] {
         argmin(zeros({3, 0}), 1);
       }},
      {"[softmax] [2, 3] of type int64 was given, float32 or float64 is needed (convert it by to())",
       [] { softmax(kIds); }},
      {"[softmax] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { softmax(kX, 2); }},
      {"[sum_to] [2, 3] is not what [2] broadcasts to", [] { sum_to(kX, {2}); }},
      {"[sort] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { sort(kX, 2); }},
      {"[topk] k = 4 is out of range for axis 1 of [2, 3] (0 to 3)", [] { topk(kX, 4); }},
      {"[topk] k = -1 is out of range for axis 1 of [2, 3] (0 to 3)", [] { topk(kX, -1); }},
  });
}

TEST(Errors, OfProducts) {
  expect_texts({
      {"[matmul] inner sizes differ: [2, 3] @ [4, 5] (3 against 4)", [] { matmul(kX, kY); }},
      {"[matmul] inner sizes differ: [2, 3] @ [4, 1] (3 against 4)", [] { matmul(kX, zeros({4})); }},
      {"[matmul] [] @ [2, 3]: a scalar has no rows and columns (use *)", [] { matmul(kNumber, kX); }},
      {"[matmul] operands are float32 and float64, both must be float32 or both float64",
       [] { matmul(kX, kDoubles.t()); }},
      {"[matmul] operands are int64 and int64, both must be float32 or both float64", [] { matmul(kIds, kIds.t()); }},
      {"[matmul] shapes [2] and [3] do not broadcast: axis -1 has 2 against 3 (sizes must be equal or 1)",
       [] {
         matmul(zeros({2, 3, 4}), zeros({3, 4, 5}));
       }},
      {"[linear] input [2, 3] does not fit weight [4, 5] [out, in]: the last axis must be 5", [] { linear(kX, kY); }},
      {"[linear] the bias is float32 [3], float32 [4] is needed",
       [] {
         linear(kX, zeros({4, 3}), zeros({3}));
       }},
      {"[linear] the weight has shape [3], [out, in] is needed", [] { linear(kX, zeros({3})); }},
      {"[linear] input [] does not fit weight [2, 3] [out, in]: the last axis must be 3", [] { linear(kNumber, kX); }},
      {"[linear] operands are float32 and float64, both must be float32 or both float64",
       [] {
         linear(kX, zeros({4, 3}, kFloat64));
       }},
      {"[scaled_dot_product_attention] query [2, 3], key [4, 5], value [2, 3]: query and key differ in their last size "
       "(3 against 5)",
       [] { scaled_dot_product_attention(kX, kY, kX); }},
      {"[scaled_dot_product_attention] query [2, 3], key [4, 3], value [2, 3]: 4 keys against 2 values",
       [] {
         scaled_dot_product_attention(kX, zeros({4, 3}), kX);
       }},
      {"[scaled_dot_product_attention] query, key and value are float32, float32 and float64: all must be float32 or "
       "all float64",
       [] { scaled_dot_product_attention(kX, kX, kDoubles); }},
      {"[scaled_dot_product_attention] query [3], key [2, 3], value [2, 3]: each needs two axes at least ([..., T, D])",
       [] { scaled_dot_product_attention(zeros({3}), kX, kX); }},
      {"[scaled_dot_product_attention] shapes [2] and [3] do not broadcast: axis -1 has 2 against 3 (sizes must be "
       "equal or 1)",
       [] {
         scaled_dot_product_attention(zeros({2, 4, 3}), zeros({3, 4, 3}), zeros({3, 4, 3}));
       }},
      {"[scaled_dot_product_attention] the mask [2, 3] does not broadcast to the scores [2, 2]",
       [] { scaled_dot_product_attention(kX, kX, kX, {.mask = kMask}); }},
      {"[scaled_dot_product_attention] the mask is int64; it must be bool (true may be seen) or floating (added to the "
       "scores)",
       [] {
         scaled_dot_product_attention(kX, kX, kX, {.mask = zeros({2, 2}, kInt64)});
       }},
      {"[scaled_dot_product_attention] dropout 1.5 is no probability (0 to 1)",
       [] { scaled_dot_product_attention(kX, kX, kX, {.dropout = 1.5}); }},
      {"[dropout] probability -0.1, need one in [0, 1]", [] { dropout(kX, -0.1); }},
      {"[dropout] needs float32 or float64, int64 of shape [2, 3] was given (convert it by to(kFloat32))",
       [] { dropout(kIds, 0.5); }},
  });
}

TEST(Errors, OfJoiningAndIndexing) {
  expect_texts({
      {"[cat] no tensors were given", [] { cat(std::vector<Tensor>{}); }},
      {"[cat] shapes [2, 3] and [4, 5] do not join along axis 0: all other axes must be equal",
       [] {
         cat({kX, kY});
       }},
      {"[cat] shapes [2, 3] and [2, 3, 1] do not join along axis 0: all other axes must be equal",
       [] {
         cat({kX, zeros({2, 3, 1})});
       }},
      {"[cat] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)",
       [] {
         cat({kX, kX}, 2);
       }},
      {"[cat] axis 0 given, but a scalar has no axes",
       [] {
         cat({kNumber, kNumber});
       }},
      {"[stack] shapes [2, 3] and [4, 5] differ, all must be equal",
       [] {
         stack({kX, kY});
       }},
      {"[stack] axis 3 is out of range for [2, 3] with one axis more",
       [] {
         stack({kX, kX}, 3);
       }},
      {"[stack] no tensors were given", [] { stack(std::vector<Tensor>{}); }},
      {"[split] pieces of size 0 were asked for, 1 or more is needed", [] { split(kX, 0); }},
      {"[split] pieces of size -1 were asked for, 1 or more is needed", [] { split(kX, -1); }},
      {"[split] sizes [1, 2] do not make up axis 0 of [2, 3]",
       [] {
         split(kX, std::vector<int64_t>{1, 2});
       }},
      {"[chunk] 0 chunks were asked for, 1 or more is needed", [] { chunk(kX, 0); }},
      {"[narrow] start 2 and length 2 do not lie inside of axis 1 of [2, 3]", [] { narrow(kX, 1, 2, 2); }},
      {"[narrow] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { narrow(kX, 2, 0, 1); }},
      {"[flip] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { flip(kX, 2); }},
      {"[flip] axis 0 is named twice in [0, 0]",
       [] {
         flip(kX, {0, 0});
       }},
      {"[index_select] 2 at [1] of the indices [2] is out of range: axis 0 of [2, 3]",
       [] {
         index_select(kX, 0, tensor({0, 2}));
       }},
      {"[index_select] -1 at [0] of the indices [1] is out of range: axis 0 of [2, 3]",
       [] { index_select(kX, 0, tensor({-1})); }},
      {"[index_select] the indices have shape [2, 3], one axis is needed", [] { index_select(kX, 0, kX); }},
      {"[index_select] the indices have shape [2, 3], one axis is needed", [] { index_select(kX, 0, kIds); }},
      {"[index_select] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)",
       [] { index_select(kX, 2, tensor({0})); }},
      {"[gather] 2 at [0, 1] of the indices [1, 3] is out of range: axis 0 of [2, 3]",
       [] {
         gather(kX, 0, tensor({{0, 2, 0}}));
       }},
      {"[gather] indices of shape [1] do not lie inside of x [2, 3] (as many axes are needed)",
       [] { gather(kX, 0, tensor({0})); }},
      {"[gather] indices of shape [3, 1] do not lie inside of x [2, 3] (each axis must be as long or shorter)",
       [] {
         gather(kX, 1, zeros({3, 1}, kInt64));
       }},
      {"[scatter_add] 5 at [0, 1] of the indices [1, 3] is out of range: axis 0 of [2, 3]",
       [] {
         scatter_add(kX, 0, tensor({{0, 5, 0}}), zeros({1, 3}));
       }},
      {"[scatter_add] indices of shape [2, 3] do not lie inside of source [1, 3] (each axis must be as long or "
       "shorter)",
       [] {
         scatter_add(kX, 0, zeros({2, 3}, kInt64), zeros({1, 3}));
       }},
      {"[scatter_add] x is float32, source float64 (one type is needed)",
       [] {
         scatter_add(kX, 0, zeros({2, 3}, kInt64), kDoubles);
       }},
      {"[one_hot] 4 at [1] of the indices [2] is out of range: there are 4 classes",
       [] {
         one_hot(tensor({0, 4}), 4);
       }},
      {"[one_hot] the indices are float32, int64 is needed", [] { one_hot(kX, 4); }},
      {"[embedding] 2 at [1] of the ids [2] is out of range: the table has 2 rows",
       [] {
         embedding(kX, tensor({1, 2}));
       }},
      {"[embedding] -1 at [0] of the ids [1] is out of range: the table has 2 rows",
       [] { embedding(kX, tensor({-1})); }},
      {"[embedding] the ids are float32, int64 is needed", [] { embedding(kX, kX); }},
      {"[embedding] weight has shape [3], [rows, columns] is needed", [] { embedding(zeros({3}), tensor({0})); }},
      {"[embedding] padding row 2 is out of range for a table of 2 rows", [] { embedding(kX, tensor({0}), 2); }},
  });
}

TEST(Errors, OfNormsAndLosses) {
  const Tensor targets = tensor({0, 1});
  expect_texts({
      {"[layer_norm] weight or bias has shape [2], it must be the last axes of x [2, 3]",
       [] { layer_norm(kX, zeros({2}), {}); }},
      {"[layer_norm] weight has shape [3], bias [2]", [] { layer_norm(kX, zeros({3}), zeros({2})); }},
      {"[layer_norm] x of type int64 was given, float32 or float64 is needed", [] { layer_norm(kIds, {}, {}); }},
      {"[layer_norm] x has no axes, at least one is needed", [] { layer_norm(kNumber, {}, {}); }},
      {"[layer_norm] x is float32, weight or bias float64 (one type is needed)",
       [] { layer_norm(kX, zeros({3}, kFloat64), {}); }},
      {"[layer_norm_std] weight or bias has shape [2], it must be the last axes of x [2, 3]",
       [] { layer_norm_std(kX, zeros({2}), zeros({3})); }},
      {"[rms_norm] weight or bias has shape [4], it must be the last axes of x [2, 3]",
       [] { rms_norm(kX, zeros({4})); }},
      {"[cross_entropy] target 3 at [1] is out of range: classes go from 0 to 2, and -100 is ignored",
       [=] {
         cross_entropy(kX, tensor({0, 3}));
       }},
      {"[cross_entropy] target -1 at [1] is out of range: classes go from 0 to 2, and -100 is ignored",
       [=] {
         cross_entropy(kX, tensor({0, -1}));
       }},
      {"[cross_entropy] input [2, 3] and target [3] do not go together: the target has the input's axes without the "
       "last, which holds the classes",
       [=] {
         cross_entropy(kX, tensor({0, 1, 2}));
       }},
      {"[cross_entropy] the target is float32, int64 class numbers are needed", [=] { cross_entropy(kX, kX); }},
      {"[cross_entropy] the input is int64, float32 or float64 is needed", [=] { cross_entropy(kIds, targets); }},
      {"[cross_entropy] input [] and target [2] do not go together: the target has the input's axes without the last, "
       "which holds the classes",
       [=] { cross_entropy(kNumber, targets); }},
      {"[cross_entropy] label smoothing 2 is outside of [0, 1]",
       [=] { cross_entropy(kX, targets, {.label_smoothing = 2}); }},
      {"[nll_loss] target 3 at [1] is out of range: classes go from 0 to 2, and -100 is ignored",
       [=] {
         nll_loss(kX, tensor({0, 3}));
       }},
      {"[nll_loss] input [2, 3] and target [1] do not go together: the target has the input's axes without the last, "
       "which holds the classes",
       [=] { nll_loss(kX, tensor({0})); }},
      {"[mse_loss] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or 1)",
       [] { mse_loss(kX, kY); }},
      {"[mse_loss] input is int64, target int64, both must be float32 or float64", [] { mse_loss(kIds, kIds); }},
      {"[kl_div] shapes [2, 3] and [4, 5] do not broadcast: axis -1 has 3 against 5 (sizes must be equal or 1)",
       [] { kl_div(kX, kY); }},
  });
}

}  // namespace
}  // namespace tapegrad::tests
