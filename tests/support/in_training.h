// A recipe in training, step by step.
#pragma once

#include <tapegrad/tasks/run/train.h>
#include <tapegrad/tasks/seq2seq/recipe.h>

#include <optional>
#include <utility>

namespace tapegrad::tests {

/// A recipe of some kind in training, new or after a checkpoint.
template <class Recipe>
class InTraining {
 public:
  template <class... Arguments>
  explicit InTraining(const Arguments&... arguments) : recipe_(arguments...) {
    recipe_.open(nullptr);
    training_.emplace(recipe_);
  }
  /// As the command starts it: with the options that were `given` by name.
  template <class... Arguments>
  explicit InTraining(const tasks::Given& given, const Arguments&... arguments) : recipe_(arguments...) {
    recipe_.adapt(given);
    recipe_.resolve();
    recipe_.open(nullptr);
    training_.emplace(recipe_);
  }
  template <class... Arguments>
  explicit InTraining(const train::Checkpoint& saved, const Arguments&... arguments) : recipe_(arguments...) {
    tasks::read_settings(recipe_, saved);
    recipe_.open(&saved);
    training_.emplace(recipe_);
    restore(saved);
  }
  train::StepMetrics step() { return loop().step(); }
  std::optional<train::EpochMetrics> ended_epoch() { return loop().ended_epoch(); }
  train::Checkpoint checkpoint() { return loop().checkpoint(); }
  void restore(const train::Checkpoint& saved) { loop().restore(saved); }
  int64_t steps() { return loop().steps(); }
  bool finished() { return loop().finished(); }
  train::Loop& loop() { return training_->loop(); }
  Recipe& recipe() { return recipe_; }
  Recipe* operator->() { return &recipe_; }

 private:
  Recipe recipe_;
  std::optional<tasks::Training> training_;
};

/// Of the tasks copy, addition and parser.
using Trainer = InTraining<tasks::Seq2SeqRecipe>;

}  // namespace tapegrad::tests
