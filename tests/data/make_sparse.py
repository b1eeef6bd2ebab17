"""Writes sparse.json: tables after steps of PyTorch's optimisers on sparse gradients, for tests/optim/sparse.cpp.

    python make_sparse.py      # torch 2.15

Tables, ids and gradients are formulas that are exact in float32, so the test computes them itself.
"""
import json
import pathlib

import torch

ROWS, COLUMNS, IDS = 11, 3, 9
KEPT = (1, 2, 10)
RUNS = [
    ("sgd", {"lr": 0.1}),
    ("adagrad", {"lr": 0.1}),
    ("adagrad", {"lr": 0.05, "lr_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3}),
    ("adam", {"lr": 0.01}),
    ("adam", {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-2}),
]
MAKE = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adam": torch.optim.SparseAdam}


def run(kind, options, dtype):
    start = torch.tensor([(5 * i % 23 - 11) / 8 for i in range(ROWS * COLUMNS)], dtype=dtype).reshape(ROWS, COLUMNS)
    table = torch.nn.Embedding.from_pretrained(start, freeze=False, sparse=True, padding_idx=4)
    optimiser = MAKE[kind](table.parameters(), **options)
    kept = []
    for step in range(1, KEPT[-1] + 1):
        ids = torch.tensor([(i * i + 3 * step) % ROWS for i in range(IDS)])
        dy = torch.tensor([((7 * i + 13 * step) % 31 - 15) / 16 for i in range(IDS * COLUMNS)], dtype=dtype)
        optimiser.zero_grad()
        (table(ids) * dy.reshape(IDS, COLUMNS)).sum().backward()
        assert table.weight.grad.is_sparse
        optimiser.step()
        if step in KEPT:
            kept.append(table.weight.flatten().tolist())
    return kept


data = {
    "steps": KEPT,
    "runs": [{"kind": kind, "options": options, "dtype": str(dtype)[6:], "kept": run(kind, options, dtype)}
             for kind, options in RUNS for dtype in (torch.float32, torch.float64)],
}
path = pathlib.Path(__file__).with_name("sparse.json")
path.write_text(json.dumps(data, separators=(",", ":")).replace('{"kind"', '\n{"kind"') + "\n")
