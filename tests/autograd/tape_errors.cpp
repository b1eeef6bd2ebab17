// What a tape rejects, word for word; and its trap for values and gradients that are not finite.
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
  const Tensor x = ones({3}).as_leaf();
  const auto rejected = [&](auto loss_of) { return error_of([&] { Tape().backward(loss_of()); }); };
  const Tensor before = sum(x * x);
  EXPECT_TEXT(rejected([&] { return before; }));
  EXPECT_TEXT(rejected([&] { return sum(ones({3})); }));
  EXPECT_TEXT(rejected([&] { return sum((x * x).detach()); }));
  EXPECT_TEXT(rejected([&] { return scalar(sum(x * x).item()); }));
  EXPECT_TEXT(rejected([&] { return argmax(x * x).to(kFloat32); }));
  Tensor elsewhere;
  EXPECT_TEXT(rejected([&] {
    std::thread([&] { elsewhere = sum(x * x); }).join();
    return elsewhere;
  }));
  EXPECT_TEXT(rejected([&] { return elsewhere; }));  // not while this tape lived
  EXPECT_TEXT(error_of([&] {
    Tape tape;
    const PauseRecording pause;
    tape.backward(sum(x * x));
  }));
  x.set_frozen(true);
  EXPECT_TEXT(rejected([&] { return sum(x * x); }));
}

TEST(TapeRejects, InvalidLosses) {
  const Tensor x = tensor({1.0, 2.0}).as_leaf();
  Tape tape;
  EXPECT_ERROR(tape.backward(scalar(1)));
  const Tensor y = x * x;
  EXPECT_ERROR(tape.backward(y));
  EXPECT_ERROR(tape.backward(y, {.grad_output = ones({3})}));
  for (const DType other : {kFloat64, kInt64}) EXPECT_ERROR(tape.backward(y, {.grad_output = ones({2}, other)}));
  EXPECT_ERROR(tape.backward(sum(y), {.keep = {ones({4})}}));
  EXPECT_TEXT(error_of([&] {
    Tape inner;
    tape.backward(sum(y));
  }));
  std::string elsewhere;
  std::thread([&] { elsewhere = error_of([&] { tape.backward(sum(y)); }); }).join();
  EXPECT_TEXT(elsewhere);
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
  EXPECT_TEXT(recorded_there);
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
    expect_parts(error_of([&] { weight.set(zeros({2})); }), {"recorded"});
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
  expect_parts(error_of(record_on_another), {"at most 32767"});  // frozen leaves are counted, too
  weight.freeze(false);
  expect_parts(error_of([&] { weight.set(zeros({2})); }), {"recorded"});
  while (!tapes.empty()) tapes.pop_back();  // the last one first
  for (int i = 0; i < others; ++i) weight.tensor().end_recording();
  weight.set(zeros({2}));
}

TEST(TapeRejects, ABackwardInsideItsOwnBackward) {
  static const Op kAgain{"again"};
  const Tensor x = scalar(2).as_leaf();
  Tape tape;
  const Tensor inner = x * x;
  const Tensor y = record(kAgain, x.detach() * 3, {x},
                          [&](auto& dy) -> Grads { return dy * tape.backward(inner, {.create_graph = true})[x]; });
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

TEST(NanTrap, NamesOperationPositionAndShapesOfAValue) {
  const Tensor x = tensor({{1.0, -1.0}}).as_leaf();
  Tape tape;
  tape.trap_nan();
  const Tensor y = x * 2;
  EXPECT_ERROR(log(y));
}

TEST(NanTrap, NamesOperationPositionAndShapesOfAGradient) {
  const Tensor x = tensor({{0.0, 4.0}}).as_leaf();
  Tape tape;
  tape.trap_nan();
  const Tensor y = sqrt(x * 1);
  EXPECT_ERROR(tape.backward(sum(y)));
  Tape second;
  second.trap_nan();
  EXPECT_EQ(error_of([&] { second.backward(sum(sqrt(x))); }).substr(0, 36), "[sqrt] the gradient of input 0 is no");
}

// The -inf of a mask is put there on purpose; what is passed on of it is, too.
TEST(NanTrap, IsSilentAboutMasks) {
  const Tensor x = tensor({{0.5, 1.0}, {2.0, -1.0}}).as_leaf(), shown = tensor({{true, false}, {true, true}});
  const Tensor added = where(shown, zeros({2, 2}), -kInf);  // a constant
  const auto gradient = [&](auto masked) {
    Tape tape;
    tape.trap_nan();
    const Gradients grads = tape.backward(sum(square(softmax(masked(x * 2)).t())));
    return grads[x].to_vector<float>();
  };
  const auto filled = gradient([&](const Tensor& y) { return masked_fill(y, !shown, -kInf); });
  EXPECT_EQ(filled[0], 0);
  EXPECT_NE(filled[2], 0);
  EXPECT_EQ(gradient([&](const Tensor& y) { return where(shown, y, -kInf); }), filled);
  EXPECT_EQ(gradient([&](const Tensor& y) { return (y + added).reshape({1, 2, 2})[0]; }), filled);
}

TEST(NanTrap, NamesWhatMasksMakeNan) {
  const Tensor x = tensor({0.0, 1.0}).as_leaf(), shown = tensor({true, false});
  Tape tape;
  tape.trap_nan();
  const Tensor masked = where(shown, x, -kInf);
  const auto begin = [&](const auto& f) { return error_of(f).substr(0, 32); };
  EXPECT_EQ(begin([&] { masked - masked; }), "[sub] the value is not finite at");
  EXPECT_EQ(begin([&] { masked* zeros({2}); }), "[mul] the value is not finite at");
  EXPECT_EQ(begin([&] { -masked; }), "[neg] the value is not finite at");
  EXPECT_EQ(begin([&] { where(shown, x, kInf); }), "[where] the value is not finite ");
  EXPECT_EQ(begin([&] { masked_fill(x, shown, NAN); }), "[masked_fill] the value is not f");
}

TEST(NanTrap, IsSilentWithoutATrapAndForFiniteNumbers) {
  const Tensor x = tensor({0.0, 4.0}).as_leaf();
  {
    Tape tape;
    EXPECT_TRUE(std::isinf(tape.backward(sum(sqrt(x)))[x].to_vector<float>()[0]));
  }
  Tape tape;
  tape.trap_nan();
  tape.backward(sum(x * x));
}

}  // namespace
}  // namespace tapegrad::tests
