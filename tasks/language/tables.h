// The tables of messages, one per file.
#pragma once

#include <tapegrad/tasks/language/message.h>

namespace tapegrad::tasks::language {

std::span<const Message> verbs();      // the words of help itself, verbs, tasks, topics, and their descriptions
std::span<const Message> training();   // the settings of a training run
std::span<const Message> models();     // the settings of models: sizes, forms of attention, positions
std::span<const Message> data();       // texts, tokenizers, and the verbs that make them
std::span<const Message> trained();    // the verbs that use a trained model
std::span<const Message> pictures();   // show, compare, tutorial and the verbs that measure
std::span<const Message> reports();    // report.html
std::span<const Message> topics();     // what `show` prints: the topics with the tutorials' tables
std::span<const Message> measured();   // and those that measure or train
std::span<const Message> explained();  // what `explain` prints
std::span<const Message> player();     // what `attention` prints, and its page
std::span<const Message> figures();    // the figures on the tutorials' pages
std::span<const Message> proofs();     // the lines below a fault on these pages
std::span<const Message> analysis();   // the names of heads, and what `attention --analyze` says about them

}  // namespace tapegrad::tasks::language
