"""Writes attention_figures.json: NumPy's figures of fixed attention maps, for tests/tasks/attention.cpp. Needs NumPy."""
import json
import pathlib

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def figures(a):
    rows, columns = a.shape
    n = min(rows, columns)
    s = np.linalg.svd(a, compute_uv=False)
    p = s[s > 0] / s.sum()
    held = np.cumsum(s**2) / (s**2).sum()
    entropy = lambda w: -np.sum(np.where(w > 0, w * np.log(np.where(w > 0, w, 1)), 0), -1)
    power = np.abs(np.fft.fft2(a)) ** 2
    low = lambda m: np.abs(np.fft.fftfreq(m)) <= 1 / 8
    mask = np.outer(low(rows), low(columns))
    i, j = np.indices(a.shape)
    return {
        "singular_values": s.tolist(),
        "rank": int(np.linalg.matrix_rank(a.astype(np.float32))),
        "effective_rank": float(np.exp(-(p * np.log(p)).sum())),
        "first_tenth": float(held[max(1, n // 10) - 1]),
        "for_most": int((held < 0.9).sum() + 1),
        "entropy": float(entropy(a).mean()),
        "information": float(entropy(a.mean(0)) - entropy(a).mean()),
        "low_frequencies": float(power[mask].sum() / power.sum()),
        "low_if_flat": float(mask.mean()),
        "distance": float((a * np.abs(i - j)).sum() / rows),
        "power": power[:2].ravel().tolist(),
    }


def vectors(q, k, a, updates=12):
    beta, seen = 1 / np.sqrt(k.shape[1]), a > 0
    state, energies = q, []
    for step in range(updates + 1):
        scores = np.where(seen, beta * state @ k.T, -np.inf)
        lse = scores.max(-1) + np.log(np.exp(scores - scores.max(-1, keepdims=True)).sum(-1))
        longest = np.where(seen, (k**2).sum(-1), 0).max(-1)
        energies.append((np.log(seen.sum(-1)) - lse) / beta + ((state**2).sum(-1) + longest) / 2)
        last, state = state, softmax(scores) @ k if step < updates else state
        if step == updates - 1:
            step_length = float(np.linalg.norm(state - last, axis=-1).mean())
    distance = np.linalg.norm(q[:, None] - k[None], axis=-1)
    return {
        "energies": [float(e.mean()) for e in energies],
        "step": step_length,
        "all": float(distance[seen].mean()),
        "attended": float((distance * a).sum() / a.sum()),
    }


def case(name, q, k, visible, sharpness=1.0):
    scores = sharpness * q @ k.T / np.sqrt(q.shape[1])
    a = softmax(np.where(visible, scores, -np.inf)).astype(np.float32).astype(np.float64)
    return {"name": name, "shape": list(a.shape), "width": q.shape[1], "weights": a.ravel().tolist(),
            "queries": q.ravel().tolist(), "keys": k.ravel().tolist(), "figures": figures(a),
            "vectors": vectors(q, k, a)}


draw = np.random.RandomState(7)
cases = []
for name, rows, columns, width, kind in [("full", 12, 12, 4, "full"), ("causal", 20, 20, 8, "causal"),
                                         ("wide", 5, 9, 3, "full"), ("sharp", 16, 16, 4, "sharp"),
                                         ("one", 1, 1, 2, "full")]:
    q, k = (np.round(draw.randn(n, width), 3) for n in (rows, columns))
    visible = np.tril(np.ones((rows, columns), bool)) if kind == "causal" else np.ones((rows, columns), bool)
    if kind == "sharp":
        q = k.copy()
    cases.append(case(name, q, k, visible, 8.0 if kind == "sharp" else 1.0))
path = pathlib.Path(__file__).with_name("attention_figures.json")
path.write_text(json.dumps(cases, separators=(",", ":")).replace(',{"name"', ',\n{"name"') + "\n")
