"""Writes optim.json: parameters after steps of PyTorch's optimisers, for tests/optim/optimizers.cpp. Needs torch 1.13.1.

Start and gradients are formulas of the index that are exact in float32, so the test computes them itself.
"""
import json
import pathlib

import torch

N = 19
STEPS = 25
KEPT = (1, 2, 25)
RUNS = [
    ("sgd", {"lr": 0.1}),
    ("sgd", {"lr": 0.1, "momentum": 0.9}),
    ("sgd", {"lr": 0.05, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.01}),
    ("sgd", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("adam", {}),
    ("adam", {"lr": 1e-4, "betas": (0.9, 0.98), "eps": 1e-9}),
    ("adam", {"lr": 0.01, "weight_decay": 0.1}),
    ("adamw", {}),
    ("adamw", {"lr": 4e-4, "weight_decay": 0.1}),
]
MAKE = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def start(dtype):
    return torch.tensor([(5 * i % 23 - 11) / 8 for i in range(N)], dtype=dtype)


def gradient(step, dtype):
    return torch.tensor([((7 * i + 13 * step) % 31 - 15) / 16 * 2.0 ** (i % 5 - 2) for i in range(N)], dtype=dtype)


def run(kind, options, dtype):
    p = torch.nn.Parameter(start(dtype))
    optimiser = MAKE[kind]([p], **{"lr": 1e-3, **options})
    kept = []
    for step in range(1, STEPS + 1):
        p.grad = gradient(step, dtype)
        optimiser.step()
        if step in KEPT:
            kept.append(p.tolist())
    return kept


def clipped(max_norm):
    p = [torch.nn.Parameter(start(torch.float32)), torch.nn.Parameter(torch.zeros(3))]
    p[0].grad, p[1].grad = gradient(1, torch.float32), gradient(2, torch.float32)[:3].clone()
    norm = torch.nn.utils.clip_grad_norm_(p, max_norm)
    return {"max_norm": max_norm, "norm": norm.item(), "grads": [p[0].grad.tolist(), p[1].grad.tolist()]}


data = {
    "steps": KEPT,
    "runs": [{"kind": kind, "options": options, "dtype": str(dtype)[6:], "kept": run(kind, options, dtype)}
             for kind, options in RUNS for dtype in (torch.float32, torch.float64)],
    "clip": [clipped(1.0), clipped(100.0)],
}
path = pathlib.Path(__file__).with_name("optim.json")
path.write_text(json.dumps(data, separators=(",", ":")).replace('{"kind"', '\n{"kind"') + "\n")
