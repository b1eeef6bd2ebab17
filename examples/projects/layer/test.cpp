// Checks the gradients of the layer, then trains, saves and reloads the model in the folder that the argument names.
#include "check.h"
#include "model.h"

int main(int, char** argv) {
  const std::string folder = fresh_folder(argv[1]);
  const FourierFeatures layer(3, 4, 1.0);
  const tg::GradcheckReport report = nn::gradcheck(layer, {tg::randn({2, 3})}, {.gradcheck = {.order = 2}});
  if (!report.ok) std::printf("%s\n", report.text.c_str());
  check(report.ok, "gradients and second derivatives of the layer are right");

  const Net net = train(folder);
  const tg::Tensor x = tg::linspace(-1, 1, 101).unsqueeze(1), y = net(x);
  const double error = tg::mse_loss(y, curve(x)).item();
  std::printf("mean squared error %.4f\n", error);
  check(error < 0.01, "the model follows the curve");

  const Net loaded = load(folder + "/model.safetensors");
  check(tg::bits_of({{"y", loaded(x)}}) == tg::bits_of({{"y", y}}), "the saved model gives the same values");
}
