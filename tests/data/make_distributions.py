#!/usr/bin/env python3
"""Writes tests/data/distributions.json: what torch.distributions returns, read by tests/autograd/random/distributions.cpp.

    python3 tests/data/make_distributions.py      (PyTorch 2.15)

{"cases": [{"name", "dtype", "parameters", "value", "log_prob", "entropy", "mean", "variance", "grads", "draws", "many", "next", "drawn_grads"}],
 "divergences": [{"p": [name, parameters], "q": ..., "value"}]}. A tensor is [shape, numbers]; NaN and infinities are texts. "grads" are those
of sum(log_prob) and of sum(entropy), "drawn_grads" those of the sum of 7 draws.
"""
import json
import math
import pathlib

import torch
import torch.distributions as D

SEED = 11
torch.set_num_threads(1)


def numbers(t):
    flat = t.detach().to(torch.float64).flatten().tolist()
    return [list(t.shape), [x if math.isfinite(x) else str(x) for x in flat]]


ONES = {"loc": [0.5, -1.0, 2.0], "scale": [0.7, 1.0, 2.5]}
# name: (class, parameters, values)
FAMILIES = {
    "Normal": (D.Normal, ONES, [0.3, -4.0, 9.5]),
    "LogNormal": (D.LogNormal, {"loc": [0.5, -1.0, 0.2], "scale": [0.7, 0.3, 1.5]}, [0.3, 1.0, 9.5]),
    "Bernoulli": (D.Bernoulli, {"probs": [0.2, 0.5, 0.999]}, [1.0, 0.0, 0.0]),
    "Bernoulli.logits": (lambda logits: D.Bernoulli(logits=logits), {"logits": [-2.0, 0.0, 30.0]}, [1.0, 0.0, 0.0]),
    "Categorical": (D.Categorical, {"probs": [[0.2, 0.5, 0.3], [4.0, 1.0, 0.5]]}, [2, 0]),
    "Categorical.logits": (lambda logits: D.Categorical(logits=logits), {"logits": [[0.2, -0.5, 3.0], [4.0, 1.0, 0.5]]}, [2, 1]),
    "Exponential": (D.Exponential, {"rate": [0.2, 1.0, 30.0]}, [0.0, 2.5, 0.01]),
    "Laplace": (D.Laplace, ONES, [0.3, -4.0, 9.5]),
    "Uniform": (D.Uniform, {"low": [0.0, -1.0, 2.0], "high": [1.0, 3.0, 2.5]}, [0.3, -1.0, 2.25]),
    "Gamma": (D.Gamma, {"concentration": [0.3, 1.0, 7.5], "rate": [1.0, 0.5, 4.0]}, [0.01, 2.0, 3.0]),
    "Beta": (D.Beta, {"concentration1": [0.5, 1.0, 7.0], "concentration0": [0.6, 3.0, 2.0]}, [0.01, 0.4, 0.97]),
    "Dirichlet": (D.Dirichlet, {"concentration": [[0.5, 1.0, 7.0], [2.0, 3.0, 0.2]]}, [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]),
    "StudentT": (D.StudentT, {"df": [0.8, 1.5, 7.0], "loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.3, 2.0]}, [0.5, 30.0, -2.0]),
    "Poisson": (D.Poisson, {"rate": [0.3, 9.0, 45.0]}, [0.0, 4.0, 60.0]),
    "Binomial": (D.Binomial, {"total_count": [40.0, 40.0, 40.0], "probs": [0.1, 0.5, 0.9]}, [0.0, 25.0, 40.0]),
    "Binomial.logits": (lambda total_count, logits: D.Binomial(total_count, logits=logits), {"total_count": [9.0, 9.0, 9.0], "logits": [-3.0, 0.5, 2.0]},
                        [0.0, 5.0, 9.0]),
    "MultivariateNormal": (lambda loc, covariance: D.MultivariateNormal(loc, covariance), {"loc": [0.5, -1.0], "covariance": [[2.0, 0.6], [0.6, 1.5]]}, [[0.3, -2.0], [4.0, 4.0]]),
    "MultivariateNormal.tril": (lambda loc, scale_tril: D.MultivariateNormal(loc, scale_tril=scale_tril),
                                {"loc": [[0.5, -1.0], [0.0, 0.0]], "scale_tril": [[2.0, 0.0], [0.6, 1.5]]}, [[0.3, -2.0], [4.0, 4.0]]),
    "Independent": (lambda loc, scale: D.Independent(D.Normal(loc, scale), 1), {"loc": [[0.5, -1.0], [2.0, 0.0]], "scale": [0.7, 1.0]}, [[0.1, 0.2], [0.5, 0.25]]),
    "Transformed": (lambda loc, scale: D.TransformedDistribution(
        D.Normal(loc, scale), [D.AffineTransform(torch.tensor(0.5, dtype=loc.dtype), torch.tensor(-2.0, dtype=loc.dtype)), D.TanhTransform()]), ONES, [0.3, -0.7, 0.95]),
    "Transformed.sigmoid": (lambda loc, scale: D.TransformedDistribution(D.Laplace(loc, scale), [D.SigmoidTransform(), D.ExpTransform()]), ONES, [1.3, 2.0, 2.5]),
    "MixtureSameFamily": (lambda probs, loc, scale: D.MixtureSameFamily(D.Categorical(probs), D.Normal(loc, scale)),
                          {"probs": [0.2, 0.5, 0.3], **ONES}, [0.3, -4.0]),
    "MixtureSameFamily.vectors": (lambda probs, loc, scale: D.MixtureSameFamily(D.Categorical(probs), D.Independent(D.Normal(loc, scale), 1)),
                                  {"probs": [0.2, 0.8], "loc": [[0.5, -1.0], [2.0, 0.0]], "scale": [0.7, 1.0]}, [[0.3, -4.0], [1.0, 0.0]]),
}
CLASSES = ("Categorical", "Categorical.logits")


def or_none(f):
    """None where PyTorch has no formula."""
    try:
        y = f()
    except NotImplementedError:
        return None
    return None if y is None else y


def gradients(y, leaves):
    found = torch.autograd.grad(y.sum(), list(leaves.values()), allow_unused=True, retain_graph=True)
    return {name: numbers(g) for name, g in zip(leaves, found) if g is not None}


def case(name, dtype):
    make, parameters, values = FAMILIES[name]
    leaves = {key: torch.tensor(v, dtype=dtype, requires_grad=key != "total_count") for key, v in parameters.items()}
    d = make(**leaves)
    wanted = {key: v for key, v in leaves.items() if v.requires_grad}
    value = torch.tensor(values, dtype=torch.int64 if name in CLASSES else dtype)
    entry = {"name": name, "dtype": str(dtype).split(".")[1], "parameters": {key: numbers(v) for key, v in leaves.items()}, "value": numbers(value)}
    log_prob = d.log_prob(value)
    entry["log_prob"] = numbers(log_prob)
    entry["grads"] = gradients(log_prob, wanted)
    entropy = or_none(d.entropy)
    if entropy is not None:
        entry["entropy"] = numbers(entropy)
        if entropy.requires_grad:
            entry["entropy_grads"] = gradients(entropy, wanted)
    if name not in CLASSES:
        for key in ("mean", "variance"):
            y = or_none(lambda: getattr(d, key))
            if y is not None:
                entry[key] = numbers(y)
    torch.manual_seed(SEED)
    entry["draws"] = numbers(d.sample((7,)))
    entry["one"] = numbers(d.sample())
    entry["many"] = numbers(d.sample((5, 8)))
    entry["next"] = numbers(torch.rand(2, dtype=dtype))
    if d.has_rsample:
        torch.manual_seed(SEED)
        entry["drawn_grads"] = gradients(d.rsample((7,)), wanted)
    return entry


def divergences():
    pairs = [(name, changed) for name, changed in {
        "Normal": {"loc": [0.0, 1.0, 2.0], "scale": [1.0, 1.5, 2.0]}, "LogNormal": {"loc": [0.0, 1.0, 2.0], "scale": [1.0, 1.5, 2.0]},
        "Bernoulli": {"probs": [0.6, 0.3, 0.2]}, "Categorical": {"probs": [[0.3, 0.3, 0.4], [1.0, 2.0, 3.0]]}, "Exponential": {"rate": [1.0, 2.0, 0.5]},
        "Laplace": {"loc": [0.0, 1.0, 2.0], "scale": [1.0, 1.5, 2.0]}, "Uniform": {"low": [-1.0, 0.0, 1.0], "high": [2.0, 5.0, 3.0]},
        "Gamma": {"concentration": [1.0, 2.0, 3.0], "rate": [0.5, 1.0, 2.0]}, "Beta": {"concentration1": [1.0, 2.0, 3.0], "concentration0": [0.5, 1.0, 2.0]},
        "Dirichlet": {"concentration": [[1.0, 2.0, 3.0], [0.5, 1.0, 2.0]]}, "Poisson": {"rate": [1.0, 5.0, 50.0]},
        "Binomial": {"total_count": [40.0, 40.0, 40.0], "probs": [0.3, 0.6, 0.7]}, "MultivariateNormal": {"loc": [0.0, 1.0], "covariance": [[1.0, -0.2], [-0.2, 3.0]]},
        "Independent": {"loc": [[0.0, 1.0], [0.0, 0.0]], "scale": [1.0, 2.0]}}.items()]
    for name, changed in pairs:
        make, parameters, _ = FAMILIES[name]
        p, q = ({key: torch.tensor(v, dtype=torch.float64) for key, v in of.items()} for of in (parameters, changed))
        value = D.kl_divergence(make(**p), make(**q))
        yield {"p": [name, {k: numbers(v) for k, v in p.items()}], "q": [name, {k: numbers(v) for k, v in q.items()}], "value": numbers(value)}
    p, q = ({key: torch.tensor(v, dtype=torch.float64) for key, v in of.items()} for of in (ONES, {"loc": [0.0, 1.0, 2.0], "scale": [1.0, 1.5, 2.0]}))
    yield {"p": ["Normal", {k: numbers(v) for k, v in p.items()}], "q": ["Laplace", {k: numbers(v) for k, v in q.items()}],
           "value": numbers(D.kl_divergence(D.Normal(**p), D.Laplace(**q)))}
    yield from between_families()


def between_families():
    """Pairs of two families of numbers."""
    changed = {"Normal": {"loc": [0.0, 1.0, 2.0], "scale": [1.0, 1.5, 2.0]}, "Exponential": {"rate": [1.0, 2.0, 0.5]},
               "Gamma": {"concentration": [1.0, 2.0, 3.0], "rate": [0.5, 1.0, 2.0]}, "Beta": {"concentration1": [1.0, 2.0, 3.0], "concentration0": [0.5, 1.0, 2.0]},
               "Uniform": {"low": [-1.0, 0.0, 0.5], "high": [2.0, 0.9, 0.75]}}
    for name in ("Normal", "Laplace", "Uniform", "Exponential", "Gamma", "Beta"):
        make, parameters, _ = FAMILIES[name]
        if name == "Uniform":
            parameters = {"low": [0.0, 0.25, 2.0], "high": [1.0, 0.75, 2.5]}
        for other, values in changed.items():
            if other == name:
                continue
            p, q = ({key: torch.tensor(v, dtype=torch.float64) for key, v in of.items()} for of in (parameters, values))
            value = D.kl_divergence(make(**p), FAMILIES[other][0](**q))
            yield {"p": [name, {k: numbers(v) for k, v in p.items()}], "q": [other, {k: numbers(v) for k, v in q.items()}], "value": numbers(value)}


if __name__ == "__main__":
    table = {"cases": [case(name, dtype) for name in FAMILIES for dtype in (torch.float32, torch.float64)], "divergences": list(divergences())}
    path = pathlib.Path(__file__).parent / "distributions.json"
    path.write_text(json.dumps(table, separators=(",", ":"), allow_nan=False).replace('{"name"', '\n{"name"').replace('{"p"', '\n{"p"') + "\n")
    print(path.name, len(table["cases"]), len(table["divergences"]), path.stat().st_size)
