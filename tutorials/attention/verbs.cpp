// The verbs `attention <task>` and `attention gpt`.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/gpt/loading.h>
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/tutorials/attention/report.h>

namespace tapegrad::tasks {

// --- sequence-to-sequence tasks ---

Decoding decoding_of(const Task& task, const AttentionSample& sample) {
  return {.group = kCrossGroup,
          .read = {},
          .steps = decoding_steps(sample.logits, sample.output, 0,
                                  [&task](int64_t token) { return task.token_text(token); }),
          .ends = true};
}

void AttentionRequest::list(Fields& f) {
  add_model(f, model);
  AttentionOutput::list(f);
  Fields of_example;
  of_example.add({.name = "seed", .help = "random seed of the example"}, seed);
  f.insert_after("out", of_example);
  list_examples(f);
  add_changes(f, fields_of(reach));
}

int attention(const AttentionRequest& request) {
  request.check();
  const TaskInfo& info = *request.options.info;
  const fs::path file = model_file(fmt::format("attention {}", info.name), info.name, request.model);
  Seq2SeqRecipe trained(info);
  ReachSettings reach = request.reach;
  load_model(trained, file, fields_of(reach), request.given);
  trained.override_examples(request.options, request.given);
  const Task& task = trained.task();
  Generator generator(request.seed);
  const AttentionSample sample =
      attend(task, trained.transformer(),
             request.expression ? task.read_expression(*request.expression) : task.draw(1, generator));

  Decoding decoding = decoding_of(task, sample);
  for (std::size_t written = 0; written <= decoding.steps.size(); ++written)
    if (auto picture = task.picture_of_part(sample.answer, written)) decoding.pictures.push_back(std::move(*picture));
  return report_attention(
      {.task = std::string(info.name),
       .model = file.string(),
       .json = {{"task", info.name},
                {"model", file.string()},
                {"input", sample.answer.input},
                {"output", sample.answer.output}},
       .heads = sample.heads,
       .drawn = sample.heads,
       .decoding = decoding,
       .title = fmt::format("tapegrad: attention of {}, seed {}", info.name, trained.options().seed),
       .heading = said("{} task: attention", drawing::escape_markup(info.name)),
       .maps = attention_maps(task, sample),
       .example = said("Input: {}\nOutput: {}\n", task.source_text(sample.answer.input),
                       task.target_text(sample.answer.output)),
       .shaded = kCrossGroup,
       .about = said("Cross-attention: a row is a token that the decoder has read, a column a token of\nthe source\n")},
      request, file.parent_path());
}

// --- GPT ---

void GPTAttentionRequest::list(Fields& f) {
  Options add(f);
  GPTModelRequest::list(f);
  add("prompt", "text to read", prompt).type("TEXT");
  add("prompt_ids", "token ids to read: 15496,11", prompt_ids).type("IDS");
  add("max_new_tokens", "number of tokens to generate greedily and to include", max_new_tokens, kCountOrNone);
  AttentionOutput::list(f);
}

namespace {

// The steps in which a decoder reads the heads' tokens and writes the last one's successor: the first `given` of `ids`
// are the prompt. Logits as of attend().
Decoding decoding_of(const std::vector<HeadMap>& heads, const Tensor& logits, const std::vector<int64_t>& ids,
                     int64_t given, const data::Tokenizer* tokenizer) {
  const int64_t rows = heads.at(0).rows();
  std::vector<int64_t> next(ids.begin() + 1, ids.end());
  next.push_back(argmax(logits[-1]).item<int64_t>());
  return {.group = "",
          .read = {heads[0].row_tokens[0]},
          .steps = decoding_steps(narrow(logits, 0, 0, rows), next, given - 1,
                                  [tokenizer](int64_t id) { return token_label(id, tokenizer); })};
}

}  // namespace

int attention_gpt(const GPTAttentionRequest& request) {
  request.AttentionOutput::check();
  require(request.prompt.empty() || request.prompt_ids.empty(), "--prompt-ids", "expected no --prompt, got both");
  const TrainedGPT trained =
      load_gpt(request.model, {.adapter = request.adapter, .generates = request.max_new_tokens > 0});
  std::vector<int64_t> ids = prompt_ids_of(request.prompt, request.prompt_ids, trained);
  std::size_t given = ids.size();
  if (request.max_new_tokens > 0) {
    nn::DecoderNext next(*trained.model);
    nn::GenerateOptions options{.max_new_tokens = request.max_new_tokens};
    options.stop = [&](std::span<const int64_t> row) { return trained.is_end(row.back()); };
    const Tensor found = nn::generate(next, tensor(ids, {1, static_cast<int64_t>(ids.size())}), options).tokens;
    for (const int64_t id : found.to_vector<int64_t>()) ids.push_back(id);
  }
  const auto most = static_cast<std::size_t>(trained.model->longest_input());
  if (ids.size() > most) {
    given -= std::min(given, ids.size() - most);
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(most));
  }
  Tensor logits;
  const std::vector<HeadMap> heads = attend(*trained.model, ids, trained.tokenizer.get(), &logits);
  bool cut = false;
  const std::vector<HeadMap> drawn = drawable(heads, cut);
  const std::string text =
      trained.tokenizer ? data::valid_utf8(trained.text(ids)) : fmt::format("{}", fmt::join(ids, " "));
  const fs::path model = request.model.empty() ? last_run(kGPTTask) : fs::path(request.model);
  const std::string maps =
      fmt::format("<h2>{}</h2>\n<p>{}{}</p>\n<div class=\"card\">{}</div>\n{}", said("Attention"),
                  said("Each row has the attention weights of one token, which add up to 1."),
                  cut ? said(" The first {} of {} tokens are shown.", drawn[0].rows(), ids.size()) : std::string(),
                  drawing::escape_markup(text), heads_html(drawn));
  return report_attention(
      {.task = kGPTTask,
       .model = model.string(),
       .json = {{"task", kGPTTask}, {"model", model.string()}, {"tokens", ids}},
       .heads = heads,
       .drawn = drawn,
       .decoding = decoding_of(drawn, logits, ids, static_cast<int64_t>(given), trained.tokenizer.get()),
       .title = "tapegrad: attention of gpt",
       .heading = said("GPT: attention"),
       .maps = maps,
       .example = said("Text: {}\n", text),
       .shaded = drawn.back().group,
       .about = said("The last layer: a row is a token, a column a position\n")},
      request, kind_of_file(model) == FileKind::folder ? model : model.parent_path());
}

}  // namespace tapegrad::tasks
