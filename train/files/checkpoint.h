// The checkpoint of a training run: one safetensors file with everything that an exact continuation needs.
#pragma once

#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/random.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace tapegrad::train {
namespace detail {
class Shards;
}  // namespace detail

/// The state of a training program: of models, optimisers, generators, and its own fields, under names that it chooses:
///
///     train::Checkpoint out;
///     out.add("model.", nn::state_dict(model));
///     out.add("adam.", adam.state());
///     out.add("generator", default_generator());
///     out.set("step", step);
///     out.save("out/checkpoint");
///
///     const auto in = train::Checkpoint::load("out/checkpoint");
///     nn::load_state_dict(model, in.with_prefix("model."));
///     adam.load_state(in.with_prefix("adam."));
///     in.restore("generator", default_generator());
///     step = in.get<int64_t>("step");
///
/// In the file, tensors are tensors, bytes are U8 tensors, and fields are strings of `__metadata__`; so Python's
/// safetensors can open it. It has checksums (SaveOptions::checksums): a single changed byte throws an Error that names
/// its place. In a run of several processes, each process writes the elements that it updates into a file of the folder
/// checkpoint-shards, next to the checkpoint. The checkpoint names these files and contains everything else; load()
/// reads both.
struct Checkpoint {
  NamedTensors tensors;                       ///< state of models and optimisers
  NamedBytes bytes;                           ///< state of generators
  std::map<std::string, std::string> fields;  ///< numbers and texts, as text
  /// Tensors that are still in files, which several processes have written (open()). nullptr: none.
  std::shared_ptr<const detail::Shards> shards = nullptr;

  /// Appends tensors, as `prefix` + name.
  void add(std::string_view prefix, const NamedTensors& named);
  /// The tensors whose names begin with `prefix`, without it.
  NamedTensors with_prefix(std::string_view prefix) const;

  /// Adds the state of a generator, and restores it. Error if the checkpoint has none of this name.
  void add(std::string_view name, const Generator& generator);
  void restore(std::string_view name, Generator& generator) const;
  /// Bytes that were saved under this name. Error if there are none.
  const std::vector<std::byte>& bytes_named(std::string_view name) const;

  /// A number or a text as a field. A floating-point number is read back exactly.
  template <class T>
  void set(std::string_view name, const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      set_text(name, text_of(value));
    } else if constexpr (std::is_integral_v<T>) {
      set_text(name, std::to_string(value));
    } else {
      set_text(name, value);
    }
  }
  bool has(std::string_view name) const { return fields.contains(std::string(name)); }
  /// T: int64_t, uint64_t, double or std::string. Error if the field is missing or is not of this type.
  template <class T>
  T get(std::string_view name) const;

  /// Replaces the file atomically and durably.
  void save(const Destination& to) const;
  /// Error if the file is damaged, is not a checkpoint, or was written by an older version of tapegrad.
  static Checkpoint load(const std::string& path);
  /// The same, but tensors in files of several processes stay there until with_prefix() or Loop::restore reads them.
  static Checkpoint open(const std::string& path);

 private:
  void set_text(std::string_view name, std::string_view value);
  static std::string text_of(double value);
};

/// The prefixes of a model's state and of its optimiser's, and the name of the generator's, in the command's runs.
inline constexpr std::string_view kModelPrefix = "model.", kAdamPrefix = "adam.", kGeneratorName = "generator";

}  // namespace tapegrad::train
