// Tutorial 003, section 8.3.1 and deep dive 1 of 8.3.2: learned positions for longer texts.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {
namespace {

// Each vector followed by the mean with its successor: the table at twice its length.
Tensor doubled(const Tensor& table) {
  const Tensor next = cat({table.slice(0, 1), table.slice(0, -1)}, 0);
  return stack({table, (table + next) / 2}, 1).reshape({2 * table.size(0), table.size(1)});
}

}  // namespace

const Exercise k003_8_3_1{
    .id = "003-8.3.1",
    .title = {"학습한 위치를 보간하여 늘리기", "Stretch learned positions by interpolation"},
    .task =
        {"학습한 위치 벡터 L개로 길이 length인 문장의 위치를 만드십시오(딥다이브 1, 위치 보간). 위치 i는 표의 i * L / "
         "length번째 자리이며, 두 벡터 사이이면 거리에 비례하여 섞습니다. 튜토리얼의 식은 긴 문장의 끝에서 표 밖의 "
         "벡터를 읽으므로, 그 자리에는 마지막 벡터를 쓰십시오.",
         "Make the positions of a text of `length` tokens from L learned vectors (deep dive 1, position "
         "interpolation). Position i is at i * L / length in the table; between two vectors, mix them in "
         "proportion. At the end of a long text the tutorial's formula reads a vector outside of the table: "
         "take the last one there."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// table [L, D] -> [length, D]
inline tapegrad::Tensor stretched(const tapegrad::Tensor& table, int64_t length) {
  return tapegrad::zeros({length, table.size(1)});  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"table", numbers_of({4, 3})}};
        },
    .check = R"~(  answer("twice as long", stretched(given("table"), 8));
  answer("as long as in training", stretched(given("table"), 4));)~",
    .expected =
        [] {
          return NamedTensors{{"twice as long", doubled(numbers_of({4, 3}))},
                              {"as long as in training", numbers_of({4, 3})}};
        },
};

}  // namespace tapegrad::tasks::exercises
