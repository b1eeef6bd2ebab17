#!/usr/bin/env python3
"""Writes tests/data/derivatives.json: exact values and derivatives of elementwise functions, also at huge and tiny
arguments, read by
tests/autograd/ops/derivative_limits.cpp.

    python3 tests/data/make_derivatives.py      (needs mpmath; takes seconds)

{"points": [x, ...], function: [[f(x), f'(x), f''(x), f'''(x)], ...]}: a row per point; the points are float32 numbers.
null: the function has a kink or no value there. Numbers that float64 does not hold are "inf", "-inf" or 0.
"""
import json
import math
import pathlib
import struct

import mpmath as mp

mp.mp.dps = 60


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


POINTS = [s * float32(x) for x in (0.0, 1e-30, 0.25, 1, 5, 20, 100, 1e3, 1e10, 2e19, 1e30) for s in (1, -1)]
TINY, HUGE, EPS = mp.mpf(float32(1e-30)), mp.mpf(float32(1e30)), mp.mpf(1) / 8
SELU_SCALE, SELU_ALPHA = mp.mpf("1.0507009873554804934193349852946"), mp.mpf("1.6732632423543772848170429916717")


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def cubic(x):
    return 2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)


# The function, and the points where it has a kink.
FUNCTIONS = {
    "exp": mp.exp, "expm1": mp.expm1, "exp2": lambda x: mp.power(2, x),
    "log": mp.log, "log1p": mp.log1p, "log2": lambda x: mp.log(x, 2), "log10": lambda x: mp.log(x, 10),
    "square": lambda x: x * x, "reciprocal": lambda x: 1 / x, "sqrt": mp.sqrt, "rsqrt": lambda x: 1 / mp.sqrt(x),
    "abs": (abs, [0]), "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
    "erf": mp.erf, "erfc": mp.erfc, "sinc": mp.sincpi, "sigmoid": sigmoid,
    "relu": (lambda x: max(x, mp.mpf(0)), [0]), "relu6": (lambda x: min(max(x, mp.mpf(0)), mp.mpf(6)), [0, 6]),
    "silu": lambda x: x * sigmoid(x), "gelu": lambda x: x * mp.ncdf(x), "gelu_tanh": lambda x: x * sigmoid(cubic(x)),
    "logit": lambda x: mp.log(x / (1 - x)), "log_sigmoid": lambda x: -softplus(-x), "softplus": softplus,
    "mish": lambda x: x * mp.tanh(softplus(x)), "leaky_relu": (lambda x: x if x > 0 else x / 100, [0]),
    "elu": lambda x: x if x > 0 else mp.expm1(x), "elu_alpha": (lambda x: x if x > 0 else mp.mpf("0.5") * mp.expm1(x), [0]),
    "celu": lambda x: x if x > 0 else 2 * mp.expm1(x / 2),
    "selu": (lambda x: SELU_SCALE * (x if x > 0 else SELU_ALPHA * mp.expm1(x)), [0]),
    "hardtanh": (lambda x: min(max(x, mp.mpf(-1)), mp.mpf(1)), [-1, 1]),
    "hardsigmoid": (lambda x: min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6, [-3, 3]),
    "hardswish": (lambda x: x * min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6, [-3, 3]),
    "softsign": (lambda x: x / (1 + abs(x)), [0]),
    "lgamma": lambda x: mp.re(mp.loggamma(x)), "digamma": mp.digamma,
    "erfinv": mp.erfinv, "i0": lambda x: mp.besseli(0, x), "i1": lambda x: mp.besseli(1, x),
    "i0e": (lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), [0]), "i1e": (lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), [0]),
    "pow(x, 0.5)": mp.sqrt, "pow(x, 2)": lambda x: x**2, "pow(x, 3)": lambda x: x**3, "pow(x, 4)": lambda x: x**4,
    "pow(x, 1.5)": lambda x: mp.power(x, 1.5), "pow(x, -2)": lambda x: x**-2, "pow(2, x)": lambda x: mp.power(2, x),
    "logaddexp(x, 0)": softplus, "logaddexp2(x, 0)": lambda x: softplus(x * mp.log(2)) / mp.log(2),
    "xlogy(x, 3)": lambda x: x * mp.log(3), "xlogy(2, x)": lambda x: 2 * mp.log(x), "xlog1py(2, x)": lambda x: 2 * mp.log1p(x),
    "atan2(x, 1)": mp.atan, "atan2(1, x)": lambda x: mp.pi / 2 - mp.atan(x),
    "1 / x": lambda x: 1 / x, "x / 3": lambda x: x / 3, "clamp(x, -2, 30)": (lambda x: min(max(x, mp.mpf(-2)), mp.mpf(30)), [-2, 30]),
    "maximum(x, 0.5)": (lambda x: max(x, mp.mpf("0.5")), [0.5]), "minimum(x, 0.5)": (lambda x: min(x, mp.mpf("0.5")), [0.5]),
    "glu(x, x)": lambda x: x * sigmoid(x), "swiglu(x, 2)": lambda x: 2 * x * sigmoid(x),
    "prelu(x, 0.25)": (lambda x: x if x > 0 else x / 4, [0]),
    "norm(x, 1)": lambda x: mp.sqrt(x * x + 1), "logsumexp(x, 0)": softplus, "softmax(x, 0)": sigmoid,
    "bce_with_logits(x, 1)": lambda x: softplus(-x), "soft_margin(x, 1)": lambda x: softplus(-x),
    "huber(x, 0)": lambda x: x * x / 2 if abs(x) <= 1 else abs(x) - mp.mpf("0.5"),
    "poisson_nll(x, 2)": lambda x: mp.exp(x) - 2 * x,
    "swiglu(x, x)": lambda x: x * x * sigmoid(x),
    "atan2(x, 1e-30)": lambda x: mp.atan(x / TINY), "atan2(1e-30, x)": lambda x: mp.pi / 2 - mp.atan(x / TINY),
    "atan2(x, 1e30)": lambda x: mp.atan(x / HUGE),
    "2 / x of tensors": lambda x: 2 / x, "pow(x, -1.5)": lambda x: mp.power(x, -1.5),
    "norm(x, 1e-30)": lambda x: mp.sqrt(x * x + TINY**2), "norm(x, 1e30)": lambda x: mp.sqrt(x * x + HUGE**2),
    "normalize(x, 1)": lambda x: x / mp.sqrt(x * x + 1),
    "cosine_similarity(x, 1)": lambda x: (x + 2) / mp.sqrt(5 * (x * x + 1)),
    "rms_norm(x, 1)": lambda x: x / mp.sqrt((x * x + 1) / 2 + EPS),
    "layer_norm(x, 1, 0)": lambda x: (2 * x - 1) / 3 / mp.sqrt(2 * (x * x - x + 1) / 9 + EPS),
    "smooth_l1(x, 0)": lambda x: x * x / 2 if abs(x) <= 1 else abs(x) - mp.mpf("0.5"),
    "polygamma(1, x)": lambda x: mp.polygamma(1, x),
    "pow(x, 3) of tensors": lambda x: x**3, "pow(x, 2) of tensors": lambda x: x**2,
}
NO_DOMAIN = {"log": 0, "log1p": -1, "log2": 0, "log10": 0, "sqrt": 0, "rsqrt": 0, "xlogy(2, x)": 0, "xlog1py(2, x)": -1,
             "pow(x, 0.5)": 0, "pow(x, 1.5)": 0, "acosh": 1, "pow(x, -1.5)": 0, "polygamma(1, x)": 0}
INSIDE = {"asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "erfinv": (-1, 1), "logit": (0, 1)}
BESSEL = {"i0", "i1", "i0e", "i1e"}


def derivatives(name, f, kinks, x):
    if name in ("huber(x, 0)", "smooth_l1(x, 0)"):
        kinks = [-1, 1]
    if any(abs(x - k) < 1e-20 for k in kinks):
        return None
    if name in NO_DOMAIN and x <= NO_DOMAIN[name] or name in INSIDE and not INSIDE[name][0] < x < INSIDE[name][1]:
        return None
    if name in BESSEL and abs(x) > 1e3 or name in ("lgamma", "digamma") and x <= 0:
        return None
    if name in ("reciprocal", "1 / x", "pow(x, -2)", "2 / x of tensors") and x == 0:
        return None
    with mp.workdps(400):
        h = min(abs(mp.mpf(x)), mp.mpf(1)) * mp.mpf(10)**-25 if x else mp.mpf(10)**-40
        side = -1 if x == 0 and name in ("elu", "celu") else 0  # at 0 their derivatives are those from below
        at = mp.mpf(x)
        out = [f(at)]
        if side:
            g = [f(at + side * k * h) for k in range(5)]
            out += [(g[1] - g[0]) / (side * h), (g[2] - 2 * g[1] + g[0]) / h**2, (g[3] - 3 * g[2] + 3 * g[1] - g[0]) / (side * h**3)]
        else:
            m2, m1, p1, p2 = f(at - 2 * h), f(at - h), f(at + h), f(at + 2 * h)
            out += [(p1 - m1) / (2 * h), (p1 - 2 * out[0] + m1) / h**2, (p2 - 2 * p1 + 2 * m1 - m2) / (2 * h**3)]
        return [number(mp.re(v)) for v in out]


def number(v):
    if mp.isnan(v):
        return None
    if abs(v) > 1e308:
        return "inf" if v > 0 else "-inf"
    return 0.0 if abs(v) < 1e-300 else float(v)


def main():
    table = {"points": POINTS}
    for name, f in FUNCTIONS.items():
        f, kinks = f if isinstance(f, tuple) else (f, [])
        rows = []
        for x in POINTS:
            try:
                rows.append(derivatives(name, f, kinks, x))
            except (ValueError, ZeroDivisionError, OverflowError, mp.libmp.ComplexResult):
                rows.append(None)
        table[name] = rows
    out = pathlib.Path(__file__).parent / "derivatives.json"
    text = ",\n".join(json.dumps(k) + ": " + json.dumps(v) for k, v in table.items())
    out.write_text("{" + text + "}\n")


main()
