// Tutorial 003, section 8.5.1: the loss of the copy task, with label smoothing.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {
namespace {

Tensor smoothed_copy_loss(double smoothing) {
  const Tensor logits = numbers_of({2, 3, 5}), target = tensor({{0, 1, 2}, {3, 4, 1}});
  const Tensor all = -log_softmax(logits), right = gather(all, -1, target.unsqueeze(-1));
  return ((1 - smoothing) * sum(right) + smoothing * sum(all) / 5) / 2;
}

}  // namespace

const Exercise k003_8_5_1{
    .id = "003-8.5.1",
    .title = {"CopyLoss와 레이블 스무딩", "CopyLoss, with label smoothing"},
    .task = {"복사 태스크의 손실을 작성하십시오. 로짓의 로그 소프트맥스에서 정답의 값에 -를 붙여 모든 토큰에 걸쳐 "
             "더하고, 토큰 수가 "
             "아니라 시퀀스 수로 나눕니다. 원논문의 레이블 스무딩도 넣으십시오. 정답의 확률을 1 - smoothing으로 하고, "
             "smoothing을 정답을 포함한 V개 토큰에 고르게 나눕니다. cross_entropy는 쓰지 마십시오.",
             "Write the loss of the copy task: the negative log-softmax of the logits at the target, summed over "
             "all tokens, and divided by the number of sequences, not of tokens. Add the label smoothing of the "
             "original paper: the target has probability 1 - smoothing, and smoothing is shared equally by all V "
             "tokens, the target included. Do not call cross_entropy."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// logits [B, T, V], target int64 [B, T] -> a scalar
inline tapegrad::Tensor copy_loss(const tapegrad::Tensor& logits, const tapegrad::Tensor& target, double smoothing) {
  return tapegrad::sum(logits);  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"logits", numbers_of({2, 3, 5})}, {"target", tensor({{0, 1, 2}, {3, 4, 1}})}};
        },
    .check = R"~(  answer("loss", copy_loss(given("logits"), given("target"), 0));
  answer("loss with smoothing 0.1", copy_loss(given("logits"), given("target"), 0.1));)~",
    .expected =
        [] {
          return NamedTensors{{"loss", smoothed_copy_loss(0)}, {"loss with smoothing 0.1", smoothed_copy_loss(0.1)}};
        },
};

}  // namespace tapegrad::tasks::exercises
