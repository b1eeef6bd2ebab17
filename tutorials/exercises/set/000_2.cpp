// Tutorial 000, section 2: one more head.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

#include <cmath>

namespace tapegrad::tasks::exercises {

const Exercise k000_2{
    .id = "000-2",
    .title = {"인과 어텐션에 헤드 하나 더하기", "Add a head to causal attention"},
    .task =
        {"튜토리얼 000의 어텐션은 헤드의 문맥 벡터를 이어 붙입니다. 가중치가 wq, wk, wv인 헤드를 하나 더 계산하여 이미 "
         "있는 헤드의 결과 뒤에 이어 붙이십시오. 미래의 키는 음의 무한대로 가리고, 점수는 헤드 차원의 제곱근으로 "
         "나눕니다. dot_product_attention은 쓰지 마십시오.",
         "The attention of tutorial 000 concatenates the context vectors of its heads. Compute one more head, "
         "with the weights wq, wk, wv, and append it to the result of the existing heads. Later keys are "
         "masked by minus infinity, and scores are divided by the root of the head's dimension. Do not call "
         "dot_product_attention."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// x [T, D], contexts of the existing heads [T, C], wq, wk, wv [D, d] -> [T, C + d]
inline tapegrad::Tensor with_another_head(const tapegrad::Tensor& x, const tapegrad::Tensor& contexts,
                                          const tapegrad::Tensor& wq, const tapegrad::Tensor& wk,
                                          const tapegrad::Tensor& wv) {
  return contexts;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"x", numbers_of({4, 6})},
                              {"contexts", numbers_of({4, 3}) / 2},
                              {"wq", numbers_of({6, 2})},
                              {"wk", numbers_of({2, 6}).t() / 2},
                              {"wv", numbers_of({6, 2}) + 0.5}};
        },
    .check = R"~(  answer("contexts", with_another_head(given("x"), given("contexts"), given("wq"), given("wk"),
                                         given("wv")));)~",
    .expected =
        [] {
          const Tensor x = numbers_of({4, 6}), q = matmul(x, numbers_of({6, 2}));
          const Tensor k = matmul(x, numbers_of({2, 6}).t() / 2), v = matmul(x, numbers_of({6, 2}) + 0.5);
          const Tensor scores = where(nn::causal_mask(4), matmul(q, k.t()) / std::sqrt(2.0), -INFINITY);
          return NamedTensors{{"contexts", cat({numbers_of({4, 3}) / 2, matmul(softmax(scores), v)}, 1)}};
        },
};

}  // namespace tapegrad::tasks::exercises
