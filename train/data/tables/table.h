// Tables: columns of numbers, classes and texts that were read from a file, and datasets of their rows.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tensor.h>
#include <tapegrad/train/data/columns.h>
#include <tapegrad/train/data/tensor_dataset.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::data {

class Tokenizer;

/// A dataset of encoded texts: example i is the token ids of text i and its target. Texts are encoded when they are
/// needed. Copies share the texts.
class EncodedTexts {
 public:
  EncodedTexts(std::shared_ptr<const std::vector<std::string>> texts, Tensor targets, const Tokenizer& tokenizer)
      : texts_(std::move(texts)), targets_(std::move(targets)), tokenizer_(&tokenizer) {}
  int64_t size() const { return static_cast<int64_t>(texts_->size()); }
  /// Error for a row outside [0, size).
  std::pair<std::vector<int64_t>, int64_t> operator[](int64_t i) const;

 private:
  std::shared_ptr<const std::vector<std::string>> texts_;
  Tensor targets_;
  const Tokenizer* tokenizer_;
};

/// The columns that were read: Csv and JsonLines are tables. All functions throw an Error for a column that was not
/// read, or that has values of another kind. Copies share the values.
class Table {
 public:
  /// One column after reading; the member of its type is set.
  struct Read {
    std::string name;                                       ///< in the header
    Tensor values;                                          ///< of numbers and classes, [size()]
    std::optional<std::vector<std::string>> names;          ///< of classes
    std::shared_ptr<const std::vector<std::string>> texts;  ///< of texts
    decltype(Column::values) options;                       ///< with which it was read
  };

  /// The number of rows.
  int64_t size() const { return size_; }
  /// A column of numbers, or the class ids of a column of classes: [size()].
  const Tensor& operator[](std::string_view column) const;
  const Tensor& operator[](std::integral auto number) const = delete;  // write table["column"]
  /// The names of the classes of a column: its class i has the name number i.
  const std::vector<std::string>& names(std::string_view column) const;
  const std::vector<std::string>& texts(std::string_view column) const;
  /// A column as a second file is read with it: its options, and the names of its classes.
  Column column(std::string_view name) const;

  /// A table of these rows, in this order, with the same columns and the same classes. Error for a row outside
  /// [0, size()).
  Table rows(std::span<const int64_t> rows) const;
  /// Two tables of random rows without overlap, such as a training and a validation split: the first has `share` of the
  /// rows, rounded. They are sampled as by random_split. Error unless share is in [0, 1].
  std::pair<Table, Table> split(double share, Generator& generator = default_generator()) const;

  /// Columns of one dtype, side by side: [size(), columns]. Error for different dtypes.
  Tensor matrix(const std::vector<std::string>& columns) const;
  /// A dataset of pairs: the values of `inputs` in row i, [inputs], and the value of `target`.
  TensorDataset dataset(const std::vector<std::string>& inputs, std::string_view target) const;
  /// A dataset of pairs: the scaled numbers and one-hot classes of row i, [features.size()], and its target. `features`
  /// are a Features, or another type with these two functions of a table.
  TensorDataset dataset(const auto& features) const { return {features(*this), features.target_of(*this)}; }
  /// A dataset of pairs: the token ids of the text in row i, and the value of `target`, which must be classes or int64.
  /// The tokenizer must outlive the dataset.
  EncodedTexts encoded(std::string_view text, std::string_view target, const Tokenizer& tokenizer) const;

 protected:
  Table() = default;
  std::vector<Read> columns_;
  int64_t size_ = 0;

 private:
  const Read& read(std::string_view name) const;
};

}  // namespace tapegrad::data
