// Token files: a file that can be opened returns its tokens, and raises an Error outside of the sequence.
#include <tapegrad/tests/fuzz/fuzz.h>
#include <tapegrad/train/data/tokens.h>

using namespace tapegrad::fuzz;

void fuzz(std::string_view input) {
  static const MemoryFile file;
  file.fill(as_safetensors(input));
  reads_or_throws([&] {
    const auto tokens = tapegrad::data::Tokens::open(file.path());
    need(tokens.largest() >= -1);
    need(tokens.slice(0, tokens.size()).size() == tokens.size());
    reads_or_throws([&] { tokens[tokens.size()]; });
  });
}
