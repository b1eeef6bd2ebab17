"""Attention within a sliding window, and with a formula for the scores, in plain form: scores of all pairs."""
import math

import torch

from golden_file import BOOL, F64, FLOATS, Family, expanded, rand, reversed_, strided, transposed


def window():
    f = Family("window")

    def visible(queries, keys, window, dilation=1, causal=False, global_tokens=()):
        p = torch.arange(keys - queries, keys)[:, None]
        s = torch.arange(keys)[None, :]
        distance = s - p
        near = (distance % dilation == 0) & (distance.abs() <= window * dilation)
        marked = torch.zeros(keys, dtype=torch.bool)
        marked[list(global_tokens)] = True
        seen = near | marked[None, :] | marked[keys - queries:][:, None]
        return seen & (distance <= 0) if causal else seen

    def reference(scale=None, **options):
        def run(q, k, v, mask=None):
            s = q @ k.transpose(-1, -2) * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
            hidden = ~visible(q.shape[-2], k.shape[-2], **options)
            if mask is not None:
                hidden = hidden | ~mask
            p = torch.softmax(s.masked_fill(hidden, -1e300 if s.dtype == F64 else -1e38), -1).masked_fill(hidden, 0.0)
            return p @ v
        return run

    def case(inputs, label="", **options):
        f.case("sliding_window_attention", reference(**options), inputs, grad=True, label=label, **options)

    for dtype in FLOATS:
        r = lambda *shape: rand(*shape, dtype=dtype)
        for causal in (False, True):
            for batch, t, s in (((), 6, 6), ((2,), 9, 9), ((1, 2), 40, 40), ((2,), 1, 9), ((), 3, 12), ((0,), 4, 4)):
                qkv = [r(*batch, t, 4), r(*batch, s, 4), r(*batch, s, 5)]
                for window, dilation in ((0, 1), (1, 1), (3, 1), (2, 3), (100, 1)):
                    case(qkv, window=window, dilation=dilation, causal=causal)
                for global_tokens in ((0,), (0, 1, s // 2), (s - 1,)):
                    if len(set(global_tokens)) == len(global_tokens) and list(global_tokens) == sorted(global_tokens):
                        case(qkv, window=2, causal=causal, global_tokens=list(global_tokens))
                        case(qkv, window=1, dilation=2, causal=causal, global_tokens=list(global_tokens))
                mask = rand(t, s, dtype=BOOL)
                mask[0] = False  # the first query sees nothing
                case(qkv + [mask], label="mask", window=2, causal=causal, global_tokens=[0])
                if batch:
                    keys = torch.arange(s)[None, :] < torch.tensor([s - 1] * batch[-1])[:, None]
                    case(qkv + [keys.reshape(batch[-1], 1, s)], label="keys' mask", window=2, causal=causal, scale=0.3)
        heads = [transposed(r(2, 3, 5, 4)), strided(r(2, 3, 5, 4)), reversed_(r(2, 3, 5, 4))]
        case(heads, label="layouts", window=1, global_tokens=[2])
        case(heads + [expanded(rand(1, 5, dtype=BOOL), 5, 5)], label="layouts", window=2)
        case([r(2, 4, 4) * 60, r(2, 4, 4) * 60, r(2, 4, 4)], label="large scores", window=1)
    return f


SCORES = {"": lambda s, b, h, q, k: s,
          "soft cap": lambda s, b, h, q, k: 2 * torch.tanh(s / 2),
          "linear bias": lambda s, b, h, q, k: s - 0.5 / (1 + h) * (q - k).abs(),
          "of all": lambda s, b, h, q, k: torch.where((k % 2 == 0) & (k <= q), torch.clamp(torch.sigmoid(s), max=0.6) - torch.maximum(
              torch.exp(-s) / 9, b.to(s.dtype)) + torch.log(s * s + 1.5) * (1 + h), torch.sqrt(s * s + 0.3) + (s - 0.1).abs())}
MASKS = {"": lambda b, h, q, k: q == q,
         "causal": lambda b, h, q, k: q >= k,
         "window": lambda b, h, q, k: (q - k).abs() <= 2,
         "documents": lambda b, h, q, k: (torch.div(q, 3 + b, rounding_mode="floor") == torch.div(k, 3 + b, rounding_mode="floor")) & (q >= k),
         "heads": lambda b, h, q, k: (q > h) & ((k + q) % 3 != h)}


def flex():
    """torch.nn.attention.flex_attention's definition; queries without keys give zeros."""
    f = Family("flex")

    def case(inputs, label="", **args):
        def run(q, k, v):
            share = q.shape[1] // k.shape[1] if k.shape[1] else 1
            k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
            s = q @ k.transpose(-1, -2) * (args["scale"] if "scale" in args else 1 / math.sqrt(q.shape[-1]))
            places = [torch.arange(n).reshape([-1 if i == axis else 1 for i in range(4)]) for axis, n in enumerate(s.shape)]
            s = SCORES[args.get("score", "")](s, *places)
            hidden = ~MASKS[args.get("mask", "")](*places).expand(s.shape)
            p = torch.softmax(s.masked_fill(hidden, -1e300 if s.dtype == F64 else -1e38), -1).masked_fill(hidden, 0.0)
            return p @ v
        f.case("flex_attention", run, inputs, grad=True, label=label, **args)

    for dtype in FLOATS:
        r = lambda *shape: rand(*shape, dtype=dtype)
        for shape, keys, e in (((2, 2, 5, 4), 5, 3), ((1, 2, 66, 2), 131, 2), ((2, 1, 7, 3), 1, 1)):
            qkv = [r(*shape), r(*shape[:2], keys, shape[3]), r(*shape[:2], keys, e)]
            for score in SCORES:
                for mask in MASKS:
                    case(qkv, score=score, mask=mask)
        case([r(1, 1, 3, 2), r(1, 1, 4, 2), r(1, 1, 4, 2)], score="soft cap", scale=0.3)
        case([r(2, 6, 9, 4), r(2, 3, 9, 4), r(2, 3, 9, 4)], label="grouped", score="linear bias", mask="causal", grouped=True)
        for heads in ([transposed(r(2, 3, 5, 4)), strided(r(2, 3, 5, 4)), reversed_(r(2, 3, 5, 4))],
                      [r(2, 3, 5, 4), expanded(r(2, 1, 5, 1), 2, 3, 5, 4), transposed(r(2, 3, 5, 4))]):
            case(heads, label="layouts", score="soft cap", mask="documents")
        case([r(1, 2, 0, 4), r(1, 2, 3, 4), r(1, 2, 3, 2)], label="no query")
        case([r(1, 2, 3, 4), r(1, 2, 0, 4), r(1, 2, 0, 2)], label="no key")
        case([r(1, 2, 3, 0), r(1, 2, 4, 0), r(1, 2, 4, 2)], label="no features", scale=1.0, score="linear bias")
        case([r(1, 2, 3, 2), r(1, 2, 4, 2), r(1, 2, 4, 0)], label="no values", score="soft cap")
        case([r(1, 2, 8, 4) * 20, r(1, 2, 8, 4) * 20, r(1, 2, 8, 4)], label="large scores", mask="causal")
    return f


FAMILIES = (window, flex)
