// Tutorial 004, cells 10 to 13: context vectors of all words.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/pages/journey.h>

namespace tapegrad::tasks::exercises {

const Exercise k004_13{
    .id = "004-13",
    .title = {"모든 단어의 문맥 벡터", "Context vectors of all words"},
    .task = {"단어 벡터의 내적을 점수로, 그 소프트맥스를 가중치로 하여, 단어마다 모든 단어 벡터의 가중 평균을 "
             "구하십시오. 반복문 없이 행렬 곱 두 번이면 됩니다. 채점에는 튜토리얼의 여섯 단어를 씁니다.",
             "Take the dot products of word vectors as scores and their softmax as weights, and compute for "
             "each word the weighted mean of all word vectors. Two matrix products do it without a loop. The "
             "check uses the six words of the tutorial."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// words [T, d] -> [T, d]
inline tapegrad::Tensor contexts(const tapegrad::Tensor& words) {
  return words;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"words", tutorial::journey_vectors()}};
        },
    .check = R"~(  answer("contexts", contexts(given("words")));)~",
    .expected =
        [] {
          const Tensor words = tutorial::journey_vectors();
          return NamedTensors{{"contexts", matmul(softmax(matmul(words, words.t())), words)}};
        },
};

}  // namespace tapegrad::tasks::exercises
