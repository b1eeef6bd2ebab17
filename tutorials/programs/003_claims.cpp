// Tutorial 003, what its prose claims, as a program that measures it: section 8.1, the deep dives of 8.2.3 and 8.3.2,
// and the third of the advanced exercises.
#include <tapegrad/tapegrad.h>
#include "claims.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

namespace tg = tapegrad;
namespace nn = tapegrad::nn;

namespace {

// 8.1: gradients that cross a sentence.
void distances() {
  std::printf("8.1: the first token's gradient over the last one's\ntokens   RNN  attention\n");
  tg::manual_seed(0);
  // [distances]
  const nn::RNN rnn(32, 32, {.batch_first = true});
  const auto recurrent = [&](const tg::Tensor& x) { return rnn(x).output; };
  const auto attention = [](const tg::Tensor& x) { return tg::matmul(tg::softmax(tg::matmul(x, x.t()) / 32), x); };
  for (const int64_t length : {2, 10, 40}) {
    const tg::Tensor x = tg::randn({1, length, 32}), direction = tg::randn({32});
    std::printf("%6d %5.0e %10.2f\n", static_cast<int>(length), tg::tasks::reach(recurrent, x, direction),
                tg::tasks::reach(attention, x, direction));
  }
  // [/distances]
}

void deep_dives_of_attention() {
  tg::Generator generator(0);
  const tg::Tensor q = tg::randn({16, 4}, tg::kFloat64, &generator), k = tg::randn({16, 4}, tg::kFloat64, &generator);
  const tg::Tensor weights = tg::softmax(tg::matmul(q, k.t()) / 2);
  const tg::Tensor same = tg::matmul(weights, k) - tg::tasks::scaled_attention(q, k, k);
  std::printf("\ndeep dive 1: difference to the formula %.0e\n", tg::amax(tg::abs(same)).item());

  const tg::Tensor values = tg::tasks::singular_values(q, k);
  std::printf("deep dive 2: singular values %.3f %.3f %.3f\n", values[0].item(), values[1].item(), values[2].item());

  // [recall]
  const tg::Tensor patterns = tg::randn({8, 16}, tg::kFloat64, &generator);
  tg::Tensor x = patterns[3] + 0.8 * tg::randn({16}, tg::kFloat64, &generator);
  for (int update = 0; update < 3; ++update) {
    std::printf("deep dive 3: energy %.3f\n", tg::tasks::energy(patterns, x));
    x = tg::tasks::recalled(patterns, x);
  }
  // [/recall]

  // [collapse]
  tg::Tensor bare = tg::randn({1, 12, 16}, tg::kFloat64, &generator), kept = bare;
  for (int layer = 1; layer <= 8; ++layer) {
    const auto attend = [](const tg::Tensor& y) { return tg::matmul(tg::softmax(tg::matmul(y, y.t()) / 16), y); };
    bare = attend(bare);
    kept = kept + attend(kept);  // a residual connection
  }
  std::printf("deep dive 4: likeness after 8 layers: %.3f, with residual connections %.3f\n", tg::tasks::likeness(bare),
              tg::tasks::likeness(kept));
  // [/collapse]

  std::printf("deep dives 5 and 6: low frequencies %.2f, entropy %.2f of at most %.2f\n",
              tg::tasks::low_frequencies(weights), tg::tasks::entropy(weights),
              tg::log(tg::full({}, 16, tg::kFloat64)).item());
  const tg::Tensor scores = tg::tasks::bonded_scores(q, k);
  std::printf("deep dive 8: rank of scores %d, of weights %d\n", static_cast<int>(tg::tasks::rank(scores)),
              static_cast<int>(tg::tasks::rank(tg::softmax(scores))));
}

void deep_dives_of_positions() {
  std::printf("\ndeep dives 3 to 6: change of outputs when two words are exchanged\n");
  // [kinds]
  for (const std::string_view kind : {"none", "sinusoidal", "conv", "lstm", "ode", "complex", "composite"})
    std::printf("%-12s %.2f\n", std::string(kind).c_str(), tg::tasks::change_of_order(nn::positions_named(kind)));
  // [/kinds]

  // [rope]
  const tg::Tensor q = tg::randn({1, 64}, tg::kFloat64), k = tg::randn({1, 64}, tg::kFloat64);
  const auto score = [&](int64_t query, int64_t key) {  // of these two vectors, at these positions
    return tg::sum(nn::rope(q, query) * nn::rope(k, key)).item();
  };
  std::printf("deep dive 7: moved by 1000 positions, a score changes by less than 1e-9: %s\n",
              std::abs(score(63, 60) - score(1063, 1060)) < 1e-9 ? "true" : "false");
  // [/rope]
}

void decoding() {
  std::printf("\nadvanced exercise 3: share of a word that has 0.7 in the data\n");
  // [temperature]
  const tg::Tensor p = tg::tensor({0.7, 0.3}, tg::kFloat64);
  for (const double temperature : {1.5, 1.0, 0.5, 0.25})
    std::printf("T = %.2f: %.3f\n", temperature, tg::softmax(tg::log(p) / temperature)[0].item());
  // [/temperature]
}

}  // namespace

int main() {
  distances();
  deep_dives_of_attention();
  deep_dives_of_positions();
  decoding();
}
