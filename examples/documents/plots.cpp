// Charts and a page: docs/training.md.
#include <tapegrad/train.h>

#include <cmath>
#include <cstdio>

namespace tg = tapegrad;

int main() {
  tg::drawing::Series loss{.name = "loss"};
  for (int step = 1; step <= 100; ++step) {
    loss.x.push_back(step);
    loss.y.push_back(4 * std::exp(-0.03 * step));
  }
  const tg::drawing::Drawing curve =
      draw(tg::drawing::LineChart{.title = "Loss", .x_label = "step", .series = {loss}, .log_y = true});
  const tg::drawing::Drawing map = draw(tg::drawing::Heatmap{
      .title = "Attention", .row_labels = {"I", "am"}, .column_labels = {"I", "am"}, .values = {1, 0, 0.3F, 0.7F}});

  std::string body = "<h1>A run</h1>\n";
  card(body, curve);
  card(body, map);
  tg::train::replace_file("report.html", tg::drawing::page("A run", body));
  tg::train::replace_file("loss.svg", tg::drawing::svg_file(curve));

  std::printf("%s", tg::drawing::shaded_maps({{"attention", {"I", "am"}, {1, 0, 0.3F, 0.7F}}}).c_str());
}
