"""Writes tutorials.json: what the tutorials' unseeded code gives in PyTorch with seeds of ours, for
tests/tutorials_*.cpp. Needs torch 1.13.1. `--gradients` prints the gradient means of tutorials_gpt_from_scratch as well.
"""
import json
import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F


def rounded(x, digits=9):
    return [float(f"{v:.{digits}g}") for v in x.detach().flatten().tolist()]


# --- tutorial 000: the model, small, from manual_seed(123) ---

GPT = dict(vocab_size=11, context_length=6, emb_dim=8, n_heads=2, n_layers=2)


class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.scale * centred / torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-5) + self.shift


class Gelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


class Attention(nn.Module):
    def __init__(self, c, drop):
        super().__init__()
        dim, self.heads = c["emb_dim"], c["n_heads"]
        self.W_query, self.W_key, self.W_value = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.out_proj, self.dropout = nn.Linear(dim, dim), nn.Dropout(drop)

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for w in (self.W_query, self.W_key, self.W_value))
        later = torch.ones(x.size(1), x.size(1)).triu(1).bool()
        weights = ((q @ k.transpose(2, 3)).masked_fill(later, -torch.inf) / math.sqrt(q.size(-1))).softmax(-1)
        return self.out_proj((self.dropout(weights) @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, 4 * dim), Gelu(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        return self.layers(x)


class Block(nn.Module):
    def __init__(self, c, drop):
        super().__init__()
        dim = c["emb_dim"]
        self.att, self.ff, self.norm1, self.norm2 = Attention(c, drop), FeedForward(dim), Norm(dim), Norm(dim)
        self.drop_shortcut = nn.Dropout(drop)

    def forward(self, x):
        x = x + self.drop_shortcut(self.att(self.norm1(x)))
        return x + self.drop_shortcut(self.ff(self.norm2(x)))


class Model(nn.Module):
    def __init__(self, c, drop):
        super().__init__()
        self.tok_emb = nn.Embedding(c["vocab_size"], c["emb_dim"])
        self.pos_emb = nn.Embedding(c["context_length"], c["emb_dim"])
        self.drop_emb = nn.Dropout(drop)
        self.trf_blocks = nn.Sequential(*(Block(c, drop) for _ in range(c["n_layers"])))
        self.final_norm = Norm(c["emb_dim"])
        self.out_head = nn.Linear(c["emb_dim"], c["vocab_size"], bias=False)

    def forward(self, ids):
        x = self.drop_emb(self.tok_emb(ids) + self.pos_emb(torch.arange(ids.size(1))))
        return self.out_head(self.final_norm(self.trf_blocks(x)))


def tutorial000():
    ids, targets = [[6, 1, 10, 6, 2], [6, 1, 3, 7, 0]], [[1, 10, 6, 2, 9], [1, 3, 7, 0, 5]]
    torch.manual_seed(123)
    model = Model(GPT, 0.1)
    dropped = model(torch.tensor(ids))  # in training: every dropout draws
    model = model.double().eval()
    logits = model(torch.tensor(ids))
    loss = F.cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten())
    loss.backward()
    return {"config": GPT, "ids": ids, "targets": targets, "in_training": rounded(dropped), "logits": rounded(logits, 12),
            "loss": loss.item(), "grads": {name: rounded(p.grad, 10) for name, p in model.named_parameters()}}


def gradient_means(shortcuts, dtype):
    """Five layers of three, three, three, three and one number with GELU between: mean |dL/dw| of each."""
    torch.manual_seed(123)
    layers = [nn.Linear(3, width) for width in (3, 3, 3, 3, 1)]
    for layer in layers:
        layer.to(dtype)
    x, gelu = torch.tensor([[1., 0., -1.]], dtype=dtype), Gelu()
    for layer in layers:
        y = gelu(layer(x))
        x = x + y if shortcuts and x.shape == y.shape else y
    F.mse_loss(x, torch.zeros(1, 1, dtype=dtype)).backward()
    return [layer.weight.grad.abs().mean().item() for layer in layers]


# --- tutorial 001: scores and positions ---

def tutorial001():
    torch.manual_seed(0)
    scores = torch.randn(1, 5, 5)
    masked = scores.masked_fill(torch.ones(1, 5, 5).triu(1) != 0, -1e9)
    d_model, rows = 32, {}
    turn = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    for position in (0, 1, 2, 7, 31, 100, 999, 4999):
        angles = torch.tensor(float(position)) * turn
        rows[str(position)] = rounded(torch.stack((angles.sin(), angles.cos()), -1))
    return {"scores": str(scores), "masked": str(masked), "d_model": d_model, "pe": rows}


# --- tutorial 002: attention over padded sequences ---

def tutorial002():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 32)
    wq, wk, wv, dense = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 64)
    padding = torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]]).bool()
    q, k, v = (w(x).unflatten(-1, (4, 16)).transpose(1, 2) for w in (wq, wk, wv))

    def attend(score):
        return rounded(dense((score.softmax(-1) @ v).transpose(1, 2).flatten(2)), 8)

    score = q @ k.transpose(2, 3)
    return {"keys_hidden": attend((score / math.sqrt(16)).masked_fill(padding[:, None, None, :], -torch.inf)),
            "as_in_the_tutorial": attend(score / math.sqrt(64) + padding[:, None, :, None] * -1e9)}


# --- tutorial 003, section 8.2.3: projections for the roles of a word ---

WORDS = [[0.2, 0.8, 0.3], [0.7, 0.2, 0.9], [0.3, 0.5, 0.2], [0.1, 0.3, 0.4], [0.8, 0.1, 0.6]]


def tutorial003_roles():
    torch.manual_seed(0)
    x = torch.tensor(WORDS, dtype=torch.float64)
    compared, content = x @ torch.rand(3, 3, dtype=torch.float64), x @ torch.rand(3, 3, dtype=torch.float64)
    improved = (compared @ compared.T).softmax(-1) @ content
    q, k, v = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
    x = x.float()
    return {"improved": rounded(improved, 14), "query_key_value": rounded((q(x) @ k(x).T).softmax(-1) @ v(x))}


# --- tutorial 003, section 8.4.4: one vector of an embedding ---

def tutorial003_embeddings():
    torch.manual_seed(0)
    token, position = nn.Embedding(1000, 768, padding_idx=0), nn.Embedding(512, 768)
    nn.init.xavier_uniform_(token.weight)
    nn.init.xavier_uniform_(position.weight)
    ids = torch.tensor([[1, 5, 9, 2], [6, 3, 7, 4]])
    x = token(ids) + position(torch.arange(4))
    centred = x - x.mean(-1, keepdim=True)
    normed = centred / (centred.pow(2).mean(-1, keepdim=True).sqrt() + 1e-6)
    return {"printed": str(normed[0, 0, :10].detach())}


data = {"tutorial000": tutorial000(), "tutorial001": tutorial001(), "tutorial002": tutorial002(), "tutorial003_roles": tutorial003_roles(),
        "tutorial003_embeddings": tutorial003_embeddings(),
        "gradient_means_float64": [gradient_means(shortcuts, torch.float64) for shortcuts in (False, True)]}
text = json.dumps(data, separators=(",", ":")).replace(',"tutorial', ',\n"tutorial').replace(',"trf', ',\n"trf')
pathlib.Path(__file__).with_name("tutorials.json").write_text(text + "\n")
if "--gradients" in sys.argv:
    for dtype in (torch.float32, torch.float64):
        for shortcuts in (False, True):
            print(dtype, shortcuts, gradient_means(shortcuts, dtype))
