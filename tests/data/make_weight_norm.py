"""Writes weight_norm.json: weight and spectral normalisation in PyTorch over several steps, for tests/nn/layers/weight_norm.cpp.
Needs torch 2.15.

Layers are drawn from seed 0; inputs and seeds of gradients are formulas of the index that are exact in float32.
"""
import json
import math
import pathlib

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm


def filled(shape, k):
    count = math.prod(shape)
    return torch.tensor([((37 * i + 101 * k) % 257 - 128) / 256 for i in range(count)]).reshape(shape)


def flat(x):
    return [float(f"{v:.9g}") for v in x.detach().double().reshape(-1).tolist()]


def steps(make, shape):
    torch.manual_seed(0)
    module = make()
    result = []
    for step in range(3):
        module.zero_grad()
        y = module(filled(shape, step))
        y.backward(filled(y.shape, step + 7))
        result.append({"y": flat(y), "grads": {name: flat(p.grad) for name, p in module.named_parameters()},
                       "buffers": {name: flat(b) for name, b in module.named_buffers()}})
        with torch.no_grad():
            for p in module.parameters():
                p -= p.grad / 8
    module.eval()
    return {"steps": result, "evaluation": flat(module(filled(shape, 9))), "names": sorted(module.state_dict())}


if __name__ == "__main__":
    cases = {
        "weight_norm linear": steps(lambda: weight_norm(nn.Linear(5, 3)), (2, 5)),
        "weight_norm conv1d": steps(lambda: weight_norm(nn.Conv1d(4, 3, 3, padding=1)), (2, 4, 6)),
        "weight_norm conv1d, axis 1": steps(lambda: weight_norm(nn.Conv1d(4, 3, 3), dim=1), (2, 4, 6)),
        "weight_norm conv1d, all": steps(lambda: weight_norm(nn.Conv1d(4, 3, 3, bias=False), dim=None), (2, 4, 6)),
        "spectral_norm linear": steps(lambda: spectral_norm(nn.Linear(5, 3)), (2, 5)),
        "spectral_norm conv2d": steps(lambda: spectral_norm(nn.Conv2d(3, 4, 3), n_power_iterations=2), (1, 3, 4, 5)),
        "spectral_norm conv_transpose1d": steps(lambda: spectral_norm(nn.ConvTranspose1d(4, 3, 3)), (2, 4, 5)),
        "spectral_norm layer_norm": steps(lambda: spectral_norm(nn.LayerNorm(5)), (2, 5)),
    }
    pathlib.Path(__file__).with_name("weight_norm.json").write_text(json.dumps(cases) + "\n")
