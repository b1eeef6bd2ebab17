// Tutorial 002, sections 2 and 3: the padding of sentences with different lengths.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k002_3{
    .id = "002-3",
    .title = {"문장의 길이로 패딩 표시하기", "Mark the padding of ragged sentences"},
    .task = {"튜토리얼 002는 mask[i, -pad_length:] = True로 문장 끝의 패딩을 표시합니다. 그런데 pad_length가 0이면 "
             "-0부터, 곧 "
             "처음부터 끝까지 모두 패딩이 됩니다. 문장의 길이를 받아 패딩인 자리가 true인 [B, size, 1] 모양의 마스크를 "
             "만드십시오. 꽉 찬 문장에는 패딩이 없어야 합니다.",
             "Tutorial 002 marks the padding at the end of a sentence by mask[i, -pad_length:] = True. If "
             "pad_length is 0, that begins at -0, the start, and everything becomes padding. Make the mask [B, "
             "size, 1], true at padding, from the lengths of the sentences. A full sentence has no padding."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// lengths int64 [B], each from 0 to size -> bool [B, size, 1]: true where a token is padding
inline tapegrad::Tensor padding_of(const tapegrad::Tensor& lengths, int64_t size) {
  return tapegrad::ones({lengths.size(0), size, 1}) == 0;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"lengths", tensor({3, 5, 0, 1})}};
        },
    .check = R"~(  answer("padding", padding_of(given("lengths"), 5));)~",
    .expected =
        [] {
          return NamedTensors{
              {"padding",
               (tensor({{0, 0, 0, 1, 1}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {0, 1, 1, 1, 1}}) == 1).unsqueeze(-1)}};
        },
};

}  // namespace tapegrad::tasks::exercises
