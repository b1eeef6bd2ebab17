"""New tensors, types, random tensors."""
import torch
from protocol import Call
from adapters.registry import ADAPTERS, RANDOM, is_t, need, on, our_dtype, scalar


# --- making ---
def like(name):
    def f(input, dtype=None, device=None, requires_grad=False, **k):
        need(dtype in (None, input.dtype), "option dtype")
        return Call(name, [input])
    return f


ADAPTERS["zeros_like"], ADAPTERS["ones_like"] = like("zeros_like"), like("ones_like")


@on("full_like")
def _(input, fill_value, dtype=None, **k):
    need(dtype in (None, input.dtype), "option dtype")
    return Call("full_like", [input], value=scalar(fill_value))


@on("full")
def _(size, fill_value, dtype=None, device=None, **k):
    need(dtype is not None, "type of the value")
    return Call("full", [], size=list(size), value=scalar(fill_value), dtype=our_dtype(dtype))


@on("ones")
def _(*size, dtype=None, device=None, **k):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return Call("full", [], size=list(size), value=1, dtype=our_dtype(dtype or torch.float32))


@on("zeros")
def _(*size, dtype=None, device=None, **k):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return Call("full", [], size=list(size), value=0, dtype=our_dtype(dtype or torch.float32))


@on("arange")
def _(start, end=None, step=1, *, dtype=None, device=None):
    if end is None:
        start, end = 0, start
    need(dtype is not None, "option dtype")
    return Call("arange", [], start=float(start), end=float(end), step=float(step), dtype=our_dtype(dtype))


@on("linspace")
def _(start, end, steps=None, *, dtype=None, device=None):
    need(dtype in (torch.float32, torch.float64), "integers")
    return Call("linspace", [], start=float(scalar(start)), end=float(scalar(end)), steps=int(steps), dtype=our_dtype(dtype))


@on("eye")
def _(n, m=None, *, dtype=None, device=None, **k):
    need(m is None or m == n, "not square: documented")
    return Call("eye", [], n=n, dtype=our_dtype(dtype or torch.float32))


CONVERSIONS = {"double": torch.float64, "float": torch.float32, "half": torch.float16, "bfloat16": torch.bfloat16, "long": torch.int64,
               "int": torch.int32, "byte": torch.uint8, "bool": torch.bool}
for theirs, dtype in CONVERSIONS.items():
    ADAPTERS[theirs] = (lambda dtype: lambda input, memory_format=None: Call("to", [input], dtype=our_dtype(dtype)))(dtype)


@on("to")
def _(input, *args, **k):
    dtype = input.dtype
    for a in args:
        if isinstance(a, torch.dtype):
            dtype = a
        elif is_t(a):
            dtype = a.dtype
    return Call("to", [input], dtype=our_dtype(dtype))


# --- random ---
def seeded(*names):
    def register(f):
        for n in names:
            ADAPTERS[n] = f
            RANDOM[n] = True
        return f
    return register


@seeded("randn")
def _(*size, dtype=None, device=None, **k):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return Call("randn", [], size=list(size), dtype=our_dtype(dtype or torch.float32))


@seeded("randn_like")
def _(input, dtype=None, **k):
    need(input.is_contiguous(), "not contiguous")
    return Call("randn", [], size=list(input.shape), dtype=our_dtype(dtype or input.dtype))


@seeded("rand_like")
def _(input, dtype=None, **k):
    need(input.is_contiguous(), "not contiguous")
    return Call("rand", [], size=list(input.shape), dtype=our_dtype(dtype or input.dtype))


@seeded("randint")
def _(low, high=None, size=None, *, dtype=None, device=None, **k):
    if size is None or not isinstance(high, int):
        low, high, size = 0, low, high
    need(dtype in (None, torch.int64), "option dtype")
    return Call("randint", [], low=low, high=high, size=list(size))


@seeded("bernoulli")
def _(input):
    return Call("bernoulli", [input])


@seeded("multinomial")
def _(input, num_samples, replacement=False):
    return Call("multinomial", [input], num_samples=num_samples, replacement=replacement)


@seeded("uniform")
def _(input, from_=0, to=1, **k):
    from_ = k.get("from", from_)
    return Call("uniform", [], size=list(input.shape), **{"from": float(from_), "to": float(to), "dtype": our_dtype(input.dtype)})


@seeded("exponential")
def _(input, lambd=1.0):
    return Call("exponential", [], size=list(input.shape), rate=float(lambd), dtype=our_dtype(input.dtype))


@on(("normal", "in_place"))
def _(input, mean=0.0, std=1.0):
    return Call("normal", [], size=list(input.shape), mean=float(mean), std=float(std), dtype=our_dtype(input.dtype))


RANDOM["normal"] = True
RANDOM["nn.functional.dropout"] = True


# --- single numbers ---
@on("item")
def _(input):
    return Call("item", [input], same=lambda y: [torch.tensor(float(y), dtype=torch.float64)])


@on("scalar_tensor")
def _(value, *, dtype=None, device=None, **k):
    return Call("full", [], size=[], value=scalar(value), dtype=our_dtype(dtype or torch.float32))
