// The form in which a model reads a conversation.
#pragma once

#include <tapegrad/tasks/gpt/model.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

// A conversation is system(text), and then a turn for each message: message(text), the model's answer, and `close`.
struct ChatTemplate {
  std::string name;
  std::string system;   // with "{system}"; empty: the model takes none
  std::string message;  // with "{message}"; the answer follows
  std::string close;    // what ends an answer; the answer stops there
};

inline constexpr std::string_view kChatTemplates[] = {"plain", "chatml", "llama2", "llama3", "zephyr"};

// The template of this name, or one written out: a text with {message} and {answer}, where \n is a line break. An empty
// name: the one that the model's folder asks for, or plain. BadRequest about --template for others, and for a folder
// whose template is not among the known ones.
ChatTemplate chat_template(const std::string& name, const TrainedGPT& trained);

}  // namespace tapegrad::tasks
