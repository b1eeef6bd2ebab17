"""Writes gpt.json: logits, loss and every gradient of small GPTs in float64, the first parameters of one, and its losses
in training with dropout, for tests/nn/models/gpt.cpp. Needs torch 1.13.1.

Fixed weights are a formula of the index that is exact in float32, so the test computes them itself.
"""
import json
import pathlib
import sys

import torch
from torch.nn import functional as F

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
from gpt import GPT  # noqa: E402

CONFIG = dict(vocab_size=17, context_length=8, emb_dim=8, n_heads=2, n_layers=2, drop_rate=0.0)
IDS = [[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 16, 0]]
TARGET = [[1, 4, 1, 5, 9, 2], [6, 5, 3, 16, 0, 7]]


def weights(k, name, count):
    w = torch.tensor([((37 * i + 101 * k) % 257 - 128) / 256 for i in range(count)], dtype=torch.float64)
    return 1 + w / 4 if name.endswith("scale") else w


def rounded(x, digits):
    return [float(f"{v:.{digits}g}") for v in x.detach().flatten().tolist()]


def loss_of(logits, target):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


ids, target = torch.tensor(IDS), torch.tensor(TARGET)
cases = []
for qkv_bias, tied in ((False, False), (True, True)):
    model = GPT({**CONFIG, "qkv_bias": qkv_bias}).double()
    if tied:
        model.out_head.weight = model.tok_emb.weight
    with torch.no_grad():
        for k, (name, p) in enumerate(model.named_parameters()):
            p.copy_(weights(k, name, p.numel()).view_as(p))
    logits = model(ids)
    loss = loss_of(logits, target)
    loss.backward()
    cases.append({"qkv_bias": qkv_bias, "tied": tied, "logits": rounded(logits, 16), "loss": loss.item(),
                  "grads": {name: rounded(p.grad, 11) for name, p in model.named_parameters()}})

torch.manual_seed(123)
model = GPT({**CONFIG, "qkv_bias": False, "drop_rate": 0.1})
start = {name: {"sum": p.double().sum().item(), "first": rounded(p.flatten()[:2], 9)} for name, p in model.named_parameters()}
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.1)
losses = []
for _ in range(12):
    loss = loss_of(model(ids), target)
    losses.append(loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

data = {"config": CONFIG, "ids": IDS, "target": TARGET, "cases": cases, "start": start, "losses": losses}
path = pathlib.Path(__file__).with_name("gpt.json")
path.write_text(json.dumps(data, separators=(",", ":")).replace(',"trf_', ',\n"trf_') + "\n")
