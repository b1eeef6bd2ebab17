// Calls of the golden files: einsum, tensordot and linear algebra.
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/golden/arguments.h>

namespace tapegrad::tests {
namespace {

// One function of one tensor.
void add(GoldenCalls& calls, const char* name, const std::function<Tensor(const Tensor&)>& f) {
  calls[name] = [f](const Inputs& x, const json&) -> Outputs { return {f(x[0])}; };
}

void add_factorizations(GoldenCalls& calls) {
  calls["solve"] = [](const Inputs& x, const json&) -> Outputs { return {solve(x[0], x[1])}; };
  calls["lstsq"] = [](const Inputs& x, const json&) -> Outputs { return {lstsq(x[0], x[1])}; };
  calls["triangular_solve"] = [](const Inputs& x, const json& args) -> Outputs {
    return {triangular_solve(x[0], x[1],
                             {.upper = args["upper"].get<bool>(),
                              .left = args["left"].get<bool>(),
                              .unitriangular = args["unitriangular"].get<bool>()})};
  };
  calls["matrix_power"] = [](const Inputs& x, const json& args) -> Outputs {
    return {matrix_power(x[0], args["n"].get<int64_t>())};
  };
  calls["cholesky"] = [](const Inputs& x, const json& args) -> Outputs {
    return {cholesky(x[0], args.contains("upper"))};
  };
  calls["slogdet"] = [](const Inputs& x, const json&) -> Outputs {
    const SignLogDet y = slogdet(x[0]);
    return {y.logabsdet, y.sign};
  };
  calls["qr"] = [](const Inputs& x, const json& args) -> Outputs {
    const Qr y = qr(x[0], args["mode"] == "complete" ? QrMode::complete : QrMode::reduced);
    return args["first"] == "q" ? Outputs{y.q, y.r} : Outputs{y.r, y.q};
  };
  calls["eigh"] = [](const Inputs& x, const json& args) -> Outputs {
    const Eigh y = eigh(x[0]);
    return {args["of"] == "values" ? y.values : abs(y.vectors)};
  };
  calls["svd"] = [](const Inputs& x, const json& args) -> Outputs {
    const Svd y = svd(x[0], args["full"].get<bool>());
    const int64_t k = y.s.size(-1);
    return {abs(args["of"] == "u" ? y.u.slice(-1, 0, k) : args["of"] == "s" ? y.s : y.vh.slice(-2, 0, k))};
  };
  add(calls, "inverse", inverse);
  add(calls, "det", det);
  add(calls, "eigvalsh", eigvalsh);
  add(calls, "svdvals", svdvals);
  add(calls, "pinv", [](const Tensor& x) { return pinv(x); });
}

}  // namespace

void add_linalg_calls(GoldenCalls& calls) {
  add_factorizations(calls);
  calls["einsum"] = [](const Inputs& x, const json& args) -> Outputs {
    return {einsum(args["equation"].get<std::string>(), x)};
  };
  calls["tensordot"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("count")) return {tensordot(x[0], x[1], args["count"].get<int64_t>())};
    return {tensordot(x[0], x[1], Axes(dims(args, "axes_a")), Axes(dims(args, "axes_b")))};
  };
  const auto pair = [&](const char* name, Tensor (*f)(const Tensor&, const Tensor&)) {
    calls[name] = [f](const Inputs& x, const json&) -> Outputs { return {f(x[0], x[1])}; };
  };
  pair("outer", outer);
  pair("bmm", bmm);
  pair("mv", mv);
  pair("dot", dot);
}

}  // namespace tapegrad::tests
