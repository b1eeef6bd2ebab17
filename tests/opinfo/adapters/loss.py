"""Losses."""
import torch
from protocol import Call
from adapters.registry import ADAPTERS, is_t, need, on


# --- losses ---
def legacy(size_average=None, reduce=None):
    need(size_average is None and reduce is None, "options size_average, reduce: deprecated")


@on("nn.functional.cross_entropy")
def _(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    legacy(size_average, reduce)
    return Call("cross_entropy", [input, target, weight], ignore_index=ignore_index, reduction=reduction,
                label_smoothing=float(label_smoothing), axis=1 if input.dim() > 1 else -1)


@on("nn.functional.nll_loss")
def _(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    legacy(size_average, reduce)
    return Call("nll_loss", [input, target, weight], ignore_index=ignore_index, reduction=reduction, axis=1 if input.dim() > 1 else -1)


@on("nn.functional.multi_margin_loss")
def _(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    legacy(size_average, reduce)
    return Call("multi_margin_loss", [input, target, weight], p=p, margin=float(margin), reduction=reduction)


@on("nn.functional.linear_cross_entropy")
def _(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0,
      options=None):
    need(linear_weight.dim() == 2 and target.dim() == input.dim() - 1, "other axes")
    return Call("linear_cross_entropy", [input, linear_weight, target, linear_bias, weight], reduction=reduction,
                ignore_index=-100 if ignore_index is None else ignore_index, label_smoothing=float(label_smoothing))


@on("nn.functional.ctc_loss")
def _(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    lengths = [v if is_t(v) else torch.tensor(v, dtype=torch.int64) for v in (input_lengths, target_lengths)]
    return Call("ctc_loss", [log_probs, targets, *lengths], blank=blank, reduction=reduction, zero_infinity=zero_infinity)


for name in ("mse_loss", "l1_loss", "soft_margin_loss"):
    def f(input, target, size_average=None, reduce=None, reduction="mean", weight=None, name=name):
        legacy(size_average, reduce)
        need(weight is None, "option weight")
        return Call(name, [input, target], reduction=reduction)
    ADAPTERS["nn.functional." + name] = f


@on("nn.functional.huber_loss")
def _(input, target, reduction="mean", delta=1.0, weight=None):
    need(weight is None, "option weight")
    return Call("huber_loss", [input, target], reduction=reduction, delta=float(delta))


@on("nn.functional.smooth_l1_loss")
def _(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    legacy(size_average, reduce)
    return Call("smooth_l1_loss", [input, target], reduction=reduction, beta=float(beta))


@on("nn.functional.kl_div")
def _(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    legacy(size_average, reduce)
    return Call("kl_div", [input, target], reduction=reduction, log_target=log_target)


@on("nn.functional.binary_cross_entropy")
def _(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    legacy(size_average, reduce)
    return Call("binary_cross_entropy", [input, target, weight], reduction=reduction)


@on("nn.functional.binary_cross_entropy_with_logits")
def _(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    legacy(size_average, reduce)
    return Call("binary_cross_entropy_with_logits", [input, target, weight, pos_weight], reduction=reduction, given="both")


@on("nn.functional.gaussian_nll_loss")
def _(input, target, var, full=False, eps=1e-6, reduction="mean"):
    need(is_t(var), "number as variance")
    return Call("gaussian_nll_loss", [input, target, var], full=full, eps=float(eps), reduction=reduction)


@on("nn.functional.poisson_nll_loss")
def _(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    legacy(size_average, reduce)
    return Call("poisson_nll_loss", [input, target], log_input=log_input, full=full, eps=float(eps), reduction=reduction)


@on("nn.functional.hinge_embedding_loss")
def _(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    legacy(size_average, reduce)
    return Call("hinge_embedding_loss", [input, target], margin=float(margin), reduction=reduction)


@on("nn.functional.margin_ranking_loss")
def _(a, b, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    legacy(size_average, reduce)
    return Call("margin_ranking_loss", [a, b, target], margin=float(margin), reduction=reduction)


@on("nn.functional.cosine_embedding_loss")
def _(a, b, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    legacy(size_average, reduce)
    return Call("cosine_embedding_loss", [a, b, target], margin=float(margin), reduction=reduction)


@on("nn.functional.triplet_margin_loss")
def _(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    legacy(size_average, reduce)
    return Call("triplet_margin_loss", [anchor, positive, negative], margin=float(margin), p=float(p), eps=float(eps),
                swap=swap, reduction=reduction)
