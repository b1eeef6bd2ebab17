#!/usr/bin/env python3
"""JAX's side of bench/steps.cpp: the same training steps, in turns (turns.py), compiled as a whole.

    jax_steps.py ROW

ROW is a row of rows.py as JSON, with the file of our first weights ("weights"). JAX draws other dropout masks than ours,
so the losses of the rows with dropout agree only roughly.
"""
import json
import math
import struct
import sys

import jax
import numpy
from jax import numpy as jnp

import turns

# Of the tutorial's models: heads, layers, batch. The rest follows from the weights.
TASKS = {"copy": (2, 2, 40), "addition": (4, 3, 128), "parser": (4, 3, 64)}


def weights_of(path):
    """The float32 tensors of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    tensors = {name: numpy.frombuffer(data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]], numpy.float32)
               .reshape(t["shape"]) for name, t in header.items() if name != "__metadata__" and t["dtype"] == "F32"}
    return {name: jnp.array(value) for name, value in tensors.items()}


class Draws:
    """Dropout with a new key per call."""

    def __init__(self, key, rate):
        self.key, self.rate = key, rate

    def __call__(self, x):
        if self.rate == 0:
            return x
        self.key, key = jax.random.split(self.key)
        return jnp.where(jax.random.bernoulli(key, 1 - self.rate, x.shape), x / (1 - self.rate), 0)


def linear(w, name, x):
    y = x @ w[f"{name}.weight"].T
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def attend(q, k, v, mask, masked, drop):
    """q, k, v [B, H, T, D]; `masked` is the score of what the mask hides. [B, T, H D]."""
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[-1])
    y = drop(jax.nn.softmax(jnp.where(mask, scores, masked), -1)) @ v
    return y.swapaxes(1, 2).reshape(y.shape[0], y.shape[2], -1)


# ---- GPT ----


def gpt_loss(row, w, key, ids, targets):
    drop, width = Draws(key, row["drop_rate"]), row["emb_dim"]

    def norm(name, x):
        centred = x - x.mean(-1, keepdims=True)
        deviation = jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return w[f"{name}.scale"] * centred / deviation + w[f"{name}.shift"]

    tokens = ids.shape[1]
    causal = jnp.tril(jnp.ones((tokens, tokens), bool))
    x = drop(w["tok_emb.weight"][ids] + w["pos_emb.weight"][:tokens])
    for i in range(row["n_layers"]):
        block = f"trf_blocks.{i}"
        y = norm(f"{block}.norm1", x)
        q, k, v = (split(linear(w, f"{block}.att.{name}", y), row["n_heads"]) for name in ("W_query", "W_key", "W_value"))
        x = x + drop(linear(w, f"{block}.att.out_proj", attend(q, k, v, causal, -jnp.inf, drop)))
        y = jax.nn.gelu(linear(w, f"{block}.ff.layers.0", norm(f"{block}.norm2", x)), approximate=True)
        x = x + drop(linear(w, f"{block}.ff.layers.2", y))
    x = norm("final_norm", x)
    logits = x @ w["tok_emb.weight" if row["tied_head"] else "out_head.weight"].T
    chosen = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - chosen).mean()


def gpt_batches(row):
    for ids in turns.gpt_batches(row):
        ids = numpy.array(ids)
        yield ids[:, :-1], ids[:, 1:]


# ---- The tutorial's encoder-decoder ----


def sequence_loss(row, w, key, source, target):
    heads, layers, batch = TASKS[row["model"]]
    drop = Draws(key, 0.1)

    def norm(name, x):
        centred = x - x.mean(-1, keepdims=True)
        return w[f"{name}.gamma"] * centred / (jnp.sqrt((centred**2).mean(-1, keepdims=True)) + 1e-6) + w[f"{name}.beta"]

    def attention(name, query, memory, mask):
        q, k, v = (split(linear(w, f"{name}.linear_layers.{i}", x), heads) for i, x in enumerate((query, memory, memory)))
        return linear(w, f"{name}.linear_layers.3", attend(q, k, v, mask, -1e9, drop))

    def feed_forward(name, x):
        return linear(w, f"{name}.w_2", drop(jax.nn.relu(linear(w, f"{name}.w_1", x))))

    def embedded(name, ids):
        table = w[f"{name}.token_embeddings.weight"].at[0].set(jax.lax.stop_gradient(w[f"{name}.token_embeddings.weight"][0]))
        return drop(norm(f"{name}.norm", table[ids] + w[f"{name}.position_embeddings.weight"][:ids.shape[1]]))

    seen = (source != 0)[:, None, None, :]
    causal = jnp.tril(jnp.ones((target.shape[1], target.shape[1]), bool))
    given = jnp.concatenate([jnp.zeros_like(target[:, :1]), target[:, :-1]], 1)
    x = embedded("encoder.embeddings", source)
    for i in range(layers):
        layer = f"encoder.layers.{i}"
        y = norm(f"{layer}.sublayer.0.norm", x)
        x = x + drop(attention(f"{layer}.attention", y, y, seen))
        x = x + drop(feed_forward(f"{layer}.feed_forward", norm(f"{layer}.sublayer.1.norm", x)))
    memory = norm("encoder.norm", x)
    x = embedded("decoder.embeddings", given)
    for i in range(layers):
        layer = f"decoder.layers.{i}"
        y = norm(f"{layer}.norm1", x)
        x = x + drop(attention(f"{layer}.self_attn", y, y, causal))
        x = x + drop(attention(f"{layer}.cross_attn", norm(f"{layer}.norm2", x), memory, seen))
        x = x + drop(feed_forward(f"{layer}.feed_forward", norm(f"{layer}.norm3", x)))
    outputs = jax.nn.log_softmax(linear(w, "generator", norm("decoder.norm", x)))
    hot = jax.nn.one_hot(target, outputs.shape[-1])
    return -(hot * jnp.log(jax.nn.softmax(outputs) + 1e-10)).sum() / batch


def sequence_batches(row, count=4):
    """Other examples than ours, of the same kind: the work is the same, and the first loss nearly."""
    _, _, batch = TASKS[row["model"]]
    draw = numpy.random.default_rng(0)
    for _ in range(count):
        if row["model"] == "copy":
            x = draw.integers(1, 20, (batch, 20))
            yield x, x
        elif row["model"] == "addition":
            a, b = draw.integers(0, 500, batch), draw.integers(0, 500, batch)
            first, second, total = (numpy.stack([n // 100, n // 10 % 10, n % 10], 1) for n in (a, b, a + b))
            yield numpy.concatenate([first, numpy.full((batch, 1), 10), second], 1), total
        else:
            variable, operator = draw.integers(11, 14, batch), draw.integers(6, 10, batch)
            left, right = draw.integers(14, 24, batch), draw.integers(14, 24, batch)
            yield (numpy.stack([variable, numpy.ones_like(left), left, operator - 4, right], 1),
                   numpy.stack([numpy.full_like(left, 6), variable, operator + 1, left, right], 1))


# ---- Training ----


def main():
    row = json.loads(sys.argv[1])
    before = turns.peak_mib()
    weights = weights_of(row["weights"])
    if row["model"] == "gpt":
        loss_of, batches = gpt_loss, list(gpt_batches(row))
        lr, beta2, eps, decay = row["lr"], 0.999, 1e-8, row["weight_decay"]
    else:
        loss_of, batches = sequence_loss, list(sequence_batches(row))
        lr, beta2, eps, decay = 1e-4, 0.98, 1e-9, 0.0

    def update(weights, m, v, count, key, ids, targets):
        loss, grads = jax.value_and_grad(lambda w: loss_of(row, w, key, ids, targets))(weights)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, v, grads)
        first, second = 1 - 0.9**count, jnp.sqrt(1 - beta2**count)
        moved = jax.tree.map(lambda p, m, v: p * (1 - lr * decay) - lr / first * m / (jnp.sqrt(v) / second + eps), weights, m, v)
        return moved, m, v, loss

    compiled = jax.jit(update, donate_argnums=(0, 1, 2))
    batches = [(jnp.array(ids), jnp.array(targets)) for ids, targets in batches]
    zeros = lambda: jax.tree.map(jnp.zeros_like, weights)
    state, done, keys = (weights, zeros(), zeros()), 0, jax.random.key(row["seed"])

    def step():
        nonlocal state, done
        ids, targets = batches[done % len(batches)]
        done += 1
        *state, loss = compiled(*state, float(done), jax.random.fold_in(keys, done), ids, targets)
        return float(loss)

    turns.serve(f"JAX {jax.__version__}", step, before)


main()
