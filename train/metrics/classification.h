// Scores of a classifier: the confusion matrix, what follows from it, and its plot.
#pragma once

#include <tapegrad/train/drawing/svg.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::metrics {

/// The number of examples by class and predicted class, for `classes` with these names.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(std::vector<std::string> classes);

  /// Counts an example. Error for a number that is not a class.
  void add(int64_t expected, int64_t predicted);

  /// Their names.
  const std::vector<std::string>& classes() const { return classes_; }
  /// The examples of a class with this prediction.
  int64_t count(int64_t expected, int64_t predicted) const;
  /// All examples that were added.
  int64_t examples() const { return examples_; }
  int64_t examples_of(int64_t expected) const;  ///< of this class, with any prediction

  /// The share of the examples whose class was predicted; 0 where there are none.
  double accuracy() const;
  /// F1 of one class: 2 hits / (examples of the class + predictions of the class); 0 where both are 0.
  double f1(int64_t one) const;
  /// The mean of f1 over the classes that occur among the examples or the predictions, as scikit-learn's f1_score with
  /// average="macro".
  double macro_f1() const;

 private:
  std::size_t at(int64_t expected, int64_t predicted) const;
  std::vector<std::string> classes_;
  std::vector<int64_t> counts_;  // [expected, predicted]
  int64_t examples_ = 0;
};

/// A heatmap with the shares of each row. Up to 12 classes have names on both axes and the counts in the cells; more
/// have numbers, and the names next to those of the rows. Of more than `most` classes, those with the most examples are
/// shown, in the order of the classes, and the title says so.
drawing::Drawing draw(const ConfusionMatrix& matrix, std::string_view title, int64_t most = 30);

}  // namespace tapegrad::metrics
