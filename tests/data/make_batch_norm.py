"""Writes batch_norm.json: BatchNorm and GroupNorm in PyTorch over several steps, for tests/nn/layers/batch_norm.cpp: results,
gradients and running statistics in float32. Needs torch 1.13.1.

Inputs and weights are formulas of the index that are exact in float32, so the test computes them itself.
"""
import json
import math
import pathlib

import torch
from torch import nn


def filled(shape, k):
    count = math.prod(shape)
    return torch.tensor([((37 * i + 101 * k) % 257 - 128) / 256 for i in range(count)]).reshape(shape)


def flat(x):
    return [float(f"{v:.9g}") for v in x.detach().double().reshape(-1).tolist()]


def steps(module, shape, count=3):
    with torch.no_grad():
        for k, parameter in enumerate(module.parameters()):
            parameter.copy_(filled(parameter.shape, k + 20) + 1)
    result = []
    for step in range(count):
        x = (filled(shape, step) * (step + 1) + step).requires_grad_()
        y = module(x)
        grads = torch.autograd.grad(y, [x, *module.parameters()], filled(y.shape, step + 7))
        result.append({"y": flat(y), "grads": [flat(g) for g in grads], "buffers": [flat(b) for b in module.buffers()]})
    module.eval()
    return {"steps": result, "evaluation": flat(module(filled(shape, 9)))}


if __name__ == "__main__":
    cases = {
        "batch_norm1d": steps(nn.BatchNorm1d(3), (5, 3)),
        "batch_norm1d_long": steps(nn.BatchNorm1d(3, eps=1e-3, momentum=0.3), (2, 3, 4)),
        "batch_norm2d": steps(nn.BatchNorm2d(2), (2, 2, 3, 2)),
        "batch_norm2d_average": steps(nn.BatchNorm2d(2, momentum=None), (2, 2, 3, 2)),
        "batch_norm2d_plain": steps(nn.BatchNorm2d(2, affine=False), (2, 2, 3, 2)),
        "batch_norm2d_untracked": steps(nn.BatchNorm2d(2, track_running_stats=False), (2, 2, 3, 2)),
        "group_norm": steps(nn.GroupNorm(2, 4), (2, 4, 3), 1),
        "instance_norm2d": steps(nn.InstanceNorm2d(2, affine=True), (2, 2, 3, 2), 1),
        "instance_norm2d_tracked": steps(nn.InstanceNorm2d(2, affine=True, track_running_stats=True), (2, 2, 3, 2)),
        "instance_norm1d_tracked": steps(nn.InstanceNorm1d(3, eps=1e-3, momentum=0.3, track_running_stats=True), (2, 3, 4)),
        "instance_norm1d_of_one": steps(nn.InstanceNorm1d(3, track_running_stats=True), (3, 4)),
    }
    names = {name: [list(value.shape) for value in module.state_dict().values()] and list(module.state_dict())
             for name, module in (("BatchNorm2d", nn.BatchNorm2d(2)), ("GroupNorm", nn.GroupNorm(2, 4)),
                                  ("InstanceNorm2d", nn.InstanceNorm2d(2, affine=True, track_running_stats=True)))}
    pathlib.Path(__file__).with_name("batch_norm.json").write_text(json.dumps({"cases": cases, "names": names}) + "\n")
