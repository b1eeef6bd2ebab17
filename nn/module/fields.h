// The members of a configuration, each declared once: name, help and limits. The check, JSON, the options of a command,
// their help, range errors and the rows of a report all follow from that declaration.
//
// A struct lists its members in `void list(nn::Fields& f)`; so does a variant (a form of attention, a positional
// encoding) that has options:
//   f.add("window", "keys on each side", window, kNotNegative, kind == "window");
//   f.add_named({.name = "solver", .help = "the method"}, solver, kOdeSolverNames);  // an enum with names
#pragma once

#include <tapegrad/autograd/compiler.h>
#include <tapegrad/autograd/limits.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tapegrad::nn {

using tapegrad::kNotNegative;
using tapegrad::kPositive;
using tapegrad::kShare;
using tapegrad::Limits;

/// The declaration of one member. Texts are literals: they outlive it.
struct Setting {
  std::string_view name = {};                      // words joined by _ or -
  std::string_view help = {};                      ///< one line, in lower case, without a full stop
  std::string_view group = {};                     // the heading under which help and reports show it
  Limits limits = {};                              ///< of numbers
  std::span<const std::string_view> choices = {};  // the values of a text; empty: any text, or all names of an enum
  std::string_view type = {};                      // what help calls the value, as "FILE"; empty: by the member's type
  bool example = false;             // decides how long an example is: test, explain and attention offer it
  std::string_view special = {};    // what one value means, as "0: no clipping"
  std::string_view otherwise = {};  // what help shows as the default; empty: the value
  bool positional = false;          // on the command line, a word without a name

  std::string key() const;                ///< in JSON and in errors: "drop_rate"
  std::string option() const;             ///< on the command line: "--drop-rate", or "model" where it is positional
  bool is(std::string_view other) const;  ///< whether this is the name, whichever way its words are joined
};

/// Refers to a member whose values have names: an enum, or a bool.
class Named {
 public:
  /// Value i is called names[i].
  template <class T>
  Named(T& member, std::span<const std::string_view> names)
      : member_(&member),
        names_(names),
        get_([](const void* at) { return static_cast<std::size_t>(*static_cast<const T*>(at)); }),
        set_([](void* at, std::size_t i) { *static_cast<T*>(at) = static_cast<T>(i); }) {}

  /// of the value that the member has now
  std::string_view name() const { return names_[get_(member_)]; }
  /// False, and no change, for an unknown name.
  bool set(std::string_view name) const;
  std::span<const std::string_view> names() const { return names_; }

 private:
  void* member_;
  std::span<const std::string_view> names_;
  std::size_t (*get_)(const void*);
  void (*set_)(void*, std::size_t);
};

/// A declaration and the member that holds the value.
struct Field {
  Setting setting;  ///< its declaration
  /// A list of texts is an option that may be given several times; one without a value was not given.
  std::variant<bool*, int64_t*, uint64_t*, double*, std::string*, std::vector<std::string>*, std::optional<int64_t>*,
               std::optional<uint64_t>*, std::optional<double>*, std::optional<std::string>*, Named>
      value;
  bool used = true;  // false: it has no effect, like the sizes of a form of attention that is not chosen

  /// The value as errors and reports show it; empty where there is none.
  std::string text() const;
  /// The value as the default in --help, with the special one: "0, which means no clipping" or "1; 0: no clipping".
  std::string default_text() const;
  /// The help of a report: with the special value, "clip gradients to this norm (0: no clipping)".
  std::string report_text() const;
  /// What is wrong with the value, as "expected width > 0, got 0"; empty if nothing is.
  std::string fault(std::string_view called) const;
  /// Takes the value of the same member of another struct.
  void copy_from(const Field& other) const;
};

/// The members of a struct, in order. Refers to them.
class Fields {
 public:
  /// Appends a member, which must outlive the list; without `used`, it has no effect (Field::used).
  void add(const Setting& setting, auto& member, bool used = true) { fields_.push_back({setting, &member, used}); }
  /// The same; returns the declaration, for what else it says: f.add("n", "heads", n, kNotNegative).special = "0: all".
  Setting& add(std::string_view name, std::string_view help, auto& member, const Limits& limits = {},
               bool used = true) {
    add({.name = name, .help = help, .limits = limits}, member, used);
    return fields_.back().setting;
  }
  /// A member whose value i is called names[i]: an enum, or a bool.
  void add_named(const Setting& setting, auto& member, std::span<const std::string_view> names, bool used = true) {
    add({setting, Named(member, names), used});
  }
  void add(Field field);

  std::vector<Field>::const_iterator begin() const { return fields_.begin(); }
  std::vector<Field>::const_iterator end() const { return fields_.end(); }
  /// nullptr if there is no such member. The list owns what is found, and must have a name.
  const Field* find(std::string_view name) const&;
  const Field* find(std::string_view name) const&& = delete;
  /// The declaration of a member that has been added, to change it for one use. Error if there is none.
  Setting& operator[](std::string_view name);
  /// Adds members after the one with this name. Error if there is none.
  void insert_after(std::string_view name, const Fields& more);
  /// Removes members that should not appear where the others are used. Error for an unknown name.
  void erase(std::string_view name);

 private:
  std::vector<Field>::iterator at(std::string_view name);

  std::vector<Field> fields_;
};

/// The members of any struct that lists them.
Fields fields_of(auto& config) {
  Fields fields;
  config.list(fields);
  return fields;
}

/// Error "[where] expected vocab_size > 0, got 0" about the first member outside of its limits or choices.
void check_fields(std::string_view where, const Fields& fields);
void check_fields(std::string_view where, auto config) { check_fields(where, fields_of(config)); }

}  // namespace tapegrad::nn
