// The tape: what it records, the results of backward, views, and its end.
#include <tapegrad/tests/support/testing.h>

#include <chrono>

namespace tapegrad::tests {
namespace {

const Op kThrows{"throws"};

Tensor number_of(double value) { return scalar(value, kFloat64); }

// --- gradients ---

TEST(Tape, RecordsOnlyOperationsThatDependOnALeaf) {
  const Tensor x = number_of(3).as_leaf(), before = x * x;
  Tape tape;
  const Tensor constant = number_of(2) * number_of(5);
  EXPECT_EQ(tape.size(), 0);
  const Tensor y = x * constant * x + before;
  EXPECT_EQ(tape.size(), 4);  // the leaf and three operations
  EXPECT_EQ(tape.op_name(0), "leaf");
  EXPECT_EQ(tape.op_name(1), "mul");
  EXPECT_EQ(tape.op_name(3), "add");
  EXPECT_FALSE(needs_grad(constant));
  EXPECT_FALSE(needs_grad(before));
  EXPECT_TRUE(needs_grad(y));
  EXPECT_FALSE(needs_grad(y.detach()));
  EXPECT_EQ(tape.backward(y)[x].item(), 60);
  EXPECT_EQ(error_of([&] { tape.op_name(0); }), "[tape] expected a position below 0, got 0");
}

TEST(Tape, TakesASeedAndKeepsGradientsOfResults) {
  const Tensor x = tensor({1.0, 2.0, 3.0}, kFloat64).as_leaf();
  Tape tape;
  const Tensor y = x * x, z = y * 5;
  const Gradients grads = tape.backward(z, {.grad_output = tensor({1.0, 0.0, 2.0}, kFloat64), .keep = {y, z}});
  EXPECT_EQ(grads[x].to_vector<double>(), (std::vector<double>{10, 0, 60}));
  EXPECT_EQ(grads[y].to_vector<double>(), (std::vector<double>{5, 0, 10}));
  EXPECT_EQ(grads[z].to_vector<double>(), (std::vector<double>{1, 0, 2}));
  EXPECT_EQ(grads.size(), 3u);
}

TEST(Tape, NestsWithOthersAsConstants) {
  const Tensor x = number_of(2).as_leaf();
  Tape outer;
  const Tensor y = x * x;
  {
    Tape inner;
    const Tensor z = y * x;  // y is a constant here
    EXPECT_EQ(inner.size(), 2);
    EXPECT_EQ(inner.backward(z)[x].item(), 4);
    EXPECT_EQ((y * x).tape_index().tape, 0u);  // after backward, a tape records nothing, and hides the outer one
  }
  EXPECT_EQ(outer.size(), 2);
  EXPECT_EQ(outer.backward(y * x)[x].item(), 12);
}

TEST(Tape, PausesAndRecordsIfItBeginsUnderAPause) {
  const Tensor x = number_of(3).as_leaf();
  Tape outer;
  {
    const PauseRecording pause;
    EXPECT_FALSE(needs_grad(x * x));
    const PauseRecording again;
  }
  EXPECT_TRUE(needs_grad(x * x));
  const PauseRecording pause;
  EXPECT_FALSE(needs_grad(x * x));
  {
    Tape inner;  // a function that differentiates inside a metric
    EXPECT_EQ(inner.backward(x * x)[x].item(), 6);
  }
  Tape paused;
  {
    const PauseRecording again;
    EXPECT_FALSE(needs_grad(x * x));
  }
  EXPECT_TRUE(needs_grad(x * x));
}

TEST(Tape, RecordsAgainAfterPausesThatEndInAnyOrder) {
  const Tensor x = number_of(2).as_leaf();
  auto first = std::make_unique<PauseRecording>();
  Tape tape;  // begun under `first`, so it records
  auto second = std::make_unique<PauseRecording>();
  EXPECT_FALSE(needs_grad(x));
  first.reset();
  EXPECT_EQ(Tape::current(), nullptr);
  second.reset();
  EXPECT_EQ(Tape::current(), &tape);
  const PauseRecording later;
  EXPECT_EQ(Tape::current(), nullptr);
}

TEST(Tape, MayEndBeforeAPause) {
  const Tensor x = number_of(2).as_leaf();
  auto outer = std::make_unique<Tape>();
  {
    const PauseRecording pause;
    outer.reset();
    EXPECT_EQ(Tape::current(), nullptr);
  }
  EXPECT_EQ(Tape().backward(x * x)[x].item(), 4);
}

TEST(Tape, EndsInAnyOrder) {
  const Tensor x = number_of(2).as_leaf();
  auto a = std::make_unique<Tape>();
  auto b = std::make_unique<Tape>();
  auto c = std::make_unique<Tape>();
  b.reset();
  EXPECT_EQ(Tape::current(), c.get());
  a.reset();
  EXPECT_EQ(Tape::current(), c.get());
  EXPECT_EQ(c->backward(x * x)[x].item(), 4);
  c.reset();
  EXPECT_EQ(Tape::current(), nullptr);
  EXPECT_EQ((x * x).tape_index().tape, 0u);
}

TEST(Tape, TakesOuterTensorsAsLeaves) {
  const Tensor x = number_of(2).as_leaf(), w = number_of(5).as_leaf();
  Tape outer;
  const Tensor y = x * x, z = x * 3;
  Tape inner(OuterTensors::leaves);
  const Tensor loss = y * y * w;
  EXPECT_EQ(inner.leaves().size(), 2u);
  EXPECT_TRUE(inner.leaves()[0].same(y));
  EXPECT_TRUE(inner.leaves()[1].same(w));
  const Gradients grads = inner.backward(loss);
  EXPECT_EQ(grads[y].item(), 40);
  EXPECT_EQ(grads[w].item(), 16);
  EXPECT_FALSE(grads.contains(z));
  EXPECT_EQ(grads.size(), 2u);
}

TEST(Gradients, CanBeReplaced) {
  const Tensor x = number_of(2).as_leaf(), other = number_of(1).as_leaf();
  Gradients grads = Tape().backward(x * x);
  grads.set(x, number_of(7));
  grads.set(other, number_of(8));
  EXPECT_EQ(grads[x].item(), 7);
  EXPECT_EQ(grads[other].item(), 8);
  EXPECT_ERROR(grads.set(x, ones({2}, kFloat64)));
  EXPECT_ERROR(grads.set(number_of(1), number_of(8)));  // a constant
  EXPECT_FALSE(grads.contains(number_of(3)));
}

TEST(Gradients, AddUpLeafByLeafAndScale) {
  const Tensor a = tensor({1.0, 2.0}, kFloat64).as_leaf(), b = number_of(3).as_leaf(), c = number_of(4).as_leaf();
  const auto gradients_of = [](auto loss) { return Tape().backward(loss()); };
  Gradients sum;
  sum += gradients_of([&] { return tapegrad::sum(a * a) * b; });  // no c
  const Tensor first = sum[a];
  sum += gradients_of([&] { return tapegrad::sum(a) * c; });  // no b
  EXPECT_EQ(sum.size(), 3u);
  EXPECT_EQ(sum[a].to_vector<double>(), (std::vector<double>{10, 16}));
  EXPECT_EQ(sum[b].item(), 5);
  EXPECT_EQ(sum[c].item(), 3);
  EXPECT_EQ(first.to_vector<double>(), (std::vector<double>{6, 12}));  // what others hold does not change
  sum *= 0.5;
  EXPECT_EQ(sum[a].to_vector<double>(), (std::vector<double>{5, 8}));
  EXPECT_EQ(sum[b].item(), 2.5);
}

TEST(Gradients, ThatAreRecordedAddUpOnTheTape) {
  const Tensor x = number_of(2).as_leaf();
  Tape tape;
  Gradients sum = tape.backward(x * x * x, {.create_graph = true});
  sum += tape.backward(x * x, {.create_graph = true});
  EXPECT_EQ(sum[x].item(), 16);                    // 3 x^2 + 2 x
  EXPECT_EQ(tape.backward(sum[x])[x].item(), 14);  // 6 x + 2
}

TEST(Tape, IsUsableAfterABackwardThrows) {
  const Tensor x = ones({2}).as_leaf();
  {
    Tape tape;
    const Tensor y =
        record(kThrows, x.detach() * 2, {x}, [](const Tensor&) -> Grads { throw std::runtime_error("no luck"); });
    EXPECT_THROW(tape.backward(sum(y * 3)), std::runtime_error);
    EXPECT_EQ(error_of([&] { tape.backward(sum(y)); }).substr(0, 35), "[backward] backward has already run");
  }
  EXPECT_EQ(Tape().backward(sum(x * x))[x].to_vector<float>(), (std::vector<float>{2, 2}));
}

// --- ends ---

TEST(Tape, RunsAChainOfAMillionOperations) {
  const auto start = std::chrono::steady_clock::now();
  const Tensor x = number_of(1).as_leaf();
  {
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + 1e-6;
    EXPECT_EQ(tape.size(), 1'000'001);
    EXPECT_NEAR(y.item(), 2, 1e-9);
    EXPECT_EQ(tape.backward(y)[x].item(), 1);
  }
  {
    Tape dropped;  // freed without a backward
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y * 1.0000001;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("seconds", std::to_string(seconds.count()));
  EXPECT_LT(seconds.count(), 60);  // about one without sanitizers
}

TEST(Tape, FreesTheTensorsOfEachNodeInItsTurn) {
  const Tensor x = ones({64, 1024}).as_leaf();
  Tape tape;
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = exp(y * 0.01);
  const Tensor loss = sum(y);
  y = Tensor();
  const int64_t reserved = pool::stats().reserved;
  tape.backward(loss);
  // The memory that the chain frees is reused for its gradients.
  EXPECT_LE(pool::stats().reserved - reserved, 6 * 64 * 1024 * 4);
}

// --- views ---

TEST(Views, AreNeverObservableAsAliases) {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}, kFloat64).as_leaf();
  const std::vector<double> before = x.to_vector<double>();
  Tape tape;
  const Tensor row = x[0], turned = x.t(), flat = x.reshape({4}), wide = x[1].expand({3, 2});
  // Each is used several times, so that gradients are added up; none may be added into another's memory.
  const Tensor loss = sum(row * row) + sum(turned) + sum(turned * x) + sum(flat) + sum(flat.slice(0, 1, 3)) + sum(wide);
  const Gradients grads = tape.backward(loss, {.keep = {row, turned, flat, wide}});
  EXPECT_EQ(x.to_vector<double>(), before);
  EXPECT_EQ(grads[row].to_vector<double>(), (std::vector<double>{2, 4}));
  EXPECT_EQ(grads[flat].to_vector<double>(), (std::vector<double>{1, 2, 2, 1}));
  EXPECT_EQ(grads[wide].to_vector<double>(), std::vector<double>(6, 1.0));
  EXPECT_EQ(grads[x].to_vector<double>(),
            (std::vector<double>{2 + 1 + 2 + 1, 4 + 1 + 6 + 2, 1 + 4 + 2 + 3, 1 + 8 + 1 + 3}));
}

TEST(Views, ReturnedGradientsAreNotChangedLater) {
  const Tensor x = ones({2, 2}).as_leaf();
  Tape tape;
  const Tensor y = x * 1;
  const Tensor a = y.reshape({4}), b = y.t();  // their gradients are views of one another's memory
  const Gradients grads = tape.backward(sum(a * 2) + sum(b * 3) + sum(y * 4), {.keep = {a, b, y}});
  EXPECT_EQ(grads[a].to_vector<float>(), std::vector<float>(4, 2));
  EXPECT_EQ(grads[b].to_vector<float>(), std::vector<float>(4, 3));
  EXPECT_EQ(grads[y].to_vector<float>(), std::vector<float>(4, 9));
  EXPECT_EQ(grads[x].to_vector<float>(), std::vector<float>(4, 9));
}

TEST(TapeDeathTest, EndsOnItsOwnThread) {
  EXPECT_DEATH(
      {
        auto tape = std::make_unique<Tape>();
        std::thread([&] { tape.reset(); }).join();
      },
      "a tape ended on another thread than the one that began it");
}

}  // namespace
}  // namespace tapegrad::tests
