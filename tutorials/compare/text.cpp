// Trains text models for equal processor time and compares them.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/run/train.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/text/recipe.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/compare/text.h>
#include <tapegrad/tutorials/processor_time.h>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kTextDrawing = "text.svg";
constexpr int64_t kContext = 256, kCut = 64;  // tokens

struct Case {
  std::string_view name, task;
  TextEncoderKind encoder;
  int64_t context = kContext;
  bool no_copy = false;
};
constexpr Case kCases[] = {
    {"flat, 64 tokens", "classify", TextEncoderKind::flat, kCut},
    {"flat, 256 tokens", "classify", TextEncoderKind::flat},
    {"window, 256 tokens", "classify", TextEncoderKind::window},
    {"hierarchy, 256 tokens", "classify", TextEncoderKind::hierarchy},
    {"vocabulary only", "summarize", TextEncoderKind::flat, kContext, true},
    {"with copies", "summarize", TextEncoderKind::flat},
    {"flat, 256 tokens", "answer", TextEncoderKind::flat},
    {"window, 256 tokens", "answer", TextEncoderKind::window},
};

struct Result {
  std::string name;
  const TextTask* task;
  TextScores scores;
  int64_t steps = 0, examples = 0;  // of training; 0: a baseline
  double seconds = 0;
};

TextOptions options_of(const Case& one, const CompareTextRequest& request) {
  TextOptions options(text_task(one.task));
  options.data = request.data;
  options.seed = request.seed;
  options.config.encoder = one.encoder;
  options.config.context = one.context;
  options.config.no_copy = one.no_copy;
  options.schedule = "constant";
  options.num_epochs = options.eval_interval = static_cast<int64_t>(kMost);  // the time ends it
  resolve(options);
  return options;
}

Result run(const Case& one, const CompareTextRequest& request, int64_t count) {
  TextRecipe recipe(options_of(one, request));
  recipe.open(nullptr);
  Training training(recipe);
  training.loop().step();  // evaluates, too: the time begins after it
  Result result{.name = std::string(one.name), .task = &recipe.task(), .scores = {}, .steps = 1};
  const double start = processor_seconds();
  for (; result.seconds < request.seconds; result.seconds = processor_seconds() - start, ++result.steps)
    training.loop().step();
  result.examples = result.steps * recipe.options().batch_size;
  const std::span<const TextExample> examples = first_of(recipe.corpus()[Part::test], count);
  result.scores = recipe.score(examples, recipe.predict(examples));
  return result;
}

Result run_baseline(const TextTask& task, const CompareTextRequest& request, int64_t count) {
  const Corpus corpus = load_corpus(request.data, task);
  const std::span<const TextExample> examples = first_of(corpus[Part::test], count);
  const std::vector<std::string> predictions = task.baseline(corpus[Part::train], examples);
  return {.name = std::string(task.words.baseline),
          .task = &task,
          .scores = task.score(examples, predictions, classes_of(corpus[Part::train]))};
}

std::string heading(const TextScores& scores) {
  std::string out;
  for (const auto& [name, value] : scores.values) out += fmt::format("{:>11}", name);
  return out;
}

std::string row(const Result& result) {
  std::string out = fmt::format("{:<26}{:>7}", result.name, result.steps > 0 ? std::to_string(result.steps) : "");
  for (const auto& [name, value] : result.scores.values) out += fmt::format("{:>11.4f}", value);
  return out + '\n';
}

Json json_of(const Result& result) {
  Json json{{"task", result.task->words.name}, {"name", result.name}, {"tested", result.scores.examples}};
  if (result.steps > 0) {
    json["steps"] = result.steps;
    json["examples"] = result.examples;
    json["seconds"] = result.seconds;
  }
  for (const auto& [name, value] : result.scores.values) json[name] = value;
  return json;
}

// One chart per task: the first measure of every model.
drawing::Drawing picture(const std::vector<Result>& results) {
  std::vector<drawing::Drawing> charts;
  for (const TextTask* task : text_tasks()) {
    drawing::BarChart chart{.width = 720, .height = 120};
    drawing::Series bars;
    for (const Result& result : results) {
      if (result.task != task) continue;
      bars.name = result.scores.values.front().first;
      bars.y.push_back(result.scores.values.front().second);
      chart.labels.push_back(result.name);
    }
    chart.title = fmt::format("{}: {}", task->words.name, bars.name);
    chart.series = {bars};
    charts.push_back(draw(chart));
  }
  return drawing::grid(charts, 1);
}

}  // namespace

int compare_text(const CompareTextRequest& request) {
  const int64_t count = request.count > 0 ? request.count : static_cast<int64_t>(kMost);
  const std::unique_ptr<train::RunFolder> folder = take_folder(request.out);
  as_bad_request("--out", [&] { check_replaceable(folder->file(kTextDrawing)); });
  std::vector<Result> results;
  Json rows = Json::array();
  const auto add = [&](Result result) {
    const bool first = results.empty() || results.back().task != result.task;
    if (!request.json && first)
      print_now(fmt::format("{}{:<26}{:>7}{}\n", results.empty() ? "" : "\n", result.task->words.name, "steps",
                            heading(result.scores)));
    if (!request.json) print_now(row(result));
    rows.push_back(json_of(result));
    results.push_back(std::move(result));
  };
  for (const Case& one : kCases) {
    const TextTask& task = text_task(one.task);
    if (results.empty() || results.back().task != &task) add(run_baseline(task, request, count));
    add(run(one, request, count));
  }
  replace_file(folder->file(kTextDrawing), drawing::svg_file(picture(results)));
  if (request.json) print_now(json::text_of(rows) + "\n");
  return 0;
}

void CompareTextRequest::list(Fields& f) {
  Options add(f);
  add("data", "folder written by 'tapegrad data'", data).type("DIR").otherwise("200 synthetic records");
  add("seconds", "processor time for training each model, in seconds", seconds,
      {.least = 0, .most = 1e6, .open_below = true});
  add("count", "test on the first N examples; 0: all", count, kCountOrNone);
  add("seed", "seed of all random numbers", seed);
  add("out", "folder for the plot", out).type("DIR");
  add("json", "print one JSON list", json);
}

}  // namespace tapegrad::tasks
