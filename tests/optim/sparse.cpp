// Sparse gradients of tables: against PyTorch's sparse optimisers and dense gradients, what keeps them sparse, and what
// makes them dense or an Error. ctest: threads
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/tests/optim/from_json.h>
#include <tapegrad/tests/support/mail.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using namespace tests;

// By the name of an update rule and PyTorch's names of options.
std::unique_ptr<optim::Optimizer> optimizer(const char* kind, const Json& options, const NamedTensors& parameters) {
  return optimizer_from({{"kind", kind}, {"options", options}}, {{.parameters = parameters}});
}

TEST(Sparse, EqualsPyTorch) {
  const Json& golden = stored("sparse.json");
  for (const Json& run : golden["runs"]) {
    SCOPED_TRACE(title(run));
    const DType dtype = dtype_of(run);
    const Tensor p = numbers({11, 3}, dtype, [](auto i) { return (5 * i % 23 - 11) / 8.0; }).as_leaf();
    const auto rule = optimizer_from(run, {{.parameters = {{"p", p}}}});
    std::size_t kept = 0;
    for (int64_t step = 1; kept < golden["steps"].size(); ++step) {
      const Tensor ids = numbers({9}, kInt64, [&](auto i) { return (i * i + 3 * step) % 11; });
      const Tensor dy = numbers({9, 3}, dtype, [&](auto i) { return ((7 * i + 13 * step) % 31 - 15) / 16.0; });
      Tape tape;
      rule->step(tape, sum(embedding(p, ids, 4, true) * dy));
      if (step != golden["steps"][kept]) continue;
      const double tolerance = dtype == kFloat32 ? 5e-7 : 5e-15;
      expect_close(p, run["kept"][kept++], {tolerance, tolerance}, fmt::format("step {}", step));
    }
  }
}

// Rows of 19 do not divide the blocks of a norm; 3 is the padding.
constexpr int64_t kRows = 5000, kColumns = 19;

// Many of them occur several times.
Tensor ids_of(int64_t batch) {
  return numbers({20, 15}, kInt64, [&](auto i) { return (i * i + 31 * batch) % 97 * 51 % kRows; });
}

// Two lookups of one table.
Tensor loss_of(const nn::Embedding& table, int64_t batch) {
  const Tensor x = table(ids_of(batch)), y = table(ids_of(batch + 50));
  return sum(x * x * 0.01) + sum(y * arange(1, kColumns + 1, 1, kFloat32));
}

Gradients gradients_of(const nn::Embedding& table, int64_t batch, const BackwardOptions& options = {}) {
  return Tape().backward(loss_of(table, batch), options);
}

nn::Embedding table_of(bool sparse) {
  manual_seed(1);
  return {kRows, kColumns, {.padding = 3, .sparse = sparse}};
}

using Step = std::function<void(optim::Optimizer& rule, const nn::Embedding& table, int64_t batch)>;
// Each keeps gradients sparse.
const std::vector<std::pair<const char*, Step>>& steps() {
  static const std::vector<std::pair<const char*, Step>> all{
      {"gradients", [](auto& rule, auto& table, auto batch) { rule.step(gradients_of(table, batch)); }},
      {"in backward",
       [](auto& rule, auto& table, auto batch) {
         Tape tape;
         rule.step(tape, loss_of(table, batch));
       }},
      {"with a NaN trap",
       [](auto& rule, auto& table, auto batch) {
         Tape tape;
         tape.trap_nan();
         rule.step(tape.backward(loss_of(table, batch)));
       }},
      {"read before",
       [](auto& rule, auto& table, auto batch) {
         const Gradients grads = gradients_of(table, batch);
         for (const auto& [place, grad] : grads) EXPECT_EQ(grad.shape(), Shape({kRows, kColumns}));
         EXPECT_GT(max(abs(grads[table.weight])).item(), 0);
         rule.step(grads);
       }},
      {"accumulated",
       [](auto& rule, auto& table, auto batch) {
         Gradients grads = gradients_of(table, batch);
         grads *= -0.5;
         grads += gradients_of(table, batch + 100);
         grads += Gradients();
         rule.step(grads);
       }},
      {"in a DataParallel",
       [](auto& rule, auto& table, auto batch) {
         distributed::DataParallel parallel(distributed::World::alone(), rule, {.accumulate = 3, .clip_grad_norm = 1});
         parallel.step([&](int64_t i) { return loss_of(table, batch + 100 * (i % 3)); });
       }},
      {"clipped",
       [](auto& rule, auto& table, auto batch) {
         Gradients grads = gradients_of(table, batch);
         EXPECT_GT(optim::clip_grad_norm(grads, 2, rule), 2);
         optim::clip_grad_value(grads, 0.02);
         EXPECT_LT(optim::clip_grad_norm(grads, 100), 2);
         rule.step(grads);
       }},
  };
  return all;
}

// The table after some steps, then the state of the optimiser.
std::vector<Tensor> trained(bool sparse, const char* kind, const Json& options, const Step& step) {
  const nn::Embedding table = table_of(sparse);
  const auto rule = optimizer(kind, options, nn::parameters(table));
  for (int64_t batch = 0; batch < 4; ++batch) step(*rule, table, batch);
  std::vector<Tensor> all{table.weight.clone()};
  for (const NamedTensor& entry : rule->state()) all.push_back(entry.tensor);
  return all;
}

TEST(Sparse, EqualsDenseGradients) {
  for (const auto& [name, step] : steps()) {
    SCOPED_TRACE(name);
    const auto both = [&, &step = step](const char* kind, const Json& options) {
      expect_same_results([&](bool sparse) { return trained(sparse, kind, options, step); }, {false, true});
    };
    both("sgd", {{"lr", 0.1}});
    both("adagrad", {{"lr", 0.1}, {"lr_decay", 0.1}, {"initial_accumulator_value", 0.1}});
  }
}

TEST(Sparse, NormEqualsThatOfTheDenseGradient) {
  const auto norm = [](bool sparse, uint64_t seed) {  // of numbers that are too different for exact sums
    const nn::Embedding table = table_of(sparse);
    Gradients grads = Tape().backward(sum(table(ids_of(0)) * exp(normal_of({20, 15, kColumns}, seed, kFloat32) * 4)));
    return optim::StepGradients(grads).norm();
  };
  for (uint64_t seed = 0; seed < 8; ++seed) EXPECT_EQ(norm(true, seed), norm(false, seed));
}

TEST(Sparse, AdamChangesTheRowsOfABatchAlone) {
  for (const auto& [name, step] : steps()) {
    SCOPED_TRACE(name);
    const nn::Embedding table = table_of(true);
    const auto adam = optimizer("adam", {{"lr", 0.1}}, nn::parameters(table));
    step(*adam, table, 0);
    const Tensor before = table.weight.clone(), moments = adam->state()[2].tensor.clone();
    step(*adam, table, 1);
    const Tensor changed = any(table.weight != before, 1), decayed = any(adam->state()[2].tensor != moments, 1);
    Gradients last = gradients_of(table, 1);
    if (std::string_view(name) == "accumulated") last += gradients_of(table, 101);
    if (std::string_view(name) == "in a DataParallel")
      last += gradients_of(table, 101), last += gradients_of(table, 201);
    const std::vector<int64_t> rows = last.rows(table.weight.tensor())->ids.to_vector<int64_t>();
    EXPECT_TRUE(std::ranges::is_sorted(rows));
    EXPECT_EQ(nonzero(changed).flatten().to_vector<int64_t>(), rows);
    EXPECT_EQ(nonzero(decayed).flatten().to_vector<int64_t>(), rows);
  }
}

TEST(Sparse, SameWithAnyThreads) {
  expect_same_with_any_threads([] {
    const Tensor p = normal_of({20'000, 70}, 1, kFloat32).as_leaf();
    const auto adam = optimizer("adam", {{"lr", 0.1}}, {{"p", p}});
    const Tensor ids = numbers({30'000}, kInt64, [](auto i) { return i * i % 19'997; });
    const Tensor dy = normal_of({30'000, 70}, 2, kFloat32);
    Gradients grads;
    for (int step = 0; step < 2; ++step) {
      grads = Tape().backward(sum(embedding(p, ids, {}, true) * dy));
      optim::clip_grad_norm(grads, 1);
      adam->step(grads);
    }
    return std::vector<Tensor>{p.clone(), grads[p]};
  });
}

TEST(Sparse, Resumes) {
  const nn::Embedding table = table_of(true);
  const auto unbroken = optimizer("adam", {{"lr", 0.1}}, nn::parameters(table));
  for (int64_t batch = 0; batch < 2; ++batch) unbroken->step(gradients_of(table, batch));
  nn::Embedding copy = table_of(true);
  nn::load_state_dict(copy, nn::state_dict(table));
  const auto resumed = optimizer("adam", {{"lr", 0.1}}, nn::parameters(copy));
  resumed->load_state(unbroken->state());
  for (int64_t batch = 2; batch < 4; ++batch) {
    unbroken->step(gradients_of(table, batch));
    resumed->step(gradients_of(copy, batch));
  }
  EXPECT_TRUE(same_bits(table.weight.tensor(), copy.weight.tensor()));
}

// Gradients that are dense with `sparse`, too.
TEST(Sparse, OfOtherGradientsIsDense) {
  const auto both = [](const auto& gradients) {
    expect_same_results(
        [&](bool sparse) {
          const nn::Embedding table = table_of(sparse);
          const Gradients grads = gradients(table);
          EXPECT_EQ(grads.rows(table.weight.tensor()), nullptr);
          return std::vector<Tensor>{grads[table.weight].detach()};
        },
        {false, true});
  };
  const auto head = [](const nn::Embedding& table, const Tensor& x) { return sum(linear(x, table.weight.tensor())); };
  both([](auto& table) { return gradients_of(table, 0, {.create_graph = true}); });
  // a tied model
  both([&](auto& table) { return Tape().backward(head(table, table(ids_of(0)))); });
  // the head between two lookups
  both([&](auto& table) {
    Tape tape;
    const Tensor first = loss_of(table, 0), second = head(table, table(ids_of(1)).detach()), last = loss_of(table, 2);
    return tape.backward(first + second + last);
  });
  // rows of what is no leaf
  both([](auto& table) { return Tape().backward(sum(embedding(table.weight * 2, ids_of(0), 3, table.sparse))); });
  both([](auto& table) { return Tape().backward(sum(table(ids_of(0)), {1, 2}), {.per_example = true}); });
  const auto changed = [&](const auto& change) {
    both([&](auto& table) {
      Gradients grads = gradients_of(table, 0);
      change(grads, table);
      return grads;
    });
  };
  changed([](Gradients& grads, auto&) {
    for (auto& [place, grad] : grads) grad = grad * 2;
  });
  changed([](Gradients& grads, auto& table) {
    grads.set(table.weight.tensor(), ones({kRows, kColumns}));
    grads += gradients_of(table, 1);
  });
  changed([](Gradients& grads, auto& table) {
    Gradients more = gradients_of(table, 1);
    more.set(table.weight.tensor(), ones({kRows, kColumns}));
    grads += std::move(more);
  });
  changed([](Gradients& grads, auto&) {
    manual_seed(3);
    optim::add_noise(grads, 0.1);
  });
  changed([](Gradients& grads, auto&) { optim::StepGradients(grads).map([](auto x) { return x + 1; }); });
}

// The second derivative is that of a dense table.
TEST(Sparse, IsDifferentiatedAgain) {
  expect_same_results(
      [](bool sparse) {
        const nn::Embedding table = table_of(sparse);
        Tape tape;
        const Tensor x = table(ids_of(0));
        const Gradients first = tape.backward(sum(x * x * x), {.create_graph = true});
        return std::vector<Tensor>{tape.backward(sum(square(first[table.weight])))[table.weight]};
      },
      {false, true});
}

// A bag's table, and a sink that knows nothing of rows.
TEST(Sparse, OfBagsAndOfOtherSinks) {
  expect_same_results(
      [](bool sparse) {
        struct Dense : GradientSink {
          void take(const TapeIndex&, const Tensor& grad) override { grads.push_back(grad); }
          void ran_node(bool) override {}
          std::vector<Tensor> grads;
        } sink;
        manual_seed(1);
        const nn::EmbeddingBag bags(kRows, kColumns, {.padding_idx = 3, .sparse = sparse});
        (void)Tape().backward(sum(square(bags(ids_of(0)))), {.sink = &sink});
        return sink.grads;
      },
      {false, true});
  const nn::EmbeddingBag bags(kRows, kColumns, {.sparse = true});
  EXPECT_TRUE(Tape().backward(sum(bags(ids_of(0)))).rows(bags.weight.tensor()));
}

TEST(Sparse, Empty) {
  const nn::Embedding table = table_of(true);
  const Tensor before = table.weight.clone();
  const auto adam = optimizer("adam", {{"lr", 0.1}}, nn::parameters(table));
  Gradients grads = Tape().backward(sum(table(full({4}, 3, kInt64))));
  EXPECT_EQ(grads.rows(table.weight.tensor())->values.shape(), Shape({0, kColumns}));
  EXPECT_EQ(optim::clip_grad_norm(grads, 1), 0);
  adam->step(grads);
  EXPECT_TRUE(same_bits(table.weight.tensor(), before));
  EXPECT_EQ(adam->steps(), 1);
}

TEST(Sparse, Errors) {
  const nn::Embedding table = table_of(true);
  const auto step = [&](const char* kind, const Json& options = Json::object()) {
    optimizer(kind, options, nn::parameters(table))->step(gradients_of(table, 0));
  };
  EXPECT_ERROR(step("sgd", {{"momentum", 0.9}}));
  EXPECT_ERROR(step("sgd", {{"weight_decay", 0.1}}));
  EXPECT_ERROR(step("adagrad", {{"weight_decay", 0.1}}));
  EXPECT_ERROR(step("adam", {{"amsgrad", true}}));
  EXPECT_ERROR(step("adamw"));
  EXPECT_ERROR(step("rmsprop"));
  EXPECT_ERROR(step("muon"));
  const auto sgd = optimizer("sgd", Json::object(), nn::parameters(table));
  EXPECT_ERROR(sgd->step(Tape().backward(sum(table(ids_of(0)) * kInf))));
  const auto trapped = [&] {
    Tape tape;
    tape.trap_nan();
    (void)tape.backward(sum(table(ids_of(0))), {.grad_output = scalar(std::numeric_limits<float>::max())});
  };
  EXPECT_ERROR(trapped());
  const nn::Embedding other = table_of(true);
  EXPECT_ERROR(sgd->step(gradients_of(other, 0)));
  // Of an operation of the user's own.
  static const Op kPicks{"picks"};
  const Tensor p = zeros({3, 2}).as_leaf();
  const auto picks = [&](const RowGradient& rows) {
    (void)Tape().backward(sum(record(kPicks, zeros({2}), {p}, [&](const Tensor&, const BackwardPass& pass) -> Grads {
      *pass.rows = rows;
      return Tensor();
    })));
  };
  picks({3, tensor({0, 2}), ones({2, 2})});
  EXPECT_ERROR(picks({4, tensor({0, 2}), ones({2, 2})}));
  EXPECT_ERROR(picks({3, tensor({0, 2}), ones({2, 3})}));
  EXPECT_ERROR(picks({3, tensor({0, 2}), ones({2, 2}, kFloat64)}));
  EXPECT_ERROR(picks({3, tensor({0, 2}), ones({1, 4}).expand({2, 4}).slice(1, 0, 4, 2)}));
  EXPECT_ERROR(picks({3, tensor({0, 3}), ones({2, 2})}));
  EXPECT_ERROR(picks({3, tensor({2, 2}), ones({2, 2})}));
}

TEST(Sparse, IsAnErrorForSeveralProcesses) {
  const auto step = [](int64_t accumulate, double last) {
    return errors_of_worlds(2, [&](const distributed::World& world) {
      const nn::Embedding table(kRows, kColumns, {.sparse = true});
      optim::SGD sgd(nn::parameters(table));
      distributed::DataParallel parallel(world, sgd, {.accumulate = accumulate});
      parallel.step([&](int64_t i) { return distributed::MeanLoss(loss_of(table, i), i % 2 == 1 ? last : 1); });
    });
  };
  EXPECT_TEXT(step(2, 1));
  EXPECT_TEXT(step(4, 0));
}

}  // namespace
}  // namespace tapegrad
