// Tutorial 004, cell 23: scaled dot-product attention.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {

const Exercise k004_23{
    .id = "004-23",
    .title = {"스케일드 내적 어텐션", "Scaled dot-product attention"},
    .task = {"쿼리와 키의 내적을 키의 차원의 제곱근으로 나누고, 소프트맥스를 취하여 값의 가중 평균을 "
             "구하십시오. 나누지 않으면 차원이 클수록 점수가 커져 소프트맥스가 한 곳으로 쏠리고 기울기가 "
             "작아집니다. dot_product_attention은 쓰지 마십시오.",
             "Divide the dot products of queries and keys by the root of the keys' dimension, take the softmax, "
             "and return the weighted mean of the values. Without the division, scores grow with the dimension, "
             "the softmax is nearly one-hot and its gradients are small. Do not call dot_product_attention."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// q [Q, d], k [K, d], v [K, e] -> [Q, e]
inline tapegrad::Tensor attention(const tapegrad::Tensor& q, const tapegrad::Tensor& k, const tapegrad::Tensor& v) {
  return v;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"q", numbers_of({2, 4})}, {"k", numbers_of({5, 4})}, {"v", numbers_of({5, 3})}};
        },
    .check = R"~(  answer("contexts", attention(given("q"), given("k"), given("v")));)~",
    .expected =
        [] {
          const Tensor q = numbers_of({2, 4}), k = numbers_of({5, 4}), v = numbers_of({5, 3});
          return NamedTensors{{"contexts", matmul(softmax(matmul(q, k.t()) / 2), v)}};  // 2: the root of 4
        },
};

}  // namespace tapegrad::tasks::exercises
