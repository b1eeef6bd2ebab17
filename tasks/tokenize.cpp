#include <fmt/format.h>
#include <tapegrad/tasks/data/byte_pair_train.h>
#include <tapegrad/tasks/data/characters.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/data/tokens.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/tokenize.h>
#include <tapegrad/tasks/train/files.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

namespace tapegrad::tasks {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTokenize = "tokenize";
constexpr int64_t kDefaultSize = 1000;

void check(const TokenizeRequest& r) {
  if (!r.text.empty()) {  // a pipe is a text, too
    const FileKind kind = as_bad_request("--text", [&] { return kind_of_file(r.text); });
    require(kind != FileKind::none, "--text", fmt::format("there is no file {}", r.text));
    require(kind != FileKind::folder, "--text", fmt::format("expected a file, got the folder {}", r.text));
  }
  if (r.train.empty()) {
    require(!r.tokenizer.empty(), kTokenize, "expected --tokenizer DIR, or --train bpe|char to make a tokenizer");
    require(r.out.empty() && r.vocab_size == 0, r.out.empty() ? "--vocab-size" : "--out", "is for --train");
    require(r.save.empty() || !r.decode, "--save", "writes ids, --decode reads them");
    require(r.save.empty() || !r.text.empty(), "--save", "needs --text FILE");
    const bool found = as_bad_request(
        "--tokenizer", [&] { return data::has_tokenizer(r.tokenizer) || kind_of_file(r.tokenizer) == FileKind::file; });
    require(
        found, "--tokenizer",
        fmt::format("{} has no tokenizer: expected tokenizer.json, or vocab.json and merges.txt, or encoder.json and "
                    "vocab.bpe",
                    r.tokenizer));
    return;
  }
  require(r.tokenizer.empty(), "--tokenizer", "is for encoding and decoding, --train makes a new one");
  require(!r.decode && r.save.empty(), r.decode ? "--decode" : "--save", "needs a tokenizer, --train makes one");
  require(!r.out.empty(), "--train", "needs --out DIR");
  require(r.vocab_size == 0 || r.train == "bpe", "--vocab-size", "follows from the text for char");
  require(r.vocab_size == 0 || r.vocab_size >= 257, "--vocab-size",
          fmt::format("must be at least 257 (256 bytes and <|endoftext|>), got {}", r.vocab_size));
}

std::string read_input(const TokenizeRequest& request) {
  if (!request.text.empty()) return train::read_file(request.text);
  std::string text;
  char piece[1 << 16];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, stdin)) text.append(piece, count);
  if (std::ferror(stdin)) fail(kTokenize, "cannot read standard input");
  return text;
}

// Ids separated by white space, commas or brackets.
std::vector<int64_t> parse_ids(std::string_view text, const data::Tokenizer& tokenizer) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<int64_t> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) return ids;
    const std::string_view word = text.substr(0, text.find_first_of(kBetween));
    text.remove_prefix(word.size());
    int64_t id = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0 || id >= tokenizer.size()) {
      bad_request(kTokenize, fmt::format("expected token ids from 0 to {2}, got \"{1}\" as word {0}", ids.size() + 1,
                                         word.substr(0, 40), tokenizer.size() - 1));
    }
    ids.push_back(id);
  }
}

// Error where replace_file could put nothing in the place of `path`.
void try_replacing(const fs::path& path) {
  if (kind_of_file(path) == FileKind::folder) fail("file", fmt::format("{} is a folder", path.string()));
  const AtomicFile trial(path);
}

int make(const TokenizeRequest& request) {
  as_bad_request("--out", [&] { const train::RunFolder tried(request.out); });
  const std::string text = read_input(request);
  if (text.empty()) bad_request(kTokenize, "the text is empty, expected one to make a tokenizer from");
  const int64_t size = request.vocab_size > 0 ? request.vocab_size : kDefaultSize;
  const auto tokenizer =
      request.train == "char" ? data::make_character_tokenizer(text) : data::train_byte_pairs(text, size);
  data::save_tokenizer(*tokenizer, request.out);
  const bool short_text = request.train == "bpe" && tokenizer->size() < size;
  fmt::print("{}: {} tokens{}\n", (fs::path(request.out) / "tokenizer.json").string(), tokenizer->size(),
             short_text ? fmt::format(" (not {}: no other pair occurs twice)", size) : "");
  return 0;
}

}  // namespace

int tokenize(const TokenizeRequest& request) {
  check(request);
  if (!request.train.empty()) return make(request);
  const auto tokenizer = data::load_tokenizer(request.tokenizer);
  if (!request.save.empty()) {
    std::error_code none;  // if there is no file yet, nothing is overwritten
    if (fs::equivalent(request.text, request.save, none))
      bad_request("--save", fmt::format("{} is the text itself", request.save));
    as_bad_request("--save", [&] { try_replacing(request.save); });
    const int64_t count = data::write_token_file(*tokenizer, request.text, request.save);
    fmt::print("{}: {} tokens\n", request.save, count);
    return 0;
  }
  const std::string input = read_input(request);
  if (request.decode) {
    print_now(tokenizer->decode(parse_ids(input, *tokenizer)));
    return 0;
  }
  std::string line;
  for (const int64_t id : tokenizer->encode(input)) fmt::format_to(std::back_inserter(line), "{} ", id);
  if (!line.empty()) line.pop_back();
  print_now(line + "\n");
  return 0;
}

}  // namespace tapegrad::tasks
