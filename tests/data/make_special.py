#!/usr/bin/env python3
"""Writes tests/data/special.json: exact values of the special functions, read by tests/autograd/special.cpp.

    python3 tests/data/make_special.py      (needs mpmath)

{function: {"float32" or "float64": [[a, x, high, low], ...]}}: the value of f(a, x), or of f(x) with a = 0, is high + low to more than
100 bits; a and x are numbers of the type.
"""
import json
import math
import pathlib
import random
import struct

import mpmath as mp

COUNT = 12  # numbers per way to draw them
mp.mp.prec = 300
random.seed(5)


def even(low, high):
    return lambda: random.uniform(low, high)


def sized(low, high, sign=1):
    return lambda: sign * math.exp(random.uniform(math.log(low), math.log(high)))


def around(*points, by=1e-5):
    return lambda: random.choice(points) + random.uniform(-by, by)


def beside(*points):
    """A few units in the last place from a zero of the function."""
    def draw():
        x = random.choice(points)
        for _ in range(random.randrange(6)):
            x = math.nextafter(x, random.choice((-math.inf, math.inf)))
        return x
    return draw


def near_poles(low, high):
    return lambda: random.randrange(low, high) + random.choice((-1, 1)) * math.exp(random.uniform(math.log(1e-13), math.log(1e-2)))


LGAMMA_ZEROS = (-2.4570247382208006, -2.7476826467274127, -3.14358088834998, -3.955294284858598, -4.039361839740537, -5.998607480080875)
DIGAMMA_ZEROS = (1.4616321449683622, -0.5040830082644554, -1.5734984731623904, -4.653237761743142, -19.74308167259022)


def exact_lgamma(x):
    return mp.log(abs(mp.gamma(x))) if abs(x) < 1e6 else mp.re(mp.loggamma(x))


def exact_erfinv(y):
    if abs(y) < 1e-10:
        return mp.sqrt(mp.pi) / 2 * (y + mp.pi / 12 * y**3 + 7 * mp.pi**2 / 480 * y**5)
    a = abs(y)
    return mp.sign(y) * mp.findroot(lambda t: mp.erf(t) - a if a < 0.5 else (1 - a) - mp.erfc(t), mp.erfinv(float(a)))


def scaled_bessel(order):
    return lambda x: mp.besseli(order, x) * mp.exp(-abs(x))


ONE = {
    "lgamma": (exact_lgamma, [even(0.5, 3), sized(1e-300, 1e-3), sized(3, 1e300), around(1, 2, by=0.03), around(1, 2, by=1e-12), even(-30, 0),
                              even(-200, 0), beside(*LGAMMA_ZEROS), around(*LGAMMA_ZEROS), sized(1e-300, 1, -1), near_poles(-30, -1)]),
    "digamma": (mp.digamma, [even(0.5, 3), sized(1e-300, 1e-3), sized(3, 1e300), even(-30, 0), even(-2000, 0), beside(*DIGAMMA_ZEROS),
                             around(*DIGAMMA_ZEROS), sized(1e-300, 1, -1), near_poles(-30, -1)]),
    "erfc": (mp.erfc, [even(-3, 3), even(2, 10), even(9, 26.5), sized(1e-300, 1), even(-10, -2)]),
    "erfinv": (exact_erfinv, [even(-1, 1), lambda: 1 - sized(1e-16, 1e-2)(), sized(1e-300, 1e-3), lambda: sized(1e-16, 1e-2)() - 1]),
    "i0": (lambda x: mp.besseli(0, x), [even(-40, 40), even(-713, 713), sized(1e-300, 1)]),
    "i1": (lambda x: mp.besseli(1, x), [even(-40, 40), even(-713, 713), sized(1e-300, 1)]),
    "i0e": (scaled_bessel(0), [even(-40, 40), sized(1e-300, 1), sized(30, 1e4)]),
    "i1e": (scaled_bessel(1), [even(-40, 40), sized(1e-300, 1), sized(30, 1e4)]),
}


def near_a(low, high, widths):
    """x within so many standard deviations of a."""
    def draw():
        a = sized(low, high)()
        return a, max(a + random.uniform(-widths, widths) * math.sqrt(a), a * 1e-3)
    return draw


def independent(a, x):
    return lambda: (a(), x())


GAMMA = [independent(sized(1e-3, 10), sized(1e-3, 30)), near_a(1, 200, 3), near_a(200, 1e5, 6), independent(sized(1e-20, 1e-3), sized(1e-5, 20)),
         independent(even(195, 205), even(100, 320)), near_a(1, 1e3, 8), independent(sized(0.1, 50), sized(1e-10, 200))]
TWO = {
    "polygamma": (mp.polygamma, [independent(lambda: random.randrange(1, 6), sized(1e-30, 1e10)), independent(lambda: random.randrange(1, 5), even(0.1, 30)),
                                 independent(lambda: random.randrange(1, 5), even(-20, 0)), independent(lambda: random.choice((10, 20, 40, 100)), even(0.5, 60))]),
    "igamma": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), GAMMA),
    "igammac": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), GAMMA),
    "gamma_density": (lambda a, x: mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a)), GAMMA),
}


def in_type(x, dtype):
    if isinstance(x, int) or dtype == "float64":
        return x
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.inf


def allowed(name, a, x):
    if not math.isfinite(x) or x == 0 or (name in TWO and a == 0):
        return False
    if name in ("lgamma", "digamma", "polygamma") and x < 0 and x == math.floor(x):
        return False
    return name != "erfinv" or abs(x) < 1


def rows(name, reference, draws, dtype):
    smallest, largest = (2.0**-126, 3.4e38) if dtype == "float32" else (2.0**-1022, 1.79e308)
    for draw in draws:
        for _ in range(COUNT):
            drawn = draw()
            a, x = (in_type(v, dtype) for v in (drawn if name in TWO else (0.0, drawn)))
            if not allowed(name, a, x):
                continue
            y = mp.re(reference(mp.mpf(a), mp.mpf(x)) if name in TWO else reference(mp.mpf(x)))
            if smallest <= abs(y) <= largest:
                yield [a, x, float(y), float(y - mp.mpf(float(y)))]


if __name__ == "__main__":
    tables = {name: {dtype: list(rows(name, *of, dtype)) for dtype in ("float32", "float64")} for name, of in (ONE | TWO).items()}
    path = pathlib.Path(__file__).parent / "special.json"
    path.write_text(json.dumps(tables, separators=(",", ":")).replace("]],", "]],\n") + "\n")
    print(path.name, {name: [len(rows) for rows in of.values()] for name, of in tables.items()})
