// Tutorial 004, cell 35: inverted dropout.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/exercises/inputs.h>

namespace tapegrad::tasks::exercises {

const Exercise k004_35{
    .id = "004-35",
    .title = {"역 드롭아웃 작성하기", "Write inverted dropout"},
    .task = {"남길 자리(keep이 true)를 받아 나머지를 0으로 만들고, 평균의 크기가 유지되도록 남은 값을 1 / (1 - "
             "p)배 하십시오. p는 버릴 확률입니다. 튜토리얼의 주석은 1/0.5라고 쓰지만 p가 0.5가 아니면 1/p는 "
             "틀립니다.",
             "Set everything to 0 but the elements to keep (keep is true), and multiply those by 1 / (1 - p), "
             "so that the mean keeps its size; p is the probability of dropping. A comment of the tutorial says "
             "1/0.5, but 1/p is wrong unless p is 0.5."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// x, keep [...] -> [...]
inline tapegrad::Tensor dropped(const tapegrad::Tensor& x, const tapegrad::Tensor& keep, double p) {
  return x;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"x", numbers_of({3, 4})}, {"keep", numbers_of({3, 4}) > -0.5}};
        },
    .check = R"~(  answer("p 0.5", dropped(given("x"), given("keep"), 0.5));
  answer("p 0.2", dropped(given("x"), given("keep"), 0.2));)~",
    .expected =
        [] {
          const Tensor x = numbers_of({3, 4}), kept = where(x > -0.5, x, 0.0);
          return NamedTensors{{"p 0.5", kept * 2}, {"p 0.2", kept * 1.25}};
        },
};

}  // namespace tapegrad::tasks::exercises
