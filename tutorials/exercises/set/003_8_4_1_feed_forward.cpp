// Tutorial 003, section 8.4.1: the feed-forward block.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_4_1_feed_forward{
    .id = "003-8.4.1-feed-forward",
    .title = {"피드포워드 네트워크 작성하기", "Write the feed-forward block"},
    .task =
        {"토큰마다 따로 적용하는 두 층을 작성하십시오. 폭 D를 H로 넓히고, ReLU를 취하고, 다시 D로 줄입니다. 가중치의 "
         "모양은 파이토치처럼 [출력, 입력]입니다. ReLU가 없으면 두 층은 선형 층 하나와 같습니다. linear는 쓰지 "
         "마십시오.",
         "Write the two layers that are applied to each token: widen D to H, take ReLU, and narrow it to D "
         "again. Weights have the shape [output, input], as in PyTorch. Without ReLU, the two layers equal "
         "one linear layer. Do not call linear."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// x [..., D], w1 [H, D], b1 [H], w2 [D, H], b2 [D] -> [..., D]
inline tapegrad::Tensor two_layers(const tapegrad::Tensor& x, const tapegrad::Tensor& w1, const tapegrad::Tensor& b1,
                                   const tapegrad::Tensor& w2, const tapegrad::Tensor& b2) {
  return x;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"x", numbers_of({2, 3, 4})},
                              {"w1", numbers_of({6, 4})},
                              {"b1", numbers_of({6})},
                              {"w2", numbers_of({4, 6})},
                              {"b2", numbers_of({4})}};
        },
    .check = R"~(  answer("output", two_layers(given("x"), given("w1"), given("b1"), given("w2"), given("b2")));)~",
    .expected =
        [] {
          const Tensor inner = relu(linear(numbers_of({2, 3, 4}), numbers_of({6, 4}), numbers_of({6})));
          return NamedTensors{{"output", linear(inner, numbers_of({4, 6}), numbers_of({4}))}};
        },
};

}  // namespace tapegrad::tasks::exercises
