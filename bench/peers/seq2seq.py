#!/usr/bin/env python3
"""The three encoder-decoder tasks in PyTorch: for comparisons of speed, and for the reference losses of each step.

    seq2seq.py copy|addition|parser [--steps N] [--seed S] [--threads T] [--dropout P] [--dtype float32|bfloat16]
               [--json]

prints the loss of every step (as JSON with --json) and the median time of a step. For speed, run it with
MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=536870912.
"""
import argparse
import json
import math
import statistics
import time

import numpy
import torch
from torch import nn
from torch.nn import functional as F

TASKS = {
    "copy": dict(vocab=20, hidden=64, layers=2, heads=2, ffn=128, positions=20, batch=40),
    "addition": dict(vocab=11, hidden=256, layers=3, heads=4, ffn=512, positions=10, batch=128),
    "parser": dict(vocab=25, hidden=128, layers=3, heads=4, ffn=512, positions=10, batch=64),
}


class StdNorm(nn.Module):
    """gamma (x - mean) / (std + eps) + beta"""

    def __init__(self, c):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(c["hidden"]))
        self.beta = nn.Parameter(torch.zeros(c["hidden"]))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        std = centred.pow(2).mean(-1, keepdim=True).sqrt()
        return self.gamma * centred / (std + 1e-6) + self.beta


class Heads(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.width = c["heads"], c["hidden"] // c["heads"]
        self.linear_layers = nn.ModuleList([nn.Linear(c["hidden"], c["hidden"]) for _ in range(4)])
        self.dropout = nn.Dropout(c["dropout"])

    def forward(self, query, key, value, mask):
        b = query.size(0)
        q, k, v = (layer(x).view(b, -1, self.heads, self.width).transpose(1, 2)
                   for layer, x in zip(self.linear_layers, (query, key, value)))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.width)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        mixed = self.dropout(scores.softmax(-1)) @ v
        return self.linear_layers[3](mixed.transpose(1, 2).contiguous().view(b, -1, self.heads * self.width))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w_1 = nn.Linear(c["hidden"], c["ffn"])
        self.w_2 = nn.Linear(c["ffn"], c["hidden"])
        self.dropout = nn.Dropout(c["dropout"])
        for layer in (self.w_1, self.w_2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.w_2(self.dropout(F.relu(self.w_1(x))))


class Sublayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = StdNorm(c)
        self.dropout = nn.Dropout(c["dropout"])

    def forward(self, x, inner):
        return x + self.dropout(inner(self.norm(x)))


class EncoderLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention = Heads(c)
        self.feed_forward = FeedForward(c)
        self.sublayer = nn.ModuleList([Sublayer(c), Sublayer(c)])

    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda y: self.attention(y, y, y, mask))
        return self.sublayer[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn = Heads(c)
        self.cross_attn = Heads(c)
        self.feed_forward = FeedForward(c)
        self.norm1, self.norm2, self.norm3 = StdNorm(c), StdNorm(c), StdNorm(c)
        self.dropout = nn.Dropout(c["dropout"])

    def forward(self, x, memory, source_mask, target_mask):
        y = self.norm1(x)
        x = x + self.dropout(self.self_attn(y, y, y, target_mask))
        y = self.norm2(x)
        x = x + self.dropout(self.cross_attn(y, memory, memory, source_mask))
        return x + self.dropout(self.feed_forward(self.norm3(x)))


class Embeddings(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.token_embeddings = nn.Embedding(c["vocab"], c["hidden"], padding_idx=0)
        self.position_embeddings = nn.Embedding(c["positions"], c["hidden"])
        self.norm = StdNorm(c)
        self.dropout = nn.Dropout(c["dropout"])
        nn.init.xavier_uniform_(self.token_embeddings.weight)
        nn.init.xavier_uniform_(self.position_embeddings.weight)

    def forward(self, ids):
        places = torch.arange(ids.size(1)).unsqueeze(0).expand_as(ids)
        return self.dropout(self.norm(self.token_embeddings(ids) + self.position_embeddings(places)))


class Stack(nn.Module):
    def __init__(self, c, layer):
        super().__init__()
        self.embeddings = Embeddings(c)
        self.layers = nn.ModuleList([layer(c) for _ in range(c["layers"])])
        self.norm = StdNorm(c)

    def forward(self, ids, *context):
        x = self.embeddings(ids)
        for layer in self.layers:
            x = layer(x, *context)
        return self.norm(x)


class Seq2Seq(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.encoder = Stack(c, EncoderLayer)
        self.decoder = Stack(c, DecoderLayer)
        self.generator = nn.Linear(c["hidden"], c["vocab"])
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, source, target, source_mask, target_mask):
        memory = self.encoder(source, source_mask)
        return self.generator(self.decoder(target, memory, source_mask, target_mask)).log_softmax(-1)


def digits(numbers, width):
    return torch.stack([numbers // 10 ** (width - 1 - i) % 10 for i in range(width)], 1)


def batch_of(task, c):
    if task == "copy":
        x = torch.randint(1, 20, (c["batch"], 20))
        return x, x
    if task == "addition":
        a, b = torch.randint(0, 500, (c["batch"],)), torch.randint(0, 500, (c["batch"],))
        plus = torch.full((c["batch"], 1), 10)
        return torch.cat([digits(a, 3), plus, digits(b, 3)], 1), digits(a + b, 3)
    source, target = [], []
    for _ in range(c["batch"]):
        variable = 11 + numpy.random.choice([0, 1, 2])
        left = 14 + numpy.random.randint(0, 10)
        operator = 6 + numpy.random.choice([0, 1, 2, 3])
        right = 14 + numpy.random.randint(0, 10)
        source.append([variable, 1, left, operator - 4, right])
        target.append([6, variable, operator + 1, left, right])
    return torch.tensor(source), torch.tensor(target)


class Training:
    """The tutorial's training; fused and compiled: as fast as PyTorch can do it."""

    def __init__(self, task, seed, dropout=0.1, fused=False, compiled=False):
        torch.manual_seed(seed)
        numpy.random.seed(seed)
        self.task, self.c = task, dict(TASKS[task], dropout=dropout)
        self.model = Seq2Seq(self.c).train()
        more = {"fused": True} if fused else {}
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, **more)
        self.loss_of = torch.compile(self.loss) if compiled else self.loss

    def loss(self, source, target):
        given = torch.cat([torch.zeros(target.size(0), 1, dtype=torch.long), target[:, :-1]], 1)
        source_mask = (source != 0).unsqueeze(1).unsqueeze(2)
        target_mask = torch.tril(torch.ones(given.size(1), given.size(1))).unsqueeze(0).unsqueeze(0)
        outputs = self.model(source, given, source_mask, target_mask).float()
        hot = F.one_hot(target, self.c["vocab"]).float()
        return -torch.sum(hot * torch.log(F.softmax(outputs, -1) + 1e-10)) / self.c["batch"]

    def step(self):
        loss = self.loss_of(*batch_of(self.task, self.c))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="bfloat16: autocast")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    training = Training(options.task, options.seed, options.dropout)
    losses, times = [], []
    for _ in range(options.steps):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.dtype == "bfloat16"):
            losses.append(training.step())
        times.append(time.perf_counter() - start)
    result = {"task": options.task, "torch": torch.__version__, "threads": options.threads,
              "step_ms_median": 1e3 * statistics.median(times[len(times) // 10:]), "losses": losses}
    if options.json:
        print(json.dumps(result))
    else:
        for step, loss in enumerate(losses, 1):
            print(step, loss)
        print(f"PyTorch {result['torch']}, {options.threads} threads: {result['step_ms_median']:.2f} ms a step")


if __name__ == "__main__":
    main()
