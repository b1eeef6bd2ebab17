// Functions of one tensor, arithmetic, comparisons, selection.
#include "families.h"

namespace {

void add_functions(Calls& on) {
  one(on, "exp", tg::exp);
  one(on, "expm1", tg::expm1);
  one(on, "log", tg::log);
  one(on, "log1p", tg::log1p);
  one(on, "exp2", tg::exp2);
  one(on, "log2", tg::log2);
  one(on, "log10", tg::log10);
  one(on, "sqrt", tg::sqrt);
  one(on, "rsqrt", tg::rsqrt);
  one(on, "square", tg::square);
  one(on, "reciprocal", tg::reciprocal);
  one(on, "abs", tg::abs);
  one(on, "sign", tg::sign);
  one(on, "floor", tg::floor);
  one(on, "ceil", tg::ceil);
  one(on, "round", tg::round);
  one(on, "trunc", tg::trunc);
  one(on, "sin", tg::sin);
  one(on, "cos", tg::cos);
  one(on, "tan", tg::tan);
  one(on, "asin", tg::asin);
  one(on, "acos", tg::acos);
  one(on, "atan", tg::atan);
  one(on, "sinh", tg::sinh);
  one(on, "cosh", tg::cosh);
  one(on, "tanh", tg::tanh);
  one(on, "asinh", tg::asinh);
  one(on, "acosh", tg::acosh);
  one(on, "atanh", tg::atanh);
  one(on, "erf", tg::erf);
  one(on, "sinc", tg::sinc);
  one(on, "logit", tg::logit);
  one(on, "neg", tg::neg);
  one(on, "isnan", tg::isnan);
  one(on, "isinf", tg::isinf);
  one(on, "isfinite", tg::isfinite);
  one(on, "logical_not", tg::logical_not);
  one(on, "ones_like", tg::ones_like);
  one(on, "zeros_like", tg::zeros_like);
  on["nan_to_num"] = [](Case& c) -> TV {
    return {tg::nan_to_num(c.x[0], c.d("nan", 0), c.od("posinf"), c.od("neginf"))};
  };
}

void add_activations(Calls& on) {
  one(on, "sigmoid", tg::sigmoid);
  one(on, "log_sigmoid", tg::log_sigmoid);
  one(on, "relu", tg::relu);
  one(on, "relu6", tg::relu6);
  one(on, "silu", tg::silu);
  one(on, "softsign", tg::softsign);
  one(on, "hardsigmoid", tg::hardsigmoid);
  one(on, "hardswish", tg::hardswish);
  one(on, "mish", tg::mish);
  one(on, "selu", tg::selu);
  on["gelu"] = [](Case& c) -> TV {
    return {tg::gelu(c.x[0], c.s("approximate", "none") == "tanh" ? tg::Gelu::tanh : tg::Gelu::erf)};
  };
  on["softplus"] = [](Case& c) -> TV { return {tg::softplus(c.x[0], c.d("beta", 1), c.d("threshold", 20))}; };
  on["leaky_relu"] = [](Case& c) -> TV { return {tg::leaky_relu(c.x[0], c.d("negative_slope", 0.01))}; };
  on["elu"] = [](Case& c) -> TV { return {tg::elu(c.x[0], c.d("alpha", 1))}; };
  on["hardtanh"] = [](Case& c) -> TV { return {tg::hardtanh(c.x[0], c.d("min_val", -1), c.d("max_val", 1))}; };
  on["prelu"] = [](Case& c) -> TV { return {tg::prelu(c.x[0], c.x[1])}; };
  on["glu"] = [](Case& c) -> TV { return {tg::glu(c.x[0], c.i("dim", -1))}; };
  on["dropout"] = [](Case& c) -> TV { return {tg::dropout(c.x[0], c.d("p"), c.b("training", true))}; };
}

void add_arithmetic(Calls& on) {
  two(on, "add", tg::add);
  two(on, "sub", tg::sub);
  two(on, "mul", tg::mul);
  two(on, "div", tg::div);
  two(on, "pow", tg::pow);
  two(on, "maximum", tg::maximum);
  two(on, "minimum", tg::minimum);
  two(on, "fmod", tg::fmod);
  two(on, "remainder", tg::remainder);
  two(on, "floor_divide", tg::floor_divide);
  two(on, "atan2", tg::atan2);
  two(on, "logaddexp", tg::logaddexp);
  two(on, "logaddexp2", tg::logaddexp2);
  two(on, "xlogy", tg::xlogy);
  two(on, "xlog1py", tg::xlog1py);
  with_number(on, "add", tg::add);
  with_number(on, "sub", tg::sub);
  with_number(on, "mul", tg::mul);
  with_number(on, "div", tg::div);
  with_number(on, "pow", tg::pow);
  with_number(on, "maximum", tg::maximum);
  with_number(on, "minimum", tg::minimum);
  with_number(on, "fmod", tg::fmod);
  with_number(on, "remainder", tg::remainder);
  with_number(on, "floor_divide", tg::floor_divide);
  number_first(on, "sub", tg::sub);
  number_first(on, "div", tg::div);
  on["div_rounded"] = [](Case& c) -> TV { return {tg::div(c.x[0], c.x[1], rounding(c))}; };
  on["div_rounded_s"] = [](Case& c) -> TV { return {tg::div(c.x[0], c.d("other"), rounding(c))}; };
  on["addcmul"] = [](Case& c) -> TV { return {tg::addcmul(c.x[0], c.x[1], c.x[2], c.d("value", 1))}; };
  on["addcdiv"] = [](Case& c) -> TV { return {tg::addcdiv(c.x[0], c.x[1], c.x[2], c.d("value", 1))}; };
  on["clamp"] = [](Case& c) -> TV { return {tg::clamp(c.x[0], c.od("min"), c.od("max"))}; };
  on["clamp_between"] = [](Case& c) -> TV { return {tg::clamp(c.x[0], c.x[1], c.x[2])}; };
  on["lerp"] = [](Case& c) -> TV { return {tg::lerp(c.x[0], c.x[1], c.x[2])}; };
  on["lerp_s"] = [](Case& c) -> TV { return {tg::lerp(c.x[0], c.x[1], c.d("weight"))}; };
}

void add_comparisons(Calls& on) {
  two(on, "eq", tg::eq);
  two(on, "ne", tg::ne);
  two(on, "lt", tg::lt);
  two(on, "le", tg::le);
  two(on, "gt", tg::gt);
  two(on, "ge", tg::ge);
  with_number(on, "eq", tg::eq);
  with_number(on, "ne", tg::ne);
  with_number(on, "lt", tg::lt);
  with_number(on, "le", tg::le);
  with_number(on, "gt", tg::gt);
  with_number(on, "ge", tg::ge);
  two(on, "logical_and", tg::logical_and);
  two(on, "logical_or", tg::logical_or);
  two(on, "logical_xor", tg::logical_xor);
  on["isclose"] = [](Case& c) -> TV {
    return {tg::isclose(c.x[0], c.x[1], c.d("rtol", 1e-5), c.d("atol", 1e-8), c.b("equal_nan"))};
  };
  on["allclose"] = [](Case& c) -> TV {
    return {flag(tg::allclose(c.x[0], c.x[1], c.d("rtol", 1e-5), c.d("atol", 1e-8), c.b("equal_nan")))};
  };
  on["equal"] = [](Case& c) -> TV { return {flag(tg::equal(c.x[0], c.x[1]))}; };
  on["all"] = [](Case& c) -> TV {
    return {c.has("dim") ? tg::all(c.x[0], c.axes(), c.b("keepdim")) : flag(tg::all(c.x[0]))};
  };
  on["any"] = [](Case& c) -> TV {
    return {c.has("dim") ? tg::any(c.x[0], c.axes(), c.b("keepdim")) : flag(tg::any(c.x[0]))};
  };
}

void add_selection(Calls& on) {
  on["where"] = [](Case& c) -> TV { return {tg::where(c.x[0], c.x[1], c.x[2])}; };
  on["where_s"] = [](Case& c) -> TV { return {tg::where(c.x[0], c.x[1], c.d("other"))}; };
  on["where_rs"] = [](Case& c) -> TV { return {tg::where(c.x[0], c.d("other"), c.x[1])}; };
  on["masked_fill"] = [](Case& c) -> TV { return {tg::masked_fill(c.x[0], c.x[1], c.d("value"))}; };
  on["tril"] = [](Case& c) -> TV { return {tg::tril(c.x[0], c.i("diagonal", 0))}; };
  on["triu"] = [](Case& c) -> TV { return {tg::triu(c.x[0], c.i("diagonal", 0))}; };
}

}  // namespace

void add_elementwise() {
  Calls& on = calls();
  add_functions(on);
  add_activations(on);
  add_arithmetic(on);
  add_comparisons(on);
  add_selection(on);
}
