// Tutorial 004, cell 40: heads split from one projection.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {

const Exercise k004_40{
    .id = "004-40",
    .title = {"헤드로 나누기와 다시 합치기", "Split into heads, and merge them again"},
    .task = {"폭이 D인 벡터를 헤드 n개로 나누어 [B, n, T, D/n]으로 만드는 함수와, 그것을 다시 [B, T, D]로 "
             "합치는 함수를 작성하십시오. 축을 바꾸지 않고 모양만 바꾸면 다른 토큰의 수가 섞입니다.",
             "Write the function that splits vectors of width D into n heads, [B, n, T, D/n], and the one that "
             "merges them to [B, T, D] again. Without exchanging axes, a mere reshape mixes numbers of "
             "different tokens."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// x [B, T, D] -> [B, heads, T, D / heads]
inline tapegrad::Tensor split_heads(const tapegrad::Tensor& x, int64_t heads) {
  return x;  // your code
}
// x [B, heads, T, d] -> [B, T, heads * d]
inline tapegrad::Tensor merge_heads(const tapegrad::Tensor& x) {
  return x;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"x", numbers_of({2, 3, 4})}, {"heads", numbers_of({2, 2, 3, 2})}};
        },
    .check = R"~(  answer("split", split_heads(given("x"), 2));
  answer("merged", merge_heads(given("heads")));)~",
    .expected =
        [] {
          return NamedTensors{{"split", numbers_of({2, 3, 4}).reshape({2, 3, 2, 2}).transpose(1, 2)},
                              {"merged", numbers_of({2, 2, 3, 2}).transpose(1, 2).reshape({2, 3, 4})}};
        },
};

}  // namespace tapegrad::tasks::exercises
