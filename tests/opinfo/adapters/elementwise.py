"""Functions of one tensor, arithmetic, comparisons, selection."""
import math
import torch
from protocol import Call, Skip
from adapters.registry import ADAPTERS, is_t, need, on, scalar


# --- functions of one tensor ---
FUNCTIONS = """exp expm1 log log1p exp2 log2 log10 sqrt rsqrt square reciprocal abs sign floor ceil trunc sin cos tan asin acos
    atan sinh cosh tanh asinh acosh atanh erf sinc neg sigmoid isnan isinf isfinite logical_not"""
ACTIVATIONS = "relu relu6 silu softsign hardsigmoid hardswish mish selu"
for name in FUNCTIONS.split():
    ADAPTERS[name] = (lambda name: lambda input: Call(name, [input]))(name)
for name in ACTIVATIONS.split():
    ADAPTERS["nn.functional." + name] = (lambda name: lambda input, inplace=False: Call(name, [input]))(name)


@on("nn.functional.logsigmoid")
def _(input):
    return Call("log_sigmoid", [input])


@on("round")
def _(input, decimals=0):
    need(decimals == 0, "option decimals")
    return Call("round", [input])


@on("nan_to_num")
def _(input, nan=None, posinf=None, neginf=None):
    posinf, neginf = (None if v is None else float(v) for v in (posinf, neginf))
    return Call("nan_to_num", [input], nan=float(nan or 0), posinf=posinf, neginf=neginf)


@on("nn.functional.gelu")
def _(input, approximate="none"):
    return Call("gelu", [input], approximate=approximate)


@on("nn.functional.softplus")
def _(input, beta=1, threshold=20):
    return Call("softplus", [input], beta=float(scalar(beta)), threshold=float(scalar(threshold)))


@on("nn.functional.leaky_relu")
def _(input, negative_slope=0.01, inplace=False):
    return Call("leaky_relu", [input], negative_slope=float(negative_slope))


@on("nn.functional.elu")
def _(input, alpha=1.0, inplace=False):
    return Call("elu", [input], alpha=float(alpha))


@on("nn.functional.hardtanh")
def _(input, min_val=-1.0, max_val=1.0, inplace=False):
    return Call("hardtanh", [input], min_val=float(min_val), max_val=float(max_val))


@on("nn.functional.prelu")
def _(input, weight):
    return Call("prelu", [input, weight])


@on("nn.functional.glu")
def _(input, dim=-1):
    return Call("glu", [input], dim=dim)


@on("positive", "clone", "contiguous", "resolve_neg", "resolve_conj", "alias_copy")
def _(input, memory_format=None):
    return Call("contiguous", [input])


# --- two tensors ---
def binary(name, a, b, **args):
    """Of two tensors, or a tensor and a number."""
    if is_t(a) and is_t(b):
        return Call(name, [a, b], **args)
    if is_t(a):
        need(not isinstance(b, bool), "a bool as number: documented difference")
        b = scalar(b)
        if isinstance(b, float) and not a.is_floating_point():
            need(b != math.floor(b) if math.isfinite(b) else True, "a whole float with int64: documented difference")
        return Call(name + "_s", [a], other=b, **args)
    raise Skip("a number first")


for name in ("mul", "fmod", "remainder", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "floor_divide"):
    ADAPTERS[name] = (lambda name: lambda input, other: binary(name, input, other))(name)
for name in ("atan2", "logical_and", "logical_or", "logical_xor", "logaddexp", "logaddexp2"):
    ADAPTERS[name] = (lambda name: lambda input, other: Call(name, [input, other]))(name)


def add_like(name):
    def f(input, other, *, alpha=1):
        if alpha != 1:
            need(is_t(other) is False, "option alpha")
            other = scalar(other) * alpha
        return binary(name, input, other)
    return f


ADAPTERS["add"], ADAPTERS["sub"], ADAPTERS["__radd__"] = add_like("add"), add_like("sub"), add_like("add")


@on("rsub")
def _(input, other, alpha=1):
    need(alpha == 1, "option alpha")
    if is_t(other):
        return Call("sub", [other, input])
    return Call("sub_rs", [input], other=scalar(other))


@on("__rsub__")
def _(input, other):
    if is_t(other):
        return Call("sub", [other, input])
    return Call("sub_rs", [input], other=scalar(other))


@on("__rmul__")
def _(input, other):
    return binary("mul", input, other)


@on("__rdiv__")
def _(input, other):
    if is_t(other):
        return Call("div", [other, input])
    return Call("div_rs", [input], other=scalar(other))


@on("__rmatmul__")
def _(input, other):
    return Call("matmul", [other, input])


@on("__rmod__")
def _(input, other):
    need(is_t(other), "a number first")
    return Call("remainder", [other, input])


@on("div", "true_divide")
def _(input, other, rounding_mode=None):
    if rounding_mode is None:
        return binary("div", input, other)
    return binary("div_rounded", input, other, rounding=rounding_mode)


@on("xlogy")
def _(input, other):
    need(is_t(input) and is_t(other), "a number")
    return Call("xlogy", [input, other])


@on("special.xlog1py")
def _(input, other):
    need(is_t(input) and is_t(other), "a number")
    return Call("xlog1py", [input, other])


for name in ("addcmul", "addcdiv"):
    def f(input, tensor1, tensor2, value=1, name=name):
        return Call(name, [input, tensor1, tensor2], value=scalar(value))
    ADAPTERS[name] = f


@on("isin")
def _(elements, test_elements, assume_unique=False, invert=False):
    need(is_t(elements) and is_t(test_elements), "a number")
    return Call("isin", [elements, test_elements], invert=invert)


for theirs in ("bitwise_and", "bitwise_or", "bitwise_xor", "__rand__", "__ror__", "__rxor__"):
    def f(input, other, ours="logical_" + theirs.strip("_").replace("bitwise_", "").removeprefix("r")):
        need(is_t(other) and input.dtype == other.dtype == torch.bool, "integers")
        return Call(ours, [input, other])
    ADAPTERS[theirs] = f


@on("bitwise_not")
def _(input):
    need(input.dtype == torch.bool, "integers")
    return Call("logical_not", [input])


@on("pow")
def _(input, other):
    if not is_t(input):
        raise Skip("a number first")
    return binary("pow", input, other)


@on("float_power")
def _(input, other):
    need(input.dtype == torch.float64 and (not is_t(other) or other.dtype == torch.float64), "not float64")
    return binary("pow", input, other)


for theirs in ("max", "min"):
    ours = theirs + "imum"
    ADAPTERS[(theirs, "binary")] = (lambda ours: lambda input, other: binary(ours, input, other))(ours)


@on("clamp")
def _(input, min=None, max=None):
    if not is_t(min) and not is_t(max):
        return Call("clamp", [input], min=min, max=max)
    need(all(b is None or is_t(b) for b in (min, max)), "a tensor and a number as bounds")
    return Call("clamp_between", [input, min, max])


@on("clamp_min")
def _(input, min):
    if is_t(min):
        return Call("maximum", [input, min])
    return Call("clamp", [input], min=scalar(min))


@on("clamp_max")
def _(input, max):
    if is_t(max):
        return Call("minimum", [input, max])
    return Call("clamp", [input], max=scalar(max))


@on("lerp")
def _(input, end, weight):
    if is_t(weight):
        return Call("lerp", [input, end, weight])
    return Call("lerp_s", [input, end], other=float(scalar(weight)))


@on("isclose")
def _(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    need(is_t(other), "number")
    return Call("isclose", [input, other], rtol=float(rtol), atol=float(atol), equal_nan=equal_nan)


@on("allclose")
def _(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    return Call("allclose", [input, other], rtol=float(rtol), atol=float(atol), equal_nan=equal_nan)


@on("equal")
def _(input, other):
    return Call("equal", [input, other])


# --- selection ---
@on("where")
def _(input, condition, other):
    return Call("where", [condition, input, other])


@on("masked_fill")
def _(input, mask, value):
    if is_t(value):
        need(not value.requires_grad, "value with gradient")
        value = value.item()
    return Call("masked_fill", [input, mask], value=value)


for name in ("tril", "triu"):
    ADAPTERS[name] = (lambda name: lambda input, diagonal=0: Call(name, [input], diagonal=diagonal))(name)
