"""Writes random.json: what PyTorch draws, for tests/autograd/random/random.cpp. Needs torch 1.13.1 and numpy.

A stream is a list of calls on one generator, so that odd positions and the cached normal are met; a call is kept
as the FNV-1a hash of its result's bytes and its first values.
"""
import json
import pathlib

import numpy as np
import torch

SIZES = [1, 2, 3, 15, 16, 17, 31, 100, 311, 312, 313, 623, 624, 625, 1250, 64 * 64]
TYPES = {"float32": torch.float32, "float64": torch.float64}


def fnv(array):
    value = 0xCBF29CE484222325
    for byte in np.ascontiguousarray(array).tobytes():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def kept(call, result, **how):
    result = result.numpy()
    return {"call": call, "n": int(result.size), **how, "hash": fnv(result), "head": result.ravel()[:1].tolist()}


def stream(seed, sizes):
    torch.manual_seed(seed)
    calls = []
    for n in sizes:
        for name, dtype in TYPES.items():
            x = torch.empty(n, dtype=dtype)
            calls += [kept("uniform", x.uniform_(a, b), type=name, a=a, b=b) for a, b in ((0, 1), (-0.3, 0.77))]
            calls += [kept("normal", x.normal_(a, b), type=name, a=a, b=b) for a, b in ((0, 1), (0.1, 1.7))]
            calls += [kept("exponential", x.exponential_(a), type=name, a=a) for a in (1, 2.5)]
        mask = torch.empty(n, dtype=torch.uint8)
        calls += [kept("keep_mask", mask.bernoulli_(p), a=p) for p in (0.9, 0.5, 1 / 3, 0, 1)]
        calls += [kept("randint", torch.randint(a, b, (n,)), a=a, b=b)
                  for a, b in ((0, 10), (-5, 7), (3, 4), (0, 2**32 - 1), (0, 2**32), (-2**62, 2**62))]
        calls += [kept("random63", torch.empty(n, dtype=torch.int64).random_())]
        calls += [kept("randperm", torch.randperm(n))]
        weights = torch.arange(1, n + 1) % 7
        for name, dtype in TYPES.items():
            w = weights.to(dtype)
            calls += [kept("multinomial", torch.multinomial(w, k, replacement=r), type=name, a=r, weights=n)
                      for k, r in ((1, False), (1, True), (9, True), (min(n // 3, 99) + 1, False))]
            calls += [kept("bernoulli", torch.bernoulli(w / 7).to(torch.uint8), type=name)]
    return {"seed": seed, "calls": calls, "state": fnv(torch.get_rng_state().numpy())}


def truncated_normal(x, mean, std, low, high):
    """torch.nn.init.trunc_normal_ of PyTorch 2.15 where more than 0.3 of the distribution is inside, that of 1.13 elsewhere."""
    cdf = torch.distributions.Normal(mean, std).cdf
    if cdf(torch.tensor(high, dtype=torch.float64)) - cdf(torch.tensor(low, dtype=torch.float64)) <= 0.3:
        return torch.nn.init.trunc_normal_(x, mean, std, low, high)
    x.normal_(mean, std)
    while ((x < low) | (x > high)).any():
        x = torch.where((x < low) | (x > high), torch.empty_like(x).normal_(mean, std), x)
    return x


def derived(seed):
    """Numbers that are computed from draws: compared to a few units in the last place."""
    torch.manual_seed(seed)
    calls = []
    for name, dtype in TYPES.items():
        for mean, std, low, high in ((0, 1, -2, 2), (0.5, 0.02, -2, 2), (1, 2, 0, 3), (0, 1, 1.5, 4)):
            x = truncated_normal(torch.empty(60, dtype=dtype), mean, std, low, high)
            calls.append({"call": "truncated_normal", "type": name, "mean": mean, "std": std, "low": low, "high": high, "values": x.tolist()})
        x = -torch.empty(60, dtype=dtype).exponential_().log()
        calls.append({"call": "gumbel", "type": name, "values": x.tolist()})
    return {"seed": seed, "calls": calls, "state": fnv(torch.get_rng_state().numpy())}


def numpy_stream(seed):
    np.random.seed(seed)
    ranges = [(0, 10), (0, 3), (0, 1), (-5, 60), (0, 2**31), (0, 2**32), (-2**40, 2**40)]
    draws = [[a, b, [int(np.random.randint(a, b)) for _ in range(12)]] for a, b in ranges]
    return {"seed": seed, "randint": draws, "random": [np.random.random() for _ in range(4)],
            "choice": [np.random.choice(list(range(4))).item() for _ in range(12)]}


result = {"streams": [stream(0, SIZES), stream(67280421310721, SIZES[1::3]), stream(2**40 + 7, [5, 48, 100_003])],
          "derived": [derived(seed) for seed in (0, 5)],
          "numpy": [numpy_stream(seed) for seed in (0, 7, 2**32 - 1)]}
text = json.dumps(result, separators=(",", ":")).replace('{"call"', '\n{"call"').replace('{"seed"', '\n{"seed"')
(pathlib.Path(__file__).parent / "random.json").write_text(text + "\n")
