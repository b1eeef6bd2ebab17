// Counts, scores and draws confusion matrices.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/drawing/heatmap.h>
#include <tapegrad/train/metrics/classification.h>

#include <algorithm>
#include <numeric>

namespace tapegrad::metrics {
namespace {

constexpr std::size_t kMostWithTexts = 12;
constexpr double kSmallCell = 17;  // a label of two digits fits

double share(int64_t part, int64_t of) { return of > 0 ? static_cast<double>(part) / static_cast<double>(of) : 0; }

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::vector<std::string> classes)
    : classes_(std::move(classes)), counts_(classes_.size() * classes_.size(), 0) {}

std::size_t ConfusionMatrix::at(int64_t expected, int64_t predicted) const {
  const auto classes = static_cast<int64_t>(classes_.size());
  for (const int64_t one : {expected, predicted})
    if (one < 0 || one >= classes) fail("confusion_matrix", "expected a class from 0 to {}, got {}", classes - 1, one);
  return static_cast<std::size_t>(expected * classes + predicted);
}

void ConfusionMatrix::add(int64_t expected, int64_t predicted) {
  ++counts_[at(expected, predicted)];
  ++examples_;
}

int64_t ConfusionMatrix::count(int64_t expected, int64_t predicted) const { return counts_[at(expected, predicted)]; }

int64_t ConfusionMatrix::examples_of(int64_t expected) const {
  const auto row = counts_.begin() + static_cast<std::ptrdiff_t>(at(expected, 0));
  return std::accumulate(row, row + static_cast<std::ptrdiff_t>(classes_.size()), int64_t{0});
}

double ConfusionMatrix::accuracy() const {
  int64_t hits = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(classes_.size()); ++i) hits += count(i, i);
  return share(hits, examples_);
}

double ConfusionMatrix::f1(int64_t one) const {
  int64_t predictions = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(classes_.size()); ++i) predictions += count(i, one);
  return share(2 * count(one, one), examples_of(one) + predictions);
}

double ConfusionMatrix::macro_f1() const {
  double sum = 0;
  int64_t present = 0;
  for (int64_t one = 0; one < static_cast<int64_t>(classes_.size()); ++one) {
    int64_t predictions = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(classes_.size()); ++i) predictions += count(i, one);
    if (examples_of(one) + predictions == 0) continue;
    sum += f1(one);
    ++present;
  }
  return present > 0 ? sum / static_cast<double>(present) : 0;
}

drawing::Drawing draw(const ConfusionMatrix& matrix, std::string_view title, int64_t most) {
  std::vector<int64_t> shown(matrix.classes().size());
  std::iota(shown.begin(), shown.end(), int64_t{0});
  const bool cut = static_cast<int64_t>(shown.size()) > most;
  if (cut) {
    std::ranges::stable_sort(shown,
                             [&](int64_t a, int64_t b) { return matrix.examples_of(a) > matrix.examples_of(b); });
    shown.resize(static_cast<std::size_t>(most));
    std::ranges::sort(shown);
  }
  drawing::Heatmap map{.title = std::string(title), .row_axis = "class", .column_axis = "predicted class"};
  if (cut) map.title += fmt::format(": the {} largest of {} classes", most, matrix.classes().size());
  const bool small = shown.size() <= kMostWithTexts;
  if (!small) map.cell_width = map.cell_height = kSmallCell;
  for (const int64_t expected : shown) {
    const std::string& name = matrix.classes()[static_cast<std::size_t>(expected)];
    map.column_labels.push_back(small ? name : std::to_string(map.column_labels.size() + 1));
    map.row_labels.push_back(small ? name : fmt::format("{} {}", name, map.column_labels.back()));
    for (const int64_t predicted : shown) {
      const int64_t count = matrix.count(expected, predicted);
      map.values.push_back(static_cast<float>(share(count, matrix.examples_of(expected))));
      if (small) map.texts.push_back(count > 0 ? std::to_string(count) : "");
    }
  }
  return drawing::draw(map);
}

}  // namespace tapegrad::metrics
