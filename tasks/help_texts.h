// What --help of all verbs says in words: the keys of its messages in other languages.
#pragma once

#include <string>
#include <vector>

namespace tapegrad::tasks {

std::vector<std::string> help_texts();

}  // namespace tapegrad::tasks
