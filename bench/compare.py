#!/usr/bin/env python3
"""Runs our benchmarks and PyTorch's alternately, and prints the ratios of the medians.

    bench/compare.py [--python PYTHON] [--build DIR] [--rounds N] [--only TEXT] [--steps N]

PYTHON is an interpreter that has torch. Needs a build with -D TAPEGRAD_BENCH=ON. Each round runs ours, then PyTorch's.
PyTorch runs with malloc settings that keep freed memory; otherwise it requests each large block from the system again.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184", "MALLOC_TOP_PAD_": "536870912"}


def ours(build, only):
    """{name: milliseconds} of every benchmark whose name contains `only`."""
    times = {}
    for program in sorted(os.listdir(build)):
        if not program.startswith("bench_"):
            continue
        out = subprocess.run([os.path.join(build, program), "--benchmark_format=json", f"--benchmark_filter={only or '.'}",
                              "--benchmark_min_time=0.4"], capture_output=True, text=True, check=False).stdout
        for run in json.loads(out)["benchmarks"] if out.startswith("{") else []:
            scale = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}[run["time_unit"]]
            times[run["name"].removesuffix("/real_time")] = run["real_time"] * scale
    return times


def peer(python, only):
    command = [python, os.path.join(HERE, "peers", "ops.py"), "--only", only]
    return json.loads(subprocess.run(command, env={**os.environ, **TUNED}, capture_output=True, text=True, check=True).stdout)


def our_step(build, task, steps):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(build, "tapegrad"), "train", task, "--num-epochs", "1", "--steps-per-epoch", str(steps),
                        "--out", folder, "--no-progress", "--threads", "2"], capture_output=True, check=True)
        lines = [json.loads(line) for line in open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8")]
    rates = [line["tokens_per_s"] for line in lines if "step" in line][steps // 10:]
    tokens = {"copy": 40 * 20, "addition": 128 * 3, "parser": 64 * 5}[task]
    return 1e3 * tokens / statistics.median(rates)


def peer_step(python, task, steps):
    command = [python, os.path.join(HERE, "peers", "seq2seq.py"), task, "--steps", str(steps), "--json"]
    out = subprocess.run(command, env={**os.environ, **TUNED}, capture_output=True, text=True, check=True).stdout
    return json.loads(out)["step_ms_median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="python3")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=100, help="steps of every task; 0: leave them out")
    options = parser.parse_args()
    left, right = {}, {}
    for _ in range(options.rounds):
        for table, times in ((left, ours(options.build, options.only)), (right, peer(options.python, options.only))):
            for name, time in times.items():
                table.setdefault(name, []).append(time)
        for task in ("copy", "addition", "parser"):
            if options.steps and options.only in f"step/{task}":
                left.setdefault(f"step/{task}", []).append(our_step(options.build, task, options.steps))
                right.setdefault(f"step/{task}", []).append(peer_step(options.python, task, options.steps))
    print("| benchmark | tapegrad, ms | PyTorch, ms | ratio |\n|---|---|---|---|")
    for name in sorted(left):
        ours_ms = statistics.median(left[name])
        if name in right:
            peer_ms = statistics.median(right[name])
            print(f"| {name} | {ours_ms:.4g} | {peer_ms:.4g} | {ours_ms / peer_ms:.2f} |")
        else:
            print(f"| {name} | {ours_ms:.4g} | | |")


main()
