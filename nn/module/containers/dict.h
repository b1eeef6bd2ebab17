// Modules with names that are found at run time.
#pragma once

#include <tapegrad/nn/module.h>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::nn {

/// Modules by name, in the order in which they were added. State has the names of PyTorch's ModuleDict:
/// `heads.policy.weight`.
///
///   nn::Dict<nn::Linear> heads{{"policy", nn::Linear(64, 2)}, {"value", nn::Linear(64, 1)}};
///   Tensor value = heads["value"](x);
///   for (const auto& [name, head] : heads) std::cout << name << ": " << str(head.weight.shape()) << "\n";
///
/// A name is not empty and has no dot. Modules of several types are an nn::Dict<nn::AnyModule>.
template <class Module>
class Dict : public detail::HolderOf<Dict<Module>> {
 public:
  /// A name and its module.
  struct Item {
    const std::string name;  ///< part of the parameters' paths
    Module module;           ///< owned by the dict
  };
  /// An item of a list in braces, from which the module is moved.
  struct NewItem {
    std::string_view name;  ///< not empty, without dots
    mutable Module module;  ///< empty after the construction
  };

  Dict() = default;
  Dict(std::initializer_list<NewItem> items) {
    items_.reserve(items.size());
    for (const NewItem& item : items) emplace(item.name, std::move(item.module));
  }
  Dict(Dict&&) noexcept = default;
  Dict& operator=(Dict&&) noexcept = default;
  Dict(Dict& other) : detail::HolderOf<Dict<Module>>() {  // for clone()
    items_.reserve(other.items_.size());
    for (Item& item : other.items_) items_.push_back({item.name, detail::clone_of(item.module)});
  }

  /// Adds a module, made with these arguments. Error if there is one with this name, and for a name that is empty or
  /// has a dot. References to modules that were added before become invalid.
  template <class... Arguments>
  Module& emplace(std::string_view name, Arguments&&... arguments) {
    if (contains(name)) detail::fail_key("a new name", name, names());
    return items_.push_back({std::string(detail::checked_key(name)), Module(std::forward<Arguments>(arguments)...)}),
           items_.back().module;
  }
  /// The module with this name. Error, which lists the names, if there is none.
  Module& at(std::string_view name) { return *require(name, find(name)); }
  const Module& at(std::string_view name) const { return *require(name, find(name)); }
  Module& operator[](std::string_view name) { return at(name); }  ///< at(name): adds nothing
  const Module& operator[](std::string_view name) const { return at(name); }
  Module& operator[](std::integral auto number) = delete;              // write dict["name"]
  const Module& operator[](std::integral auto number) const = delete;  // write dict["name"]
  /// The module with this name; nullptr if there is none.
  Module* find(std::string_view name) { return const_cast<Module*>(std::as_const(*this).find(name)); }
  const Module* find(std::string_view name) const {
    for (const Item& item : items_) {
      if (item.name == name) return &item.module;
    }
    return nullptr;
  }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Item& item : items_) all.push_back(item.name);
    return all;
  }
  /// Takes the module with this name out. Error as for at().
  Module take(std::string_view name) {
    Module taken = std::move(at(name));
    std::vector<Item> others;
    for (Item& item : items_) {
      if (item.name != name) others.push_back(std::move(item));
    }
    items_ = std::move(others);
    return taken;
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  void walk(Visitor& visitor) {
    for (Item& item : items_) visitor(item.name, item.module);
  }

 private:
  template <class Found>
  Found* require(std::string_view name, Found* found) const {
    if (!found) detail::fail_key("the name of a module", name, names());
    return found;
  }
  std::vector<Item> items_;
};

}  // namespace tapegrad::nn
