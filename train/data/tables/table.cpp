#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/data/dataset.h>
#include <tapegrad/train/data/table.h>
#include <tapegrad/train/data/tokenizer.h>

#include <cmath>

namespace tapegrad::data {

std::pair<std::vector<int64_t>, int64_t> EncodedTexts::operator[](int64_t i) const {
  if (i < 0 || i >= size()) fail("table", "row {} is out of range for {} texts", i, size());
  return {tokenizer_->encode((*texts_)[static_cast<std::size_t>(i)]), targets_[i].item<int64_t>()};
}

const Table::Read& Table::read(std::string_view name) const {
  std::string known;
  for (const Read& each : columns_) {
    if (each.name == name) return each;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", each.name);
  }
  fail("table", "expected one of the columns {}, got \"{}\"", known, name);
}

const Tensor& Table::operator[](std::string_view name) const {
  const Read& found = read(name);
  if (found.texts) fail("table", "expected a column of numbers or classes, got \"{}\", of texts", name);
  return found.values;
}

const std::vector<std::string>& Table::names(std::string_view name) const {
  const Read& found = read(name);
  if (!found.names) fail("table", "expected a column of classes, got \"{}\"", name);
  return *found.names;
}

const std::vector<std::string>& Table::texts(std::string_view name) const {
  const Read& found = read(name);
  if (!found.texts) fail("table", "expected a column of texts, got \"{}\"", name);
  return *found.texts;
}

Column Table::column(std::string_view name) const {
  const Read& found = read(name);
  Column column{found.name, found.options};
  if (auto* const classes = std::get_if<ClassOptions>(&column.values)) classes->names = *found.names;
  return column;
}

Table Table::rows(std::span<const int64_t> rows) const {
  detail::check_indices(rows, size_);
  Table part;
  part.size_ = static_cast<int64_t>(rows.size());
  const Tensor index = tensor(std::vector<int64_t>(rows.begin(), rows.end()), {part.size_});
  for (Read read : columns_) {
    if (read.texts) {
      std::vector<std::string> texts;
      for (const int64_t row : rows) texts.push_back((*read.texts)[static_cast<std::size_t>(row)]);
      read.texts = std::make_shared<const std::vector<std::string>>(std::move(texts));
    } else {
      read.values = index_select(read.values, 0, index);
    }
    part.columns_.push_back(std::move(read));
  }
  return part;
}

std::pair<Table, Table> Table::split(double share, Generator& generator) const {
  if (!(share >= 0 && share <= 1)) fail("table", "expected a share from 0 to 1, got {}", share);
  const auto first = static_cast<int64_t>(std::floor(share * static_cast<double>(size_) + 0.5));
  const auto parts = detail::random_parts(std::vector{first, size_ - first}, size_, generator);
  return {rows(parts[0]), rows(parts[1])};
}

Tensor Table::matrix(const std::vector<std::string>& columns) const {
  if (columns.empty()) fail("table", "expected the name of at least one column");
  std::vector<Tensor> values;
  for (const std::string& name : columns) {
    values.push_back((*this)[name]);
    const DType first = values.front().dtype(), here = values.back().dtype();
    if (here != first) {
      fail("table", "expected columns of one dtype, got \"{}\" of {} and \"{}\" of {}", columns.front(), first, name,
           here);
    }
  }
  return stack(values, 1);
}

TensorDataset Table::dataset(const std::vector<std::string>& inputs, std::string_view target) const {
  return {matrix(inputs), (*this)[target]};
}

EncodedTexts Table::encoded(std::string_view text, std::string_view target, const Tokenizer& tokenizer) const {
  static_cast<void>(texts(text));
  const Tensor& targets = (*this)[target];
  if (targets.dtype() != kInt64)
    fail("table", "expected a target of classes or int64, got \"{}\" of {}", target, targets.dtype());
  return {read(text).texts, targets, tokenizer};
}

}  // namespace tapegrad::data
