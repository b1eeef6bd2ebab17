// Tutorial 003, section 8.4.1: a residual connection with normalisation before the block.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_4_1_pre_ln{
    .id = "003-8.4.1-pre-ln",
    .title = {"잔차 연결과 Pre-LN", "A residual connection with Pre-LN"},
    .task = {"블록 앞에서 레이어 정규화를 하고(Pre-LN), 블록의 결과를 정규화하지 않은 x에 더하십시오. 블록이 0을 내면 "
             "x가 그대로 "
             "지나가야 합니다. 합한 뒤에 정규화하는 Post-LN에는 이 길이 없어서 층이 깊을수록 학습이 어렵습니다.",
             "Normalise before the block (Pre-LN), and add the block's result to x, which is not normalised: if "
             "the block returns 0, x must pass unchanged. Post-LN normalises the sum and has no such path, so "
             "that deep models are harder to train."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

#include <functional>

using Block = std::function<tapegrad::Tensor(const tapegrad::Tensor&)>;

// x [..., D], gamma [D], beta [D] -> [..., D]
inline tapegrad::Tensor with_residual(const tapegrad::Tensor& x, const tapegrad::Tensor& gamma,
                                      const tapegrad::Tensor& beta, const Block& block) {
  return x;  // your code: tapegrad::layer_norm(x, gamma, beta) normalises
}
)~",
    .given =
        [] {
          return NamedTensors{{"x", numbers_of({3, 4}) * 3},
                              {"gamma", numbers_of({4}) + 2},
                              {"beta", numbers_of({4})},
                              {"weight", numbers_of({4, 4})}};
        },
    .check = R"~(  const auto block = [&](const Tensor& y) { return relu(matmul(y, given("weight"))); };
  const auto nothing = [](const Tensor& y) { return 0 * y; };
  answer("sum", with_residual(given("x"), given("gamma"), given("beta"), block));
  answer("x past a block that returns 0", with_residual(given("x"), given("gamma"), given("beta"), nothing));)~",
    .expected =
        [] {
          const Tensor x = numbers_of({3, 4}) * 3, normal = layer_norm(x, numbers_of({4}) + 2, numbers_of({4}));
          return NamedTensors{{"sum", x + relu(matmul(normal, numbers_of({4, 4})))},
                              {"x past a block that returns 0", x}};
        },
};

}  // namespace tapegrad::tasks::exercises
