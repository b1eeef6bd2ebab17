"""Writes torch_layers.json: PyTorch's MultiheadAttention, Transformer layers and EmbeddingBag, for
tests/nn/layers/torch_layers.cpp. Needs torch 2.15: 1.13 draws the dropout of an attention's result in another order where
batch_first.

Initial weights are float32 after manual_seed(3); results and gradients float64, after parameter k was set to filled(its shape, k),
with the dropout of manual_seed(7).
"""
import copy
import json
import math
import pathlib

import torch
from torch import nn


def filled(shape, k):
    count = math.prod(shape)
    return torch.tensor([((37 * i + 101 * k) % 257 - 128) / 256 for i in range(count)], dtype=torch.float64).reshape(shape)


def flat(x):
    return [float(f"{v:.9g}") for v in x.detach().double().reshape(-1).tolist()]


def case(make, inputs, call=lambda m, *x: m(*x), train=True):
    torch.manual_seed(3)
    module = make()
    entry = {"names": list(module.state_dict()), "initial": [flat(p) for p in module.parameters()],
             "next": torch.rand(1).item()}
    module = copy.deepcopy(module).double().train(train)
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(filled(p.shape, k))
    inputs = [x.requires_grad_() if x.is_floating_point() else x for x in inputs]
    torch.manual_seed(7)
    y = call(module, *inputs)
    weights = None
    if isinstance(y, tuple):
        y, weights = y
    if weights is not None:
        entry["weights"] = flat(weights)
    leaves = [x for x in inputs if x.requires_grad] + list(module.parameters())
    grads = torch.autograd.grad(y, leaves, filled(y.shape, 40), allow_unused=True)
    return entry | {"y": flat(y), "shape": list(y.shape),
                    "grads": [flat(torch.zeros_like(x) if g is None else g) for x, g in zip(leaves, grads)]}


CAUSAL = torch.triu(torch.ones(4, 4), 1).bool()
PADDING = torch.tensor([[False, False, False, True], [False, False, True, True]])
SCORES = 3 * filled([4, 4, 4], 30)  # [N heads, T, S]


def attention(**options):
    return lambda: nn.MultiheadAttention(8, 2, **options)


def attend(**masks):
    return lambda m, q, k=None, v=None: m(q, q if k is None else k, q if v is None else v, **masks)


def encoder(**options):
    return lambda: nn.TransformerEncoderLayer(8, 2, 6, 0.3, **options)


def decoder(**options):
    return lambda: nn.TransformerDecoderLayer(8, 2, 6, 0.3, **options)


def bag(**options):
    def made():
        return nn.EmbeddingBag(7, 3, **options)
    return made


X, BX, M = 2 * filled([4, 2, 8], 20), 2 * filled([2, 4, 8], 21), 2 * filled([3, 2, 8], 22)
IDS, OFFSETS, ROWS = torch.tensor([1, 2, 4, 5, 4, 3, 2, 6]), torch.tensor([0, 3, 3, 7]), torch.tensor([[1, 2, 2], [4, 3, 2]])
cases = {
    "self": case(attention(dropout=0.3), [X], attend(need_weights=False)),
    "cross": case(attention(kdim=6, vdim=3), [X, filled([5, 2, 6], 23), filled([5, 2, 3], 24)], attend()),
    "memory": case(attention(), [X, M], lambda m, q, k: m(q, k, k, average_attn_weights=False)),
    "masks": case(attention(batch_first=True, dropout=0.3), [BX],
                  attend(need_weights=False, key_padding_mask=PADDING, attn_mask=CAUSAL)),
    "added masks": case(attention(), [X], attend(attn_mask=SCORES, key_padding_mask=PADDING)),
    "one more key": case(attention(add_bias_kv=True, add_zero_attn=True), [X], attend(attn_mask=CAUSAL, key_padding_mask=PADDING)),
    "without bias": case(attention(bias=False), [X], attend()),
    "without a batch": case(attention(), [X[:, 0].clone().detach()], attend(attn_mask=CAUSAL)),
    "encoder layer": case(encoder(), [X], lambda m, x: m(x, CAUSAL, PADDING)),
    "encoder layer, pre-norm": case(encoder(norm_first=True, batch_first=True, activation="gelu", layer_norm_eps=1e-3), [BX],
                                    lambda m, x: m(x, src_key_padding_mask=PADDING)),
    "encoder layer, batch first": case(encoder(batch_first=True), [BX]),
    "decoder layer": case(decoder(), [X, M], lambda m, x, y: m(x, y, CAUSAL, tgt_key_padding_mask=PADDING)),
    "decoder layer, pre-norm": case(decoder(norm_first=True, batch_first=True), [BX, filled([2, 3, 8], 25)],
                                    lambda m, x, y: m(x, y, CAUSAL, memory_key_padding_mask=PADDING[:, 1:])),
    "encoder": case(lambda: nn.TransformerEncoder(encoder()(), 2, nn.LayerNorm(8)), [X]),
    "transformer": case(lambda: nn.Transformer(8, 2, 1, 1, 6, 0.3), [M, X], lambda m, s, t: m(s, t, tgt_mask=CAUSAL)),
    "bag mean": case(bag(), [], lambda m: m(IDS, OFFSETS)),
    "bag sum": case(bag(mode="sum", padding_idx=2), [filled([8], 26)], lambda m, w: m(IDS, OFFSETS, w)),
    "bag max": case(bag(mode="max", padding_idx=4), [], lambda m: m(IDS, OFFSETS)),
    "bag rows": case(bag(mode="mean", padding_idx=2), [], lambda m: m(ROWS)),
    "bag last": case(bag(mode="sum", include_last_offset=True), [], lambda m: m(IDS, torch.tensor([0, 3, 3, 8]))),
}
pathlib.Path(__file__).with_name("torch_layers.json").write_text(
    "{" + ",\n".join(f'"{name}": {json.dumps(entry)}' for name, entry in cases.items()) + "}\n")
