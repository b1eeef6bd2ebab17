"""Golden files and the tensors in them.

A file is the length of its JSON header (8 bytes, little endian), the header, and raw numbers. The header is a list of
cases {"op", "label", "args", "inputs", "outputs", "seed", "grads", "ulp"}; label, args, seed, grads and ulp may be
missing. A tensor is [dtype, shape, at], whose numbers begin at that byte after the header, or [dtype, shape, at, count,
strides, offset], a view of `count` numbers there. "seed" is dL/dy of the first output, and "grads" has an entry (or null)
for every input. "ulp", if present, bounds the error of elementwise functions in units of the last place, in addition to
the tolerances that apply to all.
"""
import json
import math
import struct

import torch

F32, F64, I64, BOOL = torch.float32, torch.float64, torch.int64, torch.bool
FLOATS = (F32, F64)
NAMES = {F32: "float32", F64: "float64", I64: "int64", BOOL: "bool", torch.uint8: "uint8", torch.int32: "int32"}
INF, NAN = math.inf, math.nan


class Laid:
    """A tensor's values, and their layout in memory."""

    def __init__(self, values, base=None, strides=None, offset=0):
        self.values = values.contiguous()
        self.base = self.values if base is None else base
        self.strides = strides
        self.offset = offset


def plain(x):
    return Laid(x)


def transposed(x):
    """The last two axes swapped in memory."""
    base = x.transpose(-1, -2).contiguous()
    return Laid(x, base.flatten(), list(base.transpose(-1, -2).stride()))


def strided(x):
    """Every second element of the last axis, with other numbers between."""
    base = torch.stack([x, torch.full_like(x, 77 if x.dtype != BOOL else 1)], dim=-1).contiguous()
    return Laid(x, base.flatten(), list(base.stride())[:-1], 0)


def reversed_(x):
    """A negative stride in the last axis."""
    base = x.flip(-1).contiguous()
    strides = list(base.stride())
    strides[-1] = -strides[-1]
    return Laid(x, base.flatten(), strides, x.shape[-1] - 1 if x.numel() else 0)


def expanded(x, *shape):
    """Strides of 0."""
    view = x.expand(*shape)
    return Laid(view, x.contiguous().flatten(), list(view.stride()))


def layouts(x):
    """x in every layout that its rank allows."""
    yield plain(x)
    if x.dim() >= 1:
        yield strided(x)
        yield reversed_(x)
    if x.dim() >= 2:
        yield transposed(x)


class Family:
    def __init__(self, name):
        self.name, self.cases, self.data, self.known = name, [], bytearray(), {}
        torch.manual_seed(sum(map(ord, name)))

    def store(self, flat):
        raw = flat.detach().contiguous().numpy().tobytes()
        if raw not in self.known:
            self.data += b"\0" * (-len(self.data) % 8)
            self.known[raw] = len(self.data)
            self.data += raw
        return self.known[raw]

    def tensor(self, x):
        x = x if isinstance(x, Laid) else Laid(x)
        entry = [NAMES[x.values.dtype], list(x.values.shape), self.store(x.base)]
        return entry if x.base is x.values else entry + [x.base.numel(), x.strides, x.offset]

    def case(self, op, reference, inputs, grad=False, ulp=0, label="", **args):
        """One case: reference(*inputs) is the truth, `args` is what tests/autograd/cases/ops.cpp hands to the operation of that name."""
        laid = [x if isinstance(x, Laid) else Laid(x) for x in inputs]
        values = [x.values.clone() for x in laid]
        if grad:
            values = [v.requires_grad_() if v.dtype in FLOATS else v for v in values]
        outputs = reference(*values)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        entry = {"op": op, "inputs": [self.tensor(x) for x in laid], "outputs": [self.tensor(y) for y in outputs]}
        entry.update({k: v for k, v in (("label", label), ("args", args)) if v})
        if ulp:
            entry["ulp"] = ulp
        if grad:
            y = outputs[0]
            seed = torch.linspace(0.5, 1.5, max(y.numel(), 1), dtype=torch.float64)[:y.numel()].reshape(y.shape).to(y.dtype)
            entry["seed"] = self.tensor(seed)
            leaves = [v for v in values if v.requires_grad]
            found = iter(torch.autograd.grad(y, leaves, seed, allow_unused=True))
            entry["grads"] = []
            for v in values:
                g = next(found) if v.requires_grad else None
                entry["grads"].append(None if g is None else self.tensor(g))
        self.cases.append(entry)

    def write(self, folder):
        if not self.cases:
            return
        header = json.dumps(self.cases, separators=(",", ":"), allow_nan=False).encode()
        header += b" " * (-len(header) % 8)
        path = folder / f"ops_{self.name}.bin"
        path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(self.data))
        print(f"{path.name}: {len(self.cases)} cases, {path.stat().st_size} bytes")


def rand(*shape, dtype=F32, low=-2.0, high=2.0):
    if dtype == BOOL:
        return torch.rand(shape) < 0.5
    if dtype == I64:
        return torch.randint(int(low) - 3, int(high) + 4, shape)
    return torch.rand(shape, dtype=F64).mul(high - low).add(low).to(dtype)


def specials(dtype):
    """Zeros, infinities, NaN, denormals, the largest and smallest, and numbers around the limits of exp and of the rest."""
    tiny, huge, denormal = (1e-37, 3e38, 1e-40) if dtype == F32 else (1e-307, 1.7e308, 1e-310)
    sides = [0.0, denormal, tiny, 1e-20, 1e-8, 1e-4, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 3.14159265, 7.9, 17.0, 50.0, 88.6,
             104.0, 700.0, 1000.5, 1e5, 1e10, huge, INF]
    return torch.tensor(sides + [-s for s in sides] + [NAN], dtype=dtype)


def few_specials(dtype):
    """Half of them, for tables of all pairs."""
    chosen = [0, 1, 2, 3, 5, 8, 10, 12, 15, 19, 22, 24, 25]
    return specials(dtype)[chosen + [26 + i for i in chosen] + [52]]


def distinct(*shape, dtype=F32):
    """Numbers with no two alike: no ties for extremes and orders."""
    n = math.prod(shape)
    return ((torch.randperm(n) - n // 2).to(F64) * 0.37 + 0.11).reshape(shape).to(dtype)
