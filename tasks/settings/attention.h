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
  int64_t linformer_rank = 256;
  bool linformer_per_head = false;
  int64_t performer_features = 0;  // 0: D log D
  int64_t performer_redraw = 0;    // steps; 0: never
  int64_t reformer_bucket_size = 64;
  int64_t reformer_buckets = 0;  // 0: by the length
  int64_t reformer_rounds = 2;

  void list(Fields& fields);
  nn::AttentionChoice choice() const;
  /// BadRequest about --attention for what this form does not support; `causal` if all of the model is.
  void check(nn::Positions positions, bool causal) const;
  /// Whether Performer's features are redrawn after `steps` steps.
  bool redraws(int64_t steps) const {
    return kind == "performer" && performer_redraw > 0 && steps > 0 && steps % performer_redraw == 0;
  }
  /// At most how many keys a query of `length` tokens attends to.
  int64_t keys_per_query(int64_t length) const;
};

}  // namespace tapegrad::tasks
