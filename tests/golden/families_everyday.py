"""Everyday operations: rounded quotients, bounds of tensors, logarithms of sums, products with sums, distances, quantiles. Written with PyTorch 2.15."""
import itertools

import torch

from families_function import layouts_and_shapes
from families_math import PAIRS
from golden_file import *


def division():
    f = Family("division")
    both = {"floor": lambda a, b: torch.div(a, b, rounding_mode="floor"), "trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc")}
    for rounding, reference in both.items():
        for dtype in FLOATS:
            for a, b in PAIRS:
                f.case("div_rounded", reference, [rand(*a, dtype=dtype) * 3, rand(*b, dtype=dtype) + 0.01], grad=True, rounding=rounding)
            for a in layouts(rand(4, 6, dtype=dtype) * 3):
                f.case("div_rounded", reference, [a, transposed(rand(4, 6, dtype=dtype) + 0.01)], grad=True, label="layouts", rounding=rounding)
            zeros = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, NAN], dtype=dtype)
            f.case("div_rounded", reference, [plain(zeros[:, None]), plain(zeros[None, :])], grad=True, label="zeros and infinities", rounding=rounding)
            f.case("div_rounded", reference, [torch.tensor([5.5, -5.5, 7.0, -7.0, 24.0, 1e9], dtype=dtype),
                                              torch.tensor([1.1, 1.1, 2.0, 2.0, 0.1, -1e-9], dtype=dtype)], label="near integers", rounding=rounding)
            f.case("div_rounded", lambda a: reference(a, -0.7), [rand(3, 4, dtype=dtype)], grad=True, rounding=rounding, scalar=-0.7)
        whole = torch.tensor([7, -7, 6, -6, 0, -(2**63), 2**63 - 1])
        for b in (2, -2, 3, -3, 5, 2**40, -(2**63)):
            f.case("div_rounded", reference, [whole, torch.full((7,), b)], rounding=rounding)
            if abs(b) < 2**63:
                f.case("div_rounded", lambda a: reference(a, b), [whole[:5]], rounding=rounding, scalar=b)
        f.case("div_rounded", lambda a: reference(a, -1), [whole[:5]], rounding=rounding, scalar=-1)
        f.case("div_rounded", lambda a: reference(a, 2.5), [whole[:5]], rounding=rounding, scalar=2.5)
        f.case("div_rounded", reference, [rand(3, 4, dtype=I64), rand(4, dtype=F64) + 0.01], rounding=rounding)
        f.case("div_rounded", reference, [rand(3, 4, dtype=BOOL), torch.tensor([2, -3, 1, 7])], rounding=rounding)
    f.case("div_rounded", torch.div, [rand(3, 4, dtype=I64), torch.tensor([2, -3, 1, 7])], rounding="none")
    for dtype in FLOATS:
        for a, b in PAIRS:
            f.case("floor_divide", torch.floor_divide, [rand(*a, dtype=dtype) * 3, rand(*b, dtype=dtype) + 0.01])
        f.case("floor_divide", lambda a: torch.floor_divide(a, 0.3), [rand(9, dtype=dtype)], scalar=0.3)
    f.case("floor_divide", torch.floor_divide, [rand(3, 4, dtype=I64), torch.tensor([2, -3, 1, 7])])
    f.case("floor_divide", lambda a: torch.floor_divide(a, 3), [rand(9, dtype=I64)], scalar=3)
    return f


def of_three():
    f = Family("of_three")
    triples = [((3, 4), (3, 4), (3, 4)), ((3, 1), (4,), (3, 4)), ((4,), (3, 1), ()), ((), (2, 3), (3,)), ((0,), (1,), ())]
    low = lambda x, low: torch.clamp(x, min=low)
    high = lambda x, high: torch.clamp(x, max=high)
    for dtype in FLOATS + (I64,):
        grad = dtype in FLOATS
        for a, b, c in triples:
            x, y, z = (rand(*shape, dtype=dtype) for shape in (a, b, c))
            f.case("clamp_between", torch.clamp, [x, y, z], grad=grad)
            f.case("clamp_between", low, [x, y], grad=grad, only="low")
            f.case("clamp_between", high, [x, y], grad=grad, only="high")
            f.case("addcmul", torch.addcmul, [x, y, z], grad=grad)
            f.case("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=-2), [x, y, z], grad=grad, value=-2.0)
            if grad:
                f.case("addcdiv", torch.addcdiv, [x, y, z + 0.01], grad=grad)
                f.case("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=0.3), [x, y, z + 0.01], grad=grad, value=0.3)
        for x in layouts(rand(3, 4, dtype=dtype)):
            f.case("clamp_between", torch.clamp, [x, transposed(rand(3, 4, dtype=dtype)), rand(4, dtype=dtype)], grad=grad, label="layouts")
            f.case("addcmul", torch.addcmul, [x, transposed(rand(3, 4, dtype=dtype)), rand(4, dtype=dtype)], grad=grad, label="layouts")
    for dtype in FLOATS:
        for count, reference, args in ((3, torch.clamp, {}), (2, low, {"only": "low"}), (2, high, {"only": "high"})):
            columns = torch.tensor(list(itertools.product([1.0, 2.0, 3.0, NAN], repeat=count)), dtype=dtype).t()
            f.case("clamp_between", reference, [c.contiguous() for c in columns], grad=True, label="ties and NaN", **args)
    f.case("clamp_between", torch.clamp, [rand(4, dtype=I64), torch.tensor(0.5), rand(4, dtype=F64)], label="types")
    f.case("addcdiv", torch.addcdiv, [rand(4), rand(4, dtype=I64), rand(4) + 0.01], label="types")
    return f


def logarithms():
    f = Family("logarithms")
    for op, reference in (("logaddexp", torch.logaddexp), ("logaddexp2", torch.logaddexp2)):
        for dtype in FLOATS:
            for a, b in PAIRS:
                f.case(op, reference, [rand(*a, dtype=dtype), rand(*b, dtype=dtype)], grad=True)
            for a in layouts(rand(4, 6, dtype=dtype)):
                f.case(op, reference, [a, transposed(rand(4, 6, dtype=dtype))], grad=True, label="layouts")
            f.case(op, reference, [torch.tensor([INF, -INF, -INF, INF, 1.0, INF, NAN, 0.0, 1000.0, 3e38], dtype=dtype),
                                   torch.tensor([INF, -INF, 2.0, -INF, 1.0, 3.0, 0.0, -1000.0, 1000.0, -3e38], dtype=dtype)], grad=True, label="specials")
    for op, reference, low in (("xlogy", torch.xlogy, 0.2), ("xlog1py", torch.special.xlog1py, -0.8)):
        for dtype in FLOATS:
            for a, b in PAIRS:
                f.case(op, reference, [rand(*a, dtype=dtype), rand(*b, dtype=dtype, low=low)], grad=True)
            for a in layouts(rand(4, 6, dtype=dtype)):
                f.case(op, reference, [a, transposed(rand(4, 6, dtype=dtype, low=low))], grad=True, label="layouts")
            pairs = torch.tensor(list(itertools.product([0.0, -0.0, 2.0, -1.0, INF, NAN], [0.0, -1.0, -2.0, 1.0, 3.0, INF, NAN])), dtype=dtype).t()
            f.case(op, reference, [p.contiguous() for p in pairs], grad=True, label="specials")
        f.case(op, reference, [torch.tensor([0, 1, 2]), torch.tensor([0, 3, 5])])
        f.case(op, reference, [torch.tensor([0, 1, 2]), torch.tensor([0.0, 3.0, 5.0], dtype=F64)])
    for dtype in FLOATS:
        layouts_and_shapes(f, "sinc", torch.sinc, -2.5, 2.5, dtype)
        f.case("sinc", torch.sinc, [torch.linspace(-12.0, 12.013, 241, dtype=F64).to(dtype)], grad=True, label="from -12 to 12")
        f.case("sinc", torch.sinc, [torch.tensor([0.0, -0.0, 1.0, -2.0, 1e-30, 1e3, NAN], dtype=dtype)], grad=True, label="specials")
    return f


def added_products():
    f = Family("added_products")
    for dtype in FLOATS:
        make = lambda *shape: rand(*shape, dtype=dtype)
        for beta, alpha in ((1, 1), (0.5, -2), (1, 3), (0, 1), (0, 0.5), (2, 0)):
            args = dict(beta=float(beta), alpha=float(alpha))
            addmm = lambda x, a, b: torch.addmm(x, a, b, beta=beta, alpha=alpha)
            baddbmm = lambda x, a, b: torch.baddbmm(x, a, b, beta=beta, alpha=alpha)
            for x in ((2, 4), (4,), (2, 1), (1, 4), ()):
                f.case("addmm", addmm, [make(*x), make(2, 3), make(3, 4)], grad=True, **args)
                f.case("baddbmm", baddbmm, [make(*x), make(5, 2, 3), make(5, 3, 4)], grad=True, **args)
            f.case("baddbmm", baddbmm, [make(5, 2, 4), make(5, 2, 3), make(5, 3, 4)], grad=True, **args)
            f.case("addmm", addmm, [make(2, 4), make(2, 0), make(0, 4)], grad=True, label="no inner axis", **args)
            for a in layouts(make(2, 3)):
                f.case("addmm", addmm, [transposed(make(2, 4)), a, transposed(make(3, 4))], grad=True, label="layouts", **args)
        wild = torch.tensor([[NAN, INF, 1.0, 2.0]], dtype=dtype)
        f.case("addmm", lambda x, a, b: torch.addmm(x, a, b, beta=0), [wild, make(2, 3), make(3, 4)], label="NaN without beta", beta=0.0)
        f.case("addmm", torch.addmm, [wild, make(2, 3), make(3, 4)], label="NaN")
    for dtype in FLOATS + (I64,):
        make, grad = lambda *shape: rand(*shape, dtype=dtype), dtype in FLOATS
        for a, b, axis in (((3,), (3,), -1), ((2, 3), (2, 3), -1), ((3, 2), (3, 2), 0), ((3, 2), (3, 2), -2), ((4, 3), (1, 3), 1), ((2, 3, 1), (1, 3, 4), 1),
                           ((0, 3), (0, 3), 1)):
            f.case("cross", lambda a, b: torch.linalg.cross(a, b, dim=axis), [make(*a), make(*b)], grad=grad, axis=axis)
        for a in layouts(make(4, 3)):
            f.case("cross", torch.linalg.cross, [a, transposed(make(4, 3))], grad=grad, label="layouts")
        for a, b in (((), ()), ((2,), (3,)), ((2, 3), (4, 2)), ((2,), (3, 2)), ((2, 3), (2,)), ((2, 1, 3), (2, 2)), ((), (2, 3)), ((2, 0), (3, 2)),
                     ((2, 1, 2, 1), (1, 2, 1, 3))):
            f.case("kron", torch.kron, [make(*a), make(*b)], grad=grad)
        for a in layouts(make(2, 3)):
            f.case("kron", torch.kron, [a, transposed(make(2, 2))], grad=grad, label="layouts")
    return f


def distances():
    f = Family("distances")
    for dtype in FLOATS:
        make = lambda *shape: rand(*shape, dtype=dtype)
        for p in (2.0, 1.0, INF, 3.0, 1.5, 0.5, 0.0):
            args = {"p": "inf" if p == INF else p}
            reference = lambda a, b: torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist")
            for a, b in (((4, 3), (2, 3)), ((1, 3), (2, 3)), ((4, 1), (3, 1)), ((2, 4, 3), (2, 5, 3)), ((2, 1, 4, 3), (3, 2, 3)), ((4, 3), (5, 2, 3)),
                         ((0, 3), (2, 3)), ((4, 0), (2, 0))) + (((30, 7), (28, 7)),) * (p >= 1):
                f.case("cdist", reference, [make(*a), make(*b)], grad=True, **args)
            for a in layouts(make(4, 3)):
                f.case("cdist", reference, [a, transposed(make(5, 3))], grad=True, label="layouts", **args)
            points = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 3.0]], dtype=dtype)
            f.case("cdist", reference, [points, points[:2].clone()], grad=True, label="equal points", **args)
        f.case("cdist", torch.cdist, [torch.tensor([[NAN, 1.0], [INF, 0.0], [1.0, 2.0]], dtype=dtype), make(2, 2)], label="NaN and infinities", p=2.0)
    return f


def quantiles():
    f = Family("quantiles")
    modes = ("linear", "lower", "higher", "midpoint", "nearest")
    for op in ("quantile", "nanquantile"):
        function = getattr(torch, op)
        for dtype in FLOATS:
            make = lambda *shape: distinct(*shape, dtype=dtype)
            for mode in modes:
                for shape, axis in (((), None), ((), 0), ((1,), 0), ((5,), None), ((3, 4), None), ((3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), -3)):
                    for keep in (False, True)[: 2 if mode == "linear" else 1]:
                        args = {"keepdim": keep, "mode": mode, **({} if axis is None else {"axis": axis})}
                        for q in (0.3, 1.0):
                            f.case(op, lambda x: function(x, q, axis, keep, interpolation=mode), [make(*shape)], grad=True, q=q, **args)
                        q = torch.tensor([0.1, 0.9, 0.5], dtype=dtype)
                        f.case(op, lambda x, q: function(x, q, axis, keep, interpolation=mode), [make(*shape), q], grad=True, **args)
                for x in layouts(make(4, 5)):
                    f.case(op, lambda x: function(x, 0.4, 0, interpolation=mode), [x], grad=True, label="layouts", q=0.4, axis=0, mode=mode)
                wild = torch.tensor([[1, NAN, 2, 5], [3, -INF, 0, 1], [NAN, NAN, NAN, NAN], [7, 8, NAN, NAN]], dtype=dtype)
                for q in (0.0, 0.4, 1.0):
                    f.case(op, lambda x: function(x, q, 1, interpolation=mode), [wild], label="NaN and infinity", q=q, axis=1, mode=mode)
                    f.case(op, lambda x: function(x, q, interpolation=mode), [wild], label="NaN and infinity", q=q, mode=mode)
            f.case(op, lambda x, q: function(x, q, 1), [make(3, 4), torch.tensor(0.3, dtype=dtype)], grad=True, label="q of no axes", axis=1)
    return f


def everyday():
    f = Family("everyday")
    for dtype in FLOATS + (I64, BOOL):
        grad = dtype in FLOATS
        for shape in ((3,), (2, 3), (2, 3, 4), (0, 2), (2, 0)):
            for axis in range(-1, len(shape)):
                f.case("unbind", lambda x: torch.unbind(x, axis), [rand(*shape, dtype=dtype)], grad=grad and shape[axis] > 0, axis=axis)
        for x in layouts(rand(4, 3, dtype=dtype)):
            f.case("unbind", lambda x: torch.unbind(x, 1), [x], grad=grad, label="layouts", axis=1)
        for x, mask, source in (((3,), (3,), (3,)), ((2, 3), (2, 3), (7,)), ((2, 1), (3,), (2, 3)), ((3,), (2, 3), (6,)), ((), (), (1,)), ((), (4,), (4,)),
                                ((0,), (0,), (0,))):
            f.case("masked_scatter", lambda x, m, s: torch.masked_scatter(x, m, s), [rand(*x, dtype=dtype), rand(*mask, dtype=BOOL), rand(*source, dtype=dtype)],
                   grad=grad)
        for x in layouts(rand(4, 3, dtype=dtype)):
            f.case("masked_scatter", lambda x, m, s: torch.masked_scatter(x, m, s), [x, transposed(rand(4, 3, dtype=BOOL)), strided(rand(4, 4, dtype=dtype))],
                   grad=grad, label="layouts")
        if dtype == BOOL:
            continue
        for x, values in (((5,), (3,)), ((3, 4), (2, 2)), ((), (3,)), ((4,), ()), ((3,), (0,)), ((0,), (3,)), ((20, 30), (40,))):
            whole = lambda *shape: rand(*shape, dtype=dtype).round() if grad else rand(*shape, dtype=dtype)
            for invert in (False, True):
                f.case("isin", lambda x, v: torch.isin(x, v.reshape(1) if v.dim() == 0 else v, invert=invert), [whole(*x), whole(*values)], invert=invert)
        for x in layouts(rand(4, 3, dtype=I64).to(dtype)):
            f.case("isin", torch.isin, [x, transposed(rand(2, 3, dtype=I64).to(dtype))], label="layouts")
    for dtype, into, name in ((F32, F64, "float64"), (F64, F32, "float32"), (I64, F32, "float32"), (BOOL, F64, "float64"), (F32, I64, "int64")):
        for x in layouts(rand(3, 4, dtype=dtype)):
            for axes, keep in ((None, False), ([0], True), ([1], False)):
                args = {"keepdim": keep, "dtype": name, **({} if axes is None else {"axes": axes})}
                if into != I64:
                    f.case("mean", lambda x: torch.mean(x, axes, keep, dtype=into), [x], grad=dtype in FLOATS, **args)
                f.case("sum", lambda x: torch.sum(x, axes, keep, dtype=into), [x], grad=dtype in FLOATS and into != I64, **args)
                if axes:
                    f.case("prod", lambda x: torch.prod(x, axes[0], keep, dtype=into), [x], grad=dtype in FLOATS and into != I64, **args)
            for op in ("cumsum", "cumprod") + (("softmax", "log_softmax") if into != I64 else ()):
                f.case(op, lambda x: getattr(torch, op)(x, 1, dtype=into), [x], grad=dtype == F32 and into != I64, axis=1, dtype=name)
    for op in ("argmax", "argmin"):
        for shape in ((), (5,), (2, 3)):
            f.case(op, lambda x: getattr(torch, op)(x, keepdim=True), [distinct(*shape)], keepdim=True)
    f.case("isin", torch.isin, [torch.tensor([1.0, NAN, INF, -0.0]), torch.tensor([NAN, 0.0, INF])], label="specials")
    f.case("isin", torch.isin, [torch.tensor([1, 2, 3]), torch.tensor([1.0, 2.5])], label="types")
    f.case("isin", torch.isin, [torch.tensor([2**53 + 1, 2**53]), torch.tensor([2**53])], label="large numbers")
    return f


def pieces(x, y):
    inner = torch.where((x > 1) | (y > 1), torch.maximum(x, -y), torch.clamp(x, -1, 1))
    return torch.where((x < y) & ~(x.abs() >= 1.5), torch.minimum(x * y, torch.full_like(x * y, 0.3)), inner)


def formulas():
    """fuse(): the formulas of checks/cases/elementwise/elementwise.cpp."""
    f = Family("formulas")
    of_one = {"gelu": lambda x: 0.5 * x * (1 + torch.erf(x * 0.70710678118654752)), "swish": lambda x: x * torch.sigmoid(1.5 * x)}
    of_two = {
        "swish": lambda x, beta: x * torch.sigmoid(beta * x),
        "functions": lambda x, y: torch.exp(-x.square()) * y.tanh() + torch.log(1 + x * x) * y.sin() / x.cosh().sqrt() - (x / 3).cos() * (y * y + 1) ** 1.5 / 4,
        "powers": lambda x, y: torch.pow(x * x + 0.5, y) + torch.atan2(y, x + 3) + 1 / (2 + x * x),
        "pieces": pieces,
        "first": lambda x, y: x.expand(torch.broadcast_shapes(x.shape, y.shape)).clone(),
    }
    for dtype in FLOATS:
        for name, reference in of_one.items():
            for shape in ((), (0,), (19,), (3, 70), (2, 3, 4)):
                for x in layouts(rand(*shape, dtype=dtype) * 3):
                    f.case("fuse", reference, [x], grad=True, formula=name)
        for name, reference in of_two.items():
            for a, b in PAIRS:
                f.case("fuse", reference, [rand(*a, dtype=dtype), rand(*b, dtype=dtype)], grad=True, formula=name)
            for a in layouts(rand(4, 6, dtype=dtype)):
                f.case("fuse", reference, [a, transposed(rand(4, 6, dtype=dtype))], grad=True, label="layouts", formula=name)
        values = torch.tensor([0.0, -0.0, 1.0, -1.0, 1.5, INF, -INF, NAN], dtype=dtype)
        f.case("fuse", pieces, [plain(values[:, None]), plain(values[None, :])], label="zeros and infinities", formula="pieces")
        f.case("fuse", lambda u, u_t, u_x, u_xx, nu: u_t + u * u_x - nu * u_xx,
               [rand(3, 4, dtype=dtype), rand(3, 1, dtype=dtype), rand(4, dtype=dtype), transposed(rand(3, 4, dtype=dtype)), rand(dtype=dtype)],
               grad=True, formula="burgers")
    return f


FAMILIES = (division, of_three, logarithms, added_products, distances, quantiles, everyday, formulas)
