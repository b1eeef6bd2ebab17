// Makes the three datasets of package records, and declares the verb's options.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/corpus/data_verb.h>
#include <tapegrad/tasks/text/task.h>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kListsBytes = 100'000'000, kCorporaBytes = 120'000'000;  // at most, of release bookworm
constexpr int64_t kLeast = 20;                                             // examples of a class

// Writes the corpora and reports their sizes.
void write(const std::string& folder, const std::vector<Package>& packages, int64_t least, bool json) {
  nlohmann::ordered_json facts{{"out", folder}, {"packages", packages.size()}};
  std::string text = fmt::format("{} records with a description\n", packages.size());
  for (const TextTask* task : text_tasks()) {
    const Corpus corpus = make_corpus(*task, packages, least);
    save_corpus(folder, *task, corpus);
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
  text += fmt::format("written to {}: TASK.train.jsonl, TASK.validation.jsonl, TASK.test.jsonl\n", folder);
  json ? print_now(json::text_of(facts) + "\n") : print_text(text);
}

}  // namespace

int data_sample(const DataRequest& request) {
  const std::unique_ptr<train::RunFolder> folder = take_folder(request.out);
  write(request.out, parse_packages(made_packages(), {}), 1, request.json);
  return 0;
}

int data_debian(const DebianRequest& request) {
  const std::unique_ptr<train::RunFolder> folder = take_folder(request.out);
  as_bad_request("--out", [&] { folder->reserve(kCorporaBytes + (request.lists.empty() ? kListsBytes : 0)); });
  fs::path lists = request.lists;
  if (lists.empty()) {
    print_note(fmt::format("fetching the package lists of {} (about 16 MB) from {} ...\n", request.source.release,
                           request.source.mirror));
    lists = fetch_lists(request.source, folder->path());
  }
  const PackageLists texts = read_lists(lists, request.lists.empty() ? "data debian" : "--lists");
  const std::vector<Package> packages = parse_packages(texts.packages, texts.translations);
  require(!packages.empty(), request.lists.empty() ? "data debian" : "--lists",
          fmt::format("{} has no record with a long description", lists.string()));
  write(request.out, packages, kLeast, request.json);
  return 0;
}

void DataRequest::list(Fields& f) {
  f.add({.name = "out", .help = "folder for the datasets", .type = "DIR"}, out);
  add_json(f, json);
}

void DebianRequest::list(Fields& f) {
  DataRequest::list(f);
  f.add({.name = "release", .help = "release of the archive"}, source.release);
  f.add({.name = "mirror", .help = "address of the archive", .type = "URL"}, source.mirror);
  f.add({.name = "lists", .help = "read this folder of apt's lists instead of downloading", .type = "DIR"}, lists);
}

}  // namespace tapegrad::tasks
