"""Circular and hyperbolic functions, roundings, remainders, closeness, activations and Gumbel samples."""
import torch
import torch.nn.functional as F

from golden_file import *
from families_math import PAIRS


def swiglu(x, axis):
    a, b = x.chunk(2, axis)
    return F.silu(a) * b


def mish(x):
    """PyTorch 1.13 gives NaN for large float32 numbers in some builds; the formula is its own."""
    return x * torch.tanh(F.softplus(x))


# name: (reference, low, high) of the numbers
FUNCTIONS = {"exp2": (torch.exp2, -2, 2), "log2": (torch.log2, 0.2, 2), "log10": (torch.log10, 0.2, 2), "square": (torch.square, -2, 2),
             "reciprocal": (torch.reciprocal, 0.2, 2), "floor": (torch.floor, -2, 2), "ceil": (torch.ceil, -2, 2), "round": (torch.round, -2, 2),
             "trunc": (torch.trunc, -2, 2), "tan": (torch.tan, -1.3, 1.3), "asin": (torch.asin, -0.95, 0.95), "acos": (torch.acos, -0.95, 0.95),
             "atan": (torch.atan, -2, 2), "sinh": (torch.sinh, -2, 2), "cosh": (torch.cosh, -2, 2), "asinh": (torch.asinh, -2, 2),
             "acosh": (torch.acosh, 1.1, 3), "atanh": (torch.atanh, -0.95, 0.95)}


def layouts_and_shapes(f, op, reference, lowest, highest, dtype, **args):
    for shape in ((), (1,), (5,), (0,), (2, 0, 3), (2, 3, 4), (67,)):
        f.case(op, reference, [rand(*shape, dtype=dtype, low=lowest, high=highest)], grad=True, **args)
    for x in layouts(rand(4, 6, dtype=dtype, low=lowest, high=highest)):
        f.case(op, reference, [x], grad=True, label="layouts", **args)
    f.case(op, reference, [expanded(rand(4, 1, dtype=dtype, low=lowest, high=highest), 4, 6)], grad=True, label="expanded", **args)


def functions():
    f = Family("functions")
    for op, (reference, low, high) in FUNCTIONS.items():
        for dtype in FLOATS:
            layouts_and_shapes(f, op, reference, low, high, dtype)
            s = specials(dtype)
            if op == "asinh":  # PyTorch 1.13 overflows and loses digits below 0
                s = s.abs()
                s = s[s < 1e18]
            f.case(op, reference, [s], ulp=4, label="specials")
            whole = torch.linspace(-12.0, 12.0, 241, dtype=F64).to(dtype)
            f.case(op, reference, [whole], label="from -12 to 12")
    for dtype in FLOATS:
        halves = torch.arange(-4.5, 5.0, 0.5, dtype=dtype)
        for op in ("floor", "ceil", "round", "trunc"):
            f.case(op, getattr(torch, op), [halves], grad=True, label="halves")
        powers = 2.0 ** torch.arange(-20, 21, dtype=dtype)
        f.case("log2", torch.log2, [powers], ulp=1, label="powers of 2")
        f.case("exp2", torch.exp2, [torch.arange(-140, 130, dtype=dtype)], ulp=1, label="whole")
    f.case("square", torch.square, [rand(3, 4, dtype=I64)])
    for op in ("floor", "ceil", "trunc", "round"):
        f.case(op, lambda x: x.clone(), [rand(3, 4, dtype=I64)])
    for dtype in FLOATS:
        s = specials(dtype)
        f.case("nan_to_num", torch.nan_to_num, [s], grad=True, label="specials")
        for args in ({"nan": 0.5}, {"nan": 0.0, "posinf": 2.5}, {"nan": 1.0, "posinf": 1.0, "neginf": -7.0}):
            for x in layouts(s):
                f.case("nan_to_num", lambda x: torch.nan_to_num(x, **args), [x], grad=True, label="specials", **args)
        f.case("nan_to_num", torch.nan_to_num, [rand(0, dtype=dtype)])
        f.case("nan_to_num", torch.nan_to_num, [rand(3, 4, dtype=dtype)], grad=True)
        for x in layouts(s):
            f.case("isinf", torch.isinf, [x], label="specials")
        f.case("isinf", torch.isinf, [rand(0, dtype=dtype)])
    for dtype in (I64, BOOL):
        f.case("nan_to_num", lambda x: x.clone(), [rand(3, 4, dtype=dtype)])
        f.case("isinf", torch.isinf, [rand(3, 4, dtype=dtype)])
    return f


def of_two():
    f = Family("of_two")
    left = {"fmod": torch.fmod, "remainder": torch.remainder, "atan2": torch.atan2}
    for op, reference in left.items():
        for dtype in FLOATS:
            for a, b in PAIRS:
                f.case(op, reference, [rand(*a, dtype=dtype) * 3, rand(*b, dtype=dtype) + 0.01], grad=True)
            s = few_specials(dtype)
            if op != "atan2":  # PyTorch 1.13 has NaN where a / b overflows
                s = s[((s.abs() > 0.2) & (s.abs() < 1e30)) | s.isinf() | (s == 0) | s.isnan()]
            reference64 = (lambda a, b: reference(a.double(), b.double()).to(a.dtype)) if op == "remainder" else reference
            f.case(op, reference64, [plain(s[:, None]), plain(s[None, :])], ulp=4, label="specials")
            for x in layouts(rand(4, 6, dtype=dtype) * 3):
                f.case(op, reference, [x, transposed(rand(4, 6, dtype=dtype) + 0.01)], grad=True, label="layouts")
            f.case(op, reference, [expanded(rand(1, 6, dtype=dtype), 4, 6), expanded(rand(4, 1, dtype=dtype) + 0.01, 4, 6)], grad=True,
                   label="expanded")
            if op != "atan2":
                for s in (0.7, -1.5, 3.0):
                    x = rand(3, 5, dtype=dtype) * 3
                    f.case(op, lambda x: reference(x, s), [x], grad=True, scalar=s)
                    f.case(op, lambda x: reference(x, s), [transposed(x)], scalar=s)
            else:  # PyTorch 1.13 has NaN as their gradient, later ones 0
                zeros = torch.tensor([0.0, -0.0], dtype=dtype)
                f.case(op, reference, [plain(zeros[:, None]), plain(zeros[None, :])], ulp=1, label="zeros")
        if op != "atan2":
            f.case(op, reference, [rand(30, dtype=I64), torch.tensor([3, -3, 1, -1, 2, 7] * 5)])
            f.case(op, lambda x: reference(x, 3), [rand(9, dtype=I64)], scalar=3.0)
            f.case(op, reference, [rand(9, dtype=I64), rand(9, dtype=F32) + 0.01])
            f.case(op, lambda x: reference(x, 1.5), [rand(9, dtype=I64)], scalar=1.5)
    for dtype in FLOATS:
        for a, b in PAIRS:
            for weight in (0.3, 0.5, 1.0, -2.5):
                f.case("lerp", lambda a, b: torch.lerp(a, b, weight), [rand(*a, dtype=dtype), rand(*b, dtype=dtype)], grad=True, scalar=weight)
            f.case("lerp", torch.lerp, [rand(*a, dtype=dtype), rand(*b, dtype=dtype), rand(*b, dtype=dtype)], grad=True)
            f.case("lerp", torch.lerp, [rand(*a, dtype=dtype), rand(*b, dtype=dtype), rand(dtype=dtype)], grad=True)
        for x in layouts(rand(4, 6, dtype=dtype)):
            f.case("lerp", torch.lerp, [x, transposed(rand(4, 6, dtype=dtype)), rand(6, dtype=dtype)], grad=True, label="layouts")
        s = few_specials(dtype)
        f.case("lerp", lambda a, b: torch.lerp(a, b, 0.25), [plain(s[:, None]), plain(s[None, :])], ulp=2, label="specials", scalar=0.25)
    return f


def close():
    f = Family("close")
    for dtype in (F32, F64, I64):
        for a, b in PAIRS:
            f.case("isclose", torch.isclose, [rand(*a, dtype=dtype), rand(*b, dtype=dtype)])
        x = rand(4, 6, dtype=dtype)
        for a in layouts(x):
            near = (x + rand(4, 6, dtype=F64) * 1e-3).to(dtype)
            for args in ({}, {"rtol": 1e-3}, {"rtol": 0.0, "atol": 1e-3}, {"rtol": 0.0, "atol": 0.0}):
                f.case("isclose", lambda a, b: torch.isclose(a, b, **args), [a, transposed(near)], **args)
                f.case("allclose", lambda a, b: torch.tensor(torch.allclose(a, b, **args)), [a, transposed(near)], **args)
        for a, b in ((x, x.clone()), (x, x + 1), (x, x[:3]), (x, x[:, :1]), (rand(0, dtype=dtype), rand(0, dtype=dtype))):
            f.case("equal", lambda a, b: torch.tensor(torch.equal(a, b)), [a, b])
    for dtype in FLOATS:
        s = few_specials(dtype)
        for nan in (False, True):
            f.case("isclose", lambda a, b: torch.isclose(*torch.broadcast_tensors(a, b), equal_nan=nan), [plain(s[:, None]), plain(s[None, :])],
                   label="specials", equal_nan=nan)
            f.case("allclose", lambda a, b: torch.tensor(torch.allclose(a, b, equal_nan=nan)), [s, s], label="specials", equal_nan=nan)
        f.case("allclose", lambda a, b: torch.tensor(torch.allclose(a, b)), [rand(0, dtype=dtype), rand(1, dtype=dtype)])
        f.case("equal", lambda a, b: torch.tensor(torch.equal(a, b)), [s, s], label="NaN")
    x = rand(3, 4, dtype=BOOL)
    f.case("isclose", torch.isclose, [x, ~x[:1]])
    f.case("equal", lambda a, b: torch.tensor(torch.equal(a, b)), [x, x])
    return f


def activations():
    f = Family("activations")
    ops = [("log_sigmoid", F.logsigmoid, {}), ("mish", mish, {}), ("selu", F.selu, {}), ("softsign", F.softsign, {}), ("relu6", F.relu6, {}),
           ("hardsigmoid", F.hardsigmoid, {}), ("hardswish", F.hardswish, {})]
    for beta, threshold in ((1.0, 20.0), (2.0, 1.5), (0.5, 20.0)):
        ops.append(("softplus", lambda x, b=beta, t=threshold: F.softplus(x, b, t), {"beta": beta, "threshold": threshold}))
    for slope in (0.01, 0.3, -0.5, 0.0):
        ops.append(("leaky_relu", lambda x, s=slope: F.leaky_relu(x, s), {"slope": slope}))
    for alpha in (1.0, 0.3):
        ops.append(("elu", lambda x, a=alpha: F.elu(x, a), {"alpha": alpha}))
    for low, high in ((-1.0, 1.0), (0.25, 0.5)):
        ops.append(("hardtanh", lambda x, a=low, b=high: F.hardtanh(x, a, b), {"low": low, "high": high}))
    for op, reference, args in ops:
        for dtype in FLOATS:
            layouts_and_shapes(f, op, reference, -4.0, 4.0, dtype, **args)
            f.case(op, reference, [specials(dtype)], label="specials", **args)
            wide = torch.linspace(-12.0, 12.013, 241, dtype=F64).to(dtype)
            f.case(op, reference, [wide], grad=True, label="from -12 to 12", **args)
    # not hardswish, for which PyTorch 1.13 has two answers
    for op, reference, kinks in (("leaky_relu", F.leaky_relu, [0.0]), ("elu", F.elu, [0.0]), ("selu", F.selu, [0.0]),
                                 ("hardtanh", F.hardtanh, [-1.0, 1.0]), ("relu6", F.relu6, [0.0, 6.0]),
                                 ("hardsigmoid", F.hardsigmoid, [-3.0, 3.0])):
        f.case(op, reference, [torch.tensor(kinks)], grad=True, label="kinks")
    for dtype in FLOATS:
        for shape, n in (((5,), 1), ((2, 3), 1), ((2, 3), 3), ((2, 3, 4), 3), ((2, 3, 2, 2), 3), ((0, 3), 3), ((2, 0), 1)):
            f.case("prelu", F.prelu, [rand(*shape, dtype=dtype), rand(n, dtype=dtype)], grad=True)
        for x in layouts(rand(4, 6, dtype=dtype)):
            f.case("prelu", F.prelu, [x, rand(6, dtype=dtype)], grad=True, label="layouts")
        f.case("prelu", F.prelu, [specials(dtype), torch.tensor([0.25], dtype=dtype)], label="specials")
        f.case("prelu", F.prelu, [torch.tensor([0.0, 1.0], dtype=dtype), torch.tensor([0.25], dtype=dtype)], grad=True, label="kink")
        for op, reference in (("glu", F.glu), ("swiglu", swiglu)):
            for shape, axis in (((2,), 0), ((6,), -1), ((0,), 0), ((3, 8), -1), ((4, 3), 0), ((2, 6, 3), 1), ((2, 6, 0), 1), ((0, 4), 1),
                                ((2, 134), -1)):
                f.case(op, lambda x: reference(x, axis), [rand(*shape, dtype=dtype)], grad=True, axis=axis)
            for x in layouts(rand(4, 6, dtype=dtype)):
                for axis in (0, 1):
                    f.case(op, lambda x: reference(x, axis), [x], grad=True, label="layouts", axis=axis)
            f.case(op, lambda x: reference(x, 1), [expanded(rand(4, 1, dtype=dtype), 4, 6)], grad=True, label="expanded", axis=1)
            s = few_specials(dtype)
            pairs = torch.stack(torch.broadcast_tensors(s[:, None], s[None, :]), -1)
            f.case(op, lambda x: reference(x, -1), [pairs], label="specials", axis=-1)
    return f


def gumbel():
    """Drawn with a random seed of its own; the numbers are those of float32 and float64 logarithms."""
    f = Family("gumbel")

    def drawn(x, seed, tau, hard, axis):
        torch.manual_seed(seed)
        return F.gumbel_softmax(x, tau, hard, dim=axis)

    for dtype in FLOATS:
        for seed, (shape, axis) in enumerate((((5,), -1), ((3, 7), -1), ((3, 7), 0), ((2, 3, 4), 1), ((40, 11), -1))):
            for tau, hard in ((1.0, False), (0.5, False), (2.0, True), (0.1, True)):
                args = {"seed": seed, "tau": tau, "hard": hard, "axis": axis}
                f.case("gumbel_softmax", lambda x: drawn(x, **args), [rand(*shape, dtype=dtype)], grad=True, **args)
        f.case("gumbel_softmax", lambda x: drawn(x, 9, 1.0, False, -1), [transposed(rand(4, 6, dtype=dtype))], grad=True, label="layouts", seed=9,
               tau=1.0, hard=False, axis=-1)
    return f


FAMILIES = (functions, of_two, close, activations, gumbel)
