// Watches a pass: a walk lists the members, and a tape what they ran.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/tape_modules.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/nn/module/internal/keep_generator.h>
#include <tapegrad/nn/watch.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tapegrad::nn::detail {

namespace {

using Kind = WatchedMember::Kind;

// A module is identified by address and type, because a struct and its first member have the same address.
using ModuleKey = std::pair<const void*, std::string_view>;

class MemberVisitor : public Visitor {
 public:
  std::vector<WatchedMember> members;
  std::vector<Parameter*> parameters;  // by member; nullptr for the others

 private:
  void enter(std::string_view type, std::span<const std::byte> module) override {
    WatchedMember& member = add(Kind::module);
    member.type = type;
    member.address = module.data();
    if (member.path.empty()) member.name = type;
    open_.push_back(members.size() - 1);
  }
  void entered(const ModuleType& type) override {
    WatchedMember& member = members[open_.back()];
    member.of = &type.type;
    member.code = type.code(member.address);
  }
  void leave() override { open_.pop_back(); }
  void parameter(Parameter& p) override {
    WatchedMember& member = add(Kind::parameter);
    parameters.back() = &p;
    member.shape = p->shape();
    member.frozen = p.frozen();
    if (!is_first(&p.tensor())) return;
    member.count = p->numel();
    for (const std::size_t module : open_) members[module].count += member.count;
  }
  void buffer(Buffer& b) override {
    add(Kind::buffer).shape = b->shape();
    is_first(&b);
  }
  WatchedMember& add(Kind kind) {
    const std::string_view all = path();
    const std::size_t skip =
        open_.empty() || members[open_.back()].path.empty() ? 0 : members[open_.back()].path.size() + 1;
    members.push_back({.kind = kind,
                       .depth = open_.size(),
                       .name = std::string(all.substr(std::min(skip, all.size()))),
                       .path = std::string(all)});
    parameters.push_back(nullptr);
    members.back().first = members.size() - 1;
    return members.back();
  }
  // Whether the member that was added last is the first one with this tensor.
  bool is_first(const void* tensor) {
    std::size_t& first = members.back().first;
    first = firsts_.emplace(tensor, first).first->second;
    return first == members.size() - 1;
  }
  std::vector<std::size_t> open_;  // the modules around the current member
  std::unordered_map<const void*, std::size_t> firsts_;
};

// Eval mode and all parameters on the tape; the destructor restores everything.
class Prepared : NonCopyable {
 public:
  Prepared(AnyModel model, const MemberVisitor& visited) : eval_(model) {
    for (Parameter* parameter : visited.parameters) {
      if (!parameter || !parameter->frozen()) continue;
      frozen_.push_back(parameter);
      parameter->freeze(false);
    }
  }
  ~Prepared() {
    for (Parameter* parameter : frozen_) parameter->freeze();
  }

 private:
  const KeepGenerator keep_;
  const EvalMode eval_;
  std::vector<Parameter*> frozen_;
};

struct Output {
  Shape shape;
  int64_t operation;
};
using Outputs = std::map<ModuleKey, Output>;

// Keeps the values of a tape, and what modules report.
class Pass : public TapeWatch {
 public:
  struct Result {
    Tensor y;
    std::vector<Tensor> inputs;
    OpSettings settings = {};
  };
  Pass(const Tape& tape, bool plain) : TapeWatch(tape), plain_(plain) {}
  std::map<int64_t, Result> results;  // by position
  Outputs outputs;

 private:
  void recorded(const Tensor& y, std::span<const Tensor> inputs) override {
    results.emplace(y.tape_index().position, Result{y, {inputs.begin(), inputs.end()}});
  }
  void called_with(const Tensor& y, OpSettings settings) override {
    const auto found = results.find(y.tape_index().position);
    if (found != results.end() && found->second.y.same(y)) found->second.settings = std::move(settings);
  }
  bool plain_attention() const override { return plain_; }
  void called(const void* module, std::string_view type, const Tensor& result) override {
    const TapeIndex& index = result.tape_index();
    const bool recorded = index.tape != 0 && !result.is_leaf() && results.contains(index.position);
    outputs.insert_or_assign({module, type}, Output{result.shape(), recorded ? index.position : -1});
  }

  const bool plain_;
};

// The paths of a tape's leaves in the model, by position.
std::vector<std::string> names_in(const MemberVisitor& model, const Tape& tape) {
  std::map<int64_t, std::string> paths;  // by the leaf's number
  for (std::size_t i = 0; i < model.members.size(); ++i)
    if (model.parameters[i] && model.parameters[i]->tensor().is_leaf())
      paths.emplace(model.parameters[i]->tensor().tape_index().position, model.members[i].path);
  return names_of_leaves(tape, [&](const TapeIndex& leaf) {
    const auto found = paths.find(leaf.position);
    return found == paths.end() ? std::string() : found->second;
  });
}

std::vector<WatchedOperation> operations_of(const MemberVisitor& model, const Tape& tape, const Pass& pass) {
  const std::vector<Tensor> leaves = tape.leaves();
  std::vector<std::string> names = names_in(model, tape), modules = modules_of(tape, names);
  auto leaf = leaves.begin();
  std::vector<WatchedOperation> operations;
  for (int64_t i = 0; i < tape.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::span<const int64_t> inputs = tape.inputs_of(i);
    WatchedOperation& op = operations.emplace_back();
    op.name = tape.op_name(i);
    op.inputs.assign(inputs.begin(), inputs.end());
    op.constants.resize(inputs.size());
    if (op.name == "leaf") {
      op.module = std::move(names[at]);
      op.value = (leaf++)->detach();
      continue;
    }
    op.module = std::move(modules[at]);
    const auto found = pass.results.find(i);
    if (found == pass.results.end()) continue;  // Tape::variable
    const auto& [y, given, settings] = found->second;
    op.value = y.detach();
    op.settings = settings;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k] < 0 && given[k].defined()) op.constants[k] = given[k].detach();
  }
  return operations;
}

// Runs backward, which ends the tape.
void add_gradients(std::vector<WatchedOperation>& operations, Tape& tape, const Pass& pass, const Tensor& loss) {
  const std::vector<Tensor> leaves = tape.leaves();
  auto leaf = leaves.begin();
  std::vector<Tensor> tensors;
  BackwardOptions options;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Tensor& tensor = tensors.emplace_back(operations[i].name == "leaf" ? *leaf++ : Tensor());
    const auto found = pass.results.find(static_cast<int64_t>(i));
    if (found != pass.results.end()) options.keep.push_back(tensor = found->second.y);
  }
  const Gradients gradients = tape.backward(loss, options);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Tensor* const found = tensors[i].defined() ? gradients.find(tensors[i]) : nullptr;
    if (found != nullptr) operations[i].gradient = *found;
  }
}

// The output shapes of modules whose own parameters are all inputs of one operation. Of a tied parameter
// it is unknown which of its modules used it.
void add_shapes(const std::vector<WatchedOperation>& operations, MemberVisitor& model, Tape& tape, Outputs& outputs) {
  std::vector<std::size_t> open;
  std::map<std::size_t, std::vector<int64_t>> owned;  // the places of each module's own parameters
  std::map<int64_t, int> owners;
  for (std::size_t i = 0; i < model.members.size(); ++i) {
    open.resize(model.members[i].depth);
    if (model.members[i].kind == Kind::module) {
      open.push_back(i);
    } else if (model.parameters[i] && !open.empty()) {
      const Tensor& leaf = model.parameters[i]->tensor();
      const int64_t place = leaf.is_leaf() ? tape.position_of(leaf) : -1;
      owned[open.back()].push_back(place);
      ++owners[place];
    }
  }
  for (const auto& [module, places] : owned) {
    if (std::any_of(places.begin(), places.end(), [&](int64_t place) { return place < 0 || owners[place] > 1; }))
      continue;
    int64_t uses = 0, last = -1;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const std::vector<int64_t>& inputs = operations[i].inputs;
      const auto is_input = [&](int64_t place) {
        return std::find(inputs.begin(), inputs.end(), place) != inputs.end();
      };
      if (std::all_of(places.begin(), places.end(), is_input)) {
        last = static_cast<int64_t>(i);
      } else {
        uses += std::any_of(places.begin(), places.end(), is_input);
      }
    }
    if (last < 0 || uses > 0) continue;
    const WatchedMember& member = model.members[module];
    outputs.emplace(ModuleKey{member.address, member.type},
                    Output{operations[static_cast<std::size_t>(last)].value.shape(), last});
  }
}

}  // namespace

void report_call(const void* module, std::string_view type, const Tensor& result) {
  if (TapeWatch* const watch = TapeWatch::current()) watch->called(module, type, result);
}

void add_member(std::string& code, std::string_view name, bool value) {
  code += fmt::format("{}.{} = {}", code.empty() ? "" : ", ", name, value);
}
void add_member(std::string& code, std::string_view name, int64_t value) {
  code += fmt::format("{}.{} = {}", code.empty() ? "" : ", ", name, value);
}
void add_member(std::string& code, std::string_view name, double value) {
  code += fmt::format("{}.{} = {:g}", code.empty() ? "" : ", ", name, value);
}

Watched watch(const AnyModel& model, const std::function<Tensor()>& call, const WatchOptions& options) {
  MemberVisitor visitor;
  model.walk(visitor);
  Watched seen;
  if (call) {
    const Prepared prepared(model, visitor);
    Tape tape;
    Pass pass(tape, options.plain_attention);
    const Tensor result = call();
    if (result.defined()) {
      seen.result = result.detach();
      if (!visitor.members.empty()) {
        const WatchedMember& whole = visitor.members[0];
        pass.outputs.emplace(ModuleKey{whole.address, whole.type}, Output{result.shape(), -1});
      }
    }
    seen.operations = operations_of(visitor, tape, pass);
    add_shapes(seen.operations, visitor, tape, pass.outputs);
    for (WatchedMember& member : visitor.members) {
      const auto found = pass.outputs.find({member.address, member.type});
      if (member.kind != Kind::module || found == pass.outputs.end()) continue;
      member.shape = found->second.shape;
      member.output = found->second.operation;
      if (member.output < 0 || member.path.empty()) continue;
      std::string& ran = seen.operations[static_cast<std::size_t>(member.output)].module;
      if (ran.empty() || member.path.starts_with(ran + ".")) ran = member.path;  // without parameters
    }
    if (options.gradients) add_gradients(seen.operations, tape, pass, result);
  }
  seen.members = std::move(visitor.members);
  return seen;
}

}  // namespace tapegrad::nn::detail
