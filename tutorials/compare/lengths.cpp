// The compared tasks: what training draws, and the longer examples.
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tutorials/compare/lengths.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace tapegrad::tasks {
namespace {

RunOptions with_digits(RunOptions options, int64_t digits) {
  options.of<AdditionTask>().max_digits = digits;
  return options;
}

// A task whose loss is a mean over the tokens, too: it does not depend on the length of the examples.
template <class T>
class PerToken : public T {
 public:
  using T::T;
  Tensor loss(const Tensor& outputs, const Tensor& target) const override {
    return T::loss(outputs, target) / static_cast<double>(target.size(1));
  }
};

// Sums of several lengths: all numbers of a batch have the same number of digits, which is drawn.
class SumsOfSeveralLengths final : public PerToken<AdditionTask> {
 public:
  explicit SumsOfSeveralLengths(const RunOptions& options) : PerToken(options) {
    for (int64_t digits = 1; digits < options.of<AdditionTask>().max_digits; ++digits)
      shorter_.emplace_back(with_digits(options, digits));
  }
  Batch draw_training(int64_t count, Generator& generator) override {
    const std::size_t drawn = generator.random64() % (shorter_.size() + 1);
    return drawn < shorter_.size() ? shorter_[drawn].draw_training(count, generator)
                                   : PerToken::draw_training(count, generator);
  }

 private:
  std::deque<AdditionTask> shorter_;  // by digits, from 1
};

RunOptions addition_options(int64_t digits) {
  static const TaskInfo kInfo = info_of<SumsOfSeveralLengths>();
  RunOptions options = with_digits(AdditionTask::defaults(), digits);
  options.info = &kInfo;
  return options;
}

Batch draw_sums(const RunOptions& options, int64_t count, Generator& generator) {
  return AdditionTask(options).draw(count, generator);
}

// Nested expressions, whose lengths vary in any case.
class NestedExpressions final : public PerToken<ParserTask> {
 public:
  using PerToken::PerToken;
  Batch draw_training(int64_t count, Generator& generator) override {
    generator.random64();  // one draw per batch, as for sums
    return PerToken::draw_training(count, generator);
  }
};

RunOptions parser_options(int64_t depth) {
  static const TaskInfo kInfo = info_of<NestedExpressions>();
  RunOptions options = ParserTask::defaults();
  options.info = &kInfo;
  options.of<ParserTask>().depth = depth;
  options.config.vocab_size = ExpressionTokens::kCount;
  return options;
}

// By size, as training sorts them, too.
Batch draw_deepest(const RunOptions& options, int64_t count, Generator& generator) {
  const int depth = static_cast<int>(options.of<ParserTask>().depth);
  NumpyRandom stream(generator.random32());
  std::vector<Tree> trees;
  while (static_cast<int64_t>(trees.size()) < count) {
    Tree tree = draw_expression(stream, depth);
    if (operator_depth(tree) == depth) trees.push_back(std::move(tree));
  }
  std::stable_sort(trees.begin(), trees.end(),
                   [](const Tree& a, const Tree& b) { return count_nodes(a) < count_nodes(b); });
  return ParserTask(options).batch_of(trees, 0, longest_tree(depth, TreeForm::brackets));
}

constexpr ComparedTask kCompared[] = {
    {"addition", "up to {} digits in training, {} beyond", &ComparedSizes::max_digits, 17, "digits with --max-digits",
     addition_options, draw_sums},
    {"parser", "depth {} in training, {} beyond", &ComparedSizes::depth, ParserTask::kDeepest, "levels with --depth",
     parser_options, draw_deepest},
};

}  // namespace

void ComparedSizes::list(Fields& f) {
  Options in_data(f, Group::data);
  in_data("max-digits", "maximum number of digits in training", max_digits, {.least = 1, .most = 16});
  in_data("depth", "nesting depth of the expressions in training", depth, {.least = 1, .most = 4});
  in_data("longer", "additional digits, or levels of nesting, in the longer tests", longer, {.least = 1, .most = 16});
}

std::span<const ComparedTask> compared_tasks() { return kCompared; }

const ComparedTask& compared_task(std::string_view name) {
  return *std::find_if(std::begin(kCompared), std::end(kCompared), [&](const auto& task) { return task.name == name; });
}

}  // namespace tapegrad::tasks
