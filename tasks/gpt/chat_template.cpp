// The known forms of conversations, and how a folder's form is recognised.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/gpt/chat_template.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/data/internal/utf8.h>

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
  const nlohmann::json settings =
      json::parse(train::read_file(file, json::kMaxBytes), [&](const std::string& why) { fail(file.string(), why); });
  const auto member = [](const nlohmann::json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() ? *found : nlohmann::json();
  };
  const nlohmann::json found = member(settings, "chat_template");
  if (found.is_null()) return {};
  if (found.is_string()) return found.get<std::string>();
  std::vector<std::string> names;
  for (const nlohmann::json& one : found.is_array() ? found : nlohmann::json::array()) {
    const nlohmann::json name = member(one, "name"), text = member(one, "template");
    if (name == "default" && text.is_string()) return text.get<std::string>();
    names.push_back(json::shown(name));
  }
  bad_request(kTemplate, fmt::format("expected one of {}, because the chat_template of {} is neither a text nor a list "
                                     "with a template \"default\", but {}",
                                     fmt::join(kChatTemplates, ", "), file.string(),
                                     names.empty() ? json::shown(found) : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

ChatTemplate chat_template(const std::string& name, const TrainedGPT& trained) {
  const auto known = [](auto fits) { return std::find_if(std::begin(kKnown), std::end(kKnown), fits); };
  if (!name.empty()) {
    const auto* found = known([&](const KnownTemplate& t) { return t.form.name == name; });
    return found != std::end(kKnown) ? found->form : written_out(name);
  }
  const std::string jinja = template_of_folder(trained.folder);
  if (jinja.empty()) return std::prev(std::end(kKnown))->form;
  const auto* found =
      known([&](const KnownTemplate& t) { return !t.mark.empty() && jinja.find(t.mark) != std::string::npos; });
  if (found == std::end(kKnown)) {
    bad_request(kTemplate, fmt::format("expected one of {}, because the chat template of the model's folder is none of "
                                       "these",
                                       fmt::join(kChatTemplates, ", ")));
  }
  return found->form;
}

}  // namespace tapegrad::tasks
