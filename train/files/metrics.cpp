// Writes, shortens and reads metrics.jsonl.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/train/metrics.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tapegrad::train {
namespace {

// Calls line(object, end) for each complete line, where `end` is the offset after it, until it returns false.
template <class F>
void each_line(const std::string& path, std::string_view text, const F& line) {
  std::size_t begin = 0;
  for (int64_t number = 1;; ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return;
    const auto refuse = [&](const std::string& why) {
      fail("metrics", fmt::format("{}, line {}: {}", path, number, why));
    };
    const nlohmann::json object = json::parse(text.substr(begin, end - begin), refuse);
    const bool step = object.is_object() && object.contains("step") && object["step"].is_number_integer();
    const bool epoch = object.is_object() && object.contains("epoch") && object["epoch"].is_number_integer();
    const bool bits = object.is_object() && object.contains("bits") && object["bits"].is_string();
    if (!step && !epoch && !bits)
      fail("metrics", fmt::format("{}, line {}: expected the object of a step or an epoch", path, number));
    if (!line(object, static_cast<int64_t>(end + 1))) return;
    begin = end + 1;
  }
}

// Error unless the text begins as a metrics.jsonl does: nothing else is cut. A run may have been killed in its first
// line.
void require_metrics(const std::string& path, std::string_view text) {
  const auto begins = [&](std::string_view key) { return text.substr(0, key.size()) == key.substr(0, text.size()); };
  if (text.find('\n') != text.npos) {
    each_line(path, text, [](const nlohmann::json&, int64_t) { return false; });
  } else if (!begins("{\"step\":") && !begins("{\"epoch\":") && !begins("{\"bits\":")) {
    fail("metrics", fmt::format("{}: expected the lines of a run (without this file, the run begins a new one)", path));
  }
}

// The length of the lines of the first `steps` steps, in bytes. A file that a resumed run began has only later lines.
int64_t bytes_of_steps(const AppendFile& file, int64_t steps, int64_t steps_per_epoch) {
  const std::string &path = file.path(), text = file.contents();
  require_metrics(path, text);
  int64_t kept = 0, seen = 0, epochs = 0;
  each_line(path, text, [&](const nlohmann::json& object, int64_t end) {
    if (object.contains("step")) {
      const auto step = object["step"].get<int64_t>();
      if (kept == 0 && step > 0) seen = step - 1, epochs = seen / steps_per_epoch;
      if (step > steps) return false;
      if (step != ++seen) fail("metrics", fmt::format("{}: expected step {}, got step {}", path, seen, step));
    } else if (object.contains("bits")) {
      return false;  // of the run before
    } else {
      const auto epoch = object["epoch"].get<int64_t>();
      if ((epoch + 1) * steps_per_epoch > steps) return false;
      if (epoch != epochs++)
        fail("metrics", fmt::format("{}: expected epoch {}, got epoch {}", path, epochs - 1, epoch));
    }
    kept = end;
    return seen < steps || epochs < steps / steps_per_epoch;
  });
  if (text.empty() || seen > steps) return 0;
  if (seen < steps || epochs < steps / steps_per_epoch)
    fail("metrics", fmt::format("{} ends at step {} (epoch lines: {}), but the checkpoint is of step {} (without this "
                                "file, the run continues and begins a new one)",
                                path, seen, epochs, steps));
  return kept;
}

// JSON has no infinity: a loss that is not finite is written as null.
char* put_number(char* out, double value) {
  return value - value == 0 ? fmt::format_to(out, "{}", value) : fmt::format_to(out, "null");
}

char* put_accuracy(char* out, double accuracy) {
  return std::isfinite(accuracy) ? fmt::format_to(out, ",\"accuracy\":{}", accuracy) : out;
}

// With one decimal, where that is not longer than the number itself.
char* put_rate(char* out, double value) {
  return std::abs(value) < 1e15 ? fmt::format_to(out, "{:.1f}", value) : put_number(out, value);
}

std::optional<double> maybe(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

double number(const nlohmann::json& object, const char* key) { return maybe(object, key).value_or(0); }

// A loss that was not finite is null.
double loss_of(const nlohmann::json& object) {
  return object.contains("loss") && object["loss"].is_null() ? kNotMeasured : number(object, "loss");
}

// ,"figures":{"critic loss":0.5}
std::string figures_text(const std::vector<Figure>& figures) {
  nlohmann::ordered_json object;
  for (const Figure& one : figures) object[one.name] = one.value;  // null where it is not finite
  return ",\"figures\":" + object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::vector<Figure> figures_of(const nlohmann::json& step) {
  std::vector<Figure> figures;
  const auto found = step.find("figures");
  if (found == step.end() || !found->is_object()) return figures;
  for (const auto& [name, value] : found->items())
    figures.push_back({name, value.is_number() ? value.get<double>() : kNotMeasured});
  return figures;
}

}  // namespace

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
  char line[384];  // each number has at most 25 characters
  char* end = fmt::format_to(line, "{{\"step\":{},\"loss\":", m.step);
  end = put_number(end, m.loss);
  end = put_accuracy(end, m.accuracy);
  end = put_number(fmt::format_to(end, ",\"lr\":"), m.lr);
  end = put_rate(fmt::format_to(end, ",\"tokens_per_s\":"), m.tokens_per_s);
  if (m.train_loss) end = put_number(fmt::format_to(end, ",\"train_loss\":"), *m.train_loss);
  if (m.validation_loss) end = put_number(fmt::format_to(end, ",\"validation_loss\":"), *m.validation_loss);
  if (!m.figures.empty()) {
    file_.append(std::string(line, end) + figures_text(m.figures) + "}\n");
    return;
  }
  end = fmt::format_to(end, "}}\n");
  file_.append({line, static_cast<std::size_t>(end - line)});
}

void MetricsFile::add(const EpochMetrics& m) {
  char line[160];
  char* end = fmt::format_to(line, "{{\"epoch\":{},\"loss\":", m.epoch);
  end = put_number(end, m.loss);
  end = put_accuracy(end, m.accuracy);
  std::string text(line, end);
  // Bytes that are not UTF-8, which a byte vocabulary may generate, become U+FFFD.
  if (m.sample)
    text += ",\"sample\":" + nlohmann::json(*m.sample).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  file_.append(text + "}\n");
}

void MetricsFile::add_bits(std::string_view bits) { file_.append(fmt::format("{{\"bits\":\"{}\"}}\n", bits)); }

Metrics read_metrics(const fs::path& path) {
  Metrics out;
  each_line(path.string(), read_file(path), [&](const nlohmann::json& object, int64_t) {
    if (object.contains("step")) {
      out.steps.push_back({object["step"], loss_of(object), maybe(object, "accuracy").value_or(kNotMeasured),
                           number(object, "lr"), number(object, "tokens_per_s"), maybe(object, "train_loss"),
                           maybe(object, "validation_loss")});
      out.steps.back().figures = figures_of(object);
    } else if (object.contains("bits")) {
      out.bits = object["bits"];
    } else {
      out.epochs.push_back({object["epoch"], loss_of(object), maybe(object, "accuracy").value_or(kNotMeasured), {}});
      const auto sample = object.find("sample");
      if (sample != object.end() && sample->is_string()) out.epochs.back().sample = sample->get<std::string>();
    }
    return true;
  });
  return out;
}

}  // namespace tapegrad::train
