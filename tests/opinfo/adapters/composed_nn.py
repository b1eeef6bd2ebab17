"""Compositions: activations, losses, images, windows of signal processing."""
import math
import torch
from adapters.chain import composed
from adapters.registry import RANDOM, need, our_dtype


# --- activations ---
@composed("nn.functional.softmin")
def _(c, x, dim, dtype=None):
    return c.softmax(-x, dim=dim, dtype=our_dtype(dtype))


@composed("nn.functional.tanhshrink")
def _(c, x):
    return x - c.tanh(x)


@composed("nn.functional.hardshrink")
def _(c, x, lambd=0.5):
    return c.where(inside(c, x, lambd), 0, x)


def inside(c, x, limit):
    return c.le_s(c.abs(x), other=float(limit))


@composed("nn.functional.softshrink")
def _(c, x, lambd=0.5):
    return x - c.clamp(x, min=-float(lambd), max=float(lambd))


@composed("nn.functional.threshold")
def _(c, x, threshold, value, inplace=False):
    return c.where(c.le_s(x, other=float(threshold)), value, x)


@composed("nn.functional.celu")
def _(c, x, alpha=1.0, inplace=False):
    return c.elu(x / alpha) * alpha


# --- normalisation, dropout, embeddings ---
@composed("_native_batch_norm_legit", same=lambda y: [y[0]])
def _(c, x, weight, bias, *more):
    mean, var, training, momentum, eps = more if len(more) == 5 else (None, None, *more)
    if training:
        return c.batch_norm_training(x, weight, bias, eps=float(eps))
    need(mean is not None, "no statistics")
    return c.batch_norm(x, mean, var, weight, bias, eps=float(eps))


@composed("nn.functional.local_response_norm")
def _(c, x, size, alpha=1e-4, beta=0.75, k=1.0):
    need(x.t.numel() > 0, "empty")
    n, channels = x.t.shape[:2]
    squares = (x * x).reshape([n, 1, channels, -1])
    squares = c.pad(squares, pad=[0, 0, size // 2, (size - 1) // 2])
    means = c.avg_pool2d(squares, kernel_size=[size, 1], stride=1).reshape(x.t.shape)
    return x / (means * alpha + k) ** beta


def dropout_of_channels(name, ranks):
    @composed("nn.functional." + name)
    def _(c, x, p=0.5, training=True, inplace=False):
        need(x.t.dim() in ranks, "no batch")
        ones = c.full([*x.t.shape[:2]] + [1] * (x.t.dim() - 2), 1, x.t.dtype)
        return x * c.dropout(ones, p=float(p), training=training)


dropout_of_channels("dropout2d", (3, 4))
dropout_of_channels("dropout3d", (5,))
RANDOM["nn.functional.dropout2d"] = RANDOM["nn.functional.dropout3d"] = True


@composed("nn.functional.embedding_bag")
def _(c, weight, ids, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
      per_sample_weights=None, include_last_offset=False, padding_idx=None):
    need(offsets is None and ids.t.dim() == 2, "offsets")
    need(max_norm is None and padding_idx is None and not sparse and not scale_grad_by_freq, "options")
    rows = c.embedding(weight, ids)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if mode == "max":
        need(ids.t.shape[1] > 0, "empty")
        return c.max(rows, dim=-2)
    return c.do(mode, rows, dim=-2)


@composed("torch.ops.aten._scaled_dot_product_flash_attention_for_cpu", same=lambda y: [y[0]])
def _(c, q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    need(not dropout_p, "dropout")
    return c.attention(q, k, v, attn_mask, is_causal=is_causal, scale=scale)


# --- losses ---
def reduced(c, losses, reduction):
    return losses if reduction == "none" else c.do(reduction, losses)


@composed("nn.functional.multilabel_soft_margin_loss")
def _(c, x, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    losses = -(target * c.log_sigmoid(x) + (1 - target) * c.log_sigmoid(-x))
    losses = losses if weight is None else losses * weight
    return reduced(c, c.mean(losses, dim=-1), reduction)


# --- images ---
def max_unpool(rank):
    @composed(f"nn.functional.max_unpool{rank}d")
    def _(c, x, indices, kernel_size, stride=None, padding=0, output_size=None):
        lead, shape = list(x.t.shape[:-rank]), x.t.shape[-rank:]
        if output_size is None:
            def each(v):
                return [v] * rank if isinstance(v, int) else list(v)
            k, p = each(kernel_size), each(padding)
            s = each(stride) if stride not in (None, (), []) else k
            output_size = [(n - 1) * s[d] - 2 * p[d] + k[d] for d, n in enumerate(shape)]
        output_size = list(output_size)[-rank:]
        zeros = c.full([*lead, math.prod(output_size)], 0, x.t.dtype)
        flat = [v.reshape([*lead, math.prod(shape)]) for v in (indices, x)]
        return c.scatter(zeros, *flat, dim=-1).reshape([*lead, *output_size])


for rank in (1, 2, 3):
    max_unpool(rank)


# --- windows of signal processing ---
def window(name, formula):
    """torch.signal.windows.NAME, from the positions 0 .. M - 1 and the width."""
    @composed("signal.windows." + name)
    def _(c, M, *, sym=True, dtype=None, device=None, requires_grad=False, layout=None, **options):
        need(M > 1, "shorter than two")
        width = float(M - 1 if sym else M)
        return formula(c, c.arange(M, dtype or torch.float32), width, **options)


def cosines(c, t, width, a):
    y = None
    for k, factor in enumerate(a):
        term = c.cos(t * (2 * math.pi * k / width)) * ((-1) ** k * float(factor))
        y = term if y is None else y + term
    return y


def kaiser(c, t, width, beta=12.0):
    x = t * (2 / width) - 1
    return c.i0(c.sqrt(c.clamp(1 - x * x, min=0)) * float(beta)) / c.i0(c.full([], float(beta), torch.float64))


def exponential(c, t, width, center=None, tau=1.0):
    return c.exp(-c.abs(t - (width / 2 if center is None else center)) / tau)


def gaussian(c, t, width, std=1.0):
    x = (t - width / 2) / std
    return c.exp(x * x * -0.5)


window("general_cosine", lambda c, t, width, a: cosines(c, t, width, a))
window("general_hamming", lambda c, t, width, alpha=0.54: cosines(c, t, width, [alpha, 1 - alpha]))
window("hamming", lambda c, t, width: cosines(c, t, width, [0.54, 0.46]))
window("hann", lambda c, t, width: cosines(c, t, width, [0.5, 0.5]))
window("blackman", lambda c, t, width: cosines(c, t, width, [0.42, 0.5, 0.08]))
window("nuttall", lambda c, t, width: cosines(c, t, width, [0.3635819, 0.4891775, 0.1365995, 0.0106411]))
window("bartlett", lambda c, t, width: 1 - c.abs(t * (2 / width) - 1))
window("cosine", lambda c, t, width: c.sin((t + 0.5) * (math.pi / (width + 1))))
window("exponential", exponential)
window("gaussian", gaussian)
window("kaiser", kaiser)
