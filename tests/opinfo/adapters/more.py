"""Further names of operations of the other files."""
from protocol import Call
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


def stacked(name):
    def f(tensors):
        n = {"hstack": 2, "vstack": 2, "dstack": 3, "column_stack": 2}[name]
        need(all(t.dim() >= n for t in tensors) or (name == "hstack" and all(t.dim() == 1 for t in tensors)), "fewer axes")
        return Call("cat", tensors, dim={"hstack": 0 if tensors[0].dim() == 1 else 1, "vstack": 0, "dstack": 2, "column_stack": 1}[name])
    return f


for name in ("hstack", "vstack", "dstack", "column_stack"):
    ADAPTERS[name] = stacked(name)


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
