#!/usr/bin/env python3
"""The benchmarks of single operations in PyTorch: prints {name: milliseconds}, with the names of our benchmarks.

    ops.py [--threads T] [--only TEXT]
"""
import argparse
import json
import statistics
import time

import torch
from torch.nn import functional as F

import convolution
import pooling
import recurrent
import scan


def steady(function, seconds=0.6):
    """The median time of a call, in milliseconds, after two calls that warm up."""
    function(), function()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


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


def cases():
    x = torch.linspace(-4, 4, 1 << 24)
    rows, weight = torch.randn(4096, 768), torch.randn(768)
    logits, target = torch.randn(1024, 50257, requires_grad=True), torch.zeros(1024, dtype=torch.long)
    ones = torch.ones(1000, 1000)
    norm = [t.clone().requires_grad_() for t in (rows, weight, weight)]
    result = {
        "forward/add": lambda: x + x,
        "forward/tanh": lambda: torch.tanh(x),
        "forward/gelu_tanh": lambda: F.gelu(x, approximate="tanh"),
        "forward/gelu_erf": lambda: F.gelu(x),
        "with_backward/tanh": with_backward(torch.tanh, x),
        "with_backward/gelu_tanh": with_backward(lambda v: F.gelu(v, approximate="tanh"), x),
        "softmax/4096/768": lambda: torch.softmax(rows, -1),
        "layer_norm/4096/768": lambda: F.layer_norm(rows, (768,), weight, weight),
        "layer_norm_with_gradients/4096/768":
            lambda: torch.autograd.grad(F.layer_norm(norm[0], (768,), norm[1], norm[2]), norm, grad_outputs=rows),
        "cross_entropy_with_gradient/1024/50257": lambda: torch.autograd.grad(F.cross_entropy(logits, target), logits),
        "dropout/1000000": lambda: F.dropout(ones, 0.1),
        "chain/tanh/8": chain(lambda y, _: torch.tanh(y), 8),
        "chain/mul/8": chain(lambda y, x: y * x, 8),
    }
    for shape in ((256, 3072, 768), (800, 64, 64), (256, 50257, 768)):
        result.update(products(*shape))
    for shape in ((256, 8), (64, 32), (1, 512)):
        result.update(linear_algebra(*shape))
    for shape in ((8, 256, 8, 64), (32, 64, 4, 32)):
        result.update(attention(*shape))
    bilinear = [torch.randn(256, 128), torch.randn(64, 128, 96), torch.randn(256, 96)]
    result["einsum_bilinear"] = lambda: torch.einsum("bi,oij,bj->bo", *bilinear)
    result.update(pooling.cases())
    result.update(convolution.cases())
    result.update(recurrent.cases())
    result.update(scan.cases())
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(json.dumps({name: steady(function) for name, function in cases().items() if options.only in name}))


main()
