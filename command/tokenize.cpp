#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/command/tools.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/data/byte_pair_train.h>
#include <tapegrad/train/data/characters.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/data/tokens.h>
#include <tapegrad/train/files.h>
#include <tapegrad/train/interrupts.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

namespace tapegrad::tasks {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTokenize = "tokenize";
constexpr int64_t kDefaultSize = 1000;
constexpr std::string_view kKinds[] = {"bpe", "char"}, kNewTokenizer = "New tokenizer";

void check(const TokenizeRequest& r) {
  if (!r.verify.empty()) {
    require_file("--verify", r.verify);
    require(r.tokenizer.empty() && !r.train && r.text.empty() && r.save.empty() && !r.decode, "--verify",
            "reads a token file, and cannot be combined with other options");
    return;
  }
  if (!r.text.empty()) {  // a pipe is a text, too
    const FileKind kind = as_bad_request("--text", [&] { return kind_of_file(r.text); });
    require(kind != FileKind::none, "--text", "there is no file {}", r.text);
    require(kind != FileKind::folder, "--text", "expected a file, got the folder {}", r.text);
  }
  if (!r.train) {
    require(!r.tokenizer.empty(), kTokenize, "expected --tokenizer DIR, or --train bpe|char to make a tokenizer");
    require(r.out.empty() && r.vocab_size == 0, r.out.empty() ? "--vocab-size" : "--out", "is for --train");
    require(r.sample_bytes == 0, "--sample-bytes", "is for --train");
    require(r.save.empty() || !r.decode, "--save", "writes ids, --decode reads them");
    require(r.save.empty() || !r.text.empty(), "--save", "expected --text FILE, got none");
    if (!r.save.empty()) require_file("--text", r.text);  // it is read at several places at once
    const bool found = as_bad_request(
        "--tokenizer", [&] { return data::has_tokenizer(r.tokenizer) || kind_of_file(r.tokenizer) == FileKind::file; });
    require(found, "--tokenizer",
            "{} has no tokenizer: expected tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe",
            r.tokenizer);
    return;
  }
  require(r.tokenizer.empty(), "--tokenizer", "is for encoding and decoding, --train makes a new one");
  require(!r.decode && r.save.empty(), r.decode ? "--decode" : "--save",
          "expected a tokenizer, got --train, which makes one");
  require(!r.out.empty(), "--train", "expected --out DIR, got none");
  require(r.vocab_size == 0 || r.train == "bpe", "--vocab-size", "follows from the text for char");
  require(r.sample_bytes == 0 || r.train == "bpe", "--sample-bytes", "is for bpe: char needs all characters");
  if (r.sample_bytes > 0) require_file("--text", r.text);
  require(r.vocab_size == 0 || r.vocab_size >= 257, "--vocab-size",
          "expected at least 257 (256 bytes and <|endoftext|>), got {}", r.vocab_size);
}

// Reads the whole text, which may come from a pipe. A pipe may have no end: a quarter of the memory is the most.
std::string read_input(const TokenizeRequest& request) {
  const uint64_t most = memory_bytes() / 4;
  std::string text;
  if (!request.text.empty()) {
    as_bad_request("--text", [&] {
      text = read_file_or_pipe(request.text, most);
      require_plain_text(request.text, text);
    });
  } else {
    const StatusHidden hidden("");  // the text may be typed
    text = read_stream(STDIN_FILENO, "standard input", most);
    require_plain_text("standard input", text);
  }
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
      bad_request(kTokenize, "expected token ids from 0 to {2}, got \"{1}\" as word {0}", ids.size() + 1,
                  word.substr(0, 40), tokenizer.size() - 1);
    }
    ids.push_back(id);
  }
}

std::unique_ptr<data::Tokenizer> trained(const TokenizeRequest& request, int64_t size) {
  const auto require_text = [](bool text) {
    if (!text) bad_request(kTokenize, "the text is empty, expected one to make a tokenizer from");
  };
  // Byte pairs are counted while a file is read; a pipe is read into memory first.
  if (request.train == "bpe" && !request.text.empty() && kind_of_file(request.text) == FileKind::file) {
    require_text(fs::file_size(request.text) > 0);
    return data::train_byte_pairs_on_file(request.text, size,
                                          {.bytes = static_cast<uint64_t>(request.sample_bytes), .seed = request.seed});
  }
  const std::string text = read_input(request);
  require_text(!text.empty());
  return request.train == "char" ? data::make_character_tokenizer(text) : data::train_byte_pairs(text, size);
}

int make(const TokenizeRequest& request) {
  as_bad_request("--out", [&] {
    const train::RunFolder tried(request.out);
    check_replaceable({request.out, "tokenizer.json"});
  });
  const int64_t size = request.vocab_size > 0 ? request.vocab_size : kDefaultSize;
  const auto tokenizer = trained(request, size);
  data::save_tokenizer(*tokenizer, request.out);
  const bool short_text = request.train == "bpe" && tokenizer->size() < size;
  print_text(fmt::format("{}: {} tokens{}\n", (fs::path(request.out) / "tokenizer.json").string(), tokenizer->size(),
                         short_text ? fmt::format(" (not {}: no other pair occurs twice)", size) : ""));
  return 0;
}

constexpr uint64_t kMegabyte = 1'000'000;

int64_t save_tokens(const data::Tokenizer& tokenizer, const TokenizeRequest& request) {
  const train::CatchInterrupts interrupts;
  return data::write_token_file(tokenizer, request.text, request.save, {.progress = [&](uint64_t done, uint64_t all) {
                                  if (train::CatchInterrupts::interrupted())
                                    fail(kTokenize, "interrupted: {} is unchanged", request.save);
                                  note_progress(static_cast<int64_t>(done / kMegabyte),
                                                static_cast<int64_t>(all / kMegabyte), "MB");
                                }});
}

int verify(const std::string& path) {
  const data::Tokens tokens = as_bad_request("--verify", [&] { return data::Tokens::open(path); });
  tokens.verify();
  print_text(fmt::format("{}: {} tokens, undamaged\n", path, tokens.size()));
  return 0;
}

}  // namespace

void TokenizeRequest::list(Fields& f) {
  Options add(f);
  Options in_new(f, kNewTokenizer);
  add("tokenizer", "folder with tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe", tokenizer)
      .type("DIR");
  add("decode", "read token ids, print their text", decode);
  add("text", "read this file", text).type("FILE").otherwise("standard input");
  add("save", "write the token ids of --text into this token file", save).type("FILE");
  add("verify", "check that the ids of a token file match the checksum in its header", verify).type("FILE");
  in_new("train", "train a new tokenizer on the text: bpe has byte pairs, char one token per character", train)
      .choices(kKinds);
  in_new("vocab_size", "number of tokens of a bpe tokenizer", vocab_size).otherwise("1000");
  in_new("sample_bytes", "train bpe on a random sample of --text", sample_bytes, kNotNegative).special("0: all of it");
  in_new("seed", "seed of that sample", seed);
  in_new("out", "folder for the new tokenizer.json", out).type("DIR");
}

int tokenize(const TokenizeRequest& request) {
  check(request);
  if (!request.verify.empty()) return verify(request.verify);
  if (request.train) return make(request);
  const auto tokenizer = data::load_tokenizer(request.tokenizer);
  if (!request.save.empty()) {
    std::error_code none;  // if there is no file yet, nothing is overwritten
    if (fs::equivalent(request.text, request.save, none)) bad_request("--save", "{} is the text itself", request.save);
    as_bad_request("--save", [&] { check_replaceable(request.save); });
    print_text(fmt::format("{}: {} tokens\n", request.save, save_tokens(*tokenizer, request)));
    return 0;
  }
  const std::string input = read_input(request);
  if (request.decode) {
    print_now(tokenizer->decode(parse_ids(input, *tokenizer)));
    return 0;
  }
  std::string line;
  for (const int64_t id : tokenizer->encode(input)) {
    line += fmt::format_int(id).c_str();
    line += ' ';
  }
  if (!line.empty()) line.pop_back();
  print_now(line + "\n");
  return 0;
}

}  // namespace tapegrad::tasks
