// The Korean of what the command says. English is the key; errors stay English, which is what people search for.
#pragma once

#include <tapegrad/tasks/language/message.h>
#include <tapegrad/tasks/tutorial/language.h>

#include <span>
#include <string_view>

namespace tapegrad::tasks {

/// All messages, by subject; docs/glossary.md decides the terms.
std::span<const std::span<const Message>> all_messages();

/// The text in this language; as it is where there is no message for it.
std::string_view in_language(std::string_view english, tutorial::Language language);
/// The text in the language of the environment.
std::string_view shown(std::string_view english);

}  // namespace tapegrad::tasks
