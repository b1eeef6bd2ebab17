// A generative adversarial network in the plane: it learns to draw points of a ring of eight clusters.
//
//   gan OUT [--resume]   writes checkpoint, metrics.jsonl, model.safetensors, report.html and gan.svg into OUT;
//                        fails above a sliced Wasserstein distance of 0.1
//
// Goodfellow et al. 2014, with the gradient penalty at real points of Mescheder, Geiger, Nowozin 2018.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <numbers>
#include <string>

namespace tg = tapegrad;
using tg::Tensor;

constexpr int64_t kBatch = 256, kSteps = 3000, kSamples = 2000;

Tensor ring(int64_t n) {  // [n, 2]
  const Tensor angle = tg::randint(0, 8, {n}).to(tg::kFloat32) * (std::numbers::pi / 4);
  return tg::stack({tg::cos(angle), tg::sin(angle)}, 1) + tg::normal({n, 2}, 0, 0.05);
}

struct Generator {
  tg::nn::Linear in{8, 64}, hidden{64, 64}, out{64, 2};
  Tensor operator()(const Tensor& noise) const { return out(tg::silu(hidden(tg::silu(in(noise))))); }
  Tensor draw(int64_t n) const { return (*this)(tg::randn({n, 8})); }
};

struct Critic {
  tg::nn::Linear in{2, 64}, hidden{64, 64}, out{64, 1};
  Tensor operator()(const Tensor& x) const { return out(tg::silu(hidden(tg::silu(in(x))))); }
};

// The mean over 64 directions of the distance between the sorted projections.
double sliced_wasserstein(const Tensor& a, const Tensor& b) {
  const Tensor angle = tg::linspace(0, std::numbers::pi, 64), to = tg::stack({tg::cos(angle), tg::sin(angle)});
  const Tensor apart = tg::sort(tg::matmul(a, to), 0).values - tg::sort(tg::matmul(b, to), 0).values;
  return tg::mean(tg::sqrt(tg::mean(tg::square(apart), {0}))).item();
}

tg::drawing::Series dots(const char* name, const Tensor& points) {
  const auto column = [&](int64_t i) { return points(tg::range(0, 500), i).to(tg::kFloat64).to_vector<double>(); };
  return {.name = name, .x = column(0), .y = column(1), .faint = true, .mark = tg::drawing::Series::Mark::dots};
}

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: gan OUT [--resume]\n"), 2;
  tg::manual_seed(0);
  Generator generator;
  Critic critic;
  tg::optim::Adam generator_adam(tg::nn::parameters(generator), {.lr = 1e-3, .beta1 = 0.5});
  tg::optim::Adam critic_adam(tg::nn::parameters(critic), {.lr = 1e-3, .beta1 = 0.5});
  tg::optim::ExponentialAverage average(tg::nn::parameters(generator), {.decay = 0.995});
  tg::train::Parts parts;
  parts.add("generator", generator).add("critic", critic).add("average", average);
  parts.add("generator_adam", generator_adam).add("critic_adam", critic_adam);

  const auto step = [&](int64_t) -> tg::train::StepResult {
    const Tensor fake = generator.draw(kBatch), real = ring(kBatch);
    double of_critic = 0;
    {
      tg::Tape tape;
      const Tensor slope = tg::grad([&](const Tensor& x) { return tg::sum(critic(x)); })(real);
      const Tensor loss = tg::mean(tg::softplus(-critic(real))) + tg::mean(tg::softplus(critic(fake))) +
                          0.05 * tg::mean(tg::sum(tg::square(slope), {1}));
      of_critic = loss.item();
      critic_adam.step(tape.backward(loss));
    }
    tg::nn::freeze(critic);
    tg::Tape tape;
    const Tensor loss = tg::mean(tg::softplus(-critic(generator.draw(kBatch))));
    generator_adam.step(tape.backward(loss));
    tg::nn::unfreeze(critic);
    return {.loss = loss.item(), .figures = {{"loss of the critic", of_critic}}, .tokens = kBatch};
  };
  tg::train::StepCount steps(kSteps);
  tg::train::Loop loop(parts, steps, step, {.after_step = [&](int64_t) { average.update(); }});
  loop.run({.folder = argv[1], .resume = std::string(argv[argc - 1]) == "--resume", .report = {.unit = "points"}});

  const tg::optim::ExponentialAverage::Use use(average);
  const Tensor drawn = generator.draw(kSamples), data = ring(kSamples);
  const double distance = sliced_wasserstein(drawn, data);
  std::printf("sliced Wasserstein distance from the data: %.3f (target: 0.1); of other data: %.3f\n", distance,
              sliced_wasserstein(ring(kSamples), data));
  tg::train::replace_file(
      std::string(argv[1]) + "/gan.svg",
      tg::drawing::svg_file(draw(tg::drawing::LineChart{.title = "Sampled points",
                                                        .series = {dots("data", data), dots("generator", drawn)},
                                                        .equal = true,
                                                        .width = 420,
                                                        .height = 420})));
  return distance <= 0.1 ? 0 : 1;
}
