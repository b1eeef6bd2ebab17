"""Reading and writing by index."""
import torch
from protocol import Call
from adapters.registry import is_t, need, on, scalar


# --- by index ---
@on("index_select")
def _(input, dim, index):
    return Call("index_select", [input, index], dim=dim)


@on("gather")
def _(input, dim, index, *, sparse_grad=False):
    return Call("gather", [input, index], dim=dim)


@on("take_along_dim")
def _(input, indices, dim=None):
    return Call("take_along_axis", [input, indices], dim=dim)


@on("masked_select")
def _(input, mask):
    return Call("masked_select", [input, mask])


@on("masked_scatter")
def _(input, mask, source):
    return Call("masked_scatter", [input, mask, source])


@on("nonzero", "argwhere")
def _(input, as_tuple=False):
    need(not as_tuple, "option as_tuple")
    return Call("nonzero", [input])


@on("nn.functional.one_hot")
def _(input, num_classes=-1):
    need(num_classes >= 0, "classes are required: documented")
    return Call("one_hot", [input], classes=num_classes)


@on("nn.functional.embedding")
def _(weight, idx, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    need(max_norm is None, "option max_norm")
    need(not scale_grad_by_freq, "option scale_grad_by_freq")
    need(not sparse, "option sparse")
    return Call("embedding", [weight, idx], padding_idx=padding_idx)


@on("scatter")
def _(input, dim, index, src, *, reduce=None):
    need(reduce is None, "option reduce")
    need(index.dtype == torch.int64, "int32 index")
    if is_t(src):
        return Call("scatter", [input, index, src], dim=dim)
    return Call("scatter", [input, index], dim=dim, value=src)


@on("scatter_add")
def _(input, dim, index, src):
    need(index.dtype == torch.int64, "int32 index")
    return Call("scatter_add", [input, index, src], dim=dim)


@on("index_add")
def _(input, dim, index, source, *, alpha=1):
    return Call("index_add", [input, index, source], dim=dim, alpha=scalar(alpha))


@on("index_copy")
def _(input, dim, index, source):
    return Call("index_copy", [input, index, source], dim=dim)


@on("index_fill")
def _(input, dim, index, value):
    if is_t(value):
        need(not value.requires_grad, "value with gradient")
        value = value.item()
    return Call("index_fill", [input, index], dim=dim, value=value)


@on("index_put")
def _(input, indices, values, accumulate=False):
    return Call("index_put", [input, values] + list(indices), accumulate=accumulate)
