// The state of all that a run trains, in a checkpoint and back.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/parts.h>

#include <algorithm>

namespace tapegrad::train {

void Parts::take_name(const std::string& name) {
  if (name.empty() || name.find('.') != std::string::npos)
    fail("parts", "expected a name without a dot, got \"{}\"", name);
  if (std::ranges::find(names_, name) != names_.end())
    fail("parts", "expected a different name for each part, got \"{}\" twice", name);
  names_.push_back(name);
}

void Parts::refuse_rate(std::string_view name) {
  fail("parts", "expected a schedule for an optimiser only, got one for \"{}\"", name);
}

void Parts::add_optimizer(std::string name, optim::Optimizer& optimizer, std::optional<optim::Schedule> rate) {
  add_state(std::move(name), {[&optimizer] { return optimizer.state(); },
                              [&optimizer](const NamedTensors& state) { optimizer.load_state(state); }});
  optimizers_.push_back({&optimizer, std::move(rate)});
}

void Parts::add_generator(std::string name, Generator& generator) {
  if (name == kGeneratorName) fail("parts", "expected another name than \"generator\", which is the default one's");
  take_name(name);
  generators_.push_back({std::move(name), &generator});
}

void Parts::add_state(std::string name, State state) {
  for (const std::string_view taken : {"model", "epoch"})
    if (name == taken) fail("parts", "expected another name than \"{}\", which checkpoints use", taken);
  take_name(name);
  states_.push_back({std::move(name), std::move(state)});
}

void Parts::save(Checkpoint& out) const {
  for (const auto& [name, state] : states_) out.add(name + ".", state.save());
  for (const auto& [name, generator] : generators_) out.add(name, *generator);
}

void Parts::load_each(const Checkpoint& in) const {
  for (const auto& [name, state] : states_) state.load(in.with_prefix(name + "."));
  for (const auto& [name, generator] : generators_) in.restore(name, *generator);
}

// All or nothing.
void Parts::load(const Checkpoint& in) const {
  Checkpoint before;
  save(before);
  try {
    load_each(in);
  } catch (...) {
    load_each(before);
    throw;
  }
}

void Parts::set_rates(int64_t step) const {
  for (const Rated& one : optimizers_)
    if (one.rate) one.optimizer->set_lr((*one.rate)(step));
}

}  // namespace tapegrad::train
