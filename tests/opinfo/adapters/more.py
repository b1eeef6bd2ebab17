"""Further names of operations of the other files."""
from protocol import Call
from adapters.chain import direct
from adapters.registry import ADAPTERS, is_t, need, on, our_dtype, plain, scalar


# --- more names for the same ---
@on("torch.ops.aten._safe_softmax.default")
def _(input, dim, dtype=None):
    plain(dtype)
    return Call("softmax", [input], dim=dim)


ADAPTERS["H"] = ADAPTERS["T"]
ADAPTERS["mH"] = ADAPTERS["mT"]


@on("native_layer_norm")
def _(input, normalized_shape, weight, bias, eps):
    call = ADAPTERS["nn.functional.layer_norm"](input, normalized_shape, weight, bias, eps)
    call.same = lambda y: [y[0]]
    return call


@on("native_group_norm")
def _(input, weight, bias, n, c, hw, groups, eps):
    return Call("group_norm", [input, weight, bias], num_groups=groups, eps=float(eps), same=lambda y: [y[0]])


@on("_batch_norm_with_update")
def _(input, weight, bias, running_mean, running_var, momentum, eps):
    return Call("batch_norm_training", [input, weight, bias], eps=float(eps), same=lambda y: [y[0]])


@on("native_batch_norm")
def _(input, weight, bias, running_mean=None, running_var=None, training=False, momentum=0.1, eps=1e-5):
    if training:
        return Call("batch_norm_training", [input, weight, bias], eps=float(eps), same=lambda y: [y[0]])
    need(running_mean is not None and running_var is not None, "no statistics")
    return Call("batch_norm", [input, running_mean, running_var, weight, bias], eps=float(eps), same=lambda y: [y[0]])


# The number of axes of hstack and the others, and the axis that they join.
STACKS = {"hstack": (1, 1), "vstack": (2, 0), "dstack": (3, 2), "column_stack": (2, 1)}


def stacked(name):
    rank, axis = STACKS[name]

    @direct(name)
    def _(c, tensors):
        parts = []
        for x in tensors:
            n = x.t.dim()
            if n == 0:
                x = x.reshape([1] * rank)
            elif n == 1 and rank > 1:
                x = x.unsqueeze(1 if name == "column_stack" else 0)
                x = x.unsqueeze(2) if rank == 3 else x
            elif n == 2 and rank == 3:
                x = x.unsqueeze(2)
            parts.append(x)
        one = name == "hstack" and tensors[0].t.dim() <= 1
        return c.cat(*parts, dim=0 if one else axis)


for name in STACKS:
    stacked(name)


def split_sizes(n, parts):
    if isinstance(parts, int):
        need(parts > 0, "no parts")
        return [n // parts + (k < n % parts) for k in range(parts)]
    points = [min(max(q + n if q < 0 else q, 0), n) for q in parts]
    need(all(a <= b for a, b in zip([0] + points, points + [n])), "points not in order")
    return [b - a for a, b in zip([0] + points, points + [n])]


for k, name in enumerate(("atleast_1d", "atleast_2d", "atleast_3d")):
    def f(*tensors, k=k):
        need(len(tensors) == 1 and is_t(tensors[0]), "several tensors")
        x = tensors[0]
        s = list(x.shape)
        if k == 0:
            s = s or [1]
        elif k == 1:
            s = [1] * (2 - len(s)) + s
        else:
            s = [1, 1, 1] if not s else [1, s[0], 1] if len(s) == 1 else s + [1] if len(s) == 2 else s
        return Call("reshape", [x], shape=s)
    ADAPTERS[name] = f
for name, value in (("new_zeros", 0), ("new_ones", 1), ("new_full", None)):
    def f(input, size, *fill, dtype=None, device=None, value=value, **k):
        v = value if value is not None else scalar(fill[0] if fill else k.get("fill_value"))
        return Call("full", [], size=list(size), value=v, dtype=our_dtype(dtype or input.dtype))
    ADAPTERS[name] = f
