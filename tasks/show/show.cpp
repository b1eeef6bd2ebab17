// The list of topics, and the files that hold what they show.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/drawing/heatmap.h>
#include <tapegrad/tasks/drawing/page.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/show/show.h>
#include <tapegrad/tasks/train/files.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks {

namespace fs = std::filesystem;
namespace {

constexpr Topic kTopics[] = {
    {"causal-mask", "a position may look back, never ahead (8.2.5)", "tokens of a drawn example, 1 to 64", "",
     "of a drawn example", "", show_causal_mask},
    {"padding-mask", "what fills up a short sentence is not looked at (8.2.5)", "tokens of drawn sentences, 1 to 64",
     "", "of drawn sentences", "", show_padding_mask},
    {"positional-encoding", "position indices, and sines and cosines of many periods (8.3.1, 8.3.2)",
     "positions that are drawn, 2 to 1000 (default: 100)",
     "width of the model, a multiple of 4 from 16 to 4096 (default: 512)", "", "", show_positional_encoding},
    {"layer-norm", "mean 0 and deviation 1, then scale and shift (8.4.1)", "tokens of a sequence, 1 to 32 (default: 5)",
     "features of a token, 2 to 16 (default: 6)", "of data, scale and shift (default: 0)", "", show_layer_norm},
    {"attention-steps", "from word vectors to contextual vectors, step by step (8.2.1, 8.2.2)", "", "", "",
     "time-flies (8.2.1, 8.2.2) or journey (the fourth tutorial: six words, trained weights, causal mask, dropout)",
     show_attention_steps},
};

std::string html_of(const Exhibit& exhibit) {
  std::string body = fmt::format("<h1>{}</h1>\n<div class=\"maps\">\n", drawing::escape_markup(exhibit.title));
  for (const drawing::Drawing& drawing : exhibit.drawings) drawing::card(body, drawing);
  body += fmt::format("</div>\n<h2>Step by step</h2>\n<div class=\"card\"><pre>{}</pre></div>\n",
                      drawing::escape_markup(exhibit.text));
  return drawing::page(fmt::format("tapegrad: {}", exhibit.title), body);
}

}  // namespace

std::span<const Topic> topics() { return kTopics; }

int64_t in_range(std::string_view option, const std::optional<int64_t>& value, int64_t otherwise, int64_t low,
                 int64_t high) {
  const int64_t used = value.value_or(otherwise);
  if (used < low || used > high)
    bad_request(fmt::format("--{}", option),
                fmt::format("{} is out of range: from {} to {} is possible", used, low, high));
  return used;
}

drawing::Drawing draw_matrix(std::string_view title, const Tensor& x, const std::vector<std::string>& rows,
                             const std::vector<std::string>& columns, double low, double high, int digits) {
  drawing::Heatmap map;
  map.title = title;
  map.row_labels = rows;
  map.column_labels = columns;
  map.is_signed = low < 0;
  constexpr std::size_t kMostWithValues = 10;  // rows and columns
  for (const double value : x.to(kFloat64).to_vector<double>()) {
    map.values.push_back(static_cast<float>(map.is_signed ? value / high : (value - low) / (high - low)));
    if (std::max(rows.size(), columns.size()) <= kMostWithValues) map.texts.push_back(drawing::fixed(value, digits));
  }
  return draw(map);
}

int show(const ShowRequest& request) {
  const auto topic =
      std::find_if(std::begin(kTopics), std::end(kTopics), [&](const Topic& t) { return t.name == request.topic; });
  if (topic == std::end(kTopics)) bad_request("show", fmt::format("there is no topic \"{}\"", request.topic));
  const Exhibit exhibit = topic->make(request);

  const fs::path folder(request.out);
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) bad_request("--out", fmt::format("cannot create the folder {}: {}", folder.string(), code.message()));
  const fs::path svg = folder / fmt::format("{}.svg", request.topic),
                 html = folder / fmt::format("{}.html", request.topic);
  train::replace_file(svg, drawing::svg_file(drawing::grid(exhibit.drawings, exhibit.columns)));
  train::replace_file(html, html_of(exhibit));
  if (!request.quiet) fmt::print("=== {} ===\n\n{}\n", exhibit.title, exhibit.text);
  fmt::print("Pictures: {}, {}\n", svg.string(), html.string());
  return 0;
}

}  // namespace tapegrad::tasks
