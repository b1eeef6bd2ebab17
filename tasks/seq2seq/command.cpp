// The options of `test`, `explain` and `attention` of copy, addition and parser.
#include <tapegrad/tasks/seq2seq/verbs.h>

namespace tapegrad::tasks {

Fields ExampleRequest::asked() {
  Fields fields = example_fields(options);
  for (const Field& field : fields_of(reach)) fields.add(field);
  return fields;
}

void ExampleRequest::list_examples(Fields& f, std::string_view otherwise) {
  if (options.info->takes_expressions)
    f.add({.name = "expression", .help = "use this example", .type = "TEXT"}, expression);
  add_changes(f, example_fields(options), otherwise);
}

void TestRequest::list(Fields& f) {
  add_model(f, model);
  f.add({.name = "count", .help = "number of new examples to test", .limits = kCount}, count);
  f.add({.name = "seed", .help = "random seed of these examples", .otherwise = "the run's seed + 1"}, seed);
  f.add({.name = "target",
         .help = "minimum exact-match rate; below it the exit status is 1",
         .limits = nn::kShare,
         .otherwise = "the task's"},
        target);
  BeamOptions::list(f);
  add_json(f, json);
  if (options.info->draws)
    f.add({.name = "draw",
           .help = "write a plot of the answer to --expression to this .svg or .html file",
           .type = "FILE"},
          draw);
  list_examples(f);
  add_changes(f, fields_of(reach));
}

void ExplainRequest::list(Fields& f) {
  f.add({.name = "seed", .help = "sample an example with this random seed", .otherwise = "the tutorial's example"},
        seed);
  if (options.info->explains_many)
    f.add({.name = "num_examples",
           .help = "number of random examples",
           .limits = {.least = 1, .most = 1000},
           .otherwise = "the tutorial's three"},
          num_examples);
  list_examples(f, "the tutorial's");
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

}  // namespace tapegrad::tasks
