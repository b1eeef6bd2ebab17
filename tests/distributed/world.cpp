// Collectives and data parallel steps. The tests of the suite Ranks run in this process, and in three processes under
// mpirun.
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/optim/internal/share.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/ranks.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::distributed {
namespace {

using namespace tests;

const World& world() {
  static const World joined;
  return joined;
}

Tensor numbers(const Shape& shape, double factor) {
  return (arange(0, static_cast<double>(shape.numel()), 1, kFloat32) * factor).reshape(shape);
}

TEST(Ranks, Collectives) {
  const int n = world().size(), me = world().rank();
  const Tensor x = numbers({2, 3}, me + 1);
  EXPECT_EQ(world().broadcast(x, n - 1).to_vector<float>(), numbers({2, 3}, n).to_vector<float>());
  const double sum = n * (n + 1) / 2.0;
  EXPECT_EQ(world().all_reduce(x).to_vector<float>(), numbers({2, 3}, sum).to_vector<float>());
  EXPECT_EQ(world().all_reduce(x, Reduce::max).to_vector<float>(), numbers({2, 3}, n).to_vector<float>());
  EXPECT_EQ(world().all_reduce(-x, Reduce::min).to_vector<float>(), numbers({2, 3}, -n).to_vector<float>());
  EXPECT_EQ(world().all_reduce(scalar(me, kInt64)).item<int64_t>(), n * (n - 1) / 2);
  EXPECT_EQ(world().all_reduce(scalar(me, kInt64), Reduce::max).item<int64_t>(), n - 1);
  const Tensor part = tensor({me == 0 ? 0.1 : 0, me == n - 1 ? 0.3 : 0, 0.0}, kFloat64);
  EXPECT_EQ(world().all_reduce(part, Reduce::only).to_vector<double>(), std::vector<double>({0.1, 0.3, 0}));
  EXPECT_EQ(world().all_reduce(zeros({0, 4})).shape(), Shape({0, 4}));
  EXPECT_TRUE(std::isnan(world().all_reduce(scalar(me == n - 1 ? NAN : 1.0), Reduce::max).item()));
  const Tensor large = numbers({300'000}, 1.0 / 3 + me);  // the same bits everywhere
  const Tensor total = world().all_reduce(large);
  EXPECT_EQ(world().broadcast(total).to_vector<float>(), total.to_vector<float>());

  const Tensor rows = numbers({2 * n, 2}, me + 1), own = world().reduce_scatter(rows.t().contiguous().t());
  EXPECT_EQ(own.to_vector<float>(), numbers({2 * n, 2}, sum).slice(0, 2 * me, 2 * me + 2).to_vector<float>());
  const Tensor all = world().all_gather(x);
  EXPECT_EQ(all.shape(), Shape({2 * n, 3}));
  for (int r = 0; r < n; ++r)
    EXPECT_EQ(all.slice(0, 2 * r, 2 * r + 2).to_vector<float>(), numbers({2, 3}, r + 1).to_vector<float>());
  EXPECT_EQ(world().all_gather(scalar(me, kInt64)).shape(), Shape({n}));
  EXPECT_EQ(world().all_gather(tensor({{me % 2 == 0}})).dtype(), kBool);
  world().barrier();
  world().agree("");
}

TEST(Ranks, Errors) {
  const int n = world().size(), me = world().rank();
  EXPECT_EQ(error_of([] { world().broadcast(zeros({1}), 99); }),
            "[broadcast] expected a root below " + std::to_string(n) + ", got 99");
  EXPECT_EQ(error_of([] { world().all_reduce(tensor({true})); }),
            "[all_reduce] expected float32, float64 or int64, got bool");
  EXPECT_EQ(error_of([] { world().reduce_scatter(scalar(1)); }),
            "[reduce_scatter] expected a first axis that " + std::to_string(n) + " processes can share, got shape []");
  const std::string text = me == n - 1 ? "[here] it failed" : "";
  EXPECT_EQ(error_of([&] { world().agree(text); }), n == 1 ? "[here] it failed" : "rank 2: [here] it failed");
  if (n == 1) return;
  EXPECT_EQ(error_of([&] {
              world().all_reduce(zeros(me == 1 ? Shape{2, 3} : Shape{3, 2}));
            }),
            "[all_reduce] expected tensors of the same shape and type, got [3, 2] float32 on rank 0, [2, 3] float32 on "
            "rank 1");
  EXPECT_EQ(
      error_of([&] { world().all_gather(zeros({2}, me == 2 ? kFloat64 : kFloat32)); }),
      "[all_gather] expected tensors of the same shape and type, got [2] float32 on rank 0, [2] float64 on rank 2");
  EXPECT_EQ(error_of([&] { world().all_reduce(zeros({2}), me == 2 ? Reduce::max : Reduce::sum); }),
            "[all_reduce] expected the same reduction on every process, got 0 on rank 0, 1 on rank 2");
  EXPECT_EQ(error_of([&] { world().broadcast(zeros({2}), me == 2 ? 1 : 0); }),
            "[broadcast] expected the same root on every process, got 0 on rank 0, 1 on rank 2");
  const std::string mixed = error_of([&] { me == 1 ? world().barrier() : (void)world().all_gather(zeros({2})); });
  EXPECT_EQ(mixed, std::string(me == 1 ? "[barrier]" : "[all_gather]") +
                       " expected the same call on every process, got all_gather on rank 0, barrier on rank 1");
  EXPECT_EQ(error_of([&] { world().require_equal("here", "options", me == 2 ? "a 1\nb 2\n" : "a 1\nb 3\n"); }),
            "[here] expected the same options on every process, got b 3 on rank 0, b 2 on rank 2");
  world().require_equal("here", "options", "a 1\n");
  const nn::Linear model(2, me == 2 ? 3 : 4);
  optim::SGD sgd(nn::parameters(model), {});
  EXPECT_EQ(error_of([&] { DataParallel parallel(world(), sgd, {.accumulate = n}); }),
            "[data_parallel] expected the same parameters on every process, got \"weight\" float32 [4, 2] on rank 0, "
            "\"weight\" float32 [3, 2] on rank 2");
  EXPECT_EQ(error_of([&] { DataParallel parallel(world(), sgd, {.accumulate = 4}); }),
            "[data_parallel] expected accumulate to be a multiple of the number of processes, 3, got 4");
}

// A model whose weights span several blocks, with a layer that only some batches use.
struct Net {
  nn::Linear in{40, 1500}, out{1500, 3}, extra{40, 3};
  nn::Dropout dropout{0.2};
  Tensor operator()(const Tensor& x, bool more) const {
    const Tensor y = out(dropout(relu(in(x))));
    return more ? y + extra(x) : y;
  }
};

// Three steps of six batches; the layer `extra` is used by the last batch only. Returns the parameters and the state.
template <class Optimizer, class Options>
std::pair<NamedTensors, NamedTensors> trained(const World& world, const Options& options,
                                              DataParallelOptions parallel) {
  manual_seed(5);
  Net net;
  Optimizer optimizer(nn::parameters(net), options);
  parallel.accumulate = 6;
  DataParallel steps(world, optimizer, parallel);
  double last = 0;
  for (int i = 0; i < 3; ++i)
    last = steps.step([&](int64_t batch) {
      Generator data(static_cast<uint64_t>(batch));
      const Tensor x = randn({4, 40}, kFloat32, &data);
      return mse_loss(net(x, batch % 6 == 5), ones({4, 3}));
    });
  EXPECT_TRUE(std::isfinite(last));
  const double drawn = randn({1}).item();  // batches have their own draws
  manual_seed(5);
  const Net again;
  EXPECT_EQ(drawn, randn({1}).item());
  NamedTensors parameters = nn::state_dict(net);
  NamedTensors state = steps.state();
  if (world.rank() == 0) {  // the state goes back in, whole
    Optimizer other(nn::parameters(net), options);
    other.load_state(state);
    state.push_back({"again", other.state().back().tensor});
  }
  return {parameters, state};
}

template <class Optimizer, class Options>
void expect_bits_of_one_process(const Options& options, const DataParallelOptions& parallel) {
  const auto [one, whole] = trained<Optimizer>(World::alone(), options, parallel);
  const auto [many, state] = trained<Optimizer>(world(), options, parallel);
  expect_same(one, many);
  if (world().rank() == 0) expect_same(whole, state);
}

TEST(Ranks, StepsHaveTheBitsOfOneProcess) {
  expect_bits_of_one_process<optim::AdamW>(optim::AdamWOptions{.lr = 1e-2},
                                           {.clip_grad_norm = 0.1, .bucket_bytes = 1 << 14});
  expect_bits_of_one_process<optim::SGD>(optim::SGDOptions{.lr = 1e-2, .momentum = 0.9}, {.overlap = false});
  expect_bits_of_one_process<optim::Adafactor>(optim::AdafactorOptions{}, {.clip_grad_norm = 10});
}

struct Normalised {
  nn::Linear in{6, 8};
  nn::BatchNorm batch{8, {.momentum = std::nullopt}};
  nn::InstanceNorm instance{4, {.track_running_stats = true}};
  Tensor operator()(const Tensor& x) const { return instance(batch(in(x)).reshape({-1, 4, 2})); }
};

NamedTensors normalised(const World& world) {
  manual_seed(5);
  Normalised net;
  optim::SGD sgd(nn::parameters(net), {.lr = 0.1});
  DataParallel steps(world, sgd, {.accumulate = 6});
  for (int i = 0; i < 3; ++i) {
    steps.begin_step(i == 2 ? 4 : 6);  // the last one has fewer batches
    for (int64_t batch = 0; batch < (i == 2 ? 4 : 6); ++batch) {
      Generator data(static_cast<uint64_t>(6 * i + batch + 1));
      const Tensor x = randn({5, 6}, kFloat32, &data);
      if (!steps.is_mine(batch)) continue;
      Tape tape;
      steps.backward(tape, mean(square(net(x)), {}));
    }
    steps.update();
  }
  static_cast<void>(net(ones({3, 6})));  // outside of a step: at once
  return nn::state_dict(net);
}

TEST(Ranks, RunningStatisticsAreThoseOfOneProcess) { expect_same(normalised(World::alone()), normalised(world())); }

TEST(Ranks, TransformsHaveTheBitsOfOneProcess) {
  const auto own = [](optim::StepGradients& grads) {
    Generator same(7);
    grads.add_noise(0.01, &same);
    grads.map([norm = grads.norm()](auto x) { return x / (1 + norm); });
  };
  const DataParallelOptions all{.transforms = {optim::ClipValue{1e-3}, own}};
  expect_bits_of_one_process<optim::SGD>(optim::SGDOptions{.lr = 1e-2}, all);
  expect_bits_of_one_process<optim::Adafactor>(optim::AdafactorOptions{}, all);  // parameters are not cut
}

TEST(Ranks, GradientsInBfloat16) {
  const auto [exact, state] = trained<optim::SGD>(world(), optim::SGDOptions{.lr = 0.1}, {});
  const auto [rounded, other] = trained<optim::SGD>(world(), optim::SGDOptions{.lr = 0.1}, {.wire = kBFloat16});
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    largest = std::max(largest, amax(abs(exact[i].tensor - rounded[i].tensor)).item());
  EXPECT_LT(largest, 1e-2);
  EXPECT_TRUE(world().size() == 1 || largest > 0);
}

TEST(Ranks, SharesTheState) {
  Net net;
  optim::Adam adam(nn::parameters(net), {});
  DataParallel parallel(world(), adam, {.accumulate = world().size()});
  parallel.step([&](int64_t) { return mean(net(ones({1, 40}), true)); });
  if (world().size() == 1) return;
  int64_t held = 0, all = 0;
  const optim::UpdateShare share(adam);
  for (const auto& entry : share.state_entries()) held += share.state_of(entry).numel(), all += entry.shape.numel();
  const Tensor total = world().all_reduce(scalar(static_cast<double>(held), kFloat64));
  EXPECT_EQ(total.item(), static_cast<double>(all));
  EXPECT_LT(held, all);
  EXPECT_EQ(error_of([&] { adam.state(); }),
            "[optimizer] this optimiser has a share of the state (call state() of its DataParallel)");
  EXPECT_EQ(
      error_of([&] { adam.step({}); }),
      "[optimizer] this optimiser updates a share of the parameters (call step() of the DataParallel that has it)");
  EXPECT_GT(parallel.times().bytes_sent, 0);
}

TEST(Ranks, MissingAndUnknownGradients) {
  Net net;
  const nn::Linear other(40, 3);
  const int n = world().size();
  // With a leaf that is no parameter in one batch of the step.
  const auto failing = [&](bool extra, int64_t batch_with_unknown, double factor = 0) {
    optim::SGD sgd(nn::parameters(net), {});
    DataParallel parallel(world(), sgd, {.accumulate = 2 * n});
    return error_of([&] {
      parallel.step([&](int64_t batch) {
        const Tensor x = ones({1, 40}), y = net(x, extra), one = sgd.parameters()[0].tensor.flatten()[0] * factor;
        return mean(batch == batch_with_unknown ? y + other(x) : y) + one;
      });
    });
  };
  EXPECT_TEXT(failing(false, -1));
  const std::string first = failing(true, 0), last = failing(true, 2 * n - 1);  // of the last process, and of the first
  for (const std::string& text : {first, last})
    expect_parts(text, {"a visit leave out a member? ignore(nn::parameters(other))"});
  // of elements that one process updates: the others must not do it either
  expect_parts(failing(true, -1, NAN), {"is not finite, so it was not updated"});
  EXPECT_EQ(failing(true, -1), "no error");
  if (n == 1) return;
  EXPECT_TRUE(first.starts_with("rank 2: [data_parallel] the gradient of ")) << first;
  EXPECT_TRUE(last.starts_with("[data_parallel] the gradient of ")) << last;
}

// Gradients that the optimiser ignores take no part in the norm.
TEST(Ranks, ClipsTheGradientsOfTheOptimisersParameters) {
  const auto changes = [](const World& world) {
    manual_seed(3);
    const Net net;
    const nn::Linear other(40, 3);
    optim::SGD sgd(nn::parameters(net), {.lr = 0.5});
    sgd.ignore(nn::parameters(other));
    NamedTensors changed = nn::state_dict(net);
    DataParallel parallel(world, sgd, {.accumulate = 6, .clip_grad_norm = 1e-2});
    parallel.step([&](int64_t) {
      const Tensor x = ones({1, 40});
      return mean(net(x, true) + 100 * other(x));
    });
    const NamedTensors now = nn::parameters(net);
    for (std::size_t i = 0; i < now.size(); ++i) changed[i].tensor = changed[i].tensor - now[i].tensor;
    return changed;
  };
  const NamedTensors alone = changes(World::alone());
  double squares = 0;
  for (const NamedTensor& change : alone) squares += sum(change.tensor * change.tensor).item();
  EXPECT_NEAR(std::sqrt(squares), 0.5 * 1e-2, 1e-5);
  expect_same(alone, changes(world()));
}

// The parameters after a step of batches with `rows` examples each, and the step's loss.
std::pair<NamedTensors, double> after_one_step(const World& world, const std::vector<int64_t>& rows, DType wire) {
  manual_seed(5);
  Net net;
  nn::eval(net);
  optim::SGD sgd(nn::parameters(net), {.lr = 1});
  sgd.allow_missing(true);
  Generator generator(9);
  const Tensor x = randn({64, 40}, kFloat32, &generator), y = randn({64, 3}, kFloat32, &generator);
  DataParallel parallel(world, sgd,
                        {.accumulate = static_cast<int64_t>(rows.size()), .wire = wire, .update_in_backward = true});
  const double loss = parallel.step([&](int64_t batch) {
    int64_t first = 0;
    for (int64_t i = 0; i < batch; ++i) first += rows[static_cast<std::size_t>(i)];
    const int64_t end = first + rows[static_cast<std::size_t>(batch)];
    // Only the batches of one example use the layer `extra`, which never makes a difference.
    const Tensor out = net(x.slice(0, first, end), false) + 0 * net.extra(x.slice(0, first, end));
    return MeanLoss(mse_loss(end - first == 1 ? out : net(x.slice(0, first, end), false), y.slice(0, first, end)),
                    static_cast<double>(end - first));
  });
  return {nn::state_dict(net), loss};
}

TEST(Ranks, AStepOfUnequalBatchesIsThatOfOneBatch) {
  const std::pair<std::vector<int64_t>, std::vector<int64_t>> cases[] = {
      {{1, 0, 0, 10, 2, 0}, {1, 12, 0, 0, 0, 0}}, {{3, 1, 7, 0, 1, 20}, {1, 31, 0, 0, 0, 0}},
      {{1, 1, 1, 1, 1, 1}, {1, 5, 0, 0, 0, 0}},   {{0, 0, 0, 0, 0, 5}, {1, 4, 0, 0, 0, 0}},
      {{5, 0, 0, 0, 0, 0}, {1, 4, 0, 0, 0, 0}},
  };
  for (const auto& [rows, together] : cases) {
    const auto [one, loss] = after_one_step(World::alone(), rows, kFloat32);
    const auto [whole, whole_loss] = after_one_step(World::alone(), together, kFloat32);
    EXPECT_NEAR(loss, whole_loss, 1e-6);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_LT(amax(abs(one[i].tensor - whole[i].tensor)).item(), 1e-6) << one[i].name;
    const auto [many, same_loss] = after_one_step(world(), rows, kFloat32);
    expect_same(one, many);
    EXPECT_EQ(loss, same_loss);
    const auto [rounded, again] = after_one_step(world(), rows, kBFloat16);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_LT(amax(abs(one[i].tensor - rounded[i].tensor)).item(), 1e-2) << one[i].name;
    EXPECT_EQ(loss, again);
  }
}

TEST(Ranks, TermsThatCannotBeMeantAreErrors) {
  const auto step = [](double terms) {
    Net net;
    optim::SGD sgd(nn::parameters(net), {});
    sgd.allow_missing(true);
    DataParallel parallel(world(), sgd, {.accumulate = world().size(), .update_in_backward = true});
    return error_of([&] { parallel.step([&](int64_t) { return MeanLoss(mean(net(ones({1, 40}), true)), terms); }); });
  };
  EXPECT_TEXT(step(0));
  EXPECT_EQ(step(-1), "[data_parallel] expected a finite number of terms of at least 0, got -1");
  EXPECT_EQ(step(NAN), "[data_parallel] expected a finite number of terms of at least 0, got nan");
  EXPECT_EQ(step(INFINITY), "[data_parallel] expected a finite number of terms of at least 0, got inf");
}

TEST(World, SeveralProcesses) {
  SKIP_WITHOUT_MPIRUN();
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (const auto& [processes, filter, tests] :
       {std::tuple(2, "Ranks.*Unequal*:Ranks.StepsHave*:Ranks.Terms*", 3), {3, "Ranks.*", 11}}) {
    const Ran ran = successful(
        run_ranks(processes, {self, "--gtest_brief=1", "--gtest_color=no", std::string("--gtest_filter=") + filter}));
    expect_parts(ran.out, {fmt::format("[  PASSED  ] {} tests.", tests)});
  }
}

}  // namespace
}  // namespace tapegrad::distributed
