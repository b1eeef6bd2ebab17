// Runs examples through a model, shows the attention weights of its heads, and composes pages of them.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/train/drawing/page.h>

#include <algorithm>
#include <string_view>

namespace tapegrad::tasks {
namespace {

using drawing::escape_markup;

std::vector<std::string> texts(const Task& task, const Tensor& tokens) {  // tokens [1, n]
  std::vector<std::string> out;
  for (const int64_t token : tokens.to_vector<int64_t>()) out.push_back(task.axis_text(token));
  return out;
}

// The name, group and axes of the heads of a path such as "decoder.layers.1.cross_attn".
HeadMap named(std::string_view path) {
  const bool decoder = path.starts_with("decoder"), cross = path.find("cross") != std::string_view::npos;
  HeadMap head;
  head.name = decoder ? (cross ? translatable("cross") : translatable("decoder")) : translatable("encoder");
  head.group = cross ? kCrossGroup : decoder ? "decoder self-attention" : "encoder self-attention";
  head.heading = shown(head.group);
  head.self = !cross;
  head.row_axis = decoder ? translatable("read by the decoder") : translatable("source (query)");
  head.column_axis = decoder && !cross ? translatable("read by the decoder (key)") : translatable("source (key)");
  const std::size_t at = path.find("layers.");
  if (at != std::string_view::npos) head.layer = std::stoll(std::string(path.substr(at + 7)));
  return head;
}

// --- pages ---

std::string boxes(const Task& task, const Tokens& tokens, const Answer* answer) {
  std::string out = "<div class=\"boxes\">";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string token = escape_markup(task.token_text(tokens[i]));
    const bool known = answer == nullptr || i < answer->target.size();
    if (answer == nullptr || (known && tokens[i] == answer->target[i])) {
      out += fmt::format("<i>{}</i>", token);
    } else {
      out += fmt::format("<i class=\"wrong\">{}<br>{}</i>", token,
                         known ? escape_markup(task.token_text(answer->target[i])) : "");
    }
  }
  return out + "</div>\n";
}

void tell_answers(std::string& out, const Task& task, const std::vector<Answer>& all) {
  const auto right = std::ranges::count_if(all, [](const Answer& one) { return one.right(); });
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

Tensor decode(const Task& task, const nn::Transformer& model, const Tensor& source, int64_t length, int64_t beams,
              double length_penalty) {
  constexpr int64_t kTogether = 250;
  std::vector<Tensor> parts;
  for (const Tensor& part : split(source, kTogether)) {
    nn::TransformerNext next(model, part, task.source_mask(part));
    const Tensor start = full({part.size(0), 1}, static_cast<double>(task.start_token()), kInt64);
    nn::GenerateOptions options{.max_new_tokens = length, .beams = beams, .length_penalty = length_penalty};
    if (task.padding()) {
      options.pad_token = *task.padding();
      options.stop = [&task](std::span<const int64_t> tokens) { return task.ends_answer(tokens); };
    }
    const Tensor tokens = nn::generate(next, start, options).tokens;
    const auto missing = full({part.size(0), length - tokens.size(1)}, static_cast<double>(options.pad_token), kInt64);
    parts.push_back(cat({tokens, missing}, 1));
  }
  return cat(parts, 0);
}

Answer answer_to(const Task& task, const nn::Transformer& model, const Batch& example, int64_t beams,
                 double length_penalty) {
  const Tensor output = decode(task, model, example.source, example.target.size(1), beams, length_penalty);
  return answers_of(task, example, output, 1).front();
}

std::vector<Answer> answers(const Task& task, const nn::Transformer& model, int64_t count, Generator& generator) {
  const Batch batch = task.draw(count, generator);
  return answers_of(task, batch, decode(task, model, batch.source, batch.target.size(1)), count);
}

AttentionSample attend(const Task& task, const nn::Transformer& model, const Batch& example) {
  const Tensor mask = task.source_mask(example.source);
  Tensor output = decode(task, model, example.source, example.target.size(1));
  const Answer answer = answers_of(task, example, output, 1).front();
  const auto length = std::max<int64_t>(1, static_cast<int64_t>(answer.output.size()));
  output = narrow(output, 1, 0, length);
  const Tensor read = shifted(task, output);
  nn::AttentionMaps maps;
  const Tensor outputs = model(example.source, read, mask, nn::causal_mask(length), &maps);

  AttentionSample out;
  out.answer = answer;
  out.logits = outputs[0];
  out.output = output.to_vector<int64_t>();
  const std::vector<std::string> source_texts = texts(task, example.source), read_texts = texts(task, read);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    HeadMap like = named(maps[i].name);
    const bool encoder = like.group[0] == 'e';
    like.row_tokens = encoder ? source_texts : read_texts;
    like.column_tokens = encoder || !like.self ? source_texts : read_texts;
    for (HeadMap& head : heads_of(maps, i, like)) out.heads.push_back(std::move(head));
  }
  const auto order = [](const HeadMap& h) { return h.group[0] == 'e' ? 0 : h.group[0] == 'd' ? 1 : 2; };
  std::ranges::stable_sort(out.heads, [&](const HeadMap& a, const HeadMap& b) { return order(a) < order(b); });
  return out;
}

// --- pages ---

std::string attention_maps(const Task& task, const AttentionSample& sample) {
  std::string out = fmt::format(
      "<h2>{}</h2>\n<p>{} {}</p>\n", shown("Attention"),
      said("Input {}, output {}.", escape_markup(task.source_text(sample.answer.input)),
           escape_markup(task.target_text(sample.answer.output))),
      said("Each row has the attention weights of one token, which add up to 1. Darker (in dark mode: brighter) means "
           "more weight."));
  std::vector<HeadMap> heads = sample.heads;
  std::ranges::stable_sort(heads, [](const HeadMap& a, const HeadMap& b) { return a.group < b.group; });
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
  std::string body = fmt::format("<h1>{}</h1>\n", escape_markup(title));
  drawing::card(body, drawing);
  return drawing::page(title, body);
}

}  // namespace tapegrad::tasks
