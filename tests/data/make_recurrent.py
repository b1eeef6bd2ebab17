"""Writes recurrent.json: parameters, results and gradients of torch.nn's recurrent modules, for tests/nn/layers/recurrent.cpp. Needs torch 1.13.1.

The loss is the sum of all results times weights that rise evenly from 0.5 to 1.5.
"""
import json
import pathlib

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

STEPS, BATCH, INPUTS, WIDTH = 4, 3, 2, 3
LENGTHS = [2, 4, 1]
# Options that differ from the defaults, and how the module is called.
CALLS = [
    ({}, {}),
    ({}, {"states": True}),
    ({}, {"lengths": True}),
    ({}, {"states": True, "no_batch": True}),
    ({"bias": False}, {"states": True}),
    ({"batch_first": True}, {"states": True}),
    ({"bidirectional": True}, {"states": True}),
    ({"bidirectional": True}, {"states": True, "lengths": True}),
    ({"num_layers": 2}, {"states": True}),
    ({"num_layers": 3, "bidirectional": True, "batch_first": True}, {"states": True, "lengths": True}),
    ({"num_layers": 2, "bidirectional": True, "bias": False}, {}),
    ({"num_layers": 2, "bidirectional": True, "dropout": 0.4}, {"states": True}),
    ({"num_layers": 2, "dropout": 0.4}, {"states": True, "eval": True}),
    ({"num_layers": 2}, {"no_batch": True}),
]


def flat(x):
    return [float(f"{v:.9g}") for v in x.detach().flatten().tolist()]


def loss_of(results):
    return sum((y * torch.linspace(0.5, 1.5, y.numel()).reshape(y.shape)).sum() for y in results)


def entry(kind, module, options, call, seed, x, states, results):
    leaves = dict(module.named_parameters()) | {"x": x} | {name: s for name, s in zip(("hidden", "cell"), states)}
    grads = torch.autograd.grad(loss_of(results), list(leaves.values()), allow_unused=True)
    return {"module": kind, "options": options, "call": call, "seed": seed, "x": [list(x.shape), flat(x)],
            "states": [[list(s.shape), flat(s)] for s in states],
            "parameters": [[name, flat(p)] for name, p in module.named_parameters()], "results": [flat(y) for y in results],
            "grads": {name: flat(g) for name, g in zip(leaves, grads)}}


def layers(kind, options, call, seed):
    torch.manual_seed(seed)
    module = getattr(torch.nn, kind.split("/")[0])(INPUTS, WIDTH, **options, **({"nonlinearity": "relu"} if kind == "RNN/relu" else {}))
    generator = torch.Generator().manual_seed(seed + 1)
    shape = [STEPS, INPUTS] if call.get("no_batch") else [BATCH, STEPS, INPUTS] if options.get("batch_first") else [STEPS, BATCH, INPUTS]
    x = torch.randn(shape, generator=generator).requires_grad_()
    rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    state = [rows, WIDTH] if call.get("no_batch") else [rows, BATCH, WIDTH]
    states = [torch.randn(state, generator=generator).requires_grad_() for _ in range(2 if kind == "LSTM" else 1)] if call.get("states") else []
    if call.get("eval"):
        module.eval()
    first = options.get("batch_first", False)
    given = pack_padded_sequence(x, LENGTHS, batch_first=first, enforce_sorted=False) if call.get("lengths") else x
    output, final = module(given, (tuple(states) if kind == "LSTM" else states[0]) if states else None)
    if call.get("lengths"):
        output, _ = pad_packed_sequence(output, batch_first=first, total_length=STEPS)
    return entry(kind, module, options, call, seed, x, states, [output, *(final if kind == "LSTM" else [final])])


def cells(kind, options, call, seed):
    torch.manual_seed(seed)
    module = getattr(torch.nn, kind.split("/")[0])(INPUTS, WIDTH, **options, **({"nonlinearity": "relu"} if kind == "RNNCell/relu" else {}))
    lead = [] if call.get("no_batch") else [BATCH]
    x = torch.randn(lead + [INPUTS]).requires_grad_()
    states = [torch.randn(lead + [WIDTH]).requires_grad_() for _ in range(2 if kind == "LSTMCell" else 1)] if call.get("states") else []
    final = module(x, (tuple(states) if kind == "LSTMCell" else states[0]) if states else None)
    return entry(kind, module, options, call, seed, x, states, list(final) if kind == "LSTMCell" else [final])


def main():
    found = []
    for kind in ("RNN", "RNN/relu", "LSTM", "GRU"):
        found += [layers(kind, options, call, 100 + i) for i, (options, call) in enumerate(CALLS)]
        for bias in (True, False):
            for states in (True, False):
                for no_batch in (True, False):
                    name = kind.replace("RNN", "RNNCell") if "/" in kind else kind + "Cell"
                    found.append(cells(name, {} if bias else {"bias": False}, {"states": states, "no_batch": no_batch}, 200 + len(found)))
    text = json.dumps(found).replace('{"module"', '\n{"module"')
    (pathlib.Path(__file__).parent / "recurrent.json").write_text(text + "\n")


main()
