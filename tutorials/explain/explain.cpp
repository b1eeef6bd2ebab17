// The essays about copy and addition, and the verb that prints an essay.
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/copy/copy.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tutorials/explain/explain.h>
#include <tapegrad/tutorials/programs/given.h>

namespace tapegrad::tasks {
namespace {

// The tutorial explains the task with a shorter sequence than it trains with.
void adapt_copy(RunOptions& options, std::string_view) { options.of<CopyTask>().seq_length = 5; }

std::string explain_copy(const RunOptions& options, const Task&, const Batch* example) {
  const Tokens tokens = example ? example->source.to_vector<int64_t>() : Tokens{7, 15, 2, 3, 12};
  std::vector<Value> values = loss_values(given::copied(kFloat64), tensor({{0, 1, 2}, {0, 1, 2}}), 4);
  values.insert(values.end(), {{"length", tokens.size()},
                               {"tokens", tokens},
                               {"largest", options.config.vocab_size - 1},
                               {"read", shifted(tokens)},
                               {"seen", Tokens(tokens.size(), 1)},
                               {"causal", causal_mask_text(tokens.size())}});
  return essay("tutorials/explain/copy.txt", values);
}

std::string explain_addition(const RunOptions& options, const Task& task, const Batch* example) {
  const int64_t width = options.of<AdditionTask>().max_digits;
  const Batch shown = example ? *example : addition_batch(tensor({153}), tensor({391}), width);
  const Tokens source = shown.source.to_vector<int64_t>(), target = shown.target.to_vector<int64_t>();
  const Tokens first(source.begin(), source.begin() + width), second(source.end() - width, source.end());
  Tokens seen;
  for (const int64_t token : source) seen.push_back(token != 0 ? 1 : 0);
  // The section's example: one answer of three digits.
  std::vector<Value> values = loss_values(given::added(kFloat64), tensor({{1, 2, 0}}), 3);
  values.insert(values.end(), {{"width", width},
                               {"length", source.size()},
                               {"first", number_of(first)},
                               {"first_digits", first},
                               {"plus", AdditionTask::kPlus},
                               {"second", number_of(second)},
                               {"second_digits", second},
                               {"source", source},
                               {"sum", number_of(target)},
                               {"target", target},
                               {"largest", static_cast<const AdditionTask&>(task).limit() - 1},
                               {"read", shifted(target)},
                               {"all", Tokens(source.size(), 1)},
                               {"seen", seen},
                               {"causal", causal_mask_text(target.size())}});
  return essay("tutorials/explain/addition.txt", values);
}

void adapt_parser(RunOptions& options, std::string_view expression) {
  if (expression.empty()) return;
  options.of<ParserTask>().depth = operator_depth(parse_expression(expression));
  ParserTask::adapt(options, {});
}

std::string explain_examples(const RunOptions&, const Task& task, const Batch* example) {
  const TreeForm form = static_cast<const ParserTask&>(task).form();
  if (!example) return explain_parser({}, form);
  std::vector<Tree> trees;
  for (const Answer& row : answers_of(task, *example, example->target, example->target.size(0)))
    trees.push_back(read_tree(row.target, form).tree);
  return explain_parser(trees, form);
}

constexpr Essay kEssays[] = {{&CopyTask::kInfo, adapt_copy, explain_copy},
                             {&AdditionTask::kInfo, [](RunOptions&, std::string_view) {}, explain_addition},
                             {&ParserTask::kInfo, adapt_parser, explain_examples, true}};

}  // namespace

std::span<const Essay> essays() { return kEssays; }

void ExplainRequest::list(Fields& f) {
  Options add(f);
  add("seed", "sample an example with this random seed", seed).otherwise("the tutorial's example");
  if (essay->explains_many)
    add("num_examples", "number of random examples", num_examples, {.least = 1, .most = 1000})
        .otherwise("the tutorial's three");
  list_examples(f, "the tutorial's");
}

int explain(ExplainRequest request) {
  const bool several = request.num_examples.has_value();
  require(!several || !request.expression, "--num-examples", "expected --num-examples or --expression, got both");
  RunOptions options = request.options.info->defaults();
  request.essay->adapt(options, request.expression.value_or(""));
  override_with(fields_of(options), fields_of(request.options), request.given);
  resolve(options);
  const std::unique_ptr<Task> task = options.info->make(options);
  std::optional<Batch> example;
  if (request.expression) {
    example = task->read_expression(*request.expression);
  } else if (!request.given.empty() || request.seed || several) {
    Generator generator(request.seed.value_or(0));
    example = task->draw(request.num_examples.value_or(1), generator);
  }
  print_text(request.essay->text(options, *task, example ? &*example : nullptr));
  return 0;
}

Tokens shifted(const Tokens& target) {
  Tokens read{0};
  read.insert(read.end(), target.begin(), target.end() - 1);
  return read;
}

std::string causal_mask_text(std::size_t n) {
  std::string out;
  for (std::size_t row = 0; row < n; ++row) {
    out += row == 0 ? "  " : "\n  ";
    for (std::size_t column = 0; column < n; ++column) out += column <= row ? " 1" : " 0";
  }
  return out;
}

std::vector<Value> loss_values(const Tensor& outputs, const Tensor& target, int digits) {
  const Tensor likely = argmax(outputs, -1);
  const int64_t batch = target.size(0);
  const auto number = [digits](double x) { return fmt::format("{:.{}f}", x, digits); };
  std::vector<Value> values{{"loss", number(nn::sequence_loss(log(outputs), target).item())},
                            {"accuracy", fmt::format("{:.1f}", nn::exact_match(log(outputs), target))}};
  std::vector<std::string> lines;
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<std::string> terms;
    double sum = 0;
    for (int64_t t = 0; t < target.size(1); ++t) {
      lines.push_back(fmt::format("   {}{}",
                                  batch == 1 ? ""
                                  : t == 0   ? "- "
                                             : "  ",
                                  outputs[b][t].to_vector<double>()));
      const double term = -fixed::log(outputs[b][t][target[b][t].item<int64_t>()].item());
      terms.push_back(number(term));
      sum += term;
    }
    values.insert(values.end(), {{fmt::format("likely{}", b), likely[b].to_vector<int64_t>()},
                                 {fmt::format("exact{}", b), true_or_false(all(likely[b] == target[b]))},
                                 {fmt::format("terms{}", b), fmt::format("{}", fmt::join(terms, " + "))},
                                 {fmt::format("loss{}", b), number(sum)}});
  }
  values.emplace_back("probabilities", fmt::format("{}", fmt::join(lines, "\n")));
  return values;
}

}  // namespace tapegrad::tasks
