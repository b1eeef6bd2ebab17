#!/usr/bin/env python3
"""Writes tests/data/large_parameters.json: densities with parameters from 1e-3 to 1e12, read by
tests/autograd/random/divergences.cpp.

    python3 tests/data/make_large_parameters.py      (needs mpmath; takes a minute)

[{"family", "parameters", and "value", "log_prob", "gradients" (of the parameters), or "entropy", "gradients", or "other"
(parameters) and "kl", "gradients" (of the first)}, ...], from 60 digits. All numbers are float32 numbers. Where "of" names
another family, it is that of "other", and the gradients are of both distributions.
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


def mean_log(family, p):
    if family == "Exponential":
        return -mp.euler - mp.log(p[0])
    if family == "Gamma":
        return psi(p[0]) - mp.log(p[1])
    if family == "Beta":
        return psi(p[0]) - psi(p[0] + p[1])
    if family == "Uniform":
        low, high = p
        return (high * mp.log(high) - low * mp.log(low)) / (high - low) - 1
    return mp.mpf(0)


def moments(family, p):
    """Mean and variance."""
    if family == "Exponential":
        return 1 / p[0], 1 / p[0]**2
    if family == "Gamma":
        return p[0] / p[1], p[0] / p[1]**2
    if family == "Beta":
        s = p[0] + p[1]
        return p[0] / s, p[0] * p[1] / (s * s * (s + 1))
    if family == "Uniform":
        return (p[0] + p[1]) / 2, (p[1] - p[0])**2 / 12
    return p[0], 2 * p[1]**2  # Laplace


def entropy(family, p):
    if family == "Exponential":
        return 1 - mp.log(p[0])
    if family == "Gamma":
        return gamma_entropy(*p)
    if family == "Beta":
        return dirichlet_entropy(*p)
    if family == "Uniform":
        return mp.log(p[1] - p[0])
    return 1 + mp.log(2 * p[1])  # Laplace


def divergence(family, p, other, q):
    mean, variance = moments(family, p)
    if other == "Normal":
        log_q = -(variance + (mean - q[0])**2) / (2 * q[1]**2) - mp.log(q[1]) - mp.log(2 * mp.pi) / 2
    elif other == "Exponential":
        log_q = mp.log(q[0]) - q[0] * mean
    elif other == "Gamma":
        log_q = q[0] * mp.log(q[1]) - lg(q[0]) + (q[0] - 1) * mean_log(family, p) - q[1] * mean
    else:  # Beta; p is uniform
        of_rest = mean_log(family, (1 - p[1], 1 - p[0]))
        log_q = lg(q[0] + q[1]) - lg(q[0]) - lg(q[1]) + (q[0] - 1) * mean_log(family, p) + (q[1] - 1) * of_rest
    return -entropy(family, p) - log_q


def between(family, p, other, q):
    q = [f32(v) for v in q]
    if max(q) > 1e14:
        return
    n = len(p)
    add(family, (*p, *q), "kl", lambda *x: divergence(family, x[:n], other, x[n:]), of=other)
    rows[-1]["parameters"], rows[-1]["other"] = list(p), q


def between_families():
    def all_from(family, p):
        mean, variance = (float(v) for v in moments(family, p))
        if family != "Beta":  # where the difference of means near 1 has the rounding errors of 1
            between(family, p, "Normal", (mean + 0.1 * variance**0.5, variance**0.5))
        if family == "Laplace":
            return
        if family != "Exponential":
            between(family, p, "Exponential", (1 / mean,))
        for shape in {mean * mean / variance, 1e-3, 0.3, 1e7} if family != "Gamma" else {}:
            between(family, p, "Gamma", (shape, shape / mean))
        if family == "Uniform":
            total = mean * (1 - mean) / variance - 1
            for sum_of in {total, 0.3, 1e12}:
                between(family, p, "Beta", (mean * sum_of, (1 - mean) * sum_of))

    for a in SIZES:
        all_from("Gamma", (a, f32(a / 3)))
        all_from("Exponential", (a,))
        all_from("Laplace", (a, f32(a / 3)))
        for b in {a, 1.0, f32(a * 3), SIZES[0], 7.5}:
            all_from("Beta", (a, b))
    for width in (0.3, 0.11, 0.07, 1e-2, 1e-4, 2.0**-20):
        all_from("Uniform", (f32(0.4 - width), f32(0.4 + width)))


gammas(), betas(), dirichlets(), students(), counts(), between_families()
out = pathlib.Path(__file__).parent / "large_parameters.json"
out.write_text("[" + ",\n".join(json.dumps(row) for row in rows) + "]\n")
print(len(rows), "rows")
