// Composes the sections of a report, and pages of drawings.
#include <fmt/format.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/report.h>
#include <tapegrad/train/drawing/page.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

std::string boxes(const Task& task, const Tokens& tokens, const Answer* answer) {
  std::string out = "<div class=\"boxes\">";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string token = drawing::escape_markup(task.token_text(tokens[i]));
    const bool known = answer == nullptr || i < answer->target.size();
    if (answer == nullptr || (known && tokens[i] == answer->target[i])) {
      out += fmt::format("<i>{}</i>", token);
    } else {
      out += fmt::format("<i class=\"wrong\">{}<br>{}</i>", token,
                         known ? drawing::escape_markup(task.token_text(answer->target[i])) : "");
    }
  }
  return out + "</div>\n";
}

void tell_answers(std::string& out, const Task& task, const std::vector<Answer>& all) {
  const auto right = std::count_if(all.begin(), all.end(), [](const Answer& one) { return one.right(); });
  out += fmt::format("<h2>{}</h2>\n<p>{} {}</p>\n<div class=\"maps\">\n",
                     said("Answers to new sequences: {} of {} right", right, all.size()),
                     said("Above, the input; below, what the model answers, decoded greedily."),
                     said("Wrong tokens are red, with the right one below."));
  for (const Answer& answer : all)
    out += fmt::format("<div class=\"card\">{}{}</div>\n", boxes(task, answer.input, nullptr),
                       boxes(task, answer.output, &answer));
  out += "</div>\n";
}

void pictures(std::string& out, const Task& task, const std::vector<Answer>& all) {
  std::string cards;
  for (const Answer& answer : all)
    if (const auto drawing = task.picture(answer)) drawing::card(cards, *drawing);
  if (!cards.empty()) out += fmt::format("<div class=\"maps\">\n{}</div>\n", cards);
}

}  // namespace

std::string attention_maps(const Task& task, const AttentionSample& sample) {
  std::string out = fmt::format(
      "<h2>{}</h2>\n<p>{} {}</p>\n", shown("Attention"),
      said("Input {}, output {}.", drawing::escape_markup(task.source_text(sample.answer.input)),
           drawing::escape_markup(task.target_text(sample.answer.output))),
      said("Each row has the attention weights of one token, which add up to 1. Darker (in dark mode: brighter) means "
           "more weight."));
  std::vector<HeadMap> heads = sample.heads;
  std::stable_sort(heads.begin(), heads.end(), [](const HeadMap& a, const HeadMap& b) { return a.group < b.group; });
  return out + heads_html(heads);  // "cross-attention" first, where the task is seen
}

std::string report_sections(const Task& task, const RunOptions& options, const nn::Transformer& model) {
  Generator fresh(options.seed + 1);
  const std::vector<Answer> tried = answers(task, model, 8, fresh);
  const AttentionSample sample = attend(task, model, task.draw(1, fresh));
  std::string body;
  tell_answers(body, task, tried);
  pictures(body, task, tried);
  return body + attention_maps(task, sample);
}

std::string drawing_html(std::string_view title, const drawing::Drawing& drawing) {
  std::string body = fmt::format("<h1>{}</h1>\n", drawing::escape_markup(title));
  drawing::card(body, drawing);
  return drawing::page(title, body);
}

}  // namespace tapegrad::tasks
