#!/usr/bin/env python3
"""GPT in PyTorch, with the parameter names of tutorial 000, and the training run of chapter 5: for comparisons of speed,
and for the reference losses of each step.

    gpt.py --text FILE --tokenizer DIR [--seed S] [--threads T] [--epochs N] [--steps N] [--losses]

prints the 28 lines of that run, then its time and peak memory; --losses prints the loss of every step instead, and
--steps ends early. For speed, run it with
MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=536870912.
"""
import argparse
import json
import math
import os
import re
import resource
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

BOOK = dict(vocab_size=50257, context_length=256, emb_dim=768, n_heads=12, n_layers=12, drop_rate=0.1, qkv_bias=False)


class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.scale * centred / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5) + self.shift


class Gelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["emb_dim"]
        self.heads = c["n_heads"]
        self.W_query, self.W_key, self.W_value = (nn.Linear(width, width, bias=c["qkv_bias"]) for _ in range(3))
        self.out_proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(c["drop_rate"])
        self.register_buffer("mask", torch.ones(c["context_length"], c["context_length"]).triu(1).bool(), persistent=False)

    def forward(self, x):
        tokens = x.size(1)
        k, q, v = (project(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for project in (self.W_key, self.W_query, self.W_value))
        scores = (q @ k.transpose(2, 3)).masked_fill(self.mask[:tokens, :tokens], -torch.inf)
        weights = self.dropout(torch.softmax(scores / k.size(-1) ** 0.5, dim=-1))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), Gelu(), nn.Linear(4 * width, width))

    def forward(self, x):
        return self.layers(x)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.att, self.ff = Attention(c), FeedForward(c["emb_dim"])
        self.norm1, self.norm2 = Norm(c["emb_dim"]), Norm(c["emb_dim"])
        self.drop_shortcut = nn.Dropout(c["drop_rate"])

    def forward(self, x):
        x = x + self.drop_shortcut(self.att(self.norm1(x)))
        return x + self.drop_shortcut(self.ff(self.norm2(x)))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok_emb = nn.Embedding(c["vocab_size"], c["emb_dim"])
        self.pos_emb = nn.Embedding(c["context_length"], c["emb_dim"])
        self.drop_emb = nn.Dropout(c["drop_rate"])
        self.trf_blocks = nn.Sequential(*(Block(c) for _ in range(c["n_layers"])))
        self.final_norm = Norm(c["emb_dim"])
        self.out_head = nn.Linear(c["emb_dim"], c["vocab_size"], bias=False)

    def forward(self, ids):
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.size(1)))
        return self.out_head(self.final_norm(self.trf_blocks(self.drop_emb(x))))


class Bytes:
    """GPT-2's byte-pair encoding, of vocab.bpe and encoder.json."""

    SPLIT = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:_|[^\s\w])+|\s+(?!\S)|\s+")

    def __init__(self, folder):
        with open(os.path.join(folder, "encoder.json"), encoding="utf-8") as file:
            self.ids = json.load(file)
        with open(os.path.join(folder, "vocab.bpe"), encoding="utf-8") as file:
            pairs = [tuple(line.split()) for line in file.read().split("\n")[1:] if line]
        self.rank = {pair: i for i, pair in enumerate(pairs)}
        plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
        self.letter = {b: chr(b) for b in plain}
        for b in range(256):
            if b not in self.letter:
                self.letter[b] = chr(256 + len(self.letter) - len(plain))
        self.byte = {letter: b for b, letter in self.letter.items()}
        self.token = {i: t for t, i in self.ids.items()}

    def encode(self, text):
        out = []
        for piece in self.SPLIT.findall(text):
            word = [self.letter[b] for b in piece.encode()]
            while len(word) > 1:
                rank, at = min((self.rank.get(pair, math.inf), i) for i, pair in enumerate(zip(word, word[1:])))
                if rank == math.inf:
                    break
                word[at:at + 2] = [word[at] + word[at + 1]]
            out += [self.ids[part] for part in word]
        return out

    def decode(self, ids):
        return bytes(self.byte[c] for i in ids for c in self.token[i]).decode(errors="replace")


def windows(ids, length):
    starts = range(0, len(ids) - length, length)
    cut = lambda shift: torch.tensor([ids[s + shift:s + shift + length] for s in starts])
    return TensorDataset(cut(0), cut(1))


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def mean_loss(model, loader, batches):
    batches = min(batches, len(loader))
    total = 0.0
    for i, (x, y) in enumerate(loader):
        if i == batches:
            break
        total += loss_of(model, x, y).item()
    return total / batches


@torch.no_grad()
def greedy(model, ids, count, context):
    for _ in range(count):
        logits = model(torch.tensor([ids[-context:]]))[0, -1]
        ids = ids + [int(logits.argmax())]
    return ids


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--seed", type=int, default=123)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--losses", action="store_true")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="bfloat16: autocast")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    start = time.perf_counter()
    with open(args.text, encoding="utf-8") as file:
        text = file.read()
    bpe, context = Bytes(args.tokenizer), BOOK["context_length"]
    cut = int(0.9 * len(text))
    torch.manual_seed(args.seed)
    train = DataLoader(windows(bpe.encode(text[:cut]), context), batch_size=2, shuffle=True, drop_last=True)
    validation = DataLoader(windows(bpe.encode(text[cut:]), context), batch_size=2)
    torch.manual_seed(args.seed)
    model = GPT(BOOK)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, weight_decay=0.1)
    step = -1
    for epoch in range(args.epochs):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=args.dtype == "bfloat16"):
                loss = loss_of(model, x, y)
            loss.backward()
            optimizer.step()
            step += 1
            if args.losses:
                print(f"{step} {loss.item():.9g}", flush=True)
            if step % 5 == 0:
                model.eval()
                losses = mean_loss(model, train, 5), mean_loss(model, validation, 5)
                model.train()
                if not args.losses:
                    print(f"Ep {epoch + 1} (Step {step:06d}): Train loss {losses[0]:.3f}, Val loss {losses[1]:.3f}", flush=True)
            if step + 1 == args.steps:
                break
        if step + 1 == args.steps:
            break
        model.eval()
        sample = bpe.decode(greedy(model, bpe.encode("Every effort moves you"), 50, context)).replace("\n", " ")
        if not args.losses:
            print(sample, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{time.perf_counter() - start:.1f} s, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
