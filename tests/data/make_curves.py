"""Writes curves_seeds.json: the first twenty losses of the three tasks for seeds other than that of the whole curves, as
the tutorial's program in PyTorch gives them (bench/peers/seq2seq.py), for tests/curves_*.cpp. Needs torch 1.13.1.
"""
import json
import pathlib
import subprocess
import sys

PEER = pathlib.Path(__file__).parents[2] / "bench/peers/seq2seq.py"


def losses(task, seed):
    command = [sys.executable, PEER, task, "--steps", "20", "--seed", str(seed), "--threads", "1", "--json"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(f"{loss:.9g}") for loss in json.loads(run.stdout)["losses"]]


curves = {task: {str(seed): losses(task, seed) for seed in (1, 7)} for task in ("copy", "addition", "parser")}
text = "{\n" + ",\n".join(
    f' "{task}": {{\n' + ",\n".join(f'  "{seed}": {row}' for seed, row in seeds.items()) + "\n }"
    for task, seeds in curves.items()) + "\n}\n"
pathlib.Path(__file__).with_name("curves_seeds.json").write_text(text)
