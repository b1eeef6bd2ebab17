"""Writes int4.json: a matrix in int4 by groups of 32, and its product, in plain PyTorch, for
tests/nn/weight_formats.cpp. Needs torch."""
import json
import pathlib

import torch
from torch.nn import functional as F

GROUP = 32


def quantised(w):
    """[rows, columns] -> bytes int8 [rows, groups * 16], scales [rows, groups], and the matrix that they mean."""
    groups = F.pad(w, (0, -w.size(1) % GROUP)).unflatten(1, (-1, GROUP))
    scales = groups.gather(-1, groups.abs().argmax(-1, keepdim=True)) / -8
    q = torch.where(scales != 0, groups / scales, torch.zeros(())).round().clamp(-8, 7)
    four = q.to(torch.int64) & 15
    both = four[..., : GROUP // 2] | four[..., GROUP // 2 :] << 4
    return both.to(torch.uint8).view(torch.int8).flatten(1), scales.squeeze(-1), (q * scales).flatten(1)[:, : w.size(1)]


def rounded(x):
    """As integers from -127 to 127 times a scale for each group, which is how x is multiplied."""
    groups = F.pad(x, (0, -x.size(1) % GROUP)).unflatten(1, (-1, GROUP))
    scales = groups.abs().amax(-1, keepdim=True) / 127
    return ((groups / scales).round().clamp(-127, 127).double() * scales.double()).flatten(1)[:, : x.size(1)]


def products(columns, seed):
    torch.manual_seed(seed)
    w, x, b = torch.randn(6, columns), torch.randn(4, columns), torch.randn(6)
    w[2, :64] = 0
    q, scales, dequantised = quantised(w)
    return {"columns": columns, "seed": seed, "q": q.flatten().tolist(),
            "scales": scales.flatten().tolist(),
            "y": F.linear(rounded(x), dequantised.double(), b.double()).flatten().tolist()}


found = [products(150, 5), products(64, 6)]
pathlib.Path(__file__).with_name("int4.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")
