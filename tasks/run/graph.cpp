// The verb `graph`: records the loss of one batch, without a step, for Graphviz.
#include <tapegrad/autograd/graph.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/run/train.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/checkpoint.h>

#include <memory>
#include <optional>

namespace tapegrad::tasks {
namespace {

struct GraphRequest {
  std::string model;  // file, or folder of a run; empty: a new model with the defaults of its kind
  std::string out;    // file; empty: standard output
  int64_t depth = 3;  // GraphOptions
  bool all_layers = false;

  void list(Fields& fields);
};

// That of a run of this task.
train::Checkpoint checkpoint_of(const std::string& run, std::string_view task) {
  const fs::path folder = model_file("graph", task, run).parent_path();
  train::Checkpoint saved = checkpoint_in(folder, "--model");
  const std::string found = task_of_json((folder / train::kCheckpointFile).string(), saved.get<std::string>("options"));
  require(found == task, "--model", "expected a run of the task {}, got one of {}", task, found);
  return saved;
}

void GraphRequest::list(Fields& f) {
  Options add(f);
  add_model(f, model);
  f["model"].otherwise = "a new model with the task's defaults";
  add("out", "write the graph into this .dot file", out).type("FILE").otherwise("standard output");
  add("depth", "levels of modules; a module of the last level is one box (0: every operation)", depth,
      {.least = 0, .most = 100});
  add("all-layers", "open every layer of a list, not only the first one", all_layers);
}

// Records the loss of the first batch, and writes its graph. BadRequest for a model of another kind and for data that
// is missing.
int graph(const MakeRecipe& make, const GraphRequest& request) {
  const std::unique_ptr<Recipe> recipe = make();
  if (!request.out.empty()) as_bad_request("--out", [&] { check_replaceable(request.out); });
  std::optional<train::Checkpoint> saved;
  if (request.model.empty()) {
    recipe->adapt({});
    recipe->resolve();
  } else {
    saved = checkpoint_of(request.model, recipe->name());
    read_settings(*recipe, *saved);
  }
  recipe->open(saved ? &*saved : nullptr);
  require_memory("graph", kModelAndBatch, recipe->bytes(1));
  Training training(*recipe);
  Tape tape;
  const train::BatchLoss found = training.loop().next_loss(tape);
  const std::string text = to_dot(tape, {.depth = static_cast<int>(request.depth), .all_layers = request.all_layers});
  if (request.out.empty()) {
    print_now(text);
  } else {
    as_bad_request("--out", [&] { train::replace_file(request.out, text); });
  }
  return 0;
}

}  // namespace

void add_graph(CLI::App* app, const Kind& kind, Run& run) {
  add_verb(app, run, std::make_shared<GraphRequest>(),
           [make = kind.make](const GraphRequest& request) { return graph(make, request); });
}

}  // namespace tapegrad::tasks
