// Tables, arrays and images: docs/data.md.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <fstream>

namespace tg = tapegrad;

int main() {
  std::ofstream("flowers.csv") << "length,width,species\n1.4,0.2,setosa\n4.7,1.4,versicolor\n"
                                  "1.3,,setosa\n4.5,1.5,\"versicolor\"\n";
  std::ofstream("reviews.jsonl") << R"({"text": "a good film", "stars": 4})" << '\n'
                                 << R"({"text": "a film that is not good at all", "stars": 1})" << '\n';

  // A CSV file: columns by name and type; its dataset trains a model.
  const tg::data::Csv flowers("flowers.csv", {tg::data::numbers("length"), tg::data::numbers("width", {.missing = 0.3}),
                                              tg::data::classes("species")});
  tg::data::DataLoader loader(flowers.dataset({"length", "width"}, "species"), {.batch_size = 2, .shuffle = true});
  tg::nn::Linear model(2, static_cast<int64_t>(flowers.names("species").size()));
  tg::optim::Adam adam(tg::nn::parameters(model), {.lr = 0.1});
  tg::train::Loop loop(model, adam, loader, [&](const auto& batch) {
    return tg::train::BatchLoss{.loss = tg::cross_entropy(model(batch.first), batch.second)};
  });
  double loss = 0;
  for (int step = 0; step < 50; ++step) loss = loop.step().loss;
  std::printf("%s or %s: loss %.2f\n", flowers.names("species")[0].c_str(), flowers.names("species")[1].c_str(), loss);

  // JSONL: texts of different lengths, as token ids.
  const tg::data::JsonLines reviews("reviews.jsonl",
                                    {tg::data::texts("text"), tg::data::numbers("stars", {.dtype = tg::kInt64})});
  const auto tokenizer = tg::data::train_byte_pairs("a good film; a film that is not good at all", 270);
  const tg::data::DataLoader padded(reviews.encoded("text", "stars", *tokenizer), {.batch_size = 2}, tg::data::Pad{0});
  const auto batch = padded.begin().next();
  std::printf("texts %s, stars %s\n", str(batch->first.values.shape()).c_str(), str(batch->second).c_str());

  // NumPy's files: numpy.load reads them, and what numpy.save and numpy.savez write is read here.
  tg::save_npz("flowers.npz", {{"length", flowers["length"]}, {"species", flowers["species"]}});
  tg::save_npy("length.npy", tg::load_npz("flowers.npz", "length"));
  std::printf("mean length %.3f\n", mean(tg::load_npy("length.npy")).item());

  // An image: [C, H, W], from 0 to 255.
  if (tg::data::image_formats().size() < 2) return 0;  // built without libpng or libjpeg
  const tg::Tensor image = tg::floor(tg::linspace(0, 255, 64)).expand({3, 16, 64});
  tg::data::save_image("ramp.png", image);
  const tg::Tensor grey = tg::data::load_image("ramp.png", {.channels = 1});
  std::printf("image %s, greys up to %.0f\n", str(grey.shape()).c_str(), tg::amax(grey).item());
}
