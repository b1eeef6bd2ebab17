// A diffusion model in the plane: it transforms noise into points of two moons, step by step.
//
//   diffusion OUT [SEED] [--resume]   writes the run and diffusion.svg into the folder OUT; fails above a sliced
//                                     Wasserstein distance of 0.1
//
// Ho, Jain, Abbeel 2020, with the cosine schedule of Nichol, Dhariwal 2021.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

namespace tg = tapegrad;
using tg::Tensor;

constexpr int64_t kNoiseSteps = 100, kBatch = 512, kSteps = 4000, kSamples = 2000;
constexpr int64_t kShown[] = {0, 60, 80, 90, 100};
constexpr double kPi = std::numbers::pi;

Tensor two_moons(int64_t n) {  // [n, 2], with about the variance of a standard normal
  const Tensor angle = tg::uniform({n}, 0, kPi), lower = tg::randint(0, 2, {n}).to(tg::kFloat32);
  const Tensor x = tg::cos(angle) * (1 - 2 * lower) + lower - 0.5,
               y = tg::sin(angle) * (1 - 2 * lower) + 0.5 * lower - 0.25;
  return 1.3 * tg::stack({x, y}, 1) + tg::normal({n, 2}, 0, 0.06);
}

// After step t, counted from 0, the share alpha_bar[t] of the data's variance remains.
struct Noise {
  Tensor alpha_bar, alpha;  // [kNoiseSteps]
  Noise() {
    const Tensor at = tg::arange(0, kNoiseSteps + 1, 1, tg::kFloat32) / double(kNoiseSteps);
    const Tensor f = tg::square(tg::cos((at + 0.008) * (kPi / 2 / 1.008)));
    alpha = tg::maximum(f.slice(0, 1) / f.slice(0, 0, -1), 0.001);
    alpha_bar = tg::cumprod(alpha, 0);
  }
};

// The noise in x [N, 2] at the steps t [N].
struct Denoiser {
  tg::nn::Linear in{2, 128}, time{32, 128}, hidden{128, 128}, last{128, 128}, out{128, 2};
  Tensor operator()(const Tensor& x, const Tensor& t) const {
    const Tensor frequency = tg::exp(tg::linspace(0, -std::log(1000.0), 16));
    const Tensor phase = t.to(tg::kFloat32).unsqueeze(1) * frequency;
    Tensor h = tg::silu(in(x) + time(tg::cat({tg::sin(phase), tg::cos(phase)}, 1)));
    h = h + tg::silu(hidden(h));
    h = h + tg::silu(last(h));
    return out(h);
  }
};

// Samples points from noise; returns the states after kShown steps.
std::vector<Tensor> sample(const Denoiser& denoiser, const Noise& noise, int64_t n) {
  Tensor x = tg::randn({n, 2});
  std::vector<Tensor> seen{x};
  for (int64_t t = kNoiseSteps - 1; t >= 0; --t) {
    const double alpha = noise.alpha[t].item(), bar = noise.alpha_bar[t].item();
    const Tensor clean =
        tg::clamp((x - std::sqrt(1 - bar) * denoiser(x, tg::full({n}, double(t), tg::kInt64))) / std::sqrt(bar), -3, 3);
    const double before = t > 0 ? noise.alpha_bar[t - 1].item() : 1;
    // The mean and variance of x[t - 1], given x[t] and the clean point.
    x = (std::sqrt(before) * (1 - alpha) / (1 - bar)) * clean + (std::sqrt(alpha) * (1 - before) / (1 - bar)) * x;
    if (t > 0) x = x + std::sqrt((1 - alpha) * (1 - before) / (1 - bar)) * tg::randn({n, 2});
    if (kNoiseSteps - t == kShown[seen.size()]) seen.push_back(x);
  }
  return seen;
}

// The mean over 64 directions of the distance between the sorted projections.
double sliced_wasserstein(const Tensor& a, const Tensor& b) {
  const Tensor angle = tg::linspace(0, kPi, 64), directions = tg::stack({tg::cos(angle), tg::sin(angle)});
  const Tensor pa = tg::sort(tg::matmul(a, directions), 0).values, pb = tg::sort(tg::matmul(b, directions), 0).values;
  return tg::mean(tg::sqrt(tg::mean(tg::square(pa - pb), {0}))).item();
}

tg::drawing::Drawing scatter(std::string title, const Tensor& points) {
  const Tensor some = points.slice(0, 0, 500);
  const auto column = [&](int64_t i) { return some.select(1, i).to(tg::kFloat64).to_vector<double>(); };
  return draw(tg::drawing::LineChart{
      .title = std::move(title),
      .series = {{.x = column(0), .y = column(1), .faint = true, .mark = tg::drawing::Series::Mark::dots}},
      .equal = true,
      .y_low = -3,
      .y_high = 3,
      .x_low = -3,
      .x_high = 3,
      .width = 240,
      .height = 240});
}

int main(int argc, char** argv) {
  const bool resume = argc > 2 && argv[argc - 1] == std::string("--resume");
  if (argc < 2) return std::fprintf(stderr, "usage: diffusion OUT [SEED] [--resume]\n"), 2;
  tg::manual_seed(argc - resume > 2 ? std::stoull(argv[2]) : 0);
  const Noise noise;
  Denoiser denoiser;
  tg::optim::Adam adam(tg::nn::parameters(denoiser), {.lr = 2e-3});
  tg::optim::ExponentialAverage average(tg::nn::parameters(denoiser), {.decay = 0.995});
  tg::train::Parts parts;
  parts.add("denoiser", denoiser).add("average", average);
  parts.add("adam", adam, tg::optim::WarmupCosine{.lr = 2e-3, .warmup = 100, .total = kSteps});
  const auto step = [&](int64_t) -> tg::train::StepResult {
    const Tensor x = two_moons(kBatch), e = tg::randn_like(x), t = tg::randint(0, kNoiseSteps, {kBatch});
    const Tensor bar = noise.alpha_bar(t, tg::newaxis);
    const Tensor noisy = tg::sqrt(bar) * x + tg::sqrt(1 - bar) * e;
    tg::Tape tape;
    const Tensor loss = tg::mse_loss(denoiser(noisy, t), e);
    adam.step(tape.backward(loss));
    return {.loss = loss.item(), .tokens = kBatch};
  };
  tg::train::StepCount steps(kSteps);
  tg::train::Loop loop(parts, steps, step, {.after_step = [&](int64_t) { average.update(); }});
  loop.run({.folder = argv[1], .resume = resume, .checkpoint_every = 1000, .report = {.unit = "points"}});

  const tg::optim::ExponentialAverage::Use use(average);
  const std::vector<Tensor> states = sample(denoiser, noise, kSamples);
  const Tensor data = two_moons(kSamples);
  const double distance = sliced_wasserstein(states.back(), data);
  std::printf("sliced Wasserstein distance from the data: %.3f (target: 0.1); of other data: %.3f, of noise: %.3f\n",
              distance, sliced_wasserstein(two_moons(kSamples), data), sliced_wasserstein(states[0], data));
  std::vector<tg::drawing::Drawing> drawings;
  for (std::size_t i = 0; i < states.size(); ++i)
    drawings.push_back(scatter(std::to_string(kShown[i]) + " steps", states[i]));
  drawings.push_back(scatter("data", data));
  tg::train::replace_file(std::string(argv[1]) + "/diffusion.svg",
                          tg::drawing::svg_file(tg::drawing::grid(drawings, 3)));
  return distance <= 0.1 ? 0 : 1;
}
