// Attention weights of heads as pictures, shades and HTML.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/attention/head_map.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/heatmap.h>
#include <tapegrad/train/drawing/page.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::tasks {
namespace {

// Of a row of weights the share that lies on its largest entry.
struct Focus {
  double peak = 0;      // mean over the rows of the largest weight
  double diagonal = 0;  // share of rows whose largest weight is on the diagonal
};

Focus focus_of(const HeadMap& head) {
  Focus focus;
  const std::size_t rows = head.row_tokens.size(), columns = head.column_tokens.size();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto first = head.weights.begin() + static_cast<std::ptrdiff_t>(r * columns);
    const auto largest = std::max_element(first, first + static_cast<std::ptrdiff_t>(columns));
    focus.peak += *largest;
    focus.diagonal += static_cast<std::size_t>(largest - first) == r ? 1 : 0;
  }
  focus.peak /= static_cast<double>(rows);
  focus.diagonal /= static_cast<double>(rows);
  return focus;
}

// The largest weight in a group, at most 1; 1 where all are 0.
float largest_weight(const std::vector<HeadMap>& heads, std::string_view group) {
  float most = 0;
  for (const HeadMap& head : heads) {
    if (head.group != group) continue;
    for (const float weight : head.weights) most = std::max(most, weight);
  }
  return most > 0 ? std::min(most, 1.0F) : 1;
}

drawing::HeatScale scale_of(const std::vector<HeadMap>& heads, double most) {
  const bool masked = std::ranges::any_of(heads, [](const HeadMap& head) {
    const std::vector<bool> of_head = head.masked();
    return std::ranges::find(of_head, true) != of_head.end();
  });
  return {said("weight"), 0, most, masked ? said("masked") : ""};
}

void name_head(HeadMap& head, std::string_view stack, int64_t index) {
  head.name = fmt::format("{}{}layer {}, head {}", stack, stack.empty() ? "" : " ", head.layer, index);
  head.label = stack.empty() ? said("layer {}, head {}", head.layer, index)
                             : said("{} layer {}, head {}", shown(stack), head.layer, index);
}

}  // namespace

std::vector<bool> HeadMap::masked() const {
  if (seen.defined()) return logical_not(seen).to_vector<bool>();
  std::vector<bool> out;
  for (const float weight : weights) out.push_back(weight == 0);
  return out;
}

std::vector<HeadMap> heads_of(const nn::AttentionMaps& maps, std::size_t index, const HeadMap& like) {
  const Tensor& weights = maps[index].tensor;
  if (!weights.defined()) fail("attention", "{} has no attention weights", maps[index].name);
  const auto& [queries, keys] = maps.vectors[index];
  const Tensor& seen = maps.seen[index];
  const int64_t heads = weights.size(1), columns = weights.size(3);
  const Tensor all_seen = (seen.defined() ? seen : ones({1}, kBool)).expand(weights.shape());
  std::vector<HeadMap> out;
  for (int64_t h = 0; h < heads; ++h) {
    HeadMap head = like;
    name_head(head, like.name, h);
    head.weights = weights[0][h].contiguous().to_vector<float>();
    head.seen = all_seen[0][h];
    if (head.columns() != columns) {
      head.self = false;
      head.column_tokens.clear();
      for (int64_t i = 0; i < columns; ++i) head.column_tokens.push_back(std::to_string(i));
    }
    if (keys.defined() && keys.size(2) == columns) {
      head.queries = queries[0][h];
      head.keys = keys[0][h / (heads / keys.size(1))];
    }
    out.push_back(std::move(head));
  }
  return out;
}

// Masked positions are grey. Browsers show the weights if there are few `cells` in all.
drawing::Drawing draw(const HeadMap& head, double largest, double cell, std::size_t cells) {
  constexpr std::size_t kMostCells = 20'000;
  std::vector<float> shades = head.weights;
  const std::vector<bool> masked = head.masked();
  for (std::size_t i = 0; i < shades.size(); ++i)
    shades[i] = masked[i] ? std::numeric_limits<float>::quiet_NaN() : shades[i] / static_cast<float>(largest);
  return draw(drawing::Heatmap{.title = head.label,
                               .row_axis = said(head.row_axis),
                               .column_axis = said(head.column_axis),
                               .row_labels = head.row_tokens,
                               .column_labels = head.column_tokens,
                               .values = std::move(shades),
                               .high = cells > kMostCells ? 0 : largest,
                               .cell_width = cell,
                               .cell_height = cell});
}

drawing::Drawing draw(const std::vector<HeadMap>& heads) {
  std::vector<drawing::Drawing> parts;
  for (const HeadMap& head : heads) parts.push_back(draw(head, 1, 0, head.weights.size() * heads.size()));
  return drawing::grid({drawing::grid(parts, 4), drawing::draw(scale_of(heads, 1))}, 1);
}

std::string heads_text(const std::vector<HeadMap>& heads, std::string_view shaded, std::string_view about) {
  std::string out;
  std::vector<drawing::ShadedMap> shades;
  std::string group;
  for (const HeadMap& head : heads) {
    if (head.group != group) {
      group = head.group;
      out += fmt::format("{}\n", head.heading);
    }
    const Focus focus = focus_of(head);
    out += said("  {:<24} largest weight {:.2f} (mean), on the diagonal {:3.0f} %\n", head.label, focus.peak,
                100 * focus.diagonal);
    if (group == shaded) shades.push_back({head.label, head.row_tokens, head.weights});
  }
  return out + fmt::format("\n{}({})\n\n{}", about, said(drawing::shades_legend()), drawing::shaded_maps(shades));
}

std::string heads_html(const std::vector<HeadMap>& heads) {
  constexpr double kMap = 180;  // pixels: four in a row of a wide screen
  std::string out, group;
  float most = 1;
  for (const HeadMap& head : heads) {
    if (head.group != group || out.empty()) {
      out += out.empty() ? "" : "</div>\n";
      group = head.group;
      most = largest_weight(heads, group);
      std::vector<HeadMap> members;
      std::copy_if(heads.begin(), heads.end(), std::back_inserter(members),
                   [&](const HeadMap& other) { return other.group == group; });
      const drawing::HeatScale scale = scale_of(members, most);
      out += fmt::format("<h2 class=\"scaled\">{}{}</h2>\n<div class=\"small maps\">\n",
                         drawing::escape_markup(head.heading), drawing::svg_element(drawing::draw(scale)));
    }
    const double cells = static_cast<double>(std::max<int64_t>({head.rows(), head.columns(), 1}));
    const Focus focus = focus_of(head);
    drawing::card(out,
                  draw(head, most, std::clamp(std::floor(kMap / cells), 2.0, 28.0), head.weights.size() * heads.size()),
                  said("largest weight {:.2f}, diagonal {:.0f} %", focus.peak, 100 * focus.diagonal));
  }
  return out + (out.empty() ? "" : "</div>\n");
}

std::vector<HeadMap> drawable(std::vector<HeadMap> heads, bool& cut) {
  constexpr double kMostCells = 250'000;
  const auto most = static_cast<int64_t>(
      std::clamp(std::sqrt(kMostCells / static_cast<double>(std::max<std::size_t>(1, heads.size()))), 16.0, 100.0));
  cut = false;
  for (HeadMap& head : heads) {
    const int64_t rows = std::min(head.rows(), most), columns = std::min(head.columns(), most);
    if (rows == head.rows() && columns == head.columns()) continue;
    cut = true;
    std::vector<float> kept;
    for (int64_t r = 0; r < rows; ++r) {
      const auto first = head.weights.begin() + r * head.columns();
      kept.insert(kept.end(), first, first + columns);
    }
    head.weights = std::move(kept);
    if (head.seen.defined()) head.seen = narrow(narrow(head.seen, 0, 0, rows), 1, 0, columns);
    head.row_tokens.resize(static_cast<std::size_t>(rows));
    head.column_tokens.resize(static_cast<std::size_t>(columns));
  }
  return heads;
}

}  // namespace tapegrad::tasks
