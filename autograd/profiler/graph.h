// A recorded step as a graph: its operations, parameters and shapes, in the language of Graphviz.
#pragma once

#include <tapegrad/autograd/tape.h>

#include <string>

namespace tapegrad {

/// How much of a tape a graph shows.
struct GraphOptions {
  /// Levels of modules. A module of the last level is one box, which names its numbers of operations and parameters;
  /// those above it are frames around what they contain. "encoder.layers.0.attention" is of level 3: an index belongs
  /// to the name before it. 0: all levels, down to every operation and parameter.
  int depth = 3;
  /// Open every element of a list of modules; otherwise the first one only, and each other one is a box.
  bool all_layers = false;
};

/// What the tape has recorded so far, as the text of a .dot file (`dot -Tsvg`). Nodes are operations with the shape of
/// their result, in frames of the modules that they belong to (as in ProfileReport::modules), and leaves with their
/// names; edges lead from each input to the operation that uses it, and have its shape. Constants are not on a tape,
/// and not in the graph. Call it before backward, or keep the graph (BackwardOptions::retain_graph). Error for an empty
/// tape, and for a negative depth.
///
///     Tape tape;
///     const Tensor loss = cross_entropy(model(x), y);
///     std::ofstream("step.dot") << to_dot(tape);
std::string to_dot(const Tape& tape, const GraphOptions& options = {});

}  // namespace tapegrad
