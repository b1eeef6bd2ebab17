// The verb `show`: the tables that the tutorials print and the pictures that they plot, by topic.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/tasks/drawing/svg.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

struct ShowRequest {
  std::string topic;
  std::string out = "out/show";   // folder for <topic>.svg and <topic>.html
  std::optional<int64_t> length;  // what is left out is the tutorial's
  std::optional<int64_t> dim;
  std::optional<uint64_t> seed;
  std::string example = "time-flies";
  bool quiet = false;  // files only
};
int show(const ShowRequest& request);

// What a topic has to show.
struct Exhibit {
  std::string title;
  std::string text;  // for a terminal of 80 columns
  std::vector<drawing::Drawing> drawings;
  int columns = 2;  // of drawings in the one picture
};

struct Topic {
  std::string_view name, help;
  std::string_view length, dim, seed, example;  // help for these options; empty where the topic has none
  Exhibit (*make)(const ShowRequest& request);
};
std::span<const Topic> topics();

// The topics, with the sections of the tutorials they come from. BadRequest for sizes that cannot be shown.
Exhibit show_causal_mask(const ShowRequest& request);          // 8.2.5
Exhibit show_padding_mask(const ShowRequest& request);         // 8.2.5
Exhibit show_positional_encoding(const ShowRequest& request);  // 8.3.1, 8.3.2
Exhibit show_layer_norm(const ShowRequest& request);           // 8.4.1
Exhibit show_attention_steps(const ShowRequest& request);      // 8.2.1, 8.2.2, and tutorial 004

// --- what topics share ---
// The value of an option, or `otherwise`. BadRequest outside of [low, high].
int64_t in_range(std::string_view option, const std::optional<int64_t>& value, int64_t otherwise, int64_t low,
                 int64_t high);
// x [rows, columns] with its values in the cells, to `digits` behind the point; shades from `low` to `high`, or from
// -high to high where low is negative. Large ones have no values in the cells.
drawing::Drawing draw_matrix(std::string_view title, const Tensor& x, const std::vector<std::string>& rows,
                             const std::vector<std::string>& columns, double low, double high, int digits = 2);

}  // namespace tapegrad::tasks
