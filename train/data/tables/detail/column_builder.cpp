#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/data/tables/detail/column_builder.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace tapegrad::data::detail {
namespace {

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// As JSON writes it: 1.0, 0.5, 1e+20. ({:#} writes 1.0 or 1., by the version of fmt.)
std::string with_point(double number) {
  const bool whole = std::trunc(number) == number && std::abs(number) < 1e15;
  return whole ? fmt::format("{:.1f}", number) : fmt::format("{}", number);
}

enum class Parsed { good, wrong, out_of_range };

template <class T>
Parsed parse_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end) return Parsed::out_of_range;
  return error == std::errc() && stop == end ? Parsed::good : Parsed::wrong;
}

// Decimal numbers and "inf". Numbers too close to 0 for the type are rounded as all others are.
template <class T>
Parsed parse_floating(std::string_view text, T& value) {
  const bool named = text.find_first_of("0123456789") == std::string_view::npos;  // inf, nan
  Parsed parsed = parse_number(text, value);
  if (parsed == Parsed::out_of_range) {
    long double wide = 0;
    if (parse_number(text, wide) == Parsed::good && std::fabs(wide) < 1) {
      value = static_cast<T>(wide);
      parsed = Parsed::good;
    }
  }
  if (parsed != Parsed::good) return parsed;
  if (std::isnan(value)) return Parsed::wrong;
  return std::isinf(value) && !named ? Parsed::out_of_range : Parsed::good;
}

bool is_int64(double value) { return value == std::floor(value) && value >= -0x1p63 && value < 0x1p63; }

// The classes of a finished column, sorted by their names; `ids` get their new numbers.
template <class Ids>
std::vector<std::string> sort_classes(const Ids& by_name, std::vector<int64_t>& ids) {
  std::vector<std::pair<std::string, int64_t>> order(by_name.begin(), by_name.end());
  std::ranges::sort(order);
  std::vector<int64_t> renumbered(order.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < order.size(); ++i) {
    renumbered[static_cast<std::size_t>(order[i].second)] = static_cast<int64_t>(i);
    names.push_back(std::move(order[i].first));
  }
  for (int64_t& id : ids) id = renumbered[static_cast<std::size_t>(id)];
  return names;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 40;
  if (text.size() <= kMost) return fmt::format("\"{}\"", text);
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // at the start of a character
  return fmt::format("\"{}...\"", text.substr(0, end));
}

ColumnBuilder::ColumnBuilder(std::string_view where, Column column) : column_(std::move(column)) {
  const auto refuse = [&](std::string_view what, std::string_view got) {
    fail(where, "column \"{}\": expected {}, got {}", column_.name, what, got);
  };
  if (const auto* of = std::get_if<NumberOptions>(&column_.values)) {
    if (of->dtype == kFloat64) values_ = std::vector<double>();
    if (of->dtype == kInt64) values_ = std::vector<int64_t>();
    if (of->dtype != kFloat32 && of->dtype != kFloat64 && of->dtype != kInt64)
      refuse("float32, float64 or int64", tapegrad::name(of->dtype));
    if (of->dtype == kInt64 && of->missing && !is_int64(*of->missing))
      refuse("a whole number for missing values", fmt::format("{}", *of->missing));
  } else if (const auto* classes = std::get_if<ClassOptions>(&column_.values)) {
    values_ = std::vector<int64_t>();
    for (const std::string& name : classes->names) {
      if (!ids_.emplace(name, static_cast<int64_t>(ids_.size())).second)
        refuse("different names of classes", in_quotes(name) + " twice");
    }
    if (classes->missing && !ids_.empty() && !ids_.contains(*classes->missing))
      refuse("one of its classes for missing values", in_quotes(*classes->missing));
  }
}

template <class T>
void ColumnBuilder::append(T value) {
  std::visit([&](auto& values) { values.push_back(static_cast<std::decay_t<decltype(values[0])>>(value)); }, values_);
}

std::string ColumnBuilder::add(std::string_view text) {
  if (of_numbers()) return add_number(text);
  if (std::holds_alternative<ClassOptions>(column_.values)) return add_class(text);
  texts_.emplace_back(text);
  return {};
}

std::string ColumnBuilder::add_number(std::string_view text) {
  std::string_view digits = without_spaces(text);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  return std::visit(
      [&]<class T>(std::vector<T>& values) -> std::string {
        T value{};
        Parsed parsed;
        if constexpr (std::is_same_v<T, int64_t>) {
          parsed = parse_number(digits, value);
        } else {
          parsed = parse_floating(digits, value);
        }
        if (parsed == Parsed::out_of_range)
          return fmt::format("{} is out of the range of {}", in_quotes(text), tapegrad::name(dtype_of<T>()));
        if (parsed == Parsed::wrong)
          return fmt::format("expected a {}, got {}", dtype_of<T>() == kInt64 ? "whole number" : "number",
                             in_quotes(text));
        values.push_back(value);
        return {};
      },
      values_);
}

std::string ColumnBuilder::add(double number) {
  if (std::holds_alternative<std::vector<int64_t>>(values_))
    return "expected a whole number, got " + with_point(number);
  if (std::holds_alternative<std::vector<float>>(values_) && std::isinf(static_cast<float>(number)))
    return fmt::format("{} is out of the range of float32", number);
  append(number);
  return {};
}

std::string ColumnBuilder::add(int64_t number) {
  append(number);
  return {};
}

std::string ColumnBuilder::add(uint64_t number) {
  if (std::holds_alternative<std::vector<int64_t>>(values_) && number > uint64_t{std::numeric_limits<int64_t>::max()})
    return fmt::format("{} is out of the range of int64", number);
  append(number);
  return {};
}

std::string ColumnBuilder::add_boolean(bool value) {
  if (of_numbers()) return add(static_cast<int64_t>(value));
  const std::string_view name = value ? "true" : "false";
  return std::holds_alternative<ClassOptions>(column_.values) ? add_class(name)
                                                              : fmt::format("expected a string, got {}", name);
}

std::string ColumnBuilder::add_class(std::string_view name) {
  const auto found = ids_.find(name);
  if (found != ids_.end()) {
    append(found->second);
    return {};
  }
  const std::vector<std::string>& known = std::get<ClassOptions>(column_.values).names;
  if (!known.empty()) return fmt::format("expected one of {} classes, got {}", known.size(), in_quotes(name));
  const auto id = static_cast<int64_t>(ids_.size());
  ids_.emplace(name, id);
  append(id);
  return {};
}

std::string ColumnBuilder::add_missing() {
  const std::string refusal = "the value is missing, and the column has no replacement for it";
  if (const auto* of = std::get_if<NumberOptions>(&column_.values)) {
    if (!of->missing) return refusal;
    append(*of->missing);
    return {};
  }
  const auto* classes = std::get_if<ClassOptions>(&column_.values);
  const std::optional<std::string>& instead =
      classes ? classes->missing : std::get<TextOptions>(column_.values).missing;
  return instead ? add(*instead) : refusal;
}

Table::Read ColumnBuilder::finish() {
  Table::Read read{column_.name, {}, {}, {}, column_.values};
  if (std::holds_alternative<TextOptions>(column_.values)) {
    read.texts = std::make_shared<const std::vector<std::string>>(std::move(texts_));
    return read;
  }
  if (const auto* classes = std::get_if<ClassOptions>(&column_.values)) {
    read.names = classes->names.empty() ? sort_classes(ids_, std::get<std::vector<int64_t>>(values_)) : classes->names;
  }
  std::visit(
      [&](auto& values) {
        read.values = tensor(values, {static_cast<int64_t>(values.size())});
        values = {};
      },
      values_);
  return read;
}

}  // namespace tapegrad::data::detail
