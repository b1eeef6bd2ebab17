#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/data/table.h>
#include <tapegrad/train/data/tokenizer.h>

namespace tapegrad::data {

std::pair<std::vector<int64_t>, int64_t> EncodedTexts::operator[](int64_t i) const {
  if (i < 0 || i >= size()) fail("table", fmt::format("row {} is out of range for {} texts", i, size()));
  return {tokenizer_->encode((*texts_)[static_cast<std::size_t>(i)]), targets_[i].item<int64_t>()};
}

const Table::Read& Table::column(std::string_view name) const {
  std::string known;
  for (const Read& each : columns_) {
    if (each.name == name) return each;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", each.name);
  }
  fail("table", fmt::format("expected one of the columns {}, got \"{}\"", known, name));
}

const Tensor& Table::operator[](std::string_view name) const {
  const Read& read = column(name);
  if (read.texts) fail("table", fmt::format("expected a column of numbers or classes, got \"{}\", of texts", name));
  return read.values;
}

const std::vector<std::string>& Table::names(std::string_view name) const {
  const Read& read = column(name);
  if (!read.names) fail("table", fmt::format("expected a column of classes, got \"{}\"", name));
  return *read.names;
}

const std::vector<std::string>& Table::texts(std::string_view name) const {
  const Read& read = column(name);
  if (!read.texts) fail("table", fmt::format("expected a column of texts, got \"{}\"", name));
  return *read.texts;
}

Tensor Table::matrix(const std::vector<std::string>& columns) const {
  if (columns.empty()) fail("table", "expected the name of at least one column");
  std::vector<Tensor> values;
  for (const std::string& name : columns) {
    values.push_back((*this)[name]);
    const DType first = values.front().dtype(), here = values.back().dtype();
    if (here != first) {
      fail("table", fmt::format("expected columns of one dtype, got \"{}\" of {} and \"{}\" of {}", columns.front(),
                                tapegrad::name(first), name, tapegrad::name(here)));
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
    fail("table",
         fmt::format("expected a target of classes or int64, got \"{}\" of {}", target, name(targets.dtype())));
  return {column(text).texts, targets, tokenizer};
}

}  // namespace tapegrad::data
