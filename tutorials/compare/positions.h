// `compare positions`: trains the same model with each positional encoding and several seeds, and compares them.
// Tutorial 003, section 8.3.2, deep dive 7.
#pragma once

#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/tutorials/compare/lengths.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// The settings of all runs, and which runs there are.
struct ComparePositionsRequest : TrainingSettings, PositionSettings, ComparedSizes {
  ComparePositionsRequest();

  std::string tasks = "addition,parser";
  std::string kinds;  // of nn::position_names(), with commas; empty: all but index
  int64_t seeds = 5;
  nn::TransformerConfig config = {.hidden_size = 64,
                                  .num_hidden_layers = 2,
                                  .num_attention_heads = 4,
                                  .intermediate_size = 128,
                                  .dropout_prob = 0,
                                  .max_position_embeddings = 0};  // as long as the longer examples
  int64_t steps = 2000;
  int64_t count = 500;  // examples to test with
  std::string out = "out/compare";
  bool json = false;

  void list(Fields& fields);
  std::vector<std::string> all_tasks() const, all_kinds() const;
};
/// Trains every kind. Each run is a process with one thread; as many run in parallel as there are threads.
/// Writes results.jsonl as runs end, then positions.svg and positions.html; runs that results.jsonl has are not
/// repeated.
int compare_positions(ComparePositionsRequest request);

/// One training run: accuracy, time and memory.
struct PositionRun {
  std::string task, kind;
  int64_t seed = 0;
  double trained = 0, trained_tokens = 0;  // share of exact answers and of correct tokens, at lengths of training
  double longer = 0, longer_tokens = 0;    // and of longer ones
  double step_ms = 0;                      // processor time of a training step, the median
  double answer_ms = 0;                    // processor time of one of the longer answers, decoded in batches
  double memory_mb = 0;                    // what the pool of tensors holds after training
};
/// The measurements, and their names in JSON.
struct PositionMeasure {
  std::string_view name;
  double PositionRun::*value;
};
inline constexpr PositionMeasure kPositionMeasures[] = {
    {"trained", &PositionRun::trained},    {"trained_tokens", &PositionRun::trained_tokens},
    {"longer", &PositionRun::longer},      {"longer_tokens", &PositionRun::longer_tokens},
    {"step_ms", &PositionRun::step_ms},    {"answer_ms", &PositionRun::answer_ms},
    {"memory_mb", &PositionRun::memory_mb}};
/// Trains and tests in this process. Error if the loss is not finite.
PositionRun run_positions(const ComparePositionsRequest& request, const std::string& task, const std::string& kind,
                          int64_t seed);

}  // namespace tapegrad::tasks
