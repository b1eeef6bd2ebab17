// Probability distributions: samples, densities, entropies, divergences; the names and values of torch.distributions.
//
//   const tg::dist::Normal prior(0, 1), posterior(mean, std);
//   const tg::Tensor z = posterior.rsample();                      // with gradients for mean and std
//   const tg::Tensor kl = tg::dist::kl_divergence(posterior, prior);
#pragma once

#include <tapegrad/autograd/dist_parameter.h>
#include <tapegrad/autograd/tensor.h>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad {

class Generator;

namespace dist {

/// The base of all distributions. Parameters broadcast to the batch shape; one sample has the event shape, which is
/// empty unless samples are vectors. Results have the type of the parameters and are recorded, except samples. Values
/// outside the support, and parameters that are out of range, throw Error "[Normal] expected ...".
class Distribution {
 public:
  virtual ~Distribution() = default;

  /// the class, "Normal", as in errors
  std::string_view name() const { return name_; }
  /// of the parameters
  DType dtype() const { return dtype_; }
  /// one distribution per element: the parameters' broadcast shape
  const Shape& batch_shape() const { return batch_; }
  /// of one value; {} for numbers
  const Shape& event_shape() const { return event_; }

  /// Samples of shape [shape, batch, event], without gradients: PyTorch's numbers with the same seed. nullptr: the
  /// default generator.
  Tensor sample(const Shape& shape = {}, Generator* generator = nullptr) const;
  /// The same samples as functions of the parameters (reparameterised). Error if has_rsample() is false.
  Tensor rsample(const Shape& shape = {}, Generator* generator = nullptr) const;
  virtual bool has_rsample() const { return true; }
  /// The logarithm of the density, or of the probability; value [..., event] broadcasts with the batch.
  virtual Tensor log_prob(const Tensor& value) const = 0;
  /// In nats, [batch]. Error if there is no formula (Poisson, Transformed, MixtureSameFamily).
  virtual Tensor entropy() const;
  /// [batch, event]. Error if there is no formula (Categorical, Transformed).
  virtual Tensor mean() const;
  virtual Tensor variance() const;
  Tensor stddev() const;

 protected:
  Distribution(std::string_view name) : name_(name) {}
  Distribution(const Distribution&) = default;
  Distribution& operator=(const Distribution&) = default;
  [[noreturn]] void fail(std::string_view message) const;
  /// Converts parameters to one floating type and shape, which become the distribution's.
  void take(std::initializer_list<std::pair<Tensor*, const Parameter*>> parameters);
  /// The shape of `shape` samples.
  Shape drawn(const Shape& shape) const;
  /// `shape` is the shape of the result.
  virtual Tensor draw(const Shape& shape, Generator* generator) const = 0;
  virtual Tensor divergence(const Distribution& q) const;
  friend Tensor kl_divergence(const Distribution& p, const Distribution& q);
  friend class Independent;
  friend class Transformed;
  friend class MixtureSameFamily;

  std::string_view name_;
  DType dtype_ = kFloat32;
  Shape batch_, event_;
};

/// The Kullback-Leibler divergence of p from q, [batch]: the mean of log p(x) - log q(x) over x from p, which is
/// infinite if q's density is 0 at values of p. For two distributions of one kind (except StudentT, Transformed and
/// MixtureSameFamily), for a Normal, Laplace, Uniform, Exponential, Gamma or Beta p and a Normal, Uniform, Exponential,
/// Gamma or Beta q, and for a Normal p and a Laplace q. Error if there is no formula.
Tensor kl_divergence(const Distribution& p, const Distribution& q);

// --- of one number: parameters broadcast (normal.cpp, continuous.cpp, gamma.cpp) ---

/// scale > 0 is the standard deviation.
class Normal : public Distribution {
 public:
  Normal(const Parameter& loc, const Parameter& scale);
  /// The parameters, broadcast to batch_shape().
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override { return loc_; }
  Tensor variance() const override;
  /// P(X <= value), and its inverse.
  Tensor cdf(const Tensor& value) const;
  Tensor icdf(const Tensor& p) const;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor loc_, scale_;
};

/// exp of a normal number with these parameters.
class LogNormal : public Distribution {
 public:
  LogNormal(const Parameter& loc, const Parameter& scale);
  /// Mean and standard deviation of the normal number.
  const Tensor& loc() const { return base_.loc(); }
  const Tensor& scale() const { return base_.scale(); }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Normal base_;
};

/// rate > 0; the mean is 1 / rate.
class Exponential : public Distribution {
 public:
  Exponential(const Parameter& rate);
  /// 1 / mean
  const Tensor& rate() const { return rate_; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor rate_;
};

/// Density exp(-|x - loc| / scale) / (2 scale), scale > 0.
class Laplace : public Distribution {
 public:
  Laplace(const Parameter& loc, const Parameter& scale);
  /// The parameters, broadcast to batch_shape().
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override { return loc_; }
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor loc_, scale_;
};

/// On [low, high), low < high. The density of high itself is 0.
class Uniform : public Distribution {
 public:
  Uniform(const Parameter& low, const Parameter& high);
  /// The bounds, broadcast to batch_shape().
  const Tensor& low() const { return low_; }
  const Tensor& high() const { return high_; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor low_, high_;
};

/// concentration > 0, rate > 0; the mean is concentration / rate. Sampled as Marsaglia and Tsang 2000.
class Gamma : public Distribution {
 public:
  Gamma(const Parameter& concentration, const Parameter& rate);
  /// The parameters, broadcast to batch_shape(); rate is 1 / scale.
  const Tensor& concentration() const { return concentration_; }
  const Tensor& rate() const { return rate_; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor concentration_, rate_;
};

/// Density proportional to x^(a - 1) (1 - x)^(b - 1) on [0, 1]: a = concentration1 > 0, b = concentration0 > 0. Samples
/// are PyTorch's, except if both gamma numbers are below 1e-289 (for concentrations below 0.01), where PyTorch returns
/// 1/2. The same is true of Dirichlet.
class Beta : public Distribution {
 public:
  Beta(const Parameter& concentration1, const Parameter& concentration0);
  /// The exponents of x and 1 - x in the density, plus 1.
  const Tensor& concentration1() const { return a_; }
  const Tensor& concentration0() const { return b_; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor a_, b_;
};

/// Student's t with df > 0 degrees of freedom, moved by loc and stretched by scale > 0.
class StudentT : public Distribution {
 public:
  StudentT(const Parameter& df, const Parameter& loc = 0, const Parameter& scale = 1);
  /// The parameters, broadcast to batch_shape().
  const Tensor& df() const { return df_; }
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  /// NaN for df <= 1.
  Tensor mean() const override;
  /// Infinite for 1 < df <= 2, NaN for df <= 1.
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor df_, loc_, scale_;
};

// --- of counts and classes, without rsample (discrete.cpp, counts.cpp) ---

/// The probability of 1 or, with from_logits, its log odds.
class Bernoulli : public Distribution {
 public:
  Bernoulli(const Parameter& probs);
  /// From the log odds, log(p / (1 - p)).
  static Bernoulli from_logits(const Parameter& logits);
  Tensor probs() const;
  Tensor logits() const;
  bool has_rsample() const override { return false; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override { return probs(); }
  Tensor variance() const override;

 protected:
  Bernoulli() : Distribution("Bernoulli") {}
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor probs_, logits_;  // one of them
};

/// Classes 0 .. n-1: probs [batch, n] >= 0, which are normalised, or logits. Values and samples are int64 [batch].
class Categorical : public Distribution {
 public:
  Categorical(const Tensor& probs);
  /// logits [batch, n]: logarithms of the probabilities, up to a constant per row.
  static Categorical from_logits(const Tensor& logits);
  Tensor probs() const;  ///< [batch, n], normalised
  /// Logarithms of the probabilities.
  Tensor logits() const;
  bool has_rsample() const override { return false; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 protected:
  Categorical() : Distribution("Categorical") {}
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor probs_, logits_;  // one of them
};

/// rate >= 0.
class Poisson : public Distribution {
 public:
  Poisson(const Parameter& rate);
  /// the mean
  const Tensor& rate() const { return rate_; }
  bool has_rsample() const override { return false; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor mean() const override { return rate_; }
  Tensor variance() const override { return rate_; }

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor rate_;
};

/// The number of successes in total_count trials.
class Binomial : public Distribution {
 public:
  Binomial(const Parameter& total_count, const Parameter& probs);
  /// From the log odds of a success.
  static Binomial from_logits(const Parameter& total_count, const Parameter& logits);
  /// number of trials
  const Tensor& total_count() const { return count_; }
  Tensor probs() const;
  Tensor logits() const;
  bool has_rsample() const override { return false; }
  Tensor log_prob(const Tensor& value) const override;
  /// Error unless all counts are equal.
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;

 protected:
  Binomial() : Distribution("Binomial") {}
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor count_, probs_, logits_;  // probs or logits
};

// --- of vectors (gamma.cpp, multivariate.cpp) ---

/// Vectors of n positive numbers with sum 1: concentration [batch, n] > 0. rsample divides gamma numbers by their sum;
/// PyTorch's gradients of single samples differ, their mean is equal.
class Dirichlet : public Distribution {
 public:
  Dirichlet(const Tensor& concentration);
  /// [batch, n]
  const Tensor& concentration() const { return concentration_; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor concentration_;
};

/// loc [..., n] and a positive definite covariance [..., n, n] or, with from_scale_tril, its lower Cholesky factor.
class MultivariateNormal : public Distribution {
 public:
  MultivariateNormal(const Tensor& loc, const Tensor& covariance);
  /// scale_tril [..., n, n]: lower triangular with a positive diagonal, L in covariance = L L^T.
  static MultivariateNormal from_scale_tril(const Tensor& loc, const Tensor& scale_tril);
  /// [batch, n]
  const Tensor& loc() const { return loc_; }
  /// L, [batch, n, n]
  const Tensor& scale_tril() const { return tril_; }
  Tensor covariance() const;  ///< L L^T, [batch, n, n]
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override { return loc_; }
  Tensor variance() const override;

 protected:
  MultivariateNormal() : Distribution("MultivariateNormal") {}
  void set(const Tensor& loc, const Tensor& tril, std::string_view what);
  void require_types(const Tensor& loc, const Tensor& of, std::string_view what) const;
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor loc_, tril_;
};

// --- of other distributions (combined.cpp) ---

/// The last `axes` axes of the batch become part of the event: densities are multiplied along them.
class Independent : public Distribution {
 public:
  template <std::derived_from<Distribution> D>
  Independent(D base, int64_t axes) : Independent(std::make_shared<const D>(std::move(base)), axes) {}
  Independent(std::shared_ptr<const Distribution> base, int64_t axes);
  /// the distribution whose last batch axes are the event
  const Distribution& base() const { return *base_; }
  bool has_rsample() const override { return base_->has_rsample(); }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override { return base_->mean(); }
  Tensor variance() const override { return base_->variance(); }

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Tensor divergence(const Distribution& q) const override;
  Tensor summed(const Tensor& x) const;
  std::shared_ptr<const Distribution> base_;
  int64_t axes_ = 0;
};

/// A monotonous function of numbers, elementwise, with its inverse and log |dy / dx|.
struct Transform {
  /// Of elements: f, and the function that undoes it.
  std::function<Tensor(const Tensor&x)> forward, inverse;
  /// log |f'(x)|, where y = f(x).
  std::function<Tensor(const Tensor& x, const Tensor& y)> log_slope;
};
Transform exp_transform();                                                 ///< e^x
Transform sigmoid_transform();                                             ///< 1 / (1 + e^-x)
Transform tanh_transform();                                                ///< tanh x
Transform affine_transform(const Parameter& loc, const Parameter& scale);  ///< loc + scale x, scale != 0

/// The distribution of f(x), or of g(f(x)) and so on, for x from `base`, whose event shape stays. It remembers its last
/// sample, with the x that it was made of: log_prob of a tensor with the same elements takes that x as the inverse's
/// value, since the inverse is infinite where f rounds to the end of its range, as tanh(10) does. (Its gradient is the
/// gradient of the inverse, 0 where that is infinite; PyTorch's cache_size=1 has none.) For any other tensor, such as a
/// part of a sample, log_prob computes the inverse.
class Transformed : public Distribution {
 public:
  template <std::derived_from<Distribution> D>
  Transformed(D base, std::vector<Transform> transforms)
      : Transformed(std::make_shared<const D>(std::move(base)), std::move(transforms)) {}
  Transformed(std::shared_ptr<const Distribution> base, std::vector<Transform> transforms);
  bool has_rsample() const override { return base_->has_rsample(); }
  Tensor log_prob(const Tensor& value) const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  struct Last {
    std::mutex mutex;
    std::vector<Tensor> steps;  // from the base's number to the value
    Tensor value;               // its elements, as they were sampled
  };
  std::vector<Tensor> steps_to(const Tensor& value) const;
  std::shared_ptr<const Distribution> base_;
  std::vector<Transform> transforms_;
  std::shared_ptr<Last> last_ = std::make_shared<Last>();  // copies share it: they are the same distribution
};

/// One of n components, chosen by a Categorical [batch] of n classes: the components' last batch axis has n.
class MixtureSameFamily : public Distribution {
 public:
  template <std::derived_from<Distribution> D>
  MixtureSameFamily(const Categorical& mixture, D components)
      : MixtureSameFamily(mixture, std::make_shared<const D>(std::move(components))) {}
  MixtureSameFamily(const Categorical& mixture, std::shared_ptr<const Distribution> components);
  bool has_rsample() const override { return false; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor mean() const override;
  Tensor variance() const override;

 protected:
  Tensor draw(const Shape& shape, Generator* generator) const override;
  Categorical mixture_;
  std::shared_ptr<const Distribution> components_;
};

}  // namespace dist
}  // namespace tapegrad
