"""Functions of one tensor that are in checks/cases and in no other family, as build/release/test_autograd_ops lists them."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile

import torch
import torch.nn.functional as F

from families_function import layouts_and_shapes
from golden_file import *

FOLDER = pathlib.Path(__file__).parent


def listed():
    """name: {"pytorch", "low", "high", "kinks"}"""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([FOLDER.parents[1] / "build/release/test_autograd_ops", "--gtest_filter=Goldens.ListCases"], check=True,
                       stdout=subprocess.DEVNULL, env=os.environ | {"TAPEGRAD_CASES": file.name})
        return json.load(file)


def names_in(path):
    data = path.read_bytes()
    return {case["op"] for case in json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])}


def elementwise():
    f = Family("elementwise")
    others = set().union(*(names_in(path) for path in FOLDER.glob("ops_*.bin") if path.name != "ops_elementwise.bin"))
    for op, case in sorted(listed().items()):
        if op in others:
            continue
        torch.manual_seed(sum(map(ord, op)))  # its numbers do not depend on other operations
        reference = eval(case["pytorch"])
        for dtype in FLOATS:
            layouts_and_shapes(f, op, reference, case["low"], case["high"], dtype)
            f.case(op, reference, [specials(dtype)], label="specials")
            f.case(op, reference, [torch.linspace(-12.0, 12.013, 241, dtype=F64).to(dtype)], grad=True, label="from -12 to 12")
            if case["kinks"]:
                f.case(op, reference, [torch.tensor(case["kinks"], dtype=dtype)], grad=True, label="kinks")
    return f


FAMILIES = (elementwise,)
