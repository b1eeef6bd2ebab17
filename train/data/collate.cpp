#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/data/collate.h>

#include <algorithm>

namespace tapegrad::data {
namespace {

Padded empty_batch(std::span<const int64_t> lengths, Shape shape, DType dtype) {
  Padded out{.values = Tensor::empty(shape, dtype), .mask = {}, .lengths = detail::stacked(lengths)};
  const int64_t longest = shape[1];
  out.mask = Tensor::empty({shape[0], longest}, kBool);
  bool* mask = out.mask.mutable_data<bool>();
  for (const int64_t length : lengths) {
    std::fill_n(mask, length, true);
    std::fill_n(mask + length, longest - length, false);
    mask += longest;
  }
  return out;
}

}  // namespace

Padded pad(std::span<const Tensor> sequences, double value) {
  if (sequences.empty()) fail("pad", "expected at least one sequence");
  const Tensor& first = sequences.front();
  std::vector<int64_t> lengths;
  std::vector<Tensor> packed;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Tensor& one = sequences[i];
    const bool same = one.dtype() == first.dtype() && one.dim() == first.dim() && one.dim() > 0 &&
                      std::equal(one.shape().begin() + 1, one.shape().end(), first.shape().begin() + 1);
    if (!same) {
      fail("pad", "sequences may differ only in their first size: number 0 is {} {}, number {} is {} {}", first.shape(),
           first.dtype(), i, one.shape(), one.dtype());
    }
    lengths.push_back(one.size(0));
    packed.push_back(one.contiguous());
  }
  const int64_t longest = *std::ranges::max_element(lengths);
  Shape shape = first.shape();
  shape[0] = 1;
  const int64_t row = longest * shape.numel();
  shape[0] = longest;
  shape.insert(0, static_cast<int64_t>(sequences.size()));
  Padded out = empty_batch(lengths, shape, first.dtype());
  with_type(first.dtype(), [&](auto t) {
    using T = decltype(t);
    T* to = out.values.mutable_data<T>();
    for (const Tensor& one : packed) {
      std::copy_n(one.data<T>(), one.numel(), to);
      std::fill_n(to + one.numel(), row - one.numel(), static_cast<T>(value));
      to += row;
    }
  });
  return out;
}

Padded pad(std::span<const std::vector<int64_t>> sequences, int64_t value) {
  if (sequences.empty()) fail("pad", "expected at least one sequence");
  std::vector<int64_t> lengths;
  for (const std::vector<int64_t>& one : sequences) lengths.push_back(static_cast<int64_t>(one.size()));
  const int64_t longest = *std::ranges::max_element(lengths);
  Padded out = empty_batch(lengths, {static_cast<int64_t>(sequences.size()), longest}, kInt64);
  int64_t* to = out.values.mutable_data<int64_t>();
  for (const std::vector<int64_t>& one : sequences) {
    std::fill(std::copy(one.begin(), one.end(), to), to + longest, value);
    to += longest;
  }
  return out;
}

Tensor detail::stacked(std::span<const Tensor> examples) { return stack(examples); }

Tensor detail::stacked(std::span<const int64_t> examples) {
  return tensor(std::vector<int64_t>(examples.begin(), examples.end()), {static_cast<int64_t>(examples.size())});
}

Tensor detail::stacked(std::span<const double> examples) {
  return tensor(std::vector<double>(examples.begin(), examples.end()), {static_cast<int64_t>(examples.size())})
      .to(kFloat32);
}

}  // namespace tapegrad::data
