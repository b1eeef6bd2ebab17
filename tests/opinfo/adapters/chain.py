"""Compositions: operations of tapegrad one after the other, as operations/chain.cpp reads them.

    @composed("hypot")
    def _(c, input, other):
        return c.sqrt(input * input + other * other)

An adapter of this kind gets Values in place of tensors (`input.t` is PyTorch's tensor), and a Chain, whose methods are the
bridge's operations: `c.NAME(values..., argument=...)`.
"""
import torch
from protocol import Call
from adapters.registry import ADAPTERS, COMPOSED, our_dtype


class Value:
    def __init__(self, chain, name, t=None):
        self.chain, self.name, self.t = chain, name, t

    def result(self, k):
        """Result k of the operation, of which this is the first one."""
        return Value(self.chain, f"{self.name}.{k}")

    def with_other(self, op, other):
        if isinstance(other, Value):
            return self.chain.do(op, self, other)
        return self.chain.do(op + "_s", self, other=other)

    def __add__(self, other):
        return self.with_other("add", other)

    __radd__ = __add__

    def __sub__(self, other):
        return self.with_other("sub", other)

    def __rsub__(self, number):
        return self.chain.do("sub_rs", self, other=number)

    def __mul__(self, other):
        return self.with_other("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self.with_other("div", other)

    def __rtruediv__(self, number):
        return self.chain.do("div_rs", self, other=number)

    def __neg__(self):
        return self.chain.do("neg", self)

    def __pow__(self, other):
        return self.with_other("pow", other)

    def __gt__(self, other):
        return self.with_other("gt", other)

    def __ge__(self, other):
        return self.with_other("ge", other)

    def __lt__(self, other):
        return self.with_other("lt", other)

    def equals(self, other):
        return self.with_other("eq", other)

    def reshape(self, shape):
        return self.chain.do("reshape", self, shape=list(shape))

    def permute(self, dims):
        return self.chain.do("permute", self, dims=list(dims))

    def transpose(self):
        """The last two axes swapped."""
        return self.chain.do("transpose", self, dim0=-2, dim1=-1)

    def unsqueeze(self, dim):
        return self.chain.do("unsqueeze", self, dim=dim)

    def select(self, dim, index):
        return self.chain.do("select", self, dim=dim, index=index)

    def narrow(self, dim, start, length):
        return self.chain.do("narrow", self, dim=dim, start=start, length=length)

    def to(self, dtype):
        return self.chain.do("to", self, dtype=our_dtype(dtype))


class Chain:
    def __init__(self):
        self.tensors, self.steps, self.args = [], [], {}

    def operand(self, t):
        self.tensors.append(t)
        return Value(self, f"x{len(self.tensors) - 1}", t)

    def do(self, op, *operands, **args):
        step = len(self.steps)
        names = ",".join("-" if v is None else v.name for v in operands)
        self.steps.append(f"{op} {names}" if operands else op)
        for name, value in args.items():
            self.args[f"{step}.{name}"] = value
        return Value(self, str(step))

    def __getattr__(self, op):
        return lambda *operands, **args: self.do(op, *operands, **args)

    def where(self, condition, a, b):
        """Either a or b may be a number."""
        if not isinstance(b, Value):
            return self.do("where_s", condition, a, other=b)
        if not isinstance(a, Value):
            return self.do("where_rs", condition, b, other=a)
        return self.do("where", condition, a, b)

    def full(self, size, value, dtype):
        return self.do("full", size=list(size), value=value, dtype=our_dtype(dtype))

    def arange(self, count, dtype=torch.int64):
        return self.do("arange", start=0.0, end=float(count), dtype=our_dtype(dtype))

    def call(self, results, same=None, is_composed=True):
        results = [results] if isinstance(results, Value) else list(results)
        results = [self.do("contiguous", v) if v.name[0] == "x" else v for v in results]
        steps, names = ";".join(self.steps), ",".join(v.name for v in results)
        return Call("chain", self.tensors, same=same, composed=is_composed, steps=steps, results=names, **self.args)


def chained(f, same=None, is_composed=True):
    """The adapter that f is with Values."""
    def adapter(*args, **kwargs):
        c = Chain()

        def value(a):
            if isinstance(a, torch.Tensor):
                return c.operand(a)
            if isinstance(a, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in a):
                return [value(v) for v in a]
            return a
        return c.call(f(c, *[value(a) for a in args], **{k: value(v) for k, v in kwargs.items()}), same, is_composed)
    return adapter


def composed(*names, same=None):
    """Registers a composition under names of op_db, or (name, variant)."""
    def register(f):
        for name in names:
            ADAPTERS[name] = chained(f, same)
            COMPOSED.add(name)
        return f
    return register


def direct(*names, same=None):
    """The same for one operation of tapegrad, with conversions before or after it."""
    def register(f):
        for name in names:
            ADAPTERS[name] = chained(f, same, is_composed=False)
        return f
    return register
