// One learned vector per position, also between the rows of a table.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/learned_positions.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <algorithm>

namespace tapegrad::nn {

LearnedPositions::LearnedPositions(int64_t max_positions, int64_t dim)
    : weight(init::blank(detail::table_shape(max_positions, dim))) {
  init::normal(weight);
}

Tensor LearnedPositions::operator()(int64_t length, int64_t start) const {
  detail::require_within(start + length, weight->size(0));
  return narrow(weight, 0, start, length);
}

Tensor LearnedPositions::interpolated(int64_t length, int64_t start, int64_t total) const {
  const int64_t rows = weight->size(0);
  detail::require_within(start + length, total);
  const Tensor lower = Tensor::empty({length}, kInt64), upper = Tensor::empty({length}, kInt64);
  const Tensor between = Tensor::empty({length, 1}, kFloat64);  // 0: on the lower row
  for (int64_t i = 0; i < length; ++i) {
    const double at = static_cast<double>((start + i) * rows) / static_cast<double>(total);
    const auto row = std::min(static_cast<int64_t>(at), rows - 1);
    lower.mutable_data<int64_t>()[i] = row;
    upper.mutable_data<int64_t>()[i] = std::min(row + 1, rows - 1);
    between.mutable_data<double>()[i] = at - static_cast<double>(row);
  }
  const Tensor from = index_select(weight, 0, lower);
  return from + between.to(from.dtype()) * (index_select(weight, 0, upper) - from);
}

namespace {

struct AddedTable final : AddedEncoding {
  AddedTable(const PositionSizes& sizes, const LearnedPositionOptions& o)
      : learned(sizes.max_positions, sizes.width), interpolate_to(o.interpolate_to) {}
  Tensor operator()(const Tensor& x, int64_t start, const Tensor&, KVCache*) const override {
    const int64_t length = x.size(1);
    return interpolate_to > learned.weight->size(0) ? learned.interpolated(length, start, interpolate_to)
                                                    : learned(length, start);
  }
  Parameter* table() override { return &learned.weight; }
  void visit(auto&& field) { learned.visit(field); }  // "weight"

  LearnedPositions learned;
  int64_t interpolate_to;
};

}  // namespace

struct LearnedKind final : PositionKind {
  LearnedKind() : PositionKind("learned", "adds a learned vector", Role::added) {}
  void list_stretching(PositionOptions& o, Fields& f) const override {
    f.add("interpolate-to", "learned: stretch the table of positions over inputs of this length",
          o.of<LearnedPositionOptions>().interpolate_to, kNotNegative)
        .special = "0: no stretching";
  }
  int64_t longest_input(int64_t max_positions, const PositionOptions& o) const override {
    return std::max(max_positions, o.of<LearnedPositionOptions>().interpolate_to);
  }
  bool ignores_tokens() const override { return true; }
  AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions& o) const override {
    return AddedTable(sizes, o.of<LearnedPositionOptions>());
  }
};
template const PositionKind& position_kind<LearnedKind>();

}  // namespace tapegrad::nn
