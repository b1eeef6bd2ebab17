// Adds a positional encoding to embeddings.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/added_positions.h>

namespace tapegrad::nn {

AddedPositions::AddedPositions(Positions positions, int64_t max_positions, int64_t dim, const PositionOptions& options,
                               bool causal)
    : kind(added_kind(positions, options)), sizes{.width = dim, .max_positions = max_positions, .causal = causal} {
  options.check();
  encoding = kind_of(positions).added(sizes, options);
}

Tensor AddedPositions::operator()(const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) const {
  if (!encoding.defined() || x.numel() == 0) return x;
  const Tensor y = x + (*encoding)(x, start, mask, cache);
  detail::report_call(this, detail::type_name<AddedPositions>(), y);
  return y;
}

std::string AddedPositions::describe() const {
  if (!encoding.defined()) return "";
  const bool tells_causal = sizes.causal && !kind_of(kind).ignores_tokens();
  return fmt::format("nn::AddedPositions({}, {}, {}{})", code_of(kind), sizes.max_positions, sizes.width,
                     tells_causal ? ", {}, true" : "");
}

}  // namespace tapegrad::nn
