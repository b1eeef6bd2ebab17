#!/usr/bin/env python3
"""Runs random programs in PyTorch and compares values and gradients with ours.

random_programs.py TEST [PROGRAMS [SEED]]   TEST is build/release/test_autograd_random_programs
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

torch.set_num_threads(1)


def weighted(v):
    return (v.reshape(-1) * torch.cos(torch.arange(v.numel(), dtype=torch.float64))).sum()


def answers(program):
    names = {"torch": torch, "F": F, "weighted": weighted}
    exec(program["python"], names)
    y = names["y"]
    y.backward(torch.cos(torch.arange(y.numel(), dtype=torch.float64)))
    grads = [x.grad if x.grad is not None else torch.zeros_like(x) for x in names["inputs"]]
    return y.tolist(), [g.reshape(-1).tolist() for g in grads]


def close(ours, theirs):
    return len(ours) == len(theirs) and all(
        a is not None and abs(a - b) <= 1e-9 * (1 + abs(b)) for a, b in zip(ours, theirs))


def fault(program):
    try:
        y, grads = answers(program)
    except Exception as error:  # PyTorch rejects what we accept
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if not close(program["y"], y):
        return f"values: ours {program['y']}, PyTorch's {y}"
    for k, (ours, theirs) in enumerate(zip(program["grads"], grads)):
        if not close(ours, theirs):
            return f"gradient of input {k}: ours {ours}, PyTorch's {theirs}"
    return None


def main():
    test, count, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000, sys.argv[3:4]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "programs.jsonl")
        settings = {"TAPEGRAD_PROGRAMS_PYTHON": file, "TAPEGRAD_PROGRAMS": str(count)}
        if seed:
            settings["TAPEGRAD_PROGRAM_SEED"] = seed[0]
        subprocess.run([test, "--gtest_filter=RandomPrograms.HaveNoFault", "--gtest_brief=1"], check=True,
                       env={**os.environ, **settings})
        faults = collections.Counter()
        with open(file) as lines:
            for line in lines:
                program = json.loads(line)
                found = fault(program)
                if found:
                    faults[found.split(":")[0]] += 1
                    print(f"program {program['number']}: {found}\n{program['python']}")
    print(f"PyTorch {torch.__version__}: {count} programs, {sum(faults.values())} differ {dict(faults)}")
    sys.exit(1 if faults else 0)


main()
