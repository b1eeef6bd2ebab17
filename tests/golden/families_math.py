"""Arithmetic, functions, comparison, selection and reductions."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from golden_file import *

PAIRS = [((), ()), ((3,), ()), ((), (2, 3)), ((1,), (2, 3)), ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3, 1), (4,)),
         ((3, 1, 2), (4, 1)), ((0,), (1,)), ((2, 0), (2, 1)), ((0, 3), (3,))]


def arithmetic():
    f = Family("arithmetic")
    positive = {"pow": dict(low=0.2, high=2.0)}
    ops = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
           "maximum": torch.maximum, "minimum": torch.minimum}
    for op, reference in ops.items():
        for dtype in FLOATS:
            for a, b in PAIRS:
                f.case(op, reference, [rand(*a, dtype=dtype, **positive.get(op, {})), rand(*b, dtype=dtype) + 0.01], grad=True)
            s = few_specials(dtype)
            f.case(op, reference, [plain(s[:, None]), plain(s[None, :])], ulp=1 if op not in ("pow",) else 4, label="specials")
            x = rand(4, 6, dtype=dtype, **positive.get(op, {}))
            for a in layouts(x):
                f.case(op, reference, [a, transposed(rand(4, 6, dtype=dtype) + 0.01)], grad=True, label="layouts")
            f.case(op, reference, [expanded(x[:1], 4, 6), expanded(rand(4, 1, dtype=dtype) + 0.01, 4, 6)], grad=True, label="expanded")
            f.case(op, reference, [rand(7, 61, dtype=dtype, **positive.get(op, {})), rand(7, 61, dtype=dtype) + 0.01], label="7 x 61")
        if op != "pow":
            f.case(op, reference, [rand(3, 4, dtype=I64), rand(4, dtype=I64).abs() + 1])
            f.case(op, reference, [rand(3, 4, dtype=I64), rand(4, dtype=F32) + 0.01])
            f.case(op, reference, [rand(3, 4, dtype=F64), rand(4, dtype=F32) + 0.01])
            if op != "sub":
                f.case(op, reference, [rand(3, 4, dtype=BOOL), rand(3, 4, dtype=F32) + 0.01])
                f.case(op, reference, [rand(3, 4, dtype=BOOL), rand(3, 4, dtype=I64).abs() + 1])
        else:
            f.case(op, reference, [rand(3, 4, dtype=I64), rand(4, dtype=I64).abs()])
            f.case(op, reference, [torch.tensor([-2.0, -1.5, 0.0, 3.0]), torch.tensor([3.0, 2.0, 0.0, -1.0])])
            f.case(op, reference, [torch.tensor([0.0, 0.0, 2.0], dtype=F64), torch.tensor([2.0, 1.0, 3.0], dtype=F64)], grad=True,
                   label="base 0")
    a = torch.tensor([1.0, 2.0, 3.0, 3.0])
    f.case("maximum", torch.maximum, [a, torch.tensor([2.0, 2.0, 1.0, 3.0])], grad=True, label="ties")
    f.case("minimum", torch.minimum, [a, torch.tensor([2.0, 2.0, 1.0, 3.0])], grad=True, label="ties")
    scalar = {"add": lambda x, s: x + s, "sub": lambda x, s: x - s, "mul": lambda x, s: x * s, "div": lambda x, s: x / s,
              "pow": lambda x, s: x**s, "maximum": lambda x, s: torch.maximum(x, torch.tensor(s, dtype=x.dtype)),
              "minimum": lambda x, s: torch.minimum(x, torch.tensor(s, dtype=x.dtype))}
    left = {"sub": lambda x, s: s - x, "div": lambda x, s: s / x}
    for dtype in FLOATS:
        for op, reference in scalar.items():
            values = [0.5, 2.0, 3.0, -1.0, -0.5, 1.0] if op == "pow" else [0.1, -1.5]
            for s in values:
                x = rand(3, 5, dtype=dtype, low=0.2)
                f.case(op, lambda x, s=s: reference(x, s), [x], grad=True, scalar=s)
                f.case(op, lambda x, s=s: reference(x, s), [specials(dtype)], ulp=4 if op == "pow" else 1, label="specials", scalar=s)
                f.case(op, lambda x, s=s: reference(x, s), [transposed(x)], scalar=s)
            if op == "pow":
                for s in (2.0, 3.0, 0.0):
                    f.case(op, lambda x, s=s: reference(x, s), [torch.tensor([-1.5, 0.0, 2.0], dtype=dtype)], grad=True, scalar=s)
        for op, reference in left.items():
            f.case(op, lambda x: reference(x, 2.5), [rand(3, 5, dtype=dtype, low=0.2)], grad=True, left=2.5)
            f.case(op, lambda x: reference(x, 2.5), [specials(dtype)], ulp=1, label="specials", left=2.5)
        for op in ("neg",):
            f.case(op, torch.neg, [specials(dtype)], ulp=1)
            for x in layouts(rand(4, 5, dtype=dtype)):
                f.case(op, torch.neg, [x], grad=True)
        for low, high in ((-0.5, 0.5), (None, 0.25), (0.25, None), (1.0, -1.0)):
            args = {k: v for k, v in (("low", low), ("high", high)) if v is not None}
            f.case("clamp", lambda x: torch.clamp(x, low, high), [rand(4, 5, dtype=dtype)], grad=low != 1.0, **args)
            f.case("clamp", lambda x: torch.clamp(x, low, high), [specials(dtype)], label="specials", **args)
            f.case("clamp", lambda x: torch.clamp(x, low, high), [rand(0, dtype=dtype)], **args)
    f.case("neg", torch.neg, [rand(7, dtype=I64)])
    f.case("clamp", lambda x: torch.clamp(x, -1, 2), [rand(9, dtype=I64)], low=-1.0, high=2.0)
    return f


def log1p(x):
    """PyTorch 1.13 overflows near the largest numbers."""
    return torch.where(x > 1e30, x.abs().log(), torch.log1p(x))


def unary():
    f = Family("unary")
    ops = {"exp": torch.exp, "expm1": torch.expm1, "log": torch.log, "log1p": log1p, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
           "abs": torch.abs, "sign": torch.sign, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "erf": torch.erf,
           "sigmoid": torch.sigmoid, "relu": torch.relu, "silu": F.silu, "gelu": F.gelu,
           "gelu tanh": lambda x: F.gelu(x, approximate="tanh")}
    for name, reference in ops.items():
        op, args = name.split()[0], ({"form": "tanh"} if " " in name else {})
        low = 0.2 if op in ("log", "sqrt", "rsqrt") else -0.7 if op == "log1p" else -2.0
        for dtype in FLOATS:
            for shape in ((), (1,), (5,), (0,), (2, 0, 3), (2, 3, 4), (67,)):
                f.case(op, reference, [rand(*shape, dtype=dtype, low=low)], grad=True, **args)
            for x in layouts(rand(4, 6, dtype=dtype, low=low)):
                f.case(op, reference, [x], grad=True, label="layouts", **args)
            f.case(op, reference, [expanded(rand(4, 1, dtype=dtype, low=low), 4, 6)], grad=True, label="expanded", **args)
            loose = op in ("sigmoid", "silu", "gelu")  # PyTorch's own tails are no better than its exp
            f.case(op, reference, [specials(dtype)], ulp=0 if loose else 4, label="specials", **args)
            wide = torch.linspace(-12.0, 12.0, 241, dtype=F64).to(dtype)
            f.case(op, reference, [wide.abs() + 1e-3 if low > 0 else wide.clamp(min=-0.999) if op == "log1p" else wide],
                   label="from -12 to 12", **args)
    return f


def compare():
    f = Family("compare")
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        reference = getattr(torch, op)
        for dtype in (F32, F64, I64, BOOL):
            x = rand(4, 5, dtype=dtype).round() if dtype in FLOATS else rand(4, 5, dtype=dtype)
            y = rand(5, dtype=dtype).round() if dtype in FLOATS else rand(5, dtype=dtype)
            for a in layouts(x):
                f.case(op, reference, [a, y])
            for a, b in PAIRS:
                f.case(op, reference, [rand(*a, dtype=dtype), rand(*b, dtype=dtype)])
        for dtype in FLOATS:
            s = specials(dtype)
            f.case(op, reference, [few_specials(dtype)[:, None], few_specials(dtype)[None, :]], label="specials")
            f.case(op, lambda x: reference(x, 0.5), [s], label="specials", scalar=0.5)
        f.case(op, lambda x: reference(x, 1), [rand(9, dtype=I64)], scalar=1.0)
        f.case(op, reference, [rand(4, dtype=I64), rand(4, dtype=F32).round()])
    for op in ("logical_and", "logical_or", "logical_xor"):
        reference = getattr(torch, op)
        for a, b in PAIRS:
            f.case(op, reference, [rand(*a, dtype=BOOL), rand(*b, dtype=BOOL)])
        for a in layouts(rand(4, 5, dtype=BOOL)):
            f.case(op, reference, [a, expanded(rand(4, 1, dtype=BOOL), 4, 5)])
    for a in layouts(rand(4, 5, dtype=BOOL)):
        f.case("logical_not", torch.logical_not, [a])
    for dtype in FLOATS:
        for op in ("isnan", "isfinite"):
            for x in layouts(specials(dtype)):
                f.case(op, getattr(torch, op), [x], label="specials")
            f.case(op, getattr(torch, op), [rand(0, dtype=dtype)])
        for values in (specials(dtype), rand(300, dtype=dtype), rand(0, dtype=dtype), torch.tensor(INF, dtype=dtype)):
            f.case("all_finite", lambda x: torch.isfinite(x).all(), [values])
    for shape in ((), (0,), (3,), (2, 3), (2, 0, 3), (70,)):
        for x in (rand(*shape, dtype=BOOL), torch.ones(shape, dtype=BOOL), torch.zeros(shape, dtype=BOOL)):
            f.case("all", torch.all, [x])
            f.case("any", torch.any, [x])
    for x in layouts(rand(3, 5, dtype=BOOL)):
        for axis in (0, 1, -1):
            for keep in (False, True):
                for op in ("all", "any"):
                    f.case(op, lambda x: getattr(torch, op)(x, axis, keep), [x], axis=axis, keepdim=keep)
    f.case("all", lambda x: torch.all(x, 0), [rand(0, 3, dtype=BOOL)], axis=0, keepdim=False)
    f.case("any", lambda x: torch.any(x, 0), [rand(0, 3, dtype=BOOL)], axis=0, keepdim=False)
    return f


def select():
    f = Family("select")
    for dtype in (F32, F64, I64, BOOL):
        grad = dtype in FLOATS
        for c, a, b in (((2, 3), (2, 3), (2, 3)), ((2, 1), (3,), ()), ((), (2, 3), (1, 3)), ((3,), (2, 1), (2, 3)), ((0,), (1,), ())):
            f.case("where", torch.where, [rand(*c, dtype=BOOL), rand(*a, dtype=dtype), rand(*b, dtype=dtype)], grad=grad)
        for a in layouts(rand(4, 5, dtype=dtype)):
            f.case("where", torch.where, [transposed(rand(4, 5, dtype=BOOL)), a, strided(rand(4, 5, dtype=dtype))], grad=grad)
        for a in layouts(rand(4, 5, dtype=dtype)):
            f.case("masked_fill", lambda x, m: x.masked_fill(m, 1.0), [a, transposed(rand(4, 5, dtype=BOOL))], grad=grad, value=1.0)
        f.case("masked_fill", lambda x, m: x.masked_fill(m, 0.0), [rand(2, 4, 5, dtype=dtype), rand(4, 1, dtype=BOOL)], grad=grad, value=0.0)
        f.case("masked_fill", lambda x, m: x.masked_fill(m, 0.0), [rand(0, dtype=dtype), rand(1, dtype=BOOL)], value=0.0)
        for op in ("tril", "triu"):
            for shape in ((4, 4), (3, 5), (5, 3), (2, 3, 4), (0, 3), (1, 1)):
                for diagonal in (0, 1, -2, 7, -7):
                    f.case(op, lambda x: getattr(torch, op)(x, diagonal), [rand(*shape, dtype=dtype)], grad=grad, diagonal=diagonal)
            for x in layouts(rand(2, 4, 3, dtype=dtype)):
                f.case(op, getattr(torch, op), [x], grad=grad, diagonal=0)
    for dtype in FLOATS:
        c, s = rand(53, dtype=BOOL), specials(dtype)
        f.case("where", torch.where, [c, s, s.flip(0)], label="specials")
        f.case("where", lambda c, x: torch.where(c, x, torch.tensor(-1.5, dtype=dtype)), [c, s], label="specials", right=-1.5)
        f.case("where", lambda c, x: torch.where(c, torch.tensor(2.5, dtype=dtype), x), [c, rand(53, dtype=dtype)], grad=True, left=2.5)
        f.case("masked_fill", lambda x, m: x.masked_fill(m, 3.0), [s, c], label="specials", value=3.0)
        f.case("tril", torch.tril, [s[:49].reshape(7, 7)], label="specials", diagonal=0)
    return f


def reduce():
    f = Family("reduce")
    shapes = [((), None), ((5,), None), ((5,), [0]), ((2, 3, 4), None), ((2, 3, 4), [0]), ((2, 3, 4), [1]), ((2, 3, 4), [-1]), ((2, 3, 4), [0, 2]),
              ((2, 3, 4), [-1, 0, 1]), ((3, 70), [1]), ((70, 3), [0]), ((1, 4), [0])]
    empties = [((0,), None), ((0, 3), [0]), ((0, 3), [1]), ((2, 0, 3), [1]), ((2, 0, 3), [-1])]

    def over(fn, axes, keep):
        return lambda x: fn(x, list(range(x.dim())) if axes is None else axes, keep)

    def prod(x, axes, keep):
        for axis in sorted((a % x.dim() for a in axes), reverse=True):
            x = x.prod(axis, keepdim=True)
        return x if keep else x.reshape([s for i, s in enumerate(x.shape) if i not in [a % x.dim() for a in axes]])

    ops = {"sum": lambda x, a, k: x.sum(a, k) if x.dim() else x.sum(), "mean": lambda x, a, k: x.mean(a, k) if x.dim() else x.mean(),
           "prod": lambda x, a, k: prod(x, a, k) if x.dim() else x.prod(),
           "amax": torch.amax, "amin": torch.amin, "logsumexp": lambda x, a, k: torch.logsumexp(x, a, k) if x.dim() else x.clone()}
    for op, reference in ops.items():
        for dtype in FLOATS:
            for shape, axes in shapes + ([] if op in ("amax", "amin") else empties):
                for keep in (False, True)[: 1 if len(shape) == 1 else 2]:
                    args = {"keepdim": keep, **({} if axes is None else {"axes": axes})}
                    make = distinct if op in ("amax", "amin") else rand
                    f.case(op, over(reference, axes, keep), [make(*shape, dtype=dtype)], grad=op != "prod" or math.prod(shape) < 30, **args)
            for x in layouts(distinct(3, 4, 5, dtype=dtype)):
                for axes in ([0], [2], [0, 1]):
                    f.case(op, over(reference, axes, False), [x], grad=True, label="layouts", axes=axes, keepdim=False)
            for axes in ([0], [1]):
                f.case(op, over(reference, axes, False), [expanded(distinct(4, 1, dtype=dtype), 4, 6)], label="expanded", axes=axes, keepdim=False)
            for special in (NAN, INF, -INF):
                x = rand(3, 5, dtype=dtype)
                x[1, 2] = special
                f.case(op, over(reference, [1], False), [x], label=f"with {special}", axes=[1], keepdim=False)
                f.case(op, over(reference, [0], False), [x], label=f"with {special}", axes=[0], keepdim=False)
    for dtype in FLOATS:
        big = rand(3, 300, dtype=dtype) + 100
        f.case("sum", over(ops["sum"], [1], False), [big], label="many", axes=[1], keepdim=False)
        f.case("sum", over(ops["sum"], [0], False), [big.t().contiguous()], label="many", axes=[0], keepdim=False)
        f.case("mean", over(ops["mean"], None, False), [big], label="many", keepdim=False)
        for x in ([0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]):
            f.case("prod", torch.prod, [torch.tensor(x, dtype=dtype)], grad=True, label="zeros", keepdim=False)
        for op in ("amax", "amin"):
            f.case(op, over(ops[op], [1], False), [torch.tensor([[1.0, 2.0, 2.0], [1.0, 1.0, 1.0]], dtype=dtype)], grad=True, label="ties",
                   axes=[1], keepdim=False)
            f.case(op, over(ops[op], [1], False), [rand(0, 3, dtype=dtype)], axes=[1], keepdim=False)
        for values in ([-INF, -INF], [INF, 1.0], [1e4, 1e4 + 1], [-1e4, -1e4]):
            f.case("logsumexp", over(ops["logsumexp"], [0], False), [torch.tensor(values, dtype=dtype)], axes=[0], keepdim=False)
        for op in ("var", "std"):
            for shape, axes in shapes + empties:
                for correction in (1, 0, 2):
                    for keep in (False, True)[: 2 - correction % 2]:
                        args = {"keepdim": keep, "correction": correction, **({} if axes is None else {"axes": axes})}
                        dims = list(range(len(shape))) if axes is None else axes
                        count = math.prod(shape[d] for d in dims)
                        f.case(op, lambda x: getattr(torch, op)(x, dims or None, correction=correction, keepdim=keep) if shape else
                               getattr(torch, op)(x.reshape(1), 0, correction=correction), [rand(*shape, dtype=dtype)],
                               grad=count > correction, **args)
            f.case(op, lambda x: getattr(torch, op)(x, 1), [big], label="far from zero", axes=[1], keepdim=False, correction=1)
            for x in layouts(rand(3, 4, dtype=dtype)):
                f.case(op, lambda x: getattr(torch, op)(x, 0), [x], grad=True, label="layouts", axes=[0], keepdim=False, correction=1)
    for dtype in (F32, F64, I64):
        for shape in ((5,), (3, 4), (2, 3, 4), (1, 1), (0, 3), (3, 40)):
            for axis in range(len(shape)):
                f.case("cumsum", lambda x: torch.cumsum(x, axis), [rand(*shape, dtype=dtype)], grad=dtype in FLOATS, axis=axis)
        for x in layouts(rand(4, 5, dtype=dtype)):
            f.case("cumsum", lambda x: torch.cumsum(x, -1), [x], grad=dtype in FLOATS, label="layouts", axis=-1)
        for op in ("argmax", "argmin"):
            reference = getattr(torch, op)
            for x in layouts(distinct(3, 4, 5, dtype=dtype) if dtype in FLOATS else torch.randperm(60).reshape(3, 4, 5)):
                f.case(op, reference, [x])
                for axis in (0, 1, -1):
                    for keep in (False, True):
                        f.case(op, lambda x: reference(x, axis, keep), [x], axis=axis, keepdim=keep)
            f.case(op, reference, [rand(dtype=dtype)])
            f.case(op, lambda x: reference(x, 1), [rand(0, 3, dtype=dtype)], axis=1, keepdim=False)
            first = lambda x: torch.from_numpy(np.asarray(getattr(np, op)(x.numpy(), axis=1)))
            f.case(op, first, [torch.tensor([[1, 2, 2, 1], [2, 2, 2, 2]]).to(dtype)], label="ties: the first", axis=1, keepdim=False)
            if dtype in FLOATS:
                f.case(op, first, [torch.tensor([[1, NAN, 2, NAN], [INF, -INF, 0, INF]], dtype=dtype)], label="NaN and infinities", axis=1,
                       keepdim=False)
    for axes in (None, [0], [1]):
        args = {"keepdim": False, **({} if axes is None else {"axes": axes})}
        for dtype in (I64, BOOL):
            f.case("sum", over(ops["sum"], axes, False), [rand(4, 5, dtype=dtype)], **args)
        f.case("prod", over(ops["prod"], axes, False), [rand(3, 2, dtype=I64)], **args)
        f.case("amax", over(ops["amax"], axes, False), [rand(4, 5, dtype=I64)], **args)
        f.case("amin", over(ops["amin"], axes, False), [rand(4, 5, dtype=I64)], **args)
    for dtype in FLOATS:
        for shape, to in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), ()), ((4, 2, 3), (2, 1)), ((0, 3), (1, 3)), ((0, 3), (3,))):
            lead = len(shape) - len(to)
            axes = [i for i in range(len(shape)) if i < lead or to[i - lead] != shape[i]]
            f.case("sum_to", lambda x: (x.sum(axes) if axes else x.clone()).reshape(to), [rand(*shape, dtype=dtype)], to=list(to))
        for shape, x in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((0, 3), (3,))):
            f.case("accumulate_into", torch.add, [rand(*shape, dtype=dtype), rand(*x, dtype=dtype)])
        f.case("accumulate_into", torch.add, [rand(4, 5, dtype=dtype), transposed(rand(4, 5, dtype=dtype))])
    return f


def copy():
    """What the engine copies in place: the first operand is overwritten by the second one, which broadcasts."""
    f = Family("copy")
    for dtype in FLOATS + (I64, BOOL):
        for shape, x in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((0, 3), (3,)), ((2, 1, 4), (2, 1, 4))):
            f.case("copy_into", lambda y, x: x.expand(y.shape).clone(), [rand(*shape, dtype=dtype), rand(*x, dtype=dtype)])
        for x in layouts(rand(4, 5, dtype=dtype)):
            f.case("copy_into", lambda y, x: x.clone(), [rand(4, 5, dtype=dtype), x], label="layouts")
    return f


def small_integers():
    """uint8 and int32, whose results wrap around. Written with PyTorch 2.15."""
    f = Family("small_integers")
    u, i = torch.tensor([200, 100, 3], dtype=torch.uint8), torch.tensor([2**31 - 1, -5], dtype=torch.int32)
    for op, reference in (("neg", torch.neg), ("square", torch.square), ("abs", torch.abs), ("floor", torch.floor), ("sum", torch.sum), ("prod", torch.prod),
                          ("max", torch.max), ("argmax", torch.argmax), ("count_nonzero", torch.count_nonzero)):
        f.case(op, reference, [u])
    for op, reference, scalar in (("sub", torch.sub, 201), ("pow", torch.pow, 2), ("floor_divide", torch.floor_divide, 3), ("remainder", torch.remainder, 7),
                                  ("div", torch.div, 2), ("lt", torch.lt, 1e3)):
        f.case(op, lambda x: reference(x, scalar), [u], scalar=scalar)
    for op, reference, scalar in (("add", torch.add, 1), ("remainder", torch.remainder, 3), ("fmod", torch.fmod, 3)):
        f.case(op, lambda x: reference(x, scalar), [i], scalar=scalar)
    f.case("sub", lambda x: 1 - x, [u], left=1)
    f.case("mul", torch.mul, [u, u])
    for low, high in ((10, 150), (-10, 300)):
        f.case("clamp", lambda x: torch.clamp(x, low, high), [u], low=low, high=high)
    f.case("clamp", lambda x: torch.clamp(x, -10, 300), [u[2]], low=-10, high=300)
    f.case("sign", torch.sign, [i])
    f.case("abs", torch.abs, [torch.tensor([-(2**31)], dtype=torch.int32)])
    f.case("maximum", torch.maximum, [i, u[:2]])
    f.case("eq", torch.eq, [i, u[:2]])
    f.case("cumsum", lambda x: torch.cumsum(x, 0), [i], axis=0)
    f.case("amin", lambda x: torch.amin(x, 0), [u], axes=[0])
    f.case("max", lambda x: tuple(torch.max(x, 0)), [u], axis=0)
    f.case("sort", lambda x: tuple(torch.sort(x, stable=True)), [u], axis=0, descending=False)
    f.case("isin", torch.isin, [u, u[1:2]])
    f.case("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), [torch.tensor([7, 3, 7], dtype=torch.uint8)])
    return f


FAMILIES = (arithmetic, unary, compare, select, reduce, copy, small_integers)
