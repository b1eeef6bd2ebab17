// Tutorial 003, deep dive 2 of section 8.3.2: rotary positions.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/rope.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_3_2{
    .id = "003-8.3.2",
    .title = {"회전 위치 인코딩(RoPE) 작성하기", "Write rotary positions (RoPE)"},
    .task =
        {"위치 t의 벡터에서 차원 2i와 2i+1의 쌍을 각 t / base^(2i/D)만큼 회전하십시오. (a, b)는 (a cos - b sin, a sin "
         "+ b "
         "cos)이 됩니다. 그러면 쿼리와 키의 내적은 두 위치의 거리에만 따라 변합니다. 채점은 같은 단어 네 개의 점수로 "
         "이것도 확인합니다. rope와 rotate_pairs는 쓰지 마십시오.",
         "At position t, rotate each pair of dimensions 2i and 2i+1 by the angle t / base^(2i/D): (a, b) "
         "becomes (a cos - b sin, a sin + b cos). The dot product of a query and a key then depends only on "
         "their distance, which the check tests by the scores of four equal words. Do not call rope or "
         "rotate_pairs."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// x [T, D], D even -> [T, D]
inline tapegrad::Tensor rotated(const tapegrad::Tensor& x, double base) {
  return x;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"x", numbers_of({4, 6})}, {"equal words", numbers_of({1, 6}).expand({4, 6})}};
        },
    .check = R"~(  const Tensor words = rotated(given("equal words"), 100);
  answer("rotated", rotated(given("x"), 10000));
  answer("scores of equal words", matmul(words, words.t()));)~",
    .expected =
        [] {
          const Tensor words = nn::rope(numbers_of({1, 6}).expand({4, 6}), 0, 100);
          return NamedTensors{{"rotated", nn::rope(numbers_of({4, 6}))},
                              {"scores of equal words", matmul(words, words.t())}};
        },
};

}  // namespace tapegrad::tasks::exercises
