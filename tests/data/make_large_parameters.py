#!/usr/bin/env python3
"""Writes tests/data/large_parameters.json: densities with parameters from 1e-3 to 1e12, read by
tests/autograd/random/large_parameters.cpp.

    python3 tests/data/make_large_parameters.py      (needs mpmath; takes a minute)

[{"family", "parameters", and "value", "log_prob", "gradients" (of the parameters), or "entropy", "gradients", or "other"
(parameters) and "kl", "gradients" (of the first)}, ...], from 60 digits. All numbers are float32 numbers.
"""
import json
import pathlib
import struct

import mpmath as mp

mp.mp.dps = 60


def f32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


SIZES = [f32(x) for x in (1e-3, 0.3, 1, 7.5, 100, 1e4, 1e5, 1e7, 1e9, 1e12)]
lg, psi = mp.loggamma, lambda x: mp.digamma(x)


def gamma(x, a, r):
    return a * mp.log(r) + (a - 1) * mp.log(x) - r * x - lg(a)


def gamma_entropy(a, r):
    return a - mp.log(r) + lg(a) + (1 - a) * psi(a)


def gamma_kl(a, r, b, q):
    return b * mp.log(r / q) + lg(b) - lg(a) + (a - b) * psi(a) + (q - r) * a / r


def dirichlet(x, *a):
    return sum((c - 1) * mp.log(v) for c, v in zip(a, x)) + lg(sum(a)) - sum(map(lg, a))


def beta(x, a, b):
    return dirichlet((x, 1 - x), a, b)


def dirichlet_entropy(*a):
    s = sum(a)
    return sum(map(lg, a)) - lg(s) + (s - len(a)) * psi(s) - sum((c - 1) * psi(c) for c in a)


def dirichlet_kl(*both):
    a, b = both[:len(both) // 2], both[len(both) // 2:]
    return lg(sum(a)) - lg(sum(b)) - sum(lg(c) - lg(d) for c, d in zip(a, b)) + sum((c - d) * (psi(c) - psi(sum(a))) for c, d in zip(a, b))


def student(x, v):
    return lg((v + 1) / 2) - lg(v / 2) - mp.log(v * mp.pi) / 2 - (v + 1) / 2 * mp.log1p(x * x / v)


def student_entropy(v):
    return (v + 1) / 2 * (psi((v + 1) / 2) - psi(v / 2)) + mp.log(v) / 2 + lg(v / 2) + lg(mp.mpf(1) / 2) - lg((v + 1) / 2)


def poisson(k, rate):
    return k * mp.log(rate) - rate - lg(k + 1)


def poisson_kl(a, b):
    return a * mp.log(a / b) - a + b


def binomial(k, n, p):
    return lg(n + 1) - lg(k + 1) - lg(n - k + 1) + k * mp.log(p) + (n - k) * mp.log1p(-p)


def binomial_kl(n, p, m, q):
    return n * (p * mp.log(p / q) + (1 - p) * mp.log((1 - p) / (1 - q)))


rows = []


def number(x):
    return float(mp.mpf(x))


def add(family, parameters, kind, f, constant=(), **more):
    at = [mp.mpf(p) for p in parameters]

    def partial(i):
        if i in constant:
            return None
        h = abs(at[i]) * mp.mpf(10)**-20
        above, below = list(at), list(at)
        above[i] += h
        below[i] -= h
        return number((f(*above) - f(*below)) / (2 * h))

    rows.append({"family": family, "parameters": list(parameters), **more, kind: number(f(*at)),
                 "gradients": [partial(i) for i in range(len(at))]})


def gammas():
    for a in SIZES:
        for r in (1.0, f32(a)):
            for z in (1, 1 + 2 / a**0.5, 3, 0.5):
                x = f32(a / r * z)
                add("Gamma", (a, r), "log_prob", lambda a, r: gamma(mp.mpf(x), a, r), value=x)
            add("Gamma", (a, r), "entropy", gamma_entropy)
            for b, q in ((a, f32(r * 1.25)), (f32(a * 1.001), r), (f32(a * 3), f32(r * 3)), (2.0, 1.0)):
                add("Gamma", (a, r), "kl", lambda a, r: gamma_kl(a, r, mp.mpf(b), mp.mpf(q)), other=[b, q])


def betas():
    for a in SIZES:
        for b in {a, 1.0, f32(a * 3), SIZES[0], 7.5}:
            mean = a / (a + b)
            for x in (mean, min(mean * (1 + 2 / (a + b)**0.5), 0.99), 0.25):
                x = f32(min(max(x, 1e-30), 1 - 2**-24))
                add("Beta", (a, b), "log_prob", lambda a, b: beta(mp.mpf(x), a, b), value=x)
            add("Beta", (a, b), "entropy", dirichlet_entropy)
            for c, d in ((f32(2 * a), f32(2 * b)), (f32(a * 1.001), b), (3.0, 0.5)):
                add("Beta", (a, b), "kl", lambda a, b: dirichlet_kl(a, b, mp.mpf(c), mp.mpf(d)), other=[c, d])


def dirichlets():
    for a in SIZES:
        for c in ((a, a, a, a), (a, f32(2 * a), 0.5, 3.0)):
            total = sum(c)
            x = [f32(max(v / total, 1e-30)) for v in c]
            add("Dirichlet", c, "log_prob", lambda *p: dirichlet([mp.mpf(v) for v in x], *p), value=x)
            add("Dirichlet", c, "entropy", dirichlet_entropy)
            for other in ([f32(v * 2) for v in c], [f32(v * (1 + 0.001 * i)) for i, v in enumerate(c)]):
                add("Dirichlet", c, "kl", lambda *p: dirichlet_kl(*p, *map(mp.mpf, other)), other=other)


def students():
    for v in SIZES:
        for x in (0.0, 1.0, 3.0, 1e3):
            add("StudentT", (v,), "log_prob", lambda v: student(mp.mpf(x), v), value=x)
        add("StudentT", (v,), "entropy", student_entropy)


def counts():
    for rate in SIZES:
        for k in {0.0, 1.0, f32(round(rate)), f32(round(rate + 2 * rate**0.5)), f32(round(3 * rate))}:
            add("Poisson", (rate,), "log_prob", lambda r: poisson(mp.mpf(k), r), value=k)
        for other in (f32(rate * 1.001), 2.0):
            add("Poisson", (rate,), "kl", lambda r: poisson_kl(r, mp.mpf(other)), other=[other])
    for n in [1.0, 8.0] + SIZES[4:]:
        n = f32(round(n))
        for p in (0.5, f32(0.01), f32(1e-8), f32(0.999)):
            spread = (n * p * (1 - p))**0.5
            for k in {0.0, f32(round(n * p)), f32(round(n * p + 2 * spread)), n}:
                if 0 <= k <= n:
                    add("Binomial", (n, p), "log_prob", lambda n, p: binomial(mp.mpf(k), n, p), constant=(0,), value=k)
            add("Binomial", (n, p), "kl", lambda n, p: binomial_kl(n, p, n, mp.mpf(f32(p * 0.999))), constant=(0,),
                other=[n, f32(p * 0.999)])


gammas(), betas(), dirichlets(), students(), counts()
out = pathlib.Path(__file__).parent / "large_parameters.json"
out.write_text("[" + ",\n".join(json.dumps(row) for row in rows) + "]\n")
print(len(rows), "rows")
