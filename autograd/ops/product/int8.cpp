// int8 matrices: conversion, linear and embedding; and linear layers in generation.
#include <fmt/format.h>
#include <tapegrad/autograd/detail/weights_once.h>
#include <tapegrad/autograd/int8.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>

#include <cstring>

namespace tapegrad {
namespace {

constexpr int64_t kPerElement = 8;  // int8 per int64

const int8_t* bytes_of(const Int8Matrix& m) { return static_cast<const int8_t*>(m.values.raw_data()); }

// Error unless `m` is a matrix with `columns` columns.
void require_int8(std::string_view where, const Int8Matrix& m, int64_t columns) {
  const Tensor &values = m.values, &scales = m.scales;
  const int64_t groups = int8_groups(columns);
  const bool fits = values.dtype() == kInt64 && values.dim() == 2 && values.is_contiguous() &&
                    values.size(1) == groups * (kInt8Group / kPerElement) && scales.dtype() == kFloat32 &&
                    scales.is_contiguous() && scales.shape() == Shape{values.size(0), groups};
  if (fits) return;
  fail(where, fmt::format("expected an int8 matrix with {} columns: values int64 [rows, {}] and scales float32 [rows, "
                          "{}], got {} {} and {} {}",
                          columns, groups * (kInt8Group / kPerElement), groups, name(values.dtype()),
                          str(values.shape()), name(scales.dtype()), str(scales.shape())));
}

}  // namespace

Int8Matrix quantize_int8(const Tensor& w) {
  constexpr std::string_view kWhere = "quantize_int8";
  if (w.dim() != 2 || w.dtype() != kFloat32) {
    fail(kWhere, fmt::format("expected a float32 matrix, got {} {}", name(w.dtype()), str(w.shape())));
  }
  if (!all_finite(w)) fail(kWhere, "expected finite numbers, got NaN or infinity (are the weights damaged?)");
  const Tensor from = w.detach().contiguous();
  const int64_t rows = w.size(0), groups = int8_groups(w.size(1));
  Int8Matrix m{Tensor::empty({rows, groups * kInt8Group / kPerElement}, kInt64), Tensor::empty({rows, groups})};
  round_to_int8(from.data<float>(), rows, w.size(1), static_cast<int8_t*>(m.values.mutable_raw_data()),
                m.scales.mutable_data<float>());
  return m;
}

Tensor dequantize_int8(const Int8Matrix& m, int64_t columns) {
  require_int8("dequantize_int8", m, columns);
  const Tensor w = Tensor::empty({m.values.size(0), columns});
  widen_int8(bytes_of(m), m.scales.data<float>(), w.size(0), columns, w.mutable_data<float>());
  return w;
}

Tensor linear(const Tensor& x, const Int8Matrix& weight, const Tensor& bias) {
  Tensor y;
  static const Tensor kNone;
  const detail::LinearWeight one[] = {{kNone, weight, bias}};
  detail::linear_each(x, one, {&y, 1});
  return y;
}

Tensor embedding(const Int8Matrix& table, int64_t columns, const Tensor& ids) {
  require_int8("embedding", table, columns);
  const Tensor flat = ids.reshape({-1});
  const Int8Matrix rows{index_select(table.values, 0, flat), index_select(table.scales, 0, flat)};
  Shape shape = ids.shape();
  shape.push_back(columns);
  return dequantize_int8(rows, columns).reshape(shape);
}

// --- several weights ---

namespace detail {
namespace {

constexpr std::string_view kLinear = "linear";

int64_t row_count(const Tensor& x) {
  int64_t count = 1;
  for (int i = 0; i + 1 < x.dim(); ++i) count *= x.shape()[i];
  return count;
}

bool no_gradient(const Tensor& x) { return !x.defined() || !needs_grad(x); }

// Whether linear() with this weight reads it once, without an error.
bool reads_once(const Tensor& x, const LinearWeight& w) {
  if (w.int8.defined()) return true;
  return w.weight.dim() == 2 && x.dim() > 0 && x.size(-1) == w.weight.size(1) &&
         (w.weight.dtype() == kFloat32 || w.weight.dtype() == kBFloat16) && streams_few(x, w.weight, w.bias) &&
         (!w.bias.defined() || (w.bias.dtype() == kFloat32 && w.bias.shape() == Shape{w.weight.size(0)}));
}

// Error unless an int8 weight fits x and bias.
void check(const Tensor& x, const LinearWeight& w) {
  if (!w.int8.defined()) return;
  if (x.dtype() != kFloat32 || x.dim() == 0) {
    fail(kLinear, fmt::format("expected an input float32 [..., in] with an int8 weight, got {} {}", name(x.dtype()),
                              str(x.shape())));
  }
  require_int8(kLinear, w.int8, x.size(-1));
  const int64_t out = w.int8.values.size(0);
  if (w.bias.defined() && (w.bias.dtype() != kFloat32 || !(w.bias.shape() == Shape{out}))) {
    fail(kLinear,
         fmt::format("expected a bias float32 [{}], got {} {}", out, name(w.bias.dtype()), str(w.bias.shape())));
  }
  if (!no_gradient(x) || !no_gradient(w.bias)) {
    fail(kLinear, "an int8 weight cannot be used while a tape records (use PauseRecording, or float32 weights)");
  }
}

}  // namespace

bool streams_few(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return WeightsOnce::on() && x.dtype() == kFloat32 && weight.is_contiguous() && row_count(x) <= kFewRows &&
         no_gradient(x) && no_gradient(weight) && no_gradient(bias);
}

void stream(const Tensor& x, std::span<const LinearWeight> weights, std::span<Tensor> results) {
  StreamedWeight streams[kMostStreams];
  Tensor packed[kMostStreams], biases[kMostStreams];
  const Tensor from = x.detach().contiguous();
  const int64_t rows = row_count(x), in = x.size(-1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const LinearWeight& w = weights[i];
    StreamedWeight& s = streams[i];
    if (w.int8.defined()) {
      s = {.format = WeightFormat::int8, .n = w.int8.values.size(0), .data = bytes_of(w.int8)};
      s.scales = w.int8.scales.data<float>();
    } else {
      packed[i] = w.weight.contiguous();
      s = {.format = w.weight.dtype() == kFloat32 ? WeightFormat::float32 : WeightFormat::bfloat16,
           .n = w.weight.size(0),
           .data = packed[i].raw_data()};
    }
    Shape shape = x.shape();
    shape[-1] = s.n;
    results[i] = Tensor::empty(shape);
    s.c = results[i].mutable_data<float>();
    if (!w.bias.defined()) continue;
    biases[i] = w.bias.detach().contiguous();
    s.bias = biases[i].data<float>();
  }
  if (rows <= kFewRows) return multiply_few_rows(rows, in, from.data<float>(), {streams, weights.size()});
  for (std::size_t i = 0; i < weights.size(); ++i) multiply_rows(rows, in, from.data<float>(), streams[i]);
}

void linear_each(const Tensor& x, std::span<const LinearWeight> weights, std::span<Tensor> results) {
  bool once = weights.size() <= kMostStreams && row_count(x) <= kFewRows;
  for (const LinearWeight& w : weights) {
    check(x, w);
    once = once && reads_once(x, w);
  }
  if (once) return stream(x, weights, results);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const LinearWeight& w = weights[i];
    if (w.int8.defined()) {
      stream(x, weights.subspan(i, 1), results.subspan(i, 1));
    } else {
      results[i] = linear(x, w.weight, w.bias);
    }
  }
}

}  // namespace detail
}  // namespace tapegrad
