// Tutorial 004, cell 6: a softmax that does not overflow.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/pages/journey.h>

namespace tapegrad::tasks::exercises {

const Exercise k004_6{
    .id = "004-6",
    .title = {"넘치지 않는 소프트맥스", "A softmax that does not overflow"},
    .task = {"튜토리얼의 6번 셀은 exp(x) / sum(exp(x))로 소프트맥스를 계산하며, 큰 점수에서 무한대가 될 수 "
             "있다고 경고합니다. 마지막 축의 소프트맥스를 1000인 점수에도 맞게 작성하십시오. softmax는 쓰지 "
             "마십시오. 모든 점수에 같은 수를 더해도 결과가 변하지 않는 성질을 쓰십시오.",
             "Cell 6 of the tutorial computes exp(x) / sum(exp(x)), and warns that large scores become "
             "infinite. Write the softmax over the last axis so that it is right for scores of 1000, too. Do "
             "not call softmax. Use that it does not change when one number is added to all scores."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// scores [..., n] -> weights [..., n]
inline tapegrad::Tensor stable_softmax(const tapegrad::Tensor& scores) {
  return scores;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{
              {"scores of journey", matmul(tutorial::journey_vectors(), tutorial::journey_vectors()[1])},
              {"large scores", tensor({{1000.0, 1001.0, 999.0}, {-1000.0, -1001.0, -1003.0}})}};
        },
    .check = R"~(  answer("scores of journey", stable_softmax(given("scores of journey")));
  answer("large scores", stable_softmax(given("large scores")));)~",
    .expected =
        [] {
          const Tensor large = tensor({{1000.0, 1001.0, 999.0}, {-1000.0, -1001.0, -1003.0}});
          return NamedTensors{
              {"scores of journey", softmax(matmul(tutorial::journey_vectors(), tutorial::journey_vectors()[1]))},
              {"large scores", softmax(large)}};
        },
};

}  // namespace tapegrad::tasks::exercises
