// The verbs `test` of the text tasks, and `data`.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/recipe.h>
#include <tapegrad/tasks/text/verbs.h>
#include <tapegrad/train/drawing/svg.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

std::string_view name_of(Part part) { return kPartNames[static_cast<std::size_t>(part)]; }

Json values_json(const TextScores& scores) {
  Json json;
  for (const auto& [name, value] : scores.values) json[name] = value;
  return json;
}

std::string text_of(const TextTestRequest& request, const TextScores& found, const TextScores& naive,
                    std::span<const TextExample> examples, const std::vector<std::string>& predictions) {
  std::string out = fmt::format("=== Test: {} ===\n", request.task->words.name);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, predictions.size()); ++i)
    out += fmt::format("  expected  {}\n  predicted {}\n", examples[i].target, predictions[i]);
  out += fmt::format("{} examples of the {} split\n{:<14}{:>8}  {}\n", found.examples, name_of(request.part), "",
                     "model", request.task->words.baseline);
  for (std::size_t i = 0; i < found.values.size(); ++i)
    out += fmt::format("  {:<12}{:>8.4f}  {:.4f}\n", found.values[i].first, found.values[i].second,
                       naive.values[i].second);
  return out;
}

}  // namespace

void TextTestRequest::list(Fields& f) {
  Options add(f);
  add_model(f, model);
  add("data", "folder written by 'tapegrad data'", data).type("DIR").otherwise("the run's data");
  add.named("part", "split of the data to test on", part, kPartNames);
  add("count", "test on the first N examples; 0: all", count, kCountOrNone);
  add("target", task->words.target_help, target, nn::kShare).otherwise("none");
  if (task->generates) add("beams", "beam-search width; 1: greedy decoding", beams, kBeams);
  if (task->has_classes) add("draw", "write a plot of the confusion matrix to this .svg file", draw).type("FILE");
  add_json(f, json);
}

int test_text(const TextTestRequest& request) {
  check_drawing(request.draw, ".svg");
  const std::string where = fmt::format("test {}", request.task->words.name);
  const fs::path file = model_file(where, request.task->words.name, request.model);
  TextRecipe trained(*request.task);
  load_model(trained, file);
  const Corpus corpus = load_corpus(request.data.empty() ? trained.options().data : request.data, *request.task);
  const std::vector<TextExample>& all = corpus[request.part];
  const std::span<const TextExample> examples = request.count > 0 ? first_of(all, request.count) : std::span(all);
  const std::vector<std::string> predictions = trained.predict(examples, request.beams);
  const TextScores found = trained.score(examples, predictions),
                   naive = trained.baseline(corpus[Part::train], examples);
  const auto& [measure, value] = found.values.front();
  const bool passed = !request.target || value >= *request.target;
  Tested tested{.json = {{"task", trained.name()},
                         {"model", file.string()},
                         {"part", name_of(request.part)},
                         {"examples", found.examples}},
                .text = text_of(request, found, naive, examples, predictions)};
  tested.json.update(values_json(found));
  tested.json["baseline"] = values_json(naive);
  tested.json["baseline"]["name"] = request.task->words.baseline;
  if (request.target) tested.json["target"] = *request.target;
  tested.json["passed"] = passed;
  if (!request.draw.empty()) tested.drawing = drawing::svg_file(metrics::draw(*found.confusion, "Confusion matrix"));
  if (!passed) tested.failure = fmt::format("{} {:.4f} is below the target {}", measure, value, *request.target);
  return report_test(tested, where, request.json, request.draw);
}

// --- data ---

int data_sample(const DataRequest& request) {
  const std::unique_ptr<train::RunFolder> folder = take_folder(request.out);
  const std::vector<Package> packages = parse_packages(made_packages());
  Json facts{{"out", request.out}, {"packages", packages.size()}};
  std::string text = fmt::format("{} records with a description\n", packages.size());
  for (const TextTask* task : text_tasks()) {
    const Corpus corpus = make_corpus(*task, packages);
    as_bad_request("--out", [&] { save_corpus(request.out, *task, corpus); });
    Json sizes;
    text += fmt::format("{:<10}", task->words.name);
    for (std::size_t part = 0; part < corpus.parts.size(); ++part) {
      sizes[std::string(kPartNames[part])] = corpus.parts[part].size();
      text += fmt::format("  {:>6} {}", corpus.parts[part].size(), kPartNames[part]);
    }
    if (task->has_classes) {
      const std::size_t classes = classes_of(corpus[Part::train]).size();
      sizes["classes"] = classes;
      text += fmt::format("  {} classes", classes);
    }
    text += '\n';
    facts[std::string(task->words.name)] = sizes;
  }
  text += fmt::format("written to {}: TASK.train.jsonl, TASK.validation.jsonl, TASK.test.jsonl\n", request.out);
  request.json ? print_now(json::text_of(facts) + "\n") : print_text(text);
  return 0;
}

void DataRequest::list(Fields& f) {
  Options{f}("out", "folder for the datasets", out).type("DIR");
  add_json(f, json);
}

}  // namespace tapegrad::tasks
