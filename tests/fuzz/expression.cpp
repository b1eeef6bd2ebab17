// Expressions of the parser task: a parsed expression, written and parsed again, is the same tree.
#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tests/fuzz/fuzz.h>

using namespace tapegrad::fuzz;
using namespace tapegrad::tasks;

void fuzz(std::string_view input) {
  reads_or_throws([&] {
    const Tree tree = parse_expression(input);
    const std::string text = expression_text(tree);
    need(expression_text(parse_expression(text)) == text);
  });
}
