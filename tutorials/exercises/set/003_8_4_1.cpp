// Tutorial 003, section 8.4.1: layer normalisation.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_4_1{
    .id = "003-8.4.1",
    .title = {"레이어 정규화 작성하기", "Write layer normalisation"},
    .task = {"마지막 축의 평균을 빼고 표준편차로 나눈 뒤, gamma를 곱하고 beta를 더하십시오. 튜토리얼처럼 "
             "표준편차는 모집단의 것(N으로 나눔)이고 eps는 제곱근 밖에서 표준편차에 더합니다. layer_norm과 "
             "layer_norm_std는 쓰지 마십시오.",
             "Subtract the mean of the last axis, divide by its standard deviation, multiply by gamma and add "
             "beta. As in the tutorial, the deviation is the population's (divided by N), and eps is added to "
             "it outside of the root. Do not call layer_norm or layer_norm_std."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// x [..., C], gamma [C], beta [C] -> [..., C]
inline tapegrad::Tensor normalised(const tapegrad::Tensor& x, const tapegrad::Tensor& gamma,
                                   const tapegrad::Tensor& beta, double eps) {
  return x;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{
              {"x", numbers_of({2, 3, 6}) * 5}, {"gamma", numbers_of({6})}, {"beta", numbers_of({6}) + 1}};
        },
    .check = R"~(  answer("normalised", normalised(given("x"), given("gamma"), given("beta"), 1e-6));
  answer("with a large eps", normalised(given("x"), given("gamma"), given("beta"), 0.5));)~",
    .expected =
        [] {
          const Tensor x = numbers_of({2, 3, 6}) * 5, gamma = numbers_of({6}), beta = numbers_of({6}) + 1;
          return NamedTensors{{"normalised", layer_norm_std(x, gamma, beta, 1e-6)},
                              {"with a large eps", layer_norm_std(x, gamma, beta, 0.5)}};
        },
};

}  // namespace tapegrad::tasks::exercises
