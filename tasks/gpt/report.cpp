// Composes the page of a GPT's run.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/charts.h>
#include <tapegrad/tasks/drawing/page.h>
#include <tapegrad/tasks/gpt/report.h>
#include <tapegrad/version.h>

namespace tapegrad::tasks {

std::string gpt_report(const GPTOptions& options, int64_t parameters, const train::Metrics& metrics) {
  drawing::Series steps{"single steps", {}, {}, true}, train{"training part", {}, {}, false};
  drawing::Series validation{"validation part", {}, {}, false}, lr{"learning rate", {}, {}, false};
  for (const train::StepMetrics& m : metrics.steps) {
    const auto x = static_cast<double>(m.step);
    steps.x.push_back(x), steps.y.push_back(m.loss);
    lr.x.push_back(x), lr.y.push_back(m.lr);
    if (m.train_loss) train.x.push_back(x), train.y.push_back(*m.train_loss);
    if (m.validation_loss) validation.x.push_back(x), validation.y.push_back(*m.validation_loss);
  }
  std::string body = fmt::format("<h1>GPT</h1>\n<p>Trained by tapegrad {}.</p>\n<div class=\"facts\">\n", kVersion);
  const auto fact = [&](const std::string& value, std::string_view name) {
    body += fmt::format("<div class=\"fact\"><b>{}</b><span>{}</span></div>\n", value, name);
  };
  fact(fmt::format("{}", metrics.steps.size()), "steps");
  fact(fmt::format("{:.1f} M", static_cast<double>(parameters) * 1e-6), "parameters");
  if (!train.y.empty()) fact(fmt::format("{:.3f}", train.y.back()), "training loss");
  if (!validation.y.empty()) fact(fmt::format("{:.3f}", validation.y.back()), "validation loss");
  body += "</div>\n<h2>Curves</h2>\n";
  drawing::card(body, draw(drawing::LineChart{.title = "Loss (mean over the tokens)",
                                              .x_label = "step",
                                              .y_label = "loss",
                                              .series = {steps, train, validation}}));
  drawing::card(body, draw(drawing::LineChart{.title = fmt::format("Learning rate ({})", options.schedule),
                                              .x_label = "step",
                                              .y_label = "rate",
                                              .series = {lr}}));
  body += "<h2>Samples</h2>\n";
  for (const train::EpochMetrics& epoch : metrics.epochs)
    if (epoch.sample)
      body += fmt::format("<p>After epoch {}:</p>\n<div class=\"card\">{}</div>\n", epoch.epoch + 1,
                          drawing::escape_markup(*epoch.sample));
  body += "<h2>Settings</h2>\n<div class=\"card\"><table>\n";
  GPTOptions shown = options;
  for (const Field& field : fields_of(shown))
    body += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", field.setting.name, drawing::escape_markup(field.text()));
  return drawing::page(fmt::format("tapegrad: gpt, seed {}", options.seed), body + "</table></div>\n");
}

}  // namespace tapegrad::tasks
