// Tutorial 003, section 8.4: the whole architecture, and the learning rate of Noam.
#include <fmt/format.h>
#include <tapegrad/optim/schedule.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr double kRateOfTutorial = 1e-4;

std::vector<Number> numbers_of_noam() {
  const optim::Noam paper{.hidden_size = 512};
  std::string rows = "  step  rate\n";
  for (const int64_t step : {1, 100, 1'000, 4'000, 16'000, 100'000})
    rows += fmt::format("{:>6}  {:.3e}\n", step, paper(step));
  return {own(rows)};
}

drawing::Series rates_of(const optim::Noam& noam, std::string name, int64_t steps) {
  constexpr int64_t kPoints = 200;
  drawing::Series series{std::move(name)};
  for (int64_t i = 1; i <= kPoints; ++i)
    series.add(static_cast<double>(i * steps / kPoints), noam(i * steps / kPoints));
  return series;
}

std::vector<Figure> figures_of_noam() {
  std::vector<drawing::Series> papers;
  for (const auto& [width, warmup] : {std::pair<int64_t, int64_t>{512, 4'000}, {512, 8'000}, {256, 4'000}})
    papers.push_back(rates_of({.hidden_size = width, .warmup = warmup}, fmt::format("{}, {}", width, warmup), 20'000));
  drawing::Series constant{said("the tutorial's constant rate"), {1, 3'000}, {kRateOfTutorial, kRateOfTutorial}};
  constant.mark = drawing::Series::Mark::dashes;
  return {{draw(drawing::LineChart{.title = said("Learning rate of Noam: width, warm-up"),
                                   .x_label = said("step"),
                                   .y_label = said("learning rate"),
                                   .series = papers,
                                   .width = 560})},
          {draw(drawing::LineChart{
              .title = said("Learning rate of the addition task"),
              .x_label = said("step"),
              .y_label = said("learning rate"),
              .series = {rates_of({.hidden_size = 256, .warmup = 400}, said("Noam, warm-up of 400 steps"), 3'000),
                         rates_of({.hidden_size = 256}, said("Noam, warm-up of 4,000 steps"), 3'000), constant},
              .width = 560})}};
}

std::string rate_of_settings() {
  constexpr std::string_view kRate = R"(["*",1000000,["^","d",-0.5],["min",["^","s",-0.5],["*","s",["^","w",-1.5]]]])";
  return json_of({{"d", {"모델의 폭", "width of the model"}, 4, 12, 1, 9, true},
                  {"w", {"워밍업 단계", "steps of warm-up"}, 100, 8'000, 100, 4'000},
                  {"s", {"지금 단계", "this step"}, 100, 20'000, 100, 1'000}},
                 {{{"지금의 학습률 (백만분의 1)", "rate of this step, in millionths"}, kRate},
                  {{"가장 큰 학습률", "the largest rate"}, R"(["*",1000000,["^","d",-0.5],["^","w",-0.5]])"}},
                 1);
}

// At the first and the last step of the epochs whose lines the tutorial prints, of 300 steps each.
std::string rates_of_epochs() {
  const optim::Noam noam{.hidden_size = 256};
  std::string out = said("addition task  printed   Noam, width 256\n");
  for (const int64_t epoch : {0, 5})
    out += said("epoch {}        {:.6f}  {:.6f} to {:.6f}\n", epoch, kRateOfTutorial, noam(300 * epoch + 1),
                noam(300 * (epoch + 1)));
  return out;
}

}  // namespace

const Computation k003_8_4{"003-8.4", numbers_of_noam, figures_of_noam, {rate_of_settings}, {rates_of_epochs}};

}  // namespace tapegrad::tasks::tutorial
