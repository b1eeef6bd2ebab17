// The verbs `generate gpt` and `test gpt`, and the options of all verbs of a GPT.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/weight_format.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/tasks/gpt/loading.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train/data/tokenizer.h>
#include <tapegrad/train/data/windows.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kLongestWindow = 2048;  // of a test

void check(const GPTGenerateRequest& r) {
  require(r.beams == 1 || r.temperature == 0, "--beams", "expected 1 with a --temperature above 0, got {}", r.beams);
  r.BeamOptions::check();
  require(r.prompt.empty() || r.prompt_ids.empty(), "--prompt-ids", "expected no --prompt, got both");
  require(r.prompt_file.empty() || (r.prompt.empty() && r.prompt_ids.empty()), "--prompt-file",
          "expected no --prompt{}, got both", r.prompt.empty() ? "-ids" : "");
  require(r.num_samples == 1 || r.temperature > 0, "--num-samples",
          "expected a --temperature above 0, got 0 (without sampling, all continuations are equal)");
}

// Prints token after token, as ids or as text; a line for every sequence of ids, an empty line between texts.
class Shown {
 public:
  Shown(const GPTGenerateRequest& request, const TrainedGPT& trained, bool several)
      : trained_(trained),
        tokenizer_(request.ids ? nullptr : trained.tokenizer.get()),
        several_(several),
        streams_(request.beams == 1 && !several) {
    begin();
  }
  // Without the token that begins texts, unless ids are shown.
  void prompt(const std::vector<int64_t>& ids) {
    const std::optional<int64_t> begin = trained_.tokenizer ? trained_.tokenizer->begin_of_text() : std::nullopt;
    for (const int64_t id : ids)
      if (!stream_ || id != begin) token(id);
  }
  // A token that was generated just now, but for those that end a text.
  void next(int64_t id) {
    if (streams_ && !trained_.is_end(id)) token(id);
  }
  // The first `length` generated tokens, but for those that next() has shown; then the end of the sequence.
  void sequence(const Tensor& tokens, int64_t length) {
    for (const int64_t id : narrow(tokens, 0, 0, length).to_vector<int64_t>())
      if (trained_.is_end(id) ? !stream_ : !streams_) token(id);
    print_generated(stream_ ? stream_->finish() + (several_ ? "\n\n" : "\n") : "\n");
    begin();
  }

 private:
  void begin() {
    first_ = true;
    if (tokenizer_ != nullptr) stream_.emplace(*tokenizer_);
  }
  void token(int64_t id) {
    if (!stream_) return print_now(fmt::format("{}{}", std::exchange(first_, false) ? "" : " ", id));
    if (id < tokenizer_->size()) print_generated(stream_->push(id));  // vocabularies are padded to round numbers
  }

  const TrainedGPT& trained_;
  const data::Tokenizer* tokenizer_;  // nullptr: ids
  bool several_;
  bool streams_;  // tokens are printed as they come
  bool first_ = true;
  std::optional<data::TextStream> stream_;
};

// The prompts, each as many times in a row as continuations are wanted.
std::vector<std::vector<int64_t>> prompts_of(const GPTGenerateRequest& request, const TrainedGPT& trained) {
  const std::vector<std::vector<int64_t>> prompts =
      request.prompt_file.empty() ? std::vector(1, prompt_ids_of(request.prompt, request.prompt_ids, trained))
                                  : prompts_of_file(request.prompt_file, trained);
  std::vector<std::vector<int64_t>> all;
  for (const std::vector<int64_t>& prompt : prompts)
    all.insert(all.end(), static_cast<std::size_t>(request.num_samples), prompt);
  return all;
}

TrainedGPT load(const GPTGenerateRequest& request) {
  const bool needs_tokenizer =
      request.prompt_ids.empty() || !request.prompt_file.empty() || !request.ids || !request.stop.empty();
  return load_gpt(request.model, {.dtype = request.dtype,
                                  .with_tokenizer = needs_tokenizer,
                                  .reach = request.reach,
                                  .given = request.given,
                                  .adapter = request.adapter,
                                  .generates = true});
}

// --- options ---

void add_adapter(Fields& f, std::string& adapter) {
  Options{f}("adapter", "folder of an adapter (PEFT's LoRA) for the model", adapter).type("DIR");
}

void add_dtype(Fields& f, std::string& dtype) {
  static const std::string help =  // "...; bfloat16: half; int8: a quarter"
      help_of_rows("type of the model's matrices, and the memory of one next to float32", weight_formats().subspan(1),
                   [](const WeightFormat* format) { return std::pair(format->name, format->memory); });
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const WeightFormat* format : weight_formats()) all.push_back(format->name);
    return all;
  }();
  Options{f}("dtype", help, dtype).choices(names);
}

}  // namespace

int generate_gpt(const GPTGenerateRequest& request) {
  check(request);
  const TrainedGPT trained = load(request);
  const std::vector<std::vector<int64_t>> prompts = prompts_of(request, trained);
  if (!request.ids && !trained.tokenizer)
    bad_request("--model", "its folder has no tokenizer (--ids prints token ids)");
  require(request.stop.empty() || trained.tokenizer != nullptr, "--stop", "the model's folder has no tokenizer");
  manual_seed(request.seed);

  nn::GenerateOptions options{.max_new_tokens = request.max_new_tokens,
                              .temperature = request.temperature,
                              .top_k = request.top_k,
                              .top_p = request.top_p,
                              .beams = request.beams,
                              .length_penalty = request.length_penalty};
  if (!trained.ends.empty()) options.end_token = trained.ends[0];
  const bool several = prompts.size() > 1;
  Shown shown(request, trained, several);
  options.stop = [&](std::span<const int64_t> row) {
    shown.next(row.back());
    return trained.is_end(row.back()) ||
           (!request.stop.empty() && trained.text(row).find(request.stop) != std::string::npos);
  };
  if (several && request.beams == 1) {
    const nn::Generated found = nn::generate_each(*trained.model, prompts, options, request.seed);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      shown.prompt(prompts[i]);
      shown.sequence(found.tokens[static_cast<int64_t>(i)], found.lengths[i]);
    }
    return 0;
  }
  nn::DecoderNext next(*trained.model);
  for (const std::vector<int64_t>& prompt : prompts) {
    shown.prompt(prompt);
    const nn::Generated found = nn::generate(next, tensor(prompt, {1, static_cast<int64_t>(prompt.size())}), options);
    shown.sequence(found.tokens[0], found.lengths[0]);
  }
  return 0;
}

namespace {

data::Tokens tokens_of(const std::string& file, const data::Tokenizer* tokenizer) {
  if (data::is_safetensors_file(file)) return data::Tokens::open(file);
  require(tokenizer != nullptr, "--model", "its folder has no tokenizer (give --text a token file)");
  const std::string text = train::read_file(file);
  as_bad_request("--text", [&] { require_plain_text(file, text); });
  return data::Tokens(tokenizer->encode(text));
}

}  // namespace

int test_gpt(const GPTTestRequest& request) {
  if (request.text.empty()) bad_request("--text", "expected a file, got none");
  require_file("--text", request.text);
  const TrainedGPT trained = load_gpt(request.model, {.dtype = request.dtype, .adapter = request.adapter});
  const int64_t length = std::min(trained.model->context_length(), kLongestWindow);
  data::Tokens tokens = tokens_of(request.text, trained.tokenizer.get());
  if (request.max_tokens > 0 && request.max_tokens < tokens.size()) {
    tokens = tokens.slice(0, request.max_tokens);
  } else {
    tokens.verify();
  }
  if (tokens.size() <= length) {
    bad_request("--text", "expected at least {} tokens, one window of the model's context, got {} in {}", length + 1,
                tokens.size(), request.text);
  }
  if (tokens.largest() >= trained.model->vocab_size())
    bad_request("--text", "expected token ids from 0 to {}, got {}", trained.model->vocab_size() - 1, tokens.largest());
  double sum = 0;
  int64_t count = 0;
  const Clock::time_point start = Clock::now();
  while (const int64_t left = std::min(length, tokens.size() - 1 - count)) {  // the last window may be shorter
    const data::TextBatch batch =
        data::Windows(tokens.slice(count, count + left + 1), left, left).batch(std::vector<int64_t>{0});
    sum += cross_entropy((*trained.model)(batch.inputs), batch.targets).item() * static_cast<double>(left);
    count += left;
  }
  const std::chrono::duration<double> spent = Clock::now() - start;
  const double loss = sum / static_cast<double>(count), rate = static_cast<double>(count) / spent.count();
  if (!std::isfinite(loss)) {
    fail("test", "the loss over {} tokens is not finite (the training diverged, or the weights are damaged)", count);
  }
  return report_test(
      {.json = {{"loss", loss}, {"perplexity", fixed::exp(loss)}, {"tokens", count}, {"tokens_per_s", rate}},
       .text = fmt::format("loss {:.5f}, perplexity {:.6g} over {} tokens, {:.0f} tokens/s\n", loss, fixed::exp(loss),
                           count, rate)},
      "test gpt", request.json);
}

// --- options ---

void GPTModelRequest::list(Fields& f) {
  Options{f}("model", "model.safetensors of a run, its folder, or a Hugging Face folder with GPT-2 or Llama", model)
      .type("FILE_OR_DIR")
      .otherwise("the last run's");
  add_adapter(f, adapter);
}

void GPTGenerateRequest::list(Fields& f) {
  Options add(f);
  GPTModelRequest::list(f);
  add("prompt", "text to continue", prompt).type("TEXT");
  add("prompt_ids", "token ids to continue: 15496,11", prompt_ids).type("IDS");
  add("prompt_file", "text file with one prompt per line; all of them are continued together", prompt_file)
      .type("FILE");
  add("ids", "print token ids instead of text", ids);
  SamplingOptions::list(f);
  BeamOptions::list(f);
  add("num_samples", "number of continuations to sample for each prompt; more than one needs a --temperature above 0",
      num_samples, {.least = 1, .most = 1000});
  add("stop", "stop after the token that completes this text", stop).type("TEXT");
  add("seed", "random seed of the samples", seed);
  add_changes(f, asked());
  add_dtype(f, dtype);
}

void GPTTestRequest::list(Fields& f) {
  Options add(f);
  GPTModelRequest::list(f);
  add("text", "text or token file to test on", text).type("FILE");
  add("max_tokens", "test on the first N tokens only", max_tokens, kNotNegative).special("0: all");
  add_dtype(f, dtype);
  add_json(f, json);
}

ChatRequest::ChatRequest()
    : GPTModelRequest{}, SamplingOptions{.max_new_tokens = 512, .temperature = 0.7, .top_p = 0.95} {}

void ChatRequest::list(Fields& f) {
  Options add(f);
  add("model", "a run's folder or model, or a Hugging Face folder", model)
      .type("RUN_OR_FOLDER")
      .otherwise("the last run's")
      .positional();
  add_adapter(f, adapter);
  add("system", "system message, which precedes the conversation", system).type("TEXT");
  add("template",
      "form of the conversation: plain, chatml, llama2, llama3, zephyr, or a text with {message} and "
      "{answer}",
      chat_template)
      .type("NAME_OR_TEXT")
      .otherwise("the template of the model's folder, or plain");
  SamplingOptions::list(f);
  f["max_new_tokens"].help = "most tokens of an answer";
  add("seed", "random seed of the answers", seed);
  add_dtype(f, dtype);
}

}  // namespace tapegrad::tasks
