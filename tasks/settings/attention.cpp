// Declares and checks the settings of a model's attention.
#include <tapegrad/tasks/settings/attention.h>

#include <algorithm>

namespace tapegrad::tasks {

void AttentionSettings::list(Fields& f) {
  f.add({.name = "attention",
         .help = "form of self-attention; window: keys near the query only",
         .choices = nn::kAttentionNames},
        kind);
  f.add({"window", "window: keys that a query sees on each side", Group::model, kCountOrNone}, window);
  f.add({"dilation", "window: distance between two of these keys", Group::model, kCount}, dilation);
  f.add({"global-tokens", "window: the first N tokens see all, and are seen by all", Group::model, kCountOrNone},
        global_tokens);
}

nn::AttentionChoice AttentionSettings::choice() const {
  return {.kind = nn::attention_named(kind), .window = window, .dilation = dilation, .global_tokens = global_tokens};
}

void AttentionSettings::check(std::string_view positions) const {
  as_bad_request("--attention", [&] { choice().check(nn::positions_named(positions)); });
}

int64_t AttentionSettings::keys_per_query(int64_t length) const {
  return kind == "window" ? std::min(length, 2 * window + 1 + global_tokens) : length;
}

}  // namespace tapegrad::tasks
