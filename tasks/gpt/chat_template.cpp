// The known forms of conversations, and how a folder's form is recognised.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/data/utf8.h>
#include <tapegrad/tasks/gpt/chat_template.h>
#include <tapegrad/tasks/settings/bad_request.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

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
    bad_request(kTemplate, fmt::format("expected one of {}, or a text with {{message}} and {{answer}} in this order, "
                                       "got \"{}\"",
                                       fmt::join(kChatTemplates, ", "), data::valid_utf8(text)));
  }
  return {
      .name = "text", .system = "", .message = form.substr(0, answer), .close = form.substr(answer + kAnswer.size())};
}

}  // namespace

ChatTemplate chat_template(const std::string& name, const TrainedGPT& trained) {
  const auto known = [](auto fits) { return std::find_if(std::begin(kKnown), std::end(kKnown), fits); };
  if (!name.empty()) {
    const auto* found = known([&](const KnownTemplate& t) { return t.form.name == name; });
    return found != std::end(kKnown) ? found->form : written_out(name);
  }
  if (trained.chat_template.empty()) return std::prev(std::end(kKnown))->form;
  const auto* found = known([&](const KnownTemplate& t) {
    return !t.mark.empty() && trained.chat_template.find(t.mark) != std::string::npos;
  });
  if (found == std::end(kKnown)) {
    bad_request(kTemplate, fmt::format("expected one of {}, because the chat template of the model's folder is none of "
                                       "these",
                                       fmt::join(kChatTemplates, ", ")));
  }
  return found->form;
}

}  // namespace tapegrad::tasks
