#!/usr/bin/env python3
"""Mutation testing of the code that computes gradients: see tests/mutants.sh, and docs/contributing/tests.md.

  mutants.py [--build FOLDER] [--to FOLDER] [--seconds N] [--number N] [--seed S] [FILE...]
  mutants.py --check      whether each line of equivalent.txt matches a site, and the finder of sites works
  mutants.py --report     only prints the table of the results in --to
"""
import argparse
import glob
import hashlib
import os
import random
import re
import subprocess
import sys
import time

import sites
from build import ROOT, Builder, read, stem_of
from programs import Programs, programs_of

HERE = os.path.dirname(os.path.abspath(__file__))
COVERED = ("autograd/ops/**/*.cpp", "autograd/derivatives/**/*.cpp", "nn/module/recompute.cpp", "optim/rules/**/*.cpp")
FEW = 34  # mutants of a file in a short run: about three files for 100
# The mutants of a type of values, by the codes of mutant.h.
KINDS = {1: ["negated", "times 1.001", "times 0", "transposed if square, else times 1.5"], 2: ["plus 1", "minus 1"],
         3: ["not"], 4: ["times 1.001", "negated"], 5: ["negated", "doubled"], 6: ["not"], 7: ["rolled"],
         8: ["first negated", "first two swapped"]}


def covered():
    """The files that have sites."""
    files = [os.path.relpath(f, ROOT) for pattern in COVERED for f in glob.glob(os.path.join(ROOT, pattern), recursive=True)]
    return sorted(f for f in files if sites.sites(read(os.path.join(ROOT, f)), sites.is_whole(f)))


class Equivalent:
    """equivalent.txt: FILE | EXPRESSION | MUTANT | REASON, a mutant by line; * stands for any text."""

    def __init__(self, path):
        self.entries = []
        for number, line in enumerate(read(path).splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                parts = [p.strip() for p in line.split(" | ")]
                if len(parts) != 4 or not parts[3]:
                    raise SystemExit(f"equivalent.txt:{number}: expected FILE | EXPRESSION | MUTANT | REASON, got: {line}")
                self.entries.append((number, *parts))

    @staticmethod
    def matches(pattern, text):
        pieces = pattern.split("*")
        if len(pieces) == 1:
            return pattern == text
        if not text.startswith(pieces[0]) or not text.endswith(pieces[-1]):
            return False
        at = len(pieces[0])
        for piece in pieces[1:-1]:
            at = text.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return at <= len(text) - len(pieces[-1])

    def reason(self, path, expression, mutant):
        for _, file, e, m, reason in self.entries:
            if self.matches(file, path) and self.matches(e, expression) and self.matches(m, mutant):
                return reason
        return None

    def unmatched(self):
        """Lines that match no site."""
        texts = {}
        for number, file, e, m, _ in self.entries:
            if file not in texts:
                texts[file] = []
                for path in glob.glob(os.path.join(ROOT, file)):
                    text = read(path)
                    texts[file] += [where(text, s) for s in sites.sites(text, sites.is_whole(file))]
            names = [n for kinds in KINDS.values() for n in kinds]
            if not any(self.matches(e, x) for x in texts[file]) or not any(self.matches(m, n) for n in names):
                yield f"equivalent.txt:{number}: {file} has no {e} ({m})"


def where(text, span):
    """An expression as equivalent.txt names it: with the line that it begins on, which makes it unique."""
    a, b = span
    begin = text.rfind("\n", 0, a) + 1
    end = text.find("\n", a)
    return " ".join(f"{text[a:b]} in {text[begin:end]}".split())


class File:
    """A source and the results of its mutants, which are appended to a file as they come."""

    def __init__(self, path, folder):
        self.path, self.text = path, read(os.path.join(ROOT, path))
        self.spans = sites.sites(self.text, sites.is_whole(path))
        self.log = os.path.join(folder, stem_of(path) + ".tsv")
        key = "# " + hashlib.sha1((self.text + read(os.path.join(HERE, "sites.py"))).encode()).hexdigest()
        self.lines = read(self.log).splitlines() if os.path.exists(self.log) else []
        if not self.lines or self.lines[0] != key:  # of another text
            self.lines = [key]

    def add(self, line):
        if len(self.lines) == 1:
            with open(self.log, "w") as f:
                f.write(self.lines[0] + "\n")
        self.lines.append(line)
        with open(self.log, "a") as f:
            f.write(line + "\n")

    def of(self, kind):
        rows = [line.split("\t")[1:] for line in self.lines if line.startswith(kind + "\t")]
        return rows

    def results(self):
        """By mutant, the last result: (site, kind, type, verdict, milliseconds, checks, text)."""
        return {int(r[0]) * 8 + int(r[1]): r for r in self.of("mutant")}

    def describe(self, row):
        span = self.spans[int(row[0])]
        return where(self.text, span), KINDS[int(row[2])][int(row[1])], 1 + self.text.count("\n", 0, span[0])


class Run:
    def __init__(self, options):
        self.options = options
        self.builder = Builder(options.build, os.path.join(options.to, "work"))
        self.start = time.time()
        self.failed = []

    def left(self):
        return self.options.seconds - (time.time() - self.start)

    def environment(self, library):
        here = os.path.join(self.builder.build, "interposable")
        return {**os.environ, "LD_LIBRARY_PATH": here, "LD_PRELOAD": library, "TAPEGRAD_KERNELS": "portable",
                "ASAN_OPTIONS": ""}

    def run_file(self, file, number):
        """Runs up to `number` mutants that have no result yet; returns how many."""
        begin = time.time()
        library, _, dropped = self.builder.library(file.path)
        compiled = time.time() - begin
        before = len(file.results())
        environment = self.environment(library)
        if file.path.startswith("autograd/ops/") or file.path == "nn/module/recompute.cpp":
            self.run_samples(file, number, environment)
        programs = programs_of(file.path)
        if programs:
            left = number - (len(file.results()) - before)
            Programs(self.builder.build, programs, environment).run(file, left, self.options.seed, self.left)
        self.check_controls(file)
        count = len(file.results()) - before
        print(f"{file.path}: {len(file.spans) - len(dropped)} sites, compiled in {compiled:.0f} s; {count} mutants in "
              f"{time.time() - begin - compiled:.0f} s", flush=True)
        return count

    def run_samples(self, file, number, environment):
        done = file.log + ".done"
        with open(done, "w") as f:
            f.write("\n".join(str(m) for m in file.results()))
        command = [os.path.join(self.builder.build, "mutants_runner"), str(self.options.seed), str(number),
                   str(max(1, self.left())), done]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, errors="replace") as runner:
            known = set(file.lines)
            for line in runner.stdout:
                line = line.rstrip("\n")
                if line.startswith("end\tfails"):
                    self.failed.append(f"{file.path}: {line}")
                elif line not in known and not line.startswith("end\t"):
                    file.add(line)
        os.remove(done)
        if runner.returncode not in (0, 3):
            self.failed.append(f"{file.path}: the runner ended with {runner.returncode}")

    def check_controls(self, file):
        """A file that is wrong everywhere must be found, and one without a mutant must survive."""
        # (Of a few expressions whose values nothing depends on, such as an argument of zeros_like, the first may survive.)
        floating = sum(r[1] in "145" for r in file.of("reached"))
        for name, verdict in file.of("control"):
            wrong = verdict == "survived" if name == "every" else verdict != "survived"
            if wrong and (name == "none" or floating > 4):
                self.failed.append(f"{file.path}: the control \"{name}\" {verdict}")


def report(files, equivalent, every):
    """Prints the table, and the survivors that are not equivalent; returns the totals of the columns of mutants."""
    columns = ("mutants", "killed", "unchanged", "equivalent", "survived")
    total, survivors, rows = dict.fromkeys(columns, 0), [], []
    for file in files:
        counts = dict.fromkeys(columns, 0)
        for row in file.results().values():
            counts["mutants"] += 1
            if row[3] not in ("survived", "unchanged"):
                counts["killed"] += 1
                continue
            expression, mutant, line = file.describe(row)
            if equivalent.reason(file.path, expression, mutant):
                counts["equivalent"] += 1
            elif row[3] == "unchanged":
                counts["unchanged"] += 1
            else:
                counts["survived"] += 1
                survivors.append(f"{file.path}:{line}: survived: {expression} | {mutant}   ({row[5]} checks)")
        total = {c: total[c] + counts[c] for c in columns}
        rows.append((f"{file.path:52}{len(file.spans):7}{len(file.of('reached')):9}", counts))
    print(f"{'':52}{'sites':>7}{'reached':>9}" + "".join(f"{c:>12}" for c in columns))
    for text, counts in rows:
        if counts["mutants"] or every:
            print(text + "".join(f"{counts[c]:12}" for c in columns))
    print("\n".join(survivors))
    print(", ".join(f"{total[c]} {c}" for c in columns))
    return total


def check():
    """The list of equivalent mutants, and what the finder of sites finds in a text that has every kind."""
    wrong = list(Equivalent(os.path.join(HERE, "equivalent.txt")).unmatched())
    text = read(os.path.join(HERE, "sites_test.txt"))
    found = {(text.count("\n", 0, a), text[a:b]) for a, b in sites.sites(text)}
    for number, line in enumerate(text.splitlines()):
        for no, listed in re.findall(r"// (no )?sites: ((?:(?!  //).)*)", line):
            wrong += [f"sites_test.txt:{number + 1}: {e} is {'a' if no else 'no'} site" for e in listed.split("  ")
                      if ((number, e) in found) == bool(no)]
    print("\n".join(wrong) or "all lines of equivalent.txt match a site")
    return 1 if wrong else 0


def options_of(arguments):
    p = argparse.ArgumentParser(prog="tests/mutants.sh", description="Mutation testing of gradients.")
    p.add_argument("files", nargs="*", metavar="FILE", help="sources that are mutated; by default, all that compute gradients")
    p.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    p.add_argument("--to", default=os.path.join(ROOT, "build/mutants"), help="the folder of results; a run goes on from them")
    p.add_argument("--seconds", type=float, default=7200, help="no mutant begins later (7200)")
    p.add_argument("--number", type=int, default=0, help="mutants of the whole run; by default, until each file has had --each")
    p.add_argument("--each", type=int, default=60, help="mutants of a file, at most (60)")
    p.add_argument("--seed", type=int, default=int(time.time()) % 100000, help="which mutants, and of which files first")
    p.add_argument("--most-survivors", type=float, default=1, help="the share of mutants that may survive unexplained")
    p.add_argument("--check", action="store_true")
    p.add_argument("--report", action="store_true")
    return p.parse_args(arguments)


def main():
    options = options_of(sys.argv[1:])
    if options.check:
        return check()
    os.makedirs(options.to, exist_ok=True)
    equivalent = Equivalent(os.path.join(HERE, "equivalent.txt"))
    paths = [os.path.relpath(f, ROOT) for f in map(os.path.abspath, options.files)] or covered()
    files = [File(path, options.to) for path in paths]
    if not options.report:
        print(f"seed {options.seed}", flush=True)
        run = Run(options)
        random.Random(options.seed).shuffle(files)
        number, most = options.number or options.each * len(files), FEW if options.number and not options.files else options.each
        for file in files:
            if number <= 0 or run.left() <= 0:
                break
            more = min(number, most - (0 if options.number else len(file.results())))  # goes on where it stopped
            if more > 0:
                number -= run.run_file(file, more)
        for line in run.failed:
            print("FAILED", line)
        if run.failed:
            return 1
    total = report(sorted(files, key=lambda f: f.path), equivalent, options.report)
    return 1 if total["survived"] > options.most_survivors * total["mutants"] else 0


if __name__ == "__main__":
    sys.exit(main())
