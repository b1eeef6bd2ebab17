// Tests gradcheck: it must detect each of these wrong operations, at the right order.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

const Op kPlanted{"planted"};
const Op kPlantedFused{"planted_fused", false};

const Tensor kX = tensor({{0.3, -1.2, 0.7}, {1.9, 0.4, -0.6}}, kFloat64);
const Tensor kRow = tensor({0.9, -0.2, 1.4}, kFloat64);

// Records f(x), computed without recording, with the backward of the test.
Tensor planted(const Tensor& x, auto f, auto backward, const Op& op = kPlanted) {
  const Tensor constant = x.detach();
  return record(op, f(constant).detach(), {x}, [x, backward](const Tensor& dy) -> Grads { return backward(dy, x); });
}

Tensor cube(const Tensor& x) { return x * x * x; }
// The cube with this backward(dy, x).
auto cube_with(auto backward) {
  return [backward](const Tensor& x) { return planted(x, cube, backward); };
}

TEST(Gradcheck, PassesCorrectOperations) {
  const auto right = cube_with([](auto& dy, auto& x) { return dy * x * x * 3; });
  const GradcheckReport report = gradcheck(right, {kX});
  EXPECT_TRUE(report.ok) << report.text;
  EXPECT_EQ(report.order, 0);
  EXPECT_EQ(report.entries, 36 + 6 * 12);  // df/dx; and the gradient by x and by the seed
  EXPECT_LT(report.worst[0], 1e-11);
  EXPECT_LT(report.worst[1], 1e-11);
}

TEST(Gradcheck, CatchesAFactorOfAThousandth) {
  const auto wrong = cube_with([](auto& dy, auto& x) { return dy * x * x * 3.003; });
  const GradcheckReport report = gradcheck(wrong, {kX});
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.order, 1);
  EXPECT_EQ(report.input, 0);
  EXPECT_EQ(report.index, report.output);
  EXPECT_NEAR(report.analytic / report.numerical, 1.001, 1e-9);
}

TEST(Gradcheck, CatchesASmallMissingTerm) {
  const auto wrong = [](auto& x) {
    return planted(
        x, [](auto& v) { return cube(v) + v * 1e-6; }, [](auto& dy, auto& x) { return dy * x * x * 3; });
  };
  const GradcheckReport report = gradcheck(wrong, {kX});
  EXPECT_EQ(report.order, 1);
  EXPECT_NEAR(report.numerical - report.analytic, 1e-6, 1e-10);
}

TEST(Gradcheck, CatchesTheWrongSecondDerivative) {
  // the slope taken as a constant
  const auto forgets_itself = cube_with([](auto& dy, auto& x) { return dy * (x * x * 3).detach(); });
  EXPECT_TRUE(gradcheck(forgets_itself, {kX}, {.order = 1}));
  EXPECT_EQ(gradcheck(forgets_itself, {kX}).order, 2);

  const auto off_by_a_thousandth = cube_with([](auto& dy, auto& x) {
    const auto square = [](auto& v) { return v * v; };
    return dy * 3 * planted(x, square, [](auto& g, auto& v) { return g * v * 2.002; });
  });
  EXPECT_TRUE(gradcheck(off_by_a_thousandth, {kX}, {.order = 1}));
  const GradcheckReport report = gradcheck(off_by_a_thousandth, {kX});
  EXPECT_EQ(report.order, 2);
  EXPECT_EQ(report.input, 0);
  EXPECT_TRUE(report.text.starts_with("order 2: gradient of input 0 at [")) << report.text;
  EXPECT_NEAR(report.analytic / report.numerical, 1.001, 1e-9);
  // Large factors excuse nothing.
  for (const double size : {1e-3, 1.0, 1e3, 1e6}) {
    const auto scaled = [&](auto& x, auto& w) { return off_by_a_thousandth(x) * w; };
    EXPECT_EQ(gradcheck(scaled, {kX, full_like(kX, size)}).order, 2) << size;
  }
}

TEST(Gradcheck, CatchesALostDependenceOnDy) {
  const auto wrong = cube_with([](auto& dy, auto& x) { return dy.detach() * x * x * 3; });
  EXPECT_TRUE(gradcheck(wrong, {kX}, {.order = 1}));
  const GradcheckReport report = gradcheck(wrong, {kX});
  EXPECT_EQ(report.order, 2);
  EXPECT_EQ(report.input, 1);  // dy comes after the inputs
  expect_parts(report.text, {"by the seed at"});
}

TEST(Gradcheck, CatchesAnotherFormulaUnderCreateGraph) {
  const auto wrong = cube_with([](auto& dy, auto& x) { return dy * x * x * (Tape::current() ? 3.003 : 3); });
  EXPECT_TRUE(gradcheck(wrong, {kX}, {.order = 1}));
  const GradcheckReport report = gradcheck(wrong, {kX});
  EXPECT_EQ(report.order, 2);
  EXPECT_EQ(report.text.substr(0, 53), "order 2: with create_graph the gradient is different:") << report.text;
}

TEST(Gradcheck, CatchesMistakesUnderBroadcasting) {
  const auto wrong = [](auto& a, auto& b) {
    return record(kPlanted, (a.detach() * b.detach()), {a, b}, [a, b](const Tensor& dy) -> Grads {
      const bool stretched = !(a.shape() == b.shape());
      return {dy * b, stretched ? dy * a * 0.5 : dy * a};
    });
  };
  EXPECT_TRUE(gradcheck(wrong, {kX, kX * 2}));
  const GradcheckReport report = gradcheck(wrong, {kX, kRow});
  EXPECT_EQ(report.order, 1);
  EXPECT_EQ(report.input, 1);
}

TEST(Gradcheck, CatchesMistakesForStridedInputs) {
  const auto in_order_of_memory = [](const Tensor& x) {
    return from_data(x.data<double>(), x.numel(), x.shape(), kFloat64);
  };
  const auto wrong_value = [&](auto& x) {
    return planted(
        x, [&](auto& v) { return cube(in_order_of_memory(v)); }, [](auto& dy, auto& v) { return dy * v * v * 3; });
  };
  const auto wrong_slope = cube_with([&](auto& dy, auto& v) {
    const Tensor misread = in_order_of_memory(v);
    return dy * misread * misread * 3;
  });
  EXPECT_TRUE(gradcheck(wrong_value, {kX}));
  EXPECT_TEXT(gradcheck(wrong_value, {kX.t()}).text);
  EXPECT_TRUE(gradcheck(wrong_slope, {kX}, {.order = 1}));
  EXPECT_EQ(gradcheck(wrong_slope, {kX.t()}, {.order = 1}).order, 1);
}

TEST(Gradcheck, CatchesOneWrongElement) {
  const auto wrong = cube_with([](auto& dy, auto& x) {
    const Tensor copy = (dy * x * x * 3).detach().clone();
    copy.mutable_data<double>()[copy.numel() - 1] *= 1.001;
    return copy;
  });
  const GradcheckReport report = gradcheck(wrong, {kX});
  EXPECT_EQ(report.order, 1);
  EXPECT_EQ(report.index, 5);
  EXPECT_EQ(report.text, "order 1: output [1, 2] by input 0 at [1, 2]: analytic 1.08108, numerical 1.08");
}

TEST(Gradcheck, CatchesABackwardThatMisreadsDy) {
  const auto wrong = cube_with([](const Tensor& dy, const Tensor& x) {
    return from_data(dy.data<double>(), dy.numel(), dy.shape(), kFloat64) * x * x * 3;
  });
  const GradcheckReport report = gradcheck(wrong, {kX}, {.order = 1});
  EXPECT_FALSE(report.ok);
  expect_parts(report.text, {"a strided dy gives different gradients"});
}

TEST(Gradcheck, CatchesAGradientThatDependsOnOtherLeaves) {
  const auto wrong = [](auto& a, auto& b) {
    const double factor = needs_grad(b) ? 1 : 2;
    return record(kPlanted, a.detach() * b.detach(), {a, b}, [a, b, factor](const Tensor& dy) -> Grads {
      return {dy * b * factor, dy * a};
    });
  };
  expect_parts(gradcheck(wrong, {kX, kRow}).text,
               {"input 0 gets a different gradient when the other inputs are constants"});
}

TEST(Gradcheck, CatchesFunctionsThatAreNotDeterministic) {
  int calls = 0;
  const auto random = [&](auto& x) { return x * ++calls; };
  EXPECT_TEXT(gradcheck(random, {kX}).text);

  const Tensor mine = tensor({1.0, 2.0}, kFloat64);
  const auto writes = [](const Tensor& x) {
    const Tensor y = x * x;
    x.mutable_data<double>()[0] += 1e-12;
    return y;
  };
  EXPECT_FALSE(gradcheck(writes, {mine}).ok);
}

TEST(Gradcheck, CatchesWhatIsWrongNowAndThen) {
  for (const int order : {1, 2}) {
    int calls = 0;
    const auto wrong = cube_with([&](auto& dy, auto& v) { return dy * v * v * (++calls % 50 == 0 ? 3.03 : 3); });
    EXPECT_FALSE(gradcheck(wrong, {order == 1 ? tensor({0.3, 1.2, 0.7, 0.2, 0.1, 0.6, 0.9}, kFloat64) : kX}).ok);
  }
}

TEST(Gradcheck, CatchesASecondBackwardThatDiffers) {
  const auto wrong = [](auto& x) {
    const auto times = std::make_shared<int>(0);
    return planted(x, cube, [times](const Tensor& dy, const Tensor& v) { return dy * v * v * ((*times)++ ? 6 : 3); });
  };
  EXPECT_EQ(gradcheck(wrong, {kX}).text, "order 1: a second backward on a retained tape gives different gradients");
}

TEST(Gradcheck, CatchesAGradientThatDependsOnWhatIsWanted) {
  const auto wrong = [](auto& a, auto& b) {
    return record(kPlanted, a.detach() * b.detach(), {a, b},
                  [a, b](const Tensor& dy, const BackwardPass& pass) -> Grads {
                    return {dy * b, dy * a * (pass.wants(0) ? 1.0 : 2.0)};
                  });
  };
  const std::string text = gradcheck(wrong, {kX, kRow}).text;
  EXPECT_TRUE(text.starts_with("order 1: input 1 gets a different gradient under BackwardOptions::only: ")) << text;
}

TEST(Gradcheck, NamesTheFirstNaN) {
  const auto wrong = cube_with([](auto& dy, auto& v) { return masked_fill(dy * v * v * 3, gt(v, 0.6), NAN); });
  EXPECT_EQ(gradcheck(wrong, {kX}).text, "order 1: output [0, 0] by input 0 at [0, 2]: analytic nan, numerical 0");
}

TEST(Gradcheck, NoticesAGradientThatIsZero) {
  const auto zero = [](auto& x) { return x * 0.0; };
  EXPECT_TEXT(gradcheck(zero, {kX}).text);
  EXPECT_TRUE(gradcheck(zero, {kX}, {.zero_gradient = true}));
  EXPECT_TEXT(gradcheck([](auto& x) { return x * x; }, {kX}, {.zero_gradient = true}).text);
}

TEST(Gradcheck, RequiresThatFusedOperationsRejectCreateGraph) {
  const auto slope = [](auto& dy, auto& x) { return dy * x * x * 3; };
  const auto fused = [&](auto& x) { return planted(x, cube, slope, kPlantedFused); };
  EXPECT_TRUE(gradcheck(fused, {kX}, {.refuses = "planted_fused"}));
  EXPECT_TEXT(gradcheck(fused, {kX}).text);
  EXPECT_TRUE(gradcheck(fused, {kX}, {.order = 1}));
  const auto plain = cube_with(slope);
  EXPECT_TEXT(gradcheck(plain, {kX}, {.refuses = "planted_fused"}).text);
}

TEST(Gradcheck, PassesNearKinksAndWhereTheFunctionIsSteep) {
  const auto expect_passes = [](auto f, double at) {
    const GradcheckReport report = gradcheck(f, {tensor({0.5, at, -0.7}, kFloat64)});
    EXPECT_TRUE(report.ok) << at << ": " << report.text;
    EXPECT_EQ(report.undecidable, 0) << report.note;
  };
  for (const double at : {1e-2, 6e-4, -6e-4, 1e-5, -1e-7}) {
    expect_passes([](auto& x) { return relu(x); }, at);
    expect_passes([](auto& x) { return abs(x) + x * x; }, at);
    expect_passes([](auto& x) { return relu(x) * x; }, at);
    expect_passes([](auto& x) { return maximum(x, -x) - clamp(x, 0, 1); }, at);
  }
  expect_passes([](auto& x) { return maximum(x, 0.5 - x); }, 0.2503);
  expect_passes([](auto& x) { return exp(100 * x); }, 0);
  expect_passes([](auto& x) { return sin(1e6 * x); }, 0.3);
  expect_passes([](auto& x) { return (1e6 + x) - 1e6; }, 0.3);  // in steps of 1e-10
}

TEST(Gradcheck, DifferencesThatContradictEachOtherDecideNothing) {
  constexpr double kFast = 1.5 * 0x1p33 * 3.14159265358979323846;  // every step of a power of two meets the same phase
  const auto f = [](const Tensor& x) { return x + sin(x * kFast) * 0x1p-20; };
  const GradcheckReport report = gradcheck(f, {tensor({0.3}, kFloat64)}, {.order = 1});
  EXPECT_TRUE(report.ok) << report.text;
  EXPECT_EQ(report.undecidable, 1);
  EXPECT_TRUE(
      report.note.starts_with("order 1: output [0] by input 0 at [0]: undecidable: the numerical derivative "
                              "depends on the steps (analytic 11930.2756"))
      << report.note;
}

TEST(Gradcheck, APieceThatIsSmallerThanMostSteps) {
  // Constant but for 2^-26 on both sides of x, next to a number that makes rounding errors look larger than they are.
  const auto f = [](const Tensor& x) {
    const Tensor near = x - 0.3;
    return cat({where(abs(near) < 0x1p-26, near * 0.02, 1e-5), near * 4e5 + 4e4}, 0);
  };
  const Tensor at = tensor({0.3}, kFloat64);
  EXPECT_TRUE(gradcheck(f, {at}, {.order = 1})) << gradcheck(f, {at}, {.order = 1}).text;
  static const Op planted{"piece"};
  const auto wrong = [&](const Tensor& x) {
    return custom(
        planted, {x}, [&](const Tensor& v) { return f(v); },
        [](const Tensor& dy) -> Grads { return dy.slice(0, 0, 1) * -0.02 + dy.slice(0, 1) * 4e5; });
  };
  EXPECT_FALSE(gradcheck(wrong, {at}, {.order = 1}));
}

TEST(Gradcheck, AtAKinkTheDerivativeLiesBetweenTheSlopes) {
  const auto check = [](auto f, int order = 1) {
    return gradcheck(f, {tensor({0.5, 0.0, -0.7}, kFloat64)}, {.order = order});
  };
  const GradcheckReport report = check([](auto& x) { return relu(x); });
  EXPECT_TRUE(report.ok) << report.text;
  EXPECT_EQ(report.undecidable, 1);
  EXPECT_TEXT(report.note);
  EXPECT_TRUE(check([](auto& x) { return abs(x); }).ok);
  EXPECT_EQ(check([](auto& x) { return floor(x) + x; }).undecidable, 1) << "a jump";
  const GradcheckReport second = check([](auto& x) { return relu(x) + abs(x) + x * x; }, 2);
  EXPECT_TRUE(second.ok) << second.text;
  EXPECT_GE(second.undecidable, 2) << "the gradient jumps there";
  const GradcheckReport ties = gradcheck([](auto& x) { return max(x, 0).values; }, {ones({3}, kFloat64)}, {.order = 1});
  EXPECT_TRUE(ties.ok) << ties.text;
  EXPECT_EQ(ties.undecidable, 3);
}

TEST(Gradcheck, SmoothFunctionsOfEverySize) {
  const auto wrong = [](auto f, double factor) {
    return [=](auto& x) {
      return custom(
          kPlanted, {x}, [=](auto& v) { return f(v); },
          [=](auto& dy) -> Grads { return vjp(f, x.detach(), dy.detach()).product * factor; });
    };
  };
  for (const double size : {1e-6, 1e-3, 1e3, 1e6})
    for (const double out : {1e-6, 1e6}) {
      const auto expect = [&](const char* name, auto f) {
        EXPECT_TRUE(gradients_match(f, {abs(kX) * size})) << name << " at " << size << " times " << out;
        EXPECT_FALSE(gradcheck(wrong(f, 1 + 1e-5), {abs(kX) * size}, {.order = 1}).ok) << name << " at " << size;
      };
      expect("cube", [=](auto& x) { return x * x * x * out; });
      expect("log", [=](auto& x) { return log(x) * out; });
      expect("sin", [=](auto& x) { return sin(x / size) * out; });
      expect("logsumexp", [=](auto& x) { return logsumexp(x / size, -1) * out; });
    }
  EXPECT_TRUE(gradcheck([](auto& x) { return tanh(x); }, {kX * 1e6}).ok) << "saturated";
}

TEST(Gradcheck, DoesNotExcuseWrongGradients) {
  const auto with_slope = [](auto f, auto slope) {
    return [f, slope](const Tensor& x) { return planted(x, f, [slope](auto& dy, auto& v) { return dy * slope(v); }); };
  };
  const auto expect_plain = [](auto f, const Tensor& x) {
    const GradcheckReport report = gradcheck(f, {x});
    EXPECT_FALSE(report.ok);
    EXPECT_EQ(report.text.find("undecidable"), std::string::npos) << report.text;
  };
  for (const double wrong : {1e-6, 1e-3, 1.0}) {
    expect_plain(with_slope(cube, [=](const Tensor& v) { return v * v * (3 + wrong); }), kX);
    expect_plain(with_slope([](auto& v) { return v * 2; }, [=](const Tensor& v) { return v * 0 + 2 + wrong; }), kX);
    expect_plain(with_slope([](auto& v) { return exp(v); }, [=](const Tensor& v) { return exp(v) + wrong; }), kX);
    expect_plain(with_slope([](auto& v) { return 1e6 + v; }, [=](const Tensor& v) { return v * 0 + 1 + wrong; }), kX);
  }
  // Near a kink and at a kink, with a gradient that is that of neither side.
  const auto doubled =
      with_slope([](const Tensor& v) { return relu(v); }, [](const Tensor& v) { return gt(v, 0.0) * 2.0 - 0.5; });
  for (const double at : {0.0, 0.0006, -0.0006}) expect_plain(doubled, tensor({at}, kFloat64));
}

TEST(Gradcheck, TakesSeveralInputsAndTypes) {
  const Tensor ids = tensor({0, 1, 0});
  const auto f = [](auto& a, auto& b, auto& c) { return a * b + c.to(kFloat64); };
  EXPECT_TRUE(gradcheck(f, {kX, kRow, ids}));
  EXPECT_TRUE(gradcheck([](std::span<const Tensor> x) { return x[0] * x[1]; }, {kX, kRow}));
  EXPECT_TRUE(gradcheck([](auto& x) { return x * x; }, {zeros({0, 3}, kFloat64)}));
  EXPECT_TRUE(gradcheck([](auto& x) { return x * x; }, {scalar(1.5, kFloat64)}));
  EXPECT_TRUE(gradcheck([](auto& x) { return x * x; }, {kRow.expand({2, 3})}));
  EXPECT_TRUE(gradcheck([](auto& x) { return x * x; }, {kX.slice(1, kAll, kAll, -2)}));
}

TEST(Gradcheck, RejectsWhatItCannotCheck) {
  const auto square = [](auto& x) { return x * x; };
  EXPECT_ERROR(gradcheck(square, {ones({2})}));
  EXPECT_ERROR(gradcheck(square, {arange(3)}));
  EXPECT_ERROR(gradcheck([](auto& x) { return x.to(kFloat32); }, {kX}));
  EXPECT_ERROR(gradcheck(square, {kX, kX}));
  EXPECT_EQ(error_of([&] { gradcheck(square, {kX}, {.order = 3}); }), "[gradcheck] expected order 1 or 2, got 3");
}

TEST(Gradcheck, DoesNotChangeALiveTape) {
  Tape tape;
  const Tensor x = kX.as_leaf(), y = x * x;
  const int64_t size = tape.size();
  EXPECT_TRUE(gradcheck([](auto& v) { return v * v; }, {y}));
  EXPECT_EQ(tape.size(), size);
}

}  // namespace
}  // namespace tapegrad::tests
