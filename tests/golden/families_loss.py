"""Losses: probabilities as targets, the axis of the classes, options of kl_div, margins, counts."""
import torch
import torch.nn.functional as F

from golden_file import F64, FLOATS, INF, NAN, Family, expanded, layouts, rand, reversed_, strided, transposed


def signs(*shape, dtype=torch.int64):
    return (torch.randint(0, 2, shape) * 2 - 1).to(dtype)


def probabilities(*shape, dtype, axis=-1):
    return torch.softmax(torch.rand(shape, dtype=F64) * 3, axis).to(dtype)


def classes(f, dtype, reduction):
    make = lambda *shape: rand(*shape, dtype=dtype)
    for shape, axis in (((5,), 0), ((4, 5), 1), ((2, 5, 3), 1), ((2, 5, 3, 4), -3), ((3, 37, 2), 1)):
        for smoothing in (0.0, 0.2):
            args = dict(reduction=reduction, axis=axis, label_smoothing=smoothing)
            entropy = lambda x, t, w=None: F.cross_entropy(x, t, None if w is None else w.detach(), reduction=reduction, label_smoothing=smoothing)
            n = shape[axis]
            target, weight = torch.randint(0, n, shape[:axis] + shape[axis % len(shape) + 1:]), make(n).abs() + 0.1
            some = target.clone()
            if some.dim():
                some.view(-1)[0] = -100
            f.case("cross_entropy", entropy, [make(*shape), target], grad=True, label="axis", **args)
            f.case("cross_entropy", entropy, [make(*shape), some, weight], grad=True, label="axis, weights", **args)
            f.case("cross_entropy", entropy, [make(*shape), probabilities(*shape, dtype=dtype, axis=axis)], grad=True, label="probabilities", **args)
            f.case("cross_entropy", entropy, [make(*shape), make(*shape), weight], grad=True, label="probabilities, weights", **args)
        lp = torch.log_softmax(make(*shape), axis)
        f.case("nll_loss", lambda x, t, w: F.nll_loss(x, t, w.detach(), reduction=reduction), [lp, some, weight], grad=True, label="axis", reduction=reduction,
               axis=axis)
    last = lambda x, t: F.cross_entropy(x.transpose(1, 2), t.transpose(1, 2), reduction=reduction)
    f.case("cross_entropy", last, [make(2, 3, 5), probabilities(2, 3, 5, dtype=dtype)], grad=True, label="probabilities along the last axis",
           reduction=reduction)
    for x in layouts(make(4, 5)):
        f.case("cross_entropy", lambda x, t: F.cross_entropy(x, t, reduction=reduction), [x, transposed(probabilities(4, 5, dtype=dtype))], grad=True,
               label="probabilities, layouts", reduction=reduction)
    f.case("cross_entropy", lambda x, t: F.cross_entropy(x, t, reduction=reduction), [make(0, 5), make(0, 5)], label="no row", reduction=reduction)
    for p in (1, 2):
        for margin in (1.0, 0.3):
            args = dict(reduction=reduction, p=p, margin=margin)
            multi = lambda x, t, w=None: F.multi_margin_loss(x, t, p, margin, None if w is None else w.detach(), reduction=reduction)
            for shape in ((5,), (4, 5), (3, 37)):
                target, weight = torch.randint(0, shape[-1], shape[:-1]), make(shape[-1]).abs()
                f.case("multi_margin_loss", multi, [make(*shape), target], grad=True, **args)
                f.case("multi_margin_loss", multi, [make(*shape), target, weight], grad=True, label="weights", **args)
            for x in layouts(make(4, 5)):
                f.case("multi_margin_loss", multi, [x, strided(torch.randint(0, 5, (4,)))], grad=True, label="layouts", **args)


def elements(f, dtype, reduction):
    make = lambda *shape: rand(*shape, dtype=dtype)
    none = ((0,),) if reduction != "mean" else ()
    shapes = ((), (5,), (3, 4), (2, 70)) + none
    for full in (False, True):
        for log_input in (True, False):
            args = dict(reduction=reduction, full=full, log_input=log_input, eps=1e-8 if log_input else 1e-3)
            poisson = lambda x, t: F.poisson_nll_loss(x, t, log_input, full, eps=args["eps"], reduction=reduction)
            inputs = lambda *shape: make(*shape) if log_input else make(*shape).abs() + 0.1
            for shape in shapes:
                f.case("poisson_nll_loss", poisson, [inputs(*shape), make(*shape).abs() * 3 + 0.01], grad=True, **args)
            f.case("poisson_nll_loss", lambda x, t: poisson(x, t.detach()), [inputs(3, 4), torch.randint(0, 6, (3, 4)).to(dtype)], label="counts", **args)
            for x in layouts(inputs(3, 4)):
                f.case("poisson_nll_loss", poisson, [x, transposed(make(3, 4).abs() * 3 + 0.01)], grad=True, label="layouts", **args)
    for shape in shapes:
        f.case("soft_margin_loss", lambda x, t: F.soft_margin_loss(x, t.detach(), reduction=reduction), [make(*shape), signs(*shape, dtype=dtype)],
               reduction=reduction)
    for x in layouts(make(3, 4)):
        f.case("soft_margin_loss", lambda x, t: F.soft_margin_loss(x, t.to(x.dtype), reduction=reduction), [x, transposed(signs(3, 4))], grad=True,
               label="layouts", reduction=reduction)
    for margin in (1.0, 0.3):
        args = dict(reduction=reduction, margin=margin)
        hinge = lambda x, t: F.hinge_embedding_loss(x, t, margin, reduction=reduction)
        for shape in shapes:
            f.case("hinge_embedding_loss", hinge, [make(*shape), signs(*shape)], grad=True, **args)
        for x in layouts(make(3, 4)):
            f.case("hinge_embedding_loss", hinge, [x, transposed(signs(3, 4))], grad=True, label="layouts", **args)
        f.case("hinge_embedding_loss", lambda x, t: hinge(x, t.detach()), [make(6), torch.tensor([1, -1, 0, 0.5, 1, -1], dtype=dtype)],
               label="other targets", **args)
    for margin in (0.0, 0.4):
        args = dict(reduction=reduction, margin=margin)
        ranking = lambda a, b, t: F.margin_ranking_loss(a, b, t, margin, reduction=reduction)
        for shape in shapes:
            f.case("margin_ranking_loss", ranking, [make(*shape), make(*shape), signs(*shape)], grad=True, **args)
        for a in layouts(make(3, 4)):
            f.case("margin_ranking_loss", ranking, [a, transposed(make(3, 4)), reversed_(signs(3, 4))], grad=True, label="layouts", **args)
        f.case("margin_ranking_loss", ranking, [torch.tensor([1.0, 2, INF, NAN], dtype=dtype), torch.tensor([1.0, 1, 0, 1], dtype=dtype), signs(4)],
               label="ties, infinity, NaN", **args)


def divergences(f, dtype):
    make = lambda *shape: rand(*shape, dtype=dtype)
    for log_target in (False, True):
        for reduction in ("mean", "sum", "none", "batchmean"):
            kl = lambda x, t: F.kl_div(x, t, reduction=reduction, log_target=log_target)
            for shape in ((5,), (3, 4), (2, 3, 70)):
                target = probabilities(*shape, dtype=dtype)
                target = target.log() if log_target else target
                f.case("kl_div", kl, [torch.log_softmax(make(*shape), -1), target], grad=True, reduction=reduction, log_target=log_target)
            for x in layouts(make(3, 4)):
                f.case("kl_div", kl, [x, transposed(probabilities(3, 4, dtype=dtype))], grad=True, label="layouts", reduction=reduction, log_target=log_target)
    f.case("kl_div", lambda x, t: F.kl_div(x, t, reduction="none", log_target=True),
           [torch.tensor([-1.0, -INF, 0, NAN, -1], dtype=dtype), torch.tensor([-INF, -1.0, 0, -1, NAN], dtype=dtype)], label="specials", reduction="none",
           log_target=True)


def loss_options():
    f = Family("loss_options")
    for dtype in FLOATS:
        for reduction in ("mean", "sum", "none"):
            classes(f, dtype, reduction)
            elements(f, dtype, reduction)
        divergences(f, dtype)
    return f


def linear_loss():
    """F.linear_cross_entropy of PyTorch 2.15 is, without options, this composition, which older versions have, too."""
    f = Family("linear_loss")
    for dtype in FLOATS:
        make = lambda *shape: rand(*shape, dtype=dtype)
        for reduction in ("mean", "sum", "none"):
            for smoothing in (0.0, 0.2):
                args = dict(reduction=reduction, label_smoothing=smoothing)

                def entropy(x, w, t, b=None, c=None):
                    logits = F.linear(x, w, b).flatten(0, max(0, x.dim() - 2))
                    losses = F.cross_entropy(logits, t.flatten() if t.dim() else t, None if c is None else c.detach(), **args)
                    return losses.reshape(t.shape) if reduction == "none" else losses

                for rows, classes, features in (((), 5, 3), ((4,), 7, 5), ((2, 3), 40, 6), ((9,), 70, 2)):
                    target = torch.randint(0, classes, rows)
                    some = target.clone()
                    if some.dim():
                        some.view(-1)[0] = -100
                    weight, bias = make(classes, features), make(classes)
                    f.case("linear_cross_entropy", entropy, [make(*rows, features), weight, target], grad=True, **args)
                    f.case("linear_cross_entropy", entropy, [make(*rows, features), weight, some, bias], grad=True, label="bias", **args)
                    f.case("linear_cross_entropy", entropy, [make(*rows, features), weight, some, bias, make(classes).abs() + 0.1], grad=True,
                           label="class weights", **args)
                for x in layouts(make(4, 3)):
                    f.case("linear_cross_entropy", entropy, [x, transposed(make(5, 3)), strided(torch.randint(0, 5, (4,))), strided(make(5))], grad=True,
                           label="layouts", **args)
    return f


def ctc():
    """PyTorch 2.15, in float64: in float32, its logarithms of long sequences lose digits."""
    f = Family("ctc")

    def loss(reduction, blank=0, zero_infinity=False, scores=False):
        def run(x, targets, steps, counts):
            log_p = (x.log_softmax(-1) if scores else x).to(F64)
            return F.ctc_loss(log_p, targets, steps, counts, blank, reduction, zero_infinity).to(x.dtype)
        return run

    def case(inputs, label="", **args):
        f.case("ctc_loss", loss(**args), inputs, grad=True, label=label, **args)

    for dtype in FLOATS:
        make = lambda *shape: rand(*shape, dtype=dtype)
        for reduction in ("mean", "sum", "none"):
            for steps, batch, classes, labels in ((1, 1, 3, 1), (5, 3, 4, 2), (15, 4, 6, 6), (40, 2, 20, 17)):
                for zero_infinity in (False, True):
                    targets = torch.randint(1, 3 if zero_infinity else classes, (batch, labels))
                    counts, length = torch.randint(0, labels + 1, (batch,)), torch.randint(0, steps + 1, (batch,))
                    length[0], counts[0] = steps, labels
                    args = dict(reduction=reduction, zero_infinity=zero_infinity)
                    case([make(steps, batch, classes).log_softmax(-1), targets, length, counts], **args)
                    joined = torch.cat([t[:n] for t, n in zip(targets, counts)])
                    case([make(steps, batch, classes), joined, length, counts], label="joined", scores=True, **args)
            args = dict(reduction=reduction)
            case([make(6, 5), torch.tensor([1, 2, 2]), torch.tensor(6), torch.tensor(3)], label="one sequence", scores=True, **args)
            case([make(6, 2, 5), torch.tensor([[0, 1, 2], [3, 0, 0]]), torch.tensor([6, 5]), torch.tensor([3, 2])], label="another blank", blank=4, scores=True, **args)
            case([make(6, 2, 5), torch.zeros(2, 0, dtype=torch.int64), torch.tensor([6, 0]), torch.tensor([0, 0])], label="no labels", scores=True, **args)
            case([make(6, 2, 5) * 3, torch.tensor([[1, 2], [3, 4]]), torch.tensor([6, 4]), torch.tensor([2, 1])], label="not distributions", **args)
            for x in layouts(make(6, 2, 5)):
                case([x, strided(torch.tensor([[1, 2], [3, 4]])), reversed_(torch.tensor([6, 4])), strided(torch.tensor([2, 1]))], label="layouts", scores=True, **args)
            case([expanded(make(6, 1, 5), 6, 2, 5), torch.tensor([[1, 2], [3, 4]]), torch.tensor([6, 4]), torch.tensor([2, 1])], label="expanded", scores=True, **args)
    return f


FAMILIES = (loss_options, linear_loss, ctc)
