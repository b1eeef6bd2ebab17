// Writes the data of the attention player.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/attention/decoding.h>
#include <tapegrad/tutorials/widgets/widget.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks {

std::vector<DecodingStep> decoding_steps(const Tensor& logits, const std::vector<int64_t>& next, int64_t given,
                                         const std::function<std::string(int64_t)>& text_of) {
  constexpr int64_t kShown = 5;
  const int64_t count = logits.size(0), shown = std::min(kShown, logits.size(1));
  const auto [values, indices] = topk(softmax(logits.to(kFloat32)), shown);
  const std::vector<float> probabilities = values.to_vector<float>();
  const std::vector<int64_t> ids = indices.to_vector<int64_t>();
  std::vector<DecodingStep> steps;
  for (int64_t row = 0; row < count; ++row) {
    DecodingStep step{row, text_of(next[static_cast<std::size_t>(row)]), row < given, {}};
    for (int64_t k = 0; k < shown; ++k) {
      const auto at = static_cast<std::size_t>(row * shown + k);
      step.likely.emplace_back(text_of(ids[at]), probabilities[at]);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

Json heads_json(const std::vector<HeadMap>& heads) {
  Json all = Json::array();
  for (const HeadMap& head : heads) {
    Json weights = Json::array();
    const std::vector<bool> masked = head.masked();
    for (std::size_t i = 0; i < masked.size(); ++i) {
      const float weight = head.weights[i];
      if (masked[i])
        weights.push_back(nullptr);
      else
        weights.push_back(std::isfinite(weight) ? std::lround(weight * 1e4F) : 0);
    }
    all.push_back({{"name", head.label},
                   {"group", head.heading},
                   {"self", head.self},
                   {"rows", head.row_tokens},
                   {"columns", head.column_tokens},
                   {"weights", weights}});
  }
  return {{"heads", all}};
}

Json player_json(const std::vector<HeadMap>& heads, const Decoding& decoding) {
  Json steps = Json::array(), pictures = Json::array();
  for (const DecodingStep& step : decoding.steps)
    steps.push_back({{"row", step.row}, {"next", step.next}, {"given", step.given}, {"likely", step.likely}});
  for (const drawing::Drawing& picture : decoding.pictures) pictures.push_back(drawing::svg_element(picture));
  std::vector<std::string> groups;
  for (const HeadMap& head : heads) {
    const bool known = std::find(groups.begin(), groups.end(), head.heading) != groups.end();
    if (!known && !head.group.starts_with("encoder")) groups.push_back(head.heading);
  }
  Json out = heads_json(heads);
  out["decoding"] = {{"group", said(decoding.group)}, {"groups", groups},    {"read", decoding.read}, {"steps", steps},
                     {"ends", decoding.ends},         {"pictures", pictures}};
  return out;
}

std::string player_html(const std::vector<HeadMap>& heads, const Decoding& decoding) {
  return fmt::format("<h2>{}</h2>\n<noscript><p>{}</p></noscript>\n{}", said("Attention player"),
                     said("The player needs scripts; the maps below do not."),
                     tutorial::widget_html("attention", player_json(heads, decoding)));
}

}  // namespace tapegrad::tasks
