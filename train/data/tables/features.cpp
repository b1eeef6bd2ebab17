#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/data/features.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::data {
namespace {

constexpr const char* kKey = "features";

const ClassOptions* classes_of(const Column& column) { return std::get_if<ClassOptions>(&column.values); }

// Mean and standard deviation of numbers; 1 instead of 0.
std::pair<double, double> scale_of(const std::string& name, const std::vector<double>& numbers) {
  double sum = 0, squares = 0, largest = 0;
  for (const double number : numbers) {
    sum += number;
    largest = std::max(largest, std::fabs(number));
  }
  const double count = static_cast<double>(numbers.size()), mean = sum / count;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  const double deviation = std::sqrt(squares / count);
  if (!std::isfinite(deviation))
    fail("features", "column \"{}\": expected numbers with a finite standard deviation, got numbers up to {}", name,
         largest);
  return {mean, deviation > 0 ? deviation : 1};
}

// The values of a column that must be of the same kind, with the same classes, as in the training split.
const Tensor& values_of(const Table& table, const Column& expected) {
  const Column got = table.column(expected.name);
  if (got.values.index() != expected.values.index())
    fail("features", "column \"{}\": expected {}, as in the training split, got another kind of column", expected.name,
         classes_of(expected) ? "classes" : "numbers");
  if (classes_of(expected) && classes_of(got)->names != classes_of(expected)->names)
    fail("features",
         "column \"{}\": expected the classes of the training split, got others (read the file with inputs() and "
         "target())",
         expected.name);
  return table[expected.name];
}

Json json_of(const Column& column) {
  Json out{{"column", column.name}};
  if (const ClassOptions* const classes = classes_of(column)) {
    out["classes"] = classes->names;
    if (classes->missing) out["missing"] = *classes->missing;
  } else {
    const auto& numbers = std::get<NumberOptions>(column.values);
    out["dtype"] = name(numbers.dtype);
    if (numbers.missing) out["missing"] = *numbers.missing;
  }
  return out;
}

Column column_of(const Json& in) {
  const std::string name = in.at("column").get<std::string>();
  const Json* const missing = in.find("missing");
  if (in.contains("classes")) {
    ClassOptions options{.names = in.at("classes").get<std::vector<std::string>>()};
    if (missing) options.missing = missing->get<std::string>();
    return classes(name, options);
  }
  NumberOptions options;
  const std::string dtype = in.at("dtype").get<std::string>();
  for (const DType known : {kFloat64, kInt64})
    if (dtype == tapegrad::name(known)) options.dtype = known;
  if (missing) options.missing = missing->get<double>();
  return numbers(name, options);
}

}  // namespace

Features::Features(const Table& training, const std::vector<std::string>& inputs, std::string_view target)
    : target_(training.column(target)) {
  if (inputs.empty()) fail("features", "expected the name of at least one input");
  if (training.size() == 0) fail("features", "expected a training split with at least one row");
  static_cast<void>(training[target]);  // an Error for texts
  for (const std::string& name : inputs) {
    const Tensor& values = training[name];
    if (name == target) fail("features", "expected inputs without the target, got \"{}\"", name);
    if (std::ranges::count(inputs, name) > 1) fail("features", "expected different inputs, got \"{}\" twice", name);
    inputs_.push_back(training.column(name));
    const bool scaled = !classes_of(inputs_.back());
    const auto [mean, deviation] =
        scaled ? scale_of(name, values.to(kFloat64).to_vector<double>()) : std::pair(0.0, 1.0);
    means_.push_back(mean);
    deviations_.push_back(deviation);
  }
}

Features::Features(const std::map<std::string, std::string>& metadata) {
  const auto refuse = [](const std::string& why) {
    fail("features", "expected metadata that Features::metadata() returned, got {}", why);
  };
  const auto found = metadata.find(kKey);
  if (found == metadata.end()) refuse("none");
  const Json all = json::parse(found->second, [&](const std::string& why) { refuse("what " + why); });
  try {
    for (const Json& input : all.at("inputs")) {
      inputs_.push_back(column_of(input));
      means_.push_back(input.value("mean", 0.0));
      deviations_.push_back(input.value("std", 1.0));
    }
    target_ = column_of(all.at("target"));
  } catch (const JsonError&) {
    refuse("others");
  }
}

std::map<std::string, std::string> Features::metadata() const {
  Json inputs = Json::array();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs.push_back(json_of(inputs_[i]));
    if (classes_of(inputs_[i])) continue;
    inputs.back()["mean"] = means_[i];
    inputs.back()["std"] = deviations_[i];
  }
  try {
    return {{kKey, Json{{"inputs", inputs}, {"target", json_of(target_)}}.dump()}};
  } catch (const JsonError&) {
    fail("features", "expected names of columns and classes in UTF-8, got others");
  }
}

int64_t Features::size() const {
  int64_t size = 0;
  for (const Column& input : inputs_) {
    const ClassOptions* const classes = classes_of(input);
    size += classes ? static_cast<int64_t>(classes->names.size()) : 1;
  }
  return size;
}

std::vector<std::string> Features::classes() const {
  const ClassOptions* const classes = classes_of(target_);
  return classes ? classes->names : std::vector<std::string>();
}

Tensor Features::operator()(const Table& table) const {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& values = values_of(table, inputs_[i]);
    if (const ClassOptions* const classes = classes_of(inputs_[i])) {
      parts.push_back(one_hot(values, static_cast<int64_t>(classes->names.size())).to(kFloat32));
    } else {
      parts.push_back(((values.to(kFloat64) - means_[i]) / deviations_[i]).to(kFloat32).unsqueeze(1));
    }
  }
  return cat(parts, 1);
}

const Tensor& Features::target_of(const Table& table) const { return values_of(table, target_); }

}  // namespace tapegrad::data
