#!/usr/bin/env python3
"""Measures tapegrad and the peers that are installed, in turns, and writes one table and one JSON; or compares two results.

    bench/run.sh [--rows PATTERN] [--rounds N] [--limit S] [--threads N] [--quick] [--out DIR] [--python PYTHON] [--no-build]
    bench/run.sh --list
    bench/run.sh --compare BEFORE.json NOW.json
"""
import argparse
import datetime
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import report
import rows
import sides

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
BUSY = 0.1  # share of the processors that others may use before a row says so


# ---- The machine ----


def machine(options):
    command = [os.path.join(options.build, "tapegrad"), "info", "--json", "--threads", str(options.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def busy_seconds():
    """Processor seconds of everything that ran on this machine so far, with what its host took from it."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = (int(field) for field in file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / sides.TICK


def build(python):
    """Builds our programs, and the peers in C++ if LibTorch is found."""
    torch = f"-DTAPEGRAD_TORCH_PYTHON={shutil.which(python) or ''}"
    script = f"""set -euo pipefail; . tasks/setup.sh; install $packages libbenchmark-dev
                 configure release -D TAPEGRAD_BENCH=ON {shlex.quote(torch)}; build release tapegrad_command benchmarks"""
    if subprocess.run(["bash", "-c", script], cwd=TOP, stdout=sys.stderr, check=False).returncode != 0:
        sys.exit("bench: the build failed; --no-build measures what is built")


# ---- Rows ----


def own_draws(row, key):
    """Whether this side draws other dropout masks than ours, so that losses agree only roughly."""
    drops = row.settings["model"] != "gpt" or row.settings["drop_rate"] > 0
    return drops and key in ("B compiled", "jax")


def agreement(row, found):
    """One phrase about the first losses, and notes about those that differ."""
    ours, notes, worst = found["ours"]["losses"], [], 0.0
    for key, side in found.items():
        if key == "ours" or "losses" not in side:
            continue
        apart = [abs(a - b) / abs(b) for a, b in zip(side["losses"], ours)]
        side["losses_apart"] = max(apart)
        narrow = row.settings.get("dtype") == "bfloat16"
        first, later = (0.1, 0.1) if own_draws(row, key) else (2e-3, 1e-2) if narrow else (1e-4, 2e-3)
        if apart[0] > first or max(apart) > later:
            notes.append(f"the first losses of {key} differ from ours: {side['losses']} and {ours}")
        elif not own_draws(row, key):
            worst = max(worst, *apart)
    if len(found) == 1:
        return "", notes
    return ("DIFFER" if notes else f"{ours[0]:.5g}, equal to {worst:.0e}"), notes


def start(side, row, ours, folder):
    if side.key != "jax":
        return side.start(row)
    weights = os.path.join(folder, "weights.safetensors")
    if row.kind == "step":  # JAX draws other numbers: it reads our first weights
        ours.write_weights(row, weights)
    return side.start(row, weights)


def measure(row, ours, peers, options, facts, folder):
    """The row's result. Every side takes one turn per round."""
    running, notes = {}, []
    try:
        for side in [ours, *peers]:
            progress(row, f"starting {side.key}")
            try:
                running[side.key] = start(side, row, ours, folder)
            except sides.Missing as why:
                if side.key == "ours":
                    raise
                if not isinstance(why, sides.OtherRows):
                    notes.append(f"without {side.key}: {why}")
        rounds = {key: [] for key in running}
        others = []
        for done in range(options.rounds):
            progress(row, f"round {done + 1} of {options.rounds}")
            for key in list(running):
                side = running[key]
                wall, busy, own = time.perf_counter(), busy_seconds(), side.processor_seconds()
                try:
                    rounds[key].append(statistics.median(side.turn(options.seconds)))
                except sides.Missing as why:
                    if key == "ours":
                        raise
                    notes.append(f"without {key}: {why}")
                    running.pop(key).close()
                    del rounds[key]
                    continue
                elapsed = time.perf_counter() - wall
                used = busy_seconds() - busy - (side.processor_seconds() - own)
                others.append(max(0.0, used / (elapsed * os.cpu_count())))
    finally:
        for side in running.values():
            side.close()
    found = {}
    for key, times in rounds.items():
        found[key] = {**running[key].facts, "ms": {**report.spread(times), "rounds": times}}
        if key != "ours":
            found[key]["ratio"] = report.spread([peer / mine for peer, mine in zip(times, rounds["ours"])])
    result = {"name": row.name, "title": row.title, "unit": row.unit, "per": row.per, "settings": row.settings, "sides": found,
              "others": statistics.mean(others)}
    if result["others"] > BUSY:
        notes.append(f"other programs used {100 * result['others']:.0f} % of the processors")
    if row.kind == "step":
        result["losses"], differ = agreement(row, found)
        result["losses_differ"] = bool(differ)
        notes += differ
        if found["ours"]["gflop"] > 0:
            result["gflops"] = 1e3 * found["ours"]["gflop"] / found["ours"]["ms"]["median"]
            result["of_peak"] = result["gflops"] / facts["fma_gflops"]
    return {**result, "notes": notes}


def choose(options, cases):
    """The rows of the table, or with --rows those that match, of all cases of our benchmarks."""
    if not options.rows:
        return [row for row in rows.TABLE if not (options.quick and row.large)]
    known = {row.name for row in rows.TABLE}
    everything = rows.TABLE + [rows.call(name, name) for name in cases if name not in known]
    chosen = [row for row in everything if re.search(options.rows, row.name) or re.search(options.rows, row.title)]
    if not chosen:
        sys.exit(f"bench: --rows: no row matches \"{options.rows}\"; --list shows all")
    return chosen


def progress(row, doing):
    """On a terminal, what is going on now; elsewhere, a line per row."""
    if sys.stderr.isatty():
        print(f"\r\033[K{row.title}: {doing}", end="", file=sys.stderr, flush=True)
    elif doing == "starting ours":
        print(f"bench: {row.title}", file=sys.stderr, flush=True)


def end_progress():
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


# ---- The command ----


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", metavar="PATTERN", help="rows whose name or title matches this regular expression")
    parser.add_argument("--rounds", type=int, help="turns of each program per row (default: 5, with --quick 2)")
    parser.add_argument("--seconds", type=float, help="length of a turn (default: 2, with --quick 0.4); at least one step")
    parser.add_argument("--limit", type=float, default=sides.Process.limit, metavar="S",
                        help="a program that needs longer for one answer, which is a turn or its start, is left out; not for\n"
                             "programs of Google Benchmark (default: %(default)s s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="few and short turns, without the large rows and torch.compile")
    parser.add_argument("--out", metavar="DIR", default=os.path.join(TOP, "out", "bench"), help="for DATE.md and DATE.json")
    parser.add_argument("--python", metavar="PYTHON", default=os.environ.get("PYTHON", "python3"),
                        help="an interpreter that has torch, jax, llama_cpp and ctranslate2 (default: the environment variable\n"
                             "PYTHON, or python3)")
    parser.add_argument("--build", metavar="DIR", default=os.path.join(TOP, "build", "release"))
    parser.add_argument("--no-build", action="store_true", help="measure what is built already, in the folder --build")
    parser.add_argument("--before", metavar="DIR", help="a build of another commit, with its benchmarks, as one more peer")
    parser.add_argument("--ours", action="store_true", help="without the peers of other projects")
    parser.add_argument("--list", action="store_true", help="list the rows")
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "NOW"), help="compare two results")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.seconds = options.seconds or (0.4 if options.quick else 2)
    for name in ("rounds", "threads", "seconds", "limit"):
        if getattr(options, name) <= 0:
            parser.error(f"--{name}: must be positive, got {getattr(options, name)}")
    return options


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        result["rows"], result["machine"]
        return result
    except (OSError, ValueError, KeyError, TypeError) as why:
        sys.exit(f"bench: --compare: {path} is not a result of bench/run.sh: {why}")


def write(result, out):
    os.makedirs(out, exist_ok=True)
    paths = [os.path.join(out, f"{result['date'].replace(':', '')}.{ending}") for ending in ("md", "json")]
    for path, text in zip(paths, (report.page(result), json.dumps(result, indent=1) + "\n")):
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".new", path)
    return paths


def about(peers):
    texts = {}
    for peer in peers:
        if isinstance(peer, sides.PyTorch):
            if peer.compiled:
                texts["B"] += "; of a step the faster of eager and torch.compile"
                continue
            version = sides.version_of(peer.python, "torch")
            texts[peer.key] = f"PyTorch {version}, malloc that keeps memory; {peer.linear_gflops():.0f} GFLOP/s in linear [256, 768] -> 3072"
        elif isinstance(peer, sides.Before):
            texts[peer.key] = peer.build
        elif isinstance(peer, sides.Generation):
            texts[peer.key] = peer.version
        else:
            texts[peer.key] = f"JAX {sides.version_of(peer.python, 'jax')}" if peer.key == "jax" else "of the build, malloc that keeps memory"
    return texts


def run(options):
    if not (options.no_build or options.list):
        build(options.python)
    try:
        ours = sides.Ours(options.build, options.threads)
    except sides.Missing as why:
        sys.exit(f"bench: {why}")
    sides.Process.limit = options.limit
    chosen = choose(options, ours.cases)
    if options.list:
        for row in chosen if options.rows else rows.TABLE + [rows.call(n, "") for n in ours.cases if n not in {r.name for r in rows.TABLE}]:
            print(f"{row.name:<48} {row.title}".rstrip())
        return 0
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"bench: the machine is busy (load {load:.2f}); each row says how much of it others used", file=sys.stderr)
    commit = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    with tempfile.TemporaryDirectory() as folder:
        peers = sides.peers(options, folder)
        facts = {**machine(options), "processors": os.cpu_count(), "load": load}
        result = {"date": datetime.datetime.now().isoformat(timespec="seconds"), "commit": commit.stdout.strip() or "no commit",
                  "machine": facts, "peers": about(peers), "rounds": options.rounds, "seconds": options.seconds, "rows": []}
        try:
            for row in chosen:
                try:
                    result["rows"].append(measure(row, ours, peers, options, facts, folder))
                except sides.Missing as why:
                    end_progress()
                    print(f"bench: {row.name} is left out: {why}", file=sys.stderr)
                    continue
                facts.update(fma_gflops_end=facts["fma_gflops"], read_gb_s_end=facts["read_gb_s"])
                write(result, options.out)  # an interrupted run keeps what it has
        except KeyboardInterrupt:
            sides.end_all()
            print("bench: interrupted", file=sys.stderr)
        end_progress()
        if not result["rows"]:
            sys.exit("bench: nothing was measured")
        end = machine(options)
        facts.update(fma_gflops_end=end["fma_gflops"], read_gb_s_end=end["read_gb_s"])
    paths = write(result, options.out)
    print(report.page(result))
    print(f"Files: {' '.join(paths)}")
    return 1 if any(row.get("losses_differ") for row in result["rows"]) else 0


def main():
    for signum in (signal.SIGTERM, signal.SIGHUP):  # ends what runs, too
        signal.signal(signum, lambda number, _: sys.exit(128 + number))
    options = options_of(sys.argv[1:])
    if options.compare:
        print(report.comparison(*(read(path) for path in options.compare)))
        return 0
    return run(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
