// Trains, saves and reloads the model in the folder that the argument names: is it right about rows that it has not
// seen?
#include "check.h"
#include "model.h"

constexpr double kLeast = 0.8;  // share of the unseen rows

int main(int, char** argv) {
  const std::string folder = fresh_folder(argv[1]);
  const Trained trained = train(folder);
  const std::vector<int64_t> answers = predict(trained.model, trained.unseen);
  const std::vector<int64_t> plants = trained.model.features.target_of(trained.unseen).to_vector<int64_t>();
  double right = 0;
  for (std::size_t i = 0; i < plants.size(); ++i) right += answers[i] == plants[i];
  std::printf("%.0f of %zu unseen rows are right\n", right, plants.size());
  check(right >= kLeast * static_cast<double>(plants.size()), "the model is right about unseen rows");

  const Model loaded = load(folder + "/model.safetensors");
  check(predict(loaded, trained.unseen) == answers, "the saved model gives the same answers");
  check(loaded.features.metadata() == trained.model.features.metadata(), "its inputs are scaled in the same way");
  const tg::Tensor row = loaded.features(trained.unseen).slice(0, 0, 1);
  check(tg::nn::gradcheck(loaded.net, {row}).ok, "the gradients are right");
}
