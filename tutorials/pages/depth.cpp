// Measures the numbers between the layers of an encoder.
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/pages/depth.h>
#include <tapegrad/tutorials/pages/journey.h>

#include <utility>

namespace tapegrad::tasks::tutorial {

std::vector<double> by_layer(bool post_norm, double (*measure)(const Tensor&)) {
  manual_seed(0);
  nn::TransformerConfig config = sizes_of_model(200, 64, 24, 4, 128, 32);
  config.post_norm = post_norm;
  const nn::TransformerEncoder encoder(config);
  Generator generator(0);
  Tensor x = encoder.embeddings(randint(1, 200, {4, 24}, &generator));
  std::vector<double> found;
  for (std::size_t layer = 0;; ++layer) {
    found.push_back(measure(x));
    if (layer == encoder.layers.size()) return found;
    x = encoder.layers[layer](x);
  }
}

drawing::Drawing chart_by_layer(std::string title, std::string y_label, double (*measure)(const Tensor&)) {
  const auto curve = [measure](std::string name, bool post_norm) {
    return drawing::Series::numbered(std::move(name), by_layer(post_norm, measure));
  };
  return draw(drawing::LineChart{.title = std::move(title),
                                 .x_label = said("layer"),
                                 .y_label = std::move(y_label),
                                 .series = {curve("Pre-LN", false), curve("Post-LN", true)},
                                 .width = 540});
}

}  // namespace tapegrad::tasks::tutorial
