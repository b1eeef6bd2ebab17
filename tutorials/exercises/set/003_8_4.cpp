// Tutorial 003, section 8.4: the learning rate of Noam.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/optim/schedule.h>
#include <tapegrad/tutorials/exercises/exercises.h>

#include <cmath>

namespace tapegrad::tasks::exercises {

const Exercise k003_8_4{
    .id = "003-8.4",
    .title = {"NoamOpt의 학습률 작성하기", "Write the learning rate of NoamOpt"},
    .task = {"Noam 스케줄을 작성하십시오. 단계 step의 학습률은 factor * d_model^-0.5 * min(step^-0.5, step * "
             "warmup^-1.5)입니다. 워밍업 동안 직선으로 오르고, 그 뒤에는 단계의 제곱근에 반비례하여 내려갑니다. "
             "rate()를 부를 때마다 한 단계씩 나아가며, 첫 단계는 1입니다.",
             "Write the schedule of Noam. The learning rate at `step` is factor * d_model^-0.5 * min(step^-0.5, "
             "step * warmup^-1.5): it rises linearly during the warm-up, and then falls with the root of the "
             "step. Each call of rate() goes one step on; the first step is 1."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

struct NoamOpt {
  int64_t d_model;
  double factor;
  int64_t warmup;
  int64_t step = 0;

  double rate() {
    return 0;  // your code
  }
};
)~",
    .given = [] { return NamedTensors{}; },
    .check = R"~(  NoamOpt short_one{64, 2, 3}, paper{512, 1, 4000};
  std::vector<double> rates, first;
  for (int i = 0; i < 8; ++i) rates.push_back(short_one.rate());
  for (int i = 0; i < 3; ++i) first.push_back(paper.rate());
  answer("rates with a warm-up of 3 steps", tensor(rates, {8}));
  answer("the first rates of the paper", tensor(first, {3}));)~",
    .expected =
        [] {
          std::vector<double> rates, first;
          for (int64_t step = 1; step <= 8; ++step) rates.push_back(optim::Noam{64, 3, 2}(step));
          for (int64_t step = 1; step <= 3; ++step) first.push_back(optim::Noam{512, 4000, 1}(step));
          return NamedTensors{{"rates with a warm-up of 3 steps", tensor(rates, {8})},
                              {"the first rates of the paper", tensor(first, {3})}};
        },
    .tolerance = 1e-12,
};

}  // namespace tapegrad::tasks::exercises
