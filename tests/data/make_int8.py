"""Writes int8.json: a matrix in int8 by groups of 64, and its product, in plain PyTorch, for tests/nn/weight_formats.cpp. Needs
torch."""
import json
import pathlib

import torch
from torch.nn import functional as F

GROUP = 64


def quantised(w):
    """[rows, columns] -> int8 [rows, groups * 64], with zeros after the last column, and scales [rows, groups]."""
    padded = F.pad(w, (0, -w.size(1) % GROUP)).unflatten(1, (-1, GROUP))
    scales = padded.abs().amax(-1, keepdim=True) / 127
    q = torch.where(scales > 0, padded / scales, torch.zeros(())).round().clamp(-127, 127)
    return q.to(torch.int8).flatten(1), scales.squeeze(-1)


def rounded(x):
    """As integers from -127 to 127 times a scale for each group, which is how x is multiplied."""
    groups = F.pad(x, (0, -x.size(1) % GROUP)).unflatten(1, (-1, GROUP))
    scales = groups.abs().amax(-1, keepdim=True) / 127
    return ((groups / scales).round().clamp(-127, 127).double() * scales.double()).flatten(1)[:, : x.size(1)]


def products(columns, seed):
    torch.manual_seed(seed)
    w, x, b = torch.randn(6, columns), torch.randn(4, columns), torch.randn(6)
    w[2, :GROUP] = 0
    q, scales = quantised(w)
    dequantised = (q.float().unflatten(1, (-1, GROUP)) * scales.unsqueeze(-1)).flatten(1)[:, :columns]
    return {"columns": columns, "seed": seed, "q": q.flatten().tolist(), "scales": scales.flatten().tolist(),
            "y": F.linear(rounded(x), dequantised.double(), b.double()).flatten().tolist()}


found = [products(150, 5), products(64, 6)]
pathlib.Path(__file__).with_name("int8.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")
