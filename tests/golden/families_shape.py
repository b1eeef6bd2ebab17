"""Diagonals, windows, repetition, padding, regions; reading and writing by index."""
import torch
import torch.nn.functional as F

from golden_file import *

NONE = slice(None)


def shape():
    f = Family("shape")
    for dtype in (F32, F64, I64, BOOL):
        grad = dtype in FLOATS
        r = lambda *shape: rand(*shape, dtype=dtype)
        for x in layouts(r(2, 3, 4)):
            for offset, a, b in ((0, 0, 1), (1, 1, 2), (-1, 2, 0), (2, -1, -2), (9, 0, 1), (-9, 0, 1)):
                f.case("diagonal", lambda x: torch.diagonal(x, offset, a, b), [x], grad=grad, offset=offset, axis1=a, axis2=b)
            for offset, a, b in ((0, -2, -1), (1, 0, 1), (-2, 3, 1)):
                f.case("diag_embed", lambda x: torch.diag_embed(x, offset, a, b), [x], grad=grad, offset=offset, axis1=a, axis2=b)
            for axis, size, step in ((2, 2, 1), (2, 3, 2), (1, 2, 1), (0, 1, 1), (-1, 2, 3), (-2, 3, 5), (2, 4, 1)):
                f.case("unfold", lambda x: x.unfold(axis, size, step), [x], grad=grad, axis=axis, size=size, step=step)
            for axis, sizes in ((2, (2, 2)), (-1, (-1, 2)), (0, (1, 2, 1)), (1, (-1,))):
                f.case("unflatten", lambda x: x.unflatten(axis, sizes), [x], grad=grad, axis=axis, sizes=list(sizes))
            for source, to in (((0,), (2,)), ((0, 1), (-1, 0)), ((2, 0, 1), (0, 1, 2)), ((-1,), (-3,))):
                f.case("movedim", lambda x: torch.movedim(x, source, to), [x], grad=grad, to=list(to), **{"from": list(source)})
            for counts in ((2, 1, 3), (3, 1, 2, 1), (1, 1, 1), (2, 0, 1)):
                f.case("repeat", lambda x: x.repeat(counts), [x], grad=grad, counts=list(counts))
            for counts in ((2,), (1, 3), (2, 2, 1, 1)):
                f.case("tile", lambda x: torch.tile(x, counts), [x], grad=grad, counts=list(counts))
            for axis, count in ((0, 2), (1, 3), (-1, 1), (1, 0)):
                f.case("repeat_interleave", lambda x: torch.repeat_interleave(x, count, axis), [x], grad=grad, axis=axis, count=count)
            f.case("repeat_interleave", lambda x: torch.repeat_interleave(x, 2), [x], grad=grad, count=2)
            f.case("repeat_interleave", lambda x, n: torch.repeat_interleave(x, n, 1), [x, torch.tensor([2, 0, 3])], grad=grad, axis=1)
            f.case("repeat_interleave", lambda x, n: torch.repeat_interleave(x, n, 1), [x, torch.tensor([2])], grad=grad, axis=1)
            f.case("repeat_interleave", lambda x, n: torch.repeat_interleave(x, n), [x, strided(torch.arange(24) % 3)], grad=grad)
            for shifts, axes in (((1,), (0,)), ((-1,), (2,)), ((5, -7), (1, 2)), ((0, 1), (0, -1)), ((1, 1), (2, 2))):
                f.case("roll", lambda x: torch.roll(x, shifts, axes), [x], grad=grad, shifts=list(shifts), axes=list(axes))
            f.case("roll", lambda x: torch.roll(x, -5), [x], grad=grad, shifts=[-5])
            for widths in ((1, 2), (0, 0), (3, 0, 1, 2), (1, 1, 0, 2, 1, 0), (0, 0, 2, 1), (-1, 2, 1, -2), (-1, -2), (-4, 0), (0, 0, 0, 0, 1, 1)):
                f.case("pad", lambda x: F.pad(x, widths, value=1), [x], grad=grad, widths=list(widths), value=1.0)
            for cut in ((1,), (NONE, slice(1, 3)), (NONE, 1, slice(None, None, 2)), (-1, NONE, slice(1, 4, 2)), (NONE, slice(2, 1)), (1, 2, 3), ()):
                args = {"slices": [[] if c == NONE else c if isinstance(c, int) else [c.start, c.stop, c.step] for c in cut]}
                f.case("slice", lambda x: x[cut], [x], grad=grad, **args)

                def update(x, y):
                    x = x.clone()
                    x[cut] = y
                    return x

                f.case("slice_update", update, [x, r(*x.values[cut].shape)], grad=grad, **args)
                f.case("slice_update", update, [x, r()], grad=grad, **args)
                f.case("slice_update", lambda x: update(x, 1), [x], grad=grad, value=1.0, **args)
        f.case("squeeze", lambda x: x.squeeze(3).squeeze(1), [r(2, 1, 3, 1)], grad=grad, axes=[1, -1])
        for n in (0, 1, 4):
            for offset in (0, 1, -2):
                f.case("diag", lambda x: torch.diag(x, offset), [r(n)], grad=grad, offset=offset)
        for m, n in ((3, 4), (4, 2)):
            for offset in (0, 1, -2):
                f.case("diag", lambda x: torch.diag(x, offset), [transposed(r(m, n))], grad=grad, offset=offset)
        f.case("diagonal", torch.diagonal, [r(0, 3)], grad=grad, offset=0, axis1=0, axis2=1)
        f.case("unfold", lambda x: x.unfold(0, 0, 1), [r(3)], axis=0, size=0, step=1)
        f.case("unfold", lambda x: x.unfold(0, 2, 1), [r(2, 0)], axis=0, size=2, step=1)
        f.case("unfold", lambda x: x.unfold(0, 7, 3), [r(40)], grad=grad, axis=0, size=7, step=3)
        f.case("repeat", lambda x: x.repeat(2, 3), [r()], grad=grad, counts=[2, 3])
        f.case("repeat", lambda x: x.repeat(2, 3), [r(0)], grad=grad, counts=[2, 3])
        f.case("roll", lambda x: torch.roll(x, 1), [r()], grad=grad, shifts=[1])
        f.case("roll", lambda x: torch.roll(x, 1, 0), [r(0, 2)], shifts=[1], axes=[0])
        f.case("pad", lambda x: F.pad(x, (2, 1), value=1), [r(0)], widths=[2, 1], value=1.0)
        for shapes in (((2,), (3,)), ((2,), (3,), (4,)), ((3,),), ((), (2,)), ((0,), (2,))):
            for indexing in ("ij", "xy"):
                vectors = [r(*s) for s in shapes]
                f.case("meshgrid", lambda *x: torch.meshgrid(*x, indexing=indexing), vectors, grad=grad, indexing=indexing)
    for dtype in FLOATS:
        for mode in ("reflect", "replicate", "circular"):
            for size, widths in (((2, 3, 5), (1, 2)), ((2, 3, 5), (4, 3)), ((2, 3, 5), (-1, 2)), ((2, 2, 4, 5), (1, 2, 3, 0)), ((1, 2, 4, 5), (0, 0, 1, 1)),
                                 ((1, 2, 3, 4, 3), (1, 2, 2, 1, 0, 2)), ((1, 2, 40, 70), (3, 3, 3, 3))):
                for x in layouts(rand(*size, dtype=dtype)) if len(size) == 4 and size[0] == 2 else [plain(rand(*size, dtype=dtype))]:
                    f.case("pad", lambda x: F.pad(x, widths, mode), [x], grad=True, widths=list(widths), mode=mode)
            f.case("pad", lambda x: F.pad(x, (5, 5), mode), [specials(dtype).reshape(1, 1, -1)], label="specials", widths=[5, 5], mode=mode)
        s = specials(dtype)
        f.case("pad", lambda x: F.pad(x, (1, 2), value=NAN), [s], label="specials", widths=[1, 2])
        f.case("pad", lambda x: F.pad(x, (1, 2), value=0.1), [s], label="specials", widths=[1, 2], value=0.1)
        f.case("roll", lambda x: torch.roll(x, 9), [s], label="specials", shifts=[9])
        f.case("diag", torch.diag, [s], label="specials", offset=0)
    return f


def scatter():
    f = Family("scatter")
    ids = lambda high, *shape: torch.randint(0, high, shape)
    distinct_ids = lambda high, rows, n: torch.stack([torch.randperm(high)[:n] for _ in range(rows)])
    for dtype in (F32, F64, I64, BOOL):
        grad = dtype in FLOATS
        r = lambda *shape: rand(*shape, dtype=dtype)
        for x in layouts(r(4, 5)):
            rows, columns = distinct_ids(4, 5, 3).t().contiguous(), distinct_ids(5, 4, 3)
            for axis, i in ((0, rows), (1, columns), (-1, columns[:2])):
                f.case("scatter", lambda x, i, s: x.scatter(axis, i, s), [x, i, r(4, 5)[: i.shape[0], : i.shape[1]]], grad=grad, axis=axis)
                f.case("scatter", lambda x, i: x.scatter(axis, i, 1), [x, i], grad=grad, axis=axis, value=1.0)
            f.case("scatter", lambda x, i, s: x.scatter(1, i, s[:4, :3]), [x, transposed(columns), strided(r(6, 7))], grad=grad, label="layouts", axis=1)
            f.case("scatter", lambda x, i, s: x.scatter(1, i, s), [x, ids(2, 4, 6), r(4, 6)], label="repeated", axis=1)
            for axis in (0, 1, -1):
                size = [4, 5]
                size[axis] = 3
                i = torch.tensor([2, 0, 3])
                f.case("index_copy", lambda x, i, s: x.index_copy(axis, i, s), [x, i, r(*size)], grad=grad, axis=axis)
                f.case("index_fill", lambda x, i: x.index_fill(axis, i, 1), [x, i], grad=grad, axis=axis, value=1.0)
                again = torch.tensor([2, 0, 2])
                f.case("index_copy", lambda x, i, s: x.index_copy(axis, i, s), [x, again, r(*size)], label="repeated", axis=axis)
                f.case("index_fill", lambda x, i: x.index_fill(axis, i, 0), [x, again], grad=grad, axis=axis, value=0.0)
                if dtype != BOOL:
                    f.case("index_add", lambda x, i, s: x.index_add(axis, i, s), [x, again, strided(r(*size))], grad=grad, axis=axis)
                    f.case("index_add", lambda x, i, s: x.index_add(axis, i, s, alpha=-2), [x, again, transposed(r(*size))], grad=grad, axis=axis, alpha=-2.0)
            f.case("index_copy", lambda x, i, s: x.index_copy(0, i, s), [x, torch.zeros(0, dtype=I64), r(0, 5)], grad=grad, axis=0)
            for axis, i in ((0, ids(4, 3, 5)), (1, ids(5, 4, 7)), (1, ids(5, 1, 2)), (0, ids(4, 6, 1))):
                f.case("take_along_axis", lambda x, i: torch.take_along_dim(x, i, axis), [x, i], grad=grad, axis=axis)
            f.case("take_along_axis", torch.take_along_dim, [x, ids(20, 3, 2)], grad=grad)
            for mask in (rand(4, 5, dtype=BOOL), rand(5, dtype=BOOL), rand(4, 1, dtype=BOOL), rand(2, 4, 5, dtype=BOOL), torch.zeros(4, 5, dtype=BOOL)):
                f.case("masked_select", torch.masked_select, [x, mask], grad=grad)
            f.case("nonzero", torch.nonzero, [Laid(x.values * rand(4, 5, dtype=BOOL))])
            f.case("nonzero", torch.nonzero, [x])
        for x in layouts(r(3, 4, 5)):
            i, j, k = torch.tensor([[2, -1], [0, 1]]), torch.tensor([3, -4]), torch.tensor(1)
            mask = rand(3, 4, dtype=BOOL)
            spread = [torch.randperm(3)[:2], torch.randperm(4)[:2]]
            for slots, tensors in (([1], [i]), ([1, 2], [i, j]), ([-1, 1], [j]), ([-1, 1, 2], [j, i]), ([1, -1, 2], [i, j]), ([1, 2, 3], [i, j, k]), ([1], [mask]),
                                   ([-1, 1], [rand(4, dtype=BOOL)]), ([1], [k]), ([1, 2], [transposed(i), strided(j)]), ([1], [torch.zeros(0, dtype=I64)]),
                                   ([1, 2], spread), ([1, -1, 2], spread)):
                laid = [t if isinstance(t, Laid) else Laid(t) for t in tensors]
                key = lambda t: tuple(NONE if s < 0 else t[s - 1] for s in slots)
                f.case("index", lambda x, *t: x[key(t)], [x, *laid], grad=grad, slots=slots)
                shape = x.values[key([t.values for t in laid])].shape

                def put(x, v, *t, accumulate=False):
                    x = x.clone()
                    if -1 in slots:  # torch.index_put takes no whole axes
                        if accumulate:
                            y = torch.zeros_like(x)
                            flat = torch.arange(x.numel()).reshape(x.shape)[key(t)].reshape(-1)
                            return x + y.reshape(-1).index_add(0, flat, v.expand(shape).reshape(-1)).reshape(x.shape)
                        x[key(t)] = v
                        return x
                    return x.index_put(key(t), v, accumulate)

                for values in (r(*shape), r()):
                    repeated = tensors is not spread
                    f.case("index_put", put, [x, values, *laid], grad=grad and not repeated, slots=slots, accumulate=False)
                    if dtype != BOOL:
                        f.case("index_put", lambda *a: put(*a, accumulate=True), [x, values, *laid], grad=grad, slots=slots, accumulate=True)
        for shape in ((), (0,), (2, 0), (1, 1)):
            f.case("nonzero", torch.nonzero, [r(*shape)])
        f.case("masked_select", torch.masked_select, [r(0), rand(1, dtype=BOOL)])
        f.case("masked_select", torch.masked_select, [r(), torch.tensor(True)])
        f.case("index_copy", lambda x, i, s: x.index_copy(1, i, s), [r(2, 3, 4), torch.tensor([1]), r(2, 1, 4)], grad=grad, axis=1)
    for dtype in FLOATS:
        s = specials(dtype)
        f.case("nonzero", torch.nonzero, [s], label="specials")
        f.case("masked_select", torch.masked_select, [s, rand(53, dtype=BOOL)], label="specials")
        f.case("scatter", lambda x, i, v: x.scatter(0, i, v), [rand(53, dtype=dtype), torch.randperm(53), s], label="specials", axis=0)
        f.case("index", lambda x, i: x[i], [s, torch.randint(-53, 53, (70,))], label="specials", slots=[1])
    return f


FAMILIES = (shape, scatter)
