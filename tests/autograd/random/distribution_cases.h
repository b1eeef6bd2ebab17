// Distributions with PyTorch's answers, of tests/data/distributions.json.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/support/stored.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::tests {

using dist::Distribution;
using Made = std::shared_ptr<const Distribution>;
using Parameters = std::map<std::string, Tensor>;

template <class D>
Made made(D d) {
  return std::make_shared<const D>(std::move(d));
}

inline const std::map<std::string, std::function<Made(const Parameters&)>>& distribution_makers() {
  using P = const Parameters&;
  using namespace dist;
  static const std::map<std::string, std::function<Made(P)>> all{
      {"Normal", [](P p) { return made(Normal(p.at("loc"), p.at("scale"))); }},
      {"LogNormal", [](P p) { return made(LogNormal(p.at("loc"), p.at("scale"))); }},
      {"Bernoulli", [](P p) { return made(Bernoulli(p.at("probs"))); }},
      {"Bernoulli.logits", [](P p) { return made(Bernoulli::from_logits(p.at("logits"))); }},
      {"Categorical", [](P p) { return made(Categorical(p.at("probs"))); }},
      {"Categorical.logits", [](P p) { return made(Categorical::from_logits(p.at("logits"))); }},
      {"Exponential", [](P p) { return made(Exponential(p.at("rate"))); }},
      {"Laplace", [](P p) { return made(Laplace(p.at("loc"), p.at("scale"))); }},
      {"Uniform", [](P p) { return made(Uniform(p.at("low"), p.at("high"))); }},
      {"Gamma", [](P p) { return made(Gamma(p.at("concentration"), p.at("rate"))); }},
      {"Beta", [](P p) { return made(Beta(p.at("concentration1"), p.at("concentration0"))); }},
      {"Dirichlet", [](P p) { return made(Dirichlet(p.at("concentration"))); }},
      {"StudentT", [](P p) { return made(StudentT(p.at("df"), p.at("loc"), p.at("scale"))); }},
      {"Poisson", [](P p) { return made(Poisson(p.at("rate"))); }},
      {"Binomial", [](P p) { return made(Binomial(p.at("total_count"), p.at("probs"))); }},
      {"Binomial.logits", [](P p) { return made(Binomial::from_logits(p.at("total_count"), p.at("logits"))); }},
      {"MultivariateNormal", [](P p) { return made(MultivariateNormal(p.at("loc"), p.at("covariance"))); }},
      {"MultivariateNormal.tril",
       [](P p) { return made(MultivariateNormal::from_scale_tril(p.at("loc"), p.at("scale_tril"))); }},
      {"Independent", [](P p) { return made(Independent(Normal(p.at("loc"), p.at("scale")), 1)); }},
      {"Transformed",
       [](P p) {
         return made(Transformed(Normal(p.at("loc"), p.at("scale")), {affine_transform(0.5, -2), tanh_transform()}));
       }},
      {"Transformed.sigmoid",
       [](P p) {
         return made(Transformed(Laplace(p.at("loc"), p.at("scale")), {sigmoid_transform(), exp_transform()}));
       }},
      {"MixtureSameFamily",
       [](P p) { return made(MixtureSameFamily(Categorical(p.at("probs")), Normal(p.at("loc"), p.at("scale")))); }},
      {"MixtureSameFamily.vectors", [](P p) {
         const Independent vectors(Normal(p.at("loc"), p.at("scale")), 1);
         return made(MixtureSameFamily(Categorical(p.at("probs")), vectors));
       }}};
  return all;
}

// [shape, numbers], where NaN and infinities are texts.
inline Tensor read_tensor(const Json& stored, DType dtype) {
  std::vector<double> values;
  for (const auto& x : stored[1]) values.push_back(x.is_string() ? std::stod(x.get<std::string>()) : x.get<double>());
  Shape shape;
  for (const auto& size : stored[0]) shape.push_back(size.get<int64_t>());
  return tensor(values, shape).to(dtype);
}

// Within `room` of PyTorch's, relative and absolute; NaN equals NaN.
inline void expect_like_pytorch(const Tensor& ours, const Json& stored, double room, const std::string& what) {
  const Tensor theirs = read_tensor(stored, kFloat64);
  ASSERT_EQ(str(ours.shape()), str(theirs.shape())) << what;
  const std::vector<double> a = ours.detach().to(kFloat64).to_vector<double>(), b = theirs.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    EXPECT_TRUE(same || std::abs(a[i] - b[i]) <= room * (1 + std::abs(b[i])))
        << what << " " << i << ": " << a[i] << ", " << b[i] << " is right";
  }
}

struct DistributionCase {
  const Json& stored;
  std::string name;
  DType dtype;
  double room;
  Parameters parameters;

  explicit DistributionCase(const Json& of)
      : stored(of),
        name(of["name"].get<std::string>() + " in " + of["dtype"].get<std::string>()),
        dtype(of["dtype"] == "float32" ? kFloat32 : kFloat64),
        room(dtype == kFloat32 ? 4e-6 : 1e-12) {
    for (const auto& [key, value] : of["parameters"].items()) parameters[key] = read_tensor(value, dtype);
  }
  Made make(const Parameters& p) const { return distribution_makers().at(stored["name"])(p); }
  Tensor value() const { return read_tensor(stored["value"], dtype); }
};

inline const Json& distribution_table() {
  static const Json all = stored("distributions.json");
  return all;
}

}  // namespace tapegrad::tests
