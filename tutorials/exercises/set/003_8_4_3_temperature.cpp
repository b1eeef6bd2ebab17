// Tutorial 003, section 8.4.3: temperature.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_4_3_temperature{
    .id = "003-8.4.3-temperature",
    .title = {"온도로 분포 조절하기", "Probabilities with a temperature"},
    .task =
        {"로짓을 온도로 나눈 뒤 소프트맥스를 취하십시오. 온도가 낮으면 분포가 뾰족해지고 높으면 평평해집니다. 온도 0은 "
         "탐욕 "
         "탐색이므로, 로짓이 가장 큰 토큰의 확률만 1입니다. 확률을 온도로 나누고 다시 합을 1로 맞추면 아무것도 변하지 "
         "않습니다.",
         "Divide the logits by the temperature, and take the softmax: a low temperature sharpens the "
         "distribution, a high one flattens it. Temperature 0 is greedy search: the token with the largest "
         "logit has probability 1. Dividing probabilities instead, and normalising them, changes nothing."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// logits [V], temperature >= 0 -> probabilities [V]
inline tapegrad::Tensor with_temperature(const tapegrad::Tensor& logits, double temperature) {
  return logits;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"logits", tensor({1.0, 2.0, 0.5, -1.0})}};
        },
    .check = R"~(  answer("temperature 1", with_temperature(given("logits"), 1));
  answer("temperature 0.5", with_temperature(given("logits"), 0.5));
  answer("temperature 1.5", with_temperature(given("logits"), 1.5));
  answer("temperature 0", with_temperature(given("logits"), 0));)~",
    .expected =
        [] {
          const Tensor logits = tensor({1.0, 2.0, 0.5, -1.0});
          return NamedTensors{{"temperature 1", softmax(logits)},
                              {"temperature 0.5", softmax(logits * 2)},
                              {"temperature 1.5", softmax(logits / 1.5)},
                              {"temperature 0", tensor({0., 1., 0., 0.})}};
        },
};

}  // namespace tapegrad::tasks::exercises
