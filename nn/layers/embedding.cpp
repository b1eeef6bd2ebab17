// The lookup table of token vectors, and sums over bags of ids.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/segment.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/init.h>

#include <algorithm>
#include <vector>

namespace tapegrad::nn {

namespace {

Shape table_shape(int64_t count, int64_t dim) {
  require_positive("embedding", "the number of ids", count);
  require_positive("embedding", "the size of a vector", dim);
  return {count, dim};
}

void check_bags(const Tensor& ids, const Tensor& offsets, const Tensor& weights, const EmbeddingBagOptions& options) {
  const auto wrong = [](const std::string& text) { fail("embedding_bag", text); };
  const bool rows = ids.dim() == 2;
  if (!is_integer(ids.dtype()) || (!rows && ids.dim() != 1))
    fail_ids("embedding_bag", "[B, N], or [n] with offsets", ids);
  if (offsets.defined() == rows)
    wrong(rows ? "expected no offsets with ids [B, N], got some" : "expected offsets [B] with ids [n], got none");
  if (!rows && (!is_integer(offsets.dtype()) || offsets.dim() != 1)) fail_ids("embedding_bag, offsets", "[B]", offsets);
  if (!weights.defined()) return;
  if (options.mode != Bag::sum)
    wrong("expected per_sample_weights with Bag::sum only, got some for a mean or a maximum");
  if (weights.shape() != ids.shape()) {
    wrong(fmt::format("expected per_sample_weights in the shape of the ids, {}, got {}", str(ids.shape()),
                      str(weights.shape())));
  }
}

// The first id of each bag, and the number of ids.
std::vector<int64_t> ends_of(const Tensor& ids, const Tensor& offsets, bool include_last) {
  std::vector<int64_t> at;
  if (!offsets.defined()) {
    for (int64_t i = 0; i <= ids.size(0); ++i) at.push_back(i * ids.size(1));
    return at;
  }
  at = offsets.to(kInt64).to_vector<int64_t>();
  if (!include_last) at.push_back(ids.numel());
  if (at.empty() || at.front() != 0 || !std::is_sorted(at.begin(), at.end()) || at.back() > ids.numel()) {
    fail("embedding_bag", "expected offsets that begin with 0, do not fall and are at most {}, got {}{}", ids.numel(),
         str(offsets), include_last ? " with include_last_offset" : "");
  }
  return at;
}

}  // namespace

Embedding::Embedding(int64_t count, int64_t dim, std::optional<int64_t> padding)
    : weight(Parameter(init::blank(table_shape(count, dim)))), padding(padding) {
  if (padding && !(*padding >= 0 && *padding < count)) {
    fail("embedding", "expected a padding id in [0, {}), got {}", count, *padding);
  }
  init::normal(weight);
  if (padding && !init::ShapesOnly::on()) std::fill_n(weight.mutable_data<float>() + *padding * dim, dim, 0.0F);
}

std::string Embedding::describe() const {
  return fmt::format(
      "nn::Embedding({}, {}{})", weight.outputs(), weight.inputs(),
      sparse    ? fmt::format(", {{{}.sparse = true}}", padding ? fmt::format(".padding = {}, ", *padding) : "")
      : padding ? fmt::format(", {}", *padding)
                : "");
}

EmbeddingBag::EmbeddingBag(int64_t count, int64_t dim, const EmbeddingBagOptions& options)
    : weight(std::move(Embedding(count, dim, options.padding_idx).weight)), options(options) {}

Tensor EmbeddingBag::operator()(const Tensor& ids, const Tensor& offsets, const Tensor& per_sample_weights) const {
  check_bags(ids, offsets, per_sample_weights, options);
  const std::vector<int64_t> ends = ends_of(ids, offsets, options.include_last_offset);
  const int64_t bags = std::ssize(ends) - 1, count = ends.back();
  const Tensor flat = narrow(ids.to(kInt64).flatten(), 0, 0, count);
  std::vector<int64_t> kept, bag_of;  // positions in `flat`, and the bag of each
  const int64_t* const id = flat.contiguous().data<int64_t>();
  for (int64_t bag = 0; bag < bags; ++bag)
    for (int64_t i = ends[bag]; i < ends[bag + 1]; ++i)
      if (id[i] != options.padding_idx) kept.push_back(i), bag_of.push_back(bag);
  const int64_t n = std::ssize(kept);
  const Tensor at = tensor(kept, {n}), of = tensor(bag_of, {n});
  Tensor rows = weight.rows(index_select(flat, 0, at), {}, options.sparse);
  if (per_sample_weights.defined()) rows = rows * index_select(per_sample_weights.flatten(), 0, at).unsqueeze(-1);
  if (options.mode == Bag::sum) return segment_sum(rows, of, bags);
  if (options.mode == Bag::mean) return segment_mean(rows, of, bags);
  const Tensor filled = segment_sum(ones({n}, kInt64), of, bags) > 0;
  return where(filled.unsqueeze(-1), segment_max(rows, of, bags), 0);
}

}  // namespace tapegrad::nn
