"""Order, sets and counts, special functions, segments."""
import torch
from protocol import Call
from adapters.chain import direct
from adapters.registry import ADAPTERS, is_t, need, on


@on("sort")
def _(input, dim=-1, descending=False, *, stable=True):
    return Call("sort", [input], dim=dim, descending=descending)


@on("argsort")
def _(input, dim=-1, descending=False, *, stable=True):
    return Call("argsort", [input], dim=dim, descending=descending)


@on("msort")
def _(input):
    return Call("msort", [input])


@on("topk")
def _(input, k, dim=-1, largest=True, sorted=True):
    return Call("topk", [input], k=k, dim=dim, largest=largest)


for name in ("quantile", "nanquantile"):
    def f(input, q, dim=None, keepdim=False, *, interpolation="linear", name=name):
        if is_t(q):
            return Call(name, [input, q], dim=dim, keepdim=keepdim, interpolation=interpolation)
        return Call(name, [input], q=float(q), dim=dim, keepdim=keepdim, interpolation=interpolation)
    ADAPTERS[name] = f


# --- sets and counts ---
def of_unique(name):
    def f(c, input, sorted=True, return_inverse=False, return_counts=False, dim=None):
        need(dim is None or input.t.dim() == 1, "option dim")
        need(sorted, "option sorted")
        u = c.do(name, input)
        return [u] + [u.result(1)] * return_inverse + [u.result(2)] * return_counts
    return f


direct("unique")(of_unique("unique"))


@direct("unique_consecutive")
def _(c, input, return_inverse=False, return_counts=False, dim=None):
    return of_unique("unique_consecutive")(c, input, True, return_inverse, return_counts, dim)


@on("bincount")
def _(input, weights=None, minlength=0):
    need(weights is None or weights.is_floating_point(), "integers as weights: documented")
    return Call("bincount", [input, weights], minimum=minlength)


@on("searchsorted")
def _(sequence, values, *, out_int32=False, right=False, side=None, sorter=None):
    need(not out_int32, "int32")
    need(sorter is None, "option sorter")
    need(is_t(values), "a number")
    return Call("searchsorted", [sequence, values], right=right or side == "right")


@on("bucketize")
def _(input, boundaries, *, out_int32=False, right=False):
    need(not out_int32, "int32")
    return Call("bucketize", [input, boundaries], right=right)


@direct("histogram")
def _(c, input, bins, *, range=None, weight=None, density=False):
    need(not density, "option density")
    if isinstance(bins, int):
        low, high = range or (None, None)
        h = c.do("histogram", input, weight, None, bins=bins, low=low, high=high)
    else:
        h = c.do("histogram", input, weight, bins)
    return [h.to(input.t.dtype), h.result(1)]


@direct("histc")
def _(c, input, bins=100, min=0, max=0):
    need(input.t.is_floating_point(), "integers")
    low, high = (None, None) if min == max else (min, max)
    return c.do("histogram", input, None, None, bins=bins, low=low, high=high).to(input.t.dtype)


# --- special functions ---
for theirs, ours in {"lgamma": "lgamma", "digamma": "digamma", "erfc": "erfc", "erfinv": "erfinv", "i0": "i0", "special.i0e": "i0e",
                     "special.i1": "i1", "special.i1e": "i1e", "special.modified_bessel_i0": "i0", "special.modified_bessel_i1": "i1"}.items():
    ADAPTERS[theirs] = (lambda ours: lambda input: Call(ours, [input]))(ours)
for name in ("igamma", "igammac"):
    def f(input, other, name=name):
        need(not input.requires_grad, "the gradient of the first argument: documented")
        return Call(name, [input, other])
    ADAPTERS[name] = f


@on("polygamma", "special.polygamma")
def _(input, n):
    return Call("polygamma", [input], n=n)


@direct("logit")
def _(c, x, eps=None):
    return c.logit(x if eps is None else c.clamp(x, min=eps, max=1 - eps))


# --- segments ---
@direct("_segment_reduce")
def _(c, data, reduce, *, lengths=None, offsets=None, indices=None, axis=0, unsafe=False, initial=None):
    need(axis == 0 and reduce != "prod", "another axis, or products")
    counts = lengths.t if lengths is not None else offsets.t.diff()
    need(counts.dim() == 1, "segments for each row")
    need(int(counts.sum()) == data.t.shape[0], "segments of another length")
    need(initial is not None or bool((counts > 0).all()), "an empty segment: documented")
    ids = c.operand(torch.repeat_interleave(torch.arange(len(counts)), counts))
    y = c.do("segment_" + reduce, data, ids, segments=len(counts))
    if initial is None:
        return y
    if reduce in ("max", "min"):
        return c.do(reduce + "imum_s", y, other=initial)
    if reduce == "sum":
        return y + initial
    shares = (initial / counts.clamp(min=1).to(data.t.dtype)).reshape([-1] + [1] * (data.t.dim() - 1))
    return y + c.operand(shares)
