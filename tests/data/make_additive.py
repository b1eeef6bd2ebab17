"""Writes additive.json: additive attention (Bahdanau et al. 2015) as a composition of PyTorch's operations, for
tests/nn/attention/self_attention.cpp. Written with torch 2.x; runs in 1.13, too.

The loss is the sum of the result times weights that rise evenly from 0.5 to 1.5.
"""
import json
import pathlib

import torch

torch.set_default_dtype(torch.float64)
B, T, S, Q, K, H, V = 2, 3, 4, 3, 5, 6, 2


def filled(shape, k):
    count = int(torch.tensor(shape).prod())
    return torch.tensor([((37 * i + 101 * k) % 257 - 128) / 256 for i in range(count)]).reshape(shape)


def flat(x):
    return [float(f"{v:.9g}") for v in x.detach().flatten().tolist()]


def entry(name, separate_values, mask):
    leaves = {"query.weight": filled([H, Q], 0), "key.weight": filled([H, K], 1), "score.weight": filled([1, H], 2),
              "queries": 3 * filled([B, T, Q], 3), "keys": 3 * filled([B, S, K], 4)}
    if separate_values:
        leaves["values"] = filled([B, S, V], 5)
    for leaf in leaves.values():
        leaf.requires_grad_()
    linear = torch.nn.functional.linear
    hidden = torch.tanh(linear(leaves["queries"], leaves["query.weight"]).unsqueeze(2)
                        + linear(leaves["keys"], leaves["key.weight"]).unsqueeze(1))
    scores = linear(hidden, leaves["score.weight"]).squeeze(-1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    weights = torch.softmax(scores, -1)
    result = weights @ leaves["values" if separate_values else "keys"]
    loss = (result * torch.linspace(0.5, 1.5, result.numel()).reshape(result.shape)).sum()
    grads = torch.autograd.grad(loss, list(leaves.values()))
    return {"name": name, "weights": flat(weights), "result": flat(result),
            "grads": {leaf: flat(g) for leaf, g in zip(leaves, grads)}}


hidden_keys = torch.tensor([[True, True, True, False], [True, False, True, True]]).unsqueeze(1)
entries = [entry("plain", False, None), entry("values", True, None), entry("bool mask", True, hidden_keys),
           entry("added mask", False, 4 * filled([T, S], 6))]
pathlib.Path(__file__).with_name("additive.json").write_text(
    "[" + ",\n".join(json.dumps(e) for e in entries) + "]\n")
