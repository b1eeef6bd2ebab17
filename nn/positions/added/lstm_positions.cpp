// Positions by an LSTM over the embeddings.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/lstm_positions.h>
#include <tapegrad/nn/positions/detail/kind.h>

#include <vector>

namespace tapegrad::nn {

LstmPositions::LstmPositions(int64_t dim, int64_t size)
    : lstm(detail::checked_dim(dim), size, {.batch_first = true}), projection(size, dim, false) {}

Tensor LstmPositions::operator()(const Tensor& x, KVCache* cache) const {
  if (!cache) return projection(lstm(x).output);
  // Token by token, because the cache keeps the states after each one.
  LSTMState state;
  std::vector<Tensor> outputs, cells;
  const int64_t read = cache->length();
  const int64_t size = lstm.hidden_size;
  if (read > 0) {
    const Tensor none = zeros({x.size(0), 1, 0, size}, x.dtype());
    const auto [hidden, cell] = cache->append_history({none, none});
    state = {hidden.select(2, -1).transpose(0, 1), cell.select(2, -1).transpose(0, 1)};
  }
  for (const Tensor& token : split(x, 1, 1)) {  // [B, 1, C]
    const auto [output, hidden, cell] = lstm(token, state);
    state = {hidden, cell};
    outputs.push_back(output);
    cells.push_back(cell.transpose(0, 1));
  }
  const Tensor output = cat(outputs, 1);
  cache->append_history({output.unsqueeze(1), cat(cells, 1).unsqueeze(1)});
  return projection(output);
}

namespace {

struct AddedLstm final : AddedEncoding {
  AddedLstm(const PositionSizes& sizes, const LstmPositionOptions& o)
      : lstm(sizes.width, detail::size_or(o.size, sizes.width)) {}
  Tensor operator()(const Tensor& x, int64_t, const Tensor&, KVCache* cache) const override { return lstm(x, cache); }
  void visit(auto&& field) { field("lstm", lstm); }

  LstmPositions lstm;
};

}  // namespace

struct LstmKind final : PositionKind {
  LstmKind() : PositionKind("lstm", "adds the states of an LSTM", Role::added) {}
  void list(PositionOptions& o, Fields& f) const override {
    f.add(detail::size_setting("lstm-size", "lstm: size of the hidden states"), o.of<LstmPositionOptions>().size);
  }
  AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions& o) const override {
    return AddedLstm(sizes, o.of<LstmPositionOptions>());
  }
};
template const PositionKind& position_kind<LstmKind>();

}  // namespace tapegrad::nn
