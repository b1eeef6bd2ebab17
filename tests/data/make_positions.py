"""Writes positions.json: ways of telling positions, written in PyTorch from the formulas of their papers, for
tests/nn/positions/positions.cpp: tables, and a self-attention of two heads with every gradient in float64. Needs torch 1.13.1.

Inputs and weights are formulas of the index that are exact in float32, so the test computes them itself.
"""
import json
import math
import pathlib

import torch

B, T, C, HEADS = 2, 6, 8, 2
D = C // HEADS
START = 3  # for tables that begin later
SHAW = 2   # distances cut at
T5 = dict(buckets=8, distance=12)
torch.set_default_dtype(torch.float64)


def filled(shape, k):
    count = math.prod(shape)
    return torch.tensor([((37 * i + 101 * k) % 257 - 128) / 256 for i in range(count)]).reshape(shape)


def flat(x):
    return [round(v, 12) for v in x.detach().reshape(-1).tolist()]


def rope(x, start=0, base=10000.0, scale=1.0):
    """Su et al. 2021: pairs are complex numbers, multiplied by e^(i m theta)."""
    theta = base ** (-torch.arange(0, x.size(-1), 2) / x.size(-1))
    angle = (start + torch.arange(x.size(-2)))[:, None] * theta * scale
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


def t5_bucket(distance, buckets, most, both):
    """Raffel et al. 2020, in float32 as their program computes it. distance = key - query, a vector."""
    result = torch.zeros_like(distance)
    if both:
        buckets //= 2
        result = result + (distance > 0).long() * buckets
        n = distance.abs()
    else:
        n = (-distance).clamp(min=0)
    exact = buckets // 2
    wide = exact + (torch.log(n.float() / exact) / math.log(most / exact) * (buckets - exact)).long()
    wide = torch.min(wide, torch.full_like(wide, buckets - 1))
    return result + torch.where(n < exact, n, wide)


def slopes(heads):
    """Press, Smith, Lewis 2022: a geometric series; between powers of two, every second slope of the next power."""
    def of_power(n):
        first = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [first * first ** i for i in range(n)]
    if math.log2(heads).is_integer():
        return of_power(heads)
    below = 2 ** math.floor(math.log2(heads))
    return of_power(below) + slopes(2 * below)[0::2][:heads - below]


def attention(kind, causal, extra, composite=False):
    """Self-attention over x with the kind's positions; extra are the kind's own parameters. Of composite positions the
    last one is beta, which weights what the kind adds to scores, values and angles."""
    x = filled((B, T, C), 7).requires_grad_()
    weights = [filled(s, k).requires_grad_() for k, s in enumerate([(C, C), (C,)] * 4)]
    q, k, v = ((x @ weights[2 * i].T + weights[2 * i + 1]).reshape(B, T, HEADS, D).transpose(1, 2) for i in range(3))
    beta = extra[-1] if composite else 1.0
    if kind == "rope":
        q, k = rope(q, scale=beta), rope(k, scale=beta)
    out = torch.zeros(B, HEADS, T, D)
    scores = torch.zeros(B, HEADS, T, T)
    for i in range(T):
        for j in range(T):
            key = k[:, :, j]
            if kind.startswith("shaw"):
                key = key + beta * extra[0][min(max(j - i, -SHAW), SHAW) + SHAW]
            s = (q[:, :, i] * key).sum(-1) / math.sqrt(D)
            if kind == "t5":
                bucket = t5_bucket(torch.tensor([j - i]), T5["buckets"], T5["distance"], not causal)[0]
                s = s + beta * extra[0][bucket]
            if kind == "alibi":
                s = s - beta * torch.tensor(slopes(HEADS)) * abs(i - j)
            if causal and j > i:
                s = torch.full_like(s, -math.inf)
            scores[:, :, i, j] = s
    w = scores.softmax(-1)
    for i in range(T):
        for j in range(T):
            value = v[:, :, j]
            if kind == "shaw_values":
                value = value + beta * extra[1][min(max(j - i, -SHAW), SHAW) + SHAW]
            out[:, :, i] = out[:, :, i] + w[:, :, i, j, None] * value
    y = out.transpose(1, 2).reshape(B, T, C) @ weights[6].T + weights[7]
    loss = (y * filled((B, T, C), 5)).sum() + (y * y).sum()
    loss.backward()
    return {"kind": kind, "composite": composite, "causal": causal, "y": flat(y), "dx": flat(x.grad), "loss": loss.item(),
            "grads": [flat(p.grad) for p in weights + extra]}


def extras(kind, composite=False):
    shapes = {"shaw": [(2 * SHAW + 1, D)], "shaw_values": [(2 * SHAW + 1, D)] * 2, "t5": [(T5["buckets"], HEADS)]}
    shapes = shapes.get(kind, []) + ([()] if composite else [])
    return [filled(s, 20 + k).requires_grad_() for k, s in enumerate(shapes)]


def sinusoidal(length, dim, start=0):
    angle = (start + torch.arange(length))[:, None] * torch.exp(-math.log(10000.0) / dim * torch.arange(0, dim, 2))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def slid(x, weight, groups, causal):
    """A convolution along the positions of x [B, T, C]."""
    width = weight.size(2)
    before = width - 1 if causal else width // 2
    padded = torch.nn.functional.pad(x.transpose(1, 2), (before, width - 1 - before))
    return torch.nn.functional.conv1d(padded, weight, groups=groups).transpose(1, 2)


def conv(x, causal, w):
    """Chu et al. 2021: every channel by itself."""
    return slid(x, w, x.size(2), causal)


def conv_multiscale(x, causal, narrow, wide):
    return torch.cat([slid(x, narrow, 1, causal), slid(x, wide, 1, causal)], 2)


def lstm(x, causal, w_ih, w_hh, b_ih, b_hh, projection):
    h, c, out = torch.zeros(B, w_hh.size(1)), torch.zeros(B, w_hh.size(1)), []
    for t in range(T):
        i, f, g, o = (x[:, t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        out.append(h @ projection.T)
    return torch.stack(out, 1)


def ode(x, causal, start, w_1, b_1, time, w_2, b_2, interval=0.1, steps=2):
    """Liu et al. 2020, by the classical Runge-Kutta method."""
    def f(t, h):
        return torch.tanh(h @ w_1.T + b_1 + time * t) @ w_2.T + b_2
    h, out, dt = start, [start], interval / steps
    for i in range(T - 1):
        for k in range(steps):
            t = i * interval + k * dt
            k1 = f(t, h)
            k2 = f(t + dt / 2, h + dt / 2 * k1)
            k3 = f(t + dt / 2, h + dt / 2 * k2)
            k4 = f(t + dt, h + dt * k3)
            h = h + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out.append(h)
    return torch.stack(out) - start


def complex_(x, causal, amplitude, frequency, phase):
    """Wang et al. 2020, with an amplitude for each frequency."""
    angle = torch.arange(T)[:, None] * frequency + phase
    return torch.stack([amplitude * angle.cos(), amplitude * angle.sin()], -1).flatten(1)


def dynamic(x, causal, w_1, b_1, w_2, b_2):
    if causal:
        context = torch.stack([x[:, :t + 1].mean(1) for t in range(T)], 1)
    else:
        context = x.mean(1, keepdim=True).expand(x.shape)
    table = sinusoidal(T, C).float().double().expand(x.shape)  # the table is of float32
    return torch.nn.functional.gelu(torch.cat([table, context], 2) @ w_1.T + b_1) @ w_2.T + b_2


ADDED = {
    "conv": (conv, [(C, 1, 5)]),
    "conv-multiscale": (conv_multiscale, [(C // 2, C, 3), (C // 2, C, 5)]),
    "lstm": (lstm, [(12, C), (12, 3), (12,), (12,), (C, 3)]),
    "ode": (ode, [(C,), (5, C), (5,), (5,), (C, 5), (C,)]),
    "complex": (complex_, [(C // 2,)] * 3),
    "dynamic": (dynamic, [(5, 2 * C), (5,), (C, 5), (C,)]),
}


def added(kind, causal, composite):
    """x + P, and x + alpha P of composite positions, where alpha is the last parameter."""
    f, shapes = ADDED[kind]
    x = filled((B, T, C), 7).requires_grad_()
    parameters = [filled(s, 20 + k).requires_grad_() for k, s in enumerate(shapes + ([()] if composite else []))]
    p = f(x, causal, *parameters[:len(shapes)])
    y = x + parameters[-1] * p if composite else x + p
    loss = (y * filled((B, T, C), 5)).sum() + (y * y).sum()
    loss.backward()
    return {"kind": kind, "composite": composite, "causal": causal, "y": flat(y), "dx": flat(x.grad),
            "grads": [flat(p.grad) for p in parameters]}


def interpolated(table, total):
    """Chen et al. 2023, as the tutorial writes it; past the last row there is nothing to go on to."""
    rows = []
    for i in range(total):
        place = i * table.size(0) / total
        low = math.floor(place)
        rows.append(table[low] + (place - low) * (table[min(low + 1, table.size(0) - 1)] - table[low]))
    return torch.stack(rows)


distances = torch.arange(-300, 301)
x = filled((B, T, C), 7)
data = {
    "rope": flat(rope(x, START)),
    "rope_ntk": flat(rope(x, START, 10000.0 * 4 ** (C / (C - 2)))),
    "interpolated": flat(interpolated(filled((5, 3), 1), 12)),
    "t5_causal": t5_bucket(distances, 32, 128, False).tolist(),
    "t5_both": t5_bucket(distances, 32, 128, True).tolist(),
    "slopes": {str(h): slopes(h) for h in (1, 2, 3, 4, 6, 8, 12, 16, 20, 25)},
    "attention": [attention(kind, causal, extras(kind)) for kind in ("none", "rope", "shaw", "shaw_values", "t5", "alibi")
                  for causal in (False, True)] +
                 [attention(kind, True, extras(kind, True), True) for kind in ("rope", "shaw", "shaw_values", "t5", "alibi")],
    "added": [added(kind, causal, composite) for kind in ADDED for causal in (False, True)
              for composite in (False, True)],
}
pathlib.Path(__file__).with_name("positions.json").write_text(json.dumps(data))
