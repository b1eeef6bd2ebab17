"""What all adapters share: the tables, and checks of options."""
import torch
from protocol import CODE, Call, Skip

ADAPTERS = {}  # a name of op_db, or (name, variant) -> function of PyTorch's arguments, which returns a Call
COMPOSED = set()  # the keys of ADAPTERS that are compositions of docs/from_pytorch.md
RANDOM = {}  # names whose random numbers themselves are compared
KALL = -(2 ** 63)  # a bound that is left out


def on(*names):
    def register(f):
        for n in names:
            ADAPTERS[n] = f
        return f
    return register


def key_of(op):
    key = (op.name, op.variant_test_name)
    return key if key in ADAPTERS else op.name


def adapter_of(op):
    return ADAPTERS.get(key_of(op))


def without(name, *variants):
    """These variants have no adapter, although the name has one."""
    for variant in variants:
        ADAPTERS[(name, variant)] = None


def is_t(x):
    return isinstance(x, torch.Tensor)


def need(ok, reason):
    if not ok:
        raise Skip(reason)


def scalar(v):
    if is_t(v):
        need(v.numel() == 1 and not v.requires_grad, "a tensor in place of a number")
        v = v.item()
    need(not isinstance(v, complex), "complex number")
    return float(v) if isinstance(v, float) else v


def plain(dtype=None, out=None, **more):
    need(dtype is None, "option dtype")
    need(out is None, "option out")
    for k, v in more.items():
        need(v is None or v is False, f"option {k}")


def listed(y):
    if is_t(y):
        return [y]
    if isinstance(y, (bool, int, float)):
        return [torch.tensor(y)]
    return list(y)


def dims(dim):
    """An axis, a list of axes or None, as the argument `dim`."""
    return dim if dim is None or isinstance(dim, int) else list(dim)


def spatial(v):
    return v if isinstance(v, (int, str)) or v is None else list(v)


def our_dtype(dtype):
    """The code of a type; None for None."""
    need(dtype is None or dtype in CODE, f"dtype {dtype}")
    return None if dtype is None else CODE[dtype]
