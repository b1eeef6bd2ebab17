// The settings of a model's attention, which all tasks share.
#pragma once

#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/tasks/settings/settings.h>

#include <string>

namespace tapegrad::tasks {

struct AttentionSettings {
  std::string kind = "full";  // one of nn::kAttentionNames
  int64_t window = 256;
  int64_t dilation = 1;
  int64_t global_tokens = 0;

  void list(Fields& fields);
  nn::AttentionChoice choice() const;
  /// BadRequest about --attention for positions that go with full attention only.
  void check(std::string_view positions) const;
  /// At most how many keys a query of `length` tokens sees.
  int64_t keys_per_query(int64_t length) const;
};

}  // namespace tapegrad::tasks
