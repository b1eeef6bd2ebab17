// Updates during backward: values, memory, errors, and functions of the user that read parameters which are not inputs
// of their operation.
// ctest: threads
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

const Op kRead{"reads_w"};

// What computes y from u, and reads w, which the tape does not know to be an input.
using Reader = std::function<Tensor(const Tensor& u, const Tensor& w)>;

Tensor custom_reader(const Tensor& u, const Tensor& w) {
  return custom(
      kRead, {u}, [w](const Tensor& x) { return x * w; }, [w](const Tensor& dy) -> Grads { return dy * w; });
}

Tensor times_detached(const Tensor& x, const Tensor& w) { return x * w.detach(); }

const std::vector<std::pair<std::string, Reader>>& readers() {
  static const std::vector<std::pair<std::string, Reader>> all{
      {"custom operation", custom_reader},
      {"custom operation with its result",
       [](const Tensor& u, const Tensor& w) {
         return custom(
             kRead, {u}, [w](const Tensor& x) { return x * w; },
             [&w](const Tensor& dy, const Tensor& y) -> Grads { return dy * w + y * 0; });
       }},
      {"record",
       [](const Tensor& u, const Tensor& w) {
         return record(
             kRead, u.detach() * w.detach(), {u}, [w](const Tensor& dy) -> Grads { return dy * w; }, Reads::anything);
       }},
      {"record of a span",
       [](const Tensor& u, const Tensor& w) {
         const std::vector<Tensor> inputs{u};
         const auto backward = [w](const Tensor& dy) -> Grads { return dy * w; };
         return record(kRead, u.detach() * w.detach(), inputs, backward, Reads::anything);
       }},
      {"hook", [](auto& u, auto& w) { return on_grad(u * 2, [w](const Tensor& dy) { return dy * w; }); }},
      {"hook with a tape",
       [](const Tensor& u, const Tensor& w) {
         return on_grad(u * 2, [w](const Tensor& dy) { return Tape().backward(sum(w * w))[w] * dy; });
       }},
      {"recompute", [](auto& u, auto& w) { return nn::recompute(u, [&w](auto& x) { return times_detached(x, w); }); }},
      {"nested recompute",
       [](const Tensor& u, const Tensor& w) {
         const auto inner = [&w](const Tensor& x) { return times_detached(x, w); };
         const auto outer = [inner](const Tensor& x) { return nn::recompute(x * 2, inner) + x; };
         return nn::recompute(u, outer, Reads::inputs);  // the inner one reads anything, and it counts
       }},
      {"custom operation in recompute",
       [](const Tensor& u, const Tensor& w) {
         return nn::recompute(
             u, [&w](const Tensor& x) { return custom_reader(x, w); }, Reads::inputs);
       }},
      {"reversible",
       [](const Tensor& u, const Tensor& w) {
         std::vector<nn::ReversibleFunctions> layers;
         layers.push_back({[&w](const Tensor& x) { return times_detached(x, w); }, [](const Tensor& x) { return x; }});
         return nn::reversible({u, u}, std::move(layers)).first;
       }},
      {"adjoint of an equation",
       [](const Tensor& u, const Tensor& w) {
         const auto slope = [&w](double, const Tensor& h, std::span<const Tensor>) { return times_detached(h, w); };
         const double times[] = {0, 0.1};
         return nn::odeint(slope, u, {}, times, {.adjoint = true})[1];
       }},
  };
  return all;
}

// What two steps of SGD make of these leaves, by step(tape, loss) or by step(tape.backward(loss)).
std::vector<std::vector<float>> trained(bool in_backward, const std::vector<Tensor>& start, const auto& loss_of,
                                        double lr = 1) {
  std::vector<Tensor> leaves;
  NamedTensors parameters;
  for (const Tensor& x : start) {
    leaves.push_back(x.clone().as_leaf());
    parameters.push_back({std::to_string(parameters.size()), leaves.back()});
  }
  optim::SGD sgd(parameters, {.lr = lr});
  for (int i = 0; i < 2; ++i) {
    Tape tape;
    const Tensor loss = loss_of(leaves);
    in_backward ? sgd.step(tape, loss) : sgd.step(tape.backward(loss));
  }
  std::vector<std::vector<float>> values;
  for (const Tensor& leaf : leaves) values.push_back(leaf.to_vector<float>());
  return values;
}

// Whether u and w, of n elements each, become the same in both ways.
bool trains_as_at_the_end(const Reader& reader, int64_t n) {
  const auto loss_of = [&](const std::vector<Tensor>& x) {
    return sum(reader(x[0], x[1]) * x[1]);  // backward has the gradient of w before `reader` runs
  };
  const std::vector<Tensor> start{full({n}, 0.5), full({n}, 0.75)};
  return trained(true, start, loss_of, 0.25) == trained(false, start, loss_of, 0.25);
}

// Parameters wait for each other until they have 131,072 elements: sizes below, at and above that, for w and for both.
TEST(UpdateInBackward, WaitsForFunctionsThatReadParameters) {
  for (const auto& [name, reader] : readers())
    for (const int64_t n : {7, 65'535, 65'536, 131'071, 131'072, 131'073, 300'000})
      EXPECT_TRUE(trains_as_at_the_end(reader, n)) << name << ", " << n << " elements";
}

// What a backward sees of w, and of the optimiser, when it runs after the gradient of w is complete.
struct Seen {
  float w = 0;
  int64_t steps = -1;
};

using Look = std::function<void()>;

Seen seen_by(
    const std::function<Tensor(const Tensor& u, Look look)>& reader,
    Tensor (*later)(const Tensor&) = [](const Tensor& x) { return x; }) {
  const Tensor u = full({300'000}, 0.5).as_leaf(), w = full({300'000}, 0.75).as_leaf();
  optim::SGD sgd({{"u", u}, {"w", w}}, {.lr = 0.25});
  Tape tape;
  Seen seen;
  const Tensor y = reader(u, [&] { seen = {w.data<float>()[0], sgd.steps()}; });
  sgd.step(tape, sum(later(y * w)));
  EXPECT_EQ(sgd.steps(), 1);
  EXPECT_EQ(w.data<float>()[0], 0.625f);
  return seen;
}

Tensor custom_that_looks(const Tensor& u, Look look) {
  const auto backward = [look](const Tensor& dy) -> Grads {
    look();
    return dy;
  };
  return custom(
      kRead, {u}, [](const Tensor& x) { return x * 1; }, backward, Reads::inputs);
}

TEST(UpdateInBackward, DoesNotWaitForFunctionsThatReadTheirInputs) {
  EXPECT_EQ(seen_by(custom_that_looks).w, 0.625f) << "updated: the promise was not to look at it";
  int runs = 0;
  const Seen of_recompute = seen_by([&](const Tensor& u, Look look) {
    return nn::recompute(
        u,
        [&, look](const Tensor& x) {
          if (++runs == 2) look();
          return x * 1;
        },
        Reads::inputs);
  });
  EXPECT_EQ(of_recompute.w, 0.625f);
  EXPECT_EQ(runs, 2);
}

TEST(UpdateInBackward, BeginsAfterTheLastFunction) {
  const Seen seen =
      seen_by([](const Tensor& u, Look look) { return on_grad(u * 1, [look](const Tensor&) { look(); }); });
  EXPECT_EQ(seen.w, 0.75f);
  EXPECT_EQ(seen.steps, 0) << "as in step(tape.backward(loss))";
}

// A later operation that reads anything does not keep those before it waiting: backward runs it first.
TEST(UpdateInBackward, WaitsForEarlierOperationsOnly) {
  EXPECT_EQ(seen_by(custom_that_looks, [](const Tensor& x) { return on_grad(x, [](const Tensor&) {}); }).w, 0.625f);
}

TEST(UpdateInBackward, AHookMayFreezeAParameterAndSetTheRate) {
  for (const int64_t n : {7, 300'000}) {
    const auto trained = [&](bool in_backward) {
      const Tensor u = full({n}, 0.5).as_leaf(), w = full({n}, 0.75).as_leaf();
      optim::Adam adam({{"u", u}, {"w", w}}, {.lr = 0.25});
      for (int step = 0; step < 2; ++step) {
        Tape tape;
        const Tensor y = on_grad(u * 2, [&](const Tensor&) {
          w.set_frozen(step == 0);
          adam.set_lr(0.125);
        });
        const Tensor loss = sum(y * w);
        w.set_frozen(false);
        in_backward ? adam.step(tape, loss) : adam.step(tape.backward(loss));
        w.set_frozen(false);
      }
      EXPECT_EQ(adam.state()[0].tensor.to_vector<int64_t>(), (std::vector<int64_t>{2, 2, 1})) << in_backward;
      return std::vector<Tensor>{u.clone(), w.clone()};
    };
    expect_same_results(trained, {false, true});
  }
}

TEST(UpdateInBackward, AFunctionThatFailsChangesNothing) {
  const Tensor u = full({300'000}, 0.5).as_leaf(), w = full({300'000}, 0.75).as_leaf();
  optim::Adam adam({{"u", u}, {"w", w}}, {.lr = 0.25});
  {
    Tape tape;
    const Tensor y = on_grad(u * 2, [](const Tensor&) { fail("hook", "no gradient today"); });
    EXPECT_EQ(error_of([&] { adam.step(tape, sum(y * w)); }), "[hook] no gradient today");
  }
  EXPECT_EQ(adam.state()[0].tensor.to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(w.data<float>()[0], 0.75f);
  Tape tape;
  adam.step(tape, sum(u * w));
  EXPECT_EQ(adam.state()[0].tensor.to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 1}));
}

// A gradient that is a parameter itself, returned by an operation or a hook, or given as the loss's gradient.
TEST(UpdateInBackward, AParameterMayBeAGradient) {
  for (const int64_t n : {7, 300'000}) {
    const auto w_itself = [](auto& u, auto& w) { return on_grad(u * 2, [w](const Tensor&) { return w; }); };
    EXPECT_TRUE(trains_as_at_the_end(w_itself, n)) << n;
    const Tensor w = full({n}, 0.75).as_leaf();
    optim::SGD sgd({{"w", w}}, {.lr = 1});
    const auto expect_kept = [&](const auto& gradients) {
      const Gradients grads = gradients();
      const Tensor held = grads[w];
      const float before = w.data<float>()[0];
      EXPECT_EQ(held.to_vector<float>(), std::vector<float>(static_cast<std::size_t>(n), before));
      sgd.step(grads);
      EXPECT_EQ(w.data<float>()[0], 0.0f);
      EXPECT_EQ(held.to_vector<float>(), std::vector<float>(static_cast<std::size_t>(n), before)) << "it has changed";
      w.prepare_write("test", "w");
      std::fill_n(w.mutable_data<float>(), n, 0.75f);
    };
    expect_kept([&] {
      return Tape().backward(sum(custom(
          kRead, {w}, [](const Tensor& x) { return x * x; }, [w](const Tensor&) -> Grads { return w; })));
    });
    expect_kept([&] { return Tape().backward(sum(on_grad(w, [w](const Tensor&) { return w; }))); });
    expect_kept([&] { return Tape().backward(w.reshape(w.shape()), {.grad_output = w}); });
    expect_kept([&] { return Tape().backward(w * 1, {.create_graph = true, .grad_output = w}); });
  }
}

TEST(Gradients, ThatAreALeafItselfAreDifferentiated) {
  const Tensor w = tensor({3., 5.}).as_leaf();
  Tape tape;
  const Tensor y = sum(on_grad(w * w, [w](const Tensor&) { return w; }));  // so dy/dw counts as 2 w^2
  const Tensor dw = tape.backward(y, {.create_graph = true})[w];
  EXPECT_EQ(dw.to_vector<float>(), (std::vector<float>{18, 50}));
  EXPECT_EQ(tape.backward(sum(dw))[w].to_vector<float>(), (std::vector<float>{12, 20}));
}

const std::string kNone = "no error";

// Operations that backward has yet to run use the values before the update.
TEST(UpdateInBackward, SeesTheValuesOfForward) {
  const std::vector<Tensor> start{tensor({1., 2.}), tensor({3., 5.}), tensor({-1., 0.5})};
  const auto expect_same = [&](const auto& loss_of) {
    const auto after = trained(false, start, loss_of);
    EXPECT_EQ(trained(true, start, loss_of), after);
    EXPECT_NE(after[1], start[1].to_vector<float>());
  };
  // A gradient is another parameter, and a parameter is used many times.
  expect_same([](const std::vector<Tensor>& w) { return sum(w[0] * w[1]) + sum(w[1] * w[2]) + sum(w[0] * w[0]); });
  // Before w[1] is on the tape, the product keeps its values.
  expect_same([](const std::vector<Tensor>& w) { return sum(w[0] * w[1].detach() * w[1] * w[2]); });
  // A view of a parameter is alive.
  Tensor view;
  expect_same([&view](const std::vector<Tensor>& w) {
    view = w[1].slice(0, 0, 2);
    return sum(w[0] * view * w[1] * w[2]);
  });
}

TEST(UpdateInBackward, FreesGradients) {
  const std::vector<Tensor> start(20, ones({100'000}));
  const auto peak = [&](bool in_backward) {
    pool::reset_peak();
    const int64_t before = pool::peak();
    trained(in_backward, start, [](const std::vector<Tensor>& w) {
      Tensor loss = sum(w[0]);
      for (const Tensor& x : w) loss = loss + sum(x * 2.0);
      return loss;
    });
    return pool::peak() - before;
  };
  // The sanitizer must see each allocation, so the pool is off, and there is no peak to measure.
  if (pool::stats().reserved == 0) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
  const int64_t one = 4 * 100'000, parameters = 20 * one;
  EXPECT_GE(peak(false), parameters + 20 * one);
  EXPECT_LE(peak(true), parameters + 6 * one);
}

TEST(UpdateInBackward, MissingUnknownAndFrozenParameters) {
  const Tensor a = ones({2}).as_leaf(), b = ones({3}).as_leaf(), c = ones({4}).as_leaf();
  const auto values = [&] { return std::pair{a.to_vector<float>(), b.to_vector<float>()}; };
  const auto before = values();
  optim::SGD sgd(NamedTensors{{"a", a}, {"b", b}}, {.lr = 1});
  const auto step = [&](const auto& loss_of) {
    return error_of([&] {
      Tape tape;
      sgd.step(tape, loss_of());
    });
  };
  // Errors, before anything is written.
  EXPECT_EQ(step([&] { return sum(b) * 0 + sum(a); }), kNone) << "a gradient of 0 is one";
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(sgd.steps(), 1);
  a.mutable_data<float>()[0] = a.mutable_data<float>()[1] = 1;
  const auto unrelated = [&] {
    const Tensor more = sum(b);  // recorded, but the loss does not need it
    return sum(a) + 0 * sum(a) + sum(ones({1}));
  };
  EXPECT_TEXT(step(unrelated));
  EXPECT_TEXT(step([&] { return sum(a) + sum(b) + sum(c); }));
  EXPECT_TEXT(step([&] { return ones({}); }));
  {
    Tape outer;
    const Tensor y = sum(b * b);
    EXPECT_TEXT(step([&] { return sum(a * a) + sum(b); }));
  }
  EXPECT_EQ(values(), before);
  EXPECT_EQ(sgd.steps(), 1);
  // Permitted.
  sgd.allow_missing(true);
  sgd.allow_unknown(true);
  EXPECT_EQ(step([&] { return sum(a) + sum(c); }), kNone);
  EXPECT_EQ(values(), (std::pair{std::vector<float>{0, 0}, std::vector<float>{1, 1, 1}}));
  EXPECT_EQ(c.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  a.set_frozen(true);
  EXPECT_EQ(step([&] { return sum(a) + sum(b); }), kNone);
  EXPECT_EQ(values(), (std::pair{std::vector<float>{0, 0}, std::vector<float>{0, 0, 0}}));
}

TEST(UpdateInBackward, ABackwardThatFailsIsNoStep) {
  static const Op kFails{"fails"};
  const Tensor a = ones({200'000}).as_leaf(), b = ones({200'000}).as_leaf();
  optim::SGD sgd(NamedTensors{{"a", a}, {"b", b}}, {.lr = 1, .momentum = 0.9});
  const auto step = [&](bool fails) {
    return error_of([&] {
      Tape tape;
      Tensor x = sum(a);
      if (fails) x = record(kFails, x * 1, {x}, [](const Tensor&) -> Grads { kFails.fail("as it should"); });
      sgd.step(tape, x * sum(b));  // b's gradient is complete before
    });
  };
  EXPECT_EQ(step(true), "[fails] as it should");
  EXPECT_EQ(sgd.steps(), 0);
  EXPECT_EQ(a.to_vector<float>()[7], 1);
  EXPECT_NE(b.to_vector<float>()[7], 1);
  EXPECT_EQ(sgd.state()[0].tensor.to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(step(false), kNone);
  EXPECT_EQ(sgd.state()[0].tensor.to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 2}));
}

}  // namespace
}  // namespace tapegrad::tests
