#!/usr/bin/env python3
"""PyTorch's side of bench/steps.cpp: the same training steps, in turns (turns.py).

    steps.py ROW [--compile]

ROW is a row of rows.py as JSON. Weights, batches and dropout masks are those of our side, so the losses are, too. The
GPT is written for speed: one product for queries, keys and values, scaled_dot_product_attention, fused AdamW.
"""
import argparse
import contextlib
import json

import torch
from torch import nn
from torch.nn import functional as F

import seq2seq
import turns


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, self.heads, self.drop_rate = c["emb_dim"], c["n_heads"], c["drop_rate"]
        # Drawn as three layers, as in the tutorial.
        layers = [nn.Linear(width, width, bias=c["qkv_bias"]) for _ in range(3)]
        self.qkv_weight = nn.Parameter(torch.cat([layer.weight.detach() for layer in layers]))
        self.qkv_bias = nn.Parameter(torch.cat([layer.bias.detach() for layer in layers])) if c["qkv_bias"] else None
        self.out_proj = nn.Linear(width, width)
        self.expand, self.contract = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def attend(self, x):
        qkv = F.linear(x, self.qkv_weight, self.qkv_bias).unflatten(-1, (3, self.heads, -1))
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.drop_rate)
        return self.out_proj(y.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + F.dropout(self.attend(self.norm1(x)), self.drop_rate)
        return x + F.dropout(self.contract(F.gelu(self.expand(self.norm2(x)), approximate="tanh")), self.drop_rate)


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["emb_dim"]
        self.drop_rate = c["drop_rate"]
        self.tok_emb, self.pos_emb = nn.Embedding(c["vocab_size"], width), nn.Embedding(c["context_length"], width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["n_layers"]))
        self.norm = nn.LayerNorm(width)
        self.head = None if c["tied_head"] else nn.Linear(width, c["vocab_size"], bias=False)
        if c["tied_head"]:
            self.tok_emb.weight.data *= 0.02

    def forward(self, ids, targets):
        x = F.dropout(self.tok_emb(ids) + self.pos_emb.weight[:ids.size(1)], self.drop_rate)
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.head.weight if self.head else self.tok_emb.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def gpt_step(row, compiled):
    torch.manual_seed(row["seed"])
    model = GPT(row)
    optimizer = torch.optim.AdamW(model.parameters(), lr=row["lr"], weight_decay=row["weight_decay"], fused=True)
    loss_of = torch.compile(model) if compiled else model
    batches = [torch.tensor(ids) for ids in turns.gpt_batches(row)]
    batches = [(ids[:, :-1].contiguous(), ids[:, 1:].contiguous()) for ids in batches]
    narrow = torch.autocast("cpu", torch.bfloat16) if row.get("dtype") == "bfloat16" else contextlib.nullcontext()
    done = 0

    def step():
        nonlocal done
        ids, targets = batches[done % len(batches)]
        done += 1
        optimizer.zero_grad()
        with narrow:
            loss = loss_of(ids, targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", type=json.loads)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    row = options.row
    torch.set_num_threads(row["threads"])
    before = turns.peak_mib()
    if row["model"] == "gpt":
        step = gpt_step(row, options.compile)
    else:
        step = seq2seq.Training(row["model"], row["seed"], fused=True, compiled=options.compile).step
    turns.serve(f"PyTorch {torch.__version__}", step, before)


main()
