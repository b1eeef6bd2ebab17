#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tutorials/show/toeplitz.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace tapegrad::tasks {
namespace {

// Four multiplications; the operator of std::complex also looks for infinities.
std::complex<double> product(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

Toeplitz::Toeplitz(const Tensor& diagonals) : diagonals_(diagonals), n_((diagonals.numel() + 1) / 2) {
  if (diagonals.dtype() != kFloat64 || diagonals.dim() != 1 || diagonals.numel() % 2 == 0)
    fail("toeplitz",
         fmt::format("expected float64 [2 n - 1], got {} {}", name(diagonals.dtype()), str(diagonals.shape())));
  const auto size = std::bit_ceil(static_cast<std::size_t>(diagonals.numel()));
  for (std::size_t i = 0; i < size / 2; ++i) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size);
    roots_.emplace_back(std::cos(angle), std::sin(angle));
  }
  // The circulant's first column: t[0], t[1] ... t[n - 1], zeros, t[1 - n] ... t[-1].
  const std::vector<double> t = diagonals.to_vector<double>();
  const auto n = static_cast<std::size_t>(n_);
  eigenvalues_.resize(size);
  for (std::size_t i = 0; i < n; ++i) eigenvalues_[i] = t[n - 1 + i];
  for (std::size_t i = 1; i < n; ++i) eigenvalues_[size - i] = t[n - 1 - i];
  transform(eigenvalues_, false);
}

Tensor Toeplitz::matrix() const {
  const Tensor position = arange(n_);
  const Tensor distance = position.unsqueeze(1) - position.unsqueeze(0) + (n_ - 1);
  return gather(diagonals_, 0, distance.reshape({-1})).reshape({n_, n_});
}

Tensor Toeplitz::times(const Tensor& x) {
  if (x.dtype() != kFloat64 || x.dim() != 2 || x.size(0) != n_)
    fail("toeplitz", fmt::format("expected float64 [{}, C], got {} {}", n_, name(x.dtype()), str(x.shape())));
  const auto n = static_cast<std::size_t>(n_), columns = static_cast<std::size_t>(x.size(1));
  const std::vector<double> values = x.to_vector<double>();
  std::vector<double> out(values.size());
  for (std::size_t c = 0; c < columns; ++c) {
    Wave wave(eigenvalues_.size());
    for (std::size_t i = 0; i < n; ++i) wave[i] = values[i * columns + c];
    transform(wave, false);
    for (std::size_t i = 0; i < wave.size(); ++i) wave[i] = product(wave[i], eigenvalues_[i]);
    multiplications_ += 4 * static_cast<int64_t>(wave.size());
    transform(wave, true);
    for (std::size_t i = 0; i < n; ++i) out[i * columns + c] = wave[i].real() / static_cast<double>(wave.size());
    multiplications_ += n_;
  }
  return tensor(out, x.shape());
}

// Cooley, Tukey 1965, in place; the inverse without its factor 1 / m.
void Toeplitz::transform(Wave& x, bool inverse) {
  const std::size_t size = x.size();
  for (std::size_t i = 1, j = 0; i < size; ++i) {  // j: i's bits in reverse order
    std::size_t bit = size / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (std::size_t half = 1; half < size; half *= 2) {
    for (std::size_t begin = 0; begin < size; begin += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        const std::complex<double> root = roots_[k * (size / 2 / half)];
        const std::complex<double> turned = product(x[begin + half + k], inverse ? std::conj(root) : root);
        x[begin + half + k] = x[begin + k] - turned;
        x[begin + k] += turned;
      }
    }
    multiplications_ += 4 * static_cast<int64_t>(size / 2);
  }
}

}  // namespace tapegrad::tasks
