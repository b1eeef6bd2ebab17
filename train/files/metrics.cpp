// Writes, shortens and reads metrics.jsonl.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/train/metrics.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::train {
namespace {

// Calls line(object, end) for each complete line, where `end` is the offset after it, until it returns false.
template <class F>
void each_line(const std::string& path, std::string_view text, const F& line) {
  std::size_t begin = 0;
  for (int64_t number = 1;; ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return;
    const auto refuse = [&](const std::string& why) { fail("metrics", "{}, line {}: {}", path, number, why); };
    const Json object = json::parse(text.substr(begin, end - begin), refuse);
    if (!object["step"].is_number_integer() && !object["epoch"].is_number_integer() && !object["bits"].is_string())
      fail("metrics", "{}, line {}: expected the object of a step or an epoch", path, number);
    if (!line(object, static_cast<int64_t>(end + 1))) return;
    begin = end + 1;
  }
}

// Error unless the text begins as a metrics.jsonl does: nothing else is cut. A run may have been killed in its first
// line.
void require_metrics(const std::string& path, std::string_view text) {
  const auto begins = [&](std::string_view key) { return text.substr(0, key.size()) == key.substr(0, text.size()); };
  if (text.find('\n') != text.npos) {
    each_line(path, text, [](const Json&, int64_t) { return false; });
  } else if (!begins("{\"step\":") && !begins("{\"epoch\":") && !begins("{\"bits\":")) {
    fail("metrics", "{}: expected the lines of a run (without this file, the run begins a new one)", path);
  }
}

// The length of the lines of the first `steps` steps, in bytes. A file that a resumed run began has only later lines.
int64_t bytes_of_steps(const AppendFile& file, int64_t steps, int64_t steps_per_epoch) {
  const std::string &path = file.path(), text = file.contents();
  require_metrics(path, text);
  int64_t kept = 0, seen = 0, epochs = 0;
  each_line(path, text, [&](const Json& object, int64_t end) {
    if (object.contains("step")) {
      const auto step = object["step"].get<int64_t>();
      if (kept == 0 && step > 0) seen = step - 1, epochs = seen / steps_per_epoch;
      if (step > steps) return false;
      if (step != ++seen) fail("metrics", "{}: expected step {}, got step {}", path, seen, step);
    } else if (object.contains("bits")) {
      return false;  // of the run before
    } else {
      const auto epoch = object["epoch"].get<int64_t>();
      if ((epoch + 1) * steps_per_epoch > steps) return false;
      if (epoch != epochs++) fail("metrics", "{}: expected epoch {}, got epoch {}", path, epochs - 1, epoch);
    }
    kept = end;
    return seen < steps || epochs < steps / steps_per_epoch;
  });
  if (text.empty() || seen > steps) return 0;
  if (seen < steps || epochs < steps / steps_per_epoch)
    fail("metrics",
         "{} ends at step {} (epoch lines: {}), but the checkpoint is of step {} (without this file, the run continues "
         "and begins a new one)",
         path, seen, epochs, steps);
  return kept;
}

// JSON has no infinity: a loss that is not finite is written as null.
std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string accuracy_text(double accuracy) {
  return std::isfinite(accuracy) ? fmt::format(",\"accuracy\":{}", accuracy) : "";
}

// With one decimal, where that is not longer than the number itself.
std::string rate_text(double value) {
  return std::abs(value) < 1e15 ? fmt::format("{:.1f}", value) : number_text(value);
}

std::optional<double> maybe(const Json& object, const char* key) {
  const Json& found = object[key];
  return found.is_number() ? std::optional(found.get<double>()) : std::nullopt;
}

double number(const Json& object, const char* key) { return maybe(object, key).value_or(0); }

// A loss that was not finite is null.
double loss_of(const Json& object) {
  return object.contains("loss") && object["loss"].is_null() ? kNotMeasured : number(object, "loss");
}

// ,"figures":{"critic loss":0.5}
std::string figures_text(const std::vector<Figure>& figures) {
  Json object;
  for (const Figure& one : figures) object[one.name] = one.value;  // null where it is not finite
  return ",\"figures\":" + object.dump(-1, false, Json::BadUtf8::replace);
}

std::vector<Figure> figures_of(const Json& step) {
  std::vector<Figure> figures;
  const Json& found = step["figures"];
  if (!found.is_object()) return figures;
  for (const auto& [name, value] : found.items())
    figures.push_back({name, value.is_number() ? value.get<double>() : kNotMeasured});
  return figures;
}

}  // namespace

double StepMetrics::figure(std::string_view name) const {
  const auto found = std::ranges::find(figures, name, &Figure::name);
  return found == figures.end() ? kNotMeasured : found->value;
}

void Metrics::add_figure_names(std::vector<std::string>& names) const {
  for (const StepMetrics& m : steps)
    for (const Figure& figure : m.figures)
      if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
}

void MeanOfGroups::add(double mean, double terms) {
  if (terms == 0) return;
  if (unit == 0) unit = terms;
  const double share = terms / unit;
  sum += mean * share;
  weight += share;
}

MetricsFile::MetricsFile(const Destination& to, int64_t steps, int64_t steps_per_epoch) : file_(to) {
  file_.truncate(bytes_of_steps(file_, steps, steps_per_epoch));
}

void MetricsFile::add(const StepMetrics& m) {
  std::string line =
      fmt::format("{{\"step\":{},\"loss\":{}{},\"lr\":{},\"tokens_per_s\":{}", m.step, number_text(m.loss),
                  accuracy_text(m.accuracy), number_text(m.lr), rate_text(m.tokens_per_s));
  if (m.train_loss) line += fmt::format(",\"train_loss\":{}", number_text(*m.train_loss));
  if (m.validation_loss) line += fmt::format(",\"validation_loss\":{}", number_text(*m.validation_loss));
  if (!m.figures.empty()) line += figures_text(m.figures);
  file_.append(line + "}\n");
}

void MetricsFile::add(const EpochMetrics& m) {
  std::string text =
      fmt::format("{{\"epoch\":{},\"loss\":{}{}", m.epoch, number_text(m.loss), accuracy_text(m.accuracy));
  // Bytes that are not UTF-8, which a byte vocabulary may generate, become U+FFFD.
  if (m.sample) text += ",\"sample\":" + Json(*m.sample).dump(-1, false, Json::BadUtf8::replace);
  file_.append(text + "}\n");
}

void MetricsFile::add_bits(std::string_view bits) { file_.append(fmt::format("{{\"bits\":\"{}\"}}\n", bits)); }

Metrics read_metrics(const fs::path& path) {
  Metrics out;
  each_line(path.string(), read_file(path), [&](const Json& object, int64_t) {
    if (object.contains("step")) {
      out.steps.push_back({object["step"].get<int64_t>(), loss_of(object),
                           maybe(object, "accuracy").value_or(kNotMeasured), number(object, "lr"),
                           number(object, "tokens_per_s"), maybe(object, "train_loss"),
                           maybe(object, "validation_loss")});
      out.steps.back().figures = figures_of(object);
    } else if (object.contains("bits")) {
      out.bits = object["bits"].get<std::string>();
    } else {
      out.epochs.push_back(
          {object["epoch"].get<int64_t>(), loss_of(object), maybe(object, "accuracy").value_or(kNotMeasured), {}});
      if (const Json& sample = object["sample"]; sample.is_string())
        out.epochs.back().sample = sample.get<std::string>();
    }
    return true;
  });
  return out;
}

}  // namespace tapegrad::train
