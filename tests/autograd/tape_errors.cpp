// What a tape rejects, word for word.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

const Op kWrong{"wrong"};
const Op kFused{"fused", false};

Tensor number_in(double value) { return scalar(value, kFloat64); }

TEST(TapeRejects, ASecondBackward) {
  const Tensor x = number_in(2).as_leaf();
  Tape tape;
  const Tensor y = x * x;
  tape.backward(y);
  EXPECT_ERROR(tape.backward(y));
}

// What has kept a loss off the tape.
TEST(TapeRejects, LossesThatWereNotRecorded) {
  const std::string start = "[backward] the loss was not recorded on this tape: ";
  const Tensor x = ones({3}).as_leaf();
  const auto rejected = [&](auto loss_of) {
    return error_of([&] {
      Tape tape;
      tape.backward(loss_of());
    });
  };
  const Tensor before = sum(x * x);
  const std::string nothing =
      start +
      "nothing was recorded since the tape began (begin it before the forward pass, whose parameters are leaves)";
  EXPECT_EQ(rejected([&] { return before; }), nothing);
  EXPECT_EQ(rejected([&] { return sum(ones({3})); }), nothing);
  const auto detached = [&](int nodes) {
    return start + fmt::format(
                       "no leaf takes part in it, while {} operations and leaves were recorded (does it pass "
                       "through detach(), item(), or a function without a gradient, as argmax?)",
                       nodes);
  };
  EXPECT_EQ(rejected([&] { return sum((x * x).detach()); }), detached(2));
  EXPECT_EQ(rejected([&] { return scalar(sum(x * x).item()); }), detached(3));
  EXPECT_EQ(rejected([&] { return argmax(x * x).to(kFloat32); }), detached(2));
  Tensor elsewhere;
  EXPECT_EQ(rejected([&] {
              std::thread([&] { elsewhere = sum(x * x); }).join();
              return elsewhere;
            }),
            start +
                "no leaf takes part in it, but one was used on another thread (a tape records the thread that began "
                "it)");
  EXPECT_EQ(rejected([&] { return elsewhere; }), nothing);  // not while this tape lived
  EXPECT_EQ(error_of([&] {
              Tape tape;
              const PauseRecording pause;
              tape.backward(sum(x * x));
            }),
            start + "recording is paused (end the PauseRecording before the forward pass)");
  x.set_frozen(true);
  EXPECT_EQ(rejected([&] { return sum(x * x); }), start + "every parameter that was used is frozen");
}

TEST(TapeRejects, InvalidLosses) {
  const Tensor x = tensor({1.0, 2.0}).as_leaf();
  Tape tape;
  EXPECT_ERROR(tape.backward(scalar(1)));
  const Tensor y = x * x;
  EXPECT_ERROR(tape.backward(y));
  EXPECT_ERROR(tape.backward(y, {.grad_output = ones({3})}));
  for (const DType other : {kFloat64, kInt64}) {
    EXPECT_EQ(error_of([&] { tape.backward(y, {.grad_output = ones({2}, other)}); }),
              fmt::format("[backward] expected a grad_output of the loss's float32 [2], got {} [2]", name(other)));
  }
  EXPECT_ERROR(tape.backward(sum(y), {.keep = {ones({4})}}));
  EXPECT_TEXT(error_of([&] {
    Tape inner;
    tape.backward(sum(y));
  }));
  std::string elsewhere;
  std::thread([&] { elsewhere = error_of([&] { tape.backward(sum(y)); }); }).join();
  EXPECT_EQ(elsewhere,
            "[backward] expected the thread that began this tape, got another one (a tape belongs to its "
            "thread)");
  EXPECT_EQ(tape.backward(sum(y))[x].to_vector<float>(),
            (std::vector<float>{2, 4}));  // the errors above changed nothing
}

TEST(TapeRejects, GradientsOfUnusedLeaves) {
  const Tensor x = ones({2, 3}).as_leaf(), idle = ones({4}).as_leaf();
  Tape tape;
  const Tensor y = x * x;
  const Gradients grads = tape.backward(sum(y));
  EXPECT_EQ(error_of([&] { grads[idle]; }), "[gradients] the leaf of shape [4] took no part in the loss");
  EXPECT_ERROR(grads[y]);
  EXPECT_FALSE(grads.contains(idle));
  EXPECT_TRUE(grads.contains(x));
}

TEST(TapeRejects, LeavesOfIntegers) {
  EXPECT_EQ(error_of([] { arange(3).as_leaf(); }), "[as_leaf] expected float32 or float64, got int64");
}

TEST(TapeRejects, TensorsOfAnotherThread) {
  const Tensor x = ones({2}).as_leaf();
  Tape tape;
  const Tensor y = x * x;
  std::string recorded_there, plain_there, detached_there;
  std::thread([&] {
    plain_there = error_of([&] { mul(y, y); });  // without a tape, a tensor is its values
    Tape other;
    recorded_there = error_of([&] { mul(y, x); });
    detached_there = error_of([&] { mul(y.detach(), x); });
  }).join();
  EXPECT_EQ(recorded_there,
            "[tape] a tensor of shape [2] was recorded on the tape of another thread (detach() it there first)");
  EXPECT_EQ(plain_there, "no error");
  EXPECT_EQ(detached_there, "no error");
}

TEST(TapeRejects, WrongBackwards) {
  const Tensor x = ones({2}).as_leaf();
  const auto with = [&](auto backward) {
    Tape tape;
    const Tensor y = record(kWrong, x.detach() * 2, {x}, backward);
    return error_of([&] { tape.backward(sum(y)); });
  };
  EXPECT_TEXT(with([](const Tensor& dy) -> Grads { return {dy, dy}; }));
  EXPECT_TEXT(with([](const Tensor&) -> Grads { return ones({3}); }));
  EXPECT_TEXT(with([](const Tensor&) -> Grads { return ones({2}, kFloat64); }));
}

TEST(TapeRejects, SecondOrderOfFusedOperations) {
  const Tensor x = ones({2}).as_leaf();
  Tape tape;
  const Tensor y = sum(record(kFused, x.detach() * 2, {x}, [](const Tensor& dy) -> Grads { return dy * 2; }));
  EXPECT_ERROR(tape.backward(y, {.create_graph = true}));
  EXPECT_EQ(tape.backward(y)[x].to_vector<float>(), (std::vector<float>{2, 2}));  // once is possible still
}

TEST(TapeRejects, ChangesOfAParameterThatItRecorded) {
  nn::Parameter weight(ones({2}));
  {
    Tape tape;
    const Tensor y = sum(weight * weight);
    const std::string error = error_of([&] { weight.set(zeros({2})); });
    EXPECT_NE(error.find("recorded"), std::string::npos) << error;
    tape.backward(y);
    weight.set(zeros({2}));  // after backward, a tape holds nothing
  }
  EXPECT_EQ(weight->to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(TapeRejects, MoreTapesOfOneLeafThanItCanCount) {
  nn::Parameter weight(ones({2}));
  const int others = Tensor::kMostTapes - 2;  // counted as tapes count themselves: so many would take seconds
  for (int i = 0; i < others; ++i) weight.tensor().begin_recording();
  std::vector<std::unique_ptr<Tape>> tapes;
  const auto record_on_another = [&] {
    tapes.push_back(std::make_unique<Tape>());
    weight * 2;
  };
  for (int i = 0; i < 2; ++i) record_on_another();
  EXPECT_TEXT(error_of(record_on_another));
  weight.freeze();
  EXPECT_NE(error_of(record_on_another).find("at most 32767"), std::string::npos) << "frozen leaves are counted, too";
  weight.freeze(false);
  EXPECT_NE(error_of([&] { weight.set(zeros({2})); }).find("recorded"), std::string::npos);
  while (!tapes.empty()) tapes.pop_back();  // the last one first
  for (int i = 0; i < others; ++i) weight.tensor().end_recording();
  weight.set(zeros({2}));
}

TEST(TapeRejects, ABackwardInsideItsOwnBackward) {
  static const Op kAgain{"again"};
  const Tensor x = scalar(2).as_leaf();
  Tape tape;
  const Tensor inner = x * x;
  const Tensor y = record(kAgain, x.detach() * 3, {x}, [&](const Tensor& dy) -> Grads {
    return dy * tape.backward(inner, {.create_graph = true})[x];
  });
  EXPECT_ERROR(tape.backward(y + inner, {.create_graph = true}));
}

TEST(TapeRejects, AGraphOfBackwardWhileRecordingIsPaused) {
  const Tensor x = scalar(2).as_leaf();
  Tape tape;
  const Tensor y = x * x;
  {
    const PauseRecording pause;
    EXPECT_ERROR(tape.backward(y, {.create_graph = true}));
  }
  EXPECT_EQ(tape.backward(y)[x].item(), 4);
}

}  // namespace
}  // namespace tapegrad::tests
