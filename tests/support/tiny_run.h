// Training runs so small that they learn nothing, in a second: in this process, and by the command.
#pragma once

#include <fmt/format.h>
#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/tests/support/command_runner.h>

#include <string>
#include <type_traits>

namespace tapegrad::tests {

// Two epochs of ten steps. Settled.
tasks::RunOptions tiny_options(const std::string& task);
// The same run as `tapegrad train TASK --out OUT`, with a checkpoint every seven steps. What `more` names takes the
// place of the run's own options, or is added.
Arguments tiny_run(const std::string& task, const std::string& out, const Arguments& more = {});

// The options of the command that make these settings of the usual ones; RunOptions of one task, or GPTOptions.
template <class Options>
Arguments as_arguments(Options settings, Options usual) {
  std::vector<std::string> names;
  settings.visit([&](std::string_view name, auto&, std::string_view) { names.emplace_back(name); });
  Arguments out;
  tasks::visit_given(settings, usual, names, [&](std::string_view name, const auto& value, const auto& other) {
    if (value == other) return;
    out.push_back(fmt::format("--{}", name));
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>) out.push_back(fmt::format("{}", value));
  });
  return out;
}

}  // namespace tapegrad::tests
