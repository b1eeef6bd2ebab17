// Distributions against torch.distributions: densities, entropies, moments, their gradients, and draws
// with the same seed.
// ctest: families
#include <tapegrad/autograd/internal/draw_log.h>
#include <tapegrad/tests/autograd/random/distribution_cases.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Compares the gradients of the sum of f(distribution) with respect to the parameters.
void expect_gradients_like_pytorch(const DistributionCase& c, const char* key, double room,
                                   const std::function<Tensor(const Distribution&)>& f) {
  if (!c.stored.contains(key)) return;
  Tape tape;
  Parameters leaves;
  for (const auto& [name, value] : c.parameters) leaves[name] = value.as_leaf();
  const Made d = c.make(leaves);
  const Gradients grads = tape.backward(sum(f(*d)));
  for (const auto& [name, expected] : c.stored[key].items()) {
    const Tensor* const grad = grads.find(leaves.at(name));
    ASSERT_TRUE(grad) << c.name << " has no gradient of " << name;
    expect_like_pytorch(*grad, expected, room, c.name + ": " + key + " of " + name);
  }
}

TEST(Distributions, DensitiesAndMomentsEqualPyTorch) {
  EXPECT_EQ(distribution_table()["cases"].size(), 2 * distribution_makers().size());
  for (const auto& of : distribution_table()["cases"]) {
    const DistributionCase c(of);
    const Made d = c.make(c.parameters);
    EXPECT_EQ(d->dtype(), c.dtype) << c.name;
    expect_like_pytorch(d->log_prob(c.value()), of["log_prob"], c.room, c.name + ": log_prob");
    if (of.contains("entropy")) expect_like_pytorch(d->entropy(), of["entropy"], c.room, c.name + ": entropy");
    if (of.contains("mean")) expect_like_pytorch(d->mean(), of["mean"], c.room, c.name + ": mean");
    if (of.contains("variance")) expect_like_pytorch(d->variance(), of["variance"], c.room, c.name + ": variance");
    expect_gradients_like_pytorch(c, "grads", 5 * c.room,
                                  [&](const Distribution& of_leaves) { return of_leaves.log_prob(c.value()); });
    // PyTorch's trigamma has nine digits
    expect_gradients_like_pytorch(c, "entropy_grads", std::max(5 * c.room, 1e-9),
                                  [](const Distribution& of_leaves) { return of_leaves.entropy(); });
  }
}

TEST(Distributions, DrawsEqualPyTorch) {
  for (const auto& of : distribution_table()["cases"]) {
    const DistributionCase c(of);
    const Made d = c.make(c.parameters);
    Generator generator(11);
    expect_like_pytorch(d->sample({7}, &generator), of["draws"], c.room, c.name + ": draws");
    expect_like_pytorch(d->sample({}, &generator), of["one"], c.room, c.name + ": one draw");
    expect_like_pytorch(d->sample({5, 8}, &generator), of["many"], c.room, c.name + ": many draws");
    expect_like_pytorch(rand({2}, c.dtype, &generator), of["next"], 0, c.name + ": what is drawn next");
  }
}

// PyTorch's gradients of gamma numbers are approximations; those of Beta and Dirichlet follow another path.
TEST(Distributions, GradientsOfDrawsEqualPyTorch) {
  for (const auto& of : distribution_table()["cases"]) {
    const DistributionCase c(of);
    const std::string name = of["name"];
    const Made d = c.make(c.parameters);
    EXPECT_EQ(d->has_rsample(), of.contains("drawn_grads")) << name;
    if (name == "Beta" || name == "Dirichlet") continue;
    const double room = name == "Gamma" || name == "StudentT" ? 2e-3 : 5 * c.room;
    expect_gradients_like_pytorch(c, "drawn_grads", room, [](const Distribution& of_leaves) {
      Generator generator(11);
      return of_leaves.rsample({7}, &generator);
    });
  }
}

// Checks f of the case's distribution as a function of the parameters in `keys`, to second order.
void expect_second_derivatives(const DistributionCase& c, const std::vector<std::string>& keys,
                               const std::function<Tensor(const Distribution&)>& f) {
  std::vector<Tensor> inputs;
  for (const std::string& key : keys) inputs.push_back(c.parameters.at(key));
  const auto of = [&](std::span<const Tensor> x) {
    Parameters parameters = c.parameters;
    for (std::size_t i = 0; i < keys.size(); ++i) {  // a step keeps a matrix triangular, or symmetric
      const bool lower = keys[i] == "scale_tril", symmetric = keys[i] == "covariance";
      parameters[keys[i]] = lower ? tril(x[i]) : symmetric ? (x[i] + x[i].t()) / 2 : x[i];
    }
    return f(*c.make(parameters));
  };
  const double step = c.name.starts_with("Bernoulli in") ? 0x1p-16 : 0x1p-13;  // steep near a probability of 1
  EXPECT_TRUE(gradients_match(of, inputs, {.atol = 1e-6, .rtol = 1e-5, .step = step})) << c.name;
}

TEST(Distributions, SecondDerivatives) {
  int checked = 0;
  for (const auto& of : distribution_table()["cases"]) {
    const DistributionCase c(of);
    if (c.dtype != kFloat64 || of["name"] == "Uniform") continue;  // one of its values is at an end
    const auto keys_of = [&](const char* grads) {
      std::vector<std::string> keys;
      for (const auto& [key, grad] : of[grads].items()) keys.push_back(key);
      return keys;
    };
    expect_second_derivatives(c, keys_of("grads"), [&](const Distribution& d) { return d.log_prob(c.value()); });
    ++checked;
    if (!of.contains("entropy_grads")) continue;
    expect_second_derivatives(c, keys_of("entropy_grads"), [](const Distribution& d) { return d.entropy(); });
  }
  EXPECT_EQ(checked, 22);
}

// d E[x] / da of x = X / (X + Y), which is b / (a + b)^2, as the mean of the gradients of many draws.
TEST(Distributions, GradientsOfBetaAndDirichletHaveTheRightMean) {
  constexpr int64_t kDraws = 30'000;
  Generator generator(5);
  for (const auto& parameters : {std::pair{0.7, 0.4}, std::pair{2.0, 5.0}, std::pair{300.0, 200.0}}) {
    const double a = parameters.first, b = parameters.second;
    const auto mean_of = [&](const std::function<Tensor(const Tensor& leaf)>& draws) {
      Tape tape;
      const Tensor leaf = tensor({a, b}).to(kFloat64).as_leaf();
      return tape.backward(mean(draws(leaf)))[leaf];
    };
    const Tensor of_beta = mean_of([&](auto& x) { return dist::Beta(x[0], x[1]).rsample({kDraws}, &generator); });
    const Tensor of_dirichlet =
        mean_of([&](const Tensor& x) { return dist::Dirichlet(x).rsample({kDraws}, &generator).select(-1, 0); });
    const double square = (a + b) * (a + b);
    for (const Tensor& grad : {of_beta, of_dirichlet}) {
      EXPECT_NEAR(grad[0].item() * square / b, 1, 0.03) << a << ", " << b;
      EXPECT_NEAR(grad[1].item() * square / -a, 1, 0.03) << a << ", " << b;
    }
  }
}

TEST(Distributions, DrawsHaveTheirMoments) {
  constexpr int64_t kDraws = 40'000;
  using namespace dist;
  const std::vector<Made> all{made(Gamma(tensor({0.05, 0.9, 3.0, 1e5}).to(kFloat64), 2.0)),
                              made(Beta(tensor({0.3, 5.0}).to(kFloat64), 2.0)),
                              made(Poisson(tensor({0.01, 9.9, 10.1, 1e6}).to(kFloat64))),
                              made(Binomial(1e5, tensor({1e-5, 0.3, 0.9999}).to(kFloat64))),
                              made(Binomial(20, tensor({0.05, 0.5, 0.7}).to(kFloat64))),
                              made(StudentT(tensor({9.0, 30.0}).to(kFloat64))),
                              made(Laplace(tensor({-1.0, 2.0}).to(kFloat64), 3))};
  Generator generator(8);
  for (const Made& d : all) {
    const Tensor x = d->sample({kDraws}, &generator);
    const Tensor error = (mean(x, 0) - d->mean()) / d->stddev() * std::sqrt(static_cast<double>(kDraws));
    EXPECT_LT(amax(abs(error)).item(), 4.5) << d->name();
    EXPECT_LT(amax(abs(var(x, 0) / d->variance() - 1)).item(), 0.08) << d->name();
  }
}

// log(k!) is from a table up to 255 and a series from there on. The sums are PyTorch's, and what is drawn next.
TEST(Distributions, LargePoissonNumbersEqualPyTorch) {
  const struct {
    double rate, total, next;
  } all[] = {
      {40, 799145, 0.09299808740615845}, {255, 5098130, 0.14914393424987793}, {6000, 119991307, 0.6891288161277771}};
  for (const auto& [rate, total, next] : all) {
    Generator generator(3);
    EXPECT_EQ(sum(dist::Poisson(full({20'000}, rate, kFloat64)).sample({}, &generator)).item<double>(), total) << rate;
    EXPECT_EQ(rand({1}, kFloat32, &generator).item<double>(), next) << rate;
  }
}

// All numbers of a call are one draw, which a log repeats.
TEST(Distributions, DrawsAreRepeatedFromALog) {
  Generator generator(5);
  const auto draw = [&] {
    const Tensor x = dist::Gamma(full({50}, 0.7), 1.0).sample({}, &generator);
    return cat({x, dist::Poisson(full({50}, 12.0)).sample({}, &generator), rand({1}, kFloat32, &generator)}, 0);
  };
  detail::DrawLog log;
  Tensor first;
  {
    const detail::DrawLog::Recording recording(log);
    first = draw();
  }
  const Tensor after = rand({1}, kFloat32, &generator);
  Generator again(5);
  EXPECT_TRUE(equal(first.slice(0, 0, 50), dist::Gamma(full({50}, 0.7), 1.0).sample({}, &again)));
  {
    const detail::DrawLog::Replay replay("draws", log);
    EXPECT_TRUE(equal(draw(), first));
    replay.require_end();
  }
  EXPECT_FALSE(equal(rand({1}, kFloat32, &generator), after));
}

TEST(Distributions, ShapesAndTypes) {
  const dist::Normal n(zeros({3, 1}), ones({2}));
  EXPECT_EQ(str(n.batch_shape()), "[3, 2]");
  EXPECT_EQ(str(n.sample({4}).shape()), "[4, 3, 2]");
  EXPECT_EQ(str(dist::Independent(n, 1).log_prob(zeros({5, 3, 2})).shape()), "[5, 3]");
  EXPECT_EQ(dist::Normal(0, 1).dtype(), kFloat32);
  EXPECT_EQ(dist::Normal(zeros({2}, kFloat64), 1).dtype(), kFloat64);
  EXPECT_EQ(dist::Categorical(ones({2, 3})).sample({4}).dtype(), kInt64);
  EXPECT_EQ(str(dist::Categorical(ones({2, 3})).sample({4, 5}).shape()), "[4, 5, 2]");
  EXPECT_EQ(str(dist::Categorical(ones({0, 3})).sample({4}).shape()), "[4, 0]");
  EXPECT_EQ(dist::Dirichlet(ones({2, 3})).sample({0}).numel(), 0);
  const Tensor p = tensor({0.1, 0.5, 0.975}).to(kFloat64);
  EXPECT_LT(largest_difference(dist::Normal(1, 2).cdf(dist::Normal(zeros({}, kFloat64) + 1, 2).icdf(p)), p), 1e-7);
  Tape tape;
  const Tensor scale = ones({2}).as_leaf();
  EXPECT_FALSE(needs_grad(dist::Normal(0, scale).sample({2})));
  EXPECT_TRUE(needs_grad(dist::Normal(0, scale).rsample({2})));
}

// A transform whose inverse is infinite where it rounds to the end of its range.
TEST(Distributions, TransformedRemembersItsLastDraw) {
  const std::pair<dist::Transform, double> transforms[] = {
      {dist::tanh_transform(), 20}, {dist::sigmoid_transform(), 40}, {dist::exp_transform(), 100}};
  for (const auto& [transform, loc] : transforms) {
    manual_seed(0);
    const Tensor mean = full({1000}, loc).as_leaf();
    {
      Tape tape;
      const dist::Transformed policy(dist::Normal(mean, 1), {transform});
      const Tensor l = policy.log_prob(policy.rsample());
      EXPECT_TRUE(all(isfinite(l)));
      const Tensor slope = tape.backward(sum(l))[mean];  // of -log |f'(x)|: 2 for tanh, 1 for sigmoid, -1 for exp
      EXPECT_NEAR(tapegrad::mean(slope).item(), loc == 20 ? 2 : loc == 40 ? 1 : -1, 1e-4);
    }
    Tape tape;
    const dist::Transformed policy(dist::Normal(mean, 1), {transform});
    const Tensor drawn = policy.sample();
    EXPECT_TRUE(all(isfinite(dist::Independent(policy, 1).log_prob(drawn))));
    const Tensor constant = tape.backward(sum(policy.log_prob(policy.rsample().detach())))[mean];
    EXPECT_NEAR(tapegrad::var(constant).item(), 1, 0.1);  // x - mean: x is a constant
  }
}

TEST(Distributions, TransformedHasTheSameDensityOfOtherTensors) {
  const dist::Transformed policy(dist::Normal(full({50}, 0.5, kFloat64), 1),
                                 {dist::tanh_transform(), dist::affine_transform(1, 3)});
  const Tensor first = policy.sample(), remembered = policy.log_prob(first), copied = policy.log_prob(first.clone());
  EXPECT_TRUE(allclose(remembered, copied, 1e-9));
  const Tensor second = policy.sample();
  EXPECT_TRUE(allclose(policy.log_prob(first), remembered, 1e-9));
  // a leaf that shares the draw's memory has a gradient
  const Tensor leaf = second.as_leaf();
  EXPECT_TRUE(all(Tape().backward(sum(policy.log_prob(leaf)))[leaf] != 0));
}

// A remembered draw is a constant, its inverse is not: it depends on the parameters of the transforms.
TEST(Distributions, TransformedHasGradientsOfItsTransforms) {
  const Tensor loc = full({1}, 0.3, kFloat64).as_leaf(), scale = full({1}, 2.0, kFloat64).as_leaf();
  const Tensor base = zeros({100}, kFloat64);
  for (const bool bounded : {false, true}) {
    const auto make = [&] {
      std::vector<dist::Transform> transforms{dist::affine_transform(loc, scale)};
      if (bounded) transforms.push_back(dist::tanh_transform());
      return dist::Transformed(dist::Normal(base, 1), transforms);
    };
    const auto slopes = [&](const auto& draw) {  // of the density of what `draw` draws, by one that has drawn it or not
      std::vector<Tensor> found;
      for (const bool has_drawn : {true, false}) {
        manual_seed(0);
        Tape tape;
        const dist::Transformed policy = make();
        const Tensor drawn = draw(policy);
        const Gradients grads = tape.backward(sum((has_drawn ? policy : make()).log_prob(drawn)));
        const Tensor* const of_loc = grads.find(loc);  // none where it cancels
        found.push_back(cat({of_loc ? *of_loc : zeros_like(loc), grads[scale]}, 0));
      }
      return found;
    };
    const auto sampled = slopes([](const dist::Transformed& d) { return d.sample(); });
    EXPECT_TRUE(all(sampled[1] != 0));
    EXPECT_TRUE(allclose(sampled[0], sampled[1], 1e-9));
    const auto constant = slopes([](const dist::Transformed& d) { return d.rsample().detach(); });
    EXPECT_TRUE(allclose(constant[0], constant[1], 1e-9));
    const auto recorded = slopes([](const dist::Transformed& d) { return d.rsample(); });
    EXPECT_TRUE(allclose(recorded[0], recorded[1], 1e-9, 1e-9));
  }
  // where the inverse is infinite, the density is finite, and so are the gradients
  const dist::Transformed far(dist::Normal(full({100}, 30.0), 1),
                              {dist::affine_transform(loc.detach().to(kFloat32).as_leaf(), 1), dist::tanh_transform()});
  EXPECT_TRUE(all(isfinite(far.log_prob(far.sample()))));
}

// The draw is recognised by its elements.
TEST(Distributions, TransformedSeesThatADrawHasChanged) {
  const dist::Transformed policy(dist::Normal(zeros({3}), 1), {dist::tanh_transform()});
  Tensor drawn = policy.sample();
  const Tensor copy = drawn.clone();
  EXPECT_TRUE(all(policy.log_prob(drawn) == policy.log_prob(copy)));
  drawn.mutable_data<float>()[0] = 0.1F;
  EXPECT_TRUE(allclose(policy.log_prob(drawn), dist::Transformed(policy).log_prob(drawn.clone()), 1e-6));
  EXPECT_FALSE(all(policy.log_prob(drawn) == policy.log_prob(copy)));
}

// Both gamma numbers are 0 in float64; PyTorch's draws are 1/2 then.
TEST(Distributions, SmallConcentrations) {
  for (const double a : {1e-4, 1e-3, 1e-2}) {
    manual_seed(0);
    const Tensor half = sum(dist::Beta(full({20000}, a), full({20000}, a)).sample() == 0.5);
    EXPECT_EQ(half.item(), 0) << a;
    const Tensor drawn = dist::Dirichlet(full({20000, 3}, a)).sample().select(-1, 0);
    EXPECT_NEAR(tapegrad::var(drawn).item(), 2. / 9 / (3 * a + 1), 0.005) << a;
    EXPECT_NEAR(tapegrad::mean(drawn).item(), 1. / 3, 0.01) << a;
  }
  // the derivative of the mean of x = g / (g + h): the mean of b / (a + b) is 1/4 / a for a = b
  Tape tape;
  const Tensor a = full({200000}, 0.01, kFloat64).as_leaf(), b = full({200000}, 0.01, kFloat64);
  const Tensor slope = tape.backward(sum(dist::Beta(a, b).rsample()))[a];
  EXPECT_NEAR(tapegrad::mean(slope).item(), 25, 1);
}

TEST(Distributions, NearImpossibleAndCertainCounts) {
  EXPECT_NEAR(dist::Binomial(1e7, 0).log_prob(tensor({0.})).item(), 0, 1e-12);  // PyTorch: -1.19
  const Tensor slope = tensor({0., 1.}).as_leaf(), g = Tape().backward(sum(dist::Bernoulli(slope).entropy()))[slope];
  EXPECT_NEAR(g[0].item(), -g[1].item(), 1e-3);
}

TEST(Distributions, Errors) {
  using namespace dist;
  EXPECT_ERROR(Independent(Normal(ones({2}), 1), 2));
  EXPECT_ERROR(affine_transform(0, 0));
}

}  // namespace
}  // namespace tapegrad::tests
