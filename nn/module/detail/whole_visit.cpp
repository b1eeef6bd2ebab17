// The search for members that a model's visit forgets.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/nn/module.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tapegrad::nn::detail {

namespace {

using Addresses = std::unordered_set<const void*>;

// The first parameter, buffer or mode in a container that is not among the named ones: "the parameter \"0.weight\"".
class First : public Visitor {
 public:
  explicit First(const Addresses& named) : named_(named) {}
  std::string found;

 private:
  void parameter(Parameter& p) override { add(&p, "the parameter"); }
  void buffer(Buffer& b) override { add(&b, "the buffer"); }
  void mode(bool& training) override { add(&training, "the mode of the module"); }
  void add(const void* member, std::string_view what) {
    if (found.empty() && !named_.contains(member)) found = fmt::format("{} \"{}\"", what, path());
  }
  const Addresses& named_;
};

// Where the modules of a model are in memory, and which of the members in there its visits name.
class Search : public Visitor {
  struct Module {
    const std::byte* begin;
    std::size_t size;
    std::string name;
  };

 public:
  // What no visit names, sorted.
  std::vector<std::string> all_forgotten() const {
    std::set<const Member*> members;  // modules in modules share their memory
    for (const Module& module : modules_)
      Member::for_each_in({module.begin, module.size}, [&](const Member& member) { members.insert(&member); });
    std::vector<std::string> all;
    for (const Member* const member : members)
      if (std::string found = forgotten(*member); !found.empty()) all.push_back(std::move(found));
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  // "a parameter of shape [8, 32] at byte 64 of the Mlp \"encoder.mlp\"", or "" if a visit names the member.
  std::string forgotten(const Member& member) const {
    if (named_.contains(key_of(member))) return "";
    const auto* const address = reinterpret_cast<const std::byte*>(&member);
    const auto holds = [&](const auto& module) {
      return std::less_equal<>()(module.begin, address) && address < module.begin + module.size;
    };
    if (std::any_of(left_out_.begin(), left_out_.end(), holds)) return "";
    // The innermost: of nested modules the one that was entered last.
    const auto module = std::find_if(modules_.rbegin(), modules_.rend(), holds);
    const std::string what = describe(member);
    if (what.empty()) return "";
    return fmt::format("{} at byte {} of the {}", what, address - module->begin, module->name);
  }

  static const void* key_of(const Member& member) {
    if (member.kind() == MemberKind::mode) return &static_cast<const Mode&>(member).value();
    return &member;
  }
  // "" for a member without values, which changes nothing.
  std::string describe(const Member& member) const {
    switch (member.kind()) {
      case MemberKind::parameter: {
        const auto& p = static_cast<const Parameter&>(member);
        return p.defined() ? fmt::format("a parameter of shape {}", str(p->shape())) : "";
      }
      case MemberKind::buffer: {
        const auto& b = static_cast<const Buffer&>(member);
        return b.defined() ? fmt::format("a buffer of shape {}", str(b->shape())) : "";
      }
      case MemberKind::mode: return "a module with a training mode, as Dropout is,";
      case MemberKind::holder: {
        First first(named_);
        static_cast<const Holder&>(member).walk_held(first);
        return first.found.empty() ? "" : fmt::format("a container that holds {}", first.found);
      }
    }
    return "";
  }

  void enter(std::string_view type, std::span<const std::byte> memory) override {
    modules_.push_back(
        {memory.data(), memory.size(), path().empty() ? std::string(type) : fmt::format("{} \"{}\"", type, path())});
  }
  void parameter(Parameter& p) override { named_.insert(&p); }
  void buffer(Buffer& b) override { named_.insert(&b); }
  void mode(bool& training) override { named_.insert(&training); }
  void holder(const Holder& h) override { named_.insert(static_cast<const Member*>(&h)); }
  void left_out(std::span<const std::byte> memory) override { left_out_.push_back({memory.data(), memory.size(), ""}); }

  std::vector<Module> modules_, left_out_;
  Addresses named_;
};

}  // namespace

void require_whole_visit(const AnyModel& model) {
  Search search;
  model.walk(search);
  const std::vector<std::string> forgotten = search.all_forgotten();
  if (forgotten.empty()) return;
  fail("visit",
       "{} {} not named by its visit: field(\"name\", member) names a member, and field.ignore(member) leaves one out "
       "on purpose",
       fmt::join(forgotten, "; "), forgotten.size() == 1 ? "is" : "are");
}

}  // namespace tapegrad::nn::detail
