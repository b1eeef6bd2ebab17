// Expressions of the parser task: a parsed expression, written and parsed again, is the same tree.
#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tests/fuzz/fuzz.h>

using namespace tapegrad::fuzz;
using namespace tapegrad::tasks;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  reads_or_throws([&] {
    const Tree tree = parse_expression(std::string_view(reinterpret_cast<const char*>(data), size));
    const std::string text = expression_text(tree);
    need(expression_text(parse_expression(text)) == text);
  });
  return 0;
}
