// The verb `attention gpt`.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/tasks/attention/report.h>
#include <tapegrad/tasks/gpt/attention.h>
#include <tapegrad/tasks/gpt/prompt.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/data/utf8.h>

namespace tapegrad::tasks {
namespace {

// The text of a token as a label of at most twelve characters; spaces and control characters are shown.
std::string label_of(int64_t id, const data::Tokenizer* tokenizer) {
  if (tokenizer == nullptr || id >= tokenizer->size()) return std::to_string(id);
  constexpr std::size_t kMost = 12;
  std::string out;
  std::size_t characters = 0;
  for (const char c : data::valid_utf8(tokenizer->decode({&id, 1}))) {
    const bool starts = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // a character of UTF-8
    if (starts && ++characters > kMost) break;
    if (c == ' ' || c == '\n') {
      out += c == ' ' ? "\u00b7" : "\u21b5";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += {'\xe2', '\x90', static_cast<char>(0x80 + c)};  // its picture, U+2400 and following ones
    } else {
      out += c;
    }
  }
  return out;
}

std::string group_of(int64_t layer) { return fmt::format("layer {}", layer); }

}  // namespace

std::vector<HeadMap> attend(const nn::Decoder& model, const std::vector<int64_t>& ids, const data::Tokenizer* tokenizer,
                            Tensor* logits) {
  nn::AttentionMaps maps;
  const Tensor out = model(tensor(ids, {1, static_cast<int64_t>(ids.size())}), nullptr, &maps);
  if (logits != nullptr) *logits = out[0];
  HeadMap like;
  like.row_axis = translatable("token (query)");
  like.column_axis = translatable("position of the key");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    like.row_tokens.push_back(label_of(ids[i], tokenizer));
    like.column_tokens.push_back(std::to_string(i));
  }
  std::vector<HeadMap> heads;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    like.layer = static_cast<int64_t>(i);
    like.group = group_of(like.layer);
    like.heading = said("layer {}", like.layer);
    for (HeadMap& head : heads_of(maps, i, like)) heads.push_back(std::move(head));
  }
  return heads;
}

Decoding decoding_of(const std::vector<HeadMap>& heads, const Tensor& logits, const std::vector<int64_t>& ids,
                     int64_t given, const data::Tokenizer* tokenizer) {
  const int64_t rows = heads.at(0).rows();
  std::vector<int64_t> next(ids.begin() + 1, ids.end());
  next.push_back(argmax(logits[-1]).item<int64_t>());
  return {.group = "",
          .read = {heads[0].row_tokens[0]},
          .steps = decoding_steps(narrow(logits, 0, 0, rows), next, given - 1,
                                  [tokenizer](int64_t id) { return label_of(id, tokenizer); })};
}

int attention_gpt(const GPTAttentionRequest& request) {
  request.AttentionOutput::check();
  require(request.prompt.empty() || request.prompt_ids.empty(), "--prompt-ids", "expected no --prompt, got both");
  const TrainedGPT trained =
      load_gpt(request.model, {.adapter = request.adapter, .generates = request.max_new_tokens > 0});
  std::vector<int64_t> ids = prompt_ids_of(request.prompt, request.prompt_ids, trained);
  std::size_t given = ids.size();
  if (request.max_new_tokens > 0) {
    nn::DecoderNext next(*trained.model);
    nn::GenerateOptions options{.max_new_tokens = request.max_new_tokens};
    options.stop = [&](std::span<const int64_t> row) { return trained.is_end(row.back()); };
    const Tensor found = nn::generate(next, tensor(ids, {1, static_cast<int64_t>(ids.size())}), options).tokens;
    for (const int64_t id : found.to_vector<int64_t>()) ids.push_back(id);
  }
  const auto most = static_cast<std::size_t>(trained.model->longest_input());
  if (ids.size() > most) {
    given -= std::min(given, ids.size() - most);
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(most));
  }
  Tensor logits;
  const std::vector<HeadMap> heads = attend(*trained.model, ids, trained.tokenizer.get(), &logits);
  bool cut = false;
  const std::vector<HeadMap> drawn = drawable(heads, cut);
  const std::string text =
      trained.tokenizer ? data::valid_utf8(trained.text(ids)) : fmt::format("{}", fmt::join(ids, " "));
  const fs::path model = request.model.empty() ? last_run(kGPTTask) : fs::path(request.model);
  const std::string maps =
      fmt::format("<h2>{}</h2>\n<p>{}{}</p>\n<div class=\"card\">{}</div>\n{}", said("Attention"),
                  said("Each row has the attention weights of one token, which add up to 1."),
                  cut ? said(" The first {} of {} tokens are shown.", drawn[0].rows(), ids.size()) : std::string(),
                  drawing::escape_markup(text), heads_html(drawn));
  return report_attention(
      {.task = kGPTTask,
       .model = model.string(),
       .json = {{"task", kGPTTask}, {"model", model.string()}, {"tokens", ids}},
       .heads = heads,
       .drawn = drawn,
       .decoding = decoding_of(drawn, logits, ids, static_cast<int64_t>(given), trained.tokenizer.get()),
       .title = "tapegrad: attention of gpt",
       .heading = said("GPT: attention"),
       .maps = maps,
       .example = said("Text: {}\n", text),
       .shaded = group_of(static_cast<int64_t>(trained.model->blocks()) - 1),
       .about = said("The last layer: a row is a token, a column a position\n")},
      request, kind_of_file(model) == FileKind::folder ? model : model.parent_path());
}

}  // namespace tapegrad::tasks
