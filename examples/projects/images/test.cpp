// Trains, saves and reloads the model in the folder that the argument names: is it right about images that it has not
// seen?
#include "check.h"
#include "model.h"

constexpr double kLeast = 0.8;  // share of the unseen images

int main(int, char** argv) {
  const std::string folder = fresh_folder(argv[1]);
  const Trained trained = train(folder);
  const std::vector<int64_t> answers = predict(trained.model, trained.images);
  const std::vector<int64_t> labels = trained.labels.to_vector<int64_t>();
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += answers[i] == labels[i];
  std::printf("%.0f of %zu unseen images are right\n", right, labels.size());
  check(right >= kLeast * static_cast<double>(labels.size()), "the model is right about unseen images");

  const Model loaded = load(folder + "/model.safetensors");
  check(predict(loaded, trained.images) == answers, "the saved model gives the same answers");
  check(loaded.classes == trained.model.classes, "its classes have the same names");
  const data::ImageFolder images(kImages, kReading);
  check(images[0].first.shape() == tg::Shape{kChannels, kSide, kSide}, "images have the size that the model expects");
}
