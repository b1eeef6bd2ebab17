// Calls of remainders, closeness, activations and Gumbel samples for the golden files.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tests/golden/arguments.h>

#include <optional>

namespace tapegrad::tests {
namespace {

Tensor truth(bool value) { return full({}, value, kBool); }

void add_of_two(GoldenCalls& calls) {
  calls["fmod"] = [](const Inputs& x, const json& args) -> Outputs {
    if (const auto scalar = number(args, "scalar")) return {fmod(x[0], *scalar)};
    return {fmod(x[0], x[1])};
  };
  calls["remainder"] = [](const Inputs& x, const json& args) -> Outputs {
    if (const auto scalar = number(args, "scalar")) return {remainder(x[0], *scalar)};
    return {remainder(x[0], x[1])};
  };
  calls["atan2"] = [](const Inputs& x, const json&) -> Outputs { return {atan2(x[0], x[1])}; };
  calls["lerp"] = [](const Inputs& x, const json& args) -> Outputs {
    if (const auto scalar = number(args, "scalar")) return {lerp(x[0], x[1], *scalar)};
    return {lerp(x[0], x[1], x[2])};
  };
  calls["isclose"] = [](const Inputs& x, const json& args) -> Outputs {
    return {isclose(x[0], x[1], args.value("rtol", 1e-5), args.value("atol", 1e-8), args.value("equal_nan", false))};
  };
  calls["allclose"] = [](const Inputs& x, const json& args) -> Outputs {
    return {truth(
        allclose(x[0], x[1], args.value("rtol", 1e-5), args.value("atol", 1e-8), args.value("equal_nan", false)))};
  };
  calls["equal"] = [](const Inputs& x, const json&) -> Outputs { return {truth(equal(x[0], x[1]))}; };
}

}  // namespace

void add_function_calls(GoldenCalls& calls) {
  add_of_two(calls);
  calls["isinf"] = [](const Inputs& x, const json&) -> Outputs { return {isinf(x[0])}; };
  calls["nan_to_num"] = [](const Inputs& x, const json& args) -> Outputs {
    return {nan_to_num(x[0], args.value("nan", 0.0), number(args, "posinf"), number(args, "neginf"))};
  };
  calls["relu6"] = [](const Inputs& x, const json&) -> Outputs { return {relu6(x[0])}; };
  calls["softplus"] = [](const Inputs& x, const json& args) -> Outputs {
    return {softplus(x[0], args.value("beta", 1.0), args.value("threshold", 20.0))};
  };
  calls["leaky_relu"] = [](const Inputs& x, const json& args) -> Outputs {
    return {leaky_relu(x[0], args.value("slope", 0.01))};
  };
  calls["elu"] = [](const Inputs& x, const json& args) -> Outputs { return {elu(x[0], args.value("alpha", 1.0))}; };
  calls["hardtanh"] = [](const Inputs& x, const json& args) -> Outputs {
    return {hardtanh(x[0], args.value("low", -1.0), args.value("high", 1.0))};
  };
  calls["prelu"] = [](const Inputs& x, const json&) -> Outputs { return {prelu(x[0], x[1])}; };
  calls["glu"] = [](const Inputs& x, const json& args) -> Outputs { return {glu(x[0], args.value("axis", -1))}; };
  calls["swiglu"] = [](const Inputs& x, const json& args) -> Outputs { return {swiglu(x[0], args.value("axis", -1))}; };
  calls["gumbel_softmax"] = [](const Inputs& x, const json& args) -> Outputs {
    Generator generator(args["seed"].get<uint64_t>());
    return {gumbel_softmax(x[0], args["tau"].get<double>(), args["hard"].get<bool>(), args["axis"].get<int64_t>(),
                           &generator)};
  };
}

}  // namespace tapegrad::tests
