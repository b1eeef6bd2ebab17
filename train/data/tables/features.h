// Features: the inputs and the target of a model, made of the columns of a table.
#pragma once

#include <tapegrad/train/data/columns.h>
#include <tapegrad/train/data/table.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data {

/// What turns the rows of tables into numbers for a model. A column of numbers becomes one input, (x - mean) / std with
/// the mean and the standard deviation of the training split; a column of classes becomes one input per class, 1 for
/// the class of the row and 0 for the others (one-hot). The target stays as it is: a number, or the id of a class.
///
///     const data::Csv table("leaves.csv", {data::numbers("length"), data::classes("soil"), data::classes("kind")});
///     const auto [training, validation] = table.split(0.8);
///     const data::Features features(training, {"length", "soil"}, "kind");
///     const data::DataLoader loader(training.dataset(features), {.batch_size = 32, .shuffle = true});
///
/// A trained model needs the same features later. metadata() is their text, for the model's file:
///
///     save_safetensors("model.safetensors", nn::state_dict(net), features.metadata());
///     const data::Features same(load_safetensors("model.safetensors").metadata);  // in another program
///     const Tensor rows = same(data::Csv("new.csv", same.inputs()));
class Features {
 public:
  /// Columns of numbers and classes of the training split. A column whose numbers are all equal becomes 0. Error for a
  /// column of texts or that was not read, for an input that is the target or is named twice, for no input, for a table
  /// without rows, and for numbers without a finite mean and standard deviation.
  Features(const Table& training, const std::vector<std::string>& inputs, std::string_view target);
  /// From what metadata() returned. Error for other metadata.
  explicit Features(const std::map<std::string, std::string>& metadata);
  /// One entry, "features": JSON. Error for names that are not UTF-8.
  std::map<std::string, std::string> metadata() const;

  /// The number of inputs of a row.
  int64_t size() const;
  /// The columns of the inputs, with which another file is read, and the column of the target.
  const std::vector<Column>& inputs() const { return inputs_; }
  const Column& target() const { return target_; }
  /// The names of the classes of the target; none if it is a number.
  std::vector<std::string> classes() const;

  /// The inputs of all rows, float32 [rows, size()]. Error for a table that does not have the columns, or has one of
  /// another kind or with other classes.
  Tensor operator()(const Table& table) const;
  /// The target of all rows: its column. The same Error.
  const Tensor& target_of(const Table& table) const;

 private:
  std::vector<Column> inputs_;
  std::vector<double> means_, deviations_;  // of each of inputs_; 0 and 1 for classes
  Column target_;
};

}  // namespace tapegrad::data
