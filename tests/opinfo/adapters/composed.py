"""Compositions: functions of elements, shapes, indices, new tensors."""
import itertools
import math
import torch
from adapters.chain import composed
from adapters.more import split_sizes
from adapters.registry import RANDOM, listed, need, our_dtype, scalar


# --- elements ---
@composed("frac")
def _(c, x):
    return x - c.trunc(x)


@composed(("round", "decimals_3"), ("round", "decimals_neg_3"))
def _(c, x, decimals=0):
    scale = 10.0 ** abs(decimals)
    return c.round(x * scale) / scale if decimals > 0 else c.round(x / scale) * scale


@composed("special.ndtr")
def _(c, x):
    return 0.5 * c.erfc(x * -math.sqrt(0.5))


@composed("special.ndtri")
def _(c, p):
    return math.sqrt(2) * c.erfinv(2 * p - 1)


@composed("special.entr")
def _(c, x):
    return c.where(x < 0, -math.inf, -c.xlogy(x, x))


@composed("mvlgamma")
def _(c, x, p):
    y = c.lgamma(x)
    for j in range(1, p):
        y = y + c.lgamma(x - 0.5 * j)
    return y + p * (p - 1) / 4 * math.log(math.pi)


@composed("isposinf")
def _(c, x):
    return x.equals(math.inf)


@composed("isneginf")
def _(c, x):
    return x.equals(-math.inf)


@composed("__rpow__")
def _(c, x, base):
    need(not isinstance(base, complex), "complex number")
    if not hasattr(base, "t"):
        need(base > 0 and x.t.is_floating_point(), "base not positive")
        return c.exp(x * math.log(base))
    return base ** x


@composed("deg2rad")
def _(c, x):
    return x * (math.pi / 180)


@composed("rad2deg")
def _(c, x):
    return x * (180 / math.pi)


@composed("hypot")
def _(c, x, y):
    return c.sqrt(x * x + y * y)


@composed("heaviside")
def _(c, x, values):
    return c.where(x.equals(0), values, (x > 0).to(x.t.dtype))


@composed("ldexp")
def _(c, x, exponent):
    need(hasattr(x, "t") and hasattr(exponent, "t"), "a number")
    if not exponent.t.is_floating_point():
        exponent = exponent.to(x.t.dtype if x.t.is_floating_point() else torch.float32)
    return x * c.exp2(exponent)


@composed("fmax")
def _(c, x, y):
    return c.where(c.isnan(x), y, c.where(c.isnan(y), x, c.maximum(x, y)))


@composed("fmin")
def _(c, x, y):
    return c.where(c.isnan(x), y, c.where(c.isnan(y), x, c.minimum(x, y)))


@composed("real", "conj", "conj_physical")
def _(c, x):
    return x


@composed("sgn")
def _(c, x):
    return c.sign(x)


@composed("fill")
def _(c, x, value):
    return c.full_like(x, value=scalar(value.t if hasattr(value, "t") else value))


@composed("native_dropout_backward")
def _(c, dy, mask, scale):
    need(dy.t.is_floating_point(), "integers")
    return dy * mask * scale


# --- shapes ---
@composed("rot90")
def _(c, x, k=1, dims=(0, 1)):
    a, b = dims
    k %= 4
    if k == 0:
        return x
    if k == 2:
        return c.flip(x, dim=[a, b])
    return c.transpose(c.flip(x, dim=[b if k == 1 else a]), dim0=a, dim1=b)


@composed("tensor_split")
def _(c, x, parts, dim=0):
    parts = parts.t.tolist() if hasattr(parts, "t") else parts
    sizes = split_sizes(x.t.shape[dim], parts)
    y = c.split(x, sizes=sizes, dim=dim)
    return [y.result(k) for k in range(len(sizes))]


def split_along(name, axis):
    @composed(name)
    def _(c, x, parts):
        dim = 0 if name == "hsplit" and x.t.dim() == 1 else axis
        sizes = split_sizes(x.t.shape[dim], parts)
        y = c.split(x, sizes=sizes, dim=dim)
        return [y.result(k) for k in range(len(sizes))]


split_along("hsplit", 1)
split_along("vsplit", 0)
split_along("dsplit", 2)


@composed("fft.fftshift")
def _(c, x, dim=None):
    dims = list(range(x.t.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return c.roll(x, shifts=[x.t.shape[d] // 2 for d in dims], dims=dims)


@composed("fft.ifftshift")
def _(c, x, dim=None):
    dims = list(range(x.t.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return c.roll(x, shifts=[(x.t.shape[d] + 1) // 2 for d in dims], dims=dims)


@composed("block_diag")
def _(c, *tensors):
    widths = [x.t.shape[1] if x.t.dim() == 2 else x.t.numel() for x in tensors]
    tensors = [x if x.t.dim() == 2 else x.reshape([1, x.t.numel()]) for x in tensors]
    rows = [c.pad(x, pad=[sum(widths[:k]), sum(widths[k + 1:])]) for k, x in enumerate(tensors)]
    return c.cat(*rows, dim=0)


@composed("cartesian_prod")
def _(c, *tensors):
    if len(tensors) == 1:
        return tensors[0]
    grid = c.meshgrid(*tensors)
    return c.stack(*[grid.result(k).reshape([-1]) for k in range(len(tensors))], dim=1)


@composed("combinations")
def _(c, x, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    ids = list(choose(range(x.t.numel()), r))
    ids = c.operand(torch.tensor(ids, dtype=torch.int64).reshape(-1))
    return c.index_select(x, ids, dim=0).reshape([ids.t.numel() // r if r else 0, r])


# --- indices ---
@composed("take")
def _(c, x, index):
    return c.take_along_axis(x, index.reshape([-1])).reshape(index.t.shape)


@composed("put")
def _(c, x, index, source, accumulate=False):
    flat = [v.reshape([-1]) for v in (x, source, index)]
    return c.index_put(*flat, accumulate=accumulate).reshape(x.t.shape)


@composed("diagonal_scatter")
def _(c, x, values, offset=0, dim1=0, dim2=1):
    rank, n = x.t.dim(), values.t.shape[-1]
    front = c.movedim(x, **{"from": [dim1, dim2], "to": [0, 1]})
    values = c.movedim(values, **{"from": -1, "to": 0})
    rows = c.arange(n) + max(-offset, 0)
    columns = c.arange(n) + max(offset, 0)
    y = c.index_put(front, values, rows, columns)
    need(rank >= 2, "one axis")
    return c.movedim(y, **{"from": [0, 1], "to": [dim1, dim2]})


@composed("unravel_index", same=listed)
def _(c, index, shape):
    shape = [shape] if isinstance(shape, int) else list(shape)
    need(shape and math.prod(shape) < 2 ** 53, "no axes, or numbers that float64 does not have")
    results = []
    for k, n in enumerate(shape):
        after = math.prod(shape[k + 1:])
        results.append(c.remainder_s(c.floor_divide_s(index, other=after), other=n))
    return results


def reduced_places(c, x, ids, source, reduce, include_self):
    """x with source reduced into the places `ids` of the flattened x."""
    need(reduce in ("sum", "mean", "amax", "amin"), "products")
    need(x.t.is_floating_point(), "integers")
    n = x.t.numel()
    segment = {"sum": "segment_sum", "mean": "segment_mean", "amax": "segment_max", "amin": "segment_min"}[reduce]
    places = c.operand(ids.reshape(-1))
    flat, values = x.reshape([n]), source.reshape([-1])
    if include_self:
        values, places = c.cat(flat, values, dim=0), c.cat(c.arange(n), places, dim=0)
        return c.do(segment, values, places, segments=n).reshape(x.t.shape)
    touched = torch.zeros(n, dtype=torch.bool)
    touched[ids.reshape(-1)] = True
    y = c.do(segment, values, places, segments=n)
    return c.where(c.operand(touched), y, flat).reshape(x.t.shape)


def flat_places(shape, dim, index):
    """The place of each element of index in a flattened tensor, as for scatter."""
    if not shape:
        return torch.zeros(index.numel(), dtype=torch.int64)
    coordinates = list(torch.meshgrid(*[torch.arange(n) for n in index.shape], indexing="ij"))
    coordinates[dim % len(shape)] = index
    return sum(v * math.prod(shape[k + 1:]) for k, v in enumerate(coordinates))


@composed(*[("scatter_reduce", v) for v in ("sum", "mean", "amax", "amin")])
def _(c, x, dim, index, source, reduce, *, include_self=True):
    need(index.t.dim() == x.t.dim(), "another number of axes")
    for k, n in enumerate(index.t.shape):
        source = source if source.t.shape[k] == n else cut(source, k, n)
    return reduced_places(c, x, flat_places(x.t.shape, dim, index.t), source, reduce, include_self)


def cut(x, dim, length):
    y = x.narrow(dim, 0, length)
    y.t = x.t.narrow(dim, 0, length)
    return y


@composed(*[("index_reduce", v) for v in ("mean", "amax", "amin")])
def _(c, x, dim, index, source, reduce, *, include_self=True):
    shape = list(source.t.shape)
    if not shape:
        return reduced_places(c, x, torch.zeros(1, dtype=torch.int64), source, reduce, include_self)
    view = [1] * len(shape)
    view[dim] = -1
    ids = flat_places(x.t.shape, dim, index.t.reshape(view).expand(shape))
    return reduced_places(c, x, ids, source, reduce, include_self)


# --- new tensors ---
@composed("logspace")
def _(c, start, end, steps=None, base=10.0, *, dtype=None, device=None):
    need(dtype in (torch.float32, torch.float64), "integers")
    start, end = (scalar(v.t) if hasattr(v, "t") else v for v in (start, end))
    exponents = c.do("linspace", start=float(start), end=float(end), steps=int(steps), dtype=3 if dtype == torch.float32 else 4)
    return c.pow(c.full([int(steps)], float(base), dtype), exponents)


def of_triangle(name, triangle):
    @composed(name)
    def _(c, row, col, offset=0, *, dtype=None, device=None):
        need(dtype in (None, torch.int64), "option dtype")
        ones = c.full([row, col], 1, torch.float32)
        return c.transpose(c.nonzero(c.do(triangle, ones, diagonal=offset)), dim0=0, dim1=1)


of_triangle("tril_indices", "tril")
of_triangle("triu_indices", "triu")


def blank(y):
    return [torch.zeros_like(y)]


@composed("empty", same=blank)
def _(c, *size, dtype=None, device=None, requires_grad=False):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return c.full(size, 0, dtype or torch.float32)


@composed("empty_like", same=blank)
def _(c, x, dtype=None, device=None, **k):
    return c.full(x.t.shape, 0, dtype or x.t.dtype)


@composed("new_empty", same=blank)
def _(c, x, size, dtype=None, device=None, **k):
    return c.full(size, 0, dtype or x.t.dtype)


@composed("randint_like")
def _(c, x, low, high=None, *, dtype=None, device=None, **k):
    low, high = (0, low) if high is None else (low, high)
    return c.do("randint", low=low, high=high, size=list(x.t.shape)).to(dtype or x.t.dtype)


def normal(c, mean, std=1.0, size=None, *, dtype=None, **k):
    code = our_dtype(dtype or torch.float32)
    if size is not None:
        return c.do("normal", size=list(size), mean=float(mean), std=float(std), dtype=code)
    tensors = [v.t for v in (mean, std) if hasattr(v, "t")]
    need(tensors, "numbers without a size")
    size, code = torch.broadcast_shapes(*[t.shape for t in tensors]), our_dtype(tensors[0].dtype)
    return c.do("normal", size=list(size), mean=0.0, std=1.0, dtype=code) * std + mean


composed("normal")(normal)


@composed(("normal", "number_mean"))
def _(c, std, mean, *args, **kwargs):
    return normal(c, mean, std, *args, **kwargs)


RANDOM["randint_like"] = True
