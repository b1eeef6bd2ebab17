#!/usr/bin/env python3
"""The benchmarks of single operations in PyTorch, with the names of our benchmarks, in turns (turns.py).

    ops.py [--threads T] NAME        echo 0.5 | ops.py forward/tanh

Each line of standard input is a number of seconds; the answer has the times of the calls in that time, in milliseconds.
"""
import argparse
import itertools
import sys
import time

import torch
from torch.nn import functional as F

import batches
import convolution
import pooling
import recurrent
import scan
import turns


def calls(function, seconds):
    """The times of calls in milliseconds, at least five, after two that warm up."""
    function(), function()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def chain(operation, n):
    x = torch.full((n,), 0.5, requires_grad=True)

    def run():
        y = x
        for _ in range(100):
            y = operation(y, x)
        torch.autograd.grad(y, x, grad_outputs=x.detach())

    return run


def with_backward(operation, x):
    leaf = x.clone().requires_grad_()
    return lambda: torch.autograd.grad(operation(leaf), leaf, grad_outputs=x)


def products(m, n, k):
    """x [m, k] times weight [n, k] transposed, and the gradients of both."""
    x, weight, dy = torch.randn(m, k), torch.randn(n, k), torch.randn(m, n)
    return {f"linear/{m}/{n}/{k}": lambda: F.linear(x, weight),
            f"linear_dx/{m}/{n}/{k}": lambda: dy @ weight,
            f"linear_dw/{m}/{n}/{k}": lambda: dy.t() @ x}


def attention(b, t, h, d):
    """Attention written with einsum and softmax, its scores alone, and with the gradients of queries, keys and values."""
    q, k, v, dy = (torch.randn(b, t, h, d, requires_grad=i < 3) for i in range(4))

    def attend():
        scores = torch.einsum("bthd,bshd->bhts", q, k) * d**-0.5
        return torch.einsum("bhts,bshd->bthd", torch.softmax(scores, -1), v)

    name = f"{b}/{t}/{h}/{d}"
    return {f"einsum_attention/{name}": torch.no_grad()(attend),
            f"einsum_attention_with_gradients/{name}": lambda: torch.autograd.grad(attend(), (q, k, v), grad_outputs=dy),
            f"einsum_scores/{name}": torch.no_grad()(lambda: torch.einsum("bthd,bshd->bhts", q, k))}


def linear_algebra(batch, n):
    """Symmetric positive definite matrices [batch, n, n] with n right-hand sides."""
    x, b = torch.randn(batch, n, n), torch.randn(batch, n, n)
    a = x @ x.transpose(1, 2) / n + torch.eye(n)
    calls = {"solve": lambda: torch.linalg.solve(a, b), "inverse": lambda: torch.linalg.inv(a), "cholesky": lambda: torch.linalg.cholesky(a),
             "triangular_solve": lambda: torch.linalg.solve_triangular(a, b, upper=False), "slogdet": lambda: torch.linalg.slogdet(a),
             "qr": lambda: torch.linalg.qr(a), "eigh": lambda: torch.linalg.eigh(a), "svd": lambda: torch.linalg.svd(a, full_matrices=False)}
    return {f"linalg_{name}/{batch}/{n}": call for name, call in calls.items()}


def causal_attention(*shape):
    leaves = [torch.randn(shape, requires_grad=True) for _ in range(3)]
    dy = torch.randn(shape)
    attend = lambda: F.scaled_dot_product_attention(*leaves, is_causal=True)
    return {"/".join(["causal_attention_with_gradients", *map(str, shape)]):
            lambda: torch.autograd.grad(attend(), leaves, grad_outputs=dy)}


def flex_attention(heads, length, size):
    """With a mask of all pairs: PyTorch's flex_attention has no backward on a CPU."""
    leaves = [torch.randn(1, heads, length, size, requires_grad=True) for _ in range(3)]
    dy = torch.randn(1, heads, length, size)
    place = torch.arange(length)
    mask = (place[:, None] // 300 == place // 300) & (place[:, None] >= place)

    def capped():
        q, k, v = leaves
        scores = 20 * torch.tanh(q @ k.transpose(-1, -2) * size ** -0.5 / 20)
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v
    masked = lambda: F.scaled_dot_product_attention(*leaves, attn_mask=mask)
    return {f"{name}_with_gradients/{heads}/{length}/{size}": lambda f=f: torch.autograd.grad(f(), leaves, grad_outputs=dy)
            for name, f in (("documents", masked), ("soft_cap", capped))}


def ctc(steps, batch, classes, labels):
    x = torch.log_softmax(torch.randn(steps, batch, classes), -1).requires_grad_()
    target, lengths, counts = torch.randint(1, classes, (batch, labels)), torch.full((batch,), steps), torch.full((batch,), labels)
    return {f"ctc_loss_with_gradient/{steps}/{batch}/{classes}/{labels}":
            lambda: torch.autograd.grad(F.ctc_loss(x, target, lengths, counts), x)}


def elementwise():
    x = torch.linspace(-4, 4, 1 << 24)
    ones = torch.ones(1000, 1000)
    return {"forward/add": lambda: x + x,
            "forward/add_number": lambda: x + 1.0,
            "forward/tanh": lambda: torch.tanh(x),
            "forward/gelu_tanh": lambda: F.gelu(x, approximate="tanh"),
            "forward/gelu_erf": lambda: F.gelu(x),
            "with_backward/tanh": with_backward(torch.tanh, x),
            "with_backward/gelu_tanh": with_backward(lambda v: F.gelu(v, approximate="tanh"), x),
            "dropout/1000000": lambda: F.dropout(ones, 0.1)}


def formulas():
    """Formulas of 1 M numbers, operation by operation."""
    dy = torch.linspace(-4, 4, 1 << 20)
    of = {"gelu": (1, lambda x: 0.5 * x * (1 + torch.erf(x * 0.70710678118654752))),
          "swish": (1, lambda x: x * torch.sigmoid(x)),
          "burgers": (5, lambda u, u_t, u_x, u_xx, nu: u_t + u * u_x - nu * u_xx),
          "wave": (1, lambda x: torch.exp(-0.5 * x * x) * torch.cos(3 * x) + 0.1 * x / (1 + x * x))}
    calls = {}
    for name, (count, f) in of.items():
        x = [torch.tensor(0.1) if i == 4 else dy * (0.5 + 0.1 * i) for i in range(count)]
        leaves = [t.clone().requires_grad_() for t in x]
        calls[f"formula/{name}"] = lambda f=f, x=x: f(*x)
        calls[f"formula/{name}/gradients"] = lambda f=f, leaves=leaves: torch.autograd.grad(f(*leaves), leaves, grad_outputs=dy)
    return calls


def norms(rows):
    x, weight = torch.randn(rows, 768), torch.randn(768)
    leaves = [t.clone().requires_grad_() for t in (x, weight, weight)]
    normed = lambda: F.layer_norm(leaves[0], (768,), leaves[1], leaves[2])
    return {f"softmax/{rows}/768": lambda: torch.softmax(x, -1),
            f"layer_norm/{rows}/768": lambda: F.layer_norm(x, (768,), weight, weight),
            f"layer_norm_with_gradients/{rows}/768": lambda: torch.autograd.grad(normed(), leaves, grad_outputs=x)}


def losses():
    logits, target = torch.randn(1024, 50257, requires_grad=True), torch.zeros(1024, dtype=torch.long)
    hidden, head = torch.randn(1024, 768, requires_grad=True), (torch.randn(50257, 768) * 0.02).requires_grad_()
    return {"cross_entropy_with_gradient/1024/50257": lambda: torch.autograd.grad(F.cross_entropy(logits, target), logits),
            "linear_cross_entropy_with_gradients/1024/50257/768": lambda: torch.autograd.grad(
                F.cross_entropy(F.linear(hidden, head), target), [hidden, head])}


def sparse_steps():
    """Lookup, loss, backward and update of a table [1,000,000, 16] with 4,096 ids per step."""
    def step(rule):
        table = torch.nn.Embedding(1_000_000, 16, sparse=True)
        optimiser = rule(table.parameters(), lr=1e-3)
        ids = itertools.cycle([torch.randint(0, 1_000_000, (4096,)) for _ in range(8)])

        def run():
            optimiser.zero_grad()
            table(next(ids)).square().sum().backward()
            optimiser.step()

        return run

    return {f"sparse_step/{name}": step(rule) for name, rule in
            (("sgd", torch.optim.SGD), ("adagrad", torch.optim.Adagrad), ("adam", torch.optim.SparseAdam))}


def chains():
    return {"chain/add/8": chain(lambda y, x: y + x, 8),
            "chain/tanh/8": chain(lambda y, _: torch.tanh(y), 8),
            "chain/mul/8": chain(lambda y, x: y * x, 8)}


def bilinear():
    operands = [torch.randn(256, 128), torch.randn(64, 128, 96), torch.randn(256, 96)]
    return {"einsum_bilinear": lambda: torch.einsum("bi,oij,bj->bo", *operands)}


GROUPS = [elementwise, formulas, losses, lambda: norms(4096), lambda: norms(16384), chains, bilinear, pooling.cases, convolution.cases,
          recurrent.cases, scan.cases, batches.cases, *(lambda s=s: products(*s) for s in ((256, 3072, 768), (800, 64, 64), (256, 50257, 768))),
          *(lambda s=s: linear_algebra(*s) for s in ((256, 8), (64, 32), (1, 512))),
          *(lambda s=s: attention(*s) for s in ((8, 256, 8, 64), (32, 64, 4, 32))),
          lambda: flex_attention(8, 2048, 64), lambda: ctc(400, 16, 80, 60),
          *(lambda s=s: causal_attention(*s) for s in ((1, 4, 1024, 64), (1, 4, 8192, 64))), sparse_steps]


def find(name):
    """The case of that name, of the first group that has it; None if there is none."""
    return next((found[name] for group in GROUPS if name in (found := group())), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("name")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    case = find(options.name)
    turns.answer({"library": f"PyTorch {torch.__version__}", "known": case is not None})
    for line in sys.stdin if case else ():
        turns.answer({"ms": calls(case, float(line))})


main()
