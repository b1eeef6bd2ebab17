// Which module each operation of a tape belongs to: graphs, and nn::watch.
#pragma once

#include <tapegrad/autograd/tape.h>

#include <string>
#include <vector>

namespace tapegrad {

/// The names of a tape's leaves, by position; "" for operations, and for leaves without a name.
std::vector<std::string> names_of_leaves(const Tape& tape);

/// The paths of the operations' modules, by position; "" for the whole model. An operation belongs to the module of the
/// named parameters that it uses; others, to the module that has what comes before and after them. The sum that ends an
/// element of a list belongs to that element.
std::vector<std::string> modules_of(const Tape& tape, const std::vector<std::string>& names);

/// "a.b" of "a.b.weight".
std::string module_of_parameter(const std::string& name);

}  // namespace tapegrad
