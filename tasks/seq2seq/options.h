// The settings that make a training run what it is: one table of names, limits and help behind the command line, the
// checkpoint and the model file.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/tasks/settings/bad_request.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tapegrad::tasks {

// Settings of all tasks; `task` decides which of them there are. The values here are the copy task's in the tutorial
// (8.5.1); default_options(task) are another one's.
struct RunOptions {
  std::string task = "copy";
  int64_t vocab_size = 20;
  int64_t hidden_size = 64;
  int64_t num_hidden_layers = 2;
  int64_t num_attention_heads = 2;
  int64_t intermediate_size = 128;
  int64_t max_position_embeddings = 0;  // 0: as long as the sequences
  std::string positions = "learned";    // one of nn::kPositionNames
  double dropout = 0.1;
  int64_t num_epochs = 50;
  int64_t steps_per_epoch = 100;
  int64_t batch_size = 40;
  uint64_t seed = 0;
  double lr = 1e-4;
  std::string schedule = "constant";
  int64_t warmup = 4000;
  double factor = 1;
  // Of the copy task alone.
  int64_t seq_length = 20;
  // Of the addition task alone.
  int64_t max_digits = 3;
  bool tutorial_masks = false;
  // Of the parser task alone.
  int64_t depth = 1;
  int64_t data_seed = -1;  // -1: the seed

  // The settings that decide how long an example is: all verbs of the task offer them.
  void visit_example(auto&& field) {
    if (task == "copy") field("seq-length", seq_length, "tokens of a sequence");
    if (task == "addition") field("max-digits", max_digits, "digits of an operand, and of the answer");
  }

  // Calls field(name, value, help) for every setting that the task has; name as on the command line, without dashes.
  void visit(auto&& field) {
    field("vocab-size", vocab_size, "tokens, with the padding token 0");
    field("hidden-size", hidden_size, "width of the model; a multiple of the heads");
    field("num-hidden-layers", num_hidden_layers, "layers of the encoder, and of the decoder");
    field("num-attention-heads", num_attention_heads, "heads of every attention");
    field("intermediate-size", intermediate_size, "width inside of the feed-forward blocks");
    field("max-position-embeddings", max_position_embeddings,
          "longest sequence that the model takes (0: the tutorial's, or more where the sequences are longer)");
    field("positions", positions,
          "how the model is told where a token stands: learned, sinusoidal, rope, shaw, t5, alibi, index, none (only "
          "learned ones bound its length)");
    field("dropout", dropout, "probability of dropping, everywhere in the model");
    field("num-epochs", num_epochs, "epochs to train");
    field("steps-per-epoch", steps_per_epoch, "steps of an epoch");
    field("batch-size", batch_size, "sequences of a step");
    visit_example(field);
    if (task == "addition")
      field("tutorial-masks", tutorial_masks, "hide the input's zeros, and train as the tutorial does");
    if (task == "parser") {
      field("depth", depth, "operators over one another; more than 1: nested expressions, and trees with brackets");
      field("data-seed", data_seed, "of the expressions, which NumPy's stream draws (-1: the seed)");
    }
    field("seed", seed, "of all random draws");
    field("lr", lr, "learning rate; with warmup-cosine the highest");
    field("schedule", schedule,
          "constant; noam (8.4: rises over --warmup steps, then falls with their root); warmup-cosine (rises, then "
          "falls to 0 at the last step)");
    field("warmup", warmup, "steps in which a schedule rises");
    field("factor", factor, "the noam schedule is multiplied by it");
  }

  int64_t total_steps() const { return num_epochs * steps_per_epoch; }
  nn::TransformerConfig model() const;
};

// Fills in what follows from other settings. BadRequest that names the first option that cannot be, in one line.
void settle(RunOptions& options);

// Settings of one kind, RunOptions of the same task or GPTOptions: calls field(name, a's value, b's value) for those
// that were `given` by name.
template <class Options>
void visit_given(Options& a, Options& b, const std::vector<std::string>& given, const auto& field);
// Takes over the settings that were `given` by name.
template <class Options>
void take(Options& options, Options asked, const std::vector<std::string>& given);
// The run in the folder `out` goes on with its own settings: BadRequest about --resume that tells those which were
// `given` by name and differ.
template <class Options>
void need_same(Options run, Options asked, const std::vector<std::string>& given, std::string_view out);
// BadRequest where `positions` is none of nn::kPositionNames.
void check_positions(std::string_view positions);
// BadRequest where a search is not to have so many beams: 1 (greedy) to 1000.
void check_beams(int64_t beams);

// The option as a key of JSON: "hidden_size".
std::string key_of(std::string_view option);
// As JSON, {"task":"copy","vocab_size":20,...}, and back. Error when something is missing or of another kind.
std::string to_json(RunOptions options);
RunOptions options_from_json(std::string_view where, std::string_view json);

// A guess of the bytes that training takes at its peak.
double training_bytes(const RunOptions& options);
// BadRequest where `what`, which takes about so many bytes, does not fit into this machine's memory.
void need_memory(std::string_view where, std::string_view what, double bytes);
inline constexpr std::string_view kModelAndBatch = "a model with batches of these sizes";

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {
[[noreturn]] void refuse_differences(std::string_view out, const std::vector<std::string>& differences);
}

template <class Options>
void visit_given(Options& a, Options& b, const std::vector<std::string>& given, const auto& field) {
  a.visit([&](std::string_view name, auto& ours, std::string_view) {
    if (std::find(given.begin(), given.end(), name) == given.end()) return;
    b.visit([&](std::string_view other, auto& theirs, std::string_view) {
      if constexpr (std::is_same_v<decltype(theirs), decltype(ours)>)
        if (name == other) field(name, ours, theirs);
    });
  });
}

template <class Options>
void take(Options& options, Options asked, const std::vector<std::string>& given) {
  visit_given(options, asked, given, [](std::string_view, auto& value, const auto& wanted) { value = wanted; });
}

template <class Options>
void need_same(Options run, Options asked, const std::vector<std::string>& given, std::string_view out) {
  std::vector<std::string> differences;
  visit_given(asked, run, given, [&](std::string_view name, const auto& wanted, const auto& value) {
    if (wanted != value) differences.push_back(fmt::format("--{} {} (not {})", name, value, wanted));
  });
  if (!differences.empty()) detail::refuse_differences(out, differences);
}

}  // namespace tapegrad::tasks
