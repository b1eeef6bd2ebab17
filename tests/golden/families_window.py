"""Attention within a sliding window, in its plain form: masked scores of all pairs."""
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


FAMILIES = (window,)
