// The update rules that training runs can choose.
#pragma once

#include <tapegrad/optim/adam.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

/// Their names for --optimizer, "adamw" first. LBFGS, which evaluates the loss several times per step, and Muon, which
/// is for matrices only, are not among them.
std::span<const std::string_view> optimizer_names();

/// The rule of this name. It has the learning rate and the weight decay of `options`, and their betas and eps if it is
/// a kind of Adam; for everything else its own defaults, but a momentum of 0.9 for sgd and rmsprop.
std::unique_ptr<optim::Optimizer> make_optimizer(std::string_view name, NamedTensors parameters,
                                                 const optim::AdamWOptions& options);

/// Whether it has a weight decay.
bool has_weight_decay(std::string_view name);

/// The help of --weight-decay, which names the rules that apply it to the parameter itself.
const std::string& help_of_weight_decay();

}  // namespace tapegrad::tasks
