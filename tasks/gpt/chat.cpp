// The verb `chat`: a conversation with a trained decoder at the terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/tasks/gpt/loading.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/interrupts.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

namespace tapegrad::tasks {
namespace {

// --- the form of a conversation ---

// A conversation is system(text), and then a turn for each message: message(text), the model's answer, and `close`.
struct ChatTemplate {
  std::string name;
  std::string system;   // with "{system}"; empty: the model takes none
  std::string message;  // with "{message}"; the answer follows
  std::string close;    // what ends an answer; the answer stops there
};

constexpr std::string_view kChatTemplates[] = {"plain", "chatml", "llama2", "llama3", "zephyr"};

constexpr std::string_view kTemplate = "--template", kMessage = "{message}", kAnswer = "{answer}";

struct KnownTemplate {
  std::string_view mark;  // what a folder's Jinja template has, and no other one before it in this list
  ChatTemplate form;
};
const KnownTemplate kKnown[] = {
    {"<|start_header_id|>",
     {.name = "llama3",
      .system = "<|start_header_id|>system<|end_header_id|>\n\n{system}<|eot_id|>",
      .message = "<|start_header_id|>user<|end_header_id|>\n\n{message}<|eot_id|><|start_header_id|>assistant"
                 "<|end_header_id|>\n\n",
      .close = "<|eot_id|>"}},
    {"<|im_start|>",
     {.name = "chatml",
      .system = "<|im_start|>system\n{system}<|im_end|>\n",
      .message = "<|im_start|>user\n{message}<|im_end|>\n<|im_start|>assistant\n",
      .close = "<|im_end|>\n"}},
    {"<|user|>",
     {.name = "zephyr",
      .system = "<|system|>\n{system}</s>\n",
      .message = "<|user|>\n{message}</s>\n<|assistant|>\n",
      .close = "</s>\n"}},
    {"[INST]",
     {.name = "llama2",
      .system = "",  // it is a part of the first message there
      .message = "[INST] {message} [/INST]",
      .close = "</s>"}},
    {"", {.name = "plain", .system = "{system}\n", .message = "{message}\n", .close = "\n"}},
};

ChatTemplate written_out(const std::string& text) {
  std::string form;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool line = text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'n';
    form += line ? '\n' : text[i];
    if (line) ++i;
  }
  const std::size_t message = form.find(kMessage), answer = form.find(kAnswer);
  if (message == std::string::npos || answer == std::string::npos || answer < message) {
    bad_request(kTemplate, "expected one of {}, or a text with {{message}} and {{answer}} in this order, got \"{}\"",
                fmt::join(kChatTemplates, ", "), data::valid_utf8(text));
  }
  return {
      .name = "text", .system = "", .message = form.substr(0, answer), .close = form.substr(answer + kAnswer.size())};
}

// The template of a folder's chats, in Jinja: of a file of its own, or of the tokenizer's settings, which may have
// several with names. An empty text: none.
std::string template_of_folder(const fs::path& folder) {
  if (folder.empty()) return {};
  if (const fs::path own = folder / "chat_template.jinja"; is_there(own)) {
    const std::string text = train::read_file(own, json::kMaxBytes);
    require_plain_text(own.string(), text);
    return text;
  }
  const fs::path file = folder / "tokenizer_config.json";
  if (!is_there(file)) return {};
  const Json settings =
      json::parse(train::read_file(file, json::kMaxBytes), [&](const std::string& why) { fail(file.string(), why); });
  const Json& found = settings["chat_template"];
  if (found.is_null()) return {};
  if (found.is_string()) return found.get<std::string>();
  std::vector<std::string> names;
  for (const Json& one : found.is_array() ? found : Json::array()) {
    const Json &name = one["name"], &text = one["template"];
    if (name == "default" && text.is_string()) return text.get<std::string>();
    names.push_back(json::shown(name));
  }
  bad_request(kTemplate,
              "expected one of {}, because the chat_template of {} is neither a text nor a list with a template "
              "\"default\", but {}",
              fmt::join(kChatTemplates, ", "), file.string(),
              names.empty() ? json::shown(found) : fmt::format("{}", fmt::join(names, ", ")));
}

// The template of this name, or one written out: a text with {message} and {answer}, where \n is a line break. An empty
// name: the one that the model's folder asks for, or plain. BadRequest about --template for others, and for a folder
// whose template is not among the known ones.
ChatTemplate chat_template(const std::string& name, const TrainedGPT& trained) {
  const auto known = [](auto fits) { return std::ranges::find_if(kKnown, fits); };
  if (!name.empty()) {
    const auto* found = known([&](const KnownTemplate& t) { return t.form.name == name; });
    return found != std::end(kKnown) ? found->form : written_out(name);
  }
  const std::string jinja = template_of_folder(trained.folder);
  if (jinja.empty()) return std::prev(std::end(kKnown))->form;
  const auto* found =
      known([&](const KnownTemplate& t) { return !t.mark.empty() && jinja.find(t.mark) != std::string::npos; });
  if (found == std::end(kKnown)) {
    bad_request(kTemplate, "expected one of {}, because the chat template of the model's folder is none of these",
                fmt::join(kChatTemplates, ", "));
  }
  return found->form;
}

// --- the conversation ---

std::string filled(std::string form, std::string_view mark, std::string_view text) {
  if (const std::size_t at = form.find(mark); at != std::string::npos) form.replace(at, mark.size(), text);
  return form;
}

// Keeps what the model has read from one answer to the next.
class Continued final : public nn::NextTokenLogits {
 public:
  explicit Continued(const nn::Decoder& model) : next_(model) {}
  Tensor logits(const Tensor& ids) override { return next_.logits(ids); }
  void reorder(const Tensor& rows) override { next_.reorder(rows); }
  void forget() { next_.restart(); }

 private:
  nn::DecoderNext next_;
};

class Conversation {
 public:
  Conversation(const ChatRequest& request, const TrainedGPT& trained)
      : request_(request),
        model_(*trained.model),
        trained_(trained),
        tokenizer_(*trained.tokenizer),
        form_(chat_template(request.chat_template, trained)),
        context_(model_.longest_input() < std::numeric_limits<int64_t>::max() ? model_.longest_input()
                                                                              : model_.context_length()),
        next_(model_),
        draws_(request.seed) {
    require(request.system.empty() || !form_.system.empty(), "--system", "the template {} has no place for it",
            form_.name);
    if (const auto begin = tokenizer_.begin_of_text()) head_.push_back(*begin);
    if (!request.system.empty()) append(head_, filled(form_.system, "{system}", request.system));
    require(static_cast<int64_t>(head_.size()) < context_, "--system",
            "expected fewer than {} tokens, the model's context, got {}", context_, head_.size());
  }

  void reset() {
    turns_.clear();
    open_.clear();
    next_.forget();
  }

  // Prints the answer as it is generated.
  void answer(const std::string& message) {
    std::vector<int64_t> turn;
    append(turn, open_ + filled(form_.message, "{message}", message));
    if (turn.empty()) return remark("the message has no tokens");
    if (static_cast<int64_t>(head_.size() + turn.size()) >= context_) {
      return remark(
          fmt::format("the message has {} tokens, the model's context {}: it is left out", turn.size(), context_));
    }
    open_.clear();
    turns_.push_back(std::move(turn));
    make_room();
    const std::vector<int64_t> read = all();
    const int64_t room = context_ - static_cast<int64_t>(read.size());
    const std::vector<int64_t> found = generate(read, std::min(request_.max_new_tokens, room));
    turns_.back().insert(turns_.back().end(), found.begin(), found.end());
    if (!ended_ && static_cast<int64_t>(found.size()) == room) remark("the context is full: the answer ends here");
  }

 private:
  static void remark(const std::string& text) {
    std::fflush(stdout);
    print_note(fmt::format("({})\n", text));
  }

  void append(std::vector<int64_t>& ids, const std::string& text) const {
    const std::vector<int64_t> more = tokenizer_.encode(text);
    ids.insert(ids.end(), more.begin(), more.end());
  }

  std::vector<int64_t> all() const {
    std::vector<int64_t> ids = head_;
    for (const std::vector<int64_t>& turn : turns_) ids.insert(ids.end(), turn.begin(), turn.end());
    return ids;
  }

  // Forgets the first turns while there is no room for an answer. The rest is then read again.
  void make_room() {
    const int64_t answer = std::clamp<int64_t>(context_ / 4, 1, request_.max_new_tokens);
    std::size_t forgotten = 0;
    while (turns_.size() > 1 && static_cast<int64_t>(all().size()) + answer > context_) {
      turns_.erase(turns_.begin());
      ++forgotten;
    }
    if (forgotten == 0) return;
    next_.forget();
    remark(fmt::format("the context of {} tokens is full: the first {} forgotten", context_,
                       forgotten == 1 ? "message is" : fmt::format("{} messages are", forgotten)));
  }

  // The tokens of the answer, with the one that ends it.
  std::vector<int64_t> generate(const std::vector<int64_t>& read, int64_t most) {
    data::TextStream stream(tokenizer_);
    std::string held;  // may be the start of what closes the answer
    ended_ = false;
    const std::string_view close = form_.close;
    const auto show = [&](const std::string& piece) {
      held += piece;
      const std::size_t end = close.empty() ? std::string::npos : held.find(close);
      if (end != std::string::npos) {
        print_generated(held.substr(0, end));
        held.clear();
        return true;
      }
      std::size_t keep = std::min(held.size(), close.empty() ? 0 : close.size() - 1);
      while (keep > 0 && !close.starts_with(std::string_view(held).substr(held.size() - keep))) --keep;
      print_generated(held.substr(0, held.size() - keep));
      held.erase(0, held.size() - keep);
      return false;
    };
    nn::GenerateOptions options{
        .max_new_tokens = most, .temperature = request_.temperature, .top_k = request_.top_k, .top_p = request_.top_p};
    options.generator = &draws_;
    const train::CatchInterrupts interrupts;
    bool by_text = false;
    options.stop = [&](std::span<const int64_t> row) {
      const int64_t id = row.back();
      if (trained_.is_end(id)) return ended_ = true;
      if (id < tokenizer_.size() && show(stream.push(id))) return by_text = ended_ = true;
      return train::CatchInterrupts::interrupted();
    };
    const Tensor ids = tensor(read, {1, static_cast<int64_t>(read.size())});
    const nn::Generated found = nn::generate(next_, ids, options);
    if (!ended_) print_generated(held + stream.finish());
    print_now("\n");
    const std::vector<int64_t> tokens = found.tokens.to_vector<int64_t>();
    // What closes the answer in the conversation, as far as the model has not written it.
    if (!tokens.empty() && trained_.is_end(tokens.back())) {
      const std::string end(tokenizer_.bytes(tokens.back()));
      open_ = form_.close.starts_with(end) ? form_.close.substr(end.size()) : "";
    } else if (!by_text) {
      open_ = form_.close;
    }
    return tokens;
  }

  const ChatRequest& request_;
  const nn::Decoder& model_;
  const TrainedGPT& trained_;
  const data::Tokenizer& tokenizer_;
  ChatTemplate form_;
  int64_t context_;
  Continued next_;
  Generator draws_;
  std::vector<int64_t> head_;                // what every conversation begins with
  std::vector<std::vector<int64_t>> turns_;  // messages with their answers
  std::string open_;                         // what closes the last answer; the next message begins with it
  bool ended_ = false;                       // the model has ended its answer
};

// Reads a line of standard input; false at its end.
bool next_line(std::string& line) {
  constexpr std::size_t kMost = std::size_t{1} << 20;  // no context is as long
  line.clear();
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return true;
    if (line.size() == kMost) bad_request("chat", "expected lines of at most {} bytes", kMost);
    line += static_cast<char>(c);
  }
  if (std::ferror(stdin) != 0) fail("chat", "cannot read standard input: {}", std::strerror(errno));
  return !line.empty();
}

}  // namespace

int chat(const ChatRequest& request) {
  const TrainedGPT trained = load_gpt(
      request.model, {.dtype = request.dtype, .adapter = request.adapter, .option = "chat", .generates = true});
  require(trained.tokenizer != nullptr, "chat", "the model's folder has no tokenizer");
  Conversation conversation(request, trained);
  const bool at_terminal = ::isatty(STDIN_FILENO) == 1;
  if (at_terminal) {
    print_note("Ctrl-C stops an answer; Ctrl-C or Ctrl-D at the prompt ends. /reset begins a new conversation.\n");
  }
  for (std::string line;;) {
    if (at_terminal) print_now("> ");
    if (!next_line(line)) break;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (line == "/reset") {
      conversation.reset();
    } else {
      conversation.answer(line);
    }
  }
  if (at_terminal) print_now("\n");
  return 0;
}

}  // namespace tapegrad::tasks
