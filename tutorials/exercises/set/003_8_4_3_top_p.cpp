// Tutorial 003, section 8.4.3: nucleus sampling.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {
namespace {

// After "나는": 집에, 학교에, 밥을, 공원에.
Tensor words_in_nucleus() { return tensor({0.30, 0.45, 0.10, 0.15}); }

Tensor nucleus_of_words(double p) {
  const Tensor logits = log(words_in_nucleus()).unsqueeze(0);
  return nn::sampling_probabilities(logits, {.temperature = 1, .top_p = p})[0];
}

}  // namespace

const Exercise k003_8_4_3_top_p{
    .id = "003-8.4.3-top-p",
    .title = {"top-p(뉴클리어스) 거르기", "The filter of top-p (nucleus) sampling"},
    .task = {"확률이 큰 토큰부터 더하여 합이 p에 처음 이르는 가장 작은 집합만 남기고, 나머지는 0으로 만든 뒤 합이 1이 "
             "되도록 "
             "나누십시오. p를 넘게 하는 토큰도 남깁니다. 튜토리얼의 표처럼 \"p를 넘지 않게\" 고르면, 첫 토큰이 p보다 "
             "클 때 남는 "
             "것이 없습니다. 토큰의 순서는 그대로 두어야 합니다.",
             "Keep the fewest most likely tokens whose probabilities sum to at least p, set the others to 0, and "
             "divide so that the sum is 1. The token that reaches p is kept: with \"not above p\", as the "
             "tutorial's table says, nothing remains if the first token is larger than p. Tokens stay in their "
             "order."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// probabilities [V], in any order -> [V]
inline tapegrad::Tensor nucleus(const tapegrad::Tensor& probabilities, double p) {
  return probabilities;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"probabilities", words_in_nucleus()}};
        },
    .check = R"~(  answer("p = 0.8", nucleus(given("probabilities"), 0.8));
  answer("p = 0.5", nucleus(given("probabilities"), 0.5));
  answer("p = 0.2", nucleus(given("probabilities"), 0.2));)~",
    .expected =
        [] {
          return NamedTensors{{"p = 0.8", nucleus_of_words(0.8)},
                              {"p = 0.5", nucleus_of_words(0.5)},
                              {"p = 0.2", nucleus_of_words(0.2)}};
        },
};

}  // namespace tapegrad::tasks::exercises
