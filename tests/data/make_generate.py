"""Writes generate.json: tokens sampled by torch.multinomial, for tests/nn/models/sampling.cpp. Needs torch 1.13.1.

Scores are a formula of step and place that is exact in float32, so the test computes them itself.
"""
import json
import math
import pathlib

import torch

ROWS, STEPS = 2, 24
SETTINGS = [dict(temperature=1.0), dict(temperature=0.5), dict(temperature=1.7, top_k=5), dict(temperature=1.0, top_k=1),
            dict(temperature=1.0, top_p=0.6), dict(temperature=2.0, top_p=0.9), dict(temperature=1.3, top_k=20, top_p=0.8)]


def scores(step, vocabulary):
    count = ROWS * vocabulary
    return torch.tensor([((37 * i + 101 * step) % 1021 - 510) / 128 for i in range(count)]).reshape(ROWS, vocabulary)


def probabilities(x, temperature, top_k=0, top_p=1.0):
    x = x / temperature
    if top_k:
        x = x.masked_fill(x < x.topk(min(top_k, x.size(-1)))[0][:, -1:], -math.inf)
    if top_p < 1:
        ordered, index = x.sort(descending=True)
        p = ordered.softmax(-1).double()
        drop = torch.cat([torch.zeros(ROWS, 1), p.cumsum(-1)[:, :-1]], 1) >= top_p  # the fewest that reach top_p stay
        x = x.masked_fill(drop.scatter(1, index, drop), -math.inf)
    return x.softmax(-1)


runs = []
for vocabulary in (7, 300):
    for seed, setting in enumerate(SETTINGS):
        torch.manual_seed(seed)
        tokens = [torch.multinomial(probabilities(scores(step, vocabulary), **setting), 1)[:, 0] for step in range(STEPS)]
        runs.append(dict(vocabulary=vocabulary, seed=seed, **setting, tokens=torch.stack(tokens, 1).tolist()))
pathlib.Path(__file__).with_name("generate.json").write_text(json.dumps(runs))
