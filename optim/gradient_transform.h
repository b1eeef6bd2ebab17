// Changes of the gradients between backward and the update: clipping, noise, or your own function.
#pragma once

#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::optim {

/// The gradients of a step, which transforms change in place. If several processes train together, each holds the
/// elements that it updates. Norms and random numbers are computed for all gradients, and are bit-identical to one
/// process. Sparse gradients (nn::EmbeddingOptions::sparse) stay sparse in clip_norm() and clip_value(); map() and
/// add_noise() make them dense.
class StepGradients : NonCopyable {
 public:
  /// All gradients of leaves. With an optimiser, gradients that it ignores are removed first (Optimizer::ignore).
  explicit StepGradients(Gradients& grads);
  StepGradients(Gradients& grads, const Optimizer& optimizer);
  virtual ~StepGradients() = default;

  /// The norm of all gradients as one vector. The order of summation depends on their shapes alone.
  double norm() const;
  /// Scales all of them by max_norm / (norm + 1e-6) if that is below 1, as PyTorch does. Returns the norm before
  /// scaling. Error unless max_norm > 0, and if the norm is not finite.
  double clip_norm(double max_norm);
  /// Clamps every element to [-limit, limit]; NaN stays. Error unless limit > 0.
  void clip_value(double limit);
  /// Adds independent normal noise of this standard deviation to every element. It comes from `generator`, or from the
  /// default one, which must be in the same state in every process. Error unless std >= 0.
  void add_noise(double std, Generator* generator = nullptr);
  /// Replaces every element x, a float or a double, by f(x), on several threads.
  void map(const auto& f) {
    for (const Part& part : parts_) {
      if (part.size == 0) continue;
      void* const elements = writable(part);
      with_floating_type(part.grad->dtype(), [&](auto t) {
        auto* const x = static_cast<decltype(t)*>(elements) + part.at;
        parallel_for(part.size, kBlock, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) x[i] = static_cast<decltype(t)>(f(x[i]));
        });
      });
    }
  }
  /// The norm that the first clip_norm() measured; 0 before.
  double clipped_norm() const { return clipped_norm_; }

  /// Norms are sums over blocks of this many elements, and parameters are cut between processes at multiples of it.
  static constexpr int64_t kBlock = int64_t{1} << 15;

 protected:
  /// A gradient, and which of its elements this process has: [begin, begin + size), in *grad from `at` on.
  struct Part {
    Tensor* grad = nullptr;  ///< nullptr if size is 0
    int64_t numel = 0;       ///< of the whole gradient
    DType dtype = kFloat32;  ///< of the gradient
    int64_t begin = 0, size = 0, at = 0;
    RowGradient* rows = nullptr;  ///< of a gradient that may be rows: while they are defined, *grad is not used
    /// Whether the gradient is rows.
    bool in_rows() const { return rows && rows->defined(); }
  };
  using Parts = std::vector<Part, pool::Allocator<Part>>;
  /// One part for each gradient, in the order in which the leaves were made.
  explicit StepGradients(Parts parts) : parts_(std::move(parts)) {}
  /// The sum over all processes.
  virtual Tensor over_processes(const Tensor& x) const { return x; }

 private:
  static void* writable(const Part& part);
  void rewrite(void (*kernel)(DType, void*, double, int64_t, int64_t), double argument);
  Parts parts_;
  double clipped_norm_ = 0;
};

/// Scales all gradients by max_norm / (norm + 1e-6) if that is below 1.
struct ClipNorm {
  double max_norm;  ///< of all gradients as one vector
  void operator()(StepGradients& grads) const { grads.clip_norm(max_norm); }
  void check() const;        ///< Error unless max_norm > 0
  std::string text() const;  ///< "clip_norm 1"
};

/// Clamps every element of the gradients to [-limit, limit]. An infinite element becomes the limit.
struct ClipValue {
  double limit;  ///< largest absolute value
  void operator()(StepGradients& grads) const { grads.clip_value(limit); }
  void check() const;        ///< Error unless limit > 0
  std::string text() const;  ///< "clip_value 0.5"
};

/// Adds independent normal noise to every element of the gradients.
struct GradientNoise {
  double std;                      ///< standard deviation
  Generator* generator = nullptr;  ///< nullptr: the default one; it must outlive the transform
  void operator()(StepGradients& grads) const { grads.add_noise(std, generator); }
  void check() const;        ///< Error unless std >= 0
  std::string text() const;  ///< "noise 0.1"
};

/// Any of these, or your own function, for LoopOptions::transforms and DataParallelOptions::transforms:
///
///     const optim::GradientTransform sign = [](optim::StepGradients& grads) {
///       grads.map([](auto x) { return x > 0 ? 1 : x < 0 ? -1 : 0; });
///     };
class GradientTransform {
 public:
  template <class T>
  requires(!std::is_same_v<T, GradientTransform> && std::is_invocable_v<const T&, StepGradients&>)
      GradientTransform(T transform)  // NOLINT: a transform is one of these
      : text_(text_of(transform)), transform_([transform = std::move(transform)](StepGradients* grads) {
          if (grads) return void(transform(*grads));
          if constexpr (requires { transform.check(); }) transform.check();
        }) {}
  /// Changes the gradients. It allocates nothing besides what the transform itself allocates.
  void operator()(StepGradients& grads) const { transform_(&grads); }
  /// Error for options out of range; nothing for a function.
  void check() const { transform_(nullptr); }
  /// Its name and its options, which processes that train together compare; "a function" for your own function.
  const std::string& text() const { return text_; }

 private:
  static std::string text_of(const auto& transform) {
    if constexpr (requires { transform.text(); }) return transform.text();
    return "a function";
  }
  std::string text_;
  std::function<void(StepGradients* grads)> transform_;  // nullptr: check only
};

}  // namespace tapegrad::optim
