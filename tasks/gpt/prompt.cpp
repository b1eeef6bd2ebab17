// Prompts: texts or token ids.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/tasks/gpt/prompt.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/train/data/utf8.h>

#include <charconv>
#include <sstream>

namespace tapegrad::tasks {
namespace {

// "15496,11" -> 15496, 11. Spaces also separate ids.
std::vector<int64_t> parse_ids(const std::string& text, int64_t vocab_size) {
  std::vector<int64_t> ids;
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    while (at < end && (*at == ' ' || *at == ',')) ++at;
    if (at == end) return ids;
    int64_t id = 0;
    const auto [stop, error] = std::from_chars(at, end, id);
    const bool whole = error == std::errc() && (stop == end || *stop == ' ' || *stop == ',');
    if (!whole)
      bad_request("--prompt-ids",
                  fmt::format("expected token ids such as 15496,11, got \"{}\"", data::valid_utf8(text)));
    if (id < 0 || id >= vocab_size)
      bad_request("--prompt-ids", fmt::format("expected token ids from 0 to {}, got {}", vocab_size - 1, id));
    ids.push_back(id);
    at = stop;
  }
}

std::vector<int64_t> encoded(const std::string& text, const TrainedGPT& trained) {
  if (!trained.tokenizer) bad_request("--prompt", "the model's folder has no tokenizer (use --prompt-ids and --ids)");
  std::vector<int64_t> ids = trained.tokenizer->encode(text);
  if (const auto begin = trained.tokenizer->begin_of_text()) {
    ids.insert(ids.begin(), *begin);
  } else if (ids.empty() && trained.tokenizer->end_of_text()) {
    ids.push_back(*trained.tokenizer->end_of_text());
  }
  return ids;
}

void check_length(std::string_view asked, const std::vector<int64_t>& prompt, const nn::Decoder& model) {
  if (prompt.empty()) bad_request(asked, "expected at least one token, got none");
  if (static_cast<int64_t>(prompt.size()) > model.longest_input()) {
    bad_request(asked, fmt::format("expected at most {} tokens, the model's context, got {}", model.longest_input(),
                                   prompt.size()));
  }
}

}  // namespace

std::vector<std::vector<int64_t>> prompts_of_file(const std::string& file, const TrainedGPT& trained) {
  constexpr std::string_view kAsked = "--prompt-file";
  require_file(kAsked, file);
  require(trained.tokenizer != nullptr, kAsked, "the model's folder has no tokenizer (use --prompt-ids and --ids)");
  std::string all = train::read_file(file);
  as_bad_request(kAsked, [&] { require_plain_text(file, all); });
  if (constexpr std::string_view kMark = "\xEF\xBB\xBF"; all.starts_with(kMark)) all.erase(0, kMark.size());
  std::istringstream text(std::move(all));
  std::vector<std::vector<int64_t>> prompts;
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();  // of Windows
    if (line.empty()) continue;
    prompts.push_back(encoded(line, trained));
    check_length(kAsked, prompts.back(), *trained.model);
  }
  require(!prompts.empty(), kAsked, fmt::format("expected one prompt per line, got none in {}", file));
  return prompts;
}

std::vector<int64_t> prompt_ids_of(const std::string& text, const std::string& ids, const TrainedGPT& trained) {
  const std::vector<int64_t> prompt =
      ids.empty() ? encoded(text, trained) : parse_ids(ids, trained.model->vocab_size());
  check_length(ids.empty() ? "--prompt" : "--prompt-ids", prompt, *trained.model);
  return prompt;
}

}  // namespace tapegrad::tasks
