// Tutorial 003, section 8.5.2: exact match.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_5_2{
    .id = "003-8.5.2",
    .title = {"완전 일치율 작성하기", "Write the exact-match rate"},
    .task = {"덧셈 태스크는 답의 모든 자리가 맞아야 맞은 것으로 셉니다. 패딩(토큰 0)인 정답의 자리는 무엇이 "
             "나와도 상관없습니다. 모든 토큰이 맞은 시퀀스의 비율을 구하십시오.",
             "The addition task counts an answer only if all of its digits are right. Where the target is "
             "padding (token 0), any token will do. Compute the share of sequences whose tokens are all right."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// predicted, target int64 [B, T] -> a share from 0 to 1
inline double exact_match(const tapegrad::Tensor& predicted, const tapegrad::Tensor& target) {
  return 0;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"predicted", tensor({{4, 0, 8, 9}, {1, 2, 3, 4}, {5, 5, 0, 0}, {7, 1, 1, 2}})},
                              {"target", tensor({{4, 0, 8, 0}, {1, 2, 3, 5}, {5, 5, 0, 0}, {7, 1, 1, 2}})}};
        },
    .check = R"~(  answer("rate", tensor({exact_match(given("predicted"), given("target"))}));
  answer("rate of the target itself", tensor({exact_match(given("target"), given("target"))}));)~",
    .expected =
        [] {
          return NamedTensors{{"rate", tensor({0.75})},
                              {"rate of the target itself", tensor({1.0})}};  // the second of the four is wrong
        },
};

}  // namespace tapegrad::tasks::exercises
