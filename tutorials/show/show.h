// The verb `show`: prints the tutorials' tables and draws their figures, topic by topic.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/train/drawing/svg.h>
#include <tapegrad/tutorials/show/notes.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

struct ShowRequest {
  std::string topic;
  std::string out = "out/show";   // folder for <topic>.svg and <topic>.html, or <topic>-<example>.svg and .html
  std::optional<int64_t> length;  // length, dim and seed default to the tutorial's
  std::optional<int64_t> dim;
  std::optional<uint64_t> seed;
  std::optional<double> seconds;
  std::optional<int64_t> steps;
  std::string example = "time-flies";
  std::string model;   // a trained model
  bool quiet = false;  // files only

  void list(Fields& fields);  // those that the topic has
};
int show(const ShowRequest& request);

// The output of a topic.
struct Exhibit {
  std::string title;
  Notes text;
  std::vector<drawing::Drawing> drawings = {};
  int columns = 2;  // of drawings in the .svg file
  // All of it as one drawing, which the drawings are the parts of: in the .svg file, and on pages that are wide enough.
  drawing::Drawing whole = {};
};

struct Topic {
  std::string_view name, help;
  Exhibit (*make)(const ShowRequest& request);
  // These options, with help and limits; without help if the topic has no such option.
  Setting length = {}, dim = {}, seed = {}, example = {}, seconds = {}, steps = {}, model = {};
  bool threads = false;  // has --threads
};
std::span<const Topic> topics();

// The topics, with their sections of tutorial 003. BadRequest for sizes out of range. Those that print a tutorial's
// tables are in the files of its pages, which compute the same steps.
namespace tutorial {
Exhibit show_causal_mask(const ShowRequest& request);          // 8.2.5
Exhibit show_padding_mask(const ShowRequest& request);         // 8.2.5
Exhibit show_padded_attention(const ShowRequest& request);     // tutorial 002
Exhibit show_positional_encoding(const ShowRequest& request);  // 8.3.1, 8.3.2
Exhibit show_layer_norm(const ShowRequest& request);           // 8.4.1
Exhibit show_attention_steps(const ShowRequest& request);      // 8.2.1, 8.2.2, and tutorial 004:
Exhibit show_journey();
}  // namespace tutorial

Exhibit show_attention_cost(const ShowRequest& request);      // 8.2.3, measured
Exhibit show_attention_accuracy(const ShowRequest& request);  // 8.2.3, measured
Exhibit show_performer_error(const ShowRequest& request);     // 8.2.3, measured
Exhibit show_gpt_cost(const ShowRequest& request);            // measured

Exhibit show_mask_leak(const ShowRequest& request);           // 8.2.5, trained
Exhibit show_order_blindness(const ShowRequest& request);     // tutorial 001, 2.1
Exhibit show_relative_positions(const ShowRequest& request);  // 8.3.2, deep dive 2 and appendix
Exhibit show_hopfield(const ShowRequest& request);            // 8.2.3, deep dive 3.2
Exhibit show_recurrent_lengths(const ShowRequest& request);   // 8.1, 8.2.1, trained
Exhibit show_depth(const ShowRequest& request);               // 8.2.3, deep dives 4.1 and 6.2; 8.4
Exhibit show_head_roles(const ShowRequest& request);          // 8.2.4, trained
Exhibit show_architecture(const ShowRequest& request);        // 8.4, and tutorial 000

// --- shared by the topics ---
// The slope of the line through the logarithms of x and y, from `first` on in x, by least squares, without points that
// are not finite; NaN for fewer than two.
double log_slope(std::span<const double> x, std::span<const double> y, double first = 0);
// A number with `digits` after the decimal point; "-" if it is not finite.
std::string fixed_or_dash(double value, int digits);

}  // namespace tapegrad::tasks
