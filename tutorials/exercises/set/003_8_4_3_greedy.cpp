// Tutorial 003, section 8.4.3: greedy decoding.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_4_3_greedy{
    .id = "003-8.4.3-greedy",
    .title = {"탐욕적 디코딩 작성하기", "Write greedy decoding"},
    .task = {"시작 토큰에서 출발하여, 지금까지 쓴 토큰 전체를 모델에 주고 확률이 가장 큰 토큰을 뒤에 붙이는 일을 "
             "되풀이하십시오. "
             "끝 토큰이 나오거나 토큰 most개를 쓰면 멈춥니다. 결과에는 시작 토큰이 없고 끝 토큰은 있습니다.",
             "Begin with the start token. Give all tokens so far to the model, append the most likely token, and "
             "repeat, until the end token or `most` tokens are written. The result is without the start token and "
             "includes the end token."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

#include <functional>

// Tokens int64 [T], the start token included -> logits [V] of the next one.
using Model = std::function<tapegrad::Tensor(const tapegrad::Tensor&)>;

// -> int64 [N], N <= most
inline tapegrad::Tensor greedy_tokens(const Model& model, int64_t start, int64_t end, int64_t most) {
  return tapegrad::zeros({most}, tapegrad::kInt64);  // your code
}
)~",
    .given =
        [] {
          // The logits of the first token, of the second, ...
          return NamedTensors{{"logits", tensor({{0.1, 0.2, 0.3, 2.0, 0.4},
                                                 {0.5, 1.5, 0.2, 1.4, 0.1},
                                                 {0.3, 0.9, 0.8, 0.2, 0.7},
                                                 {0.1, 0.2, 0.3, 0.4, 0.5},
                                                 {0.9, 0.1, 0.2, 0.3, 0.4},
                                                 {0.1, 0.2, 0.9, 0.3, 0.4}})}};
        },
    .check = R"~(  const auto model = [&](const Tensor& tokens) { return given("logits")[tokens.size(0) - 1]; };
  answer("at most two tokens", greedy_tokens(model, 0, 4, 2));
  answer("at most six tokens", greedy_tokens(model, 0, 4, 6));)~",
    .expected =
        [] {
          return NamedTensors{{"at most two tokens", tensor({3, 1})}, {"at most six tokens", tensor({3, 1, 1, 4})}};
        },
};

}  // namespace tapegrad::tasks::exercises
