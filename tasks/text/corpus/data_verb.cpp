// The verb `data`: makes the three datasets of package records.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/verbs.h>

namespace tapegrad::tasks {

int data_sample(const DataRequest& request) {
  const std::unique_ptr<train::RunFolder> folder = take_folder(request.out);
  const std::vector<Package> packages = parse_packages(made_packages());
  nlohmann::ordered_json facts{{"out", request.out}, {"packages", packages.size()}};
  std::string text = fmt::format("{} records with a description\n", packages.size());
  for (const TextTask* task : text_tasks()) {
    const Corpus corpus = make_corpus(*task, packages);
    as_bad_request("--out", [&] { save_corpus(request.out, *task, corpus); });
    nlohmann::ordered_json sizes;
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
  Options add(f);
  add("out", "folder for the datasets", out).type("DIR");
  add_json(f, json);
}

}  // namespace tapegrad::tasks
