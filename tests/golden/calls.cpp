// Calls each operation of the golden files: through the table of samples, or through an entry here if it needs
// arguments besides tensors and axes.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>
#include <tapegrad/tests/golden/arguments.h>

#include <optional>

namespace tapegrad::tests {
namespace {

DType dtype(const json& args) {
  const std::string wanted = args.at("dtype");
  for (DType one : {kBool, kInt64, kFloat32}) {
    if (name(one) == wanted) return one;
  }
  return kFloat64;
}

using Calls = GoldenCalls;

// A function of two tensors, or of a tensor and the number "scalar" or "left".
template <class Both, class Right>
GoldenCall binary(Both both, Right right) {
  return [both, right](const Inputs& x, const json& args) -> Outputs {
    if (const auto scalar = number(args, "scalar")) return {right(x[0], *scalar)};
    return {both(x[0], x[1])};
  };
}

void add_elementwise(Calls& calls) {
  const auto pair = [&](const char* name, Tensor (*both)(const Tensor&, const Tensor&),
                        Tensor (*right)(const Tensor&, double)) { calls[name] = binary(both, right); };
  pair("add", add, add);
  pair("mul", mul, mul);
  pair("pow", pow, pow);
  pair("maximum", maximum, maximum);
  pair("minimum", minimum, minimum);
  pair("eq", eq, eq);
  pair("ne", ne, ne);
  pair("lt", lt, lt);
  pair("le", le, le);
  pair("gt", gt, gt);
  pair("ge", ge, ge);
  calls["sub"] = [](const Inputs& x, const json& args) -> Outputs {
    if (const auto left = number(args, "left")) return {sub(*left, x[0])};
    if (const auto right = number(args, "scalar")) return {sub(x[0], *right)};
    return {sub(x[0], x[1])};
  };
  calls["div"] = [](const Inputs& x, const json& args) -> Outputs {
    if (const auto left = number(args, "left")) return {div(*left, x[0])};
    if (const auto right = number(args, "scalar")) return {div(x[0], *right)};
    return {div(x[0], x[1])};
  };
  const auto logic = [&](const char* name, Tensor (*f)(const Tensor&, const Tensor&)) {
    calls[name] = [f](const Inputs& x, const json&) -> Outputs { return {f(x[0], x[1])}; };
  };
  logic("logical_and", logical_and);
  logic("logical_or", logical_or);
  logic("logical_xor", logical_xor);
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"isnan", isnan}, {"isfinite", isfinite}, {"logical_not", logical_not}};
  for (const auto& [name, f] : functions) {
    calls[name] = [f = f](const Inputs& x, const json&) -> Outputs { return {f(x[0])}; };
  }
  calls["gelu"] = [](const Inputs& x, const json& args) -> Outputs {
    return {gelu(x[0], args.contains("form") ? Gelu::tanh : Gelu::erf)};
  };
  calls["clamp"] = [](const Inputs& x, const json& args) -> Outputs {
    return {clamp(x[0], number(args, "low"), number(args, "high"))};
  };
  calls["all"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("axis")) return {all(x[0], args["axis"].get<int>(), args["keepdim"].get<bool>())};
    return {tensor({all(x[0])}).reshape({})};
  };
  calls["any"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("axis")) return {any(x[0], args["axis"].get<int>(), args["keepdim"].get<bool>())};
    return {tensor({any(x[0])}).reshape({})};
  };
  calls["all_finite"] = [](const Inputs& x, const json&) -> Outputs {
    return {tensor({all_finite(x[0])}).reshape({})};
  };
  calls["where"] = [](const Inputs& x, const json& args) -> Outputs {
    if (const auto left = number(args, "left")) return {where(x[0], *left, x[1])};
    if (const auto right = number(args, "right")) return {where(x[0], x[1], *right)};
    return {where(x[0], x[1], x[2])};
  };
  calls["masked_fill"] = [](const Inputs& x, const json& args) -> Outputs {
    return {masked_fill(x[0], x[1], args["value"].get<double>())};
  };
  calls["tril"] = [](const Inputs& x, const json& args) -> Outputs { return {tril(x[0], integer(args, "diagonal"))}; };
  calls["triu"] = [](const Inputs& x, const json& args) -> Outputs { return {triu(x[0], integer(args, "diagonal"))}; };
}

void add_reductions(Calls& calls) {
  calls["var"] = [](const Inputs& x, const json& args) -> Outputs {
    return {var(x[0], Axes(dims(args, "axes")), args["keepdim"].get<bool>(), args["correction"].get<double>())};
  };
  calls["std"] = [](const Inputs& x, const json& args) -> Outputs {
    return {std(x[0], Axes(dims(args, "axes")), args["keepdim"].get<bool>(), args["correction"].get<double>())};
  };
  calls["cumsum"] = [](const Inputs& x, const json& args) -> Outputs { return {cumsum(x[0], integer(args, "axis"))}; };
  calls["argmax"] = [](const Inputs& x, const json& args) -> Outputs {
    if (!args.contains("axis")) return {argmax(x[0])};
    return {argmax(x[0], integer(args, "axis"), args["keepdim"].get<bool>())};
  };
  calls["argmin"] = [](const Inputs& x, const json& args) -> Outputs {
    if (!args.contains("axis")) return {argmin(x[0])};
    return {argmin(x[0], integer(args, "axis"), args["keepdim"].get<bool>())};
  };
  calls["sum_to"] = [](const Inputs& x, const json& args) -> Outputs { return {sum_to(x[0], dims(args, "to"))}; };
  calls["accumulate_into"] = [](const Inputs& x, const json&) -> Outputs {
    Tensor into = from_data(x[0].contiguous().raw_data(), x[0].numel(), x[0].shape(), x[0].dtype());
    accumulate_into(into, x[1]);
    return {into};
  };
  calls["copy_into"] = [](const Inputs& x, const json&) -> Outputs {
    const Tensor into = from_data(x[0].contiguous().raw_data(), x[0].numel(), x[0].shape(), x[0].dtype());
    copy_into(into, x[1]);
    return {into};
  };
  calls["softmax"] = [](const Inputs& x, const json& args) -> Outputs {
    return {softmax(x[0], integer(args, "axis"))};
  };
  calls["log_softmax"] = [](const Inputs& x, const json& args) -> Outputs {
    return {log_softmax(x[0], integer(args, "axis"))};
  };
  calls["sort"] = [](const Inputs& x, const json& args) -> Outputs {
    const Sorted y = sort(x[0], integer(args, "axis"), args["descending"].get<bool>());
    return {y.values, y.indices};
  };
  calls["topk"] = [](const Inputs& x, const json& args) -> Outputs {
    const Sorted y = topk(x[0], integer(args, "k"), integer(args, "axis"), args["largest"].get<bool>());
    return {y.values, y.indices};
  };
}

void add_shapes(Calls& calls) {
  calls["reshape"] = [](const Inputs& x, const json& args) -> Outputs { return {x[0].reshape(dims(args, "shape"))}; };
  calls["expand"] = [](const Inputs& x, const json& args) -> Outputs { return {x[0].expand(dims(args, "shape"))}; };
  calls["permute"] = [](const Inputs& x, const json& args) -> Outputs { return {x[0].permute(dims(args, "axes"))}; };
  calls["flatten"] = [](const Inputs& x, const json& args) -> Outputs {
    return {x[0].flatten(integer(args, "first"), integer(args, "last"))};
  };
  calls["transpose"] = [](const Inputs& x, const json& args) -> Outputs {
    return {x[0].transpose(integer(args, "a"), integer(args, "b"))};
  };
  calls["select"] = [](const Inputs& x, const json& args) -> Outputs {
    return {x[0].select(integer(args, "axis"), integer(args, "index"))};
  };
  calls["unsqueeze"] = [](const Inputs& x, const json& args) -> Outputs {
    return {x[0].unsqueeze(integer(args, "axis"))};
  };
  calls["contiguous"] = [](const Inputs& x, const json&) -> Outputs { return {x[0].contiguous()}; };
  calls["detach"] = [](const Inputs& x, const json&) -> Outputs { return {x[0].detach()}; };
  calls["to"] = [](const Inputs& x, const json& args) -> Outputs { return {x[0].to(dtype(args))}; };
  calls["cat"] = [](const Inputs& x, const json& args) -> Outputs { return {cat(x, integer(args, "axis"))}; };
  calls["stack"] = [](const Inputs& x, const json& args) -> Outputs { return {stack(x, integer(args, "axis"))}; };
  calls["split"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("size")) return split(x[0], integer(args, "size"), integer(args, "axis"));
    return split(x[0], args["sizes"].get<std::vector<int64_t>>(), integer(args, "axis"));
  };
  calls["chunk"] = [](const Inputs& x, const json& args) -> Outputs {
    return chunk(x[0], integer(args, "count"), integer(args, "axis"));
  };
  calls["narrow"] = [](const Inputs& x, const json& args) -> Outputs {
    return {narrow(x[0], integer(args, "axis"), integer(args, "start"), integer(args, "length"))};
  };
  calls["flip"] = [](const Inputs& x, const json& args) -> Outputs { return {flip(x[0], Axes(dims(args, "axes")))}; };
  calls["index_select"] = [](const Inputs& x, const json& args) -> Outputs {
    return {index_select(x[0], integer(args, "axis"), x[1])};
  };
  calls["gather"] = [](const Inputs& x, const json& args) -> Outputs {
    return {gather(x[0], integer(args, "axis"), x[1])};
  };
  calls["scatter_add"] = [](const Inputs& x, const json& args) -> Outputs {
    return {scatter_add(x[0], integer(args, "axis"), x[1], x[2])};
  };
  calls["one_hot"] = [](const Inputs& x, const json& args) -> Outputs {
    return {one_hot(x[0], integer(args, "classes"))};
  };
  calls["embedding"] = [](const Inputs& x, const json& args) -> Outputs {
    return {embedding(x[0], x[1], args.contains("padding") ? std::optional(integer(args, "padding")) : std::nullopt)};
  };
}

void add_layers(Calls& calls) {
  const auto optional = [](const Inputs& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); };
  calls["matmul"] = [](const Inputs& x, const json&) -> Outputs { return {matmul(x[0], x[1])}; };
  calls["linear"] = [=](const Inputs& x, const json&) -> Outputs { return {linear(x[0], x[1], optional(x, 2))}; };
  calls["layer_norm"] = [=](const Inputs& x, const json& args) -> Outputs {
    return {layer_norm(x[0], optional(x, 1), optional(x, 2), args["eps"].get<double>())};
  };
  calls["layer_norm_std"] = [](const Inputs& x, const json& args) -> Outputs {
    return {layer_norm_std(x[0], x[1], x[2], args["eps"].get<double>())};
  };
  calls["rms_norm"] = [](const Inputs& x, const json& args) -> Outputs {
    return {rms_norm(x[0], x[1], args["eps"].get<double>())};
  };
  calls["dropout"] = [](const Inputs& x, const json& args) -> Outputs {
    Generator generator(static_cast<uint64_t>(integer(args, "seed")));
    const Tensor y = dropout(x[0], args["p"].get<double>(), args["training"].get<bool>(), &generator);
    return {y, rand({3}, kFloat32, &generator)};
  };
  const auto options = [=](const Inputs& x, const json& args) {
    return AttentionOptions{.mask = optional(x, 3), .causal = args.contains("causal"), .scale = number(args, "scale")};
  };
  calls["scaled_dot_product_attention"] = [=](const Inputs& x, const json& args) -> Outputs {
    return {scaled_dot_product_attention(x[0], x[1], x[2], options(x, args))};
  };
  calls["attention_with_weights"] = [=](const Inputs& x, const json& args) -> Outputs {
    const auto [y, weights] = attention_with_weights(x[0], x[1], x[2], options(x, args));
    return {y, weights};
  };
}

void add_factories(Calls& calls) {
  calls["linspace"] = [](const Inputs&, const json& args) -> Outputs {
    return {linspace(args["first"].get<double>(), args["last"].get<double>(), integer(args, "count"), dtype(args))};
  };
  calls["arange"] = [](const Inputs&, const json& args) -> Outputs {
    return {arange(args["start"].get<double>(), args["stop"].get<double>(), args["step"].get<double>(), dtype(args))};
  };
  calls["eye"] = [](const Inputs&, const json& args) -> Outputs { return {eye(integer(args, "n"), dtype(args))}; };
  calls["zeros"] = [](const Inputs&, const json& args) -> Outputs { return {zeros(dims(args, "shape"), dtype(args))}; };
  calls["ones"] = [](const Inputs&, const json& args) -> Outputs { return {ones(dims(args, "shape"), dtype(args))}; };
  calls["full"] = [](const Inputs&, const json& args) -> Outputs {
    return {full(dims(args, "shape"), args["value"].get<double>(), dtype(args))};
  };
}

// Operations that are called through the table of samples: functions of one tensor, and reductions.
void add_forms(Calls& calls) {
  for (const tasks::OpSamples& of : tasks::op_samples()) {
    if (!of.unary.empty()) {
      calls.try_emplace(of.op, [f = of.unary[0].f](const Inputs& x, const json&) -> Outputs { return {f(x[0])}; });
    }
    if (!of.reductions.empty()) {
      calls.try_emplace(of.op, [f = of.reductions[0]](const Inputs& x, const json& args) -> Outputs {
        return {f(x[0], Axes(dims(args, "axes")), args["keepdim"].get<bool>())};
      });
    }
  }
}

}  // namespace

const GoldenCalls& golden_calls() {
  static const Calls all = [] {
    Calls calls;
    add_elementwise(calls);
    add_reductions(calls);
    add_shapes(calls);
    add_shape_calls(calls);
    add_layers(calls);
    add_reduce_calls(calls);
    add_loss_calls(calls);
    add_convolution_calls(calls);
    add_factories(calls);
    add_linalg_calls(calls);
    add_pooling_calls(calls);
    add_function_calls(calls);
    add_recurrent_calls(calls);
    add_window_calls(calls);
    add_long_attention_calls(calls);
    add_forms(calls);
    return calls;
  }();
  return all;
}

}  // namespace tapegrad::tests
