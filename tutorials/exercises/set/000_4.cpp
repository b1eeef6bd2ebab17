// Tutorial 000, section 4: GELU.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

#include <cmath>

namespace tapegrad::tasks::exercises {

const Exercise k000_4{
    .id = "000-4",
    .title = {"GELU 작성하기", "Write GELU"},
    .task = {"튜토리얼 000의 피드포워드 블록에 쓰는 GELU를 작성하십시오. tanh를 쓰는 근사식 0.5 x (1 + "
             "tanh(sqrt(2 / pi) (x + 0.044715 x^3)))입니다. gelu는 쓰지 마십시오.",
             "Write the GELU of tutorial 000's feed-forward blocks, in its approximation by tanh: 0.5 x (1 + "
             "tanh(sqrt(2 / pi) (x + 0.044715 x^3))). Do not call gelu."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// x [...] -> [...]
inline tapegrad::Tensor my_gelu(const tapegrad::Tensor& x) {
  return x;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"x", numbers_of({4, 5})}};
        },
    .check = R"~(  answer("gelu", my_gelu(given("x")));)~",
    .expected =
        [] {
          const Tensor x = numbers_of({4, 5});
          return NamedTensors{
              {"gelu", 0.5 * x * (1 + tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)))}};
        },
};

}  // namespace tapegrad::tasks::exercises
