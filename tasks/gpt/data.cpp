// Reads or makes the text that a GPT is trained on: split by characters, encoded, cut into windows.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/tasks/gpt/data.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/data/characters.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/files.h>

#include <algorithm>
#include <charconv>
#include <span>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kNumbers[] = {
    "zero",     "one",     "two",     "three",     "four",     "five",     "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
};

std::unique_ptr<data::Tokenizer> tokenizer_for(const GPTOptions& o, std::string_view text) {
  if (o.tokenizer == "char") {
    if (o.preset == "book")
      bad_request("--tokenizer", "expected, for the preset book, a folder with vocab.bpe and encoder.json");
    return data::make_character_tokenizer(text);
  }
  return as_bad_request("--tokenizer", [&] { return data::load_tokenizer(o.tokenizer); });
}

void require_room(const GPTOptions& o, const data::Tokenizer& tokenizer) {
  const int64_t tokens = o.sizes().vocab;
  require(tokens == 0 || tokens >= tokenizer.size(), "--vocab-size",
          "expected at least {}, the number of the tokenizer's tokens, got {}", tokenizer.size(), tokens);
}

// Batches of token files are made during the step, so that no step waits for a disk. Batches of a text in memory take
// less time than waking a thread.
constexpr int64_t kBatchesAhead = 2;

// What is trained on, or validated with: the same part of each text.
struct PartOfTexts {
  bool training = false;
  std::vector<data::Tokens> tokens = {};
  std::vector<double> weights = {};  // none for a single text without one
  int64_t ahead = 0;                 // batches
};

data::LoaderOptions loader_options(const GPTOptions& o, const PartOfTexts& part, const data::Windows& windows) {
  data::LoaderOptions options{.batch_size = o.batch_size, .drop_last = part.training, .prefetch = part.ahead};
  if (!part.weights.empty()) {
    options.sampler = as_bad_request("--text", [&] { return data::mixed(windows.sizes(), part.weights); });
    if (!part.training)  // one fixed random order, so that evaluations on the first batches have windows of all texts
      options.sampler->index_at = [order = options.sampler->index_at](uint64_t) { return order(0); };
  } else if (part.training && o.window_order == "permutation") {
    options.sampler = data::permuted(windows.size());
  } else {
    options.shuffle = part.training;
  }
  return options;
}

data::TextLoader loader(const GPTOptions& o, PartOfTexts part) {
  const int64_t context = o.sizes().context, length = o.seq_length > 0 ? o.seq_length : context;
  for (const data::Tokens& tokens : part.tokens) {
    if (tokens.size() > length) continue;
    bad_request("--text",
                "the {} split{} has {} tokens, a window of {} {} takes {} (a longer text, shorter windows, or another "
                "--train-ratio)",
                part.training ? "training" : "validation", part.weights.empty() ? "" : " of one of the files",
                tokens.size(), length == context ? "--context-length" : "--seq-length", length, length + 1);
  }
  data::Windows windows(std::move(part.tokens), length, o.stride);
  const data::LoaderOptions options = loader_options(o, part, windows);
  data::TextLoader made(std::move(windows), options);
  if (made.size() == 0) {
    bad_request("--batch-size", "a batch of {} windows does not fit: the training split has {}", o.batch_size,
                made.dataset().size());
  }
  return made;
}

// The first `most` bytes of a text, or fewer where they would end inside of a character.
std::string_view first_bytes(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  while (end < text.size()) {
    const auto bytes = static_cast<std::size_t>(data::first_character(text.substr(end)).bytes);
    if (end + bytes > most) break;
    end += bytes;
  }
  return text.substr(0, end);
}

constexpr std::size_t kStart = 12;   // tokens
constexpr std::size_t kRead = 1000;  // bytes that surely have as many
constexpr std::size_t kWidest = 4;   // bytes of a character

// The tokens that samples begin with: the start context, or else the first ones of the text's first line.
std::vector<int64_t> start_of(const GPTOptions& o, const data::Tokenizer& tokenizer, std::string_view text) {
  if (!o.start_context.empty())
    return as_bad_request("--start-context", [&] { return tokenizer.encode(o.start_context); });
  const std::size_t begin = std::min(text.find_first_not_of(" \r\n\t"), text.size());
  const std::string_view line = first_bytes(text.substr(begin, text.find('\n', begin) - begin), kRead);
  std::vector<int64_t> ids = tokenizer.encode(line);
  if (ids.size() > kStart) {
    ids.resize(kStart);
    // A token of bytes may end inside of a character.
    const auto whole = [&](std::size_t count) {
      const std::string start = tokenizer.decode(std::span(ids).first(count));
      return data::valid_utf8(start) == start;
    };
    for (std::size_t count = kStart; count + kWidest > kStart; --count) {
      if (!whole(count)) continue;
      ids.resize(count);
      break;
    }
  }
  if (ids.empty()) ids.push_back(0);
  return ids;
}

// One of the files of --text.
struct TextFile {
  std::string path;
  std::optional<double> weight;  // that was given
};

// A file whose name has a comma, or ends in a colon and a number, is that file where it exists.
std::vector<TextFile> files_of(std::string_view text) {
  const auto exists = [](std::string_view path) {
    return as_bad_request("--text", [&] { return is_there(std::string(path)); });
  };
  if (exists(text)) return {{std::string(text), {}}};
  std::vector<TextFile> files;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    TextFile& file = files.emplace_back(TextFile{std::string(one), {}});
    const std::size_t colon = one.rfind(':');
    double weight = 0;
    if (colon != std::string_view::npos && !exists(one)) {
      const auto [end, error] = std::from_chars(one.data() + colon + 1, one.data() + one.size(), weight);
      if (error == std::errc() && end == one.data() + one.size()) file = {std::string(one.substr(0, colon)), weight};
    }
    if (comma == text.size()) return files;
    text.remove_prefix(comma + 1);
  }
}

GPTData of_token_files(const GPTOptions& o, const std::vector<TextFile>& files,
                       std::unique_ptr<data::Tokenizer> tokenizer, std::optional<uint64_t> expected) {
  if (!tokenizer) {
    if (o.tokenizer == "char")
      bad_request("--tokenizer",
                  "expected the folder of the vocabulary with which the token file was written, got char");
    tokenizer = tokenizer_for(o, {});
  }
  require_room(o, *tokenizer);
  const bool mixed = files.size() > 1 || files[0].weight;
  if (mixed && o.window_order == "pytorch")
    bad_request("--window-order", "expected permutation for several texts, or weights, got pytorch");
  std::vector<data::Tokens> texts;
  std::vector<uint64_t> sums;
  for (const TextFile& file : files) {
    texts.push_back(data::Tokens::open(file.path));
    sums.push_back(texts.back().checksum());
  }
  const uint64_t sum = mixed ? checksum(std::as_bytes(std::span(sums))) : sums[0];
  if (expected) require_text(o, sum, *expected);
  for (const data::Tokens& text : texts) text.verify();  // once per run: a pass over the file
  PartOfTexts first{.training = true, .ahead = kBatchesAhead}, rest;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const data::Tokens& all = texts[i];
    if (all.largest() >= tokenizer->size()) {
      bad_request("--text", "expected tokens below {} (the vocabulary size) in {}, got {}", tokenizer->size(),
                  files[i].path, all.largest());
    }
    const auto cut = static_cast<int64_t>(o.train_ratio * static_cast<double>(all.size()));
    first.tokens.push_back(all.slice(0, cut));
    rest.tokens.push_back(all.slice(cut, all.size()));
    if (!mixed) continue;
    first.weights.push_back(files[i].weight.value_or(1));
    rest.weights.push_back(1);
  }
  std::vector<int64_t> start(std::min(static_cast<std::size_t>(texts[0].size()), kStart));
  texts[0].copy(0, static_cast<int64_t>(start.size()), start.data());
  if (!o.start_context.empty()) start = start_of(o, *tokenizer, {});
  return {std::move(tokenizer), loader(o, std::move(first)), loader(o, std::move(rest)), std::move(start), sum};
}

}  // namespace

void require_text(const GPTOptions& o, uint64_t found, uint64_t expected) {
  require(found == expected, "train --resume", "{} is not the text that the run was started with",
          o.text.empty() ? "what this version generates" : o.text);
}

std::string made_text() {
  constexpr uint32_t kMost = 20;
  std::vector<std::pair<uint32_t, uint32_t>> sums;
  for (uint32_t a = 0; a <= kMost; ++a) {
    for (uint32_t b = 0; a + b <= kMost; ++b) sums.emplace_back(a, b);
  }
  std::string text;
  uint32_t draw = 1;  // a separate small generator, so that the run's stream is not affected
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = sums.size(); i > 1; --i) {
      draw = draw * 1664525u + 1013904223u;
      std::swap(sums[i - 1], sums[(draw >> 16) % i]);
    }
    for (const auto& [a, b] : sums) {
      text += fmt::format("{} plus {} is {}.\n", kNumbers[a], kNumbers[b], kNumbers[a + b]);
    }
  }
  return text;
}

GPTData load_gpt_data(const GPTOptions& o, std::unique_ptr<data::Tokenizer> tokenizer,
                      std::optional<uint64_t> expected) {
  if (!o.text.empty()) {
    const std::vector<TextFile> files = files_of(o.text);
    const bool several = files.size() > 1 || files[0].weight;
    for (const TextFile& file : files) {
      require_file("--text", file.path);
      require(
          !several || data::is_safetensors_file(file.path), "--text",
          "expected token files for several files, or weights, got the text {} (tapegrad tokenize --save writes them)",
          file.path);
    }
    if (several || data::is_safetensors_file(o.text)) return of_token_files(o, files, std::move(tokenizer), expected);
  }
  const std::string text = o.text.empty() ? made_text() : train::read_file(o.text);
  if (!o.text.empty()) as_bad_request("--text", [&] { require_plain_text(o.text, text); });
  const uint64_t sum = checksum(bytes_of(text));
  if (expected) require_text(o, sum, *expected);
  if (!tokenizer) tokenizer = tokenizer_for(o, text);
  require_room(o, *tokenizer);
  const auto [first, rest] = data::split_characters(text, o.train_ratio);
  data::TextLoader train = loader(o, {.training = true, .tokens = {data::Tokens(tokenizer->encode(first))}});
  data::TextLoader validation = loader(o, {.training = false, .tokens = {data::Tokens(tokenizer->encode(rest))}});
  std::vector<int64_t> start = start_of(o, *tokenizer, text);
  return {std::move(tokenizer), std::move(train), std::move(validation), std::move(start), sum};
}

}  // namespace tapegrad::tasks
