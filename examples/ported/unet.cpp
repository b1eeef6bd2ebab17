// Trains the U-Net of unet.h to predict the noise in images of digits.
//
//   ported_unet OUT [--resume] [--data FILE]   writes the run into the folder OUT; fails above its target
#include "unet.h"

#include "../digits.h"
#include "training.h"

#include <numbers>

namespace tg = tapegrad;

int main(int argc, char** argv) {
  const Digits digits(data_option(argc, argv, kDigitsFile));
  tg::manual_seed(0);
  ported::Unet model{{.dim = 16, .dim_mults = {1, 2}, .channels = 1, .attn_dim_head = {16}, .attn_heads = {2}}};
  constexpr int64_t kBatch = 32, kLevels = 100, kUnseen = 300;
  return ported::train_to_target(
      argc, argv, model, {.steps = 200, .lr = 3e-3, .target = 0.28, .unit = "images", .units = kBatch},
      [&](bool unseen) {
        const int64_t first = digits.size() - kUnseen;
        const tg::Tensor rows = unseen ? tg::randint(first, digits.size(), {kBatch}) : tg::randint(0, first, {kBatch});
        const tg::Tensor clean = 2 * digits.images(rows) - 1, noise = tg::randn_like(clean);
        const tg::Tensor time = tg::randint(0, kLevels, {kBatch}).to(tg::kFloat32);
        const tg::Tensor angle =
            (time + 1)(tg::all, tg::newaxis, tg::newaxis, tg::newaxis) * (std::numbers::pi / 2 / (kLevels + 1));
        return tg::mse_loss(model(tg::cos(angle) * clean + tg::sin(angle) * noise, time), noise);
      });
}
