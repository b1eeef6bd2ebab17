// Positional encodings that are added to embeddings.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/added_positions.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "positions";

int64_t checked_dim(int64_t dim) {
  require_positive(kWhere, "the size of a vector", dim);
  return dim;
}

int64_t size_or(int64_t size, int64_t dim) { return size > 0 ? size : dim; }

// x with zeros at padding.
Tensor without_padding(const Tensor& x, const Tensor& mask) {
  return mask.defined() ? masked_fill(x, logical_not(mask), 0) : x;
}

// x [B, T, C], padded for a convolution of this width: with zeros, or with earlier tokens.
Tensor with_surroundings(const Tensor& x, int64_t width, bool causal, KVCache* cache) {
  const int64_t before = causal ? width - 1 : width / 2;
  if (!cache) return pad(x, {0, 0, before, width - 1 - before});
  const Tensor all = cache->append_history({x.unsqueeze(1), {}}).keys.select(1, 0);  // [B, S, C]
  const int64_t seen = std::min(all.size(1), x.size(1) + before);
  return pad(narrow(all, 1, all.size(1) - seen, seen), {0, 0, x.size(1) + before - seen, 0});
}

// x [B, W, C] convolved with `weight` [O, C / groups, width] -> [B, T, O].
Tensor convolved(const Tensor& x, const Tensor& weight, int64_t groups) {
  return conv1d(x.transpose(1, 2), weight, {}, {.groups = groups}).transpose(1, 2);
}

void require_causal(bool causal, const KVCache* cache) {
  if (cache && !causal) fail(kWhere, "a cache needs causal positions");
}

}  // namespace

// --- convolutions ---

ConvPositions::ConvPositions(int64_t dim, int64_t width, bool causal)
    : weight(Tensor::empty({checked_dim(dim), 1, width})), causal(causal) {
  PositionOptions{.conv_width = width}.check();
  init::kaiming_uniform(weight, std::sqrt(5.0));
}

Tensor ConvPositions::operator()(const Tensor& x, const Tensor& mask, KVCache* cache) const {
  require_causal(causal, cache);
  return convolved(with_surroundings(without_padding(x, mask), weight->size(2), causal, cache), weight, x.size(-1));
}

MultiscaleConvPositions::MultiscaleConvPositions(int64_t dim, bool causal)
    : narrow(dim, dim - dim / 2, 3, {}, false), wide(dim, std::max<int64_t>(dim / 2, 1), 5, {}, false), causal(causal) {
  if (dim < 2) fail(kWhere, fmt::format("expected vectors of at least 2 elements for two convolutions, got {}", dim));
}

Tensor MultiscaleConvPositions::operator()(const Tensor& x, const Tensor& mask, KVCache* cache) const {
  require_causal(causal, cache);
  const Tensor seen = with_surroundings(without_padding(x, mask), 5, causal, cache);
  // The narrow window is the middle of the wide one, or its last three elements.
  const Tensor part = tapegrad::narrow(seen, 1, causal ? 2 : 1, seen.size(1) - 2);
  return cat({convolved(part, narrow.weight, 1), convolved(seen, wide.weight, 1)}, 2);
}

// --- LSTM ---

LstmPositions::LstmPositions(int64_t dim, int64_t size)
    : lstm(checked_dim(dim), size, {.batch_first = true}), projection(size, dim, false) {}

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

// --- differential equation ---

OdePositions::OdePositions(int64_t dim, const PositionOptions& o)
    : start_value(zeros({checked_dim(dim)})),
      w_1(dim, size_or(o.ode_size, dim)),
      w_2(size_or(o.ode_size, dim), dim),
      time(Tensor::empty({size_or(o.ode_size, dim)})),
      interval(o.ode_interval),
      options(o.ode) {
  o.check();
  const double bound = 1 / std::sqrt(static_cast<double>(dim));
  init::uniform(time, -bound, bound);
}

Tensor OdePositions::operator()(int64_t length, int64_t start, KVCache* cache) const {
  const int64_t dim = start_value->size(0);
  const auto solved = [&](int64_t count) {  // positions 0 .. count - 1
    std::vector<double> times;
    for (int64_t i = 0; i < count; ++i) times.push_back(static_cast<double>(i) * interval);
    const OdeSlope slope = [](double t, const Tensor& h, std::span<const Tensor> p) {
      return linear(tanh(linear(h, p[0], p[1]) + p[2] * t), p[3], p[4]);
    };
    const OdeSlopeGradients gradients = [](double t, const Tensor& h, std::span<const Tensor> p, const Tensor& a) {
      const Tensor z = tanh(linear(h, p[0], p[1]) + p[2] * t), dz = matmul(a, p[3]) * (1 - z * z);
      const Tensor db = dz.reshape({dz.size(1)});
      return std::vector<Tensor>{matmul(dz, p[0]), matmul(dz.t(), h), db,
                                 db * t,           matmul(a.t(), z),  a.reshape({a.size(1)})};
    };
    const Tensor parameters[] = {w_1.weight.matrix(), w_1.bias, time, w_2.weight.matrix(), w_2.bias};
    const Tensor from = start_value->reshape({1, dim});
    return odeint(slope, from, parameters, times, options, gradients).reshape({count, dim}) - from;
  };
  // One position alone would leave the slope out, and its parameters without gradients.
  if (!cache) return narrow(solved(std::max<int64_t>(2, start + length)), 0, start, length);
  Tensor& table = cache->table();
  if (table.defined() && table.size(1) != dim) {
    fail(kWhere, fmt::format("expected a cache with positions of width {}, got {} (is the cache of another model?)",
                             dim, table.size(1)));
  }
  if (!table.defined() || table.size(0) < start + length) table = solved(std::max<int64_t>(64, 2 * (start + length)));
  return narrow(table, 0, start, length);
}

// --- complex numbers ---

ComplexPositions::ComplexPositions(int64_t dim) {
  checked_dim(dim);
  if (dim % 2 != 0) fail(kWhere, fmt::format("complex numbers are pairs: the width must be even, got {}", dim));
  const int64_t pairs = dim / 2;
  std::vector<double> frequencies;
  for (int64_t k = 0; k < pairs; ++k) {
    frequencies.push_back(std::pow(10000.0, -2.0 * static_cast<double>(k) / static_cast<double>(dim)));
  }
  amplitude = Parameter(ones({pairs}));
  frequency = Parameter(tensor(frequencies, {pairs}).to(kFloat32));
  phase = Parameter(zeros({pairs}));
}

Tensor ComplexPositions::operator()(int64_t length, int64_t start) const {
  const Tensor at = arange(static_cast<double>(start), static_cast<double>(start + length), 1, frequency->dtype());
  const Tensor angle = at.reshape({length, 1}) * frequency + phase;  // [length, pairs]
  return stack({amplitude * cos(angle), amplitude * sin(angle)}, -1).reshape({length, 2 * frequency->size(0)});
}

// --- network ---

DynamicPositions::DynamicPositions(int64_t dim, int64_t size, bool causal)
    : w_1(2 * checked_dim(dim), size), w_2(size, dim), causal(causal) {}

Tensor DynamicPositions::operator()(const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) const {
  require_causal(causal, cache);
  const int64_t length = x.size(1);
  const Tensor tokens = without_padding(x, mask);
  Tensor context;  // [B, T, C]
  if (causal) {
    Tensor sums = cumsum(tokens, 1);
    if (cache) {
      if (cache->length() > 0) {
        const Tensor none = zeros({x.size(0), 1, 0, x.size(2)}, x.dtype());
        sums = sums + cache->append_history({none, {}}).keys.select(2, -1);  // [B, 1, C]: of earlier tokens
      }
      cache->append_history({sums.unsqueeze(1), {}});
    }
    const double first = static_cast<double>(start + 1), last = static_cast<double>(start + length);
    const Tensor counts = mask.defined() ? clamp(cumsum(mask.to(x.dtype()), 1), 1, INFINITY)
                                         : arange(first, last + 1, 1, x.dtype()).reshape({length, 1});
    context = sums / counts;
  } else {
    const Tensor sums = sum(tokens, 1, true);
    const Tensor mean =
        mask.defined() ? sums / clamp(sum(mask.to(x.dtype()), 1, true), 1, INFINITY) : sums / double(length);
    context = mean.expand(x.shape());
  }
  const Tensor table = sinusoidal_table(length, x.size(2), start).to(x.dtype()).expand(x.shape());
  return w_2(gelu(w_1(cat({table, context}, 2))));
}

// --- any kind ---

AddedPositions::AddedPositions(Positions positions, int64_t max_positions, int64_t dim, const PositionOptions& options,
                               bool causal)
    : kind(added_kind(positions, options)), interpolate_to(options.interpolate_to) {
  options.check();
  switch (kind) {
    case Positions::learned: learned = LearnedPositions(max_positions, dim); break;
    case Positions::conv: conv.emplace(dim, options.conv_width, causal); break;
    case Positions::conv_multiscale: conv_multiscale.emplace(dim, causal); break;
    case Positions::lstm: lstm.emplace(dim, size_or(options.lstm_size, dim)); break;
    case Positions::ode: ode.emplace(dim, options); break;
    case Positions::complex: complex.emplace(dim); break;
    case Positions::dynamic: dynamic.emplace(dim, size_or(options.dynamic_size, dim), causal); break;
    default: break;
  }
  if (positions == Positions::composite) alpha = Parameter(ones({}));
}

namespace {

// P of a kind, for x [B, T, C] with T > 0.
Tensor encoding(const AddedPositions& p, const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) {
  const int64_t length = x.size(1);
  switch (p.kind) {
    case Positions::index:
      return arange(static_cast<double>(start), static_cast<double>(start + length), 1, x.dtype()).reshape({length, 1});
    case Positions::sinusoidal: return sinusoidal_table(length, x.size(-1), start).to(x.dtype());
    case Positions::learned:
      if (p.interpolate_to > p.learned.weight->size(0)) {
        return p.learned.interpolated(length, start, p.interpolate_to);
      }
      return p.learned(length, start);
    case Positions::conv: return (*p.conv)(x, mask, cache);
    case Positions::conv_multiscale: return (*p.conv_multiscale)(x, mask, cache);
    case Positions::lstm: return (*p.lstm)(x, cache);
    case Positions::ode: return (*p.ode)(length, start, cache);
    case Positions::complex: return (*p.complex)(length, start);
    case Positions::dynamic: return (*p.dynamic)(x, start, mask, cache);
    default: fail(kWhere, fmt::format("{} positions are not added", name(p.kind)));
  }
}

}  // namespace

Tensor AddedPositions::operator()(const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) const {
  if (kind == Positions::none || x.numel() == 0) return x;
  const Tensor p = encoding(*this, x, start, mask, cache);
  return alpha.defined() ? x + alpha * p : x + p;
}

int64_t added_parameter_count(Positions positions, int64_t max_positions, int64_t dim, const PositionOptions& o) {
  const int64_t lstm = size_or(o.lstm_size, dim), ode = size_or(o.ode_size, dim);
  const int64_t dynamic = size_or(o.dynamic_size, dim), alpha = positions == Positions::composite ? 1 : 0;
  switch (added_kind(positions, o)) {
    case Positions::learned: return alpha + max_positions * dim;
    case Positions::conv: return alpha + dim * o.conv_width;
    case Positions::conv_multiscale: return alpha + dim * (3 * (dim - dim / 2) + 5 * (dim / 2));
    case Positions::lstm: return alpha + 4 * lstm * (dim + lstm + 2) + lstm * dim;
    case Positions::ode: return alpha + dim + ode * (dim + 2) + dim * (ode + 1);
    case Positions::complex: return alpha + dim / 2 * 3;
    case Positions::dynamic: return alpha + dynamic * (2 * dim + 1) + dim * (dynamic + 1);
    default: return alpha;
  }
}

}  // namespace tapegrad::nn
