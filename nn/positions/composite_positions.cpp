// An added positional encoding and a relative one at once, with a learned weight each.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/composite_positions.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <utility>

namespace tapegrad::nn {

namespace {

struct WeightedAdded final : AddedEncoding {
  explicit WeightedAdded(AnyOf<AddedEncoding> part) : part(std::move(part)), alpha(ones({})) {}
  Tensor operator()(const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) const override {
    return alpha * (*part)(x, start, mask, cache);
  }
  Parameter* table() override { return part->table(); }
  void visit(auto&& field) {
    part.visit(field);
    field("alpha", alpha);
  }

  AnyOf<AddedEncoding> part;
  Parameter alpha;  // one number
};

struct WeightedRelative final : RelativeEncoding {
  explicit WeightedRelative(AnyOf<RelativeEncoding> part) : part(std::move(part)), beta(ones({})) {}
  PositionBias operator()(int64_t queries, int64_t keys, int64_t start, DType dtype, const Tensor&) const override {
    PositionBias out{.start = start};
    if (part.defined()) out = (*part)(queries, keys, start, dtype, beta);
    out.pair_scale = beta;
    return out;
  }
  void visit(auto&& field) {
    part.visit(field);
    field("beta", beta);
  }

  AnyOf<RelativeEncoding> part;  // none if its effect is that of each attention alone
  Parameter beta;                // one number
};

}  // namespace

struct CompositeKind final : PositionKind {
  CompositeKind() : PositionKind("composite", "an added and a relative one, with learned weights", Role::neither) {}
  void list(PositionOptions& options, Fields& f) const override {
    CompositePositionOptions& o = options.of<CompositePositionOptions>();
    f.add({.name = "composite-added",
           .help = "composite: the added encoding, weighted by alpha",
           .choices = added_position_names()},
          o.added);
    f.add({.name = "composite-relative",
           .help = "composite: the relative encoding, weighted by beta",
           .choices = relative_position_names()},
          o.relative);
  }
  bool has(std::string_view encoding, const PositionOptions& options) const override {
    const CompositePositionOptions& o = options.of<CompositePositionOptions>();
    return encoding == name || encoding == o.added || encoding == o.relative;
  }
  void check_sizes(const PositionSizes& sizes, const PositionOptions& o, const Wrong& wrong) const override {
    kind_of(relative_kind(o)).check_sizes(sizes, o, wrong);
    kind_of(added_kind(o)).check_sizes(sizes, o, wrong);
  }
  Positions added_kind(const PositionOptions& o) const override {
    return positions_named(o.of<CompositePositionOptions>().added);
  }
  Positions relative_kind(const PositionOptions& o) const override {
    return positions_named(o.of<CompositePositionOptions>().relative);
  }
  AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions& o) const override {
    return WeightedAdded(kind_of(added_kind(o)).added(sizes, o));
  }
  AnyOf<RelativeEncoding> relative(const PositionSizes& sizes, const PositionOptions& o) const override {
    return WeightedRelative(kind_of(relative_kind(o)).relative(sizes, o));
  }
  AnyOf<PairEncoding> pairs(const PositionSizes& sizes, const PositionOptions& o) const override {
    return kind_of(relative_kind(o)).pairs(sizes, o);
  }
};
template const PositionKind& position_kind<CompositeKind>();

}  // namespace tapegrad::nn
