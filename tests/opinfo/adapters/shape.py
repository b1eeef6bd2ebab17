"""Joining, cutting, shape."""
import torch
from protocol import Call
from adapters.registry import ADAPTERS, KALL, dims, is_t, need, on, scalar


# --- joining, cutting, shape ---
@on("cat")
def _(tensors, dim=0):
    return Call("cat", tensors, dim=dim)


@on("stack")
def _(tensors, dim=0):
    return Call("stack", tensors, dim=dim)


@on("split", "unsafe_split", "split_with_sizes", "split_with_sizes_copy")
def _(input, sizes, dim=0):
    if isinstance(sizes, int):
        return Call("split", [input], size=sizes, dim=dim)
    return Call("split", [input], sizes=list(sizes), dim=dim)


@on("chunk", "unsafe_chunk")
def _(input, chunks, dim=0):
    return Call("chunk", [input], chunks=chunks, dim=dim)


@on("narrow", "narrow_copy")
def _(input, dim, start, length):
    return Call("narrow", [input], dim=dim, start=int(scalar(start)), length=length)


@on("flip")
def _(input, dims):
    return Call("flip", [input], dim=list(dims))


@on("fliplr")
def _(input):
    return Call("flip", [input], dim=[1])


@on("flipud")
def _(input):
    return Call("flip", [input], dim=[0])


@on("broadcast_to")
def _(input, shape):
    return Call("broadcast_to", [input], shape=list(shape))


@on("expand", "expand_copy")
def _(input, shape):
    return Call("expand", [input], shape=list(shape))


@on("expand_as")
def _(input, other):
    return Call("expand", [input], shape=list(other.shape))


@on("broadcast_tensors")
def _(*tensors):
    return Call("broadcast_tensors", tensors)


@on("unflatten")
def _(input, dim, sizes):
    return Call("unflatten", [input], dim=dim, sizes=list(sizes))


@on("movedim")
def _(input, source, destination):
    return Call("movedim", [input], **{"from": dims(source), "to": dims(destination)})


@on("diagonal", "diagonal_copy")
def _(input, offset=0, dim1=0, dim2=1):
    return Call("diagonal", [input], offset=offset, dim1=dim1, dim2=dim2)


@on("linalg.diagonal")
def _(input, *, offset=0, dim1=-2, dim2=-1):
    return Call("diagonal", [input], offset=offset, dim1=dim1, dim2=dim2)


@on("diag_embed")
def _(input, offset=0, dim1=-2, dim2=-1):
    return Call("diag_embed", [input], offset=offset, dim1=dim1, dim2=dim2)


@on("diag")
def _(input, diagonal=0):
    return Call("diag", [input], diagonal=diagonal)


@on("diagflat")
def _(input, offset=0):
    need(input.dim() == 1, "not a vector")
    return Call("diag", [input], diagonal=offset)


@on("unfold", "unfold_copy")
def _(input, dim, size, step):
    return Call("unfold", [input], dim=dim, size=size, step=step)


@on("repeat")
def _(input, repeats):
    return Call("repeat", [input], repeats=list(repeats))


@on("tile")
def _(input, reps):
    return Call("tile", [input], dims=list(reps))


@on("repeat_interleave")
def _(input, repeats, dim=None, *, output_size=None):
    if is_t(repeats):
        return Call("repeat_interleave", [input, repeats], dim=dim)
    return Call("repeat_interleave", [input], repeats=repeats, dim=dim)


@on("roll")
def _(input, shifts, dims=None):
    if isinstance(shifts, int) and (dims is None or isinstance(dims, int) or len(dims) == 0):
        return Call("roll", [input], shift=shifts, dim=dims if isinstance(dims, int) else None)
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    if not dims and dims != 0:
        need(len(shifts) == 1, "shifts without axes")
        return Call("roll", [input], shift=shifts[0])
    return Call("roll", [input], shifts=shifts, dims=[dims] if isinstance(dims, int) else list(dims))


@on("constant_pad_nd")
def _(input, pad, value=0):
    return Call("pad", [input], pad=list(pad), mode="constant", value=scalar(value))


@on("nn.functional.pad")
def _(input, pad, mode="constant", value=None):
    return Call("pad", [input], pad=list(pad), mode=mode, value=0 if value is None else scalar(value))


@on("meshgrid")
def _(*tensors, indexing="ij"):
    if len(tensors) == 1 and not is_t(tensors[0]):
        tensors = tensors[0]
    elif len(tensors) >= 1 and not is_t(tensors[0]):
        tensors = tensors[0]
    return Call("meshgrid", tensors, indexing=indexing)


def meshgrid_variadic(input, *others, indexing="ij"):
    ts = list(input) if not is_t(input) else [input]
    return Call("meshgrid", ts + list(others), indexing=indexing)


ADAPTERS["meshgrid"] = meshgrid_variadic


@on("reshape", "view", "view_copy")
def _(input, shape):
    return Call("reshape", [input], shape=list(shape))


@on("reshape_as", "view_as")
def _(input, other):
    return Call("reshape", [input], shape=list(other.shape))


@on("ravel")
def _(input):
    return Call("reshape", [input], shape=[-1])


@on("flatten")
def _(input, start_dim=0, end_dim=-1):
    return Call("flatten", [input], start_dim=start_dim, end_dim=end_dim)


@on("transpose", "transpose_copy", "swapaxes")
def _(input, dim0, dim1):
    return Call("transpose", [input], dim0=dim0, dim1=dim1)


@on("t", "t_copy", "T")
def _(input):
    need(input.dim() == 2, "fewer than two axes: documented")
    return Call("transpose", [input], dim0=-2, dim1=-1)


@on("mT")
def _(input):
    return Call("transpose", [input], dim0=-2, dim1=-1)


@on("permute", "permute_copy")
def _(input, dims):
    return Call("permute", [input], dims=list(dims))


@on("squeeze", "squeeze_copy")
def _(input, dim=None):
    if dim is not None:
        for d in ([dim] if isinstance(dim, int) else dim):
            need(input.dim() > 0 and -input.dim() <= d < input.dim() and input.shape[d] == 1, "an axis that is not 1: documented Error")
    return Call("squeeze", [input], dim=dims(dim))


@on("unsqueeze", "unsqueeze_copy")
def _(input, dim):
    return Call("unsqueeze", [input], dim=dim)


@on("unbind", "unbind_copy")
def _(input, dim=0):
    return Call("unbind", [input], dim=dim)


@on("sum_to_size")
def _(input, *size):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return Call("sum_to", [input], size=list(size))


@on("select")
def _(input, dim, index):
    return Call("select", [input], dim=dim, index=index)


def slice_args(n, dim, one):
    """The argument `slices` that takes `one` = (kind, start, stop, step) along an axis."""
    out = []
    for k in range(n):
        out += list(one) if k == dim % n else [1, KALL, KALL, 1]
    return out


def range_args(n, dim, start, end, step):
    return slice_args(n, dim, (1, KALL if start is None else start, KALL if end is None else end, step))


@on("select_scatter")
def _(input, src, dim, index):
    return Call("slice_update", [input, src], slices=slice_args(input.dim(), dim, (0, index, 0, 0)))


@on("slice")
def _(input, dim=0, start=None, end=None, step=1):
    return Call("slice", [input], slices=range_args(input.dim(), dim, start, end, step))


@on("slice_scatter")
def _(input, src, dim=0, start=None, end=None, step=1):
    return Call("slice_update", [input, src], slices=range_args(input.dim(), dim, start, end, step))


def entries_of(index):
    """The entries of x(...) and their tensors, as operations/index.cpp reads them."""
    entries, tensors = [], []
    for i in index:
        if isinstance(i, list):
            i = torch.tensor(i)
        need(not isinstance(i, bool), "a bool as index")
        if i is None:
            entries += [2, 0, 0, 0]
        elif i is Ellipsis:
            entries += [3, 0, 0, 0]
        elif isinstance(i, slice):
            bounds = [KALL if v is None else int(v) for v in (i.start, i.stop)]
            entries += [1, *bounds, 1 if i.step is None else int(i.step)]
        elif is_t(i):
            entries += [4, 0, 0, 0]
            tensors.append(i)
        else:
            entries += [0, int(i), 0, 0]
    return entries, tensors


@on("__getitem__")
def _(input, index):
    entries, tensors = entries_of(index if isinstance(index, tuple) else (index,))
    return Call("getitem", [input] + tensors, entries=entries)
