// Calls of the golden files: norms, running results and extremes.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/golden/arguments.h>

#include <limits>

namespace tapegrad::tests {
namespace {

double power(const json& args) {
  if (args["p"].is_number()) return args["p"].get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  return args["p"] == "inf" ? infinity : -infinity;
}

}  // namespace

void add_reduce_calls(GoldenCalls& calls) {
  calls["norm"] = [](const Inputs& x, const json& args) -> Outputs {
    return {norm(x[0], power(args), Axes(dims(args, "axes")), args["keepdim"].get<bool>())};
  };
  calls["count_nonzero"] = [](const Inputs& x, const json& args) -> Outputs {
    return {count_nonzero(x[0], Axes(dims(args, "axes")), args["keepdim"].get<bool>())};
  };
  calls["normalize"] = [](const Inputs& x, const json& args) -> Outputs {
    return {normalize(x[0], power(args), args["axis"].get<int64_t>(), args["eps"].get<double>())};
  };
  calls["pairwise_distance"] = [](const Inputs& x, const json& args) -> Outputs {
    return {pairwise_distance(x[0], x[1], power(args), args["eps"].get<double>(), args["keepdim"].get<bool>())};
  };
  calls["cosine_similarity"] = [](const Inputs& x, const json& args) -> Outputs {
    return {cosine_similarity(x[0], x[1], args["axis"].get<int64_t>(), args["eps"].get<double>())};
  };
  const auto scan = [&](const char* name, Tensor (*f)(const Tensor&, int64_t)) {
    calls[name] = [f](const Inputs& x, const json& args) -> Outputs { return {f(x[0], args["axis"].get<int64_t>())}; };
  };
  scan("cumprod", cumprod);
  scan("logcumsumexp", logcumsumexp);
  const auto running = [&](const char* name, Sorted (*f)(const Tensor&, int64_t)) {
    calls[name] = [f](const Inputs& x, const json& args) -> Outputs {
      const Sorted y = f(x[0], args["axis"].get<int64_t>());
      return {y.values, y.indices};
    };
  };
  running("cummax", cummax);
  running("cummin", cummin);
  const auto extreme = [&](const char* name, Tensor (*whole)(const Tensor&),
                           Sorted (*along)(const Tensor&, int64_t, bool)) {
    calls[name] = [whole, along](const Inputs& x, const json& args) -> Outputs {
      if (!args.contains("axis")) return {whole(x[0])};
      const Sorted y = along(x[0], args["axis"].get<int64_t>(), args["keepdim"].get<bool>());
      return {y.values, y.indices};
    };
  };
  extreme("max", max, max);
  extreme("min", min, min);
  extreme("median", median, median);
}

}  // namespace tapegrad::tests
