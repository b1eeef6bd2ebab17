"""The mutated copy of a source as a shared library, which is loaded before the library."""
import bisect
import hashlib
import json
import os
import re
import shlex
import subprocess

import sites

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLS = ("sites.py", "mutant.h")
MOST_SITES = 8192  # of mutant.h


def read(path):
    with open(path) as f:
        return f.read()


def stem_of(path):
    return path[:-len(".cpp")].replace("/", "-")


class Builder:
    """Compiles copies with the options of a build, but without optimisation, and kernels for one instruction set."""

    def __init__(self, build, work):
        self.build, self.work = os.path.abspath(build), os.path.abspath(work)
        os.makedirs(self.work, exist_ok=True)
        self.command = self.flags() + ["-O0", "-w", "-fPIC", "-fmax-errors=0"]
        self.kernels = []
        if os.uname().machine == "x86_64":
            self.kernels = ["-msse4.2", "-maes", "-mpclmul", "-mpopcnt"]  # those of the portable instruction set
            self.write_one_target()

    def flags(self):
        for entry in json.loads(read(os.path.join(self.build, "compile_commands.json"))):
            if "/tapegrad_small.dir/" in entry["command"] and "Unity" in entry["file"]:
                words = shlex.split(entry["command"])
                break
        else:
            raise SystemExit(f"{self.build} is no build of the library in groups (TAPEGRAD_UNITY)")
        while not words[0].endswith(("++", "++-12", "++-13", "++-14")):  # a launcher
            words.pop(0)
        kept, skip = [], False
        for word in words:
            if skip or word in ("-c", "-Winvalid-pch") or re.match(r"-O|-W|-fpch|-g", word):
                skip = False
            elif word in ("-o", "-include"):
                skip = True
            elif not word.endswith((".cxx", ".hxx")):
                kept.append(word)
        return kept

    def write_one_target(self):
        """A copy of the header that lists instruction sets, with the smallest alone: a third of the time to compile."""
        name = "autograd/kernels/simd/simd_targets.h"
        text = read(os.path.join(ROOT, name))
        one = text.replace("(HWY_SSE4 | HWY_AVX2 | HWY_AVX3)", "HWY_SSE4")
        if one == text:
            raise SystemExit(f"{name} lists other instruction sets than tests/mutants/build.py expects")
        path = os.path.join(self.work, "one_target/tapegrad", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path) or read(path) != one:
            with open(path, "w") as f:
                f.write(one)

    def precompiled(self):
        """The header of switches, compiled once."""
        folder = os.path.join(self.work, "header")
        key = hashlib.sha1((read(os.path.join(HERE, "mutant.h")) + " ".join(self.command)).encode()).hexdigest()
        header, stamp = os.path.join(folder, "mutant.h"), os.path.join(folder, "stamp")
        library = os.path.join(self.build, "interposable")
        newest = max(os.path.getmtime(os.path.join(library, f)) for f in os.listdir(library))
        if not (os.path.exists(stamp) and read(stamp) == key and os.path.getmtime(stamp) > newest):
            os.makedirs(folder, exist_ok=True)
            with open(header, "w") as f:
                f.write(read(os.path.join(HERE, "mutant.h")))
            self.run([*self.command, *self.kernels, "-x", "c++-header", header, "-o", header + ".gch"])
            with open(stamp, "w") as f:
                f.write(key)
        return header

    def run(self, command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(" ".join(command) + "\n" + done.stderr[:2000])

    def library(self, path):
        """(shared library, spans of sites, numbers of sites that the compiler rejects) of a source."""
        text = read(os.path.join(ROOT, path))
        spans = sites.sites(text, sites.is_whole(path))
        if len(spans) > MOST_SITES:
            raise SystemExit(f"{path} has {len(spans)} sites, more than {MOST_SITES}")
        folder = os.path.join(self.work, stem_of(path))
        state = os.path.join(folder, "state.json")
        library = os.path.join(folder, "mutated.so")
        key = self.key(text)
        known = json.loads(read(state)) if os.path.exists(state) else {"key": "", "dropped": []}
        dropped = set(known["dropped"]) if known["key"] == key else set()
        if known["key"] == key and os.path.exists(library):
            return library, spans, dropped
        dropped = self.compile(path, text, spans, folder, dropped)
        self.run([self.command[0], "-shared", "-o", library, os.path.join(folder, "mutated.o")])
        os.remove(os.path.join(folder, "mutated.o"))
        with open(state, "w") as f:
            json.dump({"key": key, "dropped": sorted(dropped)}, f)
        return library, spans, dropped

    def key(self, text):
        return hashlib.sha1("".join([text, *(read(os.path.join(HERE, t)) for t in TOOLS)]).encode()).hexdigest()

    def compile(self, path, text, spans, folder, dropped):
        """Writes and compiles the copy, again without those sites that the compiler rejects; returns these."""
        header = self.precompiled()
        include, target = os.path.join(folder, "include"), os.path.join(folder, "mutated.o")
        copy = os.path.join(include, "tapegrad", path)  # a kernel includes itself by this name
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        command = [self.command[0], "-I" + include, "-I" + os.path.join(self.work, "one_target"), *self.command[1:],
                   *self.kernels]
        for attempt in range(10):
            mutated, owners = sites.mutated(text, spans, dropped, header)
            with open(copy, "w") as f:
                f.write(mutated)
            done = subprocess.run([*command, "-c", copy, "-o", target], capture_output=True, text=True)
            if done.returncode == 0:
                return dropped
            wrong = self.wrong_sites(done.stderr, copy, owners, attempt)
            if not wrong - dropped:
                raise SystemExit(f"{path}: the mutated copy does not compile\n{done.stderr[:3000]}")
            dropped |= wrong
        raise SystemExit(f"{path}: the mutated copy does not compile after ten attempts")

    def wrong_sites(self, errors, copy, owners, attempt):
        """The sites at the lines of errors, or if there are none, at the lines that needed what is wrong."""
        lines = lambda what: {int(l) for l in re.findall(re.escape(copy) + r":(\d+):(?:\d+:)?\s+" + what, errors)}
        at = lines("error")
        wrong = self.owning(at, owners)
        if not wrong or attempt > 2:
            wrong |= self.owning(lines("(?:required|note|in |error)"), owners)
        return wrong

    @staticmethod
    def owning(lines, owners):
        found = set()
        for line in lines:
            near = [owners[l - 1] for l in (line, line - 1, line + 1) if 0 < l <= len(owners)]
            found |= {n for n in near[:1] if n >= 0} or {n for n in near[1:] if n >= 0}
        return found
