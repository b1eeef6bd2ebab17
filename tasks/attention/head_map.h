// Attention weights of a model's heads: as pictures, for the terminal, and for pages.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/nn/attention_pass.h>
#include <tapegrad/train/drawing/svg.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// The weights of one head: rows are queries, columns keys.
struct HeadMap {
  std::string name;          // "encoder layer 0, head 1": of --only and of JSON
  std::string label = {};    // the same in the language of the environment
  std::string group;         // "encoder self-attention"
  std::string heading = {};  // the same in the language of the environment
  int64_t layer = 0;
  bool self = true;  // queries and keys are of one sequence
  std::string row_axis, column_axis;
  std::vector<std::string> row_tokens, column_tokens;
  std::vector<float> weights;  // [rows, columns]
  Tensor queries, keys;        // [rows, D], [columns, D]; empty handles where columns are not keys
  Tensor seen;                 // bool [rows, columns]: what is not masked; an empty handle: what has a weight

  int64_t rows() const { return static_cast<int64_t>(row_tokens.size()); }
  int64_t columns() const { return static_cast<int64_t>(column_tokens.size()); }
  // [rows * columns]
  std::vector<bool> masked() const;
};

/// Every head of maps[index], of the first sequence: `like` with name, label, weights, queries and keys. The name of
/// `like` is that of its stack, "encoder", or "" where there is only one. Column labels are numbers where the columns
/// are not its tokens. Error if the attention has no weights.
std::vector<HeadMap> heads_of(const nn::AttentionMaps& maps, std::size_t index, const HeadMap& like);

/// All heads in one drawing; masked positions are grey.
drawing::Drawing draw(const std::vector<HeadMap>& heads);
/// One line per head about its largest weights, then shaded maps of the group `shaded`; `about` is the sentence before
/// them.
std::string heads_text(const std::vector<HeadMap>& heads, std::string_view shaded, std::string_view about);
/// The heads as HTML: for every group a heading with a scale up to its largest weight, and small maps.
std::string heads_html(const std::vector<HeadMap>& heads);
/// The first rows and columns of the heads, as many as a page can hold; `cut` is set if some were left out.
std::vector<HeadMap> drawable(std::vector<HeadMap> heads, bool& cut);

}  // namespace tapegrad::tasks
