#!/usr/bin/env python3
"""Writes PyTorch's results for every operation: tests/golden/ops_<family>.bin, read by tests/autograd/cases/ops.cpp.

    /usr/bin/python3 tests/golden/make_goldens.py [FAMILY ...]     (Debian's python3-torch, 1.13.1; all families by default)

A family is a function named in FAMILIES of a file families_*.py. "elementwise" needs build/release/test_autograd_ops.
"""
import importlib
import pathlib
import sys

import torch

if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).parent
    for path in sorted(folder.glob("families_*.py")):
        for family in importlib.import_module(path.stem).FAMILIES:
            if len(sys.argv) == 1 or family.__name__ in sys.argv[1:]:
                family().write(folder)
