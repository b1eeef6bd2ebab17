// Tutorial 002, section 2: the padding mask, mended.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

#include <cmath>

namespace tapegrad::tasks::exercises {

const Exercise k002_2{
    .id = "002-2",
    .title = {"튜토리얼 002의 패딩 마스크 고치기", "Mend the padding mask of tutorial 002"},
    .task = {"튜토리얼 002는 [B, 1, S, 1] 모양의 마스크에 -1e9를 곱하여 점수에 더합니다. 이것은 쿼리(행) 전체에 "
             "같은 수를 더하므로 소프트맥스가 변하지 않고, 패딩 키는 가려지지 않습니다. 패딩인 키(열)의 "
             "가중치가 정확히 0이 되도록 소프트맥스 앞에서 가린 가중치를 계산하십시오.",
             "Tutorial 002 multiplies a mask [B, 1, S, 1] by -1e9 and adds it to the scores. That adds one "
             "number to a whole row, that of a query, so the softmax stays as it is and no padding is hidden. "
             "Compute weights in which the keys (columns) that are padding have exactly the weight 0."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// scores [B, heads, S, S], padding bool [B, S, 1]: true where a token is padding -> weights [B, heads, S, S]
inline tapegrad::Tensor weights_without_padding(const tapegrad::Tensor& scores, const tapegrad::Tensor& padding) {
  const tapegrad::Tensor hidden = padding.unsqueeze(1).to(tapegrad::kFloat32);  // [B, 1, S, 1]: mend this
  return tapegrad::softmax(scores + hidden * -1e9);
}
)~",
    .given =
        [] {
          return NamedTensors{{"scores", numbers_of({2, 2, 4, 4})},
                              {"padding", tensor({{0, 0, 0, 1}, {0, 0, 1, 1}}).reshape({2, 4, 1}) == 1}};
        },
    .check = R"~(  answer("weights", weights_without_padding(given("scores"), given("padding")));)~",
    .expected =
        [] {
          const Tensor keys = (tensor({{0, 0, 0, 1}, {0, 0, 1, 1}}) == 1).reshape({2, 1, 1, 4});
          return NamedTensors{{"weights", softmax(masked_fill(numbers_of({2, 2, 4, 4}), keys, -INFINITY))}};
        },
};

}  // namespace tapegrad::tasks::exercises
