#!/usr/bin/env python3
"""Writes what PyTorch answers for every operation of autograd/ops.h: tests/golden/ops_<family>.bin, read by tests/autograd/ops.cpp.

    /usr/bin/python3 tests/golden/make_goldens.py      (Debian's python3-torch, 1.13.1)
"""
import pathlib

import torch

import families_layers
import families_linalg
import families_math
import families_pooling
import families_reduce

if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).parent
    modules = (families_math, families_layers, families_linalg, families_pooling, families_reduce)
    for family in (one for module in modules for one in module.FAMILIES):
        family().write(folder)
