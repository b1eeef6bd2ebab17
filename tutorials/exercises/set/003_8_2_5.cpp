// Tutorial 003, section 8.2.5: both masks of a decoder.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_2_5{
    .id = "003-8.2.5",
    .title = {"디코더의 마스크: 인과 마스크와 패딩 마스크", "The mask of a decoder: causal and padding"},
    .task = {"디코더가 쓰는 마스크를 만드십시오. 키가 쿼리보다 뒤에 있지 않고 패딩(토큰 0)도 아니면 true입니다. "
             "결과는 헤드와 쿼리에 걸쳐 쓰도록 [B, 1, T, T] 모양이어야 합니다.",
             "Make the mask of a decoder: true where a key is not after the query and is not padding (token 0). "
             "It is shared by the heads, so its shape is [B, 1, T, T]."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// ids int64 [B, T] -> bool [B, 1, T, T]
inline tapegrad::Tensor decoder_mask(const tapegrad::Tensor& ids) {
  const int64_t batch = ids.size(0), length = ids.size(1);
  return tapegrad::ones({batch, 1, length, length}) == 0;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"ids", tensor({{5, 7, 2, 0}, {3, 0, 0, 0}})}};
        },
    .check = R"~(  answer("mask", decoder_mask(given("ids")));)~",
    .expected =
        [] {
          return NamedTensors{{"mask", nn::padding_mask(tensor({{5, 7, 2, 0}, {3, 0, 0, 0}})).reshape({2, 1, 1, 4}) &&
                                           nn::causal_mask(4)}};
        },
};

}  // namespace tapegrad::tasks::exercises
