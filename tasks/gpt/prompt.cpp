// Prompts: texts or token ids.
#include <fmt/format.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/settings/bad_request.h>

#include <charconv>

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
  if (ids.empty() && trained.tokenizer->end_of_text()) ids.push_back(*trained.tokenizer->end_of_text());
  return ids;
}

}  // namespace

std::vector<int64_t> prompt_ids_of(const std::string& text, const std::string& ids, const TrainedGPT& trained) {
  const nn::GPTConfig& config = trained.model.config;
  const std::vector<int64_t> prompt = ids.empty() ? encoded(text, trained) : parse_ids(ids, config.vocab_size);
  const std::string_view asked = ids.empty() ? "--prompt" : "--prompt-ids";
  if (prompt.empty()) bad_request(asked, "expected at least one token, got none");
  if (static_cast<int64_t>(prompt.size()) > config.longest_input()) {
    bad_request(asked, fmt::format("expected at most {} tokens, the model's context, got {}", config.longest_input(),
                                   prompt.size()));
  }
  return prompt;
}

}  // namespace tapegrad::tasks
