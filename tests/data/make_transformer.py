"""Writes transformer.json: the encoder-decoder Transformer of the tutorial's sections 8.2.4 to 8.5.1 in PyTorch, for
tests/nn/models/transformer.cpp: logits, loss and every gradient of a small model in float64. Needs torch 1.13.1.

Weights are a formula of the index that is exact in float32, so the test computes them itself.
"""
import json
import math
import pathlib
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

CONFIG = dict(vocab_size=11, hidden_size=4, num_hidden_layers=2, num_attention_heads=2, intermediate_size=6,
              max_position_embeddings=7, layer_norm_eps=1e-6)
SRC = [[3, 1, 4, 1, 5, 9], [2, 6, 5, 0, 0, 0]]
TGT_IN = [[0, 3, 5, 8, 9], [0, 7, 9, 3, 2]]
TGT = [[3, 5, 8, 9, 7], [7, 9, 3, 2, 10]]


class LayerNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(c.hidden_size)), nn.Parameter(torch.zeros(c.hidden_size))
        self.eps = c.layer_norm_eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.gamma * centred / (centred.pow(2).mean(-1, keepdim=True).sqrt() + self.eps) + self.beta


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.num_attention_heads
        self.linear_layers = nn.ModuleList(nn.Linear(c.hidden_size, c.hidden_size) for _ in range(4))

    def forward(self, query, key, value, mask):
        def split(layer, x):
            return layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q, k, v = map(split, self.linear_layers, (query, key, value))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).masked_fill(~mask, -1e9)
        return self.linear_layers[3]((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w_1 = nn.Linear(c.hidden_size, c.intermediate_size)
        self.w_2 = nn.Linear(c.intermediate_size, c.hidden_size)

    def forward(self, x):
        return self.w_2((F.gelu if POST else F.relu)(self.w_1(x)))


def around(x, norm, block):  # Pre-LN, or Post-LN
    return norm(x + block(x)) if POST else x + block(norm(x))


class Embeddings(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.token_embeddings = nn.Embedding(c.vocab_size, c.hidden_size, padding_idx=0)
        self.position_embeddings = nn.Embedding(c.max_position_embeddings, c.hidden_size)
        self.norm = LayerNorm(c)

    def forward(self, ids):
        return self.norm(self.token_embeddings(ids) + self.position_embeddings(torch.arange(ids.size(1))))


class Sublayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = LayerNorm(c)


class EncoderLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention, self.feed_forward = Attention(c), FeedForward(c)
        self.sublayer = nn.ModuleList(Sublayer(c) for _ in range(2))

    def forward(self, x, mask):
        x = around(x, self.sublayer[0].norm, lambda n: self.attention(n, n, n, mask))
        return around(x, self.sublayer[1].norm, self.feed_forward)


class DecoderLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn, self.cross_attn, self.feed_forward = Attention(c), Attention(c), FeedForward(c)
        self.norm1, self.norm2, self.norm3 = LayerNorm(c), LayerNorm(c), LayerNorm(c)

    def forward(self, x, memory, src_mask, tgt_mask):
        x = around(x, self.norm1, lambda n: self.self_attn(n, n, n, tgt_mask))
        x = around(x, self.norm2, lambda n: self.cross_attn(n, memory, memory, src_mask))
        return around(x, self.norm3, self.feed_forward)


class Stack(nn.Module):
    def __init__(self, c, layer):
        super().__init__()
        self.embeddings = Embeddings(c)
        self.layers = nn.ModuleList(layer(c) for _ in range(c.num_hidden_layers))
        self.norm = LayerNorm(c)

    def forward(self, ids, *others):
        x = self.embeddings(ids)
        for layer in self.layers:
            x = layer(x, *others)
        return self.norm(x)


class Transformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.encoder, self.decoder = Stack(c, EncoderLayer), Stack(c, DecoderLayer)
        self.generator = nn.Linear(c.hidden_size, c.vocab_size)

    def forward(self, src, tgt, src_mask, tgt_mask):
        memory = self.encoder(src, src_mask)
        return F.log_softmax(self.generator(self.decoder(tgt, memory, src_mask, tgt_mask)), -1)


def weights(k, name, count):
    w = torch.tensor([((37 * i + 101 * k) % 257 - 128) / 256 for i in range(count)], dtype=torch.float64)
    return 1 + w / 4 if name.endswith("gamma") else w


def rounded(x):
    return [float(f"{v:.11g}") for v in x.flatten().tolist()]


def run():
    model = Transformer(SimpleNamespace(**CONFIG)).double()
    with torch.no_grad():
        for k, (name, p) in enumerate(model.named_parameters()):
            p.copy_(weights(k, name, p.numel()).view_as(p))
    src, tgt_in, tgt = map(torch.tensor, (SRC, TGT_IN, TGT))
    length = tgt_in.size(1)
    outputs = model(src, tgt_in, (src != 0)[:, None, None, :], torch.ones(length, length).tril().bool())
    chosen = F.one_hot(tgt, outputs.size(-1)) * torch.log(F.softmax(outputs, -1) + 1e-10)
    loss = -chosen.sum() / len(SRC)
    loss.backward()
    return {"outputs": rounded(outputs), "loss": loss.item(),
            "grads": {name: rounded(p.grad) for name, p in model.named_parameters()}}


POST = False  # Post-LN with gelu instead of Pre-LN with relu
data = {"config": CONFIG, "src": SRC, "tgt_in": TGT_IN, "tgt": TGT, **run()}
POST = True
data["post"] = run()
path = pathlib.Path(__file__).with_name("transformer.json")
path.write_text(json.dumps(data, separators=(",", ":")).replace(',"encoder', ',\n"encoder').replace(',"decoder', ',\n"decoder') + "\n")
