"""Matrix products, views, indexing, orders, softmax, norms, dropout, attention, losses and factories."""
import math

import torch
import torch.nn.functional as F

from golden_file import *


def matmul():
    f = Family("matmul")
    pairs = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)),
             ((5, 1, 2, 3), (6, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((1, 1), (1, 1)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0)),
             ((0, 2, 3), (3, 4)), ((0,), (0,)), ((17, 33), (33, 19)), ((4, 20, 32), (4, 32, 20)), ((2, 7, 64), (64, 7)), ((24, 40), (40, 30))]
    for dtype in FLOATS:
        for a, b in pairs:
            f.case("matmul", torch.matmul, [rand(*a, dtype=dtype, low=-1, high=1), rand(*b, dtype=dtype, low=-1, high=1)],
                   grad=math.prod(a) + math.prod(b) < 5000)
        for a in layouts(rand(6, 7, dtype=dtype)):
            for b in layouts(rand(7, 5, dtype=dtype)):
                f.case("matmul", torch.matmul, [a, b], grad=True, label="layouts")
        for a in layouts(rand(2, 6, 7, dtype=dtype)):
            for b in layouts(rand(2, 7, 5, dtype=dtype)):
                f.case("matmul", torch.matmul, [a, b], grad=True, label="batched layouts")
        f.case("matmul", torch.matmul, [expanded(rand(1, 4, 3, dtype=dtype), 5, 4, 3), expanded(rand(3, 1, dtype=dtype), 5, 3, 2)], grad=True,
               label="expanded")
        f.case("matmul", torch.matmul, [strided(rand(7, dtype=dtype)), reversed_(rand(7, dtype=dtype))], grad=True, label="strided vectors")
        f.case("matmul", torch.matmul, [transposed(rand(6, 7, dtype=dtype)), reversed_(rand(7, dtype=dtype))], grad=True, label="strided vectors")
        x = rand(4, 5, dtype=dtype)
        x[1, 2], x[2, 3] = NAN, INF
        f.case("matmul", torch.matmul, [x, rand(5, 3, dtype=dtype, low=0.5)], label="NaN and infinity")
        for shape in ((5,), (3, 5), (2, 3, 5), (0, 5), (2, 2, 3, 5), (40, 5)):
            for bias in (True, False):
                inputs = [rand(*shape, dtype=dtype), rand(4, 5, dtype=dtype)] + ([rand(4, dtype=dtype)] if bias else [])
                f.case("linear", F.linear, inputs, grad=True)
        for x in layouts(rand(6, 7, dtype=dtype)):
            for w in layouts(rand(5, 7, dtype=dtype)):
                f.case("linear", F.linear, [x, w, strided(rand(5, dtype=dtype))], grad=True, label="layouts")
    return f


def views():
    f = Family("views")
    for dtype in (F32, F64, I64, BOOL):
        grad = dtype in FLOATS
        for x in layouts(rand(2, 3, 4, dtype=dtype)):
            for shape in ((24,), (6, 4), (2, 12), (4, 3, 2), (2, 3, 2, 2), (-1, 8), (2, 3, 4, 1)):
                f.case("reshape", lambda x: x.reshape(shape), [x], grad=grad, shape=list(shape))
            f.case("flatten", torch.flatten, [x], grad=grad, first=0, last=-1)
            f.case("flatten", lambda x: torch.flatten(x, 1), [x], grad=grad, first=1, last=-1)
            f.case("flatten", lambda x: torch.flatten(x, 0, -2), [x], grad=grad, first=0, last=-2)
            for a, b in ((0, 1), (1, 2), (0, -1), (1, 1)):
                f.case("transpose", lambda x: x.transpose(a, b), [x], grad=grad, a=a, b=b)
            for axes in ((2, 0, 1), (0, 1, 2), (-1, 1, 0)):
                f.case("permute", lambda x: x.permute(axes), [x], grad=grad, axes=list(axes))
            for axis, cut in ((0, slice(1, None)), (1, slice(None, None, 2)), (2, slice(None, None, -1)), (2, slice(3, 0, -2)), (2, slice(-3, -1)),
                              (1, slice(2, 1)), (2, slice(1, 100)), (2, slice(-100, 2)), (1, slice(None, 0, -1)), (0, slice(5, None))):
                order = torch.arange(x.values.shape[axis]).numpy()[cut].copy()
                args = {k: v for k, v in (("start", cut.start), ("stop", cut.stop)) if v is not None}
                f.case("slice", lambda x: x.index_select(axis, torch.from_numpy(order)), [x], grad=grad, axis=axis, step=cut.step or 1, **args)
            for axis, index in ((0, 1), (1, -1), (-1, 2)):
                f.case("select", lambda x: x.select(axis, index), [x], grad=grad, axis=axis, index=index)
            for axis in (0, 1, 3, -1):
                f.case("unsqueeze", lambda x: x.unsqueeze(axis), [x], grad=grad, axis=axis)
            f.case("contiguous", lambda x: x.contiguous(), [x], grad=grad)
            f.case("detach", lambda x: x.detach(), [x])
            for to in (F32, F64, I64, BOOL):
                f.case("to", lambda x: x.to(to), [x], grad=grad and to in FLOATS, dtype=NAMES[to])
        for shape, to in (((3,), (2, 3)), ((1, 3), (4, 3)), ((2, 1, 3), (2, 5, 3)), ((), (2, 2)), ((1,), (0,)), ((2, 1), (3, 2, 4)), ((2, 3), (-1, 3))):
            f.case("expand", lambda x: x.expand(to), [rand(*shape, dtype=dtype)], grad=grad, shape=list(to))
        f.case("squeeze", lambda x: x.squeeze(1), [rand(2, 1, 3, dtype=dtype)], grad=grad, axis=1)
        f.case("squeeze", lambda x: x.squeeze(-1), [rand(2, 1, dtype=dtype)], grad=grad, axis=-1)
        f.case("squeeze", lambda x: x.squeeze(), [rand(1, 2, 1, 3, 1, dtype=dtype)], grad=grad)
        f.case("reshape", lambda x: x.reshape(0, 5), [rand(0, 3, dtype=dtype)], grad=grad, shape=[0, 5])
        f.case("reshape", lambda x: x.reshape(()), [rand(1, 1, dtype=dtype)], grad=grad, shape=[])
    return f


def join():
    f = Family("join")
    for dtype in (F32, F64, I64, BOOL):
        grad = dtype in FLOATS
        for shapes, axis in ((((2, 3), (2, 3)), 0), (((2, 3), (2, 1), (2, 4)), 1), (((2, 3), (0, 3)), 0), (((2, 1, 3), (2, 2, 3)), -2), (((3,),), 0)):
            f.case("cat", lambda *x: torch.cat(x, axis), [rand(*s, dtype=dtype) for s in shapes], grad=grad, axis=axis)
        for x in layouts(rand(3, 4, dtype=dtype)):
            f.case("cat", lambda *x: torch.cat(x, 1), [x, transposed(rand(3, 2, dtype=dtype)), expanded(rand(1, 2, dtype=dtype), 3, 2)], grad=grad,
                   label="layouts", axis=1)
            f.case("stack", lambda *x: torch.stack(x, 1), [x, transposed(rand(3, 4, dtype=dtype))], grad=grad, label="layouts", axis=1)
            f.case("split", lambda x: torch.split(x, 3, 1), [x], grad=grad, label="layouts", size=3, axis=1)
            f.case("chunk", lambda x: torch.chunk(x, 2, 1), [x], grad=grad, label="layouts", count=2, axis=1)
            f.case("narrow", lambda x: torch.narrow(x, 1, 1, 2), [x], grad=grad, label="layouts", axis=1, start=1, length=2)
            for axes in ([0], [1], [0, 1], [-1]):
                f.case("flip", lambda x: torch.flip(x, axes), [x], grad=grad, label="layouts", axes=axes)
        for shape, axis in (((), 0), ((3,), 0), ((3,), -1), ((2, 3), 2), ((0,), 0)):
            f.case("stack", lambda *x: torch.stack(x, axis), [rand(*shape, dtype=dtype) for _ in range(3)], grad=grad, axis=axis)
        for size, axis in ((2, 0), (5, 0), (7, 0), (1, 1)):
            f.case("split", lambda x: torch.split(x, size, axis), [rand(5, 3, dtype=dtype)], grad=grad, size=size, axis=axis)
        f.case("split", lambda x: torch.split(x, [1, 0, 4], 0), [rand(5, 3, dtype=dtype)], grad=grad, sizes=[1, 0, 4], axis=0)
        for count in (1, 2, 3, 5):
            f.case("chunk", lambda x: torch.chunk(x, count, 0), [rand(5, 3, dtype=dtype)], grad=grad, count=count, axis=0)
        f.case("narrow", lambda x: torch.narrow(x, 0, 2, 0), [rand(5, 3, dtype=dtype)], grad=grad, axis=0, start=2, length=0)
        f.case("flip", lambda x: torch.flip(x, [0]), [rand(0, 3, dtype=dtype)], axes=[0])
    return f


def index():
    f = Family("index")
    for dtype in (F32, F64, I64):
        grad = dtype in FLOATS
        for x in layouts(rand(4, 5, dtype=dtype)):
            for axis in (0, 1, -1):
                f.case("index_select", lambda x, i: x.index_select(axis, i), [x, torch.tensor([2, 0, 2, 3])], grad=grad, axis=axis)
            f.case("index_select", lambda x, i: x.index_select(0, i), [x, torch.tensor([], dtype=I64)], grad=grad, axis=0)
            for axis, i in ((0, torch.randint(0, 4, (6, 5))), (1, torch.randint(0, 5, (4, 7))), (1, torch.randint(0, 5, (2, 3))), (0, torch.zeros(0, 5, dtype=I64))):
                f.case("gather", lambda x, i: x.gather(axis, i), [x, i], grad=grad, axis=axis)
            f.case("gather", lambda x, i: x.gather(1, i), [x, transposed(torch.randint(0, 5, (4, 3)))], grad=grad, label="layouts", axis=1)
            for axis, i in ((0, torch.randint(0, 4, (6, 5))), (1, torch.randint(0, 5, (4, 7)))):
                f.case("scatter_add", lambda x, i, s: x.scatter_add(axis, i, s), [x, i, strided(rand(*i.shape, dtype=dtype))], grad=grad, axis=axis)
        f.case("gather", lambda x, i: x.gather(0, i), [rand(dtype=dtype).reshape(1), torch.zeros(3, dtype=I64)], grad=grad, axis=0)
        f.case("index_select", lambda x, i: x.index_select(1, i), [rand(2, 3, 4, dtype=dtype), torch.tensor([1])], grad=grad, axis=1)
    for shape in ((), (5,), (2, 3), (0,)):
        f.case("one_hot", lambda i: F.one_hot(i, 4), [torch.randint(0, 4, shape)], classes=4)
    for dtype in FLOATS:
        for shape in ((), (5,), (2, 3), (0,), (2, 2, 2)):
            f.case("embedding", lambda w, i: F.embedding(i, w), [rand(6, 3, dtype=dtype), torch.randint(0, 6, shape)], grad=True)
            f.case("embedding", lambda w, i: F.embedding(i, w, 2), [rand(6, 3, dtype=dtype), torch.randint(0, 6, shape)], grad=True, padding=2)
        f.case("embedding", lambda w, i: F.embedding(i, w), [transposed(rand(6, 3, dtype=dtype)), transposed(torch.randint(0, 6, (4, 3)))], grad=True)
        s = specials(dtype)
        f.case("index_select", lambda x, i: x.index_select(0, i), [s, torch.randint(0, 53, (60,))], label="specials", axis=0)
        f.case("gather", lambda x, i: x.gather(0, i), [s, torch.randint(0, 53, (60,))], label="specials", axis=0)
    return f


def order():
    f = Family("order")
    for dtype in (F32, F64, I64):
        grad = dtype in FLOATS
        make = lambda *shape: distinct(*shape, dtype=dtype) if grad else torch.randperm(math.prod(shape)).reshape(shape)
        for x in layouts(make(3, 4, 5)):
            for axis in (0, 1, -1):
                for down in (False, True):
                    f.case("sort", lambda x: tuple(torch.sort(x, dim=axis, descending=down, stable=True)),
                           [x], grad=grad, axis=axis, descending=down)
                    f.case("topk", lambda x: tuple(torch.topk(x, 2, axis, down)), [x], grad=grad, axis=axis, k=2, largest=down)
        f.case("sort", lambda x: tuple(torch.sort(x, dim=0, stable=True)), [torch.tensor([2, 1, 2, 1, 2, 0, 1]).to(dtype)], label="ties", axis=0, descending=False)
        f.case("sort", lambda x: tuple(torch.sort(x, dim=0, descending=True, stable=True)), [torch.tensor([2, 1, 2, 1, 2, 0, 1]).to(dtype)], label="ties",
               axis=0, descending=True)
        f.case("sort", lambda x: tuple(torch.sort(x, dim=1, stable=True)), [make(2, 300)], label="many", axis=1, descending=False)
        f.case("sort", lambda x: tuple(torch.sort(x, dim=0, stable=True)), [make(0, 3)], axis=0, descending=False)
        f.case("topk", lambda x: tuple(torch.topk(x, 7, 1)), [make(2, 300)], label="many", axis=1, k=7, largest=True)
        f.case("topk", lambda x: tuple(torch.topk(x, 0, 0)), [make(4)], axis=0, k=0, largest=True)
        f.case("topk", lambda x: tuple(torch.topk(x, 4, 0, False)), [make(4)], axis=0, k=4, largest=False)
    for dtype in FLOATS:
        x = torch.tensor([1.0, NAN, -INF, INF, -2.0, 0.5], dtype=dtype)
        for down in (False, True):
            f.case("sort", lambda x: tuple(torch.sort(x, dim=0, descending=down, stable=True)), [x], label="NaN and infinities", axis=0, descending=down)
            f.case("topk", lambda x: tuple(torch.topk(x, 3, 0, down)), [x], label="NaN and infinities", axis=0, k=3, largest=down)
    return f


def softmax():
    f = Family("softmax")
    for op, reference in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        for dtype in FLOATS:
            for shape in ((5,), (3, 5), (2, 3, 4), (1,), (0, 3), (3, 0), (2, 67), (67, 2), (2, 300)):
                for axis in range(len(shape)):
                    f.case(op, lambda x: reference(x, axis), [rand(*shape, dtype=dtype)], grad=True, axis=axis)
            for x in layouts(rand(3, 4, 5, dtype=dtype)):
                for axis in (0, -1):
                    f.case(op, lambda x: reference(x, axis), [x], grad=True, label="layouts", axis=axis)
            f.case(op, lambda x: reference(x, -1), [expanded(rand(4, 1, dtype=dtype), 4, 6)], grad=True, label="expanded", axis=-1)
            f.case(op, lambda x: reference(x, -1), [torch.tensor([[1e4, 1e4 + 3, -1e4], [-1e30, 0.0, 1.0], [-200.0, -100.0, -101.0]], dtype=dtype)], label="large", axis=-1)
            f.case(op, lambda x: reference(x, -1), [torch.tensor([[-INF, 0.5, 1.0], [-INF, -INF, 3.0], [NAN, 1.0, 2.0]], dtype=dtype)],
                   label="NaN and -inf", axis=-1)
    return f


def norm():
    f = Family("norm")

    def layer_norm(eps):
        return lambda x, w=None, b=None: F.layer_norm(x, w.shape if w is not None else x.shape[-1:], w, b, eps)

    def layer_norm_std(eps):  # section 8.4.1
        return lambda x, g, b: g * (x - x.mean(-1, keepdim=True)) / (x.std(-1, unbiased=False, keepdim=True) + eps) + b

    def rms_norm(eps):
        return lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w

    for dtype in FLOATS:
        for shape in ((5,), (3, 5), (2, 3, 4), (0, 5), (3, 67), (40, 16)):
            n = shape[-1]
            x = rand(*shape, dtype=dtype)
            w, b = rand(n, dtype=dtype, low=0.5), rand(n, dtype=dtype)
            f.case("layer_norm", layer_norm(1e-5), [x], grad=True, eps=1e-5)
            f.case("layer_norm", layer_norm(1e-5), [x, w], grad=True, eps=1e-5)
            f.case("layer_norm", layer_norm(1e-3), [x, w, b], grad=True, eps=1e-3)
            f.case("layer_norm_std", layer_norm_std(1e-6), [x, w, b], grad=True, eps=1e-6)
            f.case("rms_norm", rms_norm(1e-6), [x, w], grad=True, eps=1e-6)
        w = rand(3, 4, dtype=dtype, low=0.5)
        f.case("layer_norm", layer_norm(1e-5), [rand(2, 3, 4, dtype=dtype), w, rand(3, 4, dtype=dtype)], grad=True, label="two axes", eps=1e-5)
        for x in layouts(rand(4, 6, dtype=dtype)):
            w, b = strided(rand(6, dtype=dtype, low=0.5)), reversed_(rand(6, dtype=dtype))
            f.case("layer_norm", layer_norm(1e-5), [x, w, b], grad=True, label="layouts", eps=1e-5)
            f.case("layer_norm_std", layer_norm_std(1e-6), [x, w, b], grad=True, label="layouts", eps=1e-6)
            f.case("rms_norm", rms_norm(1e-6), [x, w], grad=True, label="layouts", eps=1e-6)
        x = rand(4, 6, dtype=dtype)
        x[0], x[1, 1], x[2, 2] = 3.0, NAN, INF
        w, b = rand(6, dtype=dtype, low=0.5), rand(6, dtype=dtype)
        f.case("layer_norm", layer_norm(1e-5), [x, w, b], label="constant row, NaN, infinity", eps=1e-5)
        f.case("layer_norm_std", layer_norm_std(1e-6), [x, w, b], label="constant row, NaN, infinity", eps=1e-6)
        f.case("rms_norm", rms_norm(1e-6), [x, w], label="constant row, NaN, infinity", eps=1e-6)
        f.case("layer_norm", layer_norm(1e-5), [rand(3, 50, dtype=dtype) + 10, rand(50, dtype=dtype)], label="far from zero", eps=1e-5)
    return f


def dropout():
    f = Family("dropout")

    def reference(p, seed, training=True):
        def run(x):
            torch.manual_seed(seed)
            return F.dropout(x, p, training), torch.rand(3)  # and where the generator stands afterwards
        return run

    for dtype in FLOATS:
        for shape in ((), (7,), (3, 5), (0,), (20, 10)):
            x = rand(*shape, dtype=dtype)
            for p in (0.1, 0.5):
                f.case("dropout", reference(p, 5), [x], grad=True, p=p, seed=5, training=True)
        x = rand(3, 5, dtype=dtype)
        for p in (0.0, 1.0):
            f.case("dropout", reference(p, 6), [x], grad=True, p=p, seed=6, training=True)
        f.case("dropout", reference(0.5, 7, False), [x], grad=True, p=0.5, seed=7, training=False)
        for x in layouts(rand(4, 5, dtype=dtype)):
            f.case("dropout", reference(0.3, 123), [x], grad=True, label="layouts", p=0.3, seed=123, training=True)
    return f


def attention():
    f = Family("attention")

    def reference(causal=False, scale=None):
        def run(q, k, v, mask=None):
            s = q @ k.transpose(-1, -2) * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
            hidden = torch.zeros(s.shape, dtype=torch.bool)
            if causal:
                hidden = hidden | torch.ones(s.shape[-2:], dtype=torch.bool).triu(1)
            if mask is not None and mask.dtype == BOOL:
                hidden = hidden | ~mask
            elif mask is not None:
                s = s + mask
            p = torch.softmax(s.masked_fill(hidden, -1e300 if s.dtype == F64 else -1e38), -1).masked_fill(hidden, 0.0)
            return p @ v, p.detach()
        return run

    for dtype in FLOATS:
        r = lambda *shape: rand(*shape, dtype=dtype)
        for batch, t, s, d, e in (((), 3, 3, 4, 4), ((2,), 3, 5, 4, 4), ((2, 3), 4, 4, 8, 8), ((1, 2), 5, 7, 4, 6), ((2,), 1, 9, 8, 8), ((0,), 3, 3, 4, 4),
                                  ((1, 2), 20, 20, 8, 8)):
            for op in ("scaled_dot_product_attention", "attention_with_weights")[: 1 if t > 9 else 2]:
                small = op.startswith("scaled")
                run = (lambda fn: lambda *x: fn(*x)[0]) if small else (lambda fn: fn)
                qkv = [r(*batch, t, d), r(*batch, s, d), r(*batch, s, e)]
                f.case(op, run(reference()), qkv, grad=True)
                f.case(op, run(reference(scale=0.3)), qkv, grad=True, scale=0.3)
                if t == s:
                    f.case(op, run(reference(causal=True)), qkv, grad=True, causal=True)
                mask = rand(t, s, dtype=BOOL)
                mask[0] = False  # the first query sees nothing
                f.case(op, run(reference()), qkv + [mask], grad=True, label="boolean mask")
                f.case(op, run(reference()), qkv + [r(t, s)], label="additive mask", grad=True)
                if len(batch) == 2:
                    keys = torch.arange(s)[None, None, None, :] < torch.tensor([s - 1] * batch[0])[:, None, None, None]
                    f.case(op, run(reference()), qkv + [keys], grad=True, label="keys' mask")
                    if t == s:
                        f.case(op, run(reference(causal=True)), qkv + [keys], grad=True, label="keys' mask, causal", causal=True)
        heads = [transposed(r(2, 3, 5, 4)), strided(r(2, 3, 5, 4)), reversed_(r(2, 3, 5, 4))]
        f.case("scaled_dot_product_attention", lambda *x: reference()(*x)[0], heads, grad=True, label="layouts")
        f.case("scaled_dot_product_attention", lambda *x: reference()(*x)[0], heads + [expanded(rand(1, 5, dtype=BOOL), 5, 5)], grad=True, label="layouts")
        hot = [r(2, 4, 4) * 60, r(2, 4, 4) * 60, r(2, 4, 4)]
        f.case("scaled_dot_product_attention", lambda *x: reference()(*x)[0], hot, label="large scores")
    return f


def loss():
    f = Family("loss")
    for dtype in FLOATS:
        for shape in ((5,), (4, 5), (2, 3, 5), (0, 5), (3, 67), (2, 200)):
            x, target = rand(*shape, dtype=dtype), torch.randint(0, shape[-1], shape[:-1])
            flat = lambda fn: lambda x, t: fn(x.reshape(-1, x.shape[-1]), t.reshape(-1))
            for reduction in ("mean", "sum", "none"):
                shaped = lambda fn: (lambda x, t: flat(fn)(x, t).reshape(t.shape)) if reduction == "none" else flat(fn)
                for smoothing in (0.0, 0.1):
                    f.case("cross_entropy", shaped(lambda x, t: F.cross_entropy(x, t, reduction=reduction, label_smoothing=smoothing)), [x, target],
                           grad=True, reduction=reduction, label_smoothing=smoothing)
                    if len(shape) > 1 and shape[0] > 1:
                        some = target.clone()
                        some.view(-1)[1] = -100
                        f.case("cross_entropy", shaped(lambda x, t: F.cross_entropy(x, t, reduction=reduction, label_smoothing=smoothing)), [x, some],
                               grad=True, label="ignored", reduction=reduction, label_smoothing=smoothing)
                some = target.clone()
                if some.numel() > 1:
                    some.view(-1)[0] = 0
                f.case("cross_entropy", shaped(lambda x, t: F.cross_entropy(x, t, reduction=reduction, ignore_index=0)), [x, some], grad=True,
                       label="ignored 0", reduction=reduction, ignore_index=0)
                lp = torch.log_softmax(x, -1)
                f.case("nll_loss", shaped(lambda x, t: F.nll_loss(x, t, reduction=reduction)), [lp, target], grad=True, reduction=reduction)
                f.case("nll_loss", shaped(lambda x, t: F.nll_loss(x, t, reduction=reduction, ignore_index=0)), [lp, some], grad=True, reduction=reduction,
                       ignore_index=0)
        f.case("cross_entropy", F.cross_entropy, [rand(3, 5, dtype=dtype), torch.full((3,), -100)], label="all ignored", reduction="mean")
        f.case("cross_entropy", F.cross_entropy, [torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, 1e4]], dtype=dtype), torch.tensor([1, 2])], grad=True,
               label="large", reduction="mean")
        f.case("cross_entropy", lambda x, t: F.cross_entropy(x, t, reduction="none"),
               [torch.tensor([[NAN, 1.0, 0.0], [-INF, 1.0, 2.0], [-INF, 1.0, 2.0]], dtype=dtype), torch.tensor([1, 2, 0])], label="NaN and -inf", reduction="none")
        for x in layouts(rand(4, 6, dtype=dtype)):
            f.case("cross_entropy", F.cross_entropy, [x, strided(torch.randint(0, 6, (4,)))], grad=True, label="layouts", reduction="mean")
        for reduction in ("mean", "sum", "none"):
            for shape in ((), (5,), (3, 4), (0,), (2, 300)):
                x, t = rand(*shape, dtype=dtype), rand(*shape, dtype=dtype)
                p = torch.rand(shape, dtype=F64).to(dtype)
                f.case("mse_loss", lambda x, t: F.mse_loss(x, t, reduction=reduction), [x, t], grad=True, reduction=reduction)
                f.case("binary_cross_entropy_with_logits", lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction=reduction), [x, p], grad=False,
                       reduction=reduction)
                f.case("binary_cross_entropy_with_logits", lambda x, t: F.binary_cross_entropy_with_logits(x, (t > 0.5).to(x.dtype), reduction=reduction),
                       [x, (p > 0.5).to(dtype)], reduction=reduction, label="0 and 1")
                f.case("kl_div", lambda x, t: F.kl_div(x, t, reduction=reduction), [x, p], reduction=reduction)
            for x in layouts(rand(3, 4, dtype=dtype)):
                p = transposed(torch.rand(3, 4, dtype=F64).to(dtype))
                f.case("mse_loss", lambda x, t: F.mse_loss(x, t, reduction=reduction), [x, p], grad=True, label="layouts", reduction=reduction)
                f.case("binary_cross_entropy_with_logits", lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction=reduction), [x, p], label="layouts",
                       reduction=reduction)
                f.case("kl_div", lambda x, t: F.kl_div(x, t, reduction=reduction), [x, p], label="layouts", reduction=reduction)
        f.case("kl_div", lambda x, t: F.kl_div(x, t, reduction="none"), [rand(3, dtype=dtype), torch.tensor([0.0, 0.5, 1.0], dtype=dtype)], label="target 0",
               reduction="none")
        f.case("binary_cross_entropy_with_logits", lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"),
               [torch.tensor([1e4, -1e4, 100.0, -100.0, 0.0, NAN, INF], dtype=dtype), torch.tensor([0.0, 1.0, 1.0, 0.0, 0.5, 0.5, 1.0], dtype=dtype)],
               label="large", reduction="none")
    return f


def factories():
    f = Family("factories")
    for dtype in FLOATS:
        for first, last, count in ((0, 1, 5), (-1, 1, 1), (0, 1, 0), (-3.3, 7.7, 100), (1, 0, 4)):
            f.case("linspace", lambda: torch.linspace(first, last, count, dtype=dtype), [], first=first, last=last, count=count, dtype=NAMES[dtype])
        for start, stop, step in ((0, 5, 1), (0, 1, 0.1), (5, 0, -2), (1, 1, 1), (0.5, 3.1, 0.5)):
            f.case("arange", lambda: torch.arange(start, stop, step, dtype=dtype), [], start=start, stop=stop, step=step, dtype=NAMES[dtype])
    for start, stop, step in ((0, 5, 1), (5, 0, -2), (2, 2, 1), (-3, 8, 4)):
        f.case("arange", lambda: torch.arange(start, stop, step), [], start=start, stop=stop, step=step, dtype="int64")
    for dtype in (F32, F64, I64, BOOL):
        for n in (0, 1, 4):
            f.case("eye", lambda: torch.eye(n, dtype=dtype), [], n=n, dtype=NAMES[dtype])
        for shape in ((), (0, 2), (2, 3)):
            f.case("zeros", lambda: torch.zeros(shape, dtype=dtype), [], shape=list(shape), dtype=NAMES[dtype])
            f.case("ones", lambda: torch.ones(shape, dtype=dtype), [], shape=list(shape), dtype=NAMES[dtype])
            f.case("full", lambda: torch.full(shape, 1, dtype=dtype), [], shape=list(shape), dtype=NAMES[dtype], value=1.0)
    return f


FAMILIES = (matmul, views, join, index, order, softmax, norm, dropout, attention, loss, factories)
