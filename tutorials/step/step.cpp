// The verb `explain step`: reads a run's model and an example, and writes the page.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/gpt/loading.h>
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/step/step.h>
#include <tapegrad/tutorials/widgets/widget.h>

#include <algorithm>
#include <memory>

namespace tapegrad::tasks::step {
namespace {

// --- the example ---

Batch example_of(const Request& request, const Task& task) {
  if (request.text) return task.read_text(*request.text);
  Generator generator(request.seed);
  return task.draw(1, generator);
}

// --- the two families ---

Step transformer_step(const Request& request, const fs::path& file, const TaskInfo& info) {
  const auto recipe = std::make_shared<Seq2SeqRecipe>(info);
  load_model(*recipe, file);
  const Task& task = recipe->task();
  nn::Transformer& model = recipe->transformer();
  const Batch example = example_of(request, task);
  const Tensor target = example.target.clone();  // that of copy is the source
  const Tensor read = shifted(task, target), visible = task.source_mask(example.source);
  require(!visible.defined() || any(visible), "--text",
          "expected a source with at least one token that is not padding");
  const auto outputs = [&] { return model(example.source, read, visible, nn::causal_mask(target.size(1))); };
  const auto loss = [&] { return task.loss(outputs(), target); };
  const Answer answer = answers_of(task, example, predicted_tokens(task, outputs(), target), 1).front();
  const double own_loss = loss().item();
  nn::to(model, kFloat64);
  Step step = watched_step(nn::AnyModel(model), loss, recipe->optimizer());
  step.given = {{"tokens", "source", example.source},
                {"tokens", "target", target, {{"link", {{"to", 2}, {"by", 1}}}}},
                {"tokens", "read", read, {{"fixed", true}}}};
  if (visible.defined()) step.given.push_back({"visible", "visible", visible, {{"hidden", 0}}, {0}});
  step.own_loss = own_loss;
  step.token_text = [recipe](int64_t id) { return recipe->task().token_text(id); };
  step.vocab_size = model.config.vocab_size;
  step.task = std::string(info.name);
  step.what = fmt::format("{} -> {}", task.source_text(answer.input), task.target_text(answer.target));
  return step;
}

Step gpt_step(const Request& request) {
  const auto trained = std::make_shared<TrainedGPT>(load_gpt(request.model));
  const nn::Decoder& model = *trained->model;
  require(request.text.has_value(), "--text", "expected the text that the GPT reads, got none");
  const std::vector<int64_t> ids = as_bad_request("--text", [&] { return prompt_ids_of(*request.text, "", *trained); });
  const auto count = static_cast<int64_t>(ids.size());
  require(count > 1, "--text", "expected at least two tokens (the model reads all but the last one), got one");
  const Tensor tokens = tensor(ids, {1, count}), read = narrow(tokens, 1, 0, count - 1);
  const Tensor target = narrow(tokens, 1, 1, count - 1);
  const auto loss = [&] { return nll_loss(log_softmax(model(read), -1), target); };
  const double own_loss = cross_entropy(model(read), target).item();
  nn::to(trained->model, kFloat64);
  Step step = watched_step(nn::AnyModel(trained->model), loss,
                           {.lr = trained->options.lr, .weight_decay = trained->options.weight_decay});
  step.given = {{"tokens", "read", read, {{"link", {{"to", 1}, {"by", -1}}}}},
                {"tokens", "target", target, {{"link", {{"to", 0}, {"by", 1}}}}}};
  step.own_loss = own_loss;
  step.token_text = [trained](int64_t id) {
    const bool has = trained->tokenizer && id < trained->tokenizer->size();
    return has ? data::valid_utf8(trained->tokenizer->decode({&id, 1})) : std::to_string(id);
  };
  step.vocab_size = model.vocab_size();
  step.task = std::string(kGPTTask);
  step.what = *request.text;
  return step;
}

// --- the page ---

constexpr std::string_view kStyle =
    R"(.cells td[data-i] { cursor: pointer; } summary { cursor: pointer; padding: 2px 0; } details details { margin-left: 12px; }
.changed > summary { font-weight: 600; color: var(--heat); } .inspector { position: sticky; top: 0; z-index: 1; max-height: 45vh; overflow: auto; }
.strip { display: flex; flex-wrap: wrap; gap: 2px; align-items: flex-end; margin: 8px 0; } .strip button { flex: 1 1 6px; min-width: 0; max-width: 18px; padding: 0; border: 0; border-radius: 2px; background: var(--heat); cursor: pointer; }
)";

// Its rows are the lines `    add: [...`, from `  return {` to `  };`.
constexpr std::string_view kTable = "touch.stepOperations =", kRows = "\n  return {\n", kEnd = "  };";

}  // namespace

std::vector<std::string_view> page_operations() {
  const std::string_view script = tutorial::script("step");
  std::vector<std::string_view> names;
  std::size_t at = script.find(kRows, script.find(kTable)) + kRows.size();
  while (!script.substr(at).starts_with(kEnd)) {
    const std::size_t end = script.find('\n', at), colon = script.find(": [", at);
    if (colon < end) names.push_back(script.substr(at + 4, colon - at - 4));
    at = end + 1;
  }
  return names;
}

void require_on_page(std::string_view operation) {
  const std::vector<std::string_view> names = page_operations();
  require(std::find(names.begin(), names.end(), operation) != names.end(), "--model",
          fmt::format("expected a model of operations that the page can compute ({}), got {}", fmt::join(names, ", "),
                      operation));
}

std::string step_page(const Json& json, Language language) {
  for (const auto& node : json["nodes"])
    if (!node["inputs"].empty()) require_on_page(node["op"].get<std::string>());
  const std::string title(Text{"학습 한 단계의 모든 수", "Every number of one training step"}.in(language));
  const std::string_view about =
      Text{
          "모델이 한 문장으로 학습하는 한 단계를 연산 하나하나로 나누어 보여 줍니다. 값과 기울기는 tapegrad가 "
          "계산했고, "
          "이 페이지는 같은 순전파를 다시 계산하여 비교합니다. 수를 누르면 기울기와 차분, 갱신을 볼 수 있고, 고칠 수 "
          "있습니다.",
          "One training step on one sequence, operation by operation. tapegrad computed the values and gradients; this "
          "page computes the same forward pass again and compares. Click a number to see its gradient, the finite "
          "difference and the update, or to change it."}
          .in(language);
  const std::string body = fmt::format("<h1>{}</h1>\n<p>{}</p>\n<noscript><p>{}</p></noscript>\n{}", title, about,
                                       Text{"스크립트가 필요합니다.", "This page needs scripts."}.in(language),
                                       tutorial::widget_html("step", json));
  const std::string style = fmt::format("{}{}", tutorial::widget_style(), kStyle);
  return drawing::page(title, body, {.language = code_of(language), .style = style, .scripts = true});
}

void Request::list(Fields& f) {
  Options add(f);
  add_model(f, model);
  f["model"].help = "model.safetensors of a run, or its folder; required";
  f["model"].otherwise = "none";
  add("text", "the example: tokens (copy), an expression (addition, parser), or a text (gpt)", text)
      .type("TEXT")
      .otherwise("a sampled example; of a GPT required");
  add("seed", "random seed of a sampled example", seed);
  add("out", "folder for step.html", out).type("DIR").otherwise("the model's");
  add("limit", "largest page to write, in MB", limit, {.least = 0, .most = 100, .open_below = true}).type("MB");
  add("lang", "language of the page", language).choices(kLanguageCodes).otherwise("by the locale");
}

Step read_step(const Request& request) {
  require(!request.model.empty(), "--model", "expected the folder or model file of a run, got none");
  const fs::path file = model_file("explain step", "copy", request.model);
  const std::string task = task_of_model(file);
  return task == kGPTTask ? gpt_step(request) : transformer_step(request, file, task_of_given_model(task));
}

int explain_step(const Request& request) {
  const Step step = read_step(request);
  const Language language = language_named(request.language.value_or(""));
  const Json json = step_json(step);
  const std::string page = step_page(json, language);
  const auto loss = json["loss"].get<double>();
  if (!(std::abs(loss - step.own_loss) <= 1e-3 * (1 + std::abs(loss)))) {
    fail("explain step", fmt::format("expected the loss of the model, {}, from its operations one by one, got {}",
                                     step.own_loss, loss));
  }
  const double megabytes = static_cast<double>(page.size()) / 1e6;
  if (megabytes > request.limit) {
    fail("explain step", fmt::format("expected a page of at most {} MB, got {:.1f} MB (train a smaller model, use a "
                                     "shorter --text, or raise --limit)",
                                     request.limit, megabytes));
  }
  const fs::path model(request.model);
  const fs::path beside = kind_of_file(model) == FileKind::folder ? model : model.parent_path();
  const fs::path folder = request.out.empty() ? beside : fs::path(request.out);
  as_bad_request("--out", [&] {
    if (!folder.empty()) train::create_folder(folder);
    train::replace_file({folder, "step.html"}, page);
  });
  int64_t operations = 0;
  for (const auto& node : json["nodes"]) operations += node["inputs"].empty() ? 0 : 1;
  print_text(drawing::wrapped(
      said("=== One training step: {} ===\nExample: {}\n{} operations; loss {:.6f}, after one update {:.6f}\n"
           "Page: {} ({:.1f} MB)\n",
           step.task, step.what, operations, loss, json["loss_after"].get<double>(), (folder / "step.html").string(),
           megabytes),
      4));
  return 0;
}

}  // namespace tapegrad::tasks::step
