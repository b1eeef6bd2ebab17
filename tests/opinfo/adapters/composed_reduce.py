"""Compositions: reductions, products, linear algebra."""
import math
import torch
from adapters.chain import chained, composed
from adapters.registry import ADAPTERS, dims, listed, need, plain, without


# --- reductions ---
@composed("dist")
def _(c, x, y, p=2):
    return c.norm(x - y, p=float(p))


@composed("nansum")
def _(c, x, dim=None, keepdim=False, *, dtype=None):
    plain(dtype)
    need(x.t.is_floating_point(), "integers")
    return c.do("sum", c.where(c.isnan(x), 0, x), dim=dims(dim), keepdim=keepdim)


@composed("nanmean")
def _(c, x, dim=None, keepdim=False, *, dtype=None):
    plain(dtype)
    is_nan = c.isnan(x)
    count = c.do("sum", c.logical_not(is_nan), dim=dims(dim), keepdim=keepdim)
    return c.do("sum", c.where(is_nan, 0, x), dim=dims(dim), keepdim=keepdim) / count


@composed("nanmedian", same=lambda y: [y if isinstance(y, torch.Tensor) else y[0]])
def _(c, x, dim=None, keepdim=False):
    need(x.t.is_floating_point(), "integers")
    return c.do("nanquantile", x, q=0.5, dim=dim, keepdim=keepdim, interpolation="lower")


@composed("renorm")
def _(c, x, p, dim, maxnorm):
    rank = x.t.dim()
    norms = c.norm(x, p=float(p), dim=[k for k in range(rank) if k != dim % rank], keepdim=True)
    return x * c.clamp(c.div_rs(norms, other=float(maxnorm)), max=1)


@composed("kthvalue", same=listed)
def _(c, x, k, dim=-1, keepdim=False):
    need(x.t.dim() > 0, "no axes")
    s = c.sort(x, dim=dim)
    results = [v.select(dim, k - 1) for v in (s, s.result(1))]
    return [v.unsqueeze(dim) for v in results] if keepdim else results


def steps_along(x, dim):
    n = x.t.shape[dim]
    need(n > 0, "empty")
    return x.narrow(dim, 1, n - 1), x.narrow(dim, 0, n - 1)


@composed("diff")
def _(c, x, n=1, dim=-1, prepend=None, append=None):
    need(n == 1 and prepend is None and append is None and x.t.is_floating_point(), "options")
    later, earlier = steps_along(x, dim)
    return later - earlier


def areas(c, y, x, dx, dim):
    """The areas of the trapezoids between adjacent elements."""
    need(y.t.is_floating_point() and dx is not None, "integers")
    later, earlier = steps_along(y, dim)
    heights = (later + earlier) * 0.5
    if x is None:
        return heights * float(dx)
    need(x.t.dim() == y.t.dim(), "another number of axes")
    to, start = steps_along(x, dim)
    return heights * (to - start)


@composed("trapezoid", "trapz")
def _(c, y, x=None, *, dx=1.0, dim=-1):
    return c.do("sum", areas(c, y, x, dx, dim), dim=dim)


@composed("cumulative_trapezoid")
def _(c, y, x=None, *, dx=1.0, dim=-1):
    return c.cumsum(areas(c, y, x, dx, dim), dim=dim)


# --- masked reductions ---
def masked_by(c, x, mask, value):
    return x if mask is None else c.where(mask, x, value)


def masked(name, value, floating=False, same=None):
    """torch.masked.NAME: the reduction of where(mask, x, value)."""
    def f(c, x, dim=None, *, keepdim=False, dtype=None, mask=None):
        plain(dtype)
        need(not floating or x.t.is_floating_point(), "integers")
        return c.do(name, masked_by(c, x, mask, value), dim=dims(dim), keepdim=keepdim)
    composed("masked." + name, same=same)(f)


masked("sum", 0)
masked("prod", 1)
masked("amax", -math.inf, floating=True)
masked("amin", math.inf, floating=True)
masked("argmax", -math.inf, floating=True, same=lambda y: [y.long()])
masked("argmin", math.inf, floating=True, same=lambda y: [y.long()])
masked("logsumexp", -math.inf, floating=True)


def masked_along(name, value):
    def f(c, x, dim, *, dtype=None, mask=None):
        plain(dtype)
        need(x.t.is_floating_point() or math.isfinite(value), "integers")
        return c.do(name, masked_by(c, x, mask, value), dim=dim)
    composed("masked." + name)(f)


masked_along("cumsum", 0)
masked_along("cumprod", 1)
masked_along("softmax", -math.inf)
masked_along("log_softmax", -math.inf)


@composed("masked.softmin")
def _(c, x, dim, *, dtype=None, mask=None):
    plain(dtype)
    return c.softmax(masked_by(c, -x, mask, -math.inf), dim=dim)


def count_of(c, x, mask, dim, keepdim):
    """The number of elements that are not masked, as a tensor."""
    ones = c.ones_like(x)
    return c.do("sum", masked_by(c, ones, mask, 0), dim=dims(dim), keepdim=keepdim)


def masked_mean(c, x, mask, dim, keepdim):
    total = c.do("sum", masked_by(c, x, mask, 0), dim=dims(dim), keepdim=keepdim)
    return total / count_of(c, x, mask, dim, keepdim)


@composed("masked.mean")
def _(c, x, dim=None, *, keepdim=False, dtype=None, mask=None):
    plain(dtype)
    need(x.t.is_floating_point(), "integers")
    return masked_mean(c, x, mask, dim, keepdim)


def masked_var(c, x, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    plain(dtype)
    need(x.t.is_floating_point(), "integers")
    correction = correction if correction is not None else 0 if unbiased is False else 1
    away = masked_by(c, x - masked_mean(c, x, mask, dim, True), mask, 0)
    count = c.clamp(count_of(c, x, mask, dim, keepdim) - correction, min=0)
    return c.do("sum", away * away, dim=dims(dim), keepdim=keepdim) / count


composed("masked.var")(masked_var)


@composed("masked.std")
def _(c, *args, **kwargs):
    return c.sqrt(masked_var(c, *args, **kwargs))


@composed("masked.median")
def _(c, x, dim=-1, *, keepdim=False, dtype=None, mask=None):
    plain(dtype)
    return c.do("nanquantile", masked_by(c, x, mask, math.nan), q=0.5, dim=dim, keepdim=keepdim, interpolation="lower")


@composed("masked.norm")
def _(c, x, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    plain(dtype)
    return c.norm(masked_by(c, x, mask, 0 if ord >= 0 else math.inf), p=float(ord), dim=dims(dim), keepdim=keepdim)


@composed("masked.normalize")
def _(c, x, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    plain(dtype)
    return c.normalize(masked_by(c, x, mask, 0), p=float(ord), dim=dim, eps=eps)


@composed("masked.logaddexp")
def _(c, x, y, *, dtype=None, input_mask=None, other_mask=None):
    plain(dtype)
    return c.logaddexp(masked_by(c, x, input_mask, -math.inf), masked_by(c, y, other_mask, -math.inf))


# --- products ---
def added(c, x, product, shape, beta, alpha):
    """beta x + alpha product, without x for beta = 0."""
    product = product if alpha == 1 else product * alpha
    y = product if beta == 0 else (x if beta == 1 else x * beta) + product
    return c.expand(y, shape=shape)


@composed("addmv")
def _(c, x, a, b, *, beta=1, alpha=1):
    return added(c, x, c.mv(a, b), [a.t.shape[0]], beta, alpha)


@composed("addr")
def _(c, x, a, b, *, beta=1, alpha=1):
    need(x.t.dtype != torch.bool, "bool")
    return added(c, x, c.outer(a, b), [a.t.shape[0], b.t.shape[0]], beta, alpha)


@composed("addbmm")
def _(c, x, a, b, *, beta=1, alpha=1):
    return added(c, x, c.do("sum", c.bmm(a, b), dim=0), [a.t.shape[1], b.t.shape[2]], beta, alpha)


@composed("nn.functional.bilinear")
def _(c, a, b, weight, bias=None):
    y = c.einsum(a, weight, b, equation="...i,oij,...j->...o")
    return y if bias is None else y + bias


@composed("trace")
def _(c, x):
    return c.do("sum", c.diagonal(x))


@composed("linalg.vecdot")
def _(c, a, b, *, dim=-1):
    return c.do("sum", a * b, dim=dim)


@composed("linalg.multi_dot")
def _(c, matrices):
    letters = "abcdefgh"
    terms = [letters[k:k + 2] for k in range(len(matrices))]
    if matrices[0].t.dim() == 1:
        terms[0] = terms[0][1]
    if matrices[-1].t.dim() == 1:
        terms[-1] = terms[-1][0]
    result = ("" if matrices[0].t.dim() == 1 else terms[0][0]) + ("" if matrices[-1].t.dim() == 1 else terms[-1][1])
    return c.einsum(*matrices, equation=",".join(terms) + "->" + result)


@composed("nn.functional.pdist")
def _(c, x, p=2.0):
    n = x.t.shape[0]
    upper = torch.ones(n, n, dtype=torch.bool).triu(1)
    return c.masked_select(c.cdist(x, x, p=float(p)), c.operand(upper))


@composed("cov")
def _(c, x, *, correction=1, fweights=None, aweights=None):
    need(fweights is None and aweights is None and x.t.is_floating_point(), "options")
    rows = x if x.t.dim() == 2 else x.reshape([1, x.t.numel()])
    n = x.t.shape[-1] if x.t.dim() else 1
    need(n > correction, "too few values")
    centred = rows - c.mean(rows, dim=1, keepdim=True)
    y = c.matmul(centred, centred.transpose()) / (n - correction)
    return y if x.t.dim() == 2 and x.t.shape[0] > 1 else y.reshape([])


# --- linear algebra ---
def matrix_norm(c, x, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    plain(dtype)
    rank = x.t.dim()
    dim = [d % rank for d in dim]
    if ord == "fro":
        return c.norm(x, p=2.0, dim=dim, keepdim=keepdim)
    if ord in ("nuc", 2, -2):
        s = c.svdvals(c.movedim(x, **{"from": dim, "to": [-2, -1]}))
        y = c.do("sum", s, dim=-1) if ord == "nuc" else c.do("amax" if ord > 0 else "amin", s, dim=-1)
        return c.reshape(y, shape=[1 if k in dim else n for k, n in enumerate(x.t.shape)]) if keepdim else y
    along, across = dim if abs(ord) == 1 else reversed(dim)
    sums = c.do("sum", c.abs(x), dim=along, keepdim=True)
    y = c.do("amax" if ord > 0 else "amin", sums, dim=across, keepdim=True)
    return y if keepdim else c.squeeze(y, dim=dim)


composed("linalg.matrix_norm")(matrix_norm)
vector_norm = ADAPTERS["linalg.norm"]


def any_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    matrix = ord is not None and (input.dim() == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2)
    if matrix and ord != "fro":
        return chained(matrix_norm)(input, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, ord, dim, keepdim, dtype=dtype)


ADAPTERS["linalg.norm"] = any_norm


@composed(("norm", "nuc"))
def _(c, x, p="nuc", dim=None, keepdim=False):
    return matrix_norm(c, x, "nuc", (-2, -1) if dim is None else dim, keepdim)


@composed(("linalg.pinv", "singular"))
def _(c, a, b):
    return c.pinv(c.matmul(a, b.transpose()))


without("linalg.pinv", "hermitian")


@composed("linalg.cond")
def _(c, a, p=None):
    need(p is None and a.t.numel() > 0, "option p")
    s = c.svdvals(a)
    return s.select(-1, 0) / s.select(-1, -1)


@composed("linalg.matrix_rank")
def _(c, a, tol=None, hermitian=False, *, atol=None, rtol=None):
    need(tol is None and not hasattr(atol, "t") and not hasattr(rtol, "t"), "tensors as tolerances")
    need(min(a.t.shape[-2:]) > 0, "empty")
    if rtol is None:
        rtol = torch.finfo(a.t.dtype).eps * max(a.t.shape[-2:]) if not atol else 0.0
    s = c.svdvals(a)
    least = c.clamp(c.narrow(s, dim=-1, start=0, length=1) * float(rtol), min=float(atol or 0))
    return c.do("sum", s > least, dim=-1)


@composed("cholesky_solve")
def _(c, b, l, upper=False):
    y = c.triangular_solve(l.transpose() if upper else l, b)
    return c.triangular_solve(l if upper else l.transpose(), y, upper=True)


@composed("cholesky_inverse")
def _(c, l, upper=False):
    need(l.t.numel() > 0, "empty")
    eye = c.do("eye", n=l.t.shape[-1], dtype=3 if l.t.dtype == torch.float32 else 4)
    y = c.triangular_solve(l.transpose() if upper else l, c.expand(eye, shape=list(l.t.shape)))
    return c.triangular_solve(l if upper else l.transpose(), y, upper=True)


@composed("linalg.vander")
def _(c, x, N=None):
    need(x.t.is_floating_point() and x.t.dim() > 0, "integers, or no axes")
    n = x.t.shape[-1] if N is None else N
    return c.pow(x.unsqueeze(-1), c.arange(n, x.t.dtype))


@composed("linalg.tensorsolve")
def _(c, a, b, dims=None):
    shape = list(a.t.shape)
    if dims is not None:
        order = [k for k in range(len(shape)) if k not in [d % len(shape) for d in dims]] + [d % len(shape) for d in dims]
        a, shape = a.permute(order), [shape[k] for k in order]
    n = b.t.numel()
    return c.solve(a.reshape([n, n]), b.reshape([n])).reshape(shape[b.t.dim():])


@composed("linalg.tensorinv")
def _(c, a, ind=2):
    shape = list(a.t.shape)
    n = math.prod(shape[:ind])
    return c.inverse(a.reshape([n, n])).reshape(shape[ind:] + shape[:ind])
