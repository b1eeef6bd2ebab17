"""Attention for long inputs, by the formulas of the papers over all pairs."""
import math

import torch

from golden_file import *


def weighted(scores, allowed, v):
    """Softmax attention; zeros where nothing is allowed."""
    w = torch.softmax(scores.masked_fill(~allowed, -1e30), -1) * allowed
    return w @ v


def causal_product(a, b, c, earlier=None, later=None, reverse=False):
    w = a @ b.transpose(-1, -2)
    if earlier is not None:
        factors = torch.exp(earlier.detach()[..., None, :] - later.detach()[..., :, None]).tril()  # of the later position, the earlier one
        w = w * (factors.transpose(-1, -2) if reverse else factors)
    return (w.triu() if reverse else w.tril()) @ c


def seen_in_rounds(buckets, chunk, mask, within):
    """[..., T, T]: whether a round puts token j into the chunk of token i or into the one before."""
    length = buckets.shape[-1]
    if mask is not None:
        buckets = buckets.masked_fill(~mask, 2**40)
    if within:
        same = buckets[..., :, None] == buckets[..., None, :]
        chunks = torch.div((same.tril().sum(-1) - 1), min(chunk, length), rounding_mode="floor")
        back = chunks[..., :, None] - chunks[..., None, :]
        return (same & ((back == 0) | (back == 1))).any(0)
    order = torch.sort(buckets, dim=-1, stable=True).indices
    places = torch.argsort(order, dim=-1)
    chunks = torch.div(places, min(chunk, length), rounding_mode="floor")
    back = chunks[..., :, None] - chunks[..., None, :]
    return ((back == 0) | (back == 1)).any(0)


def lsh_attention(q, k, v, buckets, mask=None, chunk=64, causal=False, within=False, scale=None):
    length = q.shape[-2]
    mask = None if mask is None else mask.expand(*q.shape[:-2], 1, length)
    allowed = seen_in_rounds(buckets, chunk, None if mask is None else mask[..., 0, :], within)
    if mask is not None:
        allowed = allowed & mask
    if causal:
        allowed = allowed & torch.ones(length, length, dtype=torch.bool).tril()
    self_ = torch.eye(length, dtype=torch.bool)
    alone = ~(allowed & ~self_).any(-1, keepdim=True)
    allowed = torch.where(self_, allowed & alone, allowed)
    scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    return weighted(scores, allowed, v)


def reformer_attention(q, v, buckets, mask=None, **options):
    return lsh_attention(q, q / q.norm(dim=-1, keepdim=True), v, buckets, mask, **options)


def linformer_attention(q, k, v, e, f, mask=None):
    if mask is not None:
        k, v = k * mask.transpose(-1, -2), v * mask.transpose(-1, -2)
    length = k.shape[-2]
    scores = q @ (e[..., :length] @ k).transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(scores, -1) @ (f[..., :length] @ v)


def performer_attention(q, k, v, features, mask=None, causal=False):
    def phi(x):
        x = x * q.shape[-1] ** -0.25
        return torch.exp(x @ features.T - (x * x).sum(-1, keepdim=True) / 2) / math.sqrt(features.shape[0])

    w = phi(q) @ phi(k).transpose(-1, -2)
    if mask is not None:
        w = w * mask
    if causal:
        w = w.tril(k.shape[-2] - q.shape[-2])
    total = w.sum(-1, keepdim=True)
    return w @ v / torch.where(total > 0, total, torch.ones_like(total))


def padding(batch, length):
    """[B, 1, 1, S]: the second sequence ends early; the third one, if there is one, is padding."""
    mask = torch.ones(batch, 1, 1, length, dtype=torch.bool)
    mask[1:2, ..., length // 2:] = False
    mask[2:] = False
    return mask


def long_attention():
    f = Family("long_attention")

    def case(op, reference, inputs, label="", **args):
        names = list(inputs)
        f.case(op, lambda *values: reference(**dict(zip(names, values)), **args), list(inputs.values()), grad=True, label=label,
               names=names, **args)

    def laid_out(dtype):
        """Heads as a module cuts them, and other layouts."""
        yield "", plain
        yield "strided", strided
        yield "transposed", transposed

    for dtype in FLOATS:
        def r(*shape):
            return rand(*shape, dtype=dtype, low=-1, high=1)

        for label, laid in laid_out(dtype):
            for reverse in (False, True):
                more = {"reverse": True} if reverse else {}
                case("causal_product", causal_product,
                     {"a": laid(r(2, 3, 5, 4)), "b": laid(r(2, 3, 5, 4)), "c": laid(r(2, 3, 5, 3))}, label, **more)
            case("lsh_attention", lsh_attention,
                 {"q": laid(r(2, 2, 9, 3)), "k": laid(r(2, 2, 9, 3)), "v": laid(r(2, 2, 9, 4)),
                  "buckets": torch.randint(0, 4, (2, 2, 2, 9))}, label, chunk=2)
            case("performer_attention", performer_attention,
                 {"q": laid(r(2, 2, 6, 4)), "k": laid(r(2, 2, 6, 4)), "v": laid(r(2, 2, 6, 3)), "features": r(5, 4)}, label, causal=True)
            case("linformer_attention", linformer_attention,
                 {"q": laid(r(2, 2, 6, 4)), "k": laid(r(2, 2, 5, 4)), "v": laid(r(2, 2, 5, 3)), "e": r(3, 7), "f": r(3, 7)}, label)
        for length in (1, 63, 64, 65, 130):
            for reverse in (False, True):
                case("causal_product", causal_product, {"a": r(length, 3), "b": r(length, 3), "c": r(length, 2)},
                     **({"reverse": True} if reverse else {}))
        for length in (7, 65, 300, 1100):  # the last: in parts that run at the same time
            for reverse in (False, True):
                later = torch.cumsum(rand(length, dtype=dtype, low=0, high=40 / length), 0)
                later[length // 2:] += 50
                case("causal_product", causal_product,
                     {"a": r(length, 3), "b": r(length, 3), "c": r(length, 2),
                      "earlier": later - rand(length, dtype=dtype, low=0, high=3), "later": later},
                     "levels", **({"reverse": True} if reverse else {}))
        case("causal_product", causal_product, {"a": r(3, 1, 4, 2), "b": r(2, 4, 2), "c": r(1, 4, 1)}, "broadcast")
        case("causal_product", causal_product, {"a": r(2, 0, 2), "b": r(2, 0, 2), "c": r(2, 0, 3)}, "empty")
        case("causal_product", causal_product, {"a": r(3, 0), "b": r(3, 0), "c": r(3, 2)}, "no features")

        for length, chunk in ((1, 4), (2, 1), (7, 64), (8, 4), (11, 3), (20, 4)):
            for rounds in (1, 2, 3):
                for causal in (False, True):
                    more = {"causal": True} if causal else {}
                    given = {"q": r(3, 2, length, 3), "k": r(3, 2, length, 3), "v": r(3, 2, length, 2),
                             "buckets": torch.randint(0, max(1, length // 2), (rounds, 3, 2, length))}
                    case("lsh_attention", lsh_attention, given, chunk=chunk, **more)
                    case("lsh_attention", lsh_attention, {**given, "mask": padding(3, length)}, "padding", chunk=chunk, **more)
            for causal in (False, True):
                given = {"q": r(3, 2, length, 3), "k": r(3, 2, length, 3), "v": r(3, 2, length, 2),
                         "buckets": torch.randint(0, max(1, length // 3), (2, 3, 2, length))}
                more = {"causal": True} if causal else {}
                case("lsh_attention", lsh_attention, given, "within buckets", chunk=chunk, within=True, **more)
                case("lsh_attention", lsh_attention, {**given, "mask": padding(3, length)}, "within buckets, padding", chunk=chunk,
                     within=True, **more)
        case("lsh_attention", lsh_attention,
             {"q": r(9, 3), "k": r(9, 3), "v": r(9, 2), "buckets": torch.randint(0, 3, (2, 9))}, chunk=2, scale=0.7)
        case("lsh_attention", lsh_attention,
             {"q": r(0, 3, 2), "k": r(0, 3, 2), "v": r(0, 3, 2), "buckets": torch.zeros(1, 0, 3, dtype=I64)}, "empty")
        for causal in (False, True):
            more = {"causal": True} if causal else {}
            given = {"q": r(3, 2, 10, 4), "v": r(3, 2, 10, 3), "buckets": torch.randint(0, 4, (2, 3, 2, 10))}
            case("reformer_attention", reformer_attention, given, chunk=3, **more)
            case("reformer_attention", reformer_attention, {**given, "mask": padding(3, 10)}, "padding", chunk=3, **more)
            given = {"q": r(3, 2, 7, 4), "k": r(3, 2, 7, 4), "v": r(3, 2, 7, 3), "features": rand(9, 4, dtype=dtype)}
            case("performer_attention", performer_attention, given, **more)
            case("performer_attention", performer_attention, {**given, "mask": padding(3, 7)}, "padding", **more)
            case("performer_attention", performer_attention, {**given, "q": r(3, 2, 3, 4)}, "fewer queries", **more)
        case("performer_attention", performer_attention,
             {"q": r(70, 4), "k": r(70, 4), "v": r(70, 3), "features": rand(9, 4, dtype=dtype)}, causal=True)
        for heads in ((), (2,)):
            given = {"q": r(3, 2, 6, 4), "k": r(3, 2, 5, 4), "v": r(3, 2, 5, 3), "e": r(*heads, 4, 5), "f": r(*heads, 4, 5)}
            case("linformer_attention", linformer_attention, given)
            case("linformer_attention", linformer_attention, {**given, "mask": padding(3, 5)}, "padding")
    return f


FAMILIES = (long_attention,)
