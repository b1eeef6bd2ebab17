// tokenizer.json: what is read must encode and decode.
#include <tapegrad/tests/fuzz/fuzz.h>
#include <tapegrad/train/data/tokenizer_files.h>

using namespace tapegrad::fuzz;

void fuzz(std::string_view input) {
  reads_or_throws([&] {
    const auto tokenizer = tapegrad::data::parse_tokenizer(input, "tokenizer.json");
    reads_or_throws([&] { tokenizer->decode(tokenizer->encode("the sum of 1 and 2\n")); });
    tapegrad::data::parse_tokenizer(tokenizer->json(), "again");
  });
}
