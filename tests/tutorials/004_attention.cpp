// Tutorial 004, attention step by step on a sentence of six words: every tensor that cells 2 to 42 print, to the
// character.
#include <gtest/gtest.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/self_attention.h>
#include <tapegrad/tutorials/programs/attention.h>

#include <cmath>

namespace tapegrad {
namespace {

// Your journey starts with one step
Tensor inputs() {
  return tensor({{0.43, 0.15, 0.89},
                 {0.55, 0.87, 0.66},
                 {0.57, 0.85, 0.64},
                 {0.22, 0.58, 0.33},
                 {0.77, 0.25, 0.10},
                 {0.05, 0.80, 0.55}});
}

Tensor batch() { return stack({inputs(), inputs()}); }

// A sum is 1 or an adjacent float, printed as 1. or 1.0000; this depends on the order of the additions, so on the
// kernel family. AVX2's order gives the tutorial's output.
void expect_shares_sum(const Tensor& sums, const char* printed) {
  for (const double sum : sums.to(kFloat64).to_vector<double>()) EXPECT_NEAR(sum, 1, 2.5e-7);
  if (kernel_family() == KernelFamily::avx2) {
    EXPECT_EQ(str(sums), printed);
  }
}

TEST(Tutorial004, Cells3To8OneQuery) {
  const Tensor x = inputs(), query = x[1];
  std::vector<Tensor> scores_of;
  for (int64_t i = 0; i < 6; ++i) scores_of.push_back(matmul(x[i], query));
  const Tensor scores = stack(scores_of);
  EXPECT_EQ(str(scores), "tensor([0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865])");
  EXPECT_EQ(str(scores), str(matmul(x, query)));
  EXPECT_EQ(str(sum(x[0] * query)), "tensor(0.9544)");
  EXPECT_EQ(str(matmul(x[0], query)), "tensor(0.9544)");

  const Tensor shares = scores / sum(scores);
  EXPECT_EQ(str(shares), "tensor([0.1455, 0.2278, 0.2249, 0.1285, 0.1077, 0.1656])");
  expect_shares_sum(sum(shares), "tensor(1.0000)");
  const Tensor naive = exp(scores) / sum(exp(scores));
  EXPECT_EQ(str(naive), "tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581])");
  expect_shares_sum(sum(naive), "tensor(1.)");
  const Tensor weights = softmax(scores);
  EXPECT_EQ(str(weights), "tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581])");
  expect_shares_sum(sum(weights), "tensor(1.)");

  Tensor context = zeros(query.shape());
  for (int64_t i = 0; i < 6; ++i) context = context + weights[i] * x[i];
  EXPECT_EQ(str(context), "tensor([0.4419, 0.6515, 0.5683])");  // cells 8 and 14
}

TEST(Tutorial004, Cells9To14AllQueries) {
  const Tensor x = inputs(), scores = matmul(x, x.t());
  EXPECT_EQ(str(scores), R"(tensor([[0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310],
        [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865],
        [0.9422, 1.4754, 1.4570, 0.8296, 0.7154, 1.0605],
        [0.4753, 0.8434, 0.8296, 0.4937, 0.3474, 0.6565],
        [0.4576, 0.7070, 0.7154, 0.3474, 0.6654, 0.2935],
        [0.6310, 1.0865, 1.0605, 0.6565, 0.2935, 0.9450]]))");
  std::vector<Tensor> by_pairs;
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 6; ++j) by_pairs.push_back(matmul(x[i], x[j]));
  }
  EXPECT_EQ(str(stack(by_pairs).reshape({6, 6})), str(scores));
  const Tensor weights = softmax(scores);
  EXPECT_EQ(str(weights), R"(tensor([[0.2098, 0.2006, 0.1981, 0.1242, 0.1220, 0.1452],
        [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581],
        [0.1390, 0.2369, 0.2326, 0.1242, 0.1108, 0.1565],
        [0.1435, 0.2074, 0.2046, 0.1462, 0.1263, 0.1720],
        [0.1526, 0.1958, 0.1975, 0.1367, 0.1879, 0.1295],
        [0.1385, 0.2184, 0.2128, 0.1420, 0.0988, 0.1896]]))");
  expect_shares_sum(sum(weights, -1), "tensor([1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000])");
  double as_printed = 0;  // cell 12 adds up the four digits
  for (const double share : weights[1].to(kFloat64).to_vector<double>()) as_printed += std::round(share * 1e4) / 1e4;
  EXPECT_EQ(as_printed, 1.0);
  EXPECT_EQ(str(matmul(weights, x)), R"(tensor([[0.4421, 0.5931, 0.5790],
        [0.4419, 0.6515, 0.5683],
        [0.4431, 0.6496, 0.5671],
        [0.4304, 0.6298, 0.5510],
        [0.4671, 0.5910, 0.5266],
        [0.4177, 0.6503, 0.5645]]))");
}

TEST(Tutorial004, Cells16To24TrainableWeights) {
  const Tensor x = inputs(), x_2 = x[1];
  EXPECT_EQ(str(x_2), "tensor([0.5500, 0.8700, 0.6600])");
  manual_seed(123);
  const Tensor w_query = rand({3, 2}), w_key = rand({3, 2}), w_value = rand({3, 2});
  const Tensor query_2 = matmul(x_2, w_query), keys = matmul(x, w_key), values = matmul(x, w_value);
  EXPECT_EQ(str(query_2), "tensor([0.4306, 1.4551])");
  EXPECT_EQ(str(x_2.shape()) + str(w_query.shape()) + str(query_2.shape()), "[3][3, 2][2]");
  EXPECT_EQ(str(keys.shape()) + str(values.shape()), "[6, 2][6, 2]");
  EXPECT_EQ(str(matmul(query_2, keys[1])), "tensor(1.8524)");
  const Tensor scores = matmul(query_2, keys.t());
  EXPECT_EQ(str(scores), "tensor([1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440])");
  EXPECT_EQ(keys.size(1), 2);
  const Tensor weights = softmax(scores / std::sqrt(2.0));
  EXPECT_EQ(str(weights), "tensor([0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820])");
  EXPECT_EQ(str(matmul(weights, values)), "tensor([0.3061, 0.8210])");
}

TEST(Tutorial004, Cell25SelfAttentionV1) {
  manual_seed(123);
  const tasks::SelfAttentionV1 attention(3, 2);
  EXPECT_EQ(str(attention(inputs())), R"(tensor([[0.2996, 0.8053],
        [0.3061, 0.8210],
        [0.3058, 0.8203],
        [0.2948, 0.7939],
        [0.2927, 0.7891],
        [0.2990, 0.8040]]))");
}

TEST(Tutorial004, Cell27SelfAttentionV2) {
  manual_seed(789);
  const tasks::SelfAttentionV2 attention(3, 2);
  EXPECT_EQ(str(attention(inputs())), R"(tensor([[-0.0739,  0.0713],
        [-0.0748,  0.0703],
        [-0.0749,  0.0702],
        [-0.0760,  0.0685],
        [-0.0763,  0.0679],
        [-0.0754,  0.0693]]))");
}

// A bare matrix [d_in, d_out] is a linear layer's weight transposed: with V2's weights, V1 gives what V2 gives.
TEST(Tutorial004, Cells25And27BothFormsOfSelfAttentionAgree) {
  manual_seed(789);
  const tasks::SelfAttentionV2 second(3, 2);
  tasks::SelfAttentionV1 first(3, 2);
  first.query.set(second.query.weight.tensor().t());
  first.key.set(second.key.weight.tensor().t());
  first.value.set(second.value.weight.tensor().t());
  EXPECT_LT(amax(abs(first(inputs()) - second(inputs()))).item(), 1e-7);
}

// The input of cells 28 to 36: the scores of V2's queries and keys, seed 789.
Tensor scores_of_v2() {
  manual_seed(789);
  const tasks::SelfAttentionV2 attention(3, 2);
  return matmul(attention.query(inputs()), attention.key(inputs()).t());
}

Tensor causal_weights() {
  return softmax(masked_fill(scores_of_v2(), triu(ones({6, 6}), 1).to(kBool), -INFINITY) / std::sqrt(2.0));
}

constexpr char kCausalWeights[] = R"(tensor([[1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000],
        [0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000],
        [0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529]]))";

TEST(Tutorial004, Cells28To31MaskingAfterSoftmax) {
  const Tensor weights = softmax(scores_of_v2() / std::sqrt(2.0));
  EXPECT_EQ(str(weights), R"(tensor([[0.1921, 0.1646, 0.1652, 0.1550, 0.1721, 0.1510],
        [0.2041, 0.1659, 0.1662, 0.1496, 0.1665, 0.1477],
        [0.2036, 0.1659, 0.1662, 0.1498, 0.1664, 0.1480],
        [0.1869, 0.1667, 0.1668, 0.1571, 0.1661, 0.1564],
        [0.1830, 0.1669, 0.1670, 0.1588, 0.1658, 0.1585],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529]]))");
  const Tensor past = tril(ones({6, 6}));
  EXPECT_EQ(str(past), R"(tensor([[1., 0., 0., 0., 0., 0.],
        [1., 1., 0., 0., 0., 0.],
        [1., 1., 1., 0., 0., 0.],
        [1., 1., 1., 1., 0., 0.],
        [1., 1., 1., 1., 1., 0.],
        [1., 1., 1., 1., 1., 1.]]))");
  const Tensor masked = weights * past;
  EXPECT_EQ(str(masked), R"(tensor([[0.1921, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.2041, 0.1659, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.2036, 0.1659, 0.1662, 0.0000, 0.0000, 0.0000],
        [0.1869, 0.1667, 0.1668, 0.1571, 0.0000, 0.0000],
        [0.1830, 0.1669, 0.1670, 0.1588, 0.1658, 0.0000],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529]]))");
  EXPECT_EQ(str(masked / sum(masked, -1, true)), kCausalWeights);
}

TEST(Tutorial004, Cells32And33MaskingBeforeSoftmax) {
  EXPECT_EQ(str(masked_fill(scores_of_v2(), triu(ones({6, 6}), 1).to(kBool), -INFINITY)),
            R"(tensor([[0.2899,   -inf,   -inf,   -inf,   -inf,   -inf],
        [0.4656, 0.1723,   -inf,   -inf,   -inf,   -inf],
        [0.4594, 0.1703, 0.1731,   -inf,   -inf,   -inf],
        [0.2642, 0.1024, 0.1036, 0.0186,   -inf,   -inf],
        [0.2183, 0.0874, 0.0882, 0.0177, 0.0786,   -inf],
        [0.3408, 0.1270, 0.1290, 0.0198, 0.1290, 0.0078]]))");
  EXPECT_EQ(str(causal_weights()), kCausalWeights);
}

TEST(Tutorial004, Cells35And36Dropout) {
  const nn::Dropout dropout(0.5);
  manual_seed(123);
  EXPECT_EQ(str(dropout(ones({6, 6}))), R"(tensor([[2., 2., 0., 2., 2., 0.],
        [0., 0., 0., 2., 0., 2.],
        [2., 2., 2., 2., 0., 2.],
        [0., 2., 2., 0., 0., 2.],
        [0., 2., 0., 2., 0., 2.],
        [0., 2., 2., 2., 2., 0.]]))");
  const Tensor weights = causal_weights();
  manual_seed(123);
  EXPECT_EQ(str(dropout(weights)), R"(tensor([[2.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.7599, 0.6194, 0.6206, 0.0000, 0.0000, 0.0000],
        [0.0000, 0.4921, 0.4925, 0.0000, 0.0000, 0.0000],
        [0.0000, 0.3966, 0.0000, 0.3775, 0.0000, 0.0000],
        [0.0000, 0.3327, 0.3331, 0.3084, 0.3331, 0.0000]]))");
}

// The same cells as PyTorch prints them with Intel's MKL.
TEST(Tutorial004, Cells35And36DropoutInTheMklStream) {
  const Tensor weights = causal_weights();
  const nn::Dropout dropout(0.5);
  default_generator().set_mask_stream(MaskStream::kMcg31m1);
  manual_seed(123);
  const Tensor mask = dropout(ones({6, 6}));
  manual_seed(123);
  const Tensor dropped = dropout(weights);
  default_generator().set_mask_stream(MaskStream::kMt19937);
  EXPECT_EQ(str(mask), R"(tensor([[2., 2., 2., 2., 2., 2.],
        [0., 2., 0., 0., 0., 0.],
        [0., 0., 2., 0., 2., 0.],
        [2., 2., 0., 0., 0., 2.],
        [2., 0., 0., 0., 0., 2.],
        [0., 2., 0., 0., 0., 0.]]))");
  EXPECT_EQ(str(dropped), R"(tensor([[2.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.0000, 0.8966, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.0000, 0.0000, 0.6206, 0.0000, 0.0000, 0.0000],
        [0.5517, 0.4921, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.4350, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.0000, 0.3327, 0.0000, 0.0000, 0.0000, 0.0000]]))");
}

TEST(Tutorial004, Cells37And38CausalAttention) {
  EXPECT_EQ(str(batch().shape()), "[2, 6, 3]");
  manual_seed(123);
  const tasks::CausalAttention attention(3, 2, 6, 0.0);
  const Tensor context = attention(batch());
  EXPECT_EQ(str(context), R"(tensor([[[-0.4519,  0.2216],
         [-0.5874,  0.0058],
         [-0.6300, -0.0632],
         [-0.5675, -0.0843],
         [-0.5526, -0.0981],
         [-0.5299, -0.1081]],

        [[-0.4519,  0.2216],
         [-0.5874,  0.0058],
         [-0.6300, -0.0632],
         [-0.5675, -0.0843],
         [-0.5526, -0.0981],
         [-0.5299, -0.1081]]]))");
  EXPECT_EQ(str(context.shape()), "[2, 6, 2]");
  // A shorter sentence uses a corner of the mask; its words attend to the same words as before.
  EXPECT_LT(amax(abs(attention(narrow(batch(), 1, 0, 4)) - narrow(context, 1, 0, 4))).item(), 1e-6);
}

TEST(Tutorial004, Cell39MultiHeadAttentionWrapper) {
  manual_seed(123);
  const tasks::MultiHeadAttentionWrapper attention(3, 2, 6, 0.0, 2);
  const Tensor context = attention(batch());
  EXPECT_EQ(str(context), R"(tensor([[[-0.4519,  0.2216,  0.4772,  0.1063],
         [-0.5874,  0.0058,  0.5891,  0.3257],
         [-0.6300, -0.0632,  0.6202,  0.3860],
         [-0.5675, -0.0843,  0.5478,  0.3589],
         [-0.5526, -0.0981,  0.5321,  0.3428],
         [-0.5299, -0.1081,  0.5077,  0.3493]],

        [[-0.4519,  0.2216,  0.4772,  0.1063],
         [-0.5874,  0.0058,  0.5891,  0.3257],
         [-0.6300, -0.0632,  0.6202,  0.3860],
         [-0.5675, -0.0843,  0.5478,  0.3589],
         [-0.5526, -0.0981,  0.5321,  0.3428],
         [-0.5299, -0.1081,  0.5077,  0.3493]]]))");
  EXPECT_EQ(str(context.shape()), "[2, 6, 4]");
}

TEST(Tutorial004, Cell40MultiHeadAttention) {
  manual_seed(123);
  const nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 2, .num_heads = 2, .context_length = 6});
  const Tensor context = attention(batch());
  EXPECT_EQ(str(context), R"(tensor([[[0.3190, 0.4858],
         [0.2943, 0.3897],
         [0.2856, 0.3593],
         [0.2693, 0.3873],
         [0.2639, 0.3928],
         [0.2575, 0.4028]],

        [[0.3190, 0.4858],
         [0.2943, 0.3897],
         [0.2856, 0.3593],
         [0.2693, 0.3873],
         [0.2639, 0.3928],
         [0.2575, 0.4028]]]))");
  EXPECT_EQ(str(context.shape()), "[2, 6, 2]");
}

TEST(Tutorial004, Cells41And42ProductsOfHeads) {
  const Tensor a = tensor({{0.2745, 0.6584, 0.2775, 0.8573},
                           {0.8993, 0.0390, 0.9268, 0.7388},
                           {0.7179, 0.7058, 0.9156, 0.4340},
                           {0.0772, 0.3565, 0.1479, 0.5331},
                           {0.4066, 0.2318, 0.4545, 0.9737},
                           {0.4606, 0.5159, 0.4220, 0.5786}})
                       .reshape({1, 2, 3, 4});
  EXPECT_EQ(str(matmul(a, a.transpose(2, 3))), R"(tensor([[[[1.3208, 1.1631, 1.2879],
          [1.1631, 2.2150, 1.8424],
          [1.2879, 1.8424, 2.0402]],

         [[0.4391, 0.7003, 0.5903],
          [0.7003, 1.3737, 1.0620],
          [0.5903, 1.0620, 0.9912]]]]))");
  EXPECT_EQ(str(a.shape()), "[1, 2, 3, 4]");
  EXPECT_EQ(str(matmul(a[0][0], a[0][0].t())), R"(tensor([[1.3208, 1.1631, 1.2879],
        [1.1631, 2.2150, 1.8424],
        [1.2879, 1.8424, 2.0402]]))");
  EXPECT_EQ(str(matmul(a[0][1], a[0][1].t())), R"(tensor([[0.4391, 0.7003, 0.5903],
        [0.7003, 1.3737, 1.0620],
        [0.5903, 1.0620, 0.9912]]))");
}

}  // namespace
}  // namespace tapegrad
