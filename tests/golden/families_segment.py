"""Segments, sparse matrices, linear recurrences, sets and counts."""
import torch

from golden_file import *


def spread_over(index, x):
    return index.reshape(-1, *[1] * (x.dim() - 1)).expand(x.shape)


def reduced(kind, x, index, segments):
    if kind in ("amax", "amin"):
        ends = {F32: INF, F64: INF}.get(x.dtype, torch.iinfo(I64).max)
        start = ends if kind == "amin" else -INF if x.dtype in FLOATS else torch.iinfo(I64).min
    else:
        start = 0
    into = torch.full((segments, *x.shape[1:]), start, dtype=x.dtype)
    return into.scatter_reduce(0, spread_over(index, x), x, kind, include_self=False) if x.numel() else into


def segment():
    f = Family("segment")

    def logsumexp(x, i, n):
        top = reduced("amax", x.detach(), i, n)
        top = torch.where(top.isinf(), torch.zeros_like(top), top)
        return reduced("sum", (x - top[i]).exp(), i, n).log() + top

    def softmax(x, i, n):
        e = (x - reduced("amax", x.detach(), i, n)[i]).exp()
        return e / reduced("sum", e, i, n)[i]

    kinds = {"segment_sum": lambda x, i, n: reduced("sum", x, i, n), "segment_mean": lambda x, i, n: reduced("mean", x, i, n),
             "segment_max": lambda x, i, n: reduced("amax", x, i, n), "segment_min": lambda x, i, n: reduced("amin", x, i, n),
             "segment_logsumexp": logsumexp, "segment_softmax": softmax}
    for dtype in (F32, F64, I64):
        for op, reference in kinds.items():
            grad = dtype in FLOATS
            if not grad and op not in ("segment_sum", "segment_max", "segment_min"):
                continue

            def case(x, index, n, label=""):
                f.case(op, lambda x, i: reference(x, i, n), [x, index], grad=grad and math.prod((x.values if isinstance(x, Laid) else x).shape) > 0,
                       label=label, segments=n)

            for x in layouts(rand(7, 3, dtype=dtype)):
                case(x, torch.tensor([2, 0, 5, 2, 2, 0, 3]), 6, "layouts")
            for shape in ((7,), (7, 1), (7, 2, 3), (7, 16), (7, 33), (7, 130)):
                case(rand(*shape, dtype=dtype), torch.tensor([2, 0, 5, 2, 2, 0, 3]), 6)
            case(rand(90, 5, dtype=dtype), torch.randint(0, 12, (90,)), 12, "many")
            case(rand(90, dtype=dtype), torch.randint(0, 12, (90,)).sort().values, 12, "sorted")
            case(rand(600, 2, dtype=dtype), torch.zeros(600, dtype=I64), 1, "one segment")
            case(rand(3, 2, dtype=dtype), strided(torch.tensor([1, 0, 1])), 2, "strided index")
            case(rand(0, 2, dtype=dtype), torch.zeros(0, dtype=I64), 3, "no rows")
            case(rand(3, 0, dtype=dtype), torch.tensor([1, 0, 1]), 2, "no columns")
            ties = torch.tensor([[1, 2], [1, 3], [0, 3], [1, -1], [1, 3]]).to(dtype)
            case(ties, torch.tensor([1, 1, 0, 1, 0]), 2, "ties")
            if grad:
                case(rand(6, 4, dtype=dtype) * 200, torch.tensor([1, 1, 0, 1, 0, 0]), 2, "large")
    for dtype in FLOATS:
        x = torch.tensor([[1, 2, -INF], [INF, NAN, -INF], [3, 4, 5], [-1, -INF, NAN]], dtype=dtype)
        for op, reference in kinds.items():
            if op != "segment_softmax":
                f.case(op, lambda x, i: reference(x, i, 2), [x, torch.tensor([0, 0, 1, 1])], label="NaN and infinities", segments=2)
    return f


def sparse():
    f = Family("sparse")

    def places(rows, columns):
        filled = torch.rand(rows, columns) < 0.3
        filled[rows // 2] = False
        return torch.cat([torch.zeros(1, dtype=I64), filled.sum(1).cumsum(0)]), filled.nonzero()[:, 1].contiguous()

    def rows_of(offsets):
        return torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())

    def product(offsets, columns, values, dense):
        matrix = torch.zeros(len(offsets) - 1, dense.shape[0], dtype=dense.dtype)
        return matrix.index_put((rows_of(offsets), columns), values, accumulate=True) @ dense

    def sampled(offsets, columns, left, right):
        return (left[rows_of(offsets)] * right[columns]).sum(1)

    for dtype in FLOATS:
        for m, k, c in ((4, 5, 3), (1, 1, 1), (7, 3, 16), (9, 20, 33), (30, 17, 130), (3, 4, 0)):
            offsets, columns = places(m, k)
            value = lambda *shape: rand(*shape, dtype=dtype)
            f.case("sparse_matmul", product, [offsets, columns, value(len(columns)), value(k, c)], grad=c > 0)
            f.case("sampled_matmul", sampled, [offsets, columns, value(m, c), value(k, c)], grad=c > 0)
            f.case("sparse_matmul", product, [offsets, columns, value(len(columns)), value(k)], grad=True, label="vector")
        offsets, columns = places(6, 5)
        again = columns % 2
        for x in layouts(rand(5, 7, dtype=dtype)):
            f.case("sparse_matmul", product, [strided(offsets), strided(again), strided(rand(len(columns), dtype=dtype)), x], grad=True, label="repeated columns")
            f.case("sampled_matmul", sampled, [offsets, again, transposed(rand(6, 7, dtype=dtype)), x], grad=True, label="repeated columns")
    return f


def linear_scan():
    f = Family("linear_scan")

    def scan(axis, reverse):
        def run(a, b, initial=None):
            a, b = torch.broadcast_tensors(a, b)
            state, steps = initial, []
            for t in range(b.shape[axis])[::-1 if reverse else 1]:
                term = b.select(axis, t)
                state = term if state is None else a.select(axis, t) * state + term
                steps.append(state)
            return torch.stack(steps[::-1] if reverse else steps, axis)

        return run

    for dtype in FLOATS:
        for reverse in (False, True):
            def case(inputs, axis, label=""):
                f.case("linear_scan", scan(axis, reverse), inputs, grad=True, label=label, axis=axis, reverse=reverse)

            for x in layouts(rand(5, 4, dtype=dtype, low=-1, high=1)):
                for axis in (0, 1):
                    case([x, transposed(rand(5, 4, dtype=dtype))], axis, "layouts")
                    case([rand(5, 4, dtype=dtype), x, rand(4 if axis == 0 else 5, dtype=dtype)], axis, "layouts")
            for shape, axis, state in (((9,), 0, ()), ((20, 33), 0, (33,)), ((33, 20), -1, (33,)), ((2, 7, 5), 1, (2, 5)), ((3, 1, 9), 1, (3, 9)),
                                       ((1, 3, 530), 1, (1, 530))):
                low, high = (-1, 1)
                case([rand(*shape, dtype=dtype, low=low, high=high), rand(*shape, dtype=dtype)], axis)
                case([rand(*shape, dtype=dtype, low=low, high=high), rand(*shape, dtype=dtype), rand(*state, dtype=dtype)], axis)
            case([torch.tensor(0.9, dtype=dtype), rand(2, 6, dtype=dtype), rand(2, dtype=dtype)], 1, "broadcast")
            case([rand(3, 1, 2, dtype=dtype), rand(4, 1, dtype=dtype), rand(dtype=dtype)], 1, "broadcast")
    return f


def selective_scan():
    f = Family("selective_scan")

    def run(u, delta, a, b, c, d=None):
        h, steps = 0, []
        for t in range(u.shape[1]):
            h = torch.exp(delta[:, t, :, None] * a) * h + (delta * u)[:, t, :, None] * b[:, t, None]
            steps.append((h * c[:, t, None]).sum(-1))
        y = torch.stack(steps, 1)
        return y if d is None else y + u * d

    for dtype in FLOATS:
        for batch, length, width, states in ((1, 1, 1, 1), (2, 7, 5, 3), (1, 40, 17, 4), (3, 5, 2, 33)):
            def drawn(*shape, **options):
                return rand(*shape, dtype=dtype, **options)

            inputs = [drawn(batch, length, width), drawn(batch, length, width, low=0, high=1), drawn(width, states, low=-2, high=0),
                      drawn(batch, length, states), drawn(batch, length, states)]
            f.case("selective_scan", run, inputs, grad=True)
            f.case("selective_scan", run, [*inputs, drawn(width)], grad=True, label="skip")
            f.case("selective_scan", run, [transposed(drawn(batch, length, width)), *inputs[1:2], transposed(inputs[2]), *inputs[3:], drawn(width)],
                   grad=True, label="layouts")
    return f


def sets():
    f = Family("sets")

    def unique(x):
        return torch.unique(x, return_inverse=True, return_counts=True)

    def consecutive(x):
        return torch.unique_consecutive(x, return_inverse=True, return_counts=True)

    for dtype in (F32, F64, I64):
        for shape in ((), (9,), (40,), (5, 6), (2, 3, 4), (0,), (3, 0)):
            x = torch.randint(-3, 4, shape).to(dtype)
            f.case("unique", unique, [x])
            if shape != ():  # PyTorch 2.15 has no inverse of a scalar there
                f.case("unique_consecutive", consecutive, [x])
        for x in layouts(torch.randint(-2, 3, (4, 5)).to(dtype)):
            f.case("unique", unique, [x], label="layouts")
            f.case("unique_consecutive", consecutive, [x], label="layouts")
            for axis in (0, 1, -1):
                for down in (False, True):
                    f.case("argsort", lambda x: torch.argsort(x, dim=axis, descending=down, stable=True), [x], axis=axis, descending=down)
            row = torch.tensor([-2, -1, -1, 0, 2, 2]).to(dtype)
            for right in (False, True):
                f.case("bucketize", lambda x, b: torch.bucketize(x, b, right=right), [x, row], right=right)
                f.case("searchsorted", lambda s, x: torch.searchsorted(s, x, right=right), [row, x], right=right)
                f.case("searchsorted", lambda s, x: torch.searchsorted(s, x, right=right), [strided(row.expand(4, 6).add(torch.arange(4).reshape(4, 1))), x],
                       right=right)
                f.case("searchsorted", lambda s, x: torch.searchsorted(s, x, right=right), [row[:0], x], label="of nothing", right=right)
    for n in (0, 1, 12):
        x = torch.randint(0, 7, (n,))
        for minimum in (0, 3, 10):
            f.case("bincount", lambda x: torch.bincount(x, minlength=minimum), [x], minimum=minimum)
            for dtype in FLOATS if n else ():  # without elements PyTorch's result is int64
                f.case("bincount", lambda x, w: torch.bincount(x, w, minlength=minimum), [x, strided(rand(n, dtype=dtype))], minimum=minimum)
    for dtype in FLOATS:
        def histogram(x, *bins, weight=None, **options):
            counts, edges = torch.histogram(x.contiguous(), *bins, weight=weight, **options)
            return counts if weight is not None else counts.long(), edges

        for x in layouts(rand(6, 10, dtype=dtype)):
            w = rand(6, 10, dtype=dtype)
            for bins in (1, 4, 7):
                f.case("histogram", lambda x: histogram(x, bins), [x], bins=bins)
                f.case("histogram", lambda x: histogram(x, bins, range=(-1.0, 0.5)), [x], bins=bins, low=-1.0, high=0.5)
                f.case("histogram", lambda x, w: histogram(x, bins, weight=w), [x, w], bins=bins)
            edges = torch.tensor([-2, -0.5, 0, 0.25, 1.5], dtype=dtype)
            f.case("histogram", lambda x, e: histogram(x, e), [x, edges], label="edges")
            f.case("histogram", lambda x, e, w: histogram(x, e, weight=w), [x, edges, w], label="edges")
        whole = torch.tensor([0, 1, 2, 3, 4, 4, 2, 0, 5, -1], dtype=dtype)
        f.case("histogram", lambda x: histogram(x, 4, range=(0.0, 4.0)), [whole], label="on edges", bins=4, low=0.0, high=4.0)
        f.case("histogram", lambda x: histogram(x, 3), [torch.full((5,), 2.0, dtype=dtype)], label="one value", bins=3)
    return f


FAMILIES = (segment, sparse, linear_scan, selective_scan, sets)
