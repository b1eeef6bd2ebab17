#!/usr/bin/env python3
"""predict.py   prints the tables of docs/processes.md: time per step and efficiency of data parallel training

T(R) = C / R + max(0, G - H) + W, with
  C     computation of a step by one machine: 6 operations per parameter and token
  G, W  gradients and parameters on the wire: (R - 1) / R * 4 bytes per parameter each, plus a latency per message
  H     what backward of a machine's last batch hides: two thirds of that batch's time
"""
import sys

MODELS = [("124M", 124e6), ("355M", 355e6), ("1.5B", 1.558e9)]
MACHINES = [8, 16, 32, 64, 128, 256]  # powers of two: other numbers send more bytes
LINKS = [1, 10, 100]  # Gbit/s, in each direction
LATENCY = 30e-6  # of a message, in seconds


def on_wire(parameters, machines, gbit_s, item, wire):
    share = (machines - 1) / machines
    messages = machines - 1 if wire == 2 else machines.bit_length() - 1  # of a bucket: one in each of log2(machines) rounds
    buckets = max(1, 4 * parameters / max(4 << 20, messages * (512 << 10)))
    return share * item * parameters * 8 / (gbit_s * 1e9) + LATENCY * buckets * messages


def step(parameters, machines, gbit_s, tokens, batch, flops, item=4):
    compute = 6 * parameters * tokens / machines / flops
    last = 6 * parameters * min(batch, tokens / machines) / flops
    gradients = on_wire(parameters, machines, gbit_s, item, item)
    exposed = max(0, gradients - 2 / 3 * last) + on_wire(parameters, machines, gbit_s, 4, item)
    return compute, exposed


def main():
    flops = next((float(a) for a in sys.argv[1:] if a != "bfloat16"), 2e12)
    item = 2 if "bfloat16" in sys.argv else 4
    tokens, batch = 524288, 8192
    print(f"| model | machines | computation | " + " | ".join(f"{g} Gbit/s" for g in LINKS) + " |")
    print("|---|---|---|" + "---|" * len(LINKS))
    for name, parameters in MODELS:
        for machines in MACHINES:
            row = []
            for gbit_s in LINKS:
                compute, exposed = step(parameters, machines, gbit_s, tokens, batch, flops, item)
                row.append(f"{compute + exposed:.2f} s, {100 * compute / (compute + exposed):.0f} %")
            print(f"| {name} | {machines} | {compute:.2f} s | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
