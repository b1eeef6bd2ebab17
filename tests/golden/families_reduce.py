"""Norms, running results, extremes with positions, and the losses of elements and vectors."""
import torch
import torch.nn.functional as F

from golden_file import *

SHAPES = [((), None), ((5,), None), ((5,), [0]), ((3, 4), None), ((3, 4), [0]), ((3, 4), [1]), ((2, 3, 4), [0, 2]), ((2, 3, 4), [1]),
          ((2, 3, 4), [-1, -2]), ((67,), [0]), ((2, 67), [1]), ((67, 2), [0]), ((3, 0), [0])]


def norms():
    f = Family("norms")

    def norm(p, axes, keep):
        return lambda x: torch.linalg.vector_norm(x, p, dim=axes, keepdim=keep)

    for dtype in FLOATS:
        for p in (2, 1, 3, 0, 0.5, 1.5, -1, INF, -INF):
            name = {INF: "inf", -INF: "-inf"}.get(p, p)
            for shape, axes in SHAPES:
                for keep in (False, True)[: 1 if len(shape) == 1 else 2]:
                    args = {"keepdim": keep, "p": name, **({} if axes is None else {"axes": axes})}
                    f.case("norm", norm(p, axes, keep), [distinct(*shape, dtype=dtype)], grad=p != 0, **args)
            if p not in (-1, INF, -INF):
                f.case("norm", norm(p, None, False), [rand(0, dtype=dtype)], keepdim=False, p=name)
                f.case("norm", norm(p, [1], False), [rand(2, 0, dtype=dtype)], axes=[1], keepdim=False, p=name)
            for x in layouts(distinct(4, 5, dtype=dtype)):
                for axes in ([0], [1]):
                    f.case("norm", norm(p, axes, False), [x], grad=p != 0, label="layouts", axes=axes, keepdim=False, p=name)
            f.case("norm", norm(p, [1], False), [expanded(distinct(4, 1, dtype=dtype), 4, 6)], label="expanded", axes=[1], keepdim=False, p=name)
            rows = torch.tensor([[3.0, -4.0, 0.0], [0.0, 0.0, 0.0], [2.0, -2.0, 2.0], [NAN, 1.0, 2.0], [INF, 1.0, 2.0]], dtype=dtype)
            for grad in (False, True):
                f.case("norm", norm(p, [1], False), [rows], grad=grad and p != 0, label="zeros, ties, NaN, infinity", axes=[1], keepdim=False, p=name)
    for dtype in (F32, F64, I64, BOOL):
        for shape, axes in SHAPES:
            x = rand(*shape, dtype=dtype).round() if dtype in FLOATS else rand(*shape, dtype=dtype)
            f.case("count_nonzero", lambda x: torch.count_nonzero(x) if axes is None else torch.count_nonzero(x, axes), [x],
                   keepdim=False, **({} if axes is None else {"axes": axes}))
        for x in layouts(rand(4, 5, dtype=dtype)):
            f.case("count_nonzero", lambda x: torch.count_nonzero(x, 0), [x], axes=[0], keepdim=False)
    f.case("count_nonzero", torch.count_nonzero, [specials(F32)], label="specials", keepdim=False)
    for dtype in FLOATS:
        for p in (2.0, 1.0, 3.0):
            for shape, axis in (((3, 4), 1), ((3, 4), 0), ((2, 3, 4), 1), ((5,), 0), ((2, 3), -1)):
                f.case("normalize", lambda x: F.normalize(x, p, axis), [rand(*shape, dtype=dtype)], grad=True, p=p, axis=axis, eps=1e-12)
            for keep in (False, True):
                for a, b in (((3, 4), (3, 4)), ((3, 4), (1, 4)), ((4,), (4,)), ((4,), (3, 4))):
                    f.case("pairwise_distance", lambda a, b: F.pairwise_distance(a, b, p, keepdim=keep), [rand(*a, dtype=dtype), rand(*b, dtype=dtype)],
                           grad=True, p=p, eps=1e-6, keepdim=keep)
            for a in layouts(rand(4, 5, dtype=dtype)):
                f.case("normalize", lambda x: F.normalize(x, p, 0), [a], grad=True, label="layouts", p=p, axis=0, eps=1e-12)
                f.case("pairwise_distance", lambda a, b: F.pairwise_distance(a, b, p), [a, transposed(rand(4, 5, dtype=dtype))], grad=True, label="layouts",
                       p=p, eps=1e-6, keepdim=False)
        small = torch.tensor([[0.0, 0.0], [1e-3, 2e-3], [3.0, 4.0]], dtype=dtype)
        f.case("normalize", lambda x: F.normalize(x, eps=0.1), [small], grad=True, label="short", p=2.0, axis=1, eps=0.1)
        for a, b, axis in (((3, 4), (3, 4), 1), ((3, 4), (4,), 1), ((3, 4), (3, 4), 0), ((2, 3, 4), (2, 3, 4), 1), ((5,), (5,), 0), ((2, 1, 4), (3, 4), -1)):
            f.case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, axis), [rand(*a, dtype=dtype), rand(*b, dtype=dtype)], grad=True, axis=axis,
                   eps=1e-8)
        for a in layouts(rand(4, 5, dtype=dtype)):
            f.case("cosine_similarity", F.cosine_similarity, [a, transposed(rand(4, 5, dtype=dtype))], grad=True, label="layouts", axis=1, eps=1e-8)
        f.case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, eps=0.1), [small, rand(3, 2, dtype=dtype)], label="short", axis=1, eps=0.1)
    return f


def scans():
    f = Family("scans")
    for dtype in (F32, F64, I64):
        grad = dtype in FLOATS
        make = lambda *shape: distinct(*shape, dtype=dtype) if grad else torch.randint(-4, 5, shape)
        ops = ["cumprod", "cummax", "cummin"] + (["logcumsumexp"] if grad else [])
        for op in ops:
            reference = lambda axis: lambda x: getattr(torch, op)(x, axis)
            inputs = (lambda *shape: rand(*shape, dtype=dtype)) if op in ("cumprod", "logcumsumexp") else make
            for shape in ((), (5,), (3, 4), (2, 3, 4), (1, 1), (0, 3), (3, 0), (3, 37), (37, 3), (2, 131)):
                for axis in range(-1, max(len(shape) - 1, 0)):
                    f.case(op, reference(axis), [inputs(*shape)], grad=grad and shape != (3, 0), axis=axis)
            for x in layouts(inputs(4, 5)):
                for axis in (0, 1):
                    f.case(op, reference(axis), [x], grad=grad, label="layouts", axis=axis)
            f.case(op, reference(1), [expanded(inputs(4, 1), 4, 6)], label="expanded", axis=1)
        for op in ("cummax", "cummin"):
            for axis in (0, 1):
                f.case(op, lambda x: getattr(torch, op)(x, axis), [torch.tensor([[1, 2, 2, 1], [2, 2, 1, 1], [0, 2, 3, 3]]).to(dtype)], grad=grad,
                       label="ties: the last", axis=axis)
                if grad:
                    f.case(op, lambda x: getattr(torch, op)(x, axis), [torch.tensor([[1, NAN, 3, NAN], [INF, -INF, INF, -INF], [NAN, 1, 2, 3]], dtype=dtype)],
                           label="NaN and infinities", axis=axis)
        if grad:
            for values in ([2, 0, 3, 4], [2, 0, 3, 0], [0, 0, 0, 1], [1, INF, 2, NAN]):
                f.case("cumprod", lambda x: torch.cumprod(x, 0), [torch.tensor(values, dtype=dtype)], grad=NAN not in values, label="zeros", axis=0)
            f.case("logcumsumexp", lambda x: torch.logcumsumexp(x, 1), [torch.tensor([[-INF, -INF, 1.0, 2.0], [1.0, INF, 2.0, -INF], [1.0, NAN, 2.0, 3.0],
                   [1e4, -1e4, 1e4, 0.0]], dtype=dtype)], label="NaN and infinities", axis=1)
            f.case("logcumsumexp", lambda x: torch.logcumsumexp(x, 0), [torch.zeros(5000, dtype=dtype)], label="many", axis=0)
    for op in ("cumprod", "cummax", "cummin"):
        f.case(op, lambda x: getattr(torch, op)(x, 1), [rand(3, 4, dtype=BOOL)], axis=1)
    return f


def extremes():
    """max, min and median, of all elements and along an axis."""
    f = Family("extremes")
    for dtype in (F32, F64, I64, BOOL):
        grad = dtype in FLOATS
        make = lambda *shape: distinct(*shape, dtype=dtype) if grad else rand(*shape, dtype=BOOL) if dtype == BOOL else torch.randint(-4, 5, shape)
        for op in ("max", "min", "median")[: 2 if dtype == BOOL else 3]:
            reference = getattr(torch, op)

            def stable(axis, keep):  # PyTorch's own indices of equal elements depend on its algorithm
                def run(x):
                    values = reference(x, axis, keep)[0]
                    if op == "median" and x.dim():
                        order = torch.sort(x.detach(), dim=axis, stable=True)
                        return values, order[1].narrow(axis, (x.shape[axis] - 1) // 2, 1) if keep else order[1].select(axis, (x.shape[axis] - 1) // 2)
                    return tuple(reference(x, axis, keep))
                return run

            for shape in ((), (1,), (5,), (6,), (3, 4), (2, 3, 4), (3, 37), (37, 3), (2, 131)):
                f.case(op, reference, [make(*shape)], grad=grad)
                for axis in range(-1, max(len(shape) - 1, 0)):
                    for keep in (False, True):
                        f.case(op, stable(axis, keep), [make(*shape)], grad=grad, axis=axis, keepdim=keep)
            f.case(op, stable(1, False), [make(0, 3)], axis=1, keepdim=False)
            for x in layouts(make(4, 5)):
                for axis in (0, 1):
                    f.case(op, stable(axis, False), [x], grad=grad, label="layouts", axis=axis, keepdim=False)
                f.case(op, reference, [x], grad=grad, label="layouts")
            if dtype != BOOL:
                ties = torch.tensor([[1, 2, 2, 1, 2], [2, 2, 2, 2, 2], [3, 1, 2, 1, 0]]).to(dtype)
                for axis in (0, 1):
                    f.case(op, stable(axis, False), [ties], label="ties", axis=axis, keepdim=False)
                f.case(op, reference, [ties], grad=grad, label="ties")
            if grad:
                wild = torch.tensor([[1, NAN, 2, NAN], [INF, -INF, 0, INF], [NAN, NAN, NAN, 1]], dtype=dtype)
                f.case(op, lambda x: tuple(reference(x, 1)), [wild], grad=True, label="NaN and infinities", axis=1, keepdim=False)
                f.case(op, reference, [wild[1]], grad=True, label="infinities")
                f.case(op, reference, [wild], label="NaN")
    f.case("median", torch.median, [rand(0)], label="of nothing")
    return f


def losses():
    f = Family("losses")
    probability = lambda *shape, dtype: (torch.rand(shape, dtype=F64) * 0.98 + 0.01).to(dtype)
    for dtype in FLOATS:
        make = lambda *shape: rand(*shape, dtype=dtype)
        for reduction in ("mean", "sum", "none"):
            pairs = {"l1_loss": (lambda x, t: F.l1_loss(x, t, reduction=reduction), {}),
                     "huber_loss": (lambda x, t: F.huber_loss(x, t, reduction=reduction), {"delta": 1.0}),
                     "huber_loss ": (lambda x, t: F.huber_loss(x, t, reduction=reduction, delta=0.3), {"delta": 0.3}),
                     "smooth_l1_loss": (lambda x, t: F.smooth_l1_loss(x, t, reduction=reduction), {"beta": 1.0}),
                     "smooth_l1_loss ": (lambda x, t: F.smooth_l1_loss(x, t, reduction=reduction, beta=0.3), {"beta": 0.3}),
                     "smooth_l1_loss  ": (lambda x, t: F.smooth_l1_loss(x, t, reduction=reduction, beta=0.0), {"beta": 0.0})}
            for name, (reference, args) in pairs.items():
                for shape in ((), (5,), (3, 4), (2, 70)) + (((0,),) if reduction != "mean" else ()):
                    f.case(name.strip(), reference, [make(*shape), make(*shape)], grad=True, reduction=reduction, **args)
                f.case(name.strip(), lambda x, t: reference(x, t.expand_as(x)), [make(3, 4), make(4)], grad=True, reduction=reduction, **args)
                for x in layouts(make(3, 4)):
                    f.case(name.strip(), reference, [x, transposed(make(3, 4))], grad=True, label="layouts", reduction=reduction, **args)
            binary = lambda p, t, w=None: F.binary_cross_entropy(p, t, w, reduction=reduction)
            for shape in ((), (5,), (3, 4), (2, 70)):
                p, t = probability(*shape, dtype=dtype), probability(*shape, dtype=dtype)
                f.case("binary_cross_entropy", binary, [p, t], grad=True, reduction=reduction)
                f.case("binary_cross_entropy", binary, [p, (t > 0.5).to(dtype)], reduction=reduction)
            for p in layouts(probability(3, 4, dtype=dtype)):
                f.case("binary_cross_entropy", lambda p, t, w: binary(p, t, w.detach()), [p, transposed(probability(3, 4, dtype=dtype)),
                       make(4).abs()], label="layouts, weight", reduction=reduction)

            def logits(x, t, weight=None, pos_weight=None):
                return F.binary_cross_entropy_with_logits(x, t, weight, reduction=reduction, pos_weight=pos_weight)

            for x in layouts(make(3, 4)):
                t, w, v = probability(3, 4, dtype=dtype), make(4).abs(), make(4).abs()
                f.case("binary_cross_entropy_with_logits", lambda x, t, w: logits(x, t, w), [x, t, w], label="weight", reduction=reduction, given="weight")
                f.case("binary_cross_entropy_with_logits", lambda x, t, v: logits(x, t, None, v), [x, t, v], label="pos_weight", reduction=reduction,
                       given="pos_weight")
                f.case("binary_cross_entropy_with_logits", lambda x, t, w, v: logits(x, t, w, v), [x, t, w, v], label="both", reduction=reduction,
                       given="both")
            f.case("binary_cross_entropy_with_logits", lambda x, v: logits(x, torch.ones_like(x), None, v.detach()),
                   [make(3, 4), torch.tensor(3.0, dtype=dtype)], grad=True, label="gradient of logits", reduction=reduction, given="ones")
            for full in (False, True):
                nll = lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=full, eps=1e-6, reduction=reduction)
                for shape, of_var in (((5,), (5,)), ((3, 4), (3, 4)), ((3, 4), (3, 1)), ((3, 4), (3,)), ((3, 3), (3,))):
                    f.case("gaussian_nll_loss", nll, [make(*shape), make(*shape), make(*of_var).abs() + 0.1], grad=True, reduction=reduction, full=full)
                for x in layouts(make(3, 4)):
                    f.case("gaussian_nll_loss", nll, [x, transposed(make(3, 4)), make(3, 4).abs() + 0.1], grad=True, label="layouts", reduction=reduction,
                           full=full)
                f.case("gaussian_nll_loss", nll, [make(4), make(4) + 1, torch.tensor([0.0, 1e-9, 1e-3, 2.0], dtype=dtype)], label="small variances",
                       reduction=reduction, full=full)
            for margin, p, eps, swap in ((1.0, 2.0, 1e-6, False), (0.5, 1.0, 1e-3, False), (1.0, 2.0, 1e-6, True), (2.0, 3.0, 1e-6, True)):
                triplet = lambda a, b, c: F.triplet_margin_loss(a, b, c, margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)
                args = dict(reduction=reduction, margin=margin, p=p, eps=eps, swap=swap)
                for shape in ((4,), (5, 3)):
                    f.case("triplet_margin_loss", triplet, [make(*shape), make(*shape), make(*shape)], grad=True, **args)
                f.case("triplet_margin_loss", triplet, [transposed(make(5, 3)), strided(make(5, 3)), reversed_(make(5, 3))], grad=True, label="layouts", **args)
            for margin in (0.0, 0.4):
                cosine = lambda a, b, t: F.cosine_embedding_loss(a, b, t, margin=margin, reduction=reduction)
                for target in (torch.tensor([1, -1, -1, 1, -1]), torch.tensor([1.0, -1, -1, 1, 0], dtype=dtype)):
                    f.case("cosine_embedding_loss", lambda a, b, t: cosine(a, b, t.detach()), [make(5, 3), make(5, 3), target], grad=target.dtype == I64,
                           reduction=reduction, margin=margin)
                f.case("cosine_embedding_loss", cosine, [transposed(make(5, 3)), strided(make(5, 3)), torch.tensor([1, -1, -1, 1, -1])], grad=True,
                       label="layouts", reduction=reduction, margin=margin)
                f.case("cosine_embedding_loss", cosine, [make(3), make(3), torch.tensor(-1)], grad=True, reduction=reduction, margin=margin)
                f.case("cosine_embedding_loss", cosine, [torch.zeros(2, 3, dtype=dtype), make(2, 3), torch.tensor([1, -1])], label="zeros",
                       reduction=reduction, margin=margin)
            for shape in ((5,), (4, 5), (2, 3, 5), (3, 67), (1, 9001)):
                if shape[-1] > 2000 and (reduction != "mean" or dtype == F64):
                    continue
                x, target, weight = make(*shape), torch.randint(0, shape[-1], shape[:-1]), make(shape[-1]).abs() + 0.1
                ignoring = target.clone()
                if ignoring.numel() > 1:
                    ignoring.view(-1)[1] = -100

                def shaped(fn):
                    def run(x, t, w):
                        y = fn(x.reshape(-1, x.shape[-1]), t.reshape(-1), w.detach())
                        return y.reshape(t.shape) if reduction == "none" else y
                    return run

                large = shape[-1] > 2000
                for t in (target, ignoring)[: 1 if large else 2]:
                    for smoothing in (0.0, 0.2)[1 if large else 0:]:
                        f.case("cross_entropy", shaped(lambda x, t, w: F.cross_entropy(x, t, weight=w, reduction=reduction, label_smoothing=smoothing)),
                               [x, t, weight], grad=True, label="weights", reduction=reduction, label_smoothing=smoothing)
                    if large:
                        continue
                    f.case("nll_loss", shaped(lambda x, t, w: F.nll_loss(x, t, weight=w, reduction=reduction)), [torch.log_softmax(x, -1), t, weight],
                           grad=True, label="weights", reduction=reduction)
        f.case("binary_cross_entropy", lambda p, t: F.binary_cross_entropy(p, t.detach(), reduction="none"),
               [torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5, 1.0], dtype=dtype), torch.tensor([1.0, 0.0, 0.0, 1.0, 0.5, 0.3], dtype=dtype)], label="0 and 1",
               reduction="none")
        f.case("binary_cross_entropy", lambda p: F.binary_cross_entropy(p, torch.ones_like(p), reduction="none"),
               [torch.tensor([0.0, 1.0, 0.25], dtype=dtype)], grad=True, label="gradient at 0 and 1", reduction="none", given="ones")
        f.case("smooth_l1_loss", lambda x, t: F.smooth_l1_loss(x, t, reduction="none"), [few_specials(dtype), torch.zeros_like(few_specials(dtype))],
               label="specials", reduction="none", beta=1.0)
        f.case("huber_loss", lambda x, t: F.huber_loss(x, t, reduction="none"), [few_specials(dtype), torch.zeros_like(few_specials(dtype))],
               label="specials", reduction="none", delta=1.0)
        f.case("l1_loss", lambda x, t: F.l1_loss(x, t, reduction="none"), [few_specials(dtype), torch.zeros_like(few_specials(dtype))],
               label="specials", reduction="none")
    return f


FAMILIES = (norms, scans, extremes, losses)
