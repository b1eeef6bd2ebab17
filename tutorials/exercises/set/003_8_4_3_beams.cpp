// Tutorial 003, section 8.4.3: beam search.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_4_3_beams{
    .id = "003-8.4.3-beams",
    .title = {"빔 서치 두 단계", "Two steps of beam search"},
    .task = {"첫 토큰의 로짓과, 첫 토큰마다 그다음 토큰의 로짓이 있습니다. 첫 토큰은 확률이 큰 beams개만 남기고, 그 "
             "가운데 두 "
             "토큰의 확률의 곱이 가장 큰 쌍을 구하십시오. 곱은 로그 확률의 합으로 계산합니다. 로짓은 행마다 기준이 "
             "다르므로 "
             "그대로 더하면 틀립니다.",
             "There are logits of the first token, and for each first token logits of the second. Keep the `beams` "
             "most likely first tokens, and find among them the pair whose product of probabilities is largest, "
             "computed as a sum of log-probabilities. Each row of logits has an offset of its own, so adding "
             "logits is wrong."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// first [V], second [V, W]: row i is after the first token i -> int64 [2]
inline tapegrad::Tensor best_pair(const tapegrad::Tensor& first, const tapegrad::Tensor& second, int64_t beams) {
  return tapegrad::zeros({2}, tapegrad::kInt64);  // your code
}
)~",
    .given =
        [] {
          const Tensor after = tensor({{0.5, 0.3, 0.2}, {0.2, 0.7, 0.1}, {0.03, 0.02, 0.95}, {0.4, 0.4, 0.2}});
          return NamedTensors{{"first", log(tensor({0.36, 0.30, 0.28, 0.06})) + 1},
                              {"second", log(after) + tensor({{3.}, {0.}, {-2.}, {1.}})}};
        },
    .check = R"~(  answer("1 beam", best_pair(given("first"), given("second"), 1));
  answer("2 beams", best_pair(given("first"), given("second"), 2));
  answer("4 beams", best_pair(given("first"), given("second"), 4));)~",
    .expected =
        [] {
          // 0.36 * 0.5 = 0.18, 0.30 * 0.7 = 0.21 and 0.28 * 0.95 = 0.266
          return NamedTensors{{"1 beam", tensor({0, 0})}, {"2 beams", tensor({1, 1})}, {"4 beams", tensor({2, 2})}};
        },
};

}  // namespace tapegrad::tasks::exercises
