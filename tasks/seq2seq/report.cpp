// Composes the pages.
#include <fmt/format.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/tasks/drawing/charts.h>
#include <tapegrad/tasks/drawing/heatmap.h>
#include <tapegrad/tasks/drawing/page.h>
#include <tapegrad/tasks/seq2seq/report.h>
#include <tapegrad/version.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

void fact(std::string& out, std::string_view value, std::string_view name) {
  out += fmt::format("<div class=\"fact\"><b>{}</b><span>{}</span></div>\n", drawing::escape_markup(value),
                     drawing::escape_markup(name));
}

// 5000 -> "5,000".
std::string grouped(int64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

// Single steps behind, means of epochs in front. With one epoch or none the steps alone.
std::vector<drawing::Series> curve(const train::Metrics& metrics, int64_t steps_per_epoch,
                                   double train::StepMetrics::*of_step, double train::EpochMetrics::*of_epoch) {
  const bool means = metrics.epochs.size() > 1;
  drawing::Series steps{"single steps", {}, {}, means}, epochs{"mean of the epoch", {}, {}, false};
  for (const train::StepMetrics& m : metrics.steps) {
    steps.x.push_back(static_cast<double>(m.step));
    steps.y.push_back(m.*of_step);
  }
  for (const train::EpochMetrics& m : metrics.epochs) {
    epochs.x.push_back((static_cast<double>(m.epoch) + 0.5) * static_cast<double>(steps_per_epoch));
    epochs.y.push_back(m.*of_epoch);
  }
  if (!means) return {steps};
  return {steps, epochs};
}

void curves(std::string& out, const RunOptions& options, const train::Metrics& metrics) {
  const int64_t per_epoch = options.steps_per_epoch;
  out += "<h2>Curves</h2>\n";
  drawing::card(out, draw(drawing::LineChart{
                         .title = "Loss (sum over the tokens, mean over the sequences of a batch)",
                         .x_label = "step",
                         .y_label = "loss",
                         .series = curve(metrics, per_epoch, &train::StepMetrics::loss, &train::EpochMetrics::loss),
                         .log_y = true}));
  drawing::card(out, draw(drawing::LineChart{.title = "Accuracy (share of sequences that are right as a whole)",
                                             .x_label = "step",
                                             .y_label = "accuracy",
                                             .series = curve(metrics, per_epoch, &train::StepMetrics::accuracy,
                                                             &train::EpochMetrics::accuracy),
                                             .y_high = 1}));
  drawing::Series lr{"learning rate", {}, {}, false};
  for (const train::StepMetrics& m : metrics.steps) {
    lr.x.push_back(static_cast<double>(m.step));
    lr.y.push_back(m.lr);
  }
  const double highest = lr.y.empty() ? 0 : *std::max_element(lr.y.begin(), lr.y.end());
  drawing::card(out, draw(drawing::LineChart{.title = fmt::format("Learning rate ({})", options.schedule),
                                             .x_label = "step",
                                             .y_label = "rate",
                                             .series = {lr},
                                             .y_high = 1.25 * highest}));
}

void tell_answers(std::string& out, const Task& task, const std::vector<Answer>& all) {
  out +=
      "<h2>Answers to fresh sequences</h2>\n<p>Decoded greedily: each token is the likeliest one after those before "
      "it. "
      "Wrong tokens stand out.</p>\n<div class=\"card\"><table>\n<tr><th>input</th><th>output</th><th></th></tr>\n";
  const RowStyle style = task.row_style();
  for (const Answer& answer : all) {
    out += fmt::format("<tr><td>{}</td><td>{}", drawing::escape_markup(task.source_text(answer.input)), style.open);
    for (std::size_t i = 0; i < answer.output.size(); ++i) {
      const std::string token = drawing::escape_markup(task.token_text(answer.output[i]));
      const bool right = i < answer.target.size() && answer.output[i] == answer.target[i];
      if (i > 0) out += style.between;
      out += right ? token : fmt::format("<span class=\"wrong\">{}</span>", token);
    }
    out += style.close;
    out += answer.right() ? "</td><td class=\"good\">right</td></tr>\n" : "</td><td class=\"wrong\">wrong</td></tr>\n";
  }
  out += "</table></div>\n";
}

void pictures(std::string& out, const Task& task, const std::vector<Answer>& all) {
  std::string cards;
  for (const Answer& answer : all)
    if (const auto drawing = task.picture(answer)) drawing::card(cards, *drawing);
  if (!cards.empty()) out += fmt::format("<div class=\"maps\">\n{}</div>\n", cards);
}

void maps(std::string& out, const Task& task, const AttentionSample& sample) {
  out += fmt::format(
      "<h2>Attention</h2>\n<p>Input {}, output {}. Every row is what one token looks at: its weights add up to 1. "
      "Darker is more on light paper, brighter on dark.</p>\n",
      drawing::escape_markup(task.source_text(sample.answer.input)),
      drawing::escape_markup(task.target_text(sample.answer.output)));
  drawing::card(out, drawing::draw_heat_scale("0", "1"));
  std::string group;
  for (const HeadMap& head : sample.heads) {
    if (head.group != group) {
      out += group.empty() ? "" : "</div>\n";
      group = head.group;
      out += fmt::format("<h2>{}</h2>\n<div class=\"maps\">\n", drawing::escape_markup(group));
    }
    drawing::card(out, draw(head));
  }
  out += group.empty() ? "" : "</div>\n";
}

void settings(std::string& out, const RunOptions& options) {
  out += "<h2>Settings</h2>\n<div class=\"card\"><table>\n";
  RunOptions copy = options;
  for (const Field& field : fields_of(copy))
    out += fmt::format("<tr><th>--{}</th><td>{}</td><td>{}</td></tr>\n", field.setting.name, field.text(),
                       drawing::escape_markup(field.setting.help));
  out += "</table></div>\n";
}

}  // namespace

std::string report_html(const Task& task, const RunOptions& options, nn::Transformer& model,
                        const train::Metrics& metrics) {
  nn::eval(model);
  Generator fresh(options.seed + 1);
  const std::vector<Answer> tried = answers(task, model, 8, fresh);
  const AttentionSample sample = attend(task, model, task.draw(1, fresh));

  std::string body =
      fmt::format("<h1>{} task</h1>\n<p>A Transformer with encoder and decoder, trained by tapegrad {}.</p>\n",
                  drawing::escape_markup(options.info->name), kVersion);
  body += "<div class=\"facts\">\n";
  fact(body, grouped(static_cast<int64_t>(metrics.steps.size())), "steps");
  fact(body, grouped(nn::count_parameters(model)), "parameters");
  if (!metrics.epochs.empty()) {
    fact(body, fmt::format("{:.4f}", metrics.epochs.back().loss), "loss, last epoch");
    fact(body, fmt::format("{:.2f} %", 100 * metrics.epochs.back().accuracy), "accuracy, last epoch");
  }
  if (!metrics.steps.empty()) {
    std::vector<double> rates;
    for (const train::StepMetrics& m : metrics.steps) rates.push_back(m.tokens_per_s);
    std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
    fact(body, grouped(static_cast<int64_t>(rates[rates.size() / 2])), "target tokens a second (median)");
  }
  body += "</div>\n";
  curves(body, options, metrics);
  tell_answers(body, task, tried);
  pictures(body, task, tried);
  maps(body, task, sample);
  settings(body, options);
  return drawing::page(fmt::format("tapegrad: {}, seed {}", options.info->name, options.seed), body);
}

std::string drawing_html(std::string_view title, const drawing::Drawing& drawing) {
  std::string body = fmt::format("<h1>{}</h1>\n", drawing::escape_markup(title));
  drawing::card(body, drawing);
  return drawing::page(title, body);
}

std::string attention_html(const Task& task, const RunOptions& options, const AttentionSample& sample) {
  std::string body = fmt::format("<h1>{} task: attention</h1>\n", drawing::escape_markup(options.info->name));
  maps(body, task, sample);
  return drawing::page(fmt::format("tapegrad: attention of {}, seed {}", options.info->name, options.seed), body);
}

}  // namespace tapegrad::tasks
