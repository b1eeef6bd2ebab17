// Reads or makes the text that a GPT is trained on: split by characters, encoded, cut into windows.
#include <fmt/format.h>
#include <tapegrad/autograd/io/checksum.h>
#include <tapegrad/tasks/data/characters.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/gpt/data.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/tasks/train/files.h>

#include <algorithm>

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
      bad_request("--tokenizer",
                  "the preset book reads byte pairs: a folder with vocab.bpe and encoder.json is needed");
    return data::make_character_tokenizer(text);
  }
  return as_bad_request("--tokenizer", [&] { return data::load_tokenizer(o.tokenizer); });
}

data::TextLoader loader(const GPTOptions& o, data::Tokens tokens, bool training) {
  const int64_t count = tokens.size();
  if (count <= o.context_length) {
    bad_request("--text",
                fmt::format("the {} part has {} tokens, a window of --context-length {} takes {} (a longer text, "
                            "a shorter context, or another --train-ratio)",
                            training ? "training" : "validation", count, o.context_length, o.context_length + 1));
  }
  data::TextLoader made(data::Windows(std::move(tokens), o.context_length, o.stride),
                        {.batch_size = o.batch_size, .shuffle = training, .drop_last = training});
  if (made.size() == 0) {
    bad_request("--batch-size", fmt::format("a batch of {} windows does not fit: the training part has {}",
                                            o.batch_size, made.dataset().size()));
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

uint64_t checksum_of(const data::Tokens& tokens) {
  uint64_t sum = 0;
  std::vector<int64_t> some;
  for (int64_t at = 0; at < tokens.size(); at += static_cast<int64_t>(some.size())) {
    some.resize(static_cast<std::size_t>(std::min<int64_t>(tokens.size() - at, 1 << 16)));
    tokens.copy(at, static_cast<int64_t>(some.size()), some.data());
    sum = checksum(std::as_bytes(std::span(some)), sum);
  }
  return sum;
}

GPTData of_token_file(const GPTOptions& o, std::unique_ptr<data::Tokenizer> tokenizer,
                      std::optional<uint64_t> expected) {
  if (!tokenizer) {
    if (o.tokenizer == "char")
      bad_request("--tokenizer", "a file of tokens needs the folder of the vocabulary it was made with");
    tokenizer = tokenizer_for(o, {});
  }
  const data::Tokens all = data::Tokens::open(o.text);
  const uint64_t sum = checksum_of(all);
  if (expected) require_text(o, sum, *expected);
  if (all.largest() >= tokenizer->size()) {
    bad_request("--text", fmt::format("{} holds the token {}, the vocabulary ends before {}", o.text, all.largest(),
                                      tokenizer->size()));
  }
  const auto cut = static_cast<int64_t>(o.train_ratio * static_cast<double>(all.size()));
  std::vector<int64_t> start(std::min(static_cast<std::size_t>(all.size()), kStart));
  all.copy(0, static_cast<int64_t>(start.size()), start.data());
  if (!o.start_context.empty()) start = start_of(o, *tokenizer, {});
  return {std::move(tokenizer), loader(o, all.slice(0, cut), true), loader(o, all.slice(cut, all.size()), false),
          std::move(start), sum};
}

}  // namespace

void require_text(const GPTOptions& o, uint64_t found, uint64_t expected) {
  require(found == expected, "train --resume",
          fmt::format("{} is not the text that the run was started with",
                      o.text.empty() ? "what this version generates" : o.text));
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
    require_file("--text", o.text);
    if (data::is_safetensors_file(o.text)) return of_token_file(o, std::move(tokenizer), expected);
  }
  const std::string text = o.text.empty() ? made_text() : train::read_file(o.text);
  const uint64_t sum = checksum(bytes_of(text));
  if (expected) require_text(o, sum, *expected);
  if (!tokenizer) tokenizer = tokenizer_for(o, text);
  const auto [first, rest] = data::split_characters(text, o.train_ratio);
  data::TextLoader train = loader(o, data::Tokens(tokenizer->encode(first)), true);
  data::TextLoader validation = loader(o, data::Tokens(tokenizer->encode(rest)), false);
  std::vector<int64_t> start = start_of(o, *tokenizer, text);
  return {std::move(tokenizer), std::move(train), std::move(validation), std::move(start), sum};
}

}  // namespace tapegrad::tasks
