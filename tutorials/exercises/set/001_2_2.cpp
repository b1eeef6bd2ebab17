// Tutorial 001, section 2.2: the causal mask.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k001_2_2{
    .id = "001-2.2",
    .title = {"subsequent_mask 작성하기", "Write subsequent_mask"},
    .task = {"디코더의 마스크를 만드십시오. 쿼리(행)가 자기 위치와 그 앞의 키(열)를 볼 수 있으면 true, 뒤의 "
             "키이면 false입니다. causal_mask는 쓰지 마십시오. 결과의 모양은 배치 축까지 포함하여 [1, size, "
             "size]입니다.",
             "Make the mask of a decoder: true where a query (row) may see a key (column), that is at its own "
             "position and before, false for later keys. Do not call causal_mask. The shape has an axis for the "
             "batch: [1, size, size]."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// -> bool [1, size, size]
inline tapegrad::Tensor subsequent_mask(int64_t size) {
  return tapegrad::ones({1, size, size}) == 0;  // your code
}
)~",
    .given = [] { return NamedTensors{}; },
    .check = R"~(  answer("mask of 5", subsequent_mask(5));
  answer("mask of 1", subsequent_mask(1));)~",
    .expected =
        [] {
          return NamedTensors{{"mask of 5", nn::causal_mask(5).unsqueeze(0)},
                              {"mask of 1", nn::causal_mask(1).unsqueeze(0)}};
        },
};

}  // namespace tapegrad::tasks::exercises
