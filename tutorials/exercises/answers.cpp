// What the functions of each exercise are called with, and what the library computes for it.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/rope.h>
#include <tapegrad/nn/sinusoidal_positions.h>
#include <tapegrad/optim/schedule.h>
#include <tapegrad/tutorials/exercises/exercise.h>
#include <tapegrad/tutorials/pages/journey.h>

#include <cmath>

namespace tapegrad::tasks::exercises {
namespace {

// Numbers without a pattern between -2 and 2, the same ones for the same shape.
Tensor numbers_of(const Shape& shape) {
  // i -> (37 i + 11) mod 101: distinct for 101 numbers, and exact in float32 before the last division.
  const Tensor mixed = remainder(arange(shape.numel()) * 37 + 11, 101).to(kFloat32);
  return ((mixed - 50) / 25).reshape(shape);
}

// Each vector followed by the mean with its successor: the table at twice its length.
Tensor doubled(const Tensor& table) {
  const Tensor next = cat({table.slice(0, 1), table.slice(0, -1)}, 0);
  return stack({table, (table + next) / 2}, 1).reshape({2 * table.size(0), table.size(1)});
}

// After "나는": 집에, 학교에, 밥을, 공원에.
Tensor words_in_nucleus() { return tensor({0.30, 0.45, 0.10, 0.15}); }

Tensor nucleus_of_words(double p) {
  const Tensor logits = log(words_in_nucleus()).unsqueeze(0);
  return nn::sampling_probabilities(logits, {.temperature = 1, .top_p = p})[0];
}

Tensor smoothed_copy_loss(double smoothing) {
  const Tensor logits = numbers_of({2, 3, 5}), target = tensor({{0, 1, 2}, {3, 4, 1}});
  const Tensor all = -log_softmax(logits), right = gather(all, -1, target.unsqueeze(-1));
  return ((1 - smoothing) * sum(right) + smoothing * sum(all) / 5) / 2;
}

const Answers kAnswers[] = {
    {.id = "000-2",
     .given =
         [] {
           return NamedTensors{{"x", numbers_of({4, 6})},
                               {"contexts", numbers_of({4, 3}) / 2},
                               {"wq", numbers_of({6, 2})},
                               {"wk", numbers_of({2, 6}).t() / 2},
                               {"wv", numbers_of({6, 2}) + 0.5}};
         },
     .expected =
         [] {
           const Tensor x = numbers_of({4, 6}), q = matmul(x, numbers_of({6, 2}));
           const Tensor k = matmul(x, numbers_of({2, 6}).t() / 2), v = matmul(x, numbers_of({6, 2}) + 0.5);
           const Tensor scores = where(nn::causal_mask(4), matmul(q, k.t()) / std::sqrt(2.0), -INFINITY);
           return NamedTensors{{"contexts", cat({numbers_of({4, 3}) / 2, matmul(softmax(scores), v)}, 1)}};
         }},
    {.id = "000-4",
     .given =
         [] {
           return NamedTensors{{"x", numbers_of({4, 5})}};
         },
     .expected =
         [] {
           const Tensor x = numbers_of({4, 5});
           return NamedTensors{
               {"gelu", 0.5 * x * (1 + tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)))}};
         }},
    {.id = "001-2.1",
     .given = [] { return NamedTensors{}; },
     .expected =
         [] {
           return NamedTensors{{"positions", nn::sinusoidal_table(6, 8)}, {"one position", nn::sinusoidal_table(1, 2)}};
         }},
    {.id = "001-2.2",
     .given = [] { return NamedTensors{}; },
     .expected =
         [] {
           return NamedTensors{{"mask of 5", nn::causal_mask(5).unsqueeze(0)},
                               {"mask of 1", nn::causal_mask(1).unsqueeze(0)}};
         }},
    {.id = "002-2",
     .given =
         [] {
           return NamedTensors{{"scores", numbers_of({2, 2, 4, 4})},
                               {"padding", tensor({{0, 0, 0, 1}, {0, 0, 1, 1}}).reshape({2, 4, 1}) == 1}};
         },
     .expected =
         [] {
           const Tensor keys = (tensor({{0, 0, 0, 1}, {0, 0, 1, 1}}) == 1).reshape({2, 1, 1, 4});
           return NamedTensors{{"weights", softmax(masked_fill(numbers_of({2, 2, 4, 4}), keys, -INFINITY))}};
         }},
    {.id = "002-3",
     .given =
         [] {
           return NamedTensors{{"lengths", tensor({3, 5, 0, 1})}};
         },
     .expected =
         [] {
           return NamedTensors{
               {"padding",
                (tensor({{0, 0, 0, 1, 1}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {0, 1, 1, 1, 1}}) == 1).unsqueeze(-1)}};
         }},
    {.id = "003-8.2.5",
     .given =
         [] {
           return NamedTensors{{"ids", tensor({{5, 7, 2, 0}, {3, 0, 0, 0}})}};
         },
     .expected =
         [] {
           return NamedTensors{{"mask", nn::padding_mask(tensor({{5, 7, 2, 0}, {3, 0, 0, 0}})).reshape({2, 1, 1, 4}) &&
                                            nn::causal_mask(4)}};
         }},
    {.id = "003-8.3.1",
     .given =
         [] {
           return NamedTensors{{"table", numbers_of({4, 3})}};
         },
     .expected =
         [] {
           return NamedTensors{{"twice as long", doubled(numbers_of({4, 3}))},
                               {"as long as in training", numbers_of({4, 3})}};
         }},
    {.id = "003-8.3.2",
     .given =
         [] {
           return NamedTensors{{"x", numbers_of({4, 6})}, {"equal words", numbers_of({1, 6}).expand({4, 6})}};
         },
     .expected =
         [] {
           const Tensor words = nn::rope(numbers_of({1, 6}).expand({4, 6}), 0, 100);
           return NamedTensors{{"rotated", nn::rope(numbers_of({4, 6}))},
                               {"scores of equal words", matmul(words, words.t())}};
         }},
    {.id = "003-8.4",
     .given = [] { return NamedTensors{}; },
     .expected =
         [] {
           std::vector<double> rates, first;
           for (int64_t step = 1; step <= 8; ++step) rates.push_back(optim::Noam{64, 3, 2}(step));
           for (int64_t step = 1; step <= 3; ++step) first.push_back(optim::Noam{512, 4000, 1}(step));
           return NamedTensors{{"rates with a warm-up of 3 steps", tensor(rates, {8})},
                               {"the first rates of the paper", tensor(first, {3})}};
         },
     .tolerance = 1e-12},
    {.id = "003-8.4.1",
     .given =
         [] {
           return NamedTensors{
               {"x", numbers_of({2, 3, 6}) * 5}, {"gamma", numbers_of({6})}, {"beta", numbers_of({6}) + 1}};
         },
     .expected =
         [] {
           const Tensor x = numbers_of({2, 3, 6}) * 5, gamma = numbers_of({6}), beta = numbers_of({6}) + 1;
           return NamedTensors{{"normalised", layer_norm_std(x, gamma, beta, 1e-6)},
                               {"with a large eps", layer_norm_std(x, gamma, beta, 0.5)}};
         }},
    {.id = "003-8.4.1-feed-forward",
     .given =
         [] {
           return NamedTensors{{"x", numbers_of({2, 3, 4})},
                               {"w1", numbers_of({6, 4})},
                               {"b1", numbers_of({6})},
                               {"w2", numbers_of({4, 6})},
                               {"b2", numbers_of({4})}};
         },
     .expected =
         [] {
           const Tensor inner = relu(linear(numbers_of({2, 3, 4}), numbers_of({6, 4}), numbers_of({6})));
           return NamedTensors{{"output", linear(inner, numbers_of({4, 6}), numbers_of({4}))}};
         }},
    {.id = "003-8.4.1-pre-ln",
     .given =
         [] {
           return NamedTensors{{"x", numbers_of({3, 4}) * 3},
                               {"gamma", numbers_of({4}) + 2},
                               {"beta", numbers_of({4})},
                               {"weight", numbers_of({4, 4})}};
         },
     .expected =
         [] {
           const Tensor x = numbers_of({3, 4}) * 3, normal = layer_norm(x, numbers_of({4}) + 2, numbers_of({4}));
           return NamedTensors{{"sum", x + relu(matmul(normal, numbers_of({4, 4})))},
                               {"x past a block that returns 0", x}};
         }},
    {.id = "003-8.4.3-beams",
     .given =
         [] {
           const Tensor after = tensor({{0.5, 0.3, 0.2}, {0.2, 0.7, 0.1}, {0.03, 0.02, 0.95}, {0.4, 0.4, 0.2}});
           return NamedTensors{{"first", log(tensor({0.36, 0.30, 0.28, 0.06})) + 1},
                               {"second", log(after) + tensor({{3.}, {0.}, {-2.}, {1.}})}};
         },
     .expected =
         [] {
           // 0.36 * 0.5 = 0.18, 0.30 * 0.7 = 0.21 and 0.28 * 0.95 = 0.266
           return NamedTensors{{"1 beam", tensor({0, 0})}, {"2 beams", tensor({1, 1})}, {"4 beams", tensor({2, 2})}};
         }},
    {.id = "003-8.4.3-greedy",
     .given =
         [] {
           // The logits of the first token, of the second, ...
           return NamedTensors{{"logits", tensor({{0.1, 0.2, 0.3, 2.0, 0.4},
                                                  {0.5, 1.5, 0.2, 1.4, 0.1},
                                                  {0.3, 0.9, 0.8, 0.2, 0.7},
                                                  {0.1, 0.2, 0.3, 0.4, 0.5},
                                                  {0.9, 0.1, 0.2, 0.3, 0.4},
                                                  {0.1, 0.2, 0.9, 0.3, 0.4}})}};
         },
     .expected =
         [] {
           return NamedTensors{{"at most two tokens", tensor({3, 1})}, {"at most six tokens", tensor({3, 1, 1, 4})}};
         }},
    {.id = "003-8.4.3-temperature",
     .given =
         [] {
           return NamedTensors{{"logits", tensor({1.0, 2.0, 0.5, -1.0})}};
         },
     .expected =
         [] {
           const Tensor logits = tensor({1.0, 2.0, 0.5, -1.0});
           return NamedTensors{{"temperature 1", softmax(logits)},
                               {"temperature 0.5", softmax(logits * 2)},
                               {"temperature 1.5", softmax(logits / 1.5)},
                               {"temperature 0", tensor({0., 1., 0., 0.})}};
         }},
    {.id = "003-8.4.3-top-p",
     .given =
         [] {
           return NamedTensors{{"probabilities", words_in_nucleus()}};
         },
     .expected =
         [] {
           return NamedTensors{{"p = 0.8", nucleus_of_words(0.8)},
                               {"p = 0.5", nucleus_of_words(0.5)},
                               {"p = 0.2", nucleus_of_words(0.2)}};
         }},
    {.id = "003-8.5.1",
     .given =
         [] {
           return NamedTensors{{"logits", numbers_of({2, 3, 5})}, {"target", tensor({{0, 1, 2}, {3, 4, 1}})}};
         },
     .expected =
         [] {
           return NamedTensors{{"loss", smoothed_copy_loss(0)}, {"loss with smoothing 0.1", smoothed_copy_loss(0.1)}};
         }},
    {.id = "003-8.5.2",
     .given =
         [] {
           return NamedTensors{{"predicted", tensor({{4, 0, 8, 9}, {1, 2, 3, 4}, {5, 5, 0, 0}, {7, 1, 1, 2}})},
                               {"target", tensor({{4, 0, 8, 0}, {1, 2, 3, 5}, {5, 5, 0, 0}, {7, 1, 1, 2}})}};
         },
     .expected =
         [] {
           return NamedTensors{{"rate", tensor({0.75})},
                               {"rate of the target itself", tensor({1.0})}};  // the second of the four is wrong
         }},
    {.id = "004-6",
     .given =
         [] {
           return NamedTensors{
               {"scores of journey", matmul(tutorial::journey_vectors(), tutorial::journey_vectors()[1])},
               {"large scores", tensor({{1000.0, 1001.0, 999.0}, {-1000.0, -1001.0, -1003.0}})}};
         },
     .expected =
         [] {
           const Tensor large = tensor({{1000.0, 1001.0, 999.0}, {-1000.0, -1001.0, -1003.0}});
           return NamedTensors{
               {"scores of journey", softmax(matmul(tutorial::journey_vectors(), tutorial::journey_vectors()[1]))},
               {"large scores", softmax(large)}};
         }},
    {.id = "004-13",
     .given =
         [] {
           return NamedTensors{{"words", tutorial::journey_vectors()}};
         },
     .expected =
         [] {
           const Tensor words = tutorial::journey_vectors();
           return NamedTensors{{"contexts", matmul(softmax(matmul(words, words.t())), words)}};
         }},
    {.id = "004-23",
     .given =
         [] {
           return NamedTensors{{"q", numbers_of({2, 4})}, {"k", numbers_of({5, 4})}, {"v", numbers_of({5, 3})}};
         },
     .expected =
         [] {
           const Tensor q = numbers_of({2, 4}), k = numbers_of({5, 4}), v = numbers_of({5, 3});
           return NamedTensors{{"contexts", matmul(softmax(matmul(q, k.t()) / 2), v)}};  // 2: the root of 4
         }},
    {.id = "004-31",
     .given =
         [] {
           return NamedTensors{{"weights", tensor({{0.1921, 0.1646, 0.1652, 0.1550, 0.1721, 0.1510},
                                                   {0.2041, 0.1659, 0.1662, 0.1496, 0.1665, 0.1477},
                                                   {0.2036, 0.1659, 0.1662, 0.1498, 0.1664, 0.1480},
                                                   {0.1869, 0.1667, 0.1668, 0.1571, 0.1661, 0.1564},
                                                   {0.1830, 0.1669, 0.1670, 0.1588, 0.1658, 0.1585},
                                                   {0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529}})}};
         },
     .expected =
         [] {
           return NamedTensors{{"weights", tensor({{1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000},
                                                   {0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000},
                                                   {0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000},
                                                   {0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000},
                                                   {0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000},
                                                   {0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529}})}};
         },
     .tolerance = 1.5e-4},
    {.id = "004-35",
     .given =
         [] {
           return NamedTensors{{"x", numbers_of({3, 4})}, {"keep", numbers_of({3, 4}) > -0.5}};
         },
     .expected =
         [] {
           const Tensor x = numbers_of({3, 4}), kept = where(x > -0.5, x, 0.0);
           return NamedTensors{{"p 0.5", kept * 2}, {"p 0.2", kept * 1.25}};
         }},
    {.id = "004-40",
     .given =
         [] {
           return NamedTensors{{"x", numbers_of({2, 3, 4})}, {"heads", numbers_of({2, 2, 3, 2})}};
         },
     .expected =
         [] {
           return NamedTensors{{"split", numbers_of({2, 3, 4}).reshape({2, 3, 2, 2}).transpose(1, 2)},
                               {"merged", numbers_of({2, 2, 3, 2}).transpose(1, 2).reshape({2, 3, 4})}};
         }},
};

}  // namespace

std::span<const Answers> all_answers() { return kAnswers; }

}  // namespace tapegrad::tasks::exercises
