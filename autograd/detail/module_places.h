// Which module each operation of a tape belongs to.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace tapegrad::detail {

/// The modules of the first `count` nodes. own(i) is the module of the named parameters that node i uses, if it uses
/// any; a node between two such nodes belongs to common(a, b), where a and b are the modules of these two. A node
/// before the first or after the last of them belongs to the whole model, Module().
template <class Module, class Own, class Common>
std::vector<Module> modules_of_nodes(std::size_t count, Own own, Common common) {
  std::vector<Module> modules(count);
  Module last{};
  std::size_t open = 0;  // the first node whose module is not known yet
  const auto fill_to = [&](std::size_t end, const Module& next) {
    const Module between = open == end ? Module() : common(last, next);
    for (; open < end; ++open) modules[open] = between;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Module> found = own(i);
    if (!found) continue;
    fill_to(i, *found);
    modules[i] = last = *found;
    open = i + 1;
  }
  fill_to(count, Module());
  return modules;
}

}  // namespace tapegrad::detail
