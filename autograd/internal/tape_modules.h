// Which module each operation of a tape belongs to: graphs, and nn::watch.
#pragma once

#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/tape.h>

#include <functional>
#include <string>
#include <vector>

namespace tapegrad {

/// The names of a tape's leaves, by position; "" for operations, and for leaves without a name.
std::vector<std::string> names_of_leaves(
    const Tape& tape, const std::function<std::string(const TapeIndex& leaf)>& name_of = detail::leaf_name);

/// The paths of the operations' modules, by position; "" for the whole model. An operation that uses named parameters
/// belongs to their module, another one to the innermost module that contains the operations before and after it. The
/// residual sum at the end of a block, an element of a list of modules, belongs to that block.
std::vector<std::string> modules_of(const Tape& tape, const std::vector<std::string>& names);

/// "a.b" of "a.b.weight".
std::string module_of_parameter(const std::string& name);

}  // namespace tapegrad
