// The verbs `generate gpt` and `test gpt`.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/data/windows.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/settings/output.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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

std::vector<int64_t> prompt_of(const GPTGenerateRequest& request, const TrainedGPT& trained) {
  if (!request.prompt_ids.empty()) return parse_ids(request.prompt_ids, trained.model.config.vocab_size);
  if (!trained.tokenizer) bad_request("--prompt", "the model's folder has no tokenizer (use --prompt-ids and --ids)");
  std::vector<int64_t> ids = trained.tokenizer->encode(request.prompt);
  if (ids.empty() && trained.tokenizer->end_of_text()) ids.push_back(*trained.tokenizer->end_of_text());
  return ids;
}

void check(const GPTGenerateRequest& r) {
  ReachSettings reach = r.reach;
  check_limits(fields_of(reach));
  check_limits("--max-new-tokens", static_cast<double>(r.max_new_tokens), {.least = 1});
  check_limits("--temperature", r.temperature, kNotNegative);
  check_limits("--top-k", static_cast<double>(r.top_k), kNotNegative);
  check_limits("--top-p", r.top_p, {.least = 0, .most = 1, .open_below = true});
  check_limits("--beams", static_cast<double>(r.beams), kBeams);
  require(r.beams == 1 || r.temperature == 0, "--beams", "must be 1 with a --temperature above 0");
}

}  // namespace

int generate_gpt(const GPTGenerateRequest& request) {
  check(request);
  const bool needs_tokenizer = request.prompt_ids.empty() || !request.ids;
  const TrainedGPT trained = load_gpt(request.model, request.dtype, needs_tokenizer, request.reach, request.given);
  const std::vector<int64_t> prompt = prompt_of(request, trained);
  const std::string_view asked = request.prompt_ids.empty() ? "--prompt" : "--prompt-ids";
  if (prompt.empty()) bad_request(asked, "expected at least one token, got none");
  if (static_cast<int64_t>(prompt.size()) > trained.model.config.longest_input()) {
    bad_request(asked, fmt::format("expected at most {} tokens, the model's context, got {}",
                                   trained.model.config.longest_input(), prompt.size()));
  }
  if (!request.ids && !trained.tokenizer)
    bad_request("--model", "its folder has no tokenizer (--ids prints token ids)");
  manual_seed(request.seed);

  std::optional<data::TextStream> stream;
  if (!request.ids) stream.emplace(*trained.tokenizer);
  bool first = true;
  const auto show = [&](int64_t id) {
    if (!stream) return print_now(fmt::format("{}{}", std::exchange(first, false) ? "" : " ", id));
    if (id < trained.tokenizer->size()) print_now(stream->push(id));  // vocabularies are padded to round numbers
  };
  for (const int64_t id : prompt) show(id);
  const bool streams = request.beams == 1;  // tokens are printed as they are generated
  nn::GenerateOptions options{.max_new_tokens = request.max_new_tokens,
                              .temperature = request.temperature,
                              .top_k = request.top_k,
                              .top_p = request.top_p,
                              .beams = request.beams};
  options.end_token = trained.end_of_text;
  if (streams) {
    options.stop = [&](std::span<const int64_t> row) {
      show(row.back());
      return false;
    };
  }
  nn::GPTNext next(trained.model);
  const nn::Generated found = nn::generate(next, tensor(prompt, {1, static_cast<int64_t>(prompt.size())}), options);
  for (const int64_t id : found.tokens.to_vector<int64_t>()) {
    const bool end = id == options.end_token;
    if (end ? request.ids : !streams) show(id);
  }
  print_now(stream ? stream->finish() + "\n" : "\n");
  return 0;
}

int test_gpt(const GPTTestRequest& request) {
  if (request.text.empty()) bad_request("--text", "expected a file, got none");
  require_file("--text", request.text);
  const TrainedGPT trained = load_gpt(request.model, request.dtype);
  const int64_t length = trained.model.config.context_length;
  if (!trained.tokenizer && !data::is_safetensors_file(request.text))
    bad_request("--model", "its folder has no tokenizer (give --text a token file)");
  const data::Tokens tokens = data::is_safetensors_file(request.text)
                                  ? data::Tokens::open(request.text)
                                  : data::Tokens(trained.tokenizer->encode(train::read_file(request.text)));
  if (tokens.size() <= length) {
    bad_request("--text", fmt::format("expected at least {} tokens, one window of the model's context, got {} in {}",
                                      length + 1, tokens.size(), request.text));
  }
  if (tokens.largest() >= trained.model.config.vocab_size)
    bad_request("--text", fmt::format("expected token ids from 0 to {}, got {}", trained.model.config.vocab_size - 1,
                                      tokens.largest()));
  const data::TextLoader loader(data::Windows(tokens, length, length), {.batch_size = 1});
  Generator unused;
  data::TextLoader::Iteration iteration = loader.begin(unused);
  data::TextBatch batch;
  double sum = 0;
  int64_t count = 0;
  const Clock::time_point start = Clock::now();
  while (iteration.next(batch)) {
    sum +=
        cross_entropy(trained.model(batch.inputs), batch.targets).item() * static_cast<double>(batch.targets.numel());
    count += batch.targets.numel();
  }
  const double loss = sum / static_cast<double>(count), rate = static_cast<double>(count) / seconds_since(start);
  if (!std::isfinite(loss)) {
    fail("test",
         fmt::format("the loss over {} tokens is not finite (the training diverged, or the weights are damaged)",
                     count));
  }
  if (request.json) {
    const nlohmann::ordered_json json{
        {"loss", loss}, {"perplexity", std::exp(loss)}, {"tokens", count}, {"tokens_per_s", rate}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("loss {:.5f}, perplexity {:.6g} over {} tokens, {:.0f} tokens/s\n", loss, std::exp(loss), count, rate);
  }
  return 0;
}

}  // namespace tapegrad::tasks
