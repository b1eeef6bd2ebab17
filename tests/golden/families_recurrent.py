"""Recurrent layers in one direction. The reference is torch.nn's, run on each sequence alone where there are lengths."""
import torch
from torch import _VF

from golden_file import *

GATES = {"rnn_layer": 1, "lstm_layer": 4, "gru_layer": 3}


def sequences(kind, relu, x, parameters, h, c):
    """(output, hidden, cell or None) of sequences of one length."""
    rest = (len(parameters) == 4, 1, 0.0, False, False, False)
    if kind == "lstm_layer":
        output, h, c = _VF.lstm(x, (h[None], c[None]), parameters, *rest)
        return output, h[0], c[0]
    run = _VF.gru if kind == "gru_layer" else _VF.rnn_relu if relu else _VF.rnn_tanh
    output, h = run(x, h[None], parameters, *rest)
    return output, h[0], None


def layer(kind, reverse, relu, x, parameters, h, c, lengths):
    """The results, joined."""
    parts = []
    for b in range(x.shape[1]) if lengths is not None else (slice(None),):
        columns = slice(b, b + 1) if lengths is not None else b
        length = int(lengths[b]) if lengths is not None else x.shape[0]
        own = x[:length, columns]
        output, hidden, cell = sequences(kind, relu, own.flip(0) if reverse else own, parameters, h[columns], c[columns])
        output = output.flip(0) if reverse else output
        padding = torch.zeros(x.shape[0] - length, *output.shape[1:], dtype=x.dtype)
        parts.append((torch.cat([output, padding]), hidden, cell))
    found = [torch.cat([part[0] for part in parts], 1)]
    found += [torch.cat([part[i] for part in parts]) for i in ((1, 2) if kind == "lstm_layer" else (1,))]
    return torch.cat([y.flatten() for y in found])


def recurrent():
    f = Family("recurrent")

    def case(kind, dtype, steps, batch, inputs, width, label="", bias=True, states=True, lengths=False, laid=lambda x: x, **args):
        rows = GATES[kind] * width
        given = {"x": rand(steps, batch, inputs, dtype=dtype), "weight_ih": rand(rows, inputs, dtype=dtype, low=-0.5, high=0.5),
                 "weight_hh": rand(rows, width, dtype=dtype, low=-0.5, high=0.5)}
        if bias:
            given.update(bias_ih=rand(rows, dtype=dtype, low=-0.5, high=0.5), bias_hh=rand(rows, dtype=dtype, low=-0.5, high=0.5))
        if states:
            given["hidden"] = rand(batch, width, dtype=dtype, low=-1, high=1)
            if kind == "lstm_layer":
                given["cell"] = rand(batch, width, dtype=dtype, low=-1, high=1)
        if lengths:
            given["lengths"] = torch.randint(1, steps + 1, (batch,))
        if label == "NaN and infinity":
            given["x"][1, 0, 0], given["x"][2, 1, 1] = NAN, INF
        names = list(given)

        def reference(*values):
            have = dict(zip(names, values))
            none = torch.zeros(batch, width, dtype=dtype)
            parameters = [have[name] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if name in have]
            return layer(kind, args.get("reverse", False), args.get("relu", False), have["x"], parameters, have.get("hidden", none),
                         have.get("cell", none), have.get("lengths"))

        # No gradient flows back from NaN into what the other sequences have in common with it.
        f.case(kind, reference, [laid(x) if x.dtype in FLOATS else x for x in given.values()], grad=label != "NaN and infinity",
               label=label, names=names, **args)

    for kind in GATES:
        for relu in ((False, True) if kind == "rnn_layer" else (False,)):
            more = {"relu": True} if relu else {}
            for dtype in FLOATS:
                for reverse in (False, True):
                    if reverse:
                        more = {**more, "reverse": True}
                    for steps, batch, inputs, width in ((1, 1, 1, 1), (1, 2, 3, 4), (5, 2, 3, 4), (3, 5, 2, 9), (4, 13, 3, 5), (2, 35, 2, 3), (6, 1, 4, 17)):
                        for lengths in (False, True):
                            case(kind, dtype, steps, batch, inputs, width, lengths=lengths, **more)
                    for bias, states in ((False, True), (True, False), (False, False)):
                        for lengths in (False, True):
                            case(kind, dtype, 4, 3, 2, 5, bias=bias, states=states, lengths=lengths, **more)
                    case(kind, dtype, 4, 3, 2, 5, label="NaN and infinity", **more)
                    for laid in (strided, reversed_, lambda x: transposed(x) if x.dim() > 1 else strided(x)):
                        case(kind, dtype, 3, 2, 3, 4, label="layouts", laid=laid, **more)
    return f


FAMILIES = (recurrent,)
