// Trains a variational autoencoder (Kingma, Welling 2013) on handwritten digits, with two latent variables, so that the
// latent space is a plane of digits.
//
//   vae OUT [SEED] [--data FILE]   writes the files of the run into OUT, and vae.svg: the plane, the positions of
//                                  unseen digits in it, and their reconstructions
#include "digits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace tg = tapegrad;
namespace nn = tapegrad::nn;

constexpr int64_t kEpochs = 150;
constexpr double kTarget = -24.5;  // nats per unseen digit

struct Vae {
  nn::Sequential<nn::Flatten, nn::Linear, nn::GELU, nn::Linear, nn::GELU, nn::Linear> encoder{
      nn::Flatten(), nn::Linear(64, 128), nn::GELU(), nn::Linear(128, 128), nn::GELU(), nn::Linear(128, 4)};
  nn::Sequential<nn::Linear, nn::GELU, nn::Linear, nn::GELU, nn::Linear, nn::Unflatten> decoder{
      nn::Linear(2, 128), nn::GELU(),          nn::Linear(128, 128),
      nn::GELU(),         nn::Linear(128, 64), nn::Unflatten(1, {1, 8, 8})};

  // Mean and logarithm of the variance of q(z|x), [B, 2] each.
  std::pair<tg::Tensor, tg::Tensor> encode(const tg::Tensor& x) const {
    const auto parts = tg::chunk(encoder(x), 2, -1);
    return {parts[0], parts[1]};
  }
  tg::Tensor decode(const tg::Tensor& z) const { return tg::sigmoid(decoder(z)); }

  // -ELBO = E[-log p(x|z)] + KL(q(z|x) || N(0, 1)), the mean over the batch. A grey level counts as the probability of
  // black.
  tg::Tensor operator()(const tg::Tensor& x) const {
    const auto [mean, log_var] = encode(x);
    const tg::Tensor z = mean + tg::exp(0.5 * log_var) * tg::randn_like(mean);
    const tg::Tensor missed = tg::binary_cross_entropy_with_logits(decoder(z), x, {.reduction = tg::Reduction::sum});
    const tg::Tensor kl = 0.5 * tg::sum(tg::square(mean) + tg::exp(log_var) - log_var - 1);
    return (missed + kl) / static_cast<double>(x.size(0));
  }
};

// The decoder's image at every point of a grid from -2.5 to 2.5.
tg::drawing::Drawing plane(const Vae& vae) {
  constexpr int64_t kSide = 9;
  const tg::Tensor line = tg::linspace(-2.5, 2.5, kSide);
  const auto grid = tg::meshgrid({-line, line});  // the first latent variable to the right, the second upwards
  const tg::Tensor z = tg::stack({grid[1].flatten(), grid[0].flatten()}, 1);
  return draw(tg::drawing::Images{
      .title = "The plane of digits", .images = vae.decode(z), .columns = kSide, .pixel = 5, .gap = 0});
}

// Unseen digits at their posterior means in the same plane, where there is room.
tg::drawing::Drawing places(const Vae& vae, const tg::Tensor& images, const tg::Tensor& labels) {
  tg::drawing::Drawing out{420, 420, {}};
  tg::drawing::write_text(out.body, 4, 18, "start", "Unseen digits in the plane", tg::drawing::Type::title);
  const auto at = vae.encode(images).first.to_vector<float>();
  const auto digits = labels.to_vector<int64_t>();
  std::vector<std::pair<double, double>> taken;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto pixel = [](float z) { return 192 + 192 * std::clamp(z / 2.5, -1., 1.); };
    const double x = 18 + pixel(at[2 * i]), y = 34 + pixel(-at[2 * i + 1]);
    const bool room = std::none_of(taken.begin(), taken.end(), [&](const auto& other) {
      return std::abs(x - other.first) < 9 && std::abs(y - other.second) < 13;
    });
    if (!room) continue;
    taken.emplace_back(x, y);
    tg::drawing::write_text(out.body, x, y, "middle", std::to_string(digits[i]), tg::drawing::Type::small);
  }
  return out;
}

tg::drawing::Drawing reconstructions(const Vae& vae, const tg::Tensor& images) {
  const tg::Tensor some = images.slice(0, 0, 12);
  return draw(tg::drawing::Images{.title = "Unseen digits and their reconstructions",
                                  .images = tg::cat({some, vae.decode(vae.encode(some).first)}),
                                  .columns = 12});
}

int main(int argc, char** argv) {
  const std::string file = data_option(argc, argv, kDigitsFile);
  if (argc < 2) return std::fprintf(stderr, "usage: vae OUT [SEED] [--data FILE]\n"), 2;
  const std::string out = argv[1];
  tg::manual_seed(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);
  const auto parts = split(Digits(file));
  const tg::data::DataLoader training(parts[0], {.batch_size = 64, .shuffle = true});
  const auto [images, labels] = all_of(parts[1]);
  Vae vae;
  tg::optim::Adam adam(nn::parameters(vae), {.lr = 3e-3});

  const int64_t steps = kEpochs * training.size();
  tg::train::Loop loop(
      vae, adam, training,
      [&](const auto& batch) {
        const tg::Tensor& x = std::get<0>(batch);
        return tg::train::BatchLoss{.loss = vae(x), .tokens = x.size(0), .terms = static_cast<double>(x.size(0))};
      },
      {.epochs = kEpochs, .schedule = tg::optim::WarmupCosine{.lr = 3e-3, .warmup = steps / 20, .total = steps}});
  loop.run({.folder = out,
            .checkpoint_every = 500,
            .report = {.title = "Variational autoencoder", .loss = "-ELBO", .unit = "images"},
            .ended_epoch = [](tg::train::EpochMetrics& epoch, const tg::train::StepMetrics&, tg::train::Progress& bar) {
              if (epoch.epoch % 10 == 9)
                bar.line("epoch " + std::to_string(epoch.epoch + 1) + ": ELBO " + std::to_string(-epoch.loss));
            }});

  nn::eval(vae);
  double elbo = 0;  // the mean over 20 draws of z
  for (int draw = 0; draw < 20; ++draw) elbo -= vae(images).item() / 20;
  const auto picture = tg::drawing::grid(
      {tg::drawing::grid({plane(vae), places(vae, images, labels)}, 2), reconstructions(vae, images)}, 1);
  tg::train::replace_file(out + "/vae.svg", tg::drawing::svg_file(picture));
  std::printf("ELBO %.2f nats per unseen digit (target: above %.1f), %s/vae.svg\n", elbo, kTarget, out.c_str());
  return elbo > kTarget ? 0 : 1;
}
