"""Reductions and scans along an axis."""
import torch
from protocol import Call
from adapters.registry import ADAPTERS, dims, need, on, our_dtype, plain


# --- reductions ---
for name in ("sum", "mean", "prod"):
    def f(input, dim=None, keepdim=False, *, dtype=None, name=name):
        return Call(name, [input], dim=dims(dim), keepdim=keepdim, dtype=our_dtype(dtype))
    ADAPTERS[name] = f
for name in ("amax", "amin", "logsumexp", "count_nonzero"):
    def f(input, dim=None, keepdim=False, name=name):
        return Call(name, [input], dim=dims(dim), keepdim=keepdim)
    ADAPTERS[name] = f
for name in ("var", "std", "var_mean", "std_mean"):
    def f(input, dim=None, unbiased=None, keepdim=False, *, correction=None, name=name):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        c = correction if correction is not None else (1 if unbiased in (None, True) else 0)
        need(not isinstance(c, torch.Tensor), "tensor")
        return Call(name, [input], dim=dims(dim), keepdim=keepdim, correction=float(c))
    ADAPTERS[name] = f


@on("aminmax")
def _(input, *, dim=None, keepdim=False):
    return Call("aminmax", [input], dim=dims(dim), keepdim=keepdim)


for name in ("argmax", "argmin"):
    def f(input, dim=None, keepdim=False, name=name):
        return Call(name, [input], dim=dim, keepdim=keepdim)
    ADAPTERS[name] = f
for name in ("max", "min"):
    ADAPTERS[(name, "reduction_no_dim")] = (lambda name: lambda input: Call(name, [input]))(name)
    ADAPTERS[(name, "reduction_with_dim")] = (lambda name: lambda input, dim, keepdim=False: Call(name, [input], dim=dim, keepdim=keepdim))(name)


@on("median")
def _(input, dim=None, keepdim=False):
    return Call("median", [input], dim=dim, keepdim=keepdim)


for name in ("all", "any"):
    def f(input, dim=None, keepdim=False, name=name):
        need(input.dtype == torch.bool, "bool only: documented")
        need(dim is None or isinstance(dim, int) or len(dim) > 0, "an empty list of axes")
        if dim is None and keepdim:
            dim = []
        return Call(name, [input], dim=dims(dim), keepdim=keepdim)
    ADAPTERS[name] = f


@on("norm", "linalg.vector_norm")
def _(input, ord=2, dim=None, keepdim=False, *, p=None, dtype=None):
    plain(dtype)
    ord = p if p is not None else ord
    need(ord != "nuc", "nuclear norm")
    if ord == "fro":
        ord = 2
    return Call("norm", [input], p=float(ord), dim=dims(dim), keepdim=keepdim)


def torch_norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    plain(dtype, out)
    need(p != "nuc", "nuclear norm")
    return Call("norm", [input], p=2.0 if p in ("fro", None) else float(p), dim=dims(dim), keepdim=keepdim)


ADAPTERS["norm"] = torch_norm


@on("linalg.norm")
def _(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    plain(dtype)
    matrix = ord is not None and (input.dim() == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2)
    if matrix:
        need(ord == "fro", "matrix norm")
        ord = 2
    return Call("norm", [input], p=2.0 if ord is None else float(ord), dim=dims(dim), keepdim=keepdim)


# --- along an axis ---
for name in ("cumsum", "cumprod"):
    def f(input, dim, *, dtype=None, name=name):
        return Call(name, [input], dim=dim, dtype=our_dtype(dtype))
    ADAPTERS[name] = f
for name in ("logcumsumexp", "cummax", "cummin"):
    ADAPTERS[name] = (lambda name: lambda input, dim: Call(name, [input], dim=dim))(name)
for name in ("softmax", "log_softmax"):
    def f(input, dim, dtype=None, name=name):
        return Call(name, [input], dim=dim, dtype=our_dtype(dtype))
    ADAPTERS[name] = f


@on("cdist")
def _(a, b, p=2.0, compute_mode=None):
    return Call("cdist", [a, b], p=float(p))
