"""Special functions: torch.special and its relatives. Written with PyTorch 2.15."""
import torch

from families_function import layouts_and_shapes
from golden_file import *


# name: (reference, low, high) of the numbers
FUNCTIONS = {"lgamma": (torch.lgamma, 0.2, 6), "digamma": (torch.digamma, 0.2, 6), "erfc": (torch.erfc, -3, 3),
             "erfinv": (torch.erfinv, -0.95, 0.95), "i0": (torch.special.i0, -4, 4), "i1": (torch.special.i1, -4, 4),
             "i0e": (torch.special.i0e, -4, 4), "i1e": (torch.special.i1e, -4, 4)}
# numbers at which PyTorch has all digits, and the definition is the same
SPECIALS = {"lgamma": [0.0, 1.0, 2.0, 30.5, 1e5, INF, -INF, -1.0, -2.0, -2.5, NAN], "digamma": [0.0, -0.0, 1e-3, 1.0, 2.0, 30.5, 1e5, INF, NAN, -1.0, -0.25],
            "erfc": [0.0, -0.0, 1.0, 5.0, 9.0, 30.0, -30.0, INF, -INF, NAN], "erfinv": [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.999, NAN],
            "i0": [0.0, 1e-8, 20.0, 80.0, -80.0, 1000.0, NAN], "i1": [0.0, 1e-8, 20.0, 80.0, -80.0, NAN],
            "i0e": [0.0, 20.0, 80.0, -80.0, 1000.0, 1e10, NAN], "i1e": [0.0, 20.0, 80.0, -80.0, 1000.0, 1e10, NAN]}


def density(a, x):
    return torch.exp(torch.special.xlogy(a - 1, x) - x - torch.lgamma(a))


# PyTorch has no gradient of the first argument of two of them.
INCOMPLETE = {"igamma": lambda a, x: torch.igamma(a.detach(), x), "igammac": lambda a, x: torch.igammac(a.detach(), x), "gamma_density": density,
              "implicit_gamma": lambda a, x: ImplicitGamma.apply(a, x.detach())}


class ImplicitGamma(torch.autograd.Function):
    """x, whose gradient is -(dP(a, x) / da) / density, by mpmath."""

    @staticmethod
    def forward(ctx, a, x):
        ctx.save_for_backward(a, x)
        return x.expand(torch.broadcast_shapes(a.shape, x.shape)).clone()

    @staticmethod
    def backward(ctx, dy):
        import mpmath
        mpmath.mp.prec = 160
        a, x = ctx.saved_tensors

        def slope(a, x):
            a, x, h = mpmath.mpf(a), mpmath.mpf(x), mpmath.mpf(2) ** -40
            p = [mpmath.gammainc(a + s * h, 0, x, regularized=True) for s in (1, -1)]
            return float(-(p[0] - p[1]) / (2 * h) / mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a)))

        pairs = torch.broadcast_tensors(a, x)
        slopes = torch.tensor([slope(*pair) for pair in zip(*(t.flatten().tolist() for t in pairs))], dtype=F64).reshape(dy.shape)
        return (dy * slopes.to(dy.dtype)).sum_to_size(a.shape), None


def special():
    f = Family("special")
    for op, (reference, low, high) in FUNCTIONS.items():
        for dtype in FLOATS:
            layouts_and_shapes(f, op, reference, low, high, dtype)
            f.case(op, reference, [torch.tensor(SPECIALS[op], dtype=dtype)], label="specials")
    for n in (0, 1, 2, 3, 6):
        for dtype in FLOATS:
            layouts_and_shapes(f, "polygamma", lambda x: torch.polygamma(n, x), 0.4, 6, dtype, n=n)
            if n:
                f.case("polygamma", lambda x: torch.polygamma(n, x), [torch.tensor([0.0, 1e-3, 60.0, NAN], dtype=dtype)], label="specials", n=n)
    pairs = [((), ()), ((5,), (5,)), ((3, 1), (4,)), ((2, 3, 4), (3, 1)), ((0,), (1,)), ((67,), (67,))]
    edges = [0.0, 1e-3, 0.5, 1.0, 7.5, 30.0, 250.0, INF, -1.0]
    for op, reference in INCOMPLETE.items():
        for dtype in FLOATS:
            for a, b in pairs:
                of_a = rand(*a, dtype=dtype, low=0.3, high=8)
                of_x = rand(*b, dtype=dtype, low=0.1, high=12)
                f.case(op, reference, [of_a, of_x], grad=True)
            for x in layouts(rand(4, 6, dtype=dtype, low=0.3, high=8)):
                f.case(op, reference, [x, rand(4, 6, dtype=dtype, low=0.1, high=12)], label="layouts")
            if op.startswith("igamma"):
                table = torch.tensor(edges, dtype=dtype)
                f.case(op, reference, [table[:, None], table[None, :]], label="edges")
                f.case(op, reference, [torch.tensor([NAN, 1.0], dtype=dtype), torch.tensor([1.0, NAN], dtype=dtype)], label="NaN")
    return f


FAMILIES = (special,)
